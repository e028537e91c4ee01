//===- TokenDims.cpp - which dimension of a value is the sequence ---------===//

#include "TokenDims.h"
#include "sp/Transforms/GradientSync.h"

using namespace mlir;
using namespace sp;

/// The all-reduces along `axis` that close regions, of the forward or of the
/// backward pass: all but those that sum gradients.
SmallVector<AllReduceOp> sp::findReductions(func::FuncOp function,
                                            StringRef axis) {
  DenseSet<Operation *> syncs = findGradientSyncOps(function);
  SmallVector<AllReduceOp> reductions;
  function.walk([&](AllReduceOp op) {
    if (op.getAxis() == axis && !syncs.contains(op))
      reductions.push_back(op);
  });
  return reductions;
}

int64_t sp::countTokens(ArrayRef<AllReduceOp> reductions) {
  int64_t count = 0;
  for (AllReduceOp op : reductions)
    if (ArrayRef<int64_t> shape = op.getType().getShape(); !shape.empty())
      count = std::max(count, llvm::product_of(shape.drop_back()));
  return count;
}

TokenDims::TokenDims(ArrayRef<AllReduceOp> reductions, int64_t size) {
  // The hidden states come first. What is smaller, such as a sum over the
  // sequence, may have other dimensions, which are worth sharding only if that
  // is possible; so may a hidden state that is transposed for its region. A
  // vector has features alone.
  SmallVector<Value> seeds;
  for (AllReduceOp op : reductions)
    if (tensorType(op.getResult()).getRank() > 1)
      seeds.push_back(op.getResult());
  auto count = [](Value value) { return tensorType(value).getNumElements(); };
  llvm::stable_sort(seeds,
                    [&](Value a, Value b) { return count(a) > count(b); });
  auto divides = [&](Value value) {
    return tensorType(value).getDimSize(0) % size == 0;
  };
  auto largest = llvm::make_filter_range(
      seeds, [&](Value seed) { return count(seed) == count(seeds.front()); });
  // If no hidden state can be sharded, that is an error, below.
  bool anyDivides = llvm::any_of(largest, divides);
  for (Value seed : seeds)
    if (divides(seed) || (!anyDivides && count(seed) == count(seeds.front()))) {
      add(seed, 0);
      propagate();
    }
}

void TokenDims::propagate() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (Operation *op = value.getDefiningOp())
      visit(op);
    for (Operation *user : value.getUsers())
      visit(user);
  }
}

int64_t TokenDims::getFactor(Operation *op) const {
  auto iface = dyn_cast<LayoutOpInterface>(op);
  if (!iface)
    return LayoutRule::kBlocked;
  LayoutRule rule = iface.getLayoutRule();
  int64_t factor = LayoutRule::kBlocked;
  auto meet = [&](ValueRange values, ArrayRef<SmallVector<int64_t>> factors) {
    for (auto [value, own] : llvm::zip(values, factors)) {
      int64_t dim = get(value);
      if (dim < 0)
        continue;
      if (own[dim] == LayoutRule::kBlocked ||
          (factor != LayoutRule::kBlocked && factor != own[dim]))
        return false;
      factor = own[dim];
    }
    return true;
  };
  if (!meet(op->getOperands(), rule.operands) ||
      !meet(op->getResults(), rule.results))
    return LayoutRule::kBlocked;
  return factor;
}

void TokenDims::visit(Operation *op) {
  int64_t factor = getFactor(op);
  if (factor == LayoutRule::kBlocked)
    return;
  LayoutRule rule = cast<LayoutOpInterface>(op).getLayoutRule();
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (isa<RankedTensorType>(value.getType()))
      if (int64_t dim = rule.operandDim(i, factor); dim >= 0)
        add(value, dim);
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (int64_t dim = rule.resultDim(i, factor); dim >= 0)
      add(value, dim);
}
