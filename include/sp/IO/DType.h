//===- DType.h - Element types of tensors in files --------------*- C++ -*-===//
//
// The element types a safetensors file can hold, and the conversions between
// the floating point ones.
//
//===----------------------------------------------------------------------===//

#ifndef SP_IO_DTYPE_H
#define SP_IO_DTYPE_H

#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sp {

enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3,
  F8E5M2,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool,
};

/// Bytes of one element.
unsigned byteSize(DType type);

/// The safetensors spelling, for example "BF16".
llvm::StringRef dtypeName(DType type);

/// The type with this safetensors spelling (case-sensitive), if there is one.
std::optional<DType> parseDType(llvm::StringRef name);

/// True if `convertElements` has this pair: equal types, or F64, F32, F16 or
/// BF16 to F64, F32 or BF16.
bool canConvert(DType from, DType to);

/// Converts `count` elements, rounding once, to nearest even; NaN stays NaN and
/// too large a value becomes infinity. Requires `canConvert(from, to)`. Neither
/// pointer needs to be aligned; the buffers must not overlap.
void convertElements(DType from, const void *src, DType to, void *dst,
                     size_t count);

/// Bit patterns of single values; the narrowing ones round to nearest even.
float bf16ToFloat(uint16_t bits);
float f16ToFloat(uint16_t bits);
uint16_t floatToBF16(float value);
uint16_t doubleToBF16(double value);

} // namespace sp

#endif // SP_IO_DTYPE_H
