//===- GradientPrecisionTest.cpp - gradients in f32 and bf16 --------------===//
//
// Against those of the same program in f64, on the same numbers, which bf16 can
// hold. In f32 a gradient errs by a few roundings; one in bf16 is one in f32,
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <random>

using namespace sp;

namespace {

struct Tensor {
  const char *name;
  llvm::ArrayRef<int64_t> shape;
};

/// An op on parameters, whose result's cotangent is another parameter.
struct Case {
  const char *name;
  llvm::SmallVector<Tensor, 3> operands;
  Tensor result;
  /// After the operands, for example "eps 1.0e-05".
  std::string op, attributes;
  /// The greatest error of a gradient in f32 in terms of its greatest element,
  /// in roundings: four times what was measured, as the order of sums and the
  /// exponential function depend on the CPU.
  double bound;
};

constexpr int64_t kTokens[] = {16, 2, 96}, kVector[] = {96},
                  kMatrix[] = {64, 96}, kProjected[] = {16, 2, 64},
                  kQueries[] = {16, 2, 4, 32}, kKeys[] = {16, 2, 2, 32};

const Case kCases[] = {
    {"RMSNorm",
     {{"input", kTokens}, {"weight", kVector}},
     {"weights", kTokens},
     "sp.rms_norm",
     "eps 1.0e-05",
     8},
    {"SwiGLU",
     {{"gate", kTokens}, {"up", kTokens}},
     {"weights", kTokens},
     "sp.swiglu",
     "",
     15},
    {"Linear",
     {{"input", kTokens}, {"weight", kMatrix}},
     {"weights", kProjected},
     "sp.linear",
     "",
     7},
    {"Attention",
     {{"query", kQueries}, {"key", kKeys}, {"value", kKeys}},
     {"weights", kQueries},
     "sp.attention",
     "scale 0.25 causal",
     12},
    {"CrossEntropy",
     {{"logits", kTokens}},
     {"weights", {}},
     "sp.cross_entropy",
     "ignore_index 95",
     5},
};

using GradientPrecision = testing::TestWithParam<std::tuple<Case, DType>>;

std::map<std::string, Values> getGradients(const Case &test, DType dtype,
                                           const TestSource &source) {
  bool isEntropy = test.op == "sp.cross_entropy";
  // A loss is f32 at least.
  DType resultType = isEntropy && dtype == DType::BF16 ? DType::F32 : dtype;
  std::string arguments, operands, types;
  for (const Tensor &operand : test.operands) {
    std::string type = tensorText(operand.shape, dtype), name = operand.name;
    arguments += "%" + name + ": " + type + " {sp.param = \"" + name + "\"}, ";
    operands += (operands.empty() ? "%" : ", %") + name;
    types += (types.empty() ? "" : ", ") + type;
  }
  std::string result = tensorText(test.result.shape, resultType);
  std::string loss = tensorText({}, resultType);
  std::string constants, results = result, values = "%y";
  if (isEntropy) {
    constants = "  %targets = arith.constant dense<[";
    for (int row = 0; row < 16; ++row)
      constants += (row ? ", [" : "[") + std::to_string(row * 5) + ", " +
                   std::to_string(95 - row) + "]";
    constants += "]> : tensor<16x2xi64>\n";
    operands += ", %targets";
    types += ", tensor<16x2xi64>";
    results = "(" + result + ", " + result + ")";
    values = "%y, %count";
  }
  auto module = parseProgram(
      "func.func @f(" + arguments + "%weights: " + result +
      " {sp.param = \"weights\"}) -> (" + loss +
      " {sp.result = \"loss\"}) {\n" + constants + "  " + values + " = " +
      test.op + " " + operands + " " + test.attributes + " : (" + types +
      ") -> " + results + "\n  %p = sp.mul %y, %weights : (" + result + ", " +
      result + ") -> " + result + "\n  %loss = sp.sum_leading %p count " +
      std::to_string(test.result.shape.size()) + " : (" + result + ") -> " +
      loss + "\n  return %loss : " + loss + "\n}\n");
  if (!module || !differentiate(*module))
    return {};
  return TestProgram(*module).getGradients(source);
}

TEST_P(GradientPrecision, IsThatOfTheElementType) {
  auto [test, dtype] = GetParam();
  TestSource source;
  std::mt19937_64 engine{5};
  std::uniform_real_distribution<double> uniform(-2, 2);
  auto fill = [&](const Tensor &tensor) {
    Values &values = source.values[tensor.name];
    for (int64_t i = 0, e = llvm::product_of(tensor.shape); i < e; ++i)
      values.push_back(stored(DType::BF16, uniform(engine)));
  };
  for (const Tensor &operand : test.operands)
    fill(operand);
  fill(test.result);

  auto expected = getGradients(test, DType::F64, source);
  auto actual = getGradients(test, dtype, source);
  double bound = test.bound * 0x1p-24;
  if (dtype == DType::BF16)
    bound += 0x1p-8;
  for (const Tensor &operand : test.operands) {
    const Values &a = actual[operand.name], &e = expected[operand.name];
    ASSERT_FALSE(e.empty()) << operand.name;
    ASSERT_EQ(a.size(), e.size()) << operand.name;
    double error = 0, largest = 0;
    for (size_t i = 0; i < e.size(); ++i) {
      ASSERT_FALSE(std::isnan(a[i])) << operand.name << " at " << i;
      error = std::max(error, std::abs(a[i] - e[i]));
      largest = std::max(largest, std::abs(e[i]));
    }
    EXPECT_LE(error / largest, bound) << operand.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GradientPrecision,
    testing::Combine(testing::ValuesIn(kCases),
                     testing::Values(DType::F32, DType::BF16)),
    [](const testing::TestParamInfo<GradientPrecision::ParamType> &info) {
      return std::get<0>(info.param).name + std::string("_") +
             spell(std::get<1>(info.param));
    });

} // namespace
