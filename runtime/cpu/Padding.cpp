//===- Padding.cpp - more of a dimension, and less ------------------------===//

#include "FloatTypes.h"

#include <cstring>
#include <vector>

using namespace sp;

void sp_pad(int64_t elem_bytes, const void *src, void *dst, int64_t outer,
            int64_t dim, int64_t padded, int64_t inner, int32_t repeat,
            int64_t fill) {
  int64_t row = inner * elem_bytes;
  auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  for (int64_t i = 0; i < outer; ++i) {
    std::memcpy(to, from, dim * row);
    from += dim * row;
    to += dim * row;
    for (int64_t k = dim; k < padded; ++k, to += row)
      if (repeat)
        std::memcpy(to, from - row, row);
      else
        for (int64_t j = 0; j < inner; ++j)
          std::memcpy(to + j * elem_bytes, &fill, elem_bytes);
  }
}

void sp_unpad(int64_t elem_bytes, const void *src, void *dst, int64_t outer,
              int64_t dim, int64_t padded, int64_t inner) {
  int64_t row = inner * elem_bytes;
  auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  for (int64_t i = 0; i < outer; ++i)
    std::memcpy(to + i * dim * row, from + i * padded * row, dim * row);
}

int32_t sp_unpad_fold(sp_context *context, int32_t dtype, const void *src,
                      void *dst, int64_t outer, int64_t dim, int64_t padded,
                      int64_t inner) {
  return guarded(context, [&] {
    return withFloatType(context, "unpad_fold", dtype, [&](auto zero) {
      using T = decltype(zero);
      auto *from = static_cast<const T *>(src);
      auto *to = static_cast<T *>(dst);
      std::vector<Wide<T>> sums(inner);
      for (int64_t i = 0; i < outer; ++i) {
        int64_t kept = (dim - 1) * inner;
        std::memcpy(to, from, kept * sizeof(T));
        std::fill(sums.begin(), sums.end(), Wide<T>(0));
        for (int64_t k = dim - 1; k < padded; ++k)
          addTo(sums.data(), from + k * inner, inner);
        narrowTo(to + kept, sums.data(), inner);
        from += padded * inner;
        to += dim * inner;
      }
    });
  });
}
