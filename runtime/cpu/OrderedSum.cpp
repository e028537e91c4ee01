//===- OrderedSum.cpp -----------------------------------------------------===//

#include "OrderedSum.h"
#include "BFloat16.h"
#include "Multiversion.h"

#include <algorithm>
#include <cstring>

using namespace sp;

/// The running sums stay in the cache while the sources pass by.
static constexpr int64_t kBlock = 2048;

/// In the type itself; the sum of two is one pass.
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

SP_ALWAYS_INLINE void addBFloat16Body(const BFloat16 *in, float *sums,
                                      int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += toFloat(in[i]);
}
SP_MULTIVERSION(void, addBFloat16,
                (const BFloat16 *in, float *sums, int64_t count),
                (in, sums, count))

SP_ALWAYS_INLINE void roundSumsBody(const float *sums, BFloat16 *out,
                                    int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = toBFloat16(sums[i]);
}
SP_MULTIVERSION(void, roundSums,
                (const float *sums, BFloat16 *out, int64_t count),
                (sums, out, count))

template <>
void sumBlock<BFloat16>(const std::vector<const char *> &sources,
                        int64_t offset, char *dst, int64_t count) {
  float sums[kBlock];
  // Not +0, which would lose the sign of a sum of -0.
  std::fill(sums, sums + count, -0.0f);
  for (const char *source : sources)
    addBFloat16(reinterpret_cast<const BFloat16 *>(source + offset), sums,
                count);
  roundSums(sums, reinterpret_cast<BFloat16 *>(dst + offset), count);
}

template <typename T>
static void sumAll(const std::vector<const char *> &sources, char *dst,
                   int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kBlock)
    sumBlock<T>(sources, begin * sizeof(T), dst,
                std::min(kBlock, count - begin));
}

void sp::sumInOrder(int32_t dtype, const std::vector<const char *> &sources,
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
