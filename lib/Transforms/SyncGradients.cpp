//===- SyncGradients.cpp - one sum over ranks for all gradients -----------===//
//
// Differentiation leaves an all_reduce wherever a replicated parameter was
// read. Their sum is linear, so the summands of one gradient are added while
// partial, and all partial gradients travel in one vector.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace sp {
#define GEN_PASS_DEF_SPSYNCGRADIENTS
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct SyncGradients : sp::impl::SPSyncGradientsBase<SyncGradients> {
  void runOnOperation() override;

private:
  void synchronise(func::FuncOp function);
};

/// Those that one collective can sum.
using Bucket = SmallVector<Operation *>;
} // namespace

/// Adds the summands of one gradient before they are summed, in program order.
static void mergeSums(func::FuncOp function, DenseSet<Operation *> &syncs) {
  for (auto add : llvm::make_early_inc_range(
           function.getBody().front().getOps<arith::AddFOp>())) {
    Operation *lhs = add.getLhs().getDefiningOp();
    Operation *rhs = add.getRhs().getDefiningOp();
    Location loc = add.getLoc();
    if (!syncs.contains(lhs) || !syncs.contains(rhs))
      continue;
    if (Operation *sum = mergeReductions(add)) {
      sum->setLoc(loc);
      syncs.erase(lhs);
      syncs.erase(rhs);
      syncs.insert(sum);
    }
  }
}

/// Sums the bucket in one tensor, behind everything that makes its partials.
static void sumTogether(ArrayRef<Operation *> bucket, MeshOp mesh,
                        Operation *terminator) {
  SetVector<Operation *> readers;
  for (Operation *op : bucket)
    getForwardSlice(op->getResult(0), &readers);
  ImplicitLocOpBuilder b(terminator->getLoc(), terminator);
  changeTogether(b, bucket, mesh);
  // What reads a gradient comes after the sum.
  for (Operation *reader : topologicalSort(readers))
    if (reader != terminator)
      reader->moveBefore(terminator);
}

void SyncGradients::synchronise(func::FuncOp function) {
  DenseSet<Operation *> syncs;
  for (const GradientSync &sync : findGradientSyncs(function)) {
    numSynced += !sync.ops.empty();
    syncs.insert(sync.ops.begin(), sync.ops.end());
  }
  mergeSums(function, syncs);
  llvm::MapVector<std::tuple<StringAttr, Type, Attribute>, Bucket> buckets;
  for (auto op : function.getBody().front().getOps<AllReduceOp>()) {
    RankedTensorType type = op.getType();
    if (!syncs.contains(op) || !canBePacked(type, type))
      continue;
    buckets[{op.getAxis(), type.getElementType(), type.getEncoding()}]
        .push_back(op);
  }
  Operation *terminator = function.getBody().front().getTerminator();
  MeshOp mesh = MeshOp::lookup(getOperation());
  for (auto &[key, bucket] : buckets) {
    ++numBuckets;
    if (bucket.size() > 1)
      sumTogether(bucket, mesh, terminator);
  }
  annotateGradientSyncs(function);
}

void SyncGradients::runOnOperation() {
  auto functions =
      requireDifferentiatedFunctions(getOperation(), getArgument());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp function : *functions)
    synchronise(function);
}
