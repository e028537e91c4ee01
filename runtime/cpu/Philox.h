//===- Philox.h - a counter-based random generator --------------*- C++ -*-===//
//
// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC'11; the constants are the paper's.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CPU_PHILOX_H
#define SP_RUNTIME_CPU_PHILOX_H

#include "Multiversion.h"

#include <cstdint>

namespace sp {

/// Replaces N counters of four words, given word by word, by random words.
template <int N>
SP_ALWAYS_INLINE void philox4x32(uint32_t (&counter)[4][N], uint32_t key0,
                                 uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < N; ++i) {
      uint64_t product0 = uint64_t(0xD2511F53) * counter[0][i];
      uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2][i];
      uint32_t word1 = counter[1][i], word3 = counter[3][i];
      counter[0][i] = uint32_t(product1 >> 32) ^ word1 ^ key0;
      counter[1][i] = uint32_t(product1);
      counter[2][i] = uint32_t(product0 >> 32) ^ word3 ^ key1;
      counter[3][i] = uint32_t(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

} // namespace sp

#endif // SP_RUNTIME_CPU_PHILOX_H
