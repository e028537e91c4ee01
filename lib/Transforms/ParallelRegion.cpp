//===- ParallelRegion.cpp - what one shard can be carried through ---------===//

#include "ParallelRegion.h"
#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sp;

static LayoutRule getRule(Operation *op,
                          const std::optional<Projection> &projection) {
  return projection ? projection->rule
                    : cast<LayoutOpInterface>(op).getLayoutRule();
}

LayoutRule sp::getRegionRule(Operation *op) {
  return getRule(op, Projection::match(op));
}

static bool isSource(Operation *op) {
  return isUniformSource(op) || isa_and_nonnull<arith::ConstantOp>(op);
}

FailureOr<ParallelRegion> RegionFinder::find(Operation *closing,
                                             int64_t factor) {
  if (failed(visit(closing, factor)))
    return failure();
  return follow();
}

FailureOr<ParallelRegion> RegionFinder::findHead(Value logits) {
  region.isHead = true;
  if (failed(addShard(logits, tensorType(logits).getRank() - 1)))
    return failure();
  return follow();
}

FailureOr<ParallelRegion> RegionFinder::follow() {
  for (size_t i = 0; i < worklist.size(); ++i) {
    auto [value, dim] = worklist[i];
    if (failed(visitDefinition(value, dim)) || failed(visitUses(value, dim)))
      return failure();
  }
  SmallVector<OpOperand *> whole(region.replicated);
  for (Operation *row : region.rows)
    if (auto addend = Projection::match(row)->addend)
      whole.push_back(&row->getOpOperand(*addend));
  for (OpOperand *operand : whole)
    if (region.shards.contains(operand->get()))
      return fail(describe(operand->getOwner()) + " needs the whole of " +
                  describe(operand->get()) + ", which would be sharded");
  if (region.columns.empty())
    return fail("no linear opens the region");
  return std::move(region);
}

FailureOr<bool> RegionFinder::insertShard(Value value, int64_t dim) {
  auto [it, inserted] = region.shards.insert({value, dim});
  if (it->second != dim)
    return fail(describe(value) + " would be sharded on dimensions " +
                Twine(it->second) + " and " + Twine(dim));
  return inserted;
}

LogicalResult RegionFinder::addShard(Value value, int64_t dim) {
  FailureOr<bool> inserted = insertShard(value, dim);
  if (succeeded(inserted) && *inserted)
    worklist.emplace_back(value, dim);
  return inserted;
}

/// What is read elsewhere, too, cannot be cut to what this region needs; but
/// lookups in the head's table shard the vocabulary alike.
LogicalResult RegionFinder::addParameter(BlockArgument parameter, int64_t dim) {
  if (!region.isHead && !parameter.hasOneUse())
    return fail(describe(parameter) + " has other uses");
  FailureOr<bool> inserted = insertShard(parameter, dim);
  return succeeded(inserted) && *inserted ? visitUses(parameter, dim)
                                          : LogicalResult(inserted);
}

LogicalResult RegionFinder::addOperand(OpOperand &operand, int64_t dim,
                                       bool isActivation) {
  Value value = operand.get();
  if (isSource(value.getDefiningOp())) {
    region.sources.push_back(&operand);
    return success();
  }
  if (isa<BlockArgument>(value) && !isActivation)
    if (BlockArgument parameter = findParameter(value))
      return addParameter(parameter, dim);
  return addShard(value, dim);
}

LogicalResult RegionFinder::visitDefinition(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!op || isSource(op))
    return fail(describe(value) + " comes from outside as a whole");
  if (!isa<LayoutOpInterface>(op))
    return fail(describe(op) + " has no layout rule");
  unsigned result = cast<OpResult>(value).getResultNumber();
  int64_t factor = getRegionRule(op).results[result][dim];
  if (factor == LayoutRule::kBlocked)
    return fail(describe(op) + " needs the whole of dimension " + Twine(dim));
  return visit(op, factor);
}

LogicalResult RegionFinder::visitUses(Value value, int64_t dim) {
  for (OpOperand &use : value.getUses())
    if (failed(visitUse(use, dim)))
      return failure();
  return success();
}

LogicalResult RegionFinder::visitUse(OpOperand &use, int64_t dim) {
  Operation *op = use.getOwner();
  if (region.isHead && isa<func::ReturnOp>(op))
    return success();
  if (auto loss = dyn_cast<CrossEntropyOp>(op);
      loss && region.isHead &&
      dim == tensorType(loss.getLogits()).getRank() - 1) {
    region.losses.insert(loss);
    return success();
  }
  if (!isa<LayoutOpInterface>(op))
    return fail(describe(use.get()) + " is also needed whole, by " +
                describe(op));
  int64_t factor = getRegionRule(op).operands[use.getOperandNumber()][dim];
  if (factor == LayoutRule::kBlocked)
    return fail(describe(op) + " needs the whole of dimension " + Twine(dim));
  return visit(op, factor);
}

LogicalResult RegionFinder::visit(Operation *op, int64_t factor) {
  auto [it, inserted] = region.ops.insert({op, factor});
  if (!inserted) {
    if (it->second == factor)
      return success();
    return fail(region.columns.contains(op) || region.rows.contains(op)
                    ? describe(op) + " would both open and close the region"
                    : describe(op) + " would be sharded in two of its "
                                     "dimensions");
  }
  if (assigned.contains(op))
    return fail(describe(op) + " already belongs to another region");

  std::optional<Projection> projection = Projection::match(op);
  LayoutRule rule = getRule(op, projection);
  bool closes = rule.isReduction[factor];
  bool isLookup = region.isHead && closes && isa<EmbeddingOp>(op);
  if (isLookup)
    region.lookups.insert(op);
  else if (closes && !projection)
    return fail(describe(op) + " sums over the sharded dimension");
  else if (closes)
    region.rows.insert(op);
  else if (projection && rule.operandDim(projection->activation, factor) < 0)
    region.columns.insert(op);
  if (projection && !projection->parameter)
    return fail("the weight of " + describe(op) +
                " is computed, not a parameter");

  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    int64_t dim = rule.operandDim(number, factor);
    bool isActivation = projection && number == projection->activation;
    // A single key/value head is every rank's.
    bool isWhole = dim >= 0 && isa<AttentionOp>(op) && number > 0 &&
                   shapeOf(operand.get())[dim] == 1;
    if (dim >= 0 && !isWhole) {
      if (failed(addOperand(operand, dim, isActivation)))
        return failure();
    } else if (!closes || isLookup) {
      // But what a closing projection adds moves behind the sum over ranks.
      region.replicated.push_back(&operand);
    }
  }
  if (closes)
    return success();
  for (OpResult result : op->getResults()) {
    int64_t dim = rule.resultDim(result.getResultNumber(), factor);
    if (dim < 0)
      return fail(describe(op) + " loses the sharded dimension");
    if (failed(addShard(result, dim)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Regions that overlap
//===----------------------------------------------------------------------===//

static int64_t countWeights(const ParallelRegion &region) {
  int64_t count = 0;
  for (const auto *ends : {&region.columns, &region.rows})
    for (Operation *op : *ends)
      count += tensorType(op->getOperand(Projection::match(op)->weight))
                   .getNumElements();
  return count;
}

std::vector<ParallelRegion>
sp::chooseRegions(std::vector<ParallelRegion> candidates) {
  DenseMap<Operation *, unsigned> owners;
  SmallVector<bool> chosen(candidates.size());
  auto choose = [&](unsigned i) {
    chosen[i] = true;
    for (auto [op, factor] : candidates[i].ops)
      owners[op] = i;
  };
  auto getRivals = [&](unsigned i) {
    llvm::SmallSetVector<unsigned, 2> rivals;
    for (auto [op, factor] : candidates[i].ops)
      if (auto it = owners.find(op); it != owners.end() && chosen[it->second])
        rivals.insert(it->second);
    return rivals;
  };
  for (unsigned i = 0; i < candidates.size(); ++i)
    if (getRivals(i).empty())
      choose(i);
  for (unsigned i = 0; i < candidates.size(); ++i) {
    if (chosen[i])
      continue;
    auto rivals = getRivals(i);
    int64_t excluded = 0;
    for (unsigned rival : rivals)
      excluded += countWeights(candidates[rival]);
    if (countWeights(candidates[i]) <= excluded)
      continue;
    for (unsigned rival : rivals)
      chosen[rival] = false;
    choose(i);
  }
  std::vector<ParallelRegion> regions;
  for (auto [region, isChosen] : llvm::zip(candidates, chosen))
    if (isChosen)
      regions.push_back(std::move(region));
  return regions;
}
