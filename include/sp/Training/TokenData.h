//===- TokenData.h - rows of tokens to train on -----------------*- C++ -*-===//

#ifndef SP_TRAINING_TOKENDATA_H
#define SP_TRAINING_TOKENDATA_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <vector>

namespace sp {

/// A file of tokens, seen as rows of `seqLen`.
class TokenData {
public:
  struct Options {
    int64_t seqLen;
    int64_t vocabSize;
    /// A row is a document, which begins with this token: cut to `seqLen`, or
    /// padded with token 0 under labels that are ignored. None: a row is the
    /// next `seqLen` tokens, whatever they are.
    std::optional<int64_t> documentStart;
  };

  /// `path` is a file of uint16, little-endian, without a header. Errors name
  /// it: an odd or too small size, a token that is not below `vocabSize`,
  /// documents that do not begin with their token.
  static llvm::Expected<TokenData> open(llvm::StringRef path,
                                        const Options &options);

  int64_t numRows() const { return rows.size(); }

  /// Writes `seqLen` tokens and labels of a row. Labels are the tokens
  /// themselves (the program shifts them), -100 where it is padding.
  void read(int64_t row, int64_t *inputIds, int64_t *labels) const;

private:
  struct Row {
    int64_t begin, length;
  };

  TokenData() = default;
  int64_t token(int64_t index) const;

  std::unique_ptr<llvm::MemoryBuffer> file;
  int64_t seqLen = 0;
  std::vector<Row> rows;
};

/// Which row comes when: each epoch is a shuffle of all rows, a function of the
/// seed and the epoch's number, so that any position can be computed directly.
class RowOrder {
public:
  RowOrder(int64_t numRows, uint64_t seed) : numRows(numRows), seed(seed) {}

  /// The row at `position`, counted from the start of training.
  int64_t at(int64_t position);

private:
  int64_t numRows;
  uint64_t seed;
  int64_t epoch = -1;
  std::vector<int64_t> order;
};

} // namespace sp

#endif // SP_TRAINING_TOKENDATA_H
