//===- OptimizeCollectives.cpp - merges equal layout changes --------------===//
//
// Sharing is a choice: the textbook form has one all-gather per column-parallel
// linear, this pass makes them one. Block by block, the first of several equal
// changes serves them all.
//
//===----------------------------------------------------------------------===//

#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPOPTIMIZECOLLECTIVES
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct OptimizeCollectives
    : sp::impl::SPOptimizeCollectivesBase<OptimizeCollectives> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      DenseMap<std::tuple<OperationName, Value, Type>, Operation *> first;
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        if (!isa<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
                 AllGatherOp>(op))
          continue;
        auto [it, inserted] = first.try_emplace(
            {op.getName(), op.getOperand(0), op.getResult(0).getType()}, &op);
        if (inserted)
          continue;
        op.replaceAllUsesWith(it->second);
        op.erase();
        ++numMerged;
      }
    });
  }
};
} // namespace
