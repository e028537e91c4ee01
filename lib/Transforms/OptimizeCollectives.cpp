//===- OptimizeCollectives.cpp - fewer and smaller layout changes ---------===//
//
// Sharing is a choice: the textbook form has one all-gather per column-parallel
// linear, this pass makes them one. Four rewrites, each of which leaves what a
// value is alone and sends less, or as much at once:
//
//   change(x), change(x)                      ->  one change
//   slice(all_reduce(x))                      ->  reduce_scatter(x)
//   reduce(x) + reduce(y)                     ->  reduce(x + y)
//   small, independent changes of equal type  ->  one change of a packed tensor
//
// The other directions do not exist: no gather of a reduce_scatter becomes an
// all_reduce again. All ranks run one program, so whatever is moved, they meet
// in the same order.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace sp {
#define GEN_PASS_DEF_SPOPTIMIZECOLLECTIVES
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct OptimizeCollectives
    : sp::impl::SPOptimizeCollectivesBase<OptimizeCollectives> {
  using SPOptimizeCollectivesBase::SPOptimizeCollectivesBase;

  void runOnOperation() override;

private:
  void mergeEqual(Block &block);
  void scatterSums(Block &block);
  void addSummands(Block &block);
  void coalesce(Block &block);
};
} // namespace

/// Block by block, the first of several equal changes serves them all.
void OptimizeCollectives::mergeEqual(Block &block) {
  DenseMap<std::tuple<OperationName, Value, Type>, Operation *> first;
  for (Operation &op : llvm::make_early_inc_range(block)) {
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
}

/// If all that is read of `sum` is one shard, adds the slices that read it, and
/// the copies in between.
static bool findSlices(Value sum, StringAttr axis,
                       SmallVectorImpl<Operation *> &slices,
                       SmallVectorImpl<Operation *> &copies) {
  return llvm::all_of(sum.getUsers(), [&](Operation *user) {
    if (auto slice = dyn_cast<SliceOp>(user);
        slice && slice.getAxis() == axis) {
      slices.push_back(slice);
      return slices.front()->getResult(0).getType() == slice.getType();
    }
    auto copy = dyn_cast<CopyOp>(user);
    if (!copy || copy.getAxis() != axis)
      return false;
    copies.push_back(copy);
    return findSlices(copy, axis, slices, copies);
  });
}

void OptimizeCollectives::scatterSums(Block &block) {
  for (auto sum : llvm::make_early_inc_range(block.getOps<AllReduceOp>())) {
    SmallVector<Operation *> slices, copies;
    if (!findSlices(sum.getResult(), sum.getAxis(), slices, copies) ||
        slices.empty())
      continue;
    OpBuilder builder(sum);
    auto shard = ReduceScatterOp::create(builder, sum.getLoc(),
                                         slices.front()->getResult(0).getType(),
                                         sum.getInput());
    for (Operation *slice : slices) {
      slice->replaceAllUsesWith(shard);
      slice->erase();
    }
    for (Operation *copy : llvm::reverse(copies))
      copy->erase();
    sum.erase();
    ++numScattered;
  }
}

void OptimizeCollectives::addSummands(Block &block) {
  for (auto add : llvm::make_early_inc_range(block.getOps<arith::AddFOp>()))
    numSummed += mergeReductions(add) != nullptr;
}

namespace {
/// Changes that one can stand for, before the first op that reads any of them.
struct Group {
  SmallVector<Operation *> changes;
  Operation *reader = nullptr;
};
} // namespace

/// The first op of the block that reads `op`'s result, from within a region
/// too; null if there is none.
static Operation *getFirstReader(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *reader = op->getBlock()->findAncestorOpInBlock(*user);
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  }
  return first;
}

/// The first group of more than one that can be made; what is made changes
/// which the next can be.
static Group findGroup(Block &block, const DenseSet<Operation *> &syncs,
                       int64_t maxBytes) {
  using Key = std::tuple<OperationName, Type, Attribute, Attribute>;
  llvm::MapVector<Key, Group> groups;
  for (Operation &op : block) {
    if (!isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op) ||
        syncs.contains(&op))
      continue;
    RankedTensorType from = tensorType(op.getOperand(0));
    auto to = cast<RankedTensorType>(op.getResult(0).getType());
    Operation *reader = getFirstReader(&op);
    int64_t bytes = to.getNumElements() * to.getElementTypeBitWidth() / 8;
    if (!reader || bytes > maxBytes || !canBePacked(from, to) ||
        !isa<FloatType>(to.getElementType()))
      continue;
    Group &group = groups[{op.getName(), to.getElementType(),
                           from.getEncoding(), to.getEncoding()}];
    Operation *source = op.getOperand(0).getDefiningOp();
    if (group.reader && source && !source->isBeforeInBlock(group.reader)) {
      if (group.changes.size() > 1)
        return group;
      group = {};
    }
    group.changes.push_back(&op);
    if (!group.reader || reader->isBeforeInBlock(group.reader))
      group.reader = reader;
  }
  for (auto &[key, group] : groups)
    if (group.changes.size() > 1)
      return group;
  return {};
}

void OptimizeCollectives::coalesce(Block &block) {
  MeshOp mesh = MeshOp::lookup(getOperation());
  // How gradients travel is for `sp-sync-gradients` to say.
  DenseSet<Operation *> syncs;
  if (auto function = dyn_cast<func::FuncOp>(block.getParentOp()))
    syncs = findGradientSyncOps(function);
  while (true) {
    Group group = findGroup(block, syncs, coalesceBytes);
    if (group.changes.empty())
      return;
    ImplicitLocOpBuilder b(group.changes.front()->getLoc(), group.reader);
    changeTogether(b, group.changes, mesh);
    numCoalesced += group.changes.size();
  }
}

void OptimizeCollectives::runOnOperation() {
  if (failed(
          verifyStraightLine(getOperation(), "sp-optimize-collectives", "C1")))
    return signalPassFailure();
  getOperation().walk([&](Block *block) {
    mergeEqual(*block);
    scatterSums(*block);
    addSummands(*block);
    coalesce(*block);
  });
}
