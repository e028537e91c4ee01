//===- OrderedSum.cpp -----------------------------------------------------===//

#include "OrderedSum.h"
#include "BFloat16.h"

#include <algorithm>
#include <cstring>

using namespace sp;

/// The running sums stay in the cache while the sources pass by.
static constexpr int64_t kBlock = 2048;

/// In the type itself. Two sources at a time, so that the sum of two is one
/// pass; the order is the same.
template <typename T>
static void sumBlock(const std::vector<const char *> &sources, int64_t offset,
                     char *dst, int64_t count) {
  auto source = [&](size_t i) {
    return reinterpret_cast<const T *>(sources[i] + offset);
  };
  T *__restrict out = reinterpret_cast<T *>(dst + offset);
  if (sources.size() == 1) {
    std::memcpy(out, source(0), count * sizeof(T));
    return;
  }
  const T *__restrict first = source(0), *__restrict second = source(1);
  for (int64_t i = 0; i < count; ++i)
    out[i] = first[i] + second[i];
  for (size_t next = 2; next < sources.size(); ++next) {
    const T *__restrict in = source(next);
    for (int64_t i = 0; i < count; ++i)
      out[i] += in[i];
  }
}

template <>
void sumBlock<BFloat16>(const std::vector<const char *> &sources,
                        int64_t offset, char *dst, int64_t count) {
  float sums[kBlock];
  auto *first = reinterpret_cast<const BFloat16 *>(sources[0] + offset);
  for (int64_t i = 0; i < count; ++i)
    sums[i] = toFloat(first[i]);
  for (size_t next = 1; next < sources.size(); ++next) {
    auto *in = reinterpret_cast<const BFloat16 *>(sources[next] + offset);
    for (int64_t i = 0; i < count; ++i)
      sums[i] += toFloat(in[i]);
  }
  auto *out = reinterpret_cast<BFloat16 *>(dst + offset);
  for (int64_t i = 0; i < count; ++i)
    out[i] = toBFloat16(sums[i]);
}

template <typename T>
static void sumAll(const std::vector<const char *> &sources, char *dst,
                   int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kBlock)
    sumBlock<T>(sources, begin * sizeof(T), dst,
                std::min(kBlock, count - begin));
}

void sp::sumInOrder(sp_dtype dtype, const std::vector<const char *> &sources,
                    char *dst, int64_t count) {
  switch (dtype) {
  case SP_F32:
    return sumAll<float>(sources, dst, count);
  case SP_F64:
    return sumAll<double>(sources, dst, count);
  case SP_BF16:
    return sumAll<BFloat16>(sources, dst, count);
  case SP_I64:
    return sumAll<uint64_t>(sources, dst, count);
  }
}
