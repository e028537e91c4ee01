//===- Testing.h - what the runtime's tests share ---------------*- C++ -*-===//

#ifndef SP_RUNTIME_UNITTESTS_TESTING_H
#define SP_RUNTIME_UNITTESTS_TESTING_H

#include "BFloat16.h"
#include "sp/Runtime/Context.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace sp {

inline std::unique_ptr<LocalWorld> makeWorld(const std::vector<int64_t> &axes,
                                             int64_t threads = 1,
                                             double timeout = 60) {
  LocalWorldOptions options;
  options.threadsPerRank = threads;
  options.timeoutSeconds = timeout;
  std::string error;
  std::unique_ptr<LocalWorld> world = LocalWorld::create(axes, options, &error);
  EXPECT_TRUE(world) << error;
  return world;
}

template <typename T> sp_dtype dtypeOf();
template <> inline sp_dtype dtypeOf<float>() { return SP_F32; }
template <> inline sp_dtype dtypeOf<double>() { return SP_F64; }
template <> inline sp_dtype dtypeOf<BFloat16>() { return SP_BF16; }
template <> inline sp_dtype dtypeOf<int64_t>() { return SP_I64; }

template <typename T> T fromDouble(double value) { return T(value); }
template <> inline BFloat16 fromDouble(double value) {
  return roundToBFloat16(value);
}
template <typename T> double toDouble(T value) { return double(value); }
template <> inline double toDouble(BFloat16 value) { return toFloat(value); }

/// Uniform in [-1, 1).
template <typename T>
std::vector<T> randomValues(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(count);
  for (T &value : values)
    value = fromDouble<T>(uniform(engine));
  return values;
}

template <typename T>
bool sameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

} // namespace sp

#endif // SP_RUNTIME_UNITTESTS_TESTING_H
