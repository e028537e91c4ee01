//===- Dropout.cpp - masks that do not depend on the sharding -------------===//

#include "BFloat16.h"
#include "Internal.h"
#include "Philox.h"

#include <algorithm>
#include <cmath>

using namespace sp;

/// Vigna's splitmix64: bijective, so that no two steps share a key.
static uint64_t splitmix64(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

namespace {
constexpr int kLanes = 16;
constexpr int kBlock = 4 * kLanes;

struct Mask {
  uint64_t key;
  /// Kept if a random word is not below it: 2^32 keeps nothing.
  uint64_t threshold;
};
} // namespace

/// The words of the elements [4 * first, 4 * first + kBlock) of a row.
SP_ALWAYS_INLINE void drawBody(const uint32_t *row, uint32_t first,
                               uint64_t key, uint32_t *words) {
  uint32_t counter[4][kLanes];
  for (int i = 0; i < kLanes; ++i) {
    counter[0][i] = row[0];
    counter[1][i] = row[1];
    counter[2][i] = row[2];
    counter[3][i] = first + i;
  }
  philox4x32(counter, uint32_t(key), uint32_t(key >> 32));
  for (int i = 0; i < kLanes; ++i)
    for (int word = 0; word < 4; ++word)
      words[4 * i + word] = counter[word][i];
}
SP_MULTIVERSION(void, draw,
                (const uint32_t *row, uint32_t first, uint64_t key,
                 uint32_t *words),
                (row, first, key, words))

/// `count` elements of the row, from coordinate `begin` of its last dimension.
template <typename T, typename Scale>
static void dropRow(const Mask &mask, const uint32_t *row, int64_t begin,
                    int64_t count, const T *src, T *dst, Scale scale) {
  uint32_t words[kBlock];
  for (int64_t done = 0; done < count;) {
    int64_t at = begin + done, first = at / 4, skip = at % 4;
    int64_t size = std::min(count - done, kBlock - skip);
    draw(row, first, mask.key, words);
    for (int64_t i = 0; i < size; ++i)
      dst[done + i] =
          words[skip + i] >= mask.threshold ? scale(src[done + i]) : T{};
    done += size;
  }
}

void sp_dropout(sp_context *context, int32_t dtype, const void *src, void *dst,
                int32_t rank, const int64_t *local_shape, const int64_t *offset,
                double p, int64_t op_id) {
  guarded(context, [&]() -> int32_t {
    if (rank < 0 || rank > 4)
      return context->fail(
          str("dropout: a tensor of rank ", rank, " has no counter"));
    if (!(p >= 0 && p <= 1))
      return context->fail(str("dropout: p = ", p, " is not a probability"));
    if (dtype != SP_F32 && dtype != SP_F64 && dtype != SP_BF16)
      return context->fail("dropout: not of " + getDTypeName(dtype));

    // Aligned to the right, as if the tensor had four dimensions.
    int64_t shape[4] = {1, 1, 1, 1}, origin[4] = {0, 0, 0, 0};
    for (int d = 0; d < rank; ++d) {
      shape[4 - rank + d] = local_shape[d];
      origin[4 - rank + d] = offset[d];
    }
    for (int d = 0; d < 4; ++d)
      if (origin[d] < 0 || origin[d] + shape[d] > int64_t(1) << 32)
        return context->fail(str("dropout: coordinate ", origin[d] + shape[d],
                                 " has no counter"));

    uint64_t key = splitmix64(context->seed);
    key = splitmix64(key + context->step);
    key = splitmix64(key + uint64_t(op_id));
    Mask mask = {key, uint64_t(std::llround(std::ldexp(p, 32)))};
    double scale = 1 / (1 - p);

    int64_t numRows = shape[0] * shape[1] * shape[2], length = shape[3];
    auto drop = [&](int64_t begin, int64_t end, int64_t) {
      for (int64_t i = begin; i < end; ++i) {
        uint32_t row[3] = {
            uint32_t(origin[0] + i / (shape[1] * shape[2])),
            uint32_t(origin[1] + i / shape[2] % shape[1]),
            uint32_t(origin[2] + i % shape[2]),
        };
        auto run = [&](auto *from, auto *to, auto scaled) {
          dropRow(mask, row, origin[3], length, from + i * length,
                  to + i * length, scaled);
        };
        if (dtype == SP_F32)
          run(static_cast<const float *>(src), static_cast<float *>(dst),
              [by = float(scale)](float value) { return value * by; });
        else if (dtype == SP_F64)
          run(static_cast<const double *>(src), static_cast<double *>(dst),
              [by = scale](double value) { return value * by; });
        else
          run(static_cast<const BFloat16 *>(src), static_cast<BFloat16 *>(dst),
              [by = float(scale)](BFloat16 value) {
                return toBFloat16(toFloat(value) * by);
              });
      }
    };
    context->parallelFor(numRows, drop);
    return 0;
  });
}
