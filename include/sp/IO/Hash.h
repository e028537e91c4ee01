//===- Hash.h - Counter-based pseudo-random bits ----------------*- C++ -*-===//
//
// Hashing a name and an element's index gives values that do not depend on the
// order in which, or the rank on which, they are computed.
//
//===----------------------------------------------------------------------===//

#ifndef SP_IO_HASH_H
#define SP_IO_HASH_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace sp {

/// FNV-1a, 64 bits, over the bytes of `text`.
inline uint64_t fnv1a64(llvm::StringRef text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

/// One step of SplitMix64 from state `x`: 64 well-mixed bits per counter value.
inline uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

} // namespace sp

#endif // SP_IO_HASH_H
