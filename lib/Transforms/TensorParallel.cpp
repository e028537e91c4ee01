//===- TensorParallel.cpp - shards linears and what lies between them -----===//
//
// A tensor-parallel region is what one shard of a feature dimension can be
// carried through: opened by column-parallel linears, closed by row-parallel
// ones. It is found by following factors of the ops' layout rules, in both
// directions, from the input of a linear that could close it. Names, sizes and
// the kinds of ops in between play no part.
//
// The head's region (`head=vocab`) is found in the same way, from the logits.
// It is closed by cross entropies, which then need two numbers per token from
// each rank, and by results, which may leave as shards.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sp {
#define GEN_PASS_DEF_SPTENSORPARALLEL
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

/// A region under construction: the values that a rank holds a shard of, with
/// the sharded dimension, and the linears at its ends.
struct ParallelRegion {
  llvm::MapVector<Value, int64_t> shards;
  llvm::SetVector<Operation *> columns, rows, inner;
  /// Of the head: what closes it, the lookups in a weight that is the embedding
  /// as well, and that weight with its casts.
  llvm::SetVector<Operation *> losses, lookups;
  llvm::SetVector<Value> tables;
  /// Constants, of which each rank makes or takes its part.
  SmallVector<OpOperand *> sources;
  /// Operands from outside that every rank needs whole.
  SmallVector<OpOperand *> replicated;
  /// With fewer key/value heads than ranks: their number, and the values that
  /// hold them.
  int64_t numGroups = 0;
  llvm::SetVector<Value> grouped;
};

/// Finds the region that `closing` closes, or says why there is none.
class RegionFinder {
public:
  RegionFinder(const DenseSet<Operation *> &assigned) : assigned(assigned) {}

  FailureOr<ParallelRegion> find(LinearOp closing);
  /// Finds the region of the head that gives `logits`.
  FailureOr<ParallelRegion> findHead(Value logits);
  const std::string &getReason() const { return reason; }
  /// What was found; incomplete after a failure.
  const ParallelRegion &getRegion() const { return region; }

private:
  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }
  /// Follows all shards that are added, until nothing new comes up.
  FailureOr<ParallelRegion> follow();
  /// Adds `value` with a shard of `dim`.
  LogicalResult addShard(Value value, int64_t dim);
  /// Follows a shard into the op that defines it and into its users.
  LogicalResult visitDefinition(Value value, int64_t dim);
  LogicalResult visitUse(OpOperand &use, int64_t dim);
  /// Carries `factor` through all operands and results of `op`.
  LogicalResult visitInner(Operation *op, int64_t factor);
  /// A linear can be sharded if it alone reads its weight, a parameter.
  LogicalResult checkLinear(LinearOp linear);
  /// In the head, lookups may read it, too: they shard the vocabulary alike.
  LogicalResult addTable(LinearOp linear, Value table);

  const DenseSet<Operation *> &assigned;
  bool isHead = false;
  ParallelRegion region;
  SmallVector<std::pair<Value, int64_t>> worklist;
  std::string reason;
};

} // namespace

/// `value` and what it is cast from: master weights are of a wider type.
static SmallVector<Value> getCasts(Value value) {
  SmallVector<Value> casts{value};
  while (auto *op = casts.back().getDefiningOp()) {
    if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
      break;
    casts.push_back(op->getOperand(0));
  }
  return casts;
}

static bool isSource(Operation *op) {
  return isUniformSource(op) || isa_and_nonnull<arith::ConstantOp>(op);
}

LogicalResult RegionFinder::checkLinear(LinearOp linear) {
  if (assigned.contains(linear))
    return fail(describe(linear.getOperation()) +
                " already belongs to another region");
  for (Value parameter : {linear.getWeight(), linear.getBias()}) {
    if (!parameter)
      continue;
    SmallVector<Value> casts = getCasts(parameter);
    if (!isa<BlockArgument>(casts.back()))
      return fail("the weight of " + describe(linear.getOperation()) +
                  " is computed, not a parameter");
    if (isHead && parameter == linear.getWeight()) {
      if (failed(addTable(linear, casts.back())))
        return failure();
      continue;
    }
    if (!llvm::all_of(casts, [](Value value) { return value.hasOneUse(); }))
      return fail(describe(casts.back()) + " has other uses");
  }
  return success();
}

LogicalResult RegionFinder::addTable(LinearOp linear, Value table) {
  region.tables.insert(table);
  for (OpOperand &use : table.getUses()) {
    Operation *user = use.getOwner();
    if (isa<arith::TruncFOp, arith::ExtFOp>(user)) {
      if (failed(addTable(linear, user->getResult(0))))
        return failure();
    } else if (isa<EmbeddingOp>(user)) {
      region.lookups.insert(user);
    } else if (user != linear || use.get() != linear.getWeight()) {
      return fail(describe(table) + " is also read by " + describe(user));
    }
  }
  return success();
}

FailureOr<ParallelRegion> RegionFinder::find(LinearOp closing) {
  if (failed(checkLinear(closing)))
    return failure();
  region.rows.insert(closing);
  if (failed(addShard(closing.getInput(),
                      tensorType(closing.getInput()).getRank() - 1)))
    return failure();
  return follow();
}

FailureOr<ParallelRegion> RegionFinder::findHead(Value logits) {
  isHead = true;
  if (failed(addShard(logits, tensorType(logits).getRank() - 1)))
    return failure();
  return follow();
}

FailureOr<ParallelRegion> RegionFinder::follow() {
  for (size_t i = 0; i < worklist.size(); ++i) {
    auto [value, dim] = worklist[i];
    if (failed(visitDefinition(value, dim)))
      return failure();
    for (OpOperand &use : value.getUses())
      if (failed(visitUse(use, dim)))
        return failure();
  }
  if (region.columns.empty())
    return fail("no linear opens the region");
  return std::move(region);
}

LogicalResult RegionFinder::addShard(Value value, int64_t dim) {
  auto [it, inserted] = region.shards.insert({value, dim});
  if (inserted)
    worklist.emplace_back(value, dim);
  else if (it->second != dim)
    return fail(describe(value) + " would be sharded on dimensions " +
                Twine(it->second) + " and " + Twine(dim));
  return success();
}

LogicalResult RegionFinder::visitDefinition(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!op || isSource(op))
    return fail(describe(value) + " comes from outside as a whole");
  auto iface = dyn_cast<LayoutOpInterface>(op);
  if (!iface)
    return fail(describe(op) + " has no layout rule");
  unsigned result = cast<OpResult>(value).getResultNumber();
  int64_t factor = iface.getLayoutRule().results[result][dim];
  if (factor == LayoutRule::kBlocked)
    return fail(describe(op) + " needs the whole of dimension " + Twine(dim));
  auto linear = dyn_cast<LinearOp>(op);
  if (linear && dim == tensorType(value).getRank() - 1) {
    if (region.rows.contains(op))
      return fail(describe(op) + " would both open and close the region");
    region.columns.insert(op);
    return checkLinear(linear);
  }
  return visitInner(op, factor);
}

LogicalResult RegionFinder::visitUse(OpOperand &use, int64_t dim) {
  Operation *op = use.getOwner();
  if (isHead && isa<func::ReturnOp>(op))
    return success();
  if (auto loss = dyn_cast<CrossEntropyOp>(op);
      loss && isHead && dim == tensorType(loss.getLogits()).getRank() - 1) {
    region.losses.insert(loss);
    return success();
  }
  auto iface = dyn_cast<LayoutOpInterface>(op);
  if (!iface)
    return fail(describe(use.get()) + " is also needed whole, by " +
                describe(op));
  int64_t factor = iface.getLayoutRule().operands[use.getOperandNumber()][dim];
  auto linear = dyn_cast<LinearOp>(op);
  if (linear && use.get() == linear.getInput() &&
      dim == tensorType(use.get()).getRank() - 1) {
    if (region.columns.contains(op))
      return fail(describe(op) + " would both open and close the region");
    if (!region.rows.insert(op))
      return success();
    return checkLinear(linear);
  }
  if (factor == LayoutRule::kBlocked)
    return fail(describe(op) + " needs the whole of dimension " + Twine(dim));
  return visitInner(op, factor);
}

LogicalResult RegionFinder::visitInner(Operation *op, int64_t factor) {
  if (!region.inner.insert(op))
    return success();
  LayoutRule rule = cast<LayoutOpInterface>(op).getLayoutRule();
  if (rule.isReduction[factor])
    return fail(describe(op) + " sums over the sharded dimension");
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    int64_t dim = rule.operandDim(operand.getOperandNumber(), factor);
    // A single key/value head is every rank's.
    bool isWhole = dim >= 0 && isa<AttentionOp>(op) &&
                   operand.getOperandNumber() > 0 &&
                   tensorType(operand.get()).getDimSize(dim) == 1;
    if (dim < 0 || isWhole)
      region.replicated.push_back(&operand);
    else if (isSource(operand.get().getDefiningOp()))
      region.sources.push_back(&operand);
    else if (failed(addShard(operand.get(), dim)))
      return failure();
  }
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
// The pass
//===----------------------------------------------------------------------===//

/// Every op that reads `extent` heads or features names them in its own words.
static LogicalResult checkDivides(Operation *op, const Twine &what,
                                  int64_t extent, StringAttr axis, int64_t size,
                                  StringRef otherFix = "") {
  if (extent % size == 0)
    return success();
  return op->emitError("") << what << ": " << extent << " is not divisible by `"
                           << axis.getValue() << "` = " << size
                           << "; choose a number of ranks that divides it"
                           << otherFix << " (C2)";
}

/// Of key/value heads and ranks, one must divide the other.
static LogicalResult checkKeyValueHeads(Operation *op, int64_t heads,
                                        StringAttr axis, int64_t size) {
  if (heads % size == 0 || size % heads == 0)
    return success();
  return op->emitError("")
         << describe(op) << " key/value heads (num_key_value_heads): " << heads
         << " is not divisible by `" << axis.getValue() << "` = " << size
         << ", nor a divisor of it; choose a number of ranks that divides it "
            "or a multiple of it (C2)";
}

/// Heads, in the words of a model's configuration. Key/value heads may be fewer
/// than ranks.
static LogicalResult checkHeads(const ParallelRegion &region, StringAttr axis,
                                int64_t size) {
  for (Operation *op : region.inner)
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      int64_t heads = tensorType(attention.getQuery()).getDimSize(2);
      int64_t kvHeads = tensorType(attention.getKey()).getDimSize(2);
      if (failed(checkDivides(
              op, describe(op) + " query heads (num_attention_heads)", heads,
              axis, size)) ||
          failed(checkKeyValueHeads(op, kvHeads, axis, size)))
        return failure();
    }
  return success();
}

/// Finds what holds key/value heads, if they are fewer than ranks: from the
/// attention's operands, everything but the attention itself.
static LogicalResult findGroups(ParallelRegion &region, int64_t size) {
  llvm::SetVector<Value> &grouped = region.grouped;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (region.shards.contains(value))
        grouped.insert(value);
  };
  for (Operation *op : region.inner) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention)
      continue;
    int64_t kvHeads = tensorType(attention.getKey()).getDimSize(2);
    if (kvHeads % size == 0 || kvHeads == 1)
      continue;
    if (region.numGroups && region.numGroups != kvHeads)
      return op->emitError("")
             << describe(op) << " has " << kvHeads
             << " key/value heads, another one in its region "
             << region.numGroups << "; of fewer heads than ranks, one number "
             << "is supported (C2)";
    region.numGroups = kvHeads;
    add({attention.getKey(), attention.getValue()});
  }
  auto refuse = [&](Operation *op) {
    return op->emitError("") << describe(op)
                             << " uses key/value heads, of which there are "
                                "fewer than ranks, together with query heads; "
                                "choose at most "
                             << region.numGroups << " ranks (C2)";
  };
  for (unsigned i = 0; i < grouped.size(); ++i) {
    Value value = grouped[i];
    SmallVector<Operation *> ops(value.getUsers());
    if (Operation *definition = value.getDefiningOp())
      ops.push_back(definition);
    for (Operation *op : ops) {
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        if (value == attention.getQuery() || value == attention.getResult())
          return refuse(op);
        continue;
      }
      if (region.rows.contains(op))
        return refuse(op);
      if (region.columns.contains(op))
        continue;
      add(op->getOperands());
      add(op->getResults());
    }
  }
  return success();
}

static LogicalResult checkDivisibility(const ParallelRegion &region,
                                       StringAttr axis, int64_t size) {
  if (failed(checkHeads(region, axis, size)))
    return failure();
  for (Value table : region.tables)
    if (failed(checkDivides(*table.user_begin(),
                            describe(table) + " vocabulary",
                            tensorType(table).getDimSize(0), axis, size,
                            ", or the replicated head")))
      return failure();
  auto getNumParts = [&](Value value) {
    return region.grouped.contains(value) ? region.numGroups : size;
  };
  for (Operation *op : region.columns) {
    Value weight = cast<LinearOp>(op).getWeight();
    if (failed(checkDivides(op, describe(weight) + " output features",
                            tensorType(weight).getDimSize(0), axis,
                            getNumParts(op->getResult(0)))))
      return failure();
  }
  for (auto [value, dim] : region.shards)
    if (failed(checkDivides(value.getDefiningOp(),
                            describe(value) + " dimension " + Twine(dim),
                            tensorType(value).getDimSize(dim), axis,
                            getNumParts(value))))
      return failure();
  return success();
}

namespace {

struct TensorParallel : sp::impl::SPTensorParallelBase<TensorParallel> {
  using SPTensorParallelBase::SPTensorParallelBase;

  void runOnOperation() override;

private:
  LogicalResult runOnFunction(func::FuncOp function, MeshOp mesh);
  LogicalResult splitAxis(MeshOp mesh, ArrayRef<ParallelRegion> regions);
  void rewrite(ParallelRegion &region, ArrayRef<StringAttr> meshAxes);
  void addCopy(OpOperand &operand, StringAttr axis,
               ArrayRef<StringAttr> meshAxes);
  AllReduceOp sumOverRanks(Value summand, ArrayRef<StringAttr> meshAxes);
  void splitLoss(CrossEntropyOp loss, ArrayRef<StringAttr> meshAxes);

  StringAttr axisName;
  /// The parts of the axis that share out key/value heads and that have the
  /// same; null unless there are fewer heads than ranks.
  StringAttr groupAxis, replicaAxis;
};

} // namespace

/// One copy per use: merging them is a choice that belongs to
/// `sp-optimize-collectives`.
void TensorParallel::addCopy(OpOperand &operand, StringAttr axis,
                             ArrayRef<StringAttr> meshAxes) {
  OpBuilder builder(operand.getOwner());
  Type type = withAxisLayout(tensorType(operand.get()), axis,
                             AxisLayout::replicate(), meshAxes);
  operand.set(CopyOp::create(builder, operand.getOwner()->getLoc(), type,
                             operand.get()));
}

/// Makes the parts of the axis that regions with fewer key/value heads than
/// ranks need.
LogicalResult TensorParallel::splitAxis(MeshOp mesh,
                                        ArrayRef<ParallelRegion> regions) {
  // Another function may have split it.
  SmallVector<StringAttr> parts = mesh.getLeafAxes();
  int64_t numGroups = parts.size() > 1 ? mesh.getAxisSize(parts.front()) : 0;
  for (const ParallelRegion &region : regions) {
    if (region.numGroups == 0)
      continue;
    if (numGroups && numGroups != region.numGroups)
      return region.inner.front()->emitError("")
             << "regions have " << numGroups << " and " << region.numGroups
             << " key/value heads, fewer than ranks; one number is supported "
                "(C2)";
    numGroups = region.numGroups;
  }
  if (numGroups == 0)
    return success();
  Builder builder(&getContext());
  groupAxis = builder.getStringAttr(axisName.getValue() + ".kv");
  replicaAxis = builder.getStringAttr(axisName.getValue() + ".rep");
  mesh.setAxisNamesAttr(
      builder.getArrayAttr({axisName, groupAxis, replicaAxis}));
  mesh.setAxisSizes({size, numGroups, size / numGroups});
  return success();
}

/// `summand` becomes partial, and its readers read the sum.
AllReduceOp TensorParallel::sumOverRanks(Value summand,
                                         ArrayRef<StringAttr> meshAxes) {
  Type whole = summand.getType();
  setAxisLayout(summand, axisName, AxisLayout::partial(), meshAxes);
  OpBuilder builder(summand.getContext());
  builder.setInsertionPointAfterValue(summand);
  auto sum = AllReduceOp::create(builder, summand.getLoc(), whole, summand);
  summand.replaceAllUsesExcept(sum, sum);
  return sum;
}

/// Each rank reduces its logits to two numbers per token, which are gathered.
/// The adjoint of that gather is a slice: nothing is sent back.
void TensorParallel::splitLoss(CrossEntropyOp loss,
                               ArrayRef<StringAttr> meshAxes) {
  OpBuilder builder(loss);
  SmallVector<int64_t> shape{size};
  llvm::append_range(shape, shapeOf(loss.getTargets()));
  shape.push_back(2);
  auto whole = RankedTensorType::get(
      shape, tensorType(loss.getLossSum()).getElementType());
  auto parts = CrossEntropyPartsOp::create(
      builder, loss.getLoc(),
      withAxisLayout(whole, axisName, AxisLayout::shard(0), meshAxes),
      loss.getLogits(), loss.getTargets(), loss.getIgnoreIndexAttr(),
      LayoutAttr());
  addCopy(parts.getTargetsMutable(), axisName, meshAxes);
  Value gathered =
      AllGatherOp::create(builder, loss.getLoc(), whole, parts.getResult());
  auto join = CrossEntropyJoinOp::create(
      builder, loss.getLoc(), loss->getResultTypes(), gathered,
      loss.getTargets(), loss.getIgnoreIndexAttr());
  loss->replaceAllUsesWith(join->getResults());
  loss->erase();
}

void TensorParallel::rewrite(ParallelRegion &region,
                             ArrayRef<StringAttr> meshAxes) {
  // Of key/value heads, a rank has those of its group ...
  auto shard = [&](Value value, int64_t dim, bool isGrouped) {
    setAxisLayout(value, isGrouped ? groupAxis : axisName,
                  AxisLayout::shard(dim), meshAxes);
  };
  // ... like its replicas, for work of its own.
  auto shardInside = [&](Value value, int64_t dim, bool isGrouped) {
    shard(value, dim, isGrouped);
    if (isGrouped)
      setAxisLayout(value, replicaAxis, AxisLayout::replicate(), meshAxes);
  };
  for (auto [value, dim] : region.shards)
    shardInside(value, dim, region.grouped.contains(value));
  for (Operation *op : region.columns) {
    auto linear = cast<LinearOp>(op);
    addCopy(linear.getInputMutable(), axisName, meshAxes);
    bool isGrouped = region.grouped.contains(linear.getResult());
    for (OpOperand &operand : llvm::drop_begin(op->getOpOperands())) {
      for (Value value : getCasts(operand.get()))
        shard(value, 0, isGrouped);
      if (isGrouped)
        addCopy(operand, replicaAxis, meshAxes);
    }
  }
  for (OpOperand *operand : region.replicated)
    addCopy(*operand, axisName, meshAxes);
  for (OpOperand *operand : region.sources) {
    Operation *owner = operand->getOwner();
    Operation *whole = operand->get().getDefiningOp();
    LayoutRule rule = cast<LayoutOpInterface>(owner).getLayoutRule();
    Value result = owner->getResult(0);
    bool isGrouped = region.grouped.contains(result);
    int64_t factor = rule.results[0][region.shards.lookup(result)];
    int64_t dim = rule.operandDim(operand->getOperandNumber(), factor);
    OpBuilder builder(owner);
    if (!isUniformSource(whole)) {
      Type type = withAxisLayout(tensorType(operand->get()),
                                 isGrouped ? groupAxis : axisName,
                                 AxisLayout::shard(dim), meshAxes);
      operand->set(
          SliceOp::create(builder, owner->getLoc(), type, operand->get()));
      if (isGrouped)
        addCopy(*operand, replicaAxis, meshAxes);
      continue;
    }
    operand->set(builder.clone(*whole)->getResult(0));
    shardInside(operand->get(), dim, isGrouped);
    if (whole->use_empty())
      whole->erase();
  }
  for (Operation *op : region.rows) {
    auto linear = cast<LinearOp>(op);
    for (Value value : getCasts(linear.getWeight()))
      shard(value, 1, /*isGrouped=*/false);
    AllReduceOp sum = sumOverRanks(linear.getResult(), meshAxes);
    // Before the reduction the bias would be added on every rank.
    if (Value bias = linear.getBias()) {
      linear.getBiasMutable().clear();
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(sum);
      auto biased =
          BiasAddOp::create(builder, op->getLoc(), sum.getType(), sum, bias);
      sum.getResult().replaceAllUsesExcept(biased, biased);
    }
  }
  for (Value table : region.tables)
    shard(table, 0, /*isGrouped=*/false);
  for (Operation *op : region.lookups) {
    addCopy(cast<EmbeddingOp>(op).getIdsMutable(), axisName, meshAxes);
    sumOverRanks(op->getResult(0), meshAxes);
  }
  for (Operation *op : region.losses)
    splitLoss(cast<CrossEntropyOp>(op), meshAxes);
  ++numRegions;
  numColumn += region.columns.size();
  numRow += region.rows.size();
}

LogicalResult TensorParallel::runOnFunction(func::FuncOp function,
                                            MeshOp mesh) {
  SmallVector<LinearOp> linears(function.getOps<LinearOp>());
  DenseSet<Operation *> assigned;
  std::vector<ParallelRegion> regions;
  llvm::MapVector<Operation *, std::string> refused;
  auto addRegion = [&](ParallelRegion &region) -> LogicalResult {
    if (failed(findGroups(region, size)) ||
        failed(checkDivisibility(region, axisName, size)))
      return failure();
    assigned.insert(region.columns.begin(), region.columns.end());
    assigned.insert(region.rows.begin(), region.rows.end());
    assigned.insert(region.losses.begin(), region.losses.end());
    regions.push_back(std::move(region));
    return success();
  };
  // Before the other regions: of two ways to shard a linear this one is asked
  // for.
  if (head == "vocab")
    for (auto loss : function.getOps<CrossEntropyOp>()) {
      if (assigned.contains(loss))
        continue;
      RegionFinder finder(assigned);
      FailureOr<ParallelRegion> region = finder.findHead(loss.getLogits());
      if (failed(region))
        refused[loss] = finder.getReason();
      else if (failed(addRegion(*region)))
        return failure();
    }
  for (LinearOp linear : linears) {
    if (assigned.contains(linear))
      continue;
    RegionFinder finder(assigned);
    FailureOr<ParallelRegion> region = finder.find(linear);
    if (failed(region)) {
      // One head cannot be told from none to shard, so the reason would
      // mislead.
      if (failed(checkHeads(finder.getRegion(), axisName, size)))
        return failure();
      refused[linear] = finder.getReason();
      continue;
    }
    if (failed(addRegion(*region)))
      return failure();
  }
  // After them: without a loss the head is a linear that nothing else shards,
  // and whose result leaves.
  if (head == "vocab")
    for (Value result : function.front().getTerminator()->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || type.getRank() == 0)
        continue;
      RegionFinder finder(assigned);
      FailureOr<ParallelRegion> region = finder.findHead(result);
      if (succeeded(region)) {
        if (failed(addRegion(*region)))
          return failure();
        continue;
      }
      for (Operation *op : finder.getRegion().columns)
        refused[op] = finder.getReason();
    }
  if (failed(splitAxis(mesh, regions)))
    return failure();
  SmallVector<StringAttr> meshAxes = mesh.getAxes();
  for (ParallelRegion &region : regions)
    rewrite(region, meshAxes);
  updateSignature(function);

  emitRemark(getNameLoc(function))
      << "tensor parallel along `" << axisName.getValue()
      << "` = " << mesh.getAxisSize(axisName) << ": " << regions.size()
      << " regions, "
      << llvm::count_if(linears,
                        [&](LinearOp op) { return assigned.contains(op); })
      << " of " << linears.size() << " linears sharded";
  for (auto &[op, why] : refused)
    if (!assigned.contains(op))
      emitRemark(op->getLoc()) << describe(op) << " stays whole: " << why;
  return success();
}

void TensorParallel::runOnOperation() {
  ModuleOp module = getOperation();
  if (size < 1) {
    emitError(module.getLoc())
        << "sp-tensor-parallel: tp is " << static_cast<int64_t>(size)
        << ", must be at least 1 (C3)";
    return signalPassFailure();
  }
  if (head != "replicated" && head != "vocab") {
    emitError(module.getLoc())
        << "sp-tensor-parallel: head is `" << head.getValue()
        << "`, must be replicated or vocab (C4)";
    return signalPassFailure();
  }
  if (MeshOp mesh = MeshOp::lookup(module)) {
    mesh.emitError(
        "the module already has a mesh; sp-tensor-parallel starts from "
        "an unsharded program (C1)");
    return signalPassFailure();
  }
  axisName = StringAttr::get(&getContext(), axis);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto mesh = MeshOp::create(
      builder, module.getLoc(), "mesh", builder.getArrayAttr({axisName}),
      builder.getDenseI64ArrayAttr({static_cast<int64_t>(size)}));
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && failed(runOnFunction(function, mesh)))
      return signalPassFailure();
}
