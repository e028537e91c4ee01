//===- TensorParallel.cpp - shards projections and what lies between ------===//

#include "LayoutUtils.h"
#include "ParallelRegion.h"
#include "StraightLine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "sp/Dialect/LinalgReductions.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPTENSORPARALLEL
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

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
  for (auto [op, factor] : region.ops)
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
  for (auto [op, factor] : region.ops) {
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
      add(op->getOperands());
      add(op->getResults());
    }
  }
  return success();
}

/// Finds what makes a single key/value head of what enters the region: linears
/// of it, and what is between them and the attention. Outside of the region,
/// the head would be gathered and its cotangent summed on their own.
static void findRepeated(ParallelRegion &region,
                         const DenseSet<Operation *> &assigned) {
  llvm::SmallDenseSet<Value> entering;
  for (Operation *op : region.columns)
    entering.insert(op->getOperand(Projection::match(op)->activation));
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  auto isLeaf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !isTensor(value.getType()) || entering.contains(value) ||
           findParameter(value) || isUniformSource(op) ||
           (op && llvm::none_of(op->getOperandTypes(), isTensor));
  };
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> worklist;
  for (OpOperand *operand : region.replicated)
    if (isa<AttentionOp>(operand->getOwner()))
      worklist.push_back(operand->get());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (isLeaf(value) || ops.contains(op))
      continue;
    if (!op || !isa<LayoutOpInterface>(op) || !isPure(op) ||
        assigned.contains(op) || region.ops.contains(op))
      return;
    if (auto projection = Projection::match(op);
        isContraction(op) &&
        !(projection && projection->parameter &&
          entering.contains(op->getOperand(projection->activation))))
      return;
    ops.insert(op);
    llvm::append_range(worklist, op->getOperands());
  }
  for (Operation *op : ops)
    for (OpOperand &use : op->getUses())
      if (!ops.contains(use.getOwner()) &&
          !llvm::is_contained(region.replicated, &use))
        return;
  llvm::erase_if(region.replicated, [&](OpOperand *operand) {
    return ops.contains(operand->get().getDefiningOp());
  });
  region.repeated = std::move(ops);
}

static bool divides(const ParallelRegion &region, int64_t size) {
  return llvm::all_of(region.shards, [&](const auto &shard) {
    return shapeOf(shard.first)[shard.second] % size == 0;
  });
}

static LogicalResult checkDivisibility(const ParallelRegion &region,
                                       StringAttr axis, int64_t size) {
  if (failed(checkHeads(region, axis, size)))
    return failure();
  auto getNumParts = [&](Value value) {
    return region.grouped.contains(value) ? region.numGroups : size;
  };
  for (Operation *op : region.columns) {
    auto projection = *Projection::match(op);
    int64_t dim =
        projection.rule.operandDim(projection.weight, region.ops.lookup(op));
    if (failed(checkDivides(
            op,
            describe(projection.parameter) +
                (region.isHead ? " vocabulary" : " output features"),
            shapeOf(op->getOperand(projection.weight))[dim], axis,
            getNumParts(op->getResult(0)),
            region.isHead ? ", or the replicated head" : "")))
      return failure();
  }
  for (auto [value, dim] : region.shards) {
    Operation *op = value.getDefiningOp();
    if (failed(checkDivides(op ? op : *value.user_begin(),
                            describe(value) + " dimension " + Twine(dim),
                            shapeOf(value)[dim], axis, getNumParts(value))))
      return failure();
  }
  return success();
}

namespace {

struct TensorParallel : sp::impl::SPTensorParallelBase<TensorParallel> {
  using SPTensorParallelBase::SPTensorParallelBase;

  void runOnOperation() override;

private:
  LogicalResult runOnFunction(func::FuncOp function, MeshOp mesh);
  LogicalResult splitAxis(MeshOp mesh);
  LogicalResult addRegion(ParallelRegion &region);
  FailureOr<std::optional<ParallelRegion>> findRegion(Operation *closing);
  LogicalResult findRegions(ArrayRef<Operation *> projections);
  LogicalResult findLossRegions(func::FuncOp function);
  LogicalResult findResultRegions(func::FuncOp function);
  void rewrite(ParallelRegion &region, ArrayRef<StringAttr> meshAxes);
  void close(Operation *row, ArrayRef<StringAttr> meshAxes);
  void addCopy(OpOperand &operand, StringAttr axis,
               ArrayRef<StringAttr> meshAxes);
  void addReplica(OpOperand &operand, ArrayRef<StringAttr> meshAxes);
  void splitLoss(CrossEntropyOp loss, ArrayRef<StringAttr> meshAxes);

  StringAttr axisName;
  /// The parts of the axis that share out key/value heads and that have the
  /// same; null unless there are fewer heads than ranks.
  StringAttr groupAxis, replicaAxis;

  /// Of the function at hand: what is found; what belongs to it; which of that
  /// opens or closes a region; what cannot, and why.
  std::vector<ParallelRegion> regions;
  DenseSet<Operation *> assigned, ends;
  llvm::MapVector<Operation *, std::string> refused;
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

/// The same, or, of what needs no copy to be there, another one.
void TensorParallel::addReplica(OpOperand &operand,
                                ArrayRef<StringAttr> meshAxes) {
  Operation *source = operand.get().getDefiningOp();
  if (!isa<RankedTensorType>(operand.get().getType()))
    return;
  if (!isUniformSource(source))
    return addCopy(operand, axisName, meshAxes);
  OpBuilder builder(operand.getOwner());
  operand.set(cloneSource(builder, source,
                          withAxisLayout(tensorType(operand.get()), axisName,
                                         AxisLayout::replicate(), meshAxes)));
  eraseUnusedSource(source);
}

/// Makes the parts of the axis that regions with fewer key/value heads than
/// ranks need.
LogicalResult TensorParallel::splitAxis(MeshOp mesh) {
  // Another function may have split it.
  SmallVector<StringAttr> parts = mesh.getLeafAxes();
  int64_t numGroups = parts.size() > 1 ? mesh.getAxisSize(parts.front()) : 0;
  for (const ParallelRegion &region : regions) {
    if (region.numGroups == 0)
      continue;
    if (numGroups && numGroups != region.numGroups)
      return region.ops.front().first->emitError("")
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

/// Sums the product over the ranks. What is added to it comes behind the sum:
/// before, it would be added once per rank.
void TensorParallel::close(Operation *row, ArrayRef<StringAttr> meshAxes) {
  AllReduceOp sum = sumOverRanks(row->getResult(0), axisName, meshAxes);
  Location loc = row->getLoc();
  OpBuilder builder(row->getContext());
  builder.setInsertionPointAfter(sum);
  Value whole;
  if (auto linear = dyn_cast<LinearOp>(row)) {
    Value bias = linear.getBias();
    if (!bias)
      return;
    linear.getBiasMutable().clear();
    whole = BiasAddOp::create(builder, loc, sum.getType(), sum, bias);
  } else {
    OpOperand *init = cast<linalg::LinalgOp>(row).getDpsInitOperand(0);
    Value added = init->get();
    Operation *source = added.getDefiningOp();
    RankedTensorType partial = tensorType(row->getResult(0));
    OpBuilder before(row);
    if (isZeroSource(source)) {
      init->set(cloneSource(before, source, partial));
      eraseUnusedSource(source);
      return;
    }
    init->set(arith::ConstantOp::create(
        before, loc, cast<TypedAttr>(before.getZeroAttr(partial))));
    whole = arith::AddFOp::create(builder, loc, sum, added);
  }
  sum.getResult().replaceAllUsesExcept(whole, whole.getDefiningOp());
}

void TensorParallel::rewrite(ParallelRegion &region,
                             ArrayRef<StringAttr> meshAxes) {
  // Of key/value heads, a rank has those of its group: parameters as they are,
  // the same for all ranks of the group, the rest for work of its own. Copies
  // are between the two.
  auto getType = [&](Value value, int64_t dim, bool isGrouped,
                     bool isParameter) {
    RankedTensorType type =
        withAxisLayout(tensorType(value), isGrouped ? groupAxis : axisName,
                       AxisLayout::shard(dim), meshAxes);
    return isGrouped && !isParameter
               ? withAxisLayout(type, replicaAxis, AxisLayout::replicate(),
                                meshAxes)
               : type;
  };
  // What is made from a whole parameter is made of a copy, inside.
  auto isParameter = [&](Value value) {
    BlockArgument parameter = findParameter(value);
    return parameter && region.shards.contains(parameter);
  };
  SmallVector<OpOperand *> borders;
  for (auto [op, factor] : region.ops)
    for (OpOperand &operand : op->getOpOperands())
      if (region.grouped.contains(operand.get()) &&
          isParameter(operand.get()) && !isa<AttentionOp>(op) &&
          !isParameter(op->getResult(0)))
        borders.push_back(&operand);
  SmallVector<std::pair<Value, RankedTensorType>> types;
  for (auto [value, dim] : region.shards)
    types.emplace_back(value,
                       getType(value, dim, region.grouped.contains(value),
                               isParameter(value)));
  for (auto [value, type] : types)
    value.setType(type);
  for (OpOperand *operand : region.replicated)
    addCopy(*operand, axisName, meshAxes);
  for (Operation *op : region.repeated) {
    for (OpOperand &operand : op->getOpOperands())
      if (!region.repeated.contains(operand.get().getDefiningOp()))
        addReplica(operand, meshAxes);
    for (Value result : op->getResults())
      setAxisLayout(result, axisName, AxisLayout::replicate(), meshAxes);
  }
  for (OpOperand *operand : borders)
    addCopy(*operand, replicaAxis, meshAxes);
  for (OpOperand *operand : region.sources) {
    Operation *op = operand->getOwner(),
              *whole = operand->get().getDefiningOp();
    bool isGrouped = region.grouped.contains(op->getResult(0));
    int64_t dim = getRegionRule(op).operandDim(operand->getOperandNumber(),
                                               region.ops.lookup(op));
    OpBuilder builder(op);
    if (!isUniformSource(whole)) {
      operand->set(SliceOp::create(
          builder, op->getLoc(),
          getType(operand->get(), dim, isGrouped, /*isParameter=*/true),
          operand->get()));
      if (isGrouped)
        addCopy(*operand, replicaAxis, meshAxes);
      continue;
    }
    operand->set(cloneSource(builder, whole,
                             getType(operand->get(), dim, isGrouped,
                                     isParameter(op->getResult(0)))));
    eraseUnusedSource(whole);
  }
  for (Operation *op : region.rows)
    close(op, meshAxes);
  for (Operation *op : region.lookups)
    sumOverRanks(op->getResult(0), axisName, meshAxes);
  for (Operation *op : region.losses)
    splitLoss(cast<CrossEntropyOp>(op), meshAxes);
  ++numRegions;
  numColumn += region.columns.size();
  numRow += region.rows.size();
}

LogicalResult TensorParallel::addRegion(ParallelRegion &region) {
  if (failed(findGroups(region, size)) ||
      failed(checkDivisibility(region, axisName, size)))
    return failure();
  for (auto [op, factor] : region.ops)
    assigned.insert(op);
  findRepeated(region, assigned);
  for (Operation *op : region.repeated) {
    assigned.insert(op);
    if (Projection::match(op))
      refused[op] = "a single key/value head is every rank's";
  }
  for (const auto *found : {&region.columns, &region.rows, &region.losses})
    ends.insert(found->begin(), found->end());
  regions.push_back(std::move(region));
  return success();
}

/// Of the dimensions that `closing` sums over, heads and their elements may be
/// two: takes the first that divides, or else the first of which it can be said
/// that it does not. None if no region can be closed; an error if that is the
/// wrong thing to say.
FailureOr<std::optional<ParallelRegion>>
TensorParallel::findRegion(Operation *closing) {
  Projection projection = *Projection::match(closing);
  std::optional<ParallelRegion> first;
  for (int64_t factor : projection.rule.operands[projection.activation]) {
    if (factor == LayoutRule::kBlocked || !projection.rule.isReduction[factor])
      continue;
    RegionFinder finder(assigned);
    FailureOr<ParallelRegion> region = finder.find(closing, factor);
    if (failed(region)) {
      // One head cannot be told from none to shard, so the reason would
      // mislead.
      if (failed(checkHeads(finder.getRegion(), axisName, size)))
        return failure();
      refused.insert({closing, finder.getReason()});
      continue;
    }
    if (divides(*region, size))
      return std::optional(std::move(*region));
    if (!first)
      first = std::move(*region);
  }
  return first;
}

LogicalResult TensorParallel::findRegions(ArrayRef<Operation *> projections) {
  std::vector<ParallelRegion> candidates;
  DenseSet<Operation *> closed;
  for (Operation *op : projections) {
    if (ends.contains(op) || closed.contains(op))
      continue;
    auto region = findRegion(op);
    if (failed(region))
      return failure();
    if (!*region)
      continue;
    closed.insert((*region)->rows.begin(), (*region)->rows.end());
    candidates.push_back(std::move(**region));
  }
  for (ParallelRegion &region : chooseRegions(std::move(candidates)))
    if (failed(addRegion(region)))
      return failure();
  // What was not chosen may close another region, or says why it cannot.
  for (Operation *op : projections) {
    if (ends.contains(op))
      continue;
    auto region = findRegion(op);
    if (failed(region) || (*region && failed(addRegion(**region))))
      return failure();
  }
  return success();
}

LogicalResult TensorParallel::findLossRegions(func::FuncOp function) {
  for (auto loss : function.getOps<CrossEntropyOp>()) {
    if (ends.contains(loss))
      continue;
    RegionFinder finder(assigned);
    FailureOr<ParallelRegion> region = finder.findHead(loss.getLogits());
    if (failed(region))
      refused[loss] = finder.getReason();
    else if (failed(addRegion(*region)))
      return failure();
  }
  return success();
}

LogicalResult TensorParallel::findResultRegions(func::FuncOp function) {
  for (Value result : function.front().getTerminator()->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type.getRank() == 0)
      continue;
    RegionFinder finder(assigned);
    FailureOr<ParallelRegion> region = finder.findHead(result);
    if (failed(region))
      for (Operation *op : finder.getRegion().columns)
        refused[op] = finder.getReason();
    else if (failed(addRegion(*region)))
      return failure();
  }
  return success();
}

LogicalResult TensorParallel::runOnFunction(func::FuncOp function,
                                            MeshOp mesh) {
  regions.clear();
  assigned.clear();
  ends.clear();
  refused.clear();
  SmallVector<Operation *> projections;
  for (Operation &op : function.front())
    if (Projection::match(&op))
      projections.push_back(&op);
  // Of two ways to shard a linear the head's is the one that is asked for.
  if (head == "vocab" && failed(findLossRegions(function)))
    return failure();
  if (failed(findRegions(projections)))
    return failure();
  // Without a loss the head is a linear that nothing else shards, and whose
  // result leaves.
  if (head == "vocab" && failed(findResultRegions(function)))
    return failure();
  if (failed(splitAxis(mesh)))
    return failure();
  SmallVector<StringAttr> meshAxes = mesh.getAxes();
  for (ParallelRegion &region : regions)
    rewrite(region, meshAxes);
  updateSignature(function);

  emitRemark(getNameLoc(function))
      << "tensor parallel along `" << axisName.getValue()
      << "` = " << mesh.getAxisSize(axisName) << ": " << regions.size()
      << " regions, "
      << llvm::count_if(projections,
                        [&](Operation *op) { return ends.contains(op); })
      << " of " << projections.size() << " linears sharded";
  for (auto &[op, why] : refused)
    if (!ends.contains(op))
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
  if (axis.empty()) {
    emitError(module.getLoc())
        << "sp-tensor-parallel: axis is empty; a mesh axis needs a name (C3)";
    return signalPassFailure();
  }
  if (failed(verifyStraightLine(module, "sp-tensor-parallel", "C5")))
    return signalPassFailure();
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
