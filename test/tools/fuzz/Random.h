//===- Random.h - Choices that follow from a seed ---------------*- C++ -*-===//
//
// The standard library's distributions differ between implementations; a seed
// has to mean the same program everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef SP_TEST_TOOLS_FUZZ_RANDOM_H
#define SP_TEST_TOOLS_FUZZ_RANDOM_H

#include "sp/IO/Hash.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <initializer_list>

namespace sp::test {

class Random {
public:
  explicit Random(uint64_t seed) : state(splitmix64(seed)) {}

  uint64_t bits() { return splitmix64(state++); }
  /// In [0, count).
  int64_t below(int64_t count) { return bits() % static_cast<uint64_t>(count); }
  bool chance(double probability) { return unit() < probability; }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  /// Does one of the things, and gives its result.
  template <typename T>
  T oneOf(std::initializer_list<llvm::function_ref<T()>> choices) {
    return choices.begin()[below(choices.size())]();
  }

private:
  uint64_t state;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_RANDOM_H
