//===- LinalgAdjoint.cpp - adjoints of linalg ops -------------------------===//
//
// The adjoint of a `linalg` op is another one, over the same loops, whose body
// is the adjoint of its body. What an operand does not have of the loops is
// then summed: by `sp.sum_leading`, or in the op itself if it is a contraction,
// which would otherwise be as large as all its loops.
//
//===----------------------------------------------------------------------===//

#include "LinalgAdjoint.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "sp/Dialect/LinalgReductions.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sp;

namespace {

class LinalgAdjoint {
public:
  LinalgAdjoint(linalg::LinalgOp op, AdjointEmitter &adjoint)
      : op(op), adjoint(adjoint), b(adjoint.b) {}

  LogicalResult emit();

private:
  LogicalResult check();
  /// What the op contributes to the cotangent of one operand.
  LogicalResult emitFor(OpOperand &operand, BlockArgument argument);
  LogicalResult emitForFactor(OpOperand &operand);
  RankedTensorType getContributionType(OpOperand &operand, AffineMap map);

  /// A maximum or minimum along the reduction loops.
  bool isExtremum() { return op.getNumReductionLoops() > 0 && !isSum(op); }
  Value countExtrema(OpResult result, OpOperand &operand);

  linalg::LinalgOp op;
  AdjointEmitter &adjoint;
  ImplicitLocOpBuilder &b;
};

} // namespace

/// The operand that the op takes the maximum or minimum of; null if it takes it
/// of something that it computes, which might be equal only until it is
/// rounded.
static OpOperand *getExtremumOperand(linalg::LinalgOp op, unsigned result) {
  auto reduction = getReduction(op, result);
  if (!reduction || !isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
                         arith::MinNumFOp>(reduction->combiner))
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingBlockArgument(input) == reduction->element)
      return input;
  return nullptr;
}

LogicalResult LinalgAdjoint::check() {
  if (!op.hasPureTensorSemantics())
    return op->emitOpError("works on buffers; only tensors have adjoints (C2)");
  if (op.getNumParallelLoops() + op.getNumReductionLoops() != op.getNumLoops())
    return op->emitOpError("has loops that are neither parallel nor "
                           "reductions; it has no adjoint (C2)");
  for (OpResult result : op->getResults()) {
    AffineMap map = op.getIndexingMapMatchingResult(result);
    if (!map.isProjectedPermutation() ||
        map.getNumResults() != op.getNumParallelLoops())
      return op->emitOpError("has a result map that is no permutation of the "
                             "parallel loops (C2)");
    if (isExtremum() && !getExtremumOperand(op, result.getResultNumber()))
      return op->emitOpError("result #")
             << result.getResultNumber()
             << " is a reduction other than a sum, or the maximum or minimum "
                "of an operand; it has no adjoint (C2)";
  }
  return success();
}

/// `map` has all loops. The contribution is sharded where a loop is; along
/// other axes it is as the cotangent that it is for.
RankedTensorType LinalgAdjoint::getContributionType(OpOperand &operand,
                                                    AffineMap map) {
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<int64_t> shape;
  for (AffineExpr expr : map.getResults())
    shape.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
  auto wanted = cast<RankedTensorType>(
      adjoint.getCotangentType(operand.getOperandNumber()));
  auto type = RankedTensorType::get(shape, wanted.getElementType());
  MeshOp mesh = MeshOp::lookup(op->getParentOfType<ModuleOp>());
  if (!mesh)
    return type;
  SmallVector<StringAttr> axes = mesh.getAxes();
  for (StringAttr axis : axes) {
    AxisLayout layout = getAxisLayout(wanted, axis);
    for (OpOperand &other : op->getOpOperands()) {
      AxisLayout own = getAxisLayout(other.get().getType(), axis);
      if (!own.isShard())
        continue;
      AffineExpr loop = op.getMatchingIndexingMap(&other).getResult(own.dim);
      layout = AxisLayout::shard(*map.getResultPosition(loop));
    }
    type = withAxisLayout(type, axis, layout, axes);
  }
  return type;
}

/// By how many elements the extremum is shared: each gets its part of the
/// cotangent.
Value LinalgAdjoint::countExtrema(OpResult result, OpOperand &operand) {
  RankedTensorType type = tensorType(result);
  AffineMap resultMap = op.getIndexingMapMatchingResult(result);
  auto count = [](OpBuilder &inner, Location loc, ValueRange in) {
    Value equal = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ,
                                        in[0], in[1]);
    Value one = arith::UIToFPOp::create(inner, loc, in[2].getType(), equal);
    linalg::YieldOp::create(
        inner, loc, Value(arith::AddFOp::create(inner, loc, in[2], one)));
  };
  return linalg::GenericOp::create(
             b, TypeRange(type), ValueRange{operand.get(), result},
             ValueRange(createSplat(b, type, 0)),
             {op.getMatchingIndexingMap(&operand), resultMap, resultMap},
             op.getIteratorTypesArray(), count)
      .getResult(0);
}

/// The cotangent times the other factor, summed over the loops that the operand
/// does not have.
LogicalResult LinalgAdjoint::emitForFactor(OpOperand &operand) {
  unsigned number = operand.getOperandNumber();
  OpOperand &other = op->getOpOperand(1 - number);
  auto type = cast<RankedTensorType>(adjoint.getCotangentType(number));
  Value cotangent = adjoint.getCotangent();
  for (Value value : {other.get(), cotangent})
    if (tensorType(value).getElementType() != type.getElementType())
      return op->emitOpError("operand #")
             << number << " is of " << type.getElementType()
             << " in a product with " << tensorType(value).getElementType()
             << "; it has no adjoint (C2)";
  AffineMap own = op.getMatchingIndexingMap(&operand);
  SmallVector<utils::IteratorType> iterators;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    iterators.push_back(own.isFunctionOfDim(loop)
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  auto multiply = [](OpBuilder &inner, Location loc, ValueRange in) {
    Value product = arith::MulFOp::create(inner, loc, in[0], in[1]);
    linalg::YieldOp::create(
        inner, loc, Value(arith::AddFOp::create(inner, loc, in[2], product)));
  };
  adjoint.add(number,
              linalg::GenericOp::create(
                  b, TypeRange(type), ValueRange{cotangent, other.get()},
                  ValueRange(createSplat(b, type, 0)),
                  {op.getIndexingMapMatchingResult(op->getResult(0)),
                   op.getMatchingIndexingMap(&other), own},
                  iterators, multiply)
                  .getResult(0));
  return success();
}

LogicalResult LinalgAdjoint::emitFor(OpOperand &operand,
                                     BlockArgument argument) {
  unsigned number = operand.getOperandNumber();
  AffineMap own = op.getMatchingIndexingMap(&operand);
  if (!own.isProjectedPermutation(/*allowZeroInResults=*/false))
    return op->emitOpError("operand #")
           << number << " has a map that is no projected permutation; it has "
           << "no adjoint (C2)";

  // The loops that the operand does not have come first.
  SmallVector<AffineExpr> results;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (!own.isFunctionOfDim(loop))
      results.push_back(b.getAffineDimExpr(loop));
  int64_t numMissing = results.size();
  llvm::append_range(results, own.getResults());
  AffineMap map = AffineMap::get(op.getNumLoops(), 0, results, b.getContext());

  // The results' cotangents, then what the body reads. What a reduction has so
  // far is no part of its derivative.
  Block &body = op->getRegion(0).front();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto addInput = [&](Value value, AffineMap map) {
    inputs.push_back(value);
    maps.push_back(map);
    return inputs.size() - 1;
  };
  struct Seed {
    /// In the body, what the cotangent is of.
    Value value;
    /// Numbers of inputs: the last two are for extrema.
    unsigned cotangent, result, count;
  };
  SmallVector<Seed> seeds;
  llvm::SmallPtrSet<Operation *, 2> combiners;
  for (OpResult result : op->getResults()) {
    unsigned i = result.getResultNumber();
    auto reduction = getReduction(op, i);
    if (reduction)
      combiners.insert(reduction->combiner);
    Value cotangent = adjoint.getCotangent(i);
    if (!cotangent || (isExtremum() && getExtremumOperand(op, i) != &operand))
      continue;
    AffineMap map = op.getIndexingMapMatchingResult(result);
    Seed seed{reduction ? reduction->element
                        : body.getTerminator()->getOperand(i),
              static_cast<unsigned>(addInput(cotangent, map)), 0, 0};
    if (isExtremum()) {
      seed.result = addInput(result, map);
      seed.count = addInput(countExtrema(result, operand), map);
    }
    seeds.push_back(seed);
  }
  if (seeds.empty())
    return success();
  SmallVector<std::pair<BlockArgument, unsigned>> reads;
  for (OpOperand &other : op->getOpOperands()) {
    if (other.getOperandNumber() >= body.getNumArguments() ||
        (!combiners.empty() && op.isDpsInit(&other)))
      continue;
    BlockArgument inBody = op.getMatchingBlockArgument(&other);
    reads.emplace_back(inBody, inputs.size());
    inputs.push_back(other.get());
    maps.push_back(op.getMatchingIndexingMap(&other));
  }
  RankedTensorType type = getContributionType(operand, map);
  Value init = tensor::EmptyOp::create(b, type, ValueRange());
  maps.push_back(map);

  LogicalResult status = success();
  auto fill = [&](OpBuilder &inner, Location loc, ValueRange arguments) {
    IRMapping mapping;
    Value wanted;
    for (auto [inBody, position] : reads) {
      mapping.map(inBody, arguments[position]);
      if (inBody == argument)
        wanted = arguments[position];
    }
    SmallVector<Operation *> ops;
    for (Operation &scalarOp : body.without_terminator())
      if (!combiners.contains(&scalarOp))
        ops.push_back(inner.clone(scalarOp, mapping));
    DenseSet<Value> varied = findVaried(*inner.getInsertionBlock(), wanted);
    ReverseSweep sweep(inner, varied);
    for (const Seed &seed : seeds) {
      Value value = mapping.lookupOrDefault(seed.value);
      Value cotangent = arguments[seed.cotangent];
      if (isExtremum()) {
        Value equal =
            arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ, value,
                                  arguments[seed.result]);
        Value part =
            arith::DivFOp::create(inner, loc, cotangent, arguments[seed.count]);
        ImplicitLocOpBuilder implicit(loc, inner);
        cotangent = arith::SelectOp::create(
            inner, loc, equal, part, createSplat(implicit, part.getType(), 0));
      }
      sweep.add(value, cotangent, loc);
    }
    status = sweep.run(ops);
    Value sum = sweep.get(wanted);
    ImplicitLocOpBuilder implicit(loc, inner);
    if (!sum)
      sum = createSplat(implicit, wanted.getType(), 0);
    linalg::YieldOp::create(inner, loc, sum);
  };
  SmallVector<utils::IteratorType> iterators(op.getNumLoops(),
                                             utils::IteratorType::parallel);
  Value contribution =
      linalg::GenericOp::create(b, TypeRange(type), inputs, ValueRange(init),
                                maps, iterators, fill)
          .getResult(0);
  if (failed(status))
    return failure();
  if (numMissing > 0)
    contribution = SumLeadingOp::create(b, adjoint.getCotangentType(number),
                                        contribution, numMissing);
  adjoint.add(number, contribution);
  return success();
}

LogicalResult LinalgAdjoint::emit() {
  if (failed(check()))
    return failure();
  Block &body = op->getRegion(0).front();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!adjoint.isNeeded(operand.getOperandNumber()) ||
        operand.getOperandNumber() >= body.getNumArguments())
      continue;
    if (!isa<RankedTensorType>(operand.get().getType()))
      return op->emitOpError("operand #")
             << operand.getOperandNumber() << " is a scalar; it has no adjoint "
             << "(C2)";
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (op.getNumReductionLoops() > 0 && op.isDpsInit(&operand)) {
      if (isExtremum())
        return op->emitOpError("operand #")
               << operand.getOperandNumber()
               << " is what a maximum or minimum starts from; it has no "
                  "adjoint (C2)";
      unsigned result = operand.getOperandNumber() - op.getNumDpsInputs();
      if (Value cotangent = adjoint.getCotangent(result))
        adjoint.add(operand.getOperandNumber(), cotangent);
      continue;
    }
    if (failed(isContraction(op) ? emitForFactor(operand)
                                 : emitFor(operand, argument)))
      return failure();
  }
  // A scalar that the body reads from outside.
  WalkResult result = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    for (Value operand : inner->getOperands())
      if (operand.getParentRegion() != &op->getRegion(0) &&
          adjoint.isVaried(operand)) {
        op->emitOpError("reads a value from outside its body that the "
                        "gradient passes through; it has no adjoint (C2)");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult sp::emitLinalgAdjoint(linalg::LinalgOp op,
                                    AdjointEmitter &adjoint) {
  return LinalgAdjoint(op, adjoint).emit();
}
