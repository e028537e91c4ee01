//===- BFloat16.h - the upper half of an f32 --------------------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_BFLOAT16_H
#define SP_RUNTIME_CPU_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace sp {

/// Distinguishes a bf16 from an integer.
struct BFloat16 {
  uint16_t bits;
};

inline float toFloat(BFloat16 value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

/// To nearest, ties to even; a NaN stays one.
inline BFloat16 toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // The increment would carry a NaN's payload into the exponent and sign.
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40;
  return {uint16_t(value == value ? rounded : quiet)};
}

/// Rounds once: a rounding to f32 in between could make a tie of what is none.
inline BFloat16 roundToBFloat16(double value) {
  float near = float(value);
  uint32_t bits;
  std::memcpy(&bits, &near, sizeof(bits));
  // Only a false tie can go wrong: move it to the side that it came from.
  if ((bits & 0xffff) == 0x8000 && double(near) != value) {
    bool below = (double(near) > value) == (value > 0);
    bits += below ? -1 : 1;
    std::memcpy(&near, &bits, sizeof(bits));
  }
  return toBFloat16(near);
}

} // namespace sp

#endif // SP_RUNTIME_CPU_BFLOAT16_H
