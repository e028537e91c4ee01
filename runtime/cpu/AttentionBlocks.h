//===- AttentionBlocks.h - what attention and its gradient share -*- C++
//-*-===//
//
// Both take 64 rows of queries of a head at a time. The tensors are used in
// place: the rows of a head of [S, B, heads, D] lie B * heads * D apart; bf16
// rows are copied to f32. The blocks depend on the sequence only, so a head's
// bits do not depend on its neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CPU_ATTENTIONBLOCKS_H
#define SP_RUNTIME_CPU_ATTENTIONBLOCKS_H

#include "DropoutMask.h"
#include "FloatTypes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

namespace sp {

constexpr int64_t kBlockRows = 64;
/// Rows of weights are padded to whole vectors of floats, or pairs of doubles.
constexpr int64_t kLanes = 16;

inline int64_t padded(int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The query rows [begin, begin + numRows) of a head; they see the keys
/// [0, numKeys).
struct QueryBlock {
  int64_t begin, numRows, numKeys;
  bool causal;

  /// Of the rows of weights.
  int64_t stride() const { return padded(numKeys); }
  /// How many keys a row sees.
  int64_t visible(int64_t row) const {
    return causal ? begin + row + 1 : numKeys;
  }
};

struct AttentionShape {
  int64_t seq, batch, heads, kvHeads, headDim;
  double scale;
  bool causal;
  /// The number of the first head among those of all ranks.
  int64_t headOffset;
  /// Of the weights, if any.
  std::optional<DropoutMask> dropout;

  /// How many query heads share a key/value head.
  int64_t groupSize() const { return heads / kvHeads; }

  /// One of the blocks, which begin at the multiples of kBlockRows.
  QueryBlock blockAt(int64_t begin) const {
    int64_t end = std::min(begin + kBlockRows, seq);
    return {begin, end - begin, causal ? end : seq, causal};
  }

  /// Of the largest block.
  int64_t numWeights() const { return std::min(kBlockRows, seq) * padded(seq); }
  /// After dropout, if they need a place of their own.
  int64_t numDropped() const { return dropout ? numWeights() : 0; }
};

/// Fails in the name of `function` if the shape or the probability is bad; sets
/// the shape's dropout.
int32_t prepareAttention(sp_context *context, const char *function,
                         AttentionShape &shape, double p, int64_t opId);

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Rows of one head, `stride` elements apart.
template <typename T> struct Rows {
  T *data;
  int64_t stride, length;

  Rows from(int64_t row) const { return {data + row * stride, stride, length}; }
};

/// Of batch element b and one of the `heads` heads of a tensor of T.
template <typename T, typename Void>
auto rowsOfHead(const AttentionShape &shape, Void *tensor, int64_t heads,
                int64_t b, int64_t head) {
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;
  int64_t length = shape.headDim;
  return Rows<Element>{static_cast<Element *>(tensor) +
                           (b * heads + head) * length,
                       shape.batch * heads * length, length};
}

/// Rows to compute with: these, or their copy in `buffer`.
template <typename T>
Rows<const Wide<T>> readRows(Rows<const T> rows, int64_t numRows,
                             Wide<T> *buffer) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return rows;
  } else {
    for (int64_t row = 0; row < numRows; ++row)
      for (int64_t i = 0; i < rows.length; ++i)
        buffer[row * rows.length + i] = widen(rows.from(row).data[i]);
    return {buffer, rows.length, rows.length};
  }
}

/// Rows to leave results in until writeRows: these, or in `buffer`.
template <typename T> Rows<Wide<T>> resultRows(Rows<T> rows, Wide<T> *buffer) {
  if constexpr (std::is_same_v<T, Wide<T>>)
    return rows;
  else
    return {buffer, rows.length, rows.length};
}

template <typename T>
void writeRows(Rows<Wide<T>> results, int64_t numRows, Rows<T> rows) {
  if constexpr (!std::is_same_v<T, Wide<T>>)
    for (int64_t row = 0; row < numRows; ++row)
      narrowTo(rows.from(row).data, results.from(row).data, rows.length);
}

/// How large a buffer of readRows and resultRows has to be.
template <typename T>
int64_t bufferElements(const AttentionShape &shape, int64_t numRows) {
  return std::is_same_v<T, Wide<T>> ? 0 : numRows * shape.headDim;
}

/// Arrays of these many elements, aligned to whole vectors.
template <typename T, size_t count>
std::array<T *, count> divideScratch(Scratch &scratch,
                                     const int64_t (&sizes)[count]) {
  int64_t total = 0;
  for (int64_t size : sizes)
    total += padded(size);
  auto *next = static_cast<T *>(scratch.get(total * sizeof(T)));
  std::array<T *, count> arrays;
  for (size_t i = 0; i < count; ++i) {
    arrays[i] = next;
    next += padded(sizes[i]);
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Replaces scores[0, visible) by e^(score - maximum) and the rest of
/// [0, length) by 0. Returns the sum. The row is aligned and padded.
float softmax(float *scores, int64_t visible, int64_t length);
double softmax(double *scores, int64_t visible, int64_t length);

/// The softmax of scale * q k^T but for the factors 1 / sums[row]. q begins at
/// the block's first row, k at the head's.
template <typename T>
void computeWeights(const AttentionShape &shape, const QueryBlock &block,
                    Rows<const T> q, Rows<const T> k, T *weights, T *sums) {
  int64_t stride = block.stride();
  gemm(false, true, block.numRows, block.numKeys, shape.headDim, T(shape.scale),
       q.data, q.stride, k.data, k.stride, T(0), weights, stride);
  for (int64_t row = 0; row < block.numRows; ++row)
    sums[row] = softmax(weights + row * stride, block.visible(row), stride);
}

/// The weights of batch element b and local head `head` after dropout: these,
/// or in `buffer`.
template <typename T>
const T *dropWeights(const AttentionShape &shape, const QueryBlock &block,
                     int64_t b, int64_t head, const T *weights, T *buffer) {
  if (!shape.dropout)
    return weights;
  int64_t stride = block.stride();
  for (int64_t row = 0; row < block.numRows; ++row) {
    uint64_t coordinates[3] = {uint64_t(b), uint64_t(shape.headOffset + head),
                               uint64_t(block.begin + row)};
    int64_t visible = block.visible(row);
    T *to = buffer + row * stride;
    dropRow(*shape.dropout, coordinates, 0, visible, weights + row * stride,
            to);
    std::fill(to + visible, to + stride, T(0));
  }
  return buffer;
}

} // namespace sp

#endif // SP_RUNTIME_CPU_ATTENTIONBLOCKS_H
