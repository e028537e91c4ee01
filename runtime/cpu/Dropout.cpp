//===- Dropout.cpp - masks that do not depend on the sharding -------------===//

#include "DropoutMask.h"
#include "FloatTypes.h"
#include "Philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sp;

//===----------------------------------------------------------------------===//
// The mask
//===----------------------------------------------------------------------===//

/// Vigna's splitmix64: bijective, so that no two steps share a key.
static uint64_t splitmix64(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

std::string sp::findDropoutError(double p, const int64_t *origin,
                                 const int64_t *shape) {
  if (!(p >= 0 && p <= 1))
    return str("p = ", p, " is not a probability");
  for (int d = 0; d < 4; ++d)
    if (origin[d] < 0 || origin[d] + shape[d] > int64_t(1) << 32)
      return str("coordinate ", origin[d] + shape[d], " has no counter");
  return {};
}

DropoutMask sp::makeDropoutMask(const sp_context &context, double p,
                                int64_t opId) {
  uint64_t key = splitmix64(context.seed);
  key = splitmix64(key + context.step);
  key = splitmix64(key + uint64_t(opId));
  return {key, uint64_t(std::llround(std::ldexp(p, 32))), 1 / (1 - p)};
}

namespace {
/// Counters at a time, and the elements that they serve.
constexpr int kLanes = 8;
constexpr int kBlock = 4 * kLanes;

typedef uint64_t Words __attribute__((vector_size(8 * kLanes)));
typedef uint32_t Quads __attribute__((vector_size(4 * kLanes)));
} // namespace

/// Which of the elements [4 * first, 4 * first + kBlock) of a row are kept, as
/// 0 or 1.
SP_ALWAYS_INLINE void draw(const DropoutMask &mask, const uint64_t *row,
                           uint64_t first, uint8_t *kept) {
  const Words lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  Words counter[4] = {Words{} + row[0], Words{} + row[1], Words{} + row[2],
                      lanes + first};
  philox4x32(counter, mask.key);
  // Word w's bit goes to byte w of an element's four: one store for four.
  Words bits = {};
  for (int word = 0; word < 4; ++word)
    bits |=
        (Words)(counter[word] >= mask.threshold) & (uint64_t(1) << 8 * word);
  Quads quads = __builtin_convertvector(bits, Quads);
  std::memcpy(kept, &quads, sizeof(quads));
}

template <typename T>
SP_ALWAYS_INLINE void
dropRowFastBody(const DropoutMask &mask, const uint64_t *row, int64_t begin,
                int64_t count, const T *__restrict src, T *__restrict dst) {
  uint8_t kept[kBlock];
  for (int64_t done = 0; done < count;) {
    int64_t at = begin + done, first = at / 4, skip = at % 4;
    int64_t size = std::min(count - done, kBlock - skip);
    draw(mask, row, first, kept);
    for (int64_t i = 0; i < size; ++i) {
      T scaled = narrow<T>(widen(src[done + i]) * Wide<T>(mask.scale));
      dst[done + i] = kept[skip + i] ? scaled : T{};
    }
    done += size;
  }
}

#define SP_DROP_ROW(T)                                                         \
  SP_MULTIVERSION(void, dropRowFast,                                           \
                  (const DropoutMask &mask, const uint64_t *row,               \
                   int64_t begin, int64_t count, const T *src, T *dst),        \
                  (mask, row, begin, count, src, dst))                         \
  void sp::dropRow(const DropoutMask &mask, const uint64_t *row,               \
                   int64_t begin, int64_t count, const T *src, T *dst) {       \
    dropRowFast(mask, row, begin, count, src, dst);                            \
  }
SP_DROP_ROW(float)
SP_DROP_ROW(double)
SP_DROP_ROW(BFloat16)

//===----------------------------------------------------------------------===//
// Of a tensor
//===----------------------------------------------------------------------===//

/// The rows [begin, end) of `origin` and `shape`, each of shape[3] elements.
template <typename T>
static void dropRows(const DropoutMask &mask, const int64_t *shape,
                     const int64_t *origin, int64_t begin, int64_t end,
                     const void *src, void *dst) {
  int64_t length = shape[3];
  T *to = static_cast<T *>(dst);
  for (int64_t i = begin; i < end; ++i) {
    uint64_t row[3] = {
        uint64_t(origin[0] + i / (shape[1] * shape[2])),
        uint64_t(origin[1] + i / shape[2] % shape[1]),
        uint64_t(origin[2] + i % shape[2]),
    };
    dropRow(mask, row, origin[3], length,
            static_cast<const T *>(src) + i * length, to + i * length);
  }
}

void sp_dropout(sp_context *context, int32_t dtype, const void *src, void *dst,
                int32_t rank, const int64_t *local_shape, const int64_t *offset,
                double p, int64_t op_id) {
  guarded(context, [&]() -> int32_t {
    if (rank < 0 || rank > 4)
      return context->fail(
          str("dropout: a tensor of rank ", rank, " has no counter"));
    // Aligned to the right, as if the tensor had four dimensions.
    int64_t shape[4] = {1, 1, 1, 1}, origin[4] = {0, 0, 0, 0};
    for (int d = 0; d < rank; ++d) {
      shape[4 - rank + d] = local_shape[d];
      origin[4 - rank + d] = offset[d];
    }
    std::string error = findDropoutError(p, origin, shape);
    if (!error.empty())
      return context->fail("dropout: " + error);

    DropoutMask mask = makeDropoutMask(*context, p, op_id);
    return withFloatType(context, "dropout", dtype, [&](auto zero) {
      auto drop = [&](int64_t begin, int64_t end, int64_t) {
        dropRows<decltype(zero)>(mask, shape, origin, begin, end, src, dst);
      };
      context->parallelFor(shape[0] * shape[1] * shape[2], drop);
    });
  });
}
