//===- SumsTest.cpp -------------------------------------------------------===//

#include "Testing.h"

#include <cmath>

using namespace sp;

namespace {

template <typename T>
std::vector<T> sumLeading(const std::vector<T> &src, int64_t rows, int64_t cols,
                          int64_t threads = 1) {
  sp_context context(0, 1, threads);
  std::vector<T> dst(cols, fromDouble<T>(-7));
  EXPECT_EQ(sp_sum_leading(&context, dtypeOf<T>(), src.data(), dst.data(), rows,
                           cols),
            0);
  return dst;
}

/// `tolerance` is relative to the sum of the magnitudes.
template <typename T> void compareSumLeading(double tolerance) {
  for (auto [rows, cols] : {std::array<int64_t, 2>{0, 3},
                            {1, 5},
                            {16, 256},
                            {17, 300},
                            {1000, 7},
                            {333, 600}}) {
    auto src = randomValues<T>(rows * cols, 1);
    auto dst = sumLeading(src, rows, cols);
    for (int64_t c = 0; c < cols; ++c) {
      double sum = 0, magnitude = 0;
      for (int64_t r = 0; r < rows; ++r) {
        sum += toDouble(src[r * cols + c]);
        magnitude += std::abs(toDouble(src[r * cols + c]));
      }
      EXPECT_NEAR(toDouble(dst[c]), sum, tolerance * magnitude)
          << rows << " rows";
    }
    EXPECT_TRUE(sameBits(dst, sumLeading(src, rows, cols, /*threads=*/3)));
  }
}

TEST(SumLeading, IsTheSumInF64) { compareSumLeading<double>(1e-15); }
TEST(SumLeading, IsTheSumInF32) { compareSumLeading<float>(3e-7); }
// Rounded once: half of 2^-7.
TEST(SumLeading, IsTheSumInBf16) { compareSumLeading<BFloat16>(0.0039064); }

TEST(SumLeading, DoesNotLosePrecisionWithTheRows) {
  const int64_t rows = 100000;
  std::vector<float> thirds(rows, 1.0f / 3);
  double expected = rows * double(1.0f / 3);
  EXPECT_NEAR(sumLeading(thirds, rows, 1)[0], expected, 1e-6 * expected);
  // bf16 has 8 bits: sums in itself would stop at 256.
  std::vector<BFloat16> ones(rows, toBFloat16(1));
  EXPECT_EQ(toFloat(sumLeading(ones, rows, 1)[0]),
            toFloat(toBFloat16(float(rows))));
}

TEST(SumLeading, GivesAColumnTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = 500, cols = 700;
  auto src = randomValues<float>(rows * cols, 1);
  auto whole = sumLeading(src, rows, cols);
  for (int64_t column : {0, 255, 256, 699}) {
    std::vector<float> alone;
    for (int64_t r = 0; r < rows; ++r)
      alone.push_back(src[r * cols + column]);
    EXPECT_EQ(sumLeading(alone, rows, 1)[0], whole[column]);
  }
}

template <typename T> void compareSumSquares() {
  for (int64_t count : {0, 1, 15, 17, 4096, 4097, 100000}) {
    auto src = randomValues<T>(count, 1);
    double expected = 0;
    for (T value : src)
      expected += toDouble(value) * toDouble(value);
    double one = -7, three = -7;
    sp_context single(0, 1, 1), several(0, 1, 3);
    ASSERT_EQ(
        sp_sum_squares(&single, dtypeOf<T>(), src.data(), &one, src.size()), 0);
    ASSERT_EQ(
        sp_sum_squares(&several, dtypeOf<T>(), src.data(), &three, src.size()),
        0);
    EXPECT_NEAR(one, expected, 1e-13 * expected) << count;
    EXPECT_EQ(one, three) << count;
  }
}

TEST(SumSquares, IsTheSumForEveryType) {
  compareSumSquares<float>();
  compareSumSquares<double>();
  compareSumSquares<BFloat16>();
}

TEST(SumSquares, DoesNotOverflowF32) {
  sp_context context(0, 1, 1);
  std::vector<float> large(3, 1e30f);
  double sum = 0;
  ASSERT_EQ(sp_sum_squares(&context, SP_F32, large.data(), &sum, 3), 0);
  EXPECT_EQ(sum, 3 * (double(1e30f) * double(1e30f)));
}

TEST(Sums, RefuseIntegers) {
  int64_t value = 1;
  double sum = 0;
  sp_context leading(0, 1, 1), squares(0, 1, 1);
  EXPECT_NE(sp_sum_leading(&leading, SP_I64, &value, &value, 1, 1), 0);
  EXPECT_EQ(leading.getError(), "sum_leading: not of i64");
  EXPECT_NE(sp_sum_squares(&squares, SP_I64, &value, &sum, 1), 0);
  EXPECT_EQ(squares.getError(), "sum_squares: not of i64");
}

} // namespace
