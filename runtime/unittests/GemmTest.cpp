//===- GemmTest.cpp -------------------------------------------------------===//

#include "Testing.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

using namespace sp;

namespace {

struct Product {
  bool transA, transB, accumulate;
  int64_t m, n, k;
  /// Added to each leading dimension.
  int64_t slack;

  int64_t rowsA() const { return transA ? k : m; }
  int64_t rowsB() const { return transB ? n : k; }
  int64_t lda() const { return (transA ? m : k) + slack; }
  int64_t ldb() const { return (transB ? k : n) + slack; }
  int64_t ldc() const { return n + slack; }
};

template <typename T>
void run(sp_context &context, const Product &p, const T *a, const T *b, T *c) {
  ASSERT_EQ(sp_gemm(&context, dtypeOf<T>(), p.transA, p.transB, p.accumulate,
                    p.m, p.n, p.k, a, p.lda(), b, p.ldb(), c, p.ldc()),
            0)
      << context.getError();
}

/// `relative` bounds the error in terms of the sum of the magnitudes.
template <typename T> void compare(double relative) {
  sp_context context(0, 1, 1);
  for (int options = 0; options < 8; ++options)
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {7, 1, 5},
                           {1, 9, 33},
                           {17, 34, 65},
                           {64, 48, 300}})
      for (int64_t slack : {0, 3}) {
        Product p = {bool(options & 1),
                     bool(options & 2),
                     bool(options & 4),
                     m,
                     n,
                     k,
                     slack};
        auto a = randomValues<T>(p.rowsA() * p.lda(), 1);
        auto b = randomValues<T>(p.rowsB() * p.ldb(), 2);
        auto before = randomValues<T>(m * p.ldc(), 3), c = before;
        run(context, p, a.data(), b.data(), c.data());
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < p.ldc(); ++j) {
            int64_t at = i * p.ldc() + j;
            if (j >= n) {
              ASSERT_EQ(toDouble(c[at]), toDouble(before[at]));
              continue;
            }
            double sum = p.accumulate ? toDouble(before[at]) : 0;
            double magnitude = std::abs(sum);
            for (int64_t l = 0; l < k; ++l) {
              double term =
                  toDouble(a[p.transA ? l * p.lda() + i : i * p.lda() + l]) *
                  toDouble(b[p.transB ? j * p.ldb() + l : l * p.ldb() + j]);
              sum += term;
              magnitude += std::abs(term);
            }
            double rounding = dtypeOf<T>() == SP_BF16 ? std::abs(sum) / 256 : 0;
            ASSERT_NEAR(toDouble(c[at]), sum, relative * magnitude + rounding)
                << options << " " << m << " " << n << " " << k << " " << slack;
          }
      }
}

TEST(Gemm, FollowsItsDefinitionInF32) { compare<float>(1e-6); }
TEST(Gemm, FollowsItsDefinitionInF64) { compare<double>(1e-15); }
// The sum in f32 and one rounding of the result.
TEST(Gemm, FollowsItsDefinitionInBf16) { compare<BFloat16>(1e-6); }

/// Ranks are threads that call the libraries at the same time. A work space
/// that two of them share shows as a wrong product once in thousands.
template <typename T> void compareConcurrentCallers() {
  Product p = {false, true, false, 64, 340, 96, 0};
  auto a = randomValues<T>(p.m * p.k, 1), b = randomValues<T>(p.n * p.k, 2);
  std::vector<T> expected(p.m * p.n);
  sp_context context(0, 1, 1);
  run(context, p, a.data(), b.data(), expected.data());
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      sp_context own(0, 1, 1);
      std::vector<T> c(expected.size());
      for (int round = 0; round < 4000; ++round) {
        run(own, p, a.data(), b.data(), c.data());
        wrong +=
            std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)) != 0;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}
TEST(Gemm, ConcurrentCallersGetTheirOwnProductInF32) {
  compareConcurrentCallers<float>();
}
TEST(Gemm, ConcurrentCallersGetTheirOwnProductInF64) {
  compareConcurrentCallers<double>();
}
TEST(Gemm, ConcurrentCallersGetTheirOwnProductInBf16) {
  compareConcurrentCallers<BFloat16>();
}

TEST(Gemm, OfNothingIsZeroOrWhatWasThere) {
  sp_context context(0, 1, 1);
  for (sp_dtype dtype : {SP_F32, SP_F64, SP_BF16}) {
    int64_t bytes = dtype == SP_F32 ? 4 : dtype == SP_F64 ? 8 : 2;
    std::vector<char> c(6 * bytes, 1);
    auto call = [&](bool accumulate, int64_t m, int64_t n, int64_t k) {
      EXPECT_EQ(sp_gemm(&context, dtype, 0, 0, accumulate, m, n, k, nullptr, k,
                        nullptr, n, c.data(), 3),
                0)
          << context.getError();
    };
    call(true, 2, 2, 0);
    call(false, 0, 2, 4);
    call(false, 2, 0, 4);
    EXPECT_EQ(c, std::vector<char>(6 * bytes, 1));
    call(false, 2, 2, 0);
    std::vector<char> expected(6 * bytes, 1);
    std::memset(&expected[0], 0, 2 * bytes);
    std::memset(&expected[3 * bytes], 0, 2 * bytes);
    EXPECT_EQ(c, expected);
  }
}

TEST(Gemm, OverwritesNaN) {
  sp_context context(0, 1, 1);
  float a[4] = {1, 2, 3, 4}, c[4] = {NAN, NAN, NAN, NAN};
  Product p = {false, false, false, 2, 2, 2, 0};
  run(context, p, a, a, c);
  EXPECT_EQ(c[0], 7);
  EXPECT_EQ(c[3], 22);
}

template <typename T> void checkRowSplits(const Product &whole) {
  sp_context context(0, 1, 1);
  auto a = randomValues<T>(whole.m * whole.k, 1);
  auto b = randomValues<T>(whole.n * whole.k, 2);
  std::vector<T> expected(whole.m * whole.n), c(whole.m * whole.n);
  run(context, whole, a.data(), b.data(), expected.data());
  for (int64_t parts : {2, 4, 5, 8}) {
    Product part = whole;
    part.m /= parts;
    for (int64_t i = 0; i < parts; ++i)
      run(context, part, &a[i * part.m * part.k], b.data(),
          &c[i * part.m * part.n]);
    EXPECT_TRUE(sameBits(c, expected))
        << parts << " parts of " << whole.m << "x" << whole.n << "x" << whole.k;
  }
}

TEST(Gemm, SplitsByRowsToTheBit) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "oneDNN's AVX2 kernels do not";
  // MiniMind's projections: linear layers and their input gradients.
  for (bool transB : {true, false}) {
    for (auto [n, k] : {std::pair<int64_t, int64_t>{1536, 768}, {768, 2432}}) {
      checkRowSplits<float>({false, transB, false, 680, n, k, 0});
      checkRowSplits<BFloat16>({false, transB, false, 680, n, k, 0});
    }
  }
}

TEST(Gemm, OfABatchIsThatOfEachOfItsMatrices) {
  sp_context context(0, 1, 1);
  for (int options = 0; options < 8; ++options) {
    Product p = {
        bool(options & 1), bool(options & 2), bool(options & 4), 5, 3, 4,
        /*slack=*/0};
    constexpr int64_t batch = 3;
    auto a = randomValues<double>(batch * p.m * p.k, 1);
    auto b = randomValues<double>(batch * p.k * p.n, 2);
    auto expected = randomValues<double>(batch * p.m * p.n, 3), c = expected;
    for (int64_t i = 0; i < batch; ++i)
      run(context, p, &a[i * p.m * p.k], &b[i * p.k * p.n],
          &expected[i * p.m * p.n]);
    ASSERT_EQ(sp_batch_gemm(&context, SP_F64, p.transA, p.transB, p.accumulate,
                            batch, p.m, p.n, p.k, a.data(), b.data(), c.data()),
              0)
        << context.getError();
    EXPECT_TRUE(sameBits(c, expected)) << options;
  }
}

TEST(Gemm, RefusesBadArguments) {
  float x[4] = {};
  {
    sp_context context(0, 1, 1);
    EXPECT_NE(sp_gemm(&context, SP_I64, 0, 0, 0, 1, 1, 1, x, 1, x, 1, x, 1), 0);
    EXPECT_EQ(context.getError(), "gemm: no product of i64");
  }
  sp_context context(0, 1, 1);
  EXPECT_NE(sp_gemm(&context, SP_F32, 0, 0, 0, 1, 1, 2, x, 1, x, 1, x, 1), 0);
  EXPECT_EQ(context.getError(),
            "gemm: bad sizes: m = 1, n = 1, k = 2, lda = 1, "
            "ldb = 1, ldc = 1");
}

} // namespace
