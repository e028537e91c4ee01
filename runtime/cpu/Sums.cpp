//===- Sums.cpp - sums whose order does not depend on the threads ---------===//

#include "FloatTypes.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace sp;

//===----------------------------------------------------------------------===//
// Over the rows
//===----------------------------------------------------------------------===//

/// Columns at a time: the sums of all levels stay in the cache.
static constexpr int64_t kColumns = 256;
/// So many are added one after the other; the rest is a balanced tree, whose
/// rounding errors grow with the logarithm of the rows.
static constexpr int64_t kLeafRows = 16;

/// sums[0, columns) = the sum of `rows` rows, `stride` elements apart, from
/// column `first` on. `src` may be null if there are no rows.
template <typename T>
static void sumRows(const T *src, int64_t stride, int64_t rows, int64_t first,
                    int64_t columns, Wide<T> *sums) {
  if (rows <= kLeafRows) {
    std::fill(sums, sums + columns, Wide<T>(0));
    for (int64_t row = 0; row < rows; ++row)
      addTo(sums, src + row * stride + first, columns);
    return;
  }
  Wide<T> second[kColumns];
  int64_t half = rows / 2;
  sumRows(src, stride, half, first, columns, sums);
  sumRows(src + half * stride, stride, rows - half, first, columns, second);
  addTo(sums, second, columns);
}

int32_t sp_sum_leading(sp_context *context, int32_t dtype, const void *src,
                       void *dst, int64_t rows, int64_t cols) {
  return guarded(context, [&] {
    return withFloatType(context, "sum_leading", dtype, [&](auto zero) {
      using T = decltype(zero);
      auto *from = static_cast<const T *>(src);
      auto *to = static_cast<T *>(dst);
      context->parallelFor(cols, [&](int64_t begin, int64_t end, int64_t) {
        Wide<T> sums[kColumns];
        for (; begin < end; begin += kColumns) {
          int64_t columns = std::min(kColumns, end - begin);
          sumRows(from, cols, rows, begin, columns, sums);
          narrowTo(to + begin, sums, columns);
        }
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Of squares
//===----------------------------------------------------------------------===//

/// Elements whose squares are summed together.
static constexpr int64_t kSquares = 4096;

template <typename T>
SP_ALWAYS_INLINE double sumSquaresBody(const T *values, int64_t count) {
  constexpr int64_t lanes = 16;
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      double value = widen(values[i + lane]);
      sums[lane] += value * value;
    }
  for (int64_t lane = 0; i + lane < count; ++lane) {
    double value = widen(values[i + lane]);
    sums[lane] += value * value;
  }
  return std::accumulate(sums, sums + lanes, 0.0);
}

#define SP_SUM_SQUARES(T)                                                      \
  SP_MULTIVERSION(double, sumSquares, (const T *values, int64_t count),        \
                  (values, count))
SP_SUM_SQUARES(float)
SP_SUM_SQUARES(double)
SP_SUM_SQUARES(BFloat16)

int32_t sp_sum_squares(sp_context *context, int32_t dtype, const void *src,
                       double *dst, int64_t count) {
  return guarded(context, [&] {
    return withFloatType(context, "sum_squares", dtype, [&](auto zero) {
      auto *values = static_cast<const decltype(zero) *>(src);
      std::vector<double> sums((count + kSquares - 1) / kSquares);
      context->parallelFor(sums.size(), [&](int64_t begin, int64_t end,
                                            int64_t) {
        for (int64_t block = begin; block < end; ++block) {
          int64_t at = block * kSquares;
          sums[block] = sumSquares(values + at, std::min(kSquares, count - at));
        }
      });
      *dst = std::accumulate(sums.begin(), sums.end(), 0.0);
    });
  });
}
