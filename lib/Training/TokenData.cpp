//===- TokenData.cpp - rows of tokens to train on -------------------------===//

#include "sp/Training/TokenData.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <numeric>

using namespace sp;
using llvm::createStringError;
using llvm::Expected;
using llvm::Twine;

static constexpr int64_t kTokenBytes = 2;
static constexpr int64_t kPadding = 0, kIgnored = -100;

int64_t TokenData::token(int64_t index) const {
  return llvm::support::endian::read16le(file->getBufferStart() +
                                         index * kTokenBytes);
}

Expected<TokenData> TokenData::open(llvm::StringRef path,
                                    const Options &options) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  TokenData data;
  data.file = std::move(*buffer);
  data.seqLen = options.seqLen;
  int64_t bytes = data.file->getBufferSize();
  if (bytes % kTokenBytes)
    return createStringError(path + ": " + Twine(bytes) +
                             " bytes are not whole tokens of two bytes");
  int64_t count = bytes / kTokenBytes;
  for (int64_t i = 0; i < count; ++i)
    if (data.token(i) >= options.vocabSize)
      return createStringError(path + ": token " + Twine(data.token(i)) +
                               " at position " + Twine(i) +
                               " is outside the vocabulary of " +
                               Twine(options.vocabSize));

  if (!options.documentStart) {
    for (int64_t begin = 0; begin + options.seqLen <= count;
         begin += options.seqLen)
      data.rows.push_back({begin, options.seqLen});
    if (data.rows.empty())
      return createStringError(path + ": " + Twine(count) +
                               " tokens are less than one row of " +
                               Twine(options.seqLen));
    return data;
  }
  if (count == 0 || data.token(0) != *options.documentStart)
    return createStringError(
        path + ": does not begin with a document's first token, " +
        Twine(*options.documentStart));
  for (int64_t begin = 0; begin < count;) {
    int64_t end = begin + 1;
    while (end < count && data.token(end) != *options.documentStart)
      ++end;
    data.rows.push_back({begin, std::min(end - begin, options.seqLen)});
    begin = end;
  }
  return data;
}

void TokenData::read(int64_t row, int64_t *inputIds, int64_t *labels) const {
  const Row &from = rows[row];
  for (int64_t i = 0; i < seqLen; ++i) {
    bool inside = i < from.length;
    inputIds[i] = inside ? token(from.begin + i) : kPadding;
    labels[i] = inside ? inputIds[i] : kIgnored;
  }
}

/// Steele et al., "Fast splittable pseudorandom number generators", 2014.
static uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

int64_t RowOrder::at(int64_t position) {
  if (position / numRows != epoch) {
    epoch = position / numRows;
    order.resize(numRows);
    std::iota(order.begin(), order.end(), int64_t(0));
    uint64_t key = splitmix64(splitmix64(seed) + epoch);
    // Fisher and Yates; the bias of the modulus is below numRows / 2^64.
    for (int64_t i = numRows - 1; i > 0; --i)
      std::swap(order[i], order[splitmix64(key + i) % (i + 1)]);
  }
  return order[position % numRows];
}
