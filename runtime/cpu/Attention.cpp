//===- Attention.cpp - the weighted sums of the values --------------------===//

#include "AttentionBlocks.h"
#include "OpenMP.h"

using namespace sp;

int32_t sp::prepareAttention(sp_context *context, const char *function,
                             AttentionShape &shape, double p, int64_t opId) {
  if (shape.kvHeads <= 0 || shape.heads % shape.kvHeads != 0)
    return context->fail(str(function, ": ", shape.heads,
                             " query heads cannot share ", shape.kvHeads,
                             " key/value heads"));
  if (p == 0)
    return 0;
  const int64_t origin[4] = {0, shape.headOffset, 0, 0};
  const int64_t extent[4] = {shape.batch, shape.heads, shape.seq, shape.seq};
  std::string error = findDropoutError(p, origin, extent);
  if (!error.empty())
    return context->fail(str(function, ": dropout: ", error));
  shape.dropout = makeDropoutMask(*context, p, opId);
  return 0;
}

/// out = the weights times v, by rows, for a block of them.
template <typename T>
static void attendBlock(const AttentionShape &shape, const QueryBlock &block,
                        const T *weights, const T *sums, Rows<const T> v,
                        Rows<T> out) {
  gemm(false, false, block.numRows, shape.headDim, block.numKeys, T(1), weights,
       block.stride(), v.data, v.stride, T(0), out.data, out.stride);
  for (int64_t row = 0; row < block.numRows; ++row) {
    T *values = out.from(row).data, factor = T(1) / sums[row];
    for (int64_t i = 0; i < shape.headDim; ++i)
      values[i] *= factor;
  }
}

template <typename T>
static void attend(sp_context *context, const AttentionShape &shape,
                   const void *q, const void *k, const void *v, void *out) {
  int64_t headBuffer = bufferElements<T>(shape, shape.seq);
  int64_t blockBuffer = bufferElements<T>(shape, kBlockRows);
  auto run = [&](int64_t begin, int64_t end, int64_t thread) {
    SingleOpenMPThread single;
    auto [weights, dropBuffer, kBuffer, vBuffer, qBuffer, outBuffer] =
        divideScratch<Wide<T>>(context->getScratch(thread),
                               {shape.numWeights(), shape.numDropped(),
                                headBuffer, headBuffer, blockBuffer,
                                blockBuffer});
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / shape.heads, head = i % shape.heads;
      int64_t kvHead = head / shape.groupSize();
      auto qHead = rowsOfHead<T>(shape, q, shape.heads, b, head);
      auto outHead = rowsOfHead<T>(shape, out, shape.heads, b, head);
      auto kRows = readRows(rowsOfHead<T>(shape, k, shape.kvHeads, b, kvHead),
                            shape.seq, kBuffer);
      auto vRows = readRows(rowsOfHead<T>(shape, v, shape.kvHeads, b, kvHead),
                            shape.seq, vBuffer);
      for (int64_t at = 0; at < shape.seq; at += kBlockRows) {
        QueryBlock block = shape.blockAt(at);
        Wide<T> sums[kBlockRows];
        computeWeights(shape, block,
                       readRows(qHead.from(at), block.numRows, qBuffer), kRows,
                       weights, sums);
        auto outRows = resultRows(outHead.from(at), outBuffer);
        attendBlock(shape, block,
                    dropWeights(shape, block, b, head, weights, dropBuffer),
                    sums, vRows, outRows);
        writeRows(outRows, block.numRows, outHead.from(at));
      }
    }
  };
  context->parallelFor(shape.batch * shape.heads, run);
}

int32_t sp_attention(sp_context *context, int32_t dtype, const void *q,
                     const void *k, const void *v, void *out, int64_t seq,
                     int64_t batch, int64_t heads, int64_t kv_heads,
                     int64_t head_dim, double scale, int32_t causal,
                     double dropout_p, int64_t dropout_op_id,
                     int64_t head_offset) {
  return guarded(context, [&]() -> int32_t {
    AttentionShape shape = {seq,   batch,       heads,       kv_heads, head_dim,
                            scale, causal != 0, head_offset, {}};
    if (prepareAttention(context, "attention", shape, dropout_p, dropout_op_id))
      return 1;
    if (seq <= 0 || head_dim <= 0)
      return 0;
    return withFloatType(context, "attention", dtype, [&](auto zero) {
      attend<decltype(zero)>(context, shape, q, k, v, out);
    });
  });
}
