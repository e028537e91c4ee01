//===- Attention.cpp - blocks of query rows of one head -------------------===//
//
// For 64 rows of queries at a time: scores up to the diagonal, their softmax,
// and the sum of the values. The three tensors are used in place: the rows of
// a head of [S, B, heads, D] lie B * heads * D apart. The blocks depend on the
// sequence only, so a head's bits do not depend on its neighbours.
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "Internal.h"
#include "Multiversion.h"
#include "OpenMP.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sp;

namespace {
constexpr int64_t kBlockRows = 64;
/// Lanes of the softmax; rows of scores are padded to a multiple.
constexpr int64_t kLanes = 16;

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
} // namespace

static int64_t padded(int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// x = e^x for x <= 88, by Cephes' expf: the relative error stays below 1e-7
/// (measured). Results below 2^-126 are 0; a NaN stays one.
SP_ALWAYS_INLINE void exponentiate(Floats &x) {
  const float lowest = -87.3365f;
  Ints vanishes = x < lowest;
  Floats lowestLanes = Floats{} + lowest;
  x = vanishes ? lowestLanes : x;

  // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the
  // low bits; the first of the two parts of ln 2 is exact in 10 bits.
  const float magic = 12582912.0f;
  Floats shifted = x * 1.44269504088896341f + magic;
  Floats n = shifted - magic;
  Floats r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;

  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;

  // 2^n by its exponent bits.
  Ints exponent = (((Ints)shifted - 0x4B400000) + 127) << 23;
  x = p * (Floats)exponent;
  Floats zero = {};
  x = vanishes ? zero : x;
}

/// Replaces scores[0, visible) by e^(score - maximum) and the rest of
/// [0, keys) by 0. Returns the sum. The row is padded to whole vectors.
SP_ALWAYS_INLINE float softmaxBody(float *scores, int64_t visible,
                                   int64_t keys) {
  const float infinity = std::numeric_limits<float>::infinity();
  auto *vectors = reinterpret_cast<Floats *>(scores);
  int64_t numVectors = (visible + kLanes - 1) / kLanes;
  std::fill(scores + visible, scores + numVectors * kLanes, -infinity);

  // A NaN may get lost here, but not below.
  Floats maxima = Floats{} - infinity;
  for (int64_t i = 0; i < numVectors; ++i)
    maxima = vectors[i] > maxima ? vectors[i] : maxima;
  float maximum = maxima[0];
  for (int64_t i = 1; i < kLanes; ++i)
    maximum = maxima[i] > maximum ? maxima[i] : maximum;

  Floats sums = {};
  for (int64_t i = 0; i < numVectors; ++i) {
    Floats x = vectors[i] - maximum;
    exponentiate(x);
    vectors[i] = x;
    sums += x;
  }
  float sum = 0;
  for (int64_t i = 0; i < kLanes; ++i)
    sum += sums[i];
  std::fill(scores + numVectors * kLanes,
            scores + std::max(keys, numVectors * kLanes), 0.0f);
  return sum;
}
SP_MULTIVERSION(float, softmax, (float *scores, int64_t visible, int64_t keys),
                (scores, visible, keys))

static double softmax(double *scores, int64_t visible, int64_t keys) {
  double maximum = scores[0], sum = 0;
  for (int64_t i = 1; i < visible; ++i)
    maximum = std::max(maximum, scores[i]);
  for (int64_t i = 0; i < visible; ++i) {
    scores[i] = std::exp(scores[i] - maximum);
    sum += scores[i];
  }
  std::fill(scores + visible, scores + keys, 0.0);
  return sum;
}

//===----------------------------------------------------------------------===//
// One head
//===----------------------------------------------------------------------===//

namespace {
/// Rows of one head, `stride` elements apart.
template <typename T> struct Rows {
  T *data;
  int64_t stride;

  Rows from(int64_t row) const { return {data + row * stride, stride}; }
};

struct Shape {
  int64_t seq, headDim;
  double scale;
  bool causal;
};
} // namespace

/// The rows [begin, begin + numRows) of a head; q and out begin at the block's,
/// k and v at the head's first row.
template <typename T>
static void attendBlock(const Shape &shape, Rows<const T> q, Rows<const T> k,
                        Rows<const T> v, Rows<T> out, int64_t begin,
                        int64_t numRows, T *scores) {
  int64_t keys = shape.causal ? begin + numRows : shape.seq;
  int64_t stride = padded(keys);
  gemm(false, true, numRows, keys, shape.headDim, T(shape.scale), q.data,
       q.stride, k.data, k.stride, T(0), scores, stride);

  T sums[kBlockRows];
  for (int64_t row = 0; row < numRows; ++row) {
    int64_t visible = shape.causal ? begin + row + 1 : keys;
    sums[row] = softmax(scores + row * stride, visible, keys);
  }

  gemm(false, false, numRows, shape.headDim, keys, T(1), scores, stride, v.data,
       v.stride, T(0), out.data, out.stride);
  for (int64_t row = 0; row < numRows; ++row) {
    T *values = out.from(row).data, factor = T(1) / sums[row];
    for (int64_t i = 0; i < shape.headDim; ++i)
      values[i] *= factor;
  }
}

/// Calls body(begin, numRows) for each block of query rows.
template <typename Body> static void forEachBlock(int64_t seq, Body body) {
  for (int64_t begin = 0; begin < seq; begin += kBlockRows)
    body(begin, std::min(kBlockRows, seq - begin));
}

static int64_t scoreElements(const Shape &shape) {
  return std::min(kBlockRows, shape.seq) * padded(shape.seq);
}

template <typename T> static size_t scratchBytes(const Shape &shape) {
  return scoreElements(shape) * sizeof(T);
}

template <typename T>
static void attendHead(const Shape &shape, Rows<const T> q, Rows<const T> k,
                       Rows<const T> v, Rows<T> out, void *scratch) {
  forEachBlock(shape.seq, [&](int64_t begin, int64_t numRows) {
    attendBlock<T>(shape, q.from(begin), k, v, out.from(begin), begin, numRows,
                   static_cast<T *>(scratch));
  });
}

// bf16: the head's keys and values, and a block of its queries and results, are
// kept in f32.

template <> size_t scratchBytes<BFloat16>(const Shape &shape) {
  int64_t rows = 2 * shape.seq + 2 * kBlockRows;
  return (scoreElements(shape) + rows * shape.headDim) * sizeof(float);
}

static Rows<const float> widen(Rows<const BFloat16> from, int64_t numRows,
                               int64_t headDim, float *to) {
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t i = 0; i < headDim; ++i)
      to[row * headDim + i] = toFloat(from.from(row).data[i]);
  return {to, headDim};
}

template <>
void attendHead<BFloat16>(const Shape &shape, Rows<const BFloat16> q,
                          Rows<const BFloat16> k, Rows<const BFloat16> v,
                          Rows<BFloat16> out, void *scratch) {
  int64_t dim = shape.headDim;
  auto *scores = static_cast<float *>(scratch);
  float *keyRows = scores + scoreElements(shape);
  float *valueRows = keyRows + shape.seq * dim;
  float *queryRows = valueRows + shape.seq * dim;
  float *outRows = queryRows + kBlockRows * dim;

  Rows<const float> keys = widen(k, shape.seq, dim, keyRows);
  Rows<const float> values = widen(v, shape.seq, dim, valueRows);
  forEachBlock(shape.seq, [&](int64_t begin, int64_t numRows) {
    Rows<const float> queries = widen(q.from(begin), numRows, dim, queryRows);
    attendBlock<float>(shape, queries, keys, values, {outRows, dim}, begin,
                       numRows, scores);
    for (int64_t row = 0; row < numRows; ++row)
      for (int64_t i = 0; i < dim; ++i)
        out.from(begin + row).data[i] = toBFloat16(outRows[row * dim + i]);
  });
}

//===----------------------------------------------------------------------===//
// All heads
//===----------------------------------------------------------------------===//

template <typename T>
static void attend(sp_context *context, const Shape &shape, const void *q,
                   const void *k, const void *v, void *out, int64_t batch,
                   int64_t heads, int64_t kvHeads) {
  int64_t dim = shape.headDim;
  int64_t stride = batch * heads * dim, kvStride = batch * kvHeads * dim;
  auto run = [&](int64_t begin, int64_t end, int64_t thread) {
    SingleOpenMPThread single;
    void *scratch = context->getScratch(thread).get(scratchBytes<T>(shape));
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / heads, head = i % heads;
      int64_t kvHead = head / (heads / kvHeads);
      int64_t at = i * dim, kvAt = (b * kvHeads + kvHead) * dim;
      attendHead<T>(shape, {static_cast<const T *>(q) + at, stride},
                    {static_cast<const T *>(k) + kvAt, kvStride},
                    {static_cast<const T *>(v) + kvAt, kvStride},
                    {static_cast<T *>(out) + at, stride}, scratch);
    }
  };
  context->parallelFor(batch * heads, run);
}

int32_t sp_attention(sp_context *context, int32_t dtype, const void *q,
                     const void *k, const void *v, void *out, int64_t seq,
                     int64_t batch, int64_t heads, int64_t kv_heads,
                     int64_t head_dim, double scale, int32_t causal) {
  return guarded(context, [&]() -> int32_t {
    if (kv_heads <= 0 || heads % kv_heads != 0)
      return context->fail(str("attention: ", heads,
                               " query heads cannot share ", kv_heads,
                               " key/value heads"));
    if (seq <= 0 || head_dim <= 0)
      return 0;
    Shape shape = {seq, head_dim, scale, causal != 0};
    switch (dtype) {
    case SP_F32:
      attend<float>(context, shape, q, k, v, out, batch, heads, kv_heads);
      return 0;
    case SP_F64:
      attend<double>(context, shape, q, k, v, out, batch, heads, kv_heads);
      return 0;
    case SP_BF16:
      attend<BFloat16>(context, shape, q, k, v, out, batch, heads, kv_heads);
      return 0;
    }
    return context->fail("attention: not of " + getDTypeName(dtype));
  });
}
