//===- MemoryTimelineTest.cpp - what an arena holds, op by op -------------===//

#include "sp/Conversion/MemoryTimeline.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Conversion/Passes.h"
#include "sp/Init/Init.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sp;

namespace {

// 4x16 f32 are 256 bytes. The reshape is no step and has no bytes, but keeps
// what it reshapes; the sum takes the place of the first product, which dies
// there; the result stays to the end.
constexpr const char *kProgram = R"mlir(
func.func @f(%x: tensor<4x16xf32> {sp.input = "x"}, %w: tensor<16x16xf32> {sp.param = "w"})
    -> (tensor<4x16xf32> {sp.result = "y"}) {
  %0 = sp.linear %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = sp.linear %0, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %v = tensor.expand_shape %1 [[0, 1], [2]] output_shape [4, 1, 16] : tensor<4x16xf32> into tensor<4x1x16xf32>
  %s = arith.addf %0, %0 : tensor<4x16xf32>
  %c = tensor.collapse_shape %v [[0, 1], [2]] : tensor<4x1x16xf32> into tensor<4x16xf32>
  %2 = sp.linear %c, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %3 = sp.linear %s, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %y = arith.addf %2, %3 : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
)mlir";

TEST(MemoryTimelineTest, CountsWhatIsLiveAtEachStep) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(kProgram, &context);
  ASSERT_TRUE(module);
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.addNestedPass<func::FuncOp>(createSPFormRowKernels());
  pm.addNestedPass<func::FuncOp>(createSPPlanMemory());
  ASSERT_TRUE(succeeded(pm.run(*module)));

  auto function = *module->getOps<func::FuncOp>().begin();
  MemoryTimeline timeline = computeMemoryTimeline(function);
  EXPECT_EQ(timeline.liveBytes,
            (std::vector<int64_t>{256, 512, 512, 768, 768, 512}));
  std::vector<std::pair<size_t, size_t>> lives;
  for (const PlacedValue &value : timeline.values) {
    EXPECT_EQ(value.bytes, 256);
    lives.emplace_back(value.begin, value.end);
  }
  EXPECT_EQ(lives, (std::vector<std::pair<size_t, size_t>>{
                       {0, 1}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 5}}));

  // At no step are there more bytes than in the arena.
  int64_t arena =
      function->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt();
  for (int64_t bytes : timeline.liveBytes)
    EXPECT_LE(bytes, arena);
}

} // namespace
