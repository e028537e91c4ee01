//===- AttentionGrad.cpp - the gradients of q, k and v --------------------===//
//
// For 64 rows of queries at a time, with P the softmax, M the factors of
// dropout, D = P * M and dO the gradient of the result:
//
//   dV += D^T dO
//   dS  = P * (M * (dO V^T) - r)   with r the row sums of D * (dO V^T)
//   dQ  = scale dS K
//   dK += scale dS^T Q
//
// P is computed anew (Dao et al., FlashAttention, 2022); P * M is D, so the
// mask is drawn once. The heads that share keys and values are summed one
// after the other.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"
#include "OpenMP.h"

using namespace sp;

template <typename T>
SP_ALWAYS_INLINE void scaleRowBody(T *row, int64_t count, T factor) {
  for (int64_t i = 0; i < count; ++i)
    row[i] *= factor;
}

/// Replaces grads[0, visible), the gradient of what dropout leaves, by the
/// gradient of the scores, and the rest of the padded row by 0. The rows are
/// aligned.
template <typename T>
SP_ALWAYS_INLINE void differentiateRowBody(const T *weights, const T *dropped,
                                           T *grads, int64_t visible,
                                           int64_t stride) {
  constexpr int64_t lanes = kLanes * sizeof(float) / sizeof(T);
  typedef T Vector __attribute__((vector_size(lanes * sizeof(T))));
  auto *p = reinterpret_cast<const Vector *>(weights);
  auto *d = reinterpret_cast<const Vector *>(dropped);
  auto *g = reinterpret_cast<Vector *>(grads);
  int64_t numVectors = (visible + lanes - 1) / lanes;
  std::fill(grads + visible, grads + stride, T(0));

  Vector sums = {};
  for (int64_t i = 0; i < numVectors; ++i) {
    g[i] *= d[i];
    sums += g[i];
  }
  T sum = 0;
  for (int64_t i = 0; i < lanes; ++i)
    sum += sums[i];
  for (int64_t i = 0; i < numVectors; ++i)
    g[i] -= p[i] * sum;
}

#define SP_ROWS(T)                                                             \
  SP_MULTIVERSION(void, scaleRow, (T * row, int64_t count, T factor),          \
                  (row, count, factor))                                        \
  SP_MULTIVERSION(void, differentiateRow,                                      \
                  (const T *weights, const T *dropped, T *grads,               \
                   int64_t visible, int64_t stride),                           \
                  (weights, dropped, grads, visible, stride))
SP_ROWS(float)
SP_ROWS(double)

namespace {
/// The keys and values of a head; their gradients accumulate.
template <typename T> struct KeyRows {
  Rows<const T> k, v;
  Rows<T> gradK, gradV;
};

/// A block of one of the query heads that share them.
template <typename T> struct QueryRows {
  int64_t b, head;
  Rows<const T> q, gradOut;
  Rows<T> gradQ;
};

/// Three times numWeights.
template <typename T> struct WeightBuffers { T *weights, *dropped, *grads; };
} // namespace

template <typename T>
static void
differentiateBlock(const AttentionShape &shape, const QueryBlock &block,
                   const KeyRows<T> &keyRows, const QueryRows<T> &queryRows,
                   const WeightBuffers<T> &buffers) {
  auto [k, v, gradK, gradV] = keyRows;
  auto [b, head, q, gradOut, gradQ] = queryRows;
  auto [weights, dropBuffer, grads] = buffers;
  int64_t rows = block.numRows, keys = block.numKeys, dim = shape.headDim;
  int64_t stride = block.stride();

  T sums[kBlockRows];
  computeWeights(shape, block, q, k, weights, sums);
  for (int64_t row = 0; row < rows; ++row)
    scaleRow(weights + row * stride, block.visible(row), T(1) / sums[row]);
  const T *dropped = dropWeights(shape, block, b, head, weights, dropBuffer);

  gemm(true, false, keys, dim, rows, T(1), dropped, stride, gradOut.data,
       gradOut.stride, T(1), gradV.data, gradV.stride);
  gemm(false, true, rows, keys, dim, T(1), gradOut.data, gradOut.stride, v.data,
       v.stride, T(0), grads, stride);
  for (int64_t row = 0; row < rows; ++row)
    differentiateRow(weights + row * stride, dropped + row * stride,
                     grads + row * stride, block.visible(row), stride);
  gemm(false, false, rows, dim, keys, T(shape.scale), grads, stride, k.data,
       k.stride, T(0), gradQ.data, gradQ.stride);
  gemm(true, false, keys, dim, rows, T(shape.scale), grads, stride, q.data,
       q.stride, T(1), gradK.data, gradK.stride);
}

template <typename T> static void clearRows(Rows<T> rows, int64_t numRows) {
  for (int64_t row = 0; row < numRows; ++row)
    std::fill_n(rows.from(row).data, rows.length, T(0));
}

template <typename T>
static void differentiate(sp_context *context, const AttentionShape &shape,
                          const void *gradOut, const void *q, const void *k,
                          const void *v, void *gradQ, void *gradK,
                          void *gradV) {
  using Compute = Wide<T>;
  int64_t headBuffer = bufferElements<T>(shape, shape.seq);
  int64_t blockBuffer = bufferElements<T>(shape, kBlockRows);
  auto run = [&](int64_t begin, int64_t end, int64_t thread) {
    SingleOpenMPThread single;
    auto [weights, dropped, grads, kBuffer, vBuffer, gradKBuffer, gradVBuffer,
          qBuffer, gradOutBuffer, gradQBuffer] =
        divideScratch<Compute>(context->getScratch(thread),
                               {shape.numWeights(), shape.numDropped(),
                                shape.numWeights(), headBuffer, headBuffer,
                                headBuffer, headBuffer, blockBuffer,
                                blockBuffer, blockBuffer});
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / shape.kvHeads, kvHead = i % shape.kvHeads;
      auto ofKeys = [&](auto *tensor) {
        return rowsOfHead<T>(shape, tensor, shape.kvHeads, b, kvHead);
      };
      auto gradKHead = ofKeys(gradK), gradVHead = ofKeys(gradV);
      KeyRows<Compute> keyRows = {readRows(ofKeys(k), shape.seq, kBuffer),
                                  readRows(ofKeys(v), shape.seq, vBuffer),
                                  resultRows(gradKHead, gradKBuffer),
                                  resultRows(gradVHead, gradVBuffer)};
      clearRows(keyRows.gradK, shape.seq);
      clearRows(keyRows.gradV, shape.seq);
      for (int64_t inGroup = 0; inGroup < shape.groupSize(); ++inGroup) {
        int64_t head = kvHead * shape.groupSize() + inGroup;
        auto ofQueries = [&](auto *tensor) {
          return rowsOfHead<T>(shape, tensor, shape.heads, b, head);
        };
        auto gradQHead = ofQueries(gradQ);
        for (int64_t at = 0; at < shape.seq; at += kBlockRows) {
          QueryBlock block = shape.blockAt(at);
          auto gradQRows = gradQHead.from(at);
          QueryRows<Compute> queryRows = {
              b, head, readRows(ofQueries(q).from(at), block.numRows, qBuffer),
              readRows(ofQueries(gradOut).from(at), block.numRows,
                       gradOutBuffer),
              resultRows(gradQRows, gradQBuffer)};
          differentiateBlock<Compute>(shape, block, keyRows, queryRows,
                                      {weights, dropped, grads});
          writeRows(queryRows.gradQ, block.numRows, gradQRows);
        }
      }
      writeRows(keyRows.gradK, shape.seq, gradKHead);
      writeRows(keyRows.gradV, shape.seq, gradVHead);
    }
  };
  context->parallelFor(shape.batch * shape.kvHeads, run);
}

int32_t sp_attention_grad(sp_context *context, int32_t dtype,
                          const void *grad_out, const void *q, const void *k,
                          const void *v, void *grad_q, void *grad_k,
                          void *grad_v, int64_t seq, int64_t batch,
                          int64_t heads, int64_t kv_heads, int64_t head_dim,
                          double scale, int32_t causal, double dropout_p,
                          int64_t dropout_op_id, int64_t head_offset) {
  return guarded(context, [&]() -> int32_t {
    AttentionShape shape = {seq,   batch,       heads,       kv_heads, head_dim,
                            scale, causal != 0, head_offset, {}};
    if (prepareAttention(context, "attention_grad", shape, dropout_p,
                         dropout_op_id))
      return 1;
    if (seq <= 0 || head_dim <= 0)
      return 0;
    return withFloatType(context, "attention_grad", dtype, [&](auto zero) {
      differentiate<decltype(zero)>(context, shape, grad_out, q, k, v, grad_q,
                                    grad_k, grad_v);
    });
  });
}
