//===- DTypeTest.cpp ------------------------------------------------------===//

#include "sp/IO/DType.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace sp;
using llvm::APFloat;

/// LLVM's software floats as the reference.
static uint64_t referenceBits(double value, const llvm::fltSemantics &type) {
  APFloat number(value);
  bool ignored;
  number.convert(type, APFloat::rmNearestTiesToEven, &ignored);
  return number.bitcastToAPInt().getZExtValue();
}

TEST(DType, NamesRoundTrip) {
  for (unsigned i = 0; i <= unsigned(DType::Bool); ++i) {
    DType type = DType(i);
    EXPECT_EQ(parseDType(dtypeName(type)), type);
    EXPECT_GE(byteSize(type), 1u);
  }
  EXPECT_EQ(dtypeName(DType::BF16), "BF16");
  EXPECT_EQ(byteSize(DType::BF16), 2u);
  EXPECT_FALSE(parseDType("f32"));
  EXPECT_FALSE(parseDType(""));
}

TEST(DType, ConvertiblePairs) {
  EXPECT_TRUE(canConvert(DType::F16, DType::BF16));
  EXPECT_TRUE(canConvert(DType::F16, DType::F16));
  EXPECT_TRUE(canConvert(DType::I64, DType::I64));
  EXPECT_FALSE(canConvert(DType::F32, DType::F16));
  EXPECT_FALSE(canConvert(DType::I64, DType::F64));
  EXPECT_FALSE(canConvert(DType::F64, DType::I64));
  EXPECT_FALSE(canConvert(DType::I32, DType::I64));
}

TEST(DType, EveryF16AndBF16WidensExactly) {
  bool ignored;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    APFloat half(APFloat::IEEEhalf(), llvm::APInt(16, bits));
    APFloat brain(APFloat::BFloat(), llvm::APInt(16, bits));
    if (half.isNaN()) {
      EXPECT_TRUE(std::isnan(f16ToFloat(bits)));
    } else {
      half.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                   &ignored);
      EXPECT_EQ(llvm::bit_cast<uint32_t>(f16ToFloat(bits)),
                half.bitcastToAPInt().getZExtValue());
    }
    if (brain.isNaN()) {
      EXPECT_TRUE(std::isnan(bf16ToFloat(bits)));
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBF16(bf16ToFloat(bits)))));
    } else {
      EXPECT_EQ(floatToBF16(bf16ToFloat(bits)), bits);
      EXPECT_EQ(doubleToBF16(bf16ToFloat(bits)), bits);
    }
  }
}

TEST(DType, BF16RoundsToNearestEven) {
  EXPECT_EQ(floatToBF16(1.0f + 0x1p-8f), 0x3f80);      // tie, down to even
  EXPECT_EQ(floatToBF16(1.0f + 0x3p-8f), 0x3f82);      // tie, up to even
  EXPECT_EQ(floatToBF16(1.0f + 0x1.0002p-8f), 0x3f81); // above the tie
  EXPECT_EQ(floatToBF16(-(1.0f + 0x3p-8f)), 0xbf82);   // the sign stays
  EXPECT_EQ(floatToBF16(0x1.ffp127f), 0x7f80);         // overflows
  EXPECT_EQ(floatToBF16(-0.0f), 0x8000);
  // A tie once rounded to f32, but not as f64: two roundings would be wrong.
  EXPECT_EQ(doubleToBF16(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(doubleToBF16(1.0 + 0x3p-8 - 0x1p-40), 0x3f81);
  // All mantissa bits set below the visible ones must not make it infinite.
  float nan = llvm::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBF16(nan))));
  EXPECT_TRUE(std::isnan(bf16ToFloat(doubleToBF16(std::nan("")))));
}

TEST(DType, RandomBitsRoundAsTheReference) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random();
    // Every other value has its low bits near a tie of bf16.
    if (i % 2)
      bits = (bits & ~((1ull << 45) - 1)) + (1ull << 44) + (bits % 5) - 2;
    double wide = llvm::bit_cast<double>(bits);
    if (i % 4 < 2) // into the range of f32, with its subnormals
      wide = std::ldexp(1 + std::fabs(std::remainder(wide, 1.0)),
                        int(bits % 290) - 155);
    if (std::isnan(wide))
      continue;
    EXPECT_EQ(doubleToBF16(wide), referenceBits(wide, APFloat::BFloat()));
    float narrow = float(wide);
    EXPECT_EQ(floatToBF16(narrow), referenceBits(narrow, APFloat::BFloat()));
  }
}

TEST(DType, ConvertsArraysOfEveryPair) {
  const double values[] = {0, 1.5, -2, 0.25, 96, -0.0078125};
  const DType floats[] = {DType::F64, DType::F32, DType::BF16};
  for (DType from : floats)
    for (DType to : floats) {
      // One byte in, so that nothing is aligned.
      char a[64], b[64], c[64];
      double back[6];
      convertElements(DType::F64, values, from, a + 1, 6);
      convertElements(from, a + 1, to, b + 1, 6);
      convertElements(to, b + 1, DType::F64, c + 1, 6);
      std::memcpy(back, c + 1, sizeof(back));
      for (int i = 0; i < 6; ++i)
        EXPECT_EQ(back[i], values[i]);
    }
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff};
  double wide[3];
  convertElements(DType::F16, halves, DType::F64, wide, 3);
  EXPECT_EQ(wide[0], 1);
  EXPECT_EQ(wide[1], -2);
  EXPECT_EQ(wide[2], 65504);
}
