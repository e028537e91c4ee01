//===- RowKernelTest.cpp - compiled row kernels against definitions -------===//
//
// Kernels are compared with their definitions in f64, for column counts around
// the sizes of vectors and steps; every run also checks that rows can be split
// in any way. What must be equal to the last bit is compared as bytes.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "sp/IO/DType.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace sp;
using namespace sp::test;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// `text` with each `$name` replaced.
std::string format(std::string text,
                   std::vector<std::pair<std::string, std::string>> values) {
  for (auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

/// The value of an element that is stored as `type`.
double stored(const std::string &type, double value) {
  if (type == "f64")
    return value;
  return type == "f32" ? static_cast<float>(value)
                       : bf16ToFloat(doubleToBF16(value));
}

/// Numbers in [-2, 2] that `type` can hold; the same for the same count.
Values random(const std::string &type, int64_t count, unsigned seed = 0) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(stored(type, uniform(engine)));
  return values;
}

/// Compares with what was computed in f64, and rounded once for the output.
void expectNear(const std::string &type, const Values &actual,
                const Values &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  double tolerance = type == "f64" ? 1e-13 : type == "f32" ? 1e-6 : 1.0 / 256;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]) || std::isinf(expected[i])) {
      EXPECT_EQ(std::isnan(expected[i]), std::isnan(actual[i])) << i;
      EXPECT_TRUE(std::isnan(expected[i]) || actual[i] == expected[i]) << i;
      continue;
    }
    EXPECT_NEAR(actual[i], expected[i],
                tolerance * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
  }
}

constexpr int64_t kRows = 7;

class RowKernel
    : public testing::TestWithParam<std::tuple<const char *, int64_t>> {
protected:
  std::string type = std::get<0>(GetParam());
  int64_t cols = std::get<1>(GetParam());

  /// Sizes and the element type, filled into `text`.
  std::string fill(const std::string &text) const {
    return format(text,
                  {{"T", type},
                   {"X", "tensor<7x" + std::to_string(cols) + "x" + type + ">"},
                   {"V", "tensor<" + std::to_string(cols) + "x" + type + ">"},
                   {"C", std::to_string(cols)}});
  }
  Values matrix(unsigned seed) { return random(type, kRows * cols, seed); }
  Values vector(unsigned seed) { return random(type, cols, seed); }

  /// Runs an elementwise `@f` of the given inputs and compares.
  void check(const std::string &text, const std::vector<Values> &inputs,
             std::function<double(int64_t row, int64_t col)> definition) {
    RunResult result = run(fill(text), inputs);
    Values expected;
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        expected.push_back(definition(row, col));
    ASSERT_EQ(result.values.size(), 1u);
    expectNear(type, result.values[0], expected);
  }
};

} // namespace

TEST_P(RowKernel, RMSNorm) {
  Values x = matrix(1), w = vector(2);
  check(R"(func.func @f(%x: $X, %w: $V) -> $X {
    %0 = sp.rms_norm %x, %w eps 1.0e-05 : ($X, $V) -> $X
    return %0 : $X
  })",
        {x, w}, [&](int64_t row, int64_t col) {
          double sum = 0;
          for (int64_t i = 0; i < cols; ++i)
            sum += x[row * cols + i] * x[row * cols + i];
          return x[row * cols + col] / std::sqrt(sum / cols + 1e-5) * w[col];
        });
}

TEST_P(RowKernel, SwiGLU) {
  Values gate = matrix(1), up = matrix(2);
  check(R"(func.func @f(%g: $X, %u: $X) -> $X {
    %0 = sp.swiglu %g, %u : ($X, $X) -> $X
    return %0 : $X
  })",
        {gate, up}, [&](int64_t row, int64_t col) {
          double g = gate[row * cols + col];
          return g / (1 + std::exp(-g)) * up[row * cols + col];
        });
}

TEST_P(RowKernel, BiasAdd) {
  Values x = matrix(1), bias = vector(2);
  check(R"(func.func @f(%x: $X, %b: $V) -> $X {
    %0 = sp.bias_add %x, %b : ($X, $V) -> $X
    return %0 : $X
  })",
        {x, bias}, [&](int64_t row, int64_t col) {
          return x[row * cols + col] + bias[col];
        });
}

TEST_P(RowKernel, Scale) {
  Values x = matrix(1);
  check(R"(func.func @f(%x: $X) -> $X {
    %0 = sp.scale %x by 0.3 : ($X) -> $X
    return %0 : $X
  })",
        {x},
        [&](int64_t row, int64_t col) { return x[row * cols + col] * 0.3; });
}

// The comparison's result is inlined, and so is its splat operand.
TEST_P(RowKernel, ElementwiseOps) {
  Values x = matrix(1), y = matrix(2);
  check(R"(func.func @f(%x: $X, %y: $X) -> $X {
    %half = arith.constant dense<0.5> : $X
    %less = arith.cmpf olt, %x, %half : $X
    %0 = arith.select %less, %x, %y : tensor<7x$Cxi1>, $X
    %1 = math.absf %0 : $X
    %2 = arith.addf %1, %half : $X
    %3 = math.log %2 : $X
    %4 = math.tanh %3 : $X
    return %4 : $X
  })",
        {x, y}, [&](int64_t row, int64_t col) {
          int64_t i = row * cols + col;
          auto round = [&](double v) { return stored(type, v); };
          double picked = round(std::abs(x[i] < 0.5 ? x[i] : y[i]));
          return std::tanh(round(std::log(round(picked + 0.5))));
        });
}

// A row vector, a column vector and a transposed matrix.
TEST_P(RowKernel, Linalg) {
  Values x = matrix(1), v = vector(2), c = random(type, kRows, 3);
  Values transposed = matrix(4);
  check(format(R"(
  func.func @f(%x: $X, %v: $V, %c: $COLUMN, %t: $TRANSPOSED) -> $X {
    %i = tensor.empty() : $X
    %0 = linalg.generic {
        indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>,
                         affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (b, a)>,
                         affine_map<(a, b) -> (a, b)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%x, %v, %c, %t : $X, $V, $COLUMN, $TRANSPOSED) outs(%i : $X) {
      ^bb0(%0: $T, %1: $T, %2: $T, %3: $T, %4: $T):
        %p = arith.mulf %0, %1 : $T
        %q = arith.mulf %2, %3 : $T
        %r = arith.subf %p, %q : $T
        linalg.yield %r : $T
    } -> $X
    return %0 : $X
  })",
               {{"COLUMN", "tensor<7x" + type + ">"},
                {"TRANSPOSED",
                 "tensor<" + std::to_string(cols) + "x7x" + type + ">"}}),
        {x, v, c, transposed}, [&](int64_t row, int64_t col) {
          return x[row * cols + col] * v[col] -
                 c[row] * transposed[col * kRows + row];
        });
}

// Two tokens in a batch of one, three heads of `cols` pairs.
TEST_P(RowKernel, Rope) {
  int64_t dim = 2 * cols;
  std::string x = "tensor<2x1x3x" + std::to_string(dim) + "x" + type + ">";
  std::string table = "tensor<2x" + std::to_string(cols) + "x" + type + ">";
  Values input = random(type, 6 * dim, 1);
  Values cos = random(type, 2 * cols, 2), sin = random(type, 2 * cols, 3);
  RunResult result = run(format(R"(func.func @f(%x: $A, %c: $B, %s: $B) -> $A {
    %0 = sp.rope %x, %c, %s : ($A, $B, $B) -> $A
    return %0 : $A
  })",
                                {{"A", x}, {"B", table}}),
                         {input, cos, sin});
  Values expected(input.size());
  for (int64_t head = 0; head < 6; ++head)
    for (int64_t i = 0; i < cols; ++i) {
      double a = input[head * dim + i], b = input[head * dim + cols + i];
      double c = cos[head / 3 * cols + i], s = sin[head / 3 * cols + i];
      expected[head * dim + i] = a * c - b * s;
      expected[head * dim + cols + i] = b * c + a * s;
    }
  expectNear(type, result.values[0], expected);
}

static const char *const kCrossEntropy = R"(
  func.func @f(%l: tensor<7x1x$Cx$T>, %t: tensor<7x1xi64>)
      -> (tensor<$R>, tensor<$R>) {
    %0, %1 = sp.cross_entropy %l, %t ignore_index -100
        : (tensor<7x1x$Cx$T>, tensor<7x1xi64>) -> (tensor<$R>, tensor<$R>)
    return %0, %1 : tensor<$R>, tensor<$R>
  })";

static std::string crossEntropy(const std::string &type, int64_t cols) {
  return format(kCrossEntropy, {{"C", std::to_string(cols)},
                                {"T", type},
                                {"R", type == "f64" ? "f64" : "f32"}});
}

TEST_P(RowKernel, CrossEntropy) {
  Values logits = matrix(1), targets(kRows, -100.0);
  double sum = 0;
  for (int64_t row : {0, 1, 3, 6}) {
    targets[row] = (row * 5) % cols;
    double total = 0;
    for (int64_t i = 0; i < cols; ++i)
      total += std::exp(logits[row * cols + i]);
    sum += std::log(total) - logits[row * cols + targets[row]];
  }
  RunResult result = run(crossEntropy(type, cols), {logits, targets});
  // Nothing is rounded to bf16 here.
  std::string accuracy = type == "f64" ? "f64" : "f32";
  expectNear(accuracy, result.values[0], {sum});
  expectNear(accuracy, result.values[1], {4});
}

// Fused or not, at any optimisation level, results are the same bits. The sum
// is needed later, so the fused kernel stores it, too.
TEST_P(RowKernel, FusionKeepsBits) {
  std::string text = fill(R"(
  func.func @f(%x: $X, %y: $X, %w: $V, %b: $V) -> ($X, $X) {
    %0 = sp.scale %y by 0.7 : ($X) -> $X
    %1 = sp.bias_add %0, %b : ($X, $V) -> $X
    %2 = arith.addf %x, %1 : $X
    %3 = sp.rms_norm %2, %w eps 1.0e-05 : ($X, $V) -> $X
    %4 = sp.swiglu %3, %y : ($X, $X) -> $X
    %5 = arith.mulf %4, %3 : $X
    return %2, %5 : $X, $X
  })");
  std::vector<Values> inputs = {matrix(1), matrix(2), vector(3), vector(4)};
  RunResult separate = run(text, inputs);
  EXPECT_EQ(separate.kernels, 6u);
  for (unsigned optLevel : {0, 2}) {
    RunResult fused = run(text, inputs, {/*fuse=*/true, optLevel});
    EXPECT_EQ(fused.kernels, 1u);
    EXPECT_EQ(fused.bytes, separate.bytes) << "at -O" << optLevel;
  }
}

INSTANTIATE_TEST_SUITE_P(F32, RowKernel,
                         testing::Combine(testing::Values("f32"),
                                          testing::Values(1, 3, 16, 17, 64, 65,
                                                          768, 2432)));
INSTANTIATE_TEST_SUITE_P(F64, RowKernel,
                         testing::Combine(testing::Values("f64"),
                                          testing::Values(3, 17, 65, 768)));
INSTANTIATE_TEST_SUITE_P(BF16, RowKernel,
                         testing::Combine(testing::Values("bf16"),
                                          testing::Values(1, 17, 65, 768)));

//===----------------------------------------------------------------------===//
// The ends of the numbers
//===----------------------------------------------------------------------===//

// In each place of vectors and of what is left of them.
TEST(Exp, AtTheEndsOfItsRange) {
  const Values interesting = {-kInf,  kInf,   kNaN,  0.0,     -0.0,  1.0,
                              -1.0,   88.72,  88.73, -87.3,   -87.4, -100.0,
                              -103.9, -104.1, 1e30,  -1e30,   89.5,  3e-8,
                              -126.0, 0.5,    -0.5,  0.34657, 20.0};
  Values x;
  while (x.size() < 7 * 23 * 23)
    x.insert(x.end(), interesting.begin(), interesting.end());
  for (std::string type : {"f32", "f64"}) {
    RunResult result = run(format(R"(func.func @f(%x: $X) -> $X {
      %0 = math.exp %x : $X
      return %0 : $X
    })",
                                  {{"X", "tensor<7x529x" + type + ">"}}),
                           {x});
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = stored(type, std::exp(stored(type, x[i])));
      double actual = result.values[0][i];
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << x[i];
        continue;
      }
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected) << x[i];
        continue;
      }
      // A few units in the last place, also of what is subnormal in f32.
      EXPECT_NEAR(actual, expected, 2e-7 * expected + 2e-45) << x[i];
    }
    // The same value gives the same bits in every place.
    for (size_t i = interesting.size(); i < x.size(); ++i)
      if (!std::isnan(result.values[0][i])) {
        EXPECT_EQ(result.values[0][i],
                  result.values[0][i % interesting.size()]);
      }
  }
}

TEST(CrossEntropy, IsZeroWhenAllTokensAreIgnored) {
  for (std::string type : {"f32", "f64", "bf16"}) {
    RunResult result =
        run(crossEntropy(type, 19), {random(type, 7 * 19), Values(7, -100.0)});
    EXPECT_EQ(result.values[0], Values{0.0});
    EXPECT_EQ(result.values[1], Values{0.0});
  }
}

// An ignored token counts for nothing, even if its logits are NaN.
TEST(CrossEntropy, IgnoresNaNOfIgnoredTokens) {
  Values logits(7 * 19, 0.0), targets(7, -100.0);
  std::fill(logits.begin() + 19, logits.begin() + 38, kNaN);
  targets[0] = 3;
  RunResult result = run(crossEntropy("f32", 19), {logits, targets});
  expectNear("f32", result.values[0], {std::log(19.0)});
}

TEST(CrossEntropy, KeepsNaN) {
  Values logits(7 * 19, 0.0), targets(7, 0.0);
  logits[5] = kNaN;
  RunResult result = run(crossEntropy("f32", 19), {logits, targets});
  EXPECT_TRUE(std::isnan(result.values[0][0]));
  EXPECT_EQ(result.values[1], Values{7.0});
}

TEST(CrossEntropy, TakesHugeLogits) {
  Values logits(7 * 19, -1e38), targets(7, 2.0);
  for (int64_t row = 0; row < 7; ++row)
    logits[row * 19 + 2] = logits[row * 19 + 4] = 1e38;
  RunResult result = run(crossEntropy("f32", 19), {logits, targets});
  // f32 has no room for log(2) beside 1e38: the maximum goes off before that.
  expectNear("f32", result.values[0], {7 * std::log(2.0)});
}

TEST(CrossEntropy, IgnoresLogitsOfMinusInfinity) {
  Values logits(7 * 19, -kInf), targets(7, 2.0);
  for (int64_t row = 0; row < 7; ++row)
    logits[row * 19 + 2] = logits[row * 19 + 4] = 1;
  RunResult result = run(crossEntropy("f32", 19), {logits, targets});
  expectNear("f32", result.values[0], {7 * std::log(2.0)});
}

TEST(Rounding, OfAnExplicitTruncationStays) {
  RunResult result = run(R"(
  func.func @f(%x: tensor<5xf32>) -> tensor<5xf32> {
    %0 = arith.constant dense<0.0> : tensor<5xf32>
    %1 = linalg.generic {
        indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>],
        iterator_types = ["parallel"]}
        ins(%x : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
      ^bb0(%a: f32, %b: f32):
        %r = arith.truncf %a : f32 to bf16
        %e = arith.extf %r : bf16 to f32
        linalg.yield %e : f32
    } -> tensor<5xf32>
    return %1 : tensor<5xf32>
  })",
                         {{1.0, 1.001, -3.14159, 1e-30, 1e38}});
  Values expected;
  for (float x : {1.0f, 1.001f, -3.14159f, 1e-30f, 1e38f})
    expected.push_back(stored("bf16", x));
  EXPECT_EQ(result.values[0], expected);
}

//===----------------------------------------------------------------------===//
// Kernels that the pass does not make
//===----------------------------------------------------------------------===//

// The sum's order depends on the number of columns alone: not on unrolling (exp
// changes it), other types, or how the row lies in memory.
TEST(Reduction, OrderDependsOnTheNumberOfColumnsAlone) {
  for (int64_t cols : {1, 15, 16, 33, 48, 63, 64, 100, 128, 192, 240, 1000}) {
    std::string text = format(R"(
    func.func @f(%x: tensor<3x$Cxf32>, %t: tensor<$Cx3xf32>)
        -> (tensor<3xf32>, tensor<3xf32>, tensor<3x$Cxf64>, tensor<3xf32>) {
      %0 = sp.row_kernel rows 3 cols $C ins(%x : tensor<3x$Cxf32>)
          maps [affine_map<(r, c) -> (r * $C + c)>]
          outs [affine_map<(r, c) -> (r)>] to [0] : tensor<3xf32> {
        ^bb0(%a: f32):
          %s = sp.row_reduce sum %a : f32
          sp.yield %s : f32
      }
      %1, %2 = sp.row_kernel rows 3 cols $C ins(%x : tensor<3x$Cxf32>)
          maps [affine_map<(r, c) -> (r * $C + c)>]
          outs [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r * $C + c)>]
          to [0, 1] : tensor<3xf32>, tensor<3x$Cxf64> {
        ^bb0(%a: f32):
          %e = math.exp %a : f32
          %d = arith.extf %e : f32 to f64
          %m = sp.row_reduce max %e : f32
          %z = arith.subf %m, %m : f32
          %b = arith.addf %a, %z : f32
          %s = sp.row_reduce sum %b : f32
          sp.yield %s, %d : f32, f64
      }
      %3 = sp.row_kernel rows 3 cols $C ins(%t : tensor<$Cx3xf32>)
          maps [affine_map<(r, c) -> (c * 3 + r)>]
          outs [affine_map<(r, c) -> (r)>] to [0] : tensor<3xf32> {
        ^bb0(%a: f32):
          %s = sp.row_reduce sum %a : f32
          sp.yield %s : f32
      }
      return %0, %1, %2, %3
          : tensor<3xf32>, tensor<3xf32>, tensor<3x$Cxf64>, tensor<3xf32>
    })",
                              {{"C", std::to_string(cols)}});
    Values x = random("f32", 3 * cols), transposed(3 * cols);
    Values expected(3, 0.0);
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t col = 0; col < cols; ++col) {
        transposed[col * 3 + row] = x[row * cols + col];
        expected[row] += x[row * cols + col];
      }
    RunResult result = run(text, {x, transposed});
    EXPECT_EQ(result.bytes[1], result.bytes[0]) << cols << " columns";
    EXPECT_EQ(result.bytes[3], result.bytes[0]) << cols << " columns";
    for (int64_t row = 0; row < 3; ++row)
      EXPECT_NEAR(result.values[0][row], expected[row], 1e-6 * cols);
  }
}

TEST(Reduction, MaxOfNegativesAndNaN) {
  for (int64_t cols : {1, 17, 64, 130}) {
    std::string text = format(R"(
    func.func @f(%x: tensor<3x$Cxf32>) -> tensor<3xf32> {
      %0 = sp.row_kernel rows 3 cols $C ins(%x : tensor<3x$Cxf32>)
          maps [affine_map<(r, c) -> (r * $C + c)>]
          outs [affine_map<(r, c) -> (r)>] to [0] : tensor<3xf32> {
        ^bb0(%a: f32):
          %m = sp.row_reduce max %a : f32
          sp.yield %m : f32
      }
      return %0 : tensor<3xf32>
    })",
                              {{"C", std::to_string(cols)}});
    Values x(3 * cols, -5.0);
    x[cols - 1] = -2.0;        // Row 0: in the last place.
    x[cols + cols / 2] = kNaN; // Row 1.
    x[2 * cols] = -kInf;       // Row 2: -inf unless there is more.
    Values result = run(text, {x}).values[0];
    EXPECT_EQ(result[0], -2.0);
    EXPECT_TRUE(std::isnan(result[1]));
    EXPECT_EQ(result[2], cols == 1 ? -kInf : -5.0);
  }
}

// Maps need not be linear in the column, on either side.
TEST(Maps, WrapAroundAndRepeat) {
  RunResult result = run(R"(
  func.func @f(%x: tensor<5xi64>, %y: tensor<3x14xi64>) -> tensor<37x3xi64> {
    %0 = sp.row_kernel rows 3 cols 37 ins(%x, %y : tensor<5xi64>, tensor<3x14xi64>)
        maps [affine_map<(r, c) -> ((r + c) mod 5)>,
              affine_map<(r, c) -> (r * 14 + c floordiv 3)>]
        outs [affine_map<(r, c) -> (c * 3 + r)>] to [0] : tensor<37x3xi64> {
      ^bb0(%a: i64, %b: i64):
        %c = sp.col_index
        %s = arith.addi %a, %b : i64
        %t = arith.addi %s, %c : i64
        sp.yield %t : i64
    }
    return %0 : tensor<37x3xi64>
  })",
                         {{1000, 2000, 3000, 4000, 5000}, [] {
                            Values y;
                            for (int i = 0; i < 42; ++i)
                              y.push_back(100000.0 * i);
                            return y;
                          }()});
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t col = 0; col < 37; ++col)
      EXPECT_EQ(result.values[0][col * 3 + row],
                1000 * ((row + col) % 5 + 1) + 100000 * (row * 14 + col / 3) +
                    col);
}
