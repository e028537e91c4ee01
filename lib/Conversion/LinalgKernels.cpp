//===- LinalgKernels.cpp - linalg ops become row kernels ------------------===//
//
// An elementwise op has the rows and columns of its result. One that reduces
// has a row for each element of its result, and what is reduced as columns.
//
//===----------------------------------------------------------------------===//

#include "LinalgKernels.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "sp/Dialect/LinalgReductions.h"
#include <limits>

using namespace mlir;
using namespace sp;

namespace {

/// The loops of a linalg op as rows and columns: the digits of each, outermost
/// first.
class LoopDigits {
public:
  LoopDigits(const KernelBuilder &kernel, linalg::LinalgOp op,
             ArrayRef<int64_t> rows, ArrayRef<int64_t> cols)
      : extents(op.getStaticLoopRanges()),
        digits{llvm::to_vector(rows), llvm::to_vector(cols)},
        numbers{kernel.row, kernel.col} {}

  /// The linear offset of `map`'s point in a tensor of `shape`.
  AffineExpr getOffset(AffineMap map, ArrayRef<int64_t> shape) const;

private:
  /// The number that the digits [begin, end) of the row or column make.
  AffineExpr getNumber(unsigned which, unsigned begin, unsigned end) const;
  /// Of a loop: row (0) or column (1), and which digit.
  std::pair<unsigned, unsigned> find(unsigned loop) const;

  SmallVector<int64_t> extents;
  SmallVector<int64_t> digits[2];
  AffineExpr numbers[2];
};

} // namespace

AffineExpr LoopDigits::getNumber(unsigned which, unsigned begin,
                                 unsigned end) const {
  int64_t stride = 1, extent = 1;
  for (int64_t loop : ArrayRef(digits[which]).drop_front(end))
    stride *= extents[loop];
  for (int64_t loop : ArrayRef(digits[which]).slice(begin, end - begin))
    extent *= extents[loop];
  AffineExpr number = numbers[which].floorDiv(stride);
  return begin == 0 ? number : number % extent;
}

std::pair<unsigned, unsigned> LoopDigits::find(unsigned loop) const {
  for (unsigned which : {0, 1}) {
    auto *it = llvm::find(digits[which], static_cast<int64_t>(loop));
    if (it != digits[which].end())
      return {which, it - digits[which].begin()};
  }
  llvm_unreachable("every loop is a digit of the row or the column");
}

AffineExpr LoopDigits::getOffset(AffineMap map, ArrayRef<int64_t> shape) const {
  AffineExpr offset = getAffineConstantExpr(0, map.getContext());
  for (unsigned i = 0, e = shape.size(); i < e;) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(i));
    if (!dim) {
      SmallVector<AffineExpr> positions;
      for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
        auto [which, digit] = find(loop);
        positions.push_back(getNumber(which, digit, digit + 1));
      }
      offset = offset * shape[i] + map.getResult(i).replaceDims(positions);
      ++i;
      continue;
    }
    // Digits that follow each other are one number, so that a kernel that reads
    // what another one stored says so in the same words.
    auto [which, begin] = find(dim.getPosition());
    unsigned end = begin;
    int64_t extent = 1;
    while (i < e && end < digits[which].size() &&
           map.getResult(i) ==
               getAffineDimExpr(digits[which][end], map.getContext())) {
      extent *= shape[i++];
      ++end;
    }
    offset = offset * extent + getNumber(which, begin, end);
  }
  return offset;
}

static SmallVector<int64_t> getLoops(AffineMap map) {
  SmallVector<int64_t> loops;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    loops.push_back(map.getDimPosition(i));
  return loops;
}

static std::optional<ReduceKind> getReduceKind(Operation *combiner) {
  if (isa<arith::AddFOp>(combiner))
    return ReduceKind::Sum;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
          arith::MinNumFOp>(combiner))
    return ReduceKind::Max;
  return std::nullopt;
}

/// `element` combined over the row, then with `init`, as `combiner` does.
static Value createReduction(ImplicitLocOpBuilder &b, Operation *combiner,
                             Value element, Value init) {
  Type type = element.getType();
  bool negates = isa<arith::MinimumFOp, arith::MinNumFOp>(combiner);
  if (negates)
    element = arith::NegFOp::create(b, element);
  // The row's maximum of NaN is NaN.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner)) {
    Value isNaN =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, element, element);
    Value least =
        createFloat(b, type, -std::numeric_limits<double>::infinity());
    element = arith::SelectOp::create(b, isNaN, least, element);
  }
  Value reduced =
      RowReduceOp::create(b, type, *getReduceKind(combiner), element);
  if (negates)
    reduced = arith::NegFOp::create(b, reduced);
  SmallVector<Value> operands{init, reduced};
  return cloneScalar(b, combiner, operands).front();
}

/// The constant that a value of the body is, if it is one; or null.
static TypedAttr getBodyScalar(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return getScalar(value);
  // Of `linalg.map`, the init has no argument.
  return getScalar(op->getOperand(argument.getArgNumber()));
}

/// C2.
static LogicalResult verifyLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return op->emitOpError("works on buffers (C2)");
  AffineMap outputMap = op.getIndexingMapMatchingResult(op->getOpResult(0));
  if (!outputMap.isProjectedPermutation() ||
      outputMap.getNumResults() != op.getNumParallelLoops())
    return op->emitOpError("result map is not a permutation of the parallel "
                           "loops (C2)");
  for (OpResult result : op->getResults())
    if (op.getIndexingMapMatchingResult(result) != outputMap)
      return op->emitOpError("has results of different maps (C2)");
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    if (!OpTrait::hasElementwiseMappableTraits(&inner) &&
        !inner.hasTrait<OpTrait::ConstantLike>())
      return inner.emitOpError("is not a scalar op (C2)");
    if (inner.getNumOperands() == 2 &&
        failed(verifyDivision(&inner, getBodyScalar(op, inner.getOperand(1)))))
      return failure();
  }
  if (op.getNumReductionLoops() == 0)
    return success();
  if (op.getNumParallelLoops() + op.getNumReductionLoops() != op.getNumLoops())
    return op->emitOpError("has loops that are neither parallel nor "
                           "reductions (C2)");
  for (OpResult result : op->getResults()) {
    auto reduction = getReduction(op, result.getResultNumber());
    if (!reduction || !getReduceKind(reduction->combiner))
      return op->emitOpError("result #")
             << result.getResultNumber()
             << " is a reduction other than a sum, a maximum or a minimum of "
                "floating point numbers (C2)";
  }
  return success();
}

FailureOr<RowKernelOp> sp::formLinalgKernel(linalg::LinalgOp op) {
  if (failed(verifyLinalg(op)))
    return failure();
  Block &body = op->getRegion(0).front();
  AffineMap outputMap = op.getIndexingMapMatchingResult(op->getOpResult(0));
  bool reduces = op.getNumReductionLoops() > 0;
  SmallVector<int64_t> rows = getLoops(outputMap), cols;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      cols.push_back(loop);
  if (!reduces && !rows.empty())
    cols.push_back(rows.pop_back_val());
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto count = [&](ArrayRef<int64_t> loops) {
    int64_t size = 1;
    for (int64_t loop : loops)
      size *= extents[loop];
    return size;
  };
  KernelBuilder kernel(op, count(rows), count(cols));
  LoopDigits loops(kernel, op, rows, cols);

  // A body argument stands for an element, or for the constant its operand is.
  SmallVector<std::pair<BlockArgument, unsigned>> inputs;
  SmallVector<std::pair<Value, TypedAttr>> scalars;
  auto addScalar = [&](Value inBody, Value outside) -> LogicalResult {
    TypedAttr scalar = getScalar(outside);
    if (!scalar)
      return op->emitOpError("reads a value that is neither a tensor operand's "
                             "element nor a constant (C2)");
    scalars.emplace_back(inBody, scalar);
    return success();
  };
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (getScalar(operand.get()) || !isStorable(operand.get().getType())) {
      if (failed(addScalar(argument, operand.get())))
        return failure();
      continue;
    }
    AffineExpr offset = loops.getOffset(op.getMatchingIndexingMap(&operand),
                                        shapeOf(operand.get()));
    inputs.emplace_back(argument, kernel.input(operand.get(), offset));
  }
  for (Operation &inner : body)
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != &body &&
          failed(addScalar(operand, operand)))
        return failure();
  for (OpResult result : op->getResults())
    kernel.store(kernel.output(tensorType(result)),
                 reduces ? kernel.perRow() : kernel.dense());

  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange elements) {
    IRMapping mapping;
    for (auto [argument, number] : inputs)
      mapping.map(argument, elements[number]);
    for (auto [value, scalar] : scalars)
      mapping.map(value, createScalar(b, scalar));
    for (OpResult result : op->getResults())
      if (auto reduction = getReduction(op, result.getResultNumber()))
        mapping.map(reduction->combiner->getResult(0), Value());
    for (Operation &inner : body.without_terminator()) {
      if (mapping.contains(inner.getResult(0)))
        continue;
      if (TypedAttr scalar = getScalar(inner.getResult(0))) {
        mapping.map(inner.getResult(0), createScalar(b, scalar));
        continue;
      }
      SmallVector<Value> operands = llvm::map_to_vector(
          inner.getOperands(), [&](Value v) { return mapping.lookup(v); });
      mapping.map(inner.getResults(), cloneScalar(b, &inner, operands));
    }
    SmallVector<Value> values;
    for (OpResult result : op->getResults()) {
      unsigned number = result.getResultNumber();
      if (auto reduction = getReduction(op, number)) {
        Value init = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
        values.push_back(createReduction(b, reduction->combiner,
                                         mapping.lookup(reduction->element),
                                         mapping.lookup(init)));
        continue;
      }
      values.push_back(
          mapping.lookup(body.getTerminator()->getOperand(number)));
    }
    return values;
  });
}
