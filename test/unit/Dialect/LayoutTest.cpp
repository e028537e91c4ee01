//===- LayoutTest.cpp - layouts, rules, and the dialect's completeness ----===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Init/Init.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sp;

namespace {

class LayoutTest : public testing::Test {
protected:
  LayoutTest() : context(getRegistry()), builder(&context) {
    context.loadAllAvailableDialects();
  }

  static const DialectRegistry &getRegistry() {
    static const DialectRegistry registry = [] {
      DialectRegistry all;
      sp::registerAllDialects(all);
      return all;
    }();
    return registry;
  }

  Type parse(StringRef text) {
    Type type = parseType(text, &context);
    EXPECT_TRUE(type) << text.str();
    return type;
  }

  RankedTensorType tensor(StringRef layout) {
    std::string encoding =
        layout.empty() ? "" : ", #sp.layout<" + layout.str() + ">";
    return cast<RankedTensorType>(parse("tensor<8x6x4xf32" + encoding + ">"));
  }

  StringAttr axis(StringRef name) { return builder.getStringAttr(name); }

  MLIRContext context;
  Builder builder;
};

//===----------------------------------------------------------------------===//
// Layouts of types
//===----------------------------------------------------------------------===//

TEST_F(LayoutTest, AnAxisThatIsNotNamedIsInvariant) {
  RankedTensorType type = tensor("dp = shard(1), tp = partial");
  EXPECT_EQ(getAxisLayout(type, "dp"), AxisLayout::shard(1));
  EXPECT_EQ(getAxisLayout(type, "tp"), AxisLayout::partial());
  EXPECT_EQ(getAxisLayout(type, "pp"), AxisLayout::invariant());
  EXPECT_EQ(getAxisLayout(tensor(""), "tp"), AxisLayout::invariant());
}

TEST_F(LayoutTest, OtherTypesAndEncodingsAreInvariant) {
  EXPECT_EQ(getAxisLayout(parse("f32"), "tp"), AxisLayout::invariant());
  EXPECT_EQ(getAxisLayout(parse("tensor<*xf32>"), "tp"),
            AxisLayout::invariant());
  EXPECT_EQ(getAxisLayout(parse("tensor<4xf32, \"other\">"), "tp"),
            AxisLayout::invariant());
}

TEST_F(LayoutTest, LayoutsPrintAsTheyAreWritten) {
  EXPECT_EQ(AxisLayout::invariant().str(), "invariant");
  EXPECT_EQ(AxisLayout::replicate().str(), "replicate");
  EXPECT_EQ(AxisLayout::shard(3).str(), "shard(3)");
  EXPECT_EQ(AxisLayout::partial().str(), "partial");
}

TEST_F(LayoutTest, ShardsOfDifferentDimensionsDiffer) {
  EXPECT_NE(AxisLayout::shard(0), AxisLayout::shard(1));
  EXPECT_NE(tensor("tp = shard(0)"), tensor("tp = shard(1)"));
  EXPECT_NE(tensor("tp = shard(0)"), tensor("dp = shard(0)"));
  EXPECT_EQ(tensor("tp = shard(0)"), tensor("tp = shard(0)"));
}

TEST_F(LayoutTest, ANewAxisGoesToItsPlaceInMeshOrder) {
  SmallVector<StringAttr> mesh{axis("pp"), axis("dp"), axis("tp")};
  EXPECT_EQ(withAxisLayout(tensor("pp = replicate, tp = partial"), axis("dp"),
                           AxisLayout::shard(1), mesh),
            tensor("pp = replicate, dp = shard(1), tp = partial"));
  EXPECT_EQ(withAxisLayout(tensor("dp = replicate, tp = partial"), axis("pp"),
                           AxisLayout::shard(1), mesh),
            tensor("pp = shard(1), dp = replicate, tp = partial"));
  EXPECT_EQ(withAxisLayout(tensor("pp = replicate, dp = partial"), axis("tp"),
                           AxisLayout::shard(1), mesh),
            tensor("pp = replicate, dp = partial, tp = shard(1)"));
}

TEST_F(LayoutTest, AChangedAxisKeepsItsPlace) {
  SmallVector<StringAttr> mesh{axis("pp"), axis("dp"), axis("tp")};
  EXPECT_EQ(
      withAxisLayout(tensor("pp = replicate, dp = partial, tp = shard(2)"),
                     axis("dp"), AxisLayout::shard(0), mesh),
      tensor("pp = replicate, dp = shard(0), tp = shard(2)"));
}

TEST_F(LayoutTest, AnAxisThatTheMeshDoesNotNameIsAppended) {
  EXPECT_EQ(withAxisLayout(tensor("dp = replicate"), axis("tp"),
                           AxisLayout::shard(0)),
            tensor("dp = replicate, tp = shard(0)"));
  SmallVector<StringAttr> mesh{axis("dp")};
  EXPECT_EQ(withAxisLayout(tensor("dp = replicate"), axis("tp"),
                           AxisLayout::shard(0), mesh),
            tensor("dp = replicate, tp = shard(0)"));
}

TEST_F(LayoutTest, InvariantRemovesTheAxisAndThenTheEncoding) {
  SmallVector<StringAttr> mesh{axis("dp"), axis("tp")};
  RankedTensorType one =
      withAxisLayout(tensor("dp = replicate, tp = shard(0)"), axis("dp"),
                     AxisLayout::invariant(), mesh);
  EXPECT_EQ(one, tensor("tp = shard(0)"));
  RankedTensorType none =
      withAxisLayout(one, axis("tp"), AxisLayout::invariant(), mesh);
  EXPECT_EQ(none, tensor(""));
  EXPECT_FALSE(none.getEncoding());
}

TEST_F(LayoutTest, HasLayoutLooksInsideOtherTypes) {
  for (StringRef text :
       {"tensor<4xf32, #sp.layout<tp = partial>>",
        "tuple<f32, tuple<tensor<4xf32, #sp.layout<tp = partial>>>>",
        "(tensor<4xf32, #sp.layout<tp = partial>>) -> ()",
        "() -> (i1, tensor<4xf32, #sp.layout<tp = partial>>)",
        "tensor<4xf32, [#sp.layout<tp = partial>]>"})
    EXPECT_TRUE(hasLayout(parse(text))) << text.str();
  for (StringRef text :
       {"f32", "tensor<4xf32>", "tensor<*xf32>", "tensor<4xf32, \"other\">",
        "tuple<f32, tensor<4xf32>>", "(tensor<4xf32>) -> tensor<4xf32>"})
    EXPECT_FALSE(hasLayout(parse(text))) << text.str();
}

//===----------------------------------------------------------------------===//
// LayoutRule
//===----------------------------------------------------------------------===//

TEST_F(LayoutTest, EqualLettersAreEqualFactors) {
  LayoutRule rule = LayoutRule::get({"sbk", "nk"}, {"sbn"}, "k");
  int64_t s = rule.operands[0][0], b = rule.operands[0][1],
          k = rule.operands[0][2], n = rule.operands[1][0];
  EXPECT_EQ((llvm::SmallDenseSet<int64_t>{s, b, k, n}.size()), 4u);
  EXPECT_EQ(rule.operands[1][1], k);
  EXPECT_EQ(rule.results[0], (SmallVector<int64_t>{s, b, n}));

  EXPECT_EQ(rule.operandDim(0, s), 0);
  EXPECT_EQ(rule.operandDim(0, k), 2);
  EXPECT_EQ(rule.operandDim(1, k), 1);
  EXPECT_EQ(rule.operandDim(1, s), -1);
  EXPECT_EQ(rule.resultDim(0, n), 2);
  EXPECT_EQ(rule.resultDim(0, k), -1);
}

TEST_F(LayoutTest, OnlyTheReductionLettersAreReductions) {
  LayoutRule rule = LayoutRule::get({"sbk", "nk"}, {"sbn"}, "k");
  ASSERT_EQ(rule.isReduction.size(), 4u);
  for (auto [factor, reduction] : llvm::enumerate(rule.isReduction))
    EXPECT_EQ(reduction,
              static_cast<int64_t>(factor) == rule.operands[0].back());
}

TEST_F(LayoutTest, BlockedLettersHaveNoFactor) {
  LayoutRule rule = LayoutRule::get({"sh", "h"}, {"sh"}, "", "h");
  EXPECT_EQ(rule.operands[0][1], LayoutRule::kBlocked);
  EXPECT_EQ(rule.operands[1][0], LayoutRule::kBlocked);
  EXPECT_EQ(rule.results[0][1], LayoutRule::kBlocked);
  EXPECT_EQ(rule.isReduction.size(), 1u);
  EXPECT_EQ(rule.resultDim(0, rule.operands[0][0]), 0);
}

TEST_F(LayoutTest, AnEmptySpecIsAScalar) {
  LayoutRule rule = LayoutRule::get({"s", ""}, {""}, "s");
  EXPECT_TRUE(rule.operands[1].empty());
  EXPECT_TRUE(rule.results[0].empty());
  EXPECT_EQ(rule.resultDim(0, rule.operands[0][0]), -1);
}

TEST_F(LayoutTest, LeadingDimsAreDistinct) {
  std::string letters = leadingDims(8);
  EXPECT_EQ((llvm::SmallDenseSet<char>(letters.begin(), letters.end()).size()),
            8u);
  EXPECT_TRUE(leadingDims(0).empty());
}

//===----------------------------------------------------------------------===//
// Completeness
//===----------------------------------------------------------------------===//

// An op that forgets its layout rule would be denied on every layout: visible,
// but late. An op that is not listed here must have one.
TEST_F(LayoutTest, EveryOpHasALayoutRuleOrWorksOnLocalTensors) {
  // The ops of localised programs, the insides of row kernels, and the mesh.
  llvm::StringSet<> exempt{
      "sp.collective",    "sp.local_slice",  "sp.local_zero_pad",
      "sp.check_targets", "sp.part_targets", "sp.gemm",
      "sp.row_kernel",    "sp.row_reduce",   "sp.col_index",
      "sp.yield",         "sp.mesh"};
  unsigned withRule = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "sp")
      continue;
    bool isExempt = exempt.erase(name.getStringRef());
    bool hasRule = name.hasInterface<LayoutOpInterface>();
    EXPECT_NE(isExempt, hasRule) << name.getStringRef().str();
    withRule += hasRule;
  }
  EXPECT_GT(withRule, 0u);
  for (const auto &entry : exempt)
    ADD_FAILURE() << entry.getKey().str() << " is not an op";
}

} // namespace
