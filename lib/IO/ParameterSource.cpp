//===- ParameterSource.cpp - Where a model's parameters come from ---------===//

#include "sp/IO/ParameterSource.h"

#include "sp/IO/Block.h"
#include "sp/IO/Hash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace sp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Checkpoint
//===----------------------------------------------------------------------===//

/// "`a`, `b` and 7 more".
static std::string listNames(ArrayRef<StringRef> names) {
  constexpr size_t maxListed = 8;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(names.take_front(maxListed), os,
                        [&](StringRef name) { os << '`' << name << '`'; });
  if (names.size() > maxListed)
    os << " and " << names.size() - maxListed << " more";
  return text;
}

namespace {
class CheckpointSource final : public ParameterSource {
public:
  explicit CheckpointSource(Checkpoint checkpoint)
      : checkpoint(std::move(checkpoint)) {}

  Error read(StringRef name, ArrayRef<int64_t> globalShape,
             ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, DType target,
             void *dst) const override {
    Expected<Tensor> tensor = checkpoint.get(name);
    if (!tensor)
      return tensor.takeError();
    if (tensor->shape() != globalShape)
      return llvm::createStringError(
          "weight `" + name + "` in " + tensor->file + " has shape " +
          formatShape(tensor->shape()) + ", but the model needs " +
          formatShape(globalShape) + "; is this the checkpoint's config.json?");
    return readSlice(*tensor, offsets, sizes, target, dst);
  }

  Error
  checkNoExtra(ArrayRef<StringRef> used,
               llvm::function_ref<bool(StringRef)> allowed) const override {
    llvm::StringSet<> known;
    known.insert(used.begin(), used.end());
    std::vector<StringRef> extra;
    for (StringRef name : checkpoint.names())
      if (!known.contains(name) && !(allowed && allowed(name)))
        extra.push_back(name);
    if (extra.empty())
      return Error::success();
    return llvm::createStringError(
        checkpoint.path() + " has weights that the model does not use: " +
        listNames(extra) + "; is this the checkpoint's config.json?");
  }

private:
  Checkpoint checkpoint;
};
} // namespace

std::unique_ptr<ParameterSource>
sp::makeCheckpointSource(Checkpoint checkpoint) {
  return std::make_unique<CheckpointSource>(std::move(checkpoint));
}

bool sp::isRedundantTensor(StringRef name, bool tiedHead) {
  return (tiedHead && name == "lm_head.weight") ||
         name.ends_with("rotary_emb.inv_freq");
}

//===----------------------------------------------------------------------===//
// Random
//===----------------------------------------------------------------------===//

/// Box-Muller makes two independent normal values from two uniform ones;
/// elements 2j and 2j+1 share a pair.
static void normalPair(uint64_t key, uint64_t pair, float result[2]) {
  // 53 bits each; the first in (0, 1], as its logarithm must be finite.
  double u = double((splitmix64(key + 2 * pair) >> 11) + 1) * 0x1p-53;
  double v = double(splitmix64(key + 2 * pair + 1) >> 11) * 0x1p-53;
  double radius = 0.02 * std::sqrt(-2 * std::log(u));
  double angle = 2 * llvm::numbers::pi * v;
  result[0] = float(radius * std::cos(angle));
  result[1] = float(radius * std::sin(angle));
}

namespace {
class RandomSource final : public ParameterSource {
public:
  explicit RandomSource(uint64_t seed) : seed(seed) {}

  Error read(StringRef name, ArrayRef<int64_t> globalShape,
             ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, DType target,
             void *dst) const override {
    if (!canConvert(DType::F32, target))
      return llvm::createStringError("weight `" + name + "` of type " +
                                     dtypeName(target) +
                                     " cannot be initialised at random");
    if (!countElements(globalShape))
      return llvm::createStringError("weight `" + name +
                                     "` has the impossible shape " +
                                     formatShape(globalShape));
    if (auto why = findBlockError(globalShape, offsets, sizes))
      return llvm::createStringError("weight `" + name +
                                     "` cannot be read: " + *why);

    // Hashed apart: equal sums of seed and name must not give equal streams.
    uint64_t key = splitmix64(splitmix64(seed) ^ fnv1a64(name));
    bool isMatrix = globalShape.size() >= 2;
    float constant = name.ends_with("bias") ? 0 : 1;
    forEachRun(globalShape, offsets, sizes,
               [&](int64_t from, int64_t to, int64_t count) {
                 char *out = static_cast<char *>(dst) + to * byteSize(target);
                 if (isMatrix)
                   fillNormal(key, from, count, target, out);
                 else
                   fillConstant(constant, count, target, out);
               });
    return Error::success();
  }

  Error checkNoExtra(ArrayRef<StringRef> used,
                     llvm::function_ref<bool(StringRef)>) const override {
    return Error::success();
  }

private:
  static void fillNormal(uint64_t key, uint64_t index, int64_t count,
                         DType target, char *out) {
    float pair[2] = {};
    for (int64_t i = 0; i < count; ++i, ++index) {
      if (i == 0 || index % 2 == 0)
        normalPair(key, index / 2, pair);
      convertElements(DType::F32, &pair[index % 2], target,
                      out + i * byteSize(target), 1);
    }
  }

  static void fillConstant(float value, int64_t count, DType target,
                           char *out) {
    for (int64_t i = 0; i < count; ++i)
      convertElements(DType::F32, &value, target, out + i * byteSize(target),
                      1);
  }

  uint64_t seed;
};
} // namespace

std::unique_ptr<ParameterSource> sp::makeRandomSource(uint64_t seed) {
  return std::make_unique<RandomSource>(seed);
}
