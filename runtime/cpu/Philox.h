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

/// Replaces a counter by four random words. `Word` is uint64_t, or a vector of
/// them for as many counters; each holds 32 bits.
template <typename Word>
SP_ALWAYS_INLINE void philox4x32(Word (&counter)[4], uint64_t key) {
  const uint64_t low = 0xFFFFFFFF;
  uint64_t key0 = key & low, key1 = key >> 32;
  for (int round = 0; round < 10; ++round) {
    Word product0 = counter[0] * uint64_t(0xD2511F53);
    Word product1 = counter[2] * uint64_t(0xCD9E8D57);
    counter[0] = (product1 >> 32) ^ counter[1] ^ key0;
    counter[1] = product1 & low;
    counter[2] = (product0 >> 32) ^ counter[3] ^ key1;
    counter[3] = product0 & low;
    key0 = (key0 + 0x9E3779B9) & low;
    key1 = (key1 + 0xBB67AE85) & low;
  }
}

} // namespace sp

#endif // SP_RUNTIME_CPU_PHILOX_H
