//===- DType.cpp - Element types of tensors in files ----------------------===//

#include "sp/IO/DType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstring>

using namespace sp;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "safetensors files are little-endian and are used in place");

namespace {
struct DTypeEntry {
  DType type;
  unsigned bytes;
  llvm::StringLiteral name;
};
} // namespace

// In the order of the enumerators.
static constexpr DTypeEntry dtypeTable[] = {
    {DType::F64, 8, "F64"},        {DType::F32, 4, "F32"},
    {DType::F16, 2, "F16"},        {DType::BF16, 2, "BF16"},
    {DType::F8E4M3, 1, "F8_E4M3"}, {DType::F8E5M2, 1, "F8_E5M2"},
    {DType::I64, 8, "I64"},        {DType::I32, 4, "I32"},
    {DType::I16, 2, "I16"},        {DType::I8, 1, "I8"},
    {DType::U64, 8, "U64"},        {DType::U32, 4, "U32"},
    {DType::U16, 2, "U16"},        {DType::U8, 1, "U8"},
    {DType::Bool, 1, "BOOL"},
};

unsigned sp::byteSize(DType type) { return dtypeTable[size_t(type)].bytes; }

llvm::StringRef sp::dtypeName(DType type) {
  return dtypeTable[size_t(type)].name;
}

std::optional<DType> sp::parseDType(llvm::StringRef name) {
  for (const DTypeEntry &entry : dtypeTable)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Single values
//===----------------------------------------------------------------------===//

float sp::bf16ToFloat(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

float sp::f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    // Zero and subnormals: mantissa * 2^-24 is exact in f32.
    float magnitude = float(mantissa) * 0x1p-24f;
    return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(magnitude) | sign);
  }
  uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return llvm::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t sp::floatToBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  // Rounding could carry a NaN's mantissa into infinity: keep it, made quiet.
  if (std::isnan(value))
    return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

uint16_t sp::doubleToBF16(double value) {
  float narrow = float(value);
  uint32_t bits = llvm::bit_cast<uint32_t>(narrow);
  // Two roundings to nearest can differ from one, so the first one rounds to
  // odd: an inexact value never looks like a tie to the second.
  if (!std::isnan(value) && double(narrow) != value && !(bits & 1))
    bits += std::fabs(double(narrow)) > std::fabs(value) ? -1 : 1;
  return floatToBF16(llvm::bit_cast<float>(bits));
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

namespace {
struct F64Format {
  using Bits = double;
  static double decode(double value) { return value; }
  static double encode(double value) { return value; }
};
struct F32Format {
  using Bits = float;
  static float decode(float value) { return value; }
  static float encode(double value) { return float(value); }
};
struct F16Format {
  using Bits = uint16_t;
  static float decode(uint16_t bits) { return f16ToFloat(bits); }
};
struct BF16Format {
  using Bits = uint16_t;
  static float decode(uint16_t bits) { return bf16ToFloat(bits); }
  static uint16_t encode(float value) { return floatToBF16(value); }
  static uint16_t encode(double value) { return doubleToBF16(value); }
};
} // namespace

template <typename From, typename To>
static void convertArray(const char *src, char *dst, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    typename From::Bits in;
    std::memcpy(&in, src + i * sizeof(in), sizeof(in));
    typename To::Bits out = To::encode(From::decode(in));
    std::memcpy(dst + i * sizeof(out), &out, sizeof(out));
  }
}

template <typename From>
static void convertFrom(const char *src, DType to, char *dst, size_t count) {
  switch (to) {
  case DType::F64:
    return convertArray<From, F64Format>(src, dst, count);
  case DType::F32:
    return convertArray<From, F32Format>(src, dst, count);
  case DType::BF16:
    return convertArray<From, BF16Format>(src, dst, count);
  default:
    llvm_unreachable("canConvert excludes this type");
  }
}

bool sp::canConvert(DType from, DType to) {
  constexpr DType sources[] = {DType::F64, DType::F32, DType::F16, DType::BF16};
  constexpr DType targets[] = {DType::F64, DType::F32, DType::BF16};
  return from == to ||
         (llvm::is_contained(sources, from) && llvm::is_contained(targets, to));
}

void sp::convertElements(DType from, const void *src, DType to, void *dst,
                         size_t count) {
  const char *in = static_cast<const char *>(src);
  char *out = static_cast<char *>(dst);
  if (count == 0)
    return;
  if (from == to) {
    std::memcpy(out, in, count * byteSize(from));
    return;
  }
  switch (from) {
  case DType::F64:
    return convertFrom<F64Format>(in, to, out, count);
  case DType::F32:
    return convertFrom<F32Format>(in, to, out, count);
  case DType::F16:
    return convertFrom<F16Format>(in, to, out, count);
  case DType::BF16:
    return convertFrom<BF16Format>(in, to, out, count);
  default:
    llvm_unreachable("canConvert excludes this type");
  }
}
