//===- OpsTest.cpp - compiled ops against their definitions ---------------===//
//
// Each op is compiled and run on one rank, with column counts around the widths
// of vectors, and compared with its definition in f64.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <random>

using namespace sp;

namespace {

class Ops : public testing::TestWithParam<std::tuple<DType, int64_t>> {
protected:
  DType dtype() const { return std::get<0>(GetParam()); }
  int64_t cols() const { return std::get<1>(GetParam()); }
  /// Of an op that rounds a few times; sums in f32 err with their length.
  double tolerance() const {
    return dtype() == DType::F64 ? 1e-13 : dtype() == DType::F32 ? 2e-6 : 1e-2;
  }

  /// `count` values in [-2, 2] that the element type can hold.
  Values &random(const std::string &name, int64_t count) {
    std::uniform_real_distribution<double> uniform(-2, 2);
    Values &values = source.values[name];
    for (int64_t i = 0; i < count; ++i)
      values.push_back(stored(dtype(), uniform(engine)));
    return values;
  }

  std::string tensor(std::initializer_list<int64_t> shape) const {
    return tensorText(shape, dtype());
  }

  /// Runs `func.func @f` of `text` and gives its results in order.
  std::vector<Values> run(const std::string &text) {
    auto module = parseProgram(text);
    if (!module)
      return {};
    std::vector<Values> results;
    for (NamedValues &result : TestProgram(*module).run(source))
      results.push_back(std::move(result.values));
    return results;
  }

  /// Largest error in terms of the largest value, as a tensor in `dtype`.
  void expectNear(const Values &actual, const Values &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    double error = 0, largest = 1e-30;
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_FALSE(std::isnan(actual[i])) << "at " << i;
      error = std::max(error, std::abs(actual[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_LE(error / largest, tolerance());
  }

  static constexpr int64_t rows = 5;
  TestSource source;
  std::mt19937_64 engine{42};
};

TEST_P(Ops, RMSNorm) {
  int64_t n = cols();
  const Values &x = random("x", rows * n), &w = random("w", n);
  std::string t = tensor({rows, n}), v = tensor({n});
  auto results =
      run("func.func @f(%x: " + t + " {sp.param = \"x\"}, %w: " + v +
          " {sp.param = \"w\"}) -> (" + t +
          " {sp.result = \"y\"}) {\n"
          "  %y = sp.rms_norm %x, %w eps 1.0e-03 : (" +
          t + ", " + v + ") -> " + t + "\n  return %y : " + t + "\n}");
  Values expected;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c)
      sum += x[r * n + c] * x[r * n + c];
    for (int64_t c = 0; c < n; ++c)
      expected.push_back(x[r * n + c] / std::sqrt(sum / n + 1e-3) * w[c]);
  }
  expectNear(results.at(0), expected);
}

TEST_P(Ops, SwiGLUThenBiasThenScale) {
  int64_t n = cols();
  const Values &g = random("g", rows * n), &u = random("u", rows * n),
               &b = random("b", n);
  std::string t = tensor({rows, n}), v = tensor({n});
  auto results =
      run("func.func @f(%g: " + t + " {sp.param = \"g\"}, %u: " + t +
          " {sp.param = \"u\"}, %b: " + v + " {sp.param = \"b\"}) -> (" + t +
          " {sp.result = \"y\"}) {\n"
          "  %0 = sp.swiglu %g, %u : (" +
          t + ", " + t + ") -> " + t +
          "\n"
          "  %1 = sp.bias_add %0, %b : (" +
          t + ", " + v + ") -> " + t +
          "\n"
          "  %2 = sp.scale %1 by -0.75 : (" +
          t + ") -> " + t +
          "\n"
          "  return %2 : " +
          t + "\n}");
  Values expected;
  for (int64_t i = 0; i < rows * n; ++i)
    expected.push_back(-0.75 *
                       (g[i] / (1 + std::exp(-g[i])) * u[i] + b[i % n]));
  expectNear(results.at(0), expected);
}

TEST_P(Ops, BroadcastLeading) {
  int64_t n = cols();
  const Values &x = random("x", 1), &w = random("w", n);
  std::string t = tensor({rows, n}), v = tensor({n}), s = tensor({});
  auto results =
      run("func.func @f(%x: " + s + " {sp.param = \"x\"}, %w: " + v +
          " {sp.param = \"w\"}) -> (" + t + " {sp.result = \"y\"}, " + t +
          " {sp.result = \"z\"}) {\n"
          "  %y = sp.broadcast_leading %x count 2 : (" +
          s + ") -> " + t +
          "\n"
          "  %z = sp.broadcast_leading %w count 1 : (" +
          v + ") -> " + t + "\n  return %y, %z : " + t + ", " + t + "\n}");
  EXPECT_EQ(results.at(0), Values(rows * n, x[0]));
  Values repeated;
  for (int64_t r = 0; r < rows; ++r)
    repeated.insert(repeated.end(), w.begin(), w.end());
  EXPECT_EQ(results.at(1), repeated);
}

TEST_P(Ops, ElementwiseWithSplatConstants) {
  int64_t n = cols();
  const Values &x = random("x", rows * n);
  std::string t = tensor({rows, n});
  auto results = run("func.func @f(%x: " + t + " {sp.param = \"x\"}) -> (" + t +
                     " {sp.result = \"y\"}, " + t +
                     " {sp.result = \"z\"}) {\n"
                     "  %c = arith.constant dense<0.5> : " +
                     t +
                     "\n"
                     "  %0 = arith.maximumf %x, %c : " +
                     t +
                     "\n"
                     "  %1 = math.exp %x : " +
                     t +
                     "\n"
                     "  %2 = math.tanh %x : " +
                     t +
                     "\n"
                     "  %3 = arith.addf %1, %2 : " +
                     t +
                     "\n"
                     "  %4 = arith.divf %3, %0 : " +
                     t +
                     "\n"
                     "  return %4, %c : " +
                     t + ", " + t + "\n}");
  Values expected;
  for (double v : x)
    expected.push_back((std::exp(v) + std::tanh(v)) / std::max(v, 0.5));
  expectNear(results.at(0), expected);
  EXPECT_EQ(results.at(1), Values(rows * n, 0.5));
}

TEST_P(Ops, LinalgBroadcastsAndTransposes) {
  int64_t n = cols();
  const Values &x = random("x", 3 * rows * n), &s = random("s", rows),
               &w = random("w", n), &p = random("p", n * rows * 3);
  std::string t = tensor({3, rows, n}), ts = tensor({rows}), tw = tensor({n}),
              tp = tensor({n, rows, 3}), e = spell(dtype());
  auto results = run(
      "func.func @f(%x: " + t + " {sp.param = \"x\"}, %s: " + ts +
      " {sp.param = \"s\"}, %w: " + tw + " {sp.param = \"w\"}, %p: " + tp +
      " {sp.param = \"p\"}) -> (" + t +
      " {sp.result = \"y\"}) {\n"
      "  %i = tensor.empty() : " +
      t +
      "\n"
      "  %y = linalg.generic {indexing_maps = ["
      "affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (b)>, "
      "affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (c, b, a)>, "
      "affine_map<(a, b, c) -> (a, b, c)>], iterator_types = [\"parallel\", "
      "\"parallel\", \"parallel\"]} ins(%x, %s, %w, %p : " +
      t + ", " + ts + ", " + tw + ", " + tp + ") outs(%i : " + t +
      ") {\n"
      "  ^bb0(%a: " +
      e + ", %b: " + e + ", %c: " + e + ", %d: " + e + ", %o: " + e +
      "):\n"
      "    %0 = arith.mulf %a, %b : " +
      e +
      "\n"
      "    %1 = arith.subf %0, %c : " +
      e +
      "\n"
      "    %2 = arith.mulf %1, %d : " +
      e +
      "\n"
      "    linalg.yield %2 : " +
      e + "\n  } -> " + t +
      "\n"
      "  return %y : " +
      t + "\n}");
  Values expected;
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t c = 0; c < n; ++c)
        expected.push_back((x[(a * rows + b) * n + c] * s[b] - w[c]) *
                           p[(c * rows + b) * 3 + a]);
  expectNear(results.at(0), expected);
}

/// The positions of two tokens in a batch of two, three heads.
TEST_P(Ops, Rope) {
  int64_t n = cols(), d = 2 * n, seq = 2, batch = 2, heads = 3;
  const Values &x = random("x", seq * batch * heads * d),
               &cos = random("cos", seq * n), &sin = random("sin", seq * n);
  std::string t = tensor({seq, batch, heads, d}), v = tensor({seq, n});
  auto results =
      run("func.func @f(%x: " + t + " {sp.param = \"x\"}, %c: " + v +
          " {sp.param = \"cos\"}, %s: " + v + " {sp.param = \"sin\"}) -> (" +
          t + " {sp.result = \"y\"}) {\n  %y = sp.rope %x, %c, %s : (" + t +
          ", " + v + ", " + v + ") -> " + t + "\n  return %y : " + t + "\n}");
  Values expected(x.size());
  for (int64_t row = 0; row < seq * batch * heads; ++row)
    for (int64_t i = 0; i < n; ++i) {
      int64_t table = row / (batch * heads) * n + i;
      double first = x[row * d + i], second = x[row * d + n + i];
      expected[row * d + i] = first * cos[table] - second * sin[table];
      expected[row * d + n + i] = second * cos[table] + first * sin[table];
    }
  expectNear(results.at(0), expected);
}

TEST_P(Ops, CrossEntropyIgnoresWhatItShould) {
  int64_t n = cols();
  Values &x = random("x", rows * n);
  // A row of large logits: exp of them is infinite, their loss is not.
  for (int64_t c = 0; c < n; ++c)
    x[n + c] = stored(dtype(), x[n + c] * 500);
  Values &t = source.values["t"];
  for (int64_t r = 0; r < rows; ++r)
    t.push_back(r == 2 ? -100 : (r * 7) % n);
  std::string tx = "tensor<" + std::to_string(rows) + "x1x" +
                   std::to_string(n) + "x" + spell(dtype()) + ">",
              tt = "tensor<" + std::to_string(rows) + "x1xi64>",
              scalar = dtype() == DType::F64 ? "tensor<f64>" : "tensor<f32>";
  std::string text =
      "func.func @f(%x: " + tx + " {sp.param = \"x\"}, %t: " + tt +
      " {sp.param = \"t\"}) -> (" + scalar + " {sp.result = \"s\"}, " + scalar +
      " {sp.result = \"n\"}) {\n  %s, %n = sp.cross_entropy %x, %t "
      "ignore_index -100 : (" +
      tx + ", " + tt + ") -> (" + scalar + ", " + scalar +
      ")\n  return %s, %n : " + scalar + ", " + scalar + "\n}";
  auto results = run(text);
  double expected = 0;
  for (int64_t r = 0; r < rows; ++r) {
    if (r == 2)
      continue;
    double max = -INFINITY, sum = 0;
    for (int64_t c = 0; c < n; ++c)
      max = std::max(max, x[r * n + c]);
    for (int64_t c = 0; c < n; ++c)
      sum += std::exp(x[r * n + c] - max);
    expected += std::log(sum) + max - x[r * n + int64_t(t[r])];
  }
  double bound = dtype() == DType::F64 ? 1e-13 : 2e-6;
  EXPECT_NEAR(results.at(0).at(0), expected, bound * std::max(expected, 1.0));
  EXPECT_EQ(results.at(1).at(0), rows - 1);

  t.assign(rows, -100);
  results = run(text);
  EXPECT_EQ(results.at(0).at(0), 0) << "no valid token: no loss, not NaN";
  EXPECT_EQ(results.at(1).at(0), 0);
}

std::string nameOf(const testing::TestParamInfo<Ops::ParamType> &info) {
  return spell(std::get<0>(info.param)) + std::string("_") +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(F32, Ops,
                         testing::Combine(testing::Values(DType::F32),
                                          testing::Values(1, 3, 16, 17, 64, 65,
                                                          131, 768, 2432)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(F64, Ops,
                         testing::Combine(testing::Values(DType::F64),
                                          testing::Values(1, 7, 8, 9, 33, 768)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(BF16, Ops,
                         testing::Combine(testing::Values(DType::BF16),
                                          testing::Values(1, 17, 768)),
                         nameOf);

class Exp : public Ops {};
TEST_P(Exp, AtTheEndsOfItsRange) {
  Values &x = source.values["x"];
  x = {0,        -0.0,      1,    -1,      88.7, 88.8,      1000,
       INFINITY, -INFINITY, -100, -103.9,  -104, -1000,     -1e30,
       1e-10,    0.3,       -87,  10.0625, NAN,  0.6931472, -0.5};
  for (double &value : x)
    value = stored(dtype(), value);
  std::string t = tensor({1, static_cast<int64_t>(x.size())});
  Values y = run("func.func @f(%x: " + t + " {sp.param = \"x\"}) -> (" + t +
                 " {sp.result = \"y\"}) {\n  %y = math.exp %x : " + t +
                 "\n  return %y : " + t + "\n}")
                 .at(0);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = stored(dtype(), std::exp(x[i]));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(y[i])) << x[i];
    else if (std::isinf(expected))
      EXPECT_EQ(y[i], expected) << x[i];
    else // Gradual underflow: as near as the element type's steps allow.
      EXPECT_NEAR(y[i], expected,
                  expected * 2e-7 + (dtype() == DType::F64 ? 0 : 1.5e-45))
          << x[i];
  }
}
INSTANTIATE_TEST_SUITE_P(All, Exp,
                         testing::Combine(testing::Values(DType::F32,
                                                          DType::F64),
                                          testing::Values(0)),
                         nameOf);

} // namespace
