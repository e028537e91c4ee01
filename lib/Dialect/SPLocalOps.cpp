//===- SPLocalOps.cpp - verifiers of the ops of localised programs --------===//

#include "OpVerification.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

/// Checks that `whole` is a multiple of `part` along `dim` and equal elsewhere.
static LogicalResult verifyPart(Operation *op, Type whole, Type part,
                                int64_t dim, StringRef constraint) {
  auto wholeType = cast<RankedTensorType>(whole);
  auto partType = cast<RankedTensorType>(part);
  auto error = [&](const Twine &message) {
    return op->emitOpError(message)
           << " (" << constraint << "): " << wholeType << " and " << partType;
  };
  if (wholeType.getElementType() != partType.getElementType() ||
      wholeType.getRank() != partType.getRank())
    return error("element types or ranks differ");
  if (dim < 0 || dim >= wholeType.getRank())
    return error("dim " + Twine(dim) + " is not a dimension");
  for (int64_t i = 0; i < wholeType.getRank(); ++i) {
    int64_t all = wholeType.getDimSize(i), own = partType.getDimSize(i);
    if (i == dim ? (own == 0 || all % own != 0) : all != own)
      return error("extents of dimension " + Twine(i) + " do not fit");
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getElementType() != result.getElementType() ||
      input.getRank() != result.getRank())
    return emitOpError("element types or ranks differ (C1): ")
           << input << " and " << result;
  if (getKind() == CollectiveKind::AllReduce) {
    if (getDim())
      return emitOpError("all_reduce has no dim (C2)");
    if (input != result)
      return emitOpError("all_reduce changes the type from ")
             << input << " to " << result << " (C2)";
    return success();
  }
  if (!getDim())
    return emitOpError("") << stringifyCollectiveKind(getKind())
                           << " needs a dim (C2)";
  bool gathers = getKind() == CollectiveKind::AllGather;
  return verifyPart(*this, gathers ? result : input, gathers ? input : result,
                    *getDim(), "C2");
}

LogicalResult LocalSliceOp::verify() {
  return verifyPart(*this, getInput().getType(), getResult().getType(),
                    getDim(), "C1");
}

LogicalResult LocalZeroPadOp::verify() {
  return verifyPart(*this, getResult().getType(), getInput().getType(),
                    getDim(), "C1");
}

LogicalResult PartTargetsOp::verify() {
  RankedTensorType targets = tensorType(getTargets()),
                   result = tensorType(getResult());
  if (result.getRank() != targets.getRank() + 1 ||
      result.getShape().drop_back() != targets.getShape())
    return emitOpError("result has type ")
           << result << ", must have one dimension more than " << targets
           << " (C1)";
  int64_t parts = result.getShape().back(), vocab = getVocab();
  if (parts == 0 || vocab % parts)
    return emitOpError("vocab is ")
           << vocab << ", which " << parts << " parts do not divide (C1)";
  return success();
}

LogicalResult GemmOp::verify() {
  auto verifyCount = [&](StringRef name, Value value, int64_t rows,
                         int64_t cols) -> LogicalResult {
    int64_t wanted = getBatch() * rows * cols;
    if (tensorType(value).getNumElements() == wanted)
      return success();
    return emitOpError("") << name << " has "
                           << tensorType(value).getNumElements()
                           << " elements, must have " << wanted << " (C1)";
  };
  if (failed(verifyCount("lhs", getLhs(), getM(), getK())) ||
      failed(verifyCount("rhs", getRhs(), getK(), getN())) ||
      failed(verifyCount("result", getResult(), getM(), getN())))
    return failure();
  if (getInit() && getInit().getType() != getType())
    return emitOpError("init is ")
           << getInit().getType() << ", must be " << getType() << " (C1)";
  return verifySameElementType(*this, operandsAndResults(*this), "C2");
}

/// The least and greatest value of `expr` for rows and columns of the kernel,
/// by interval arithmetic: none if it is not made of sums, products, and
/// divisions by positive constants.
static std::optional<std::pair<int64_t, int64_t>> getRange(AffineExpr expr,
                                                           RowKernelOp op) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return std::pair(int64_t(0), static_cast<int64_t>(dim.getPosition() == 0
                                                          ? op.getRows()
                                                          : op.getCols()) -
                                     1);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(constant.getValue(), constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = getRange(binary.getLHS(), op), rhs = getRange(binary.getRHS(), op);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(lhs->first + rhs->first, lhs->second + rhs->second);
  int64_t constant = rhs->first;
  if (constant != rhs->second)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul) {
    int64_t x = lhs->first * constant, y = lhs->second * constant;
    return std::pair(std::min(x, y), std::max(x, y));
  }
  if (constant < 1 || lhs->first < 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return std::pair(lhs->first / constant, lhs->second / constant);
  if (expr.getKind() == AffineExprKind::Mod)
    return std::pair(int64_t(0), std::min(lhs->second, constant - 1));
  return std::nullopt;
}

/// Checks that `map` is (row, column) -> one offset, inside `type` for all rows
/// and columns.
static LogicalResult verifyMap(RowKernelOp op, AffineMap map,
                               RankedTensorType type, StringRef constraint) {
  if (map.getNumDims() != 2 || map.getNumSymbols() != 0 ||
      map.getNumResults() != 1)
    return op.emitOpError("map ")
           << AffineMapAttr::get(map) << " must be (row, column) -> (offset) ("
           << constraint << ")";
  auto range = getRange(map.getResult(0), op);
  if (!range || range->first < 0 || range->second >= type.getNumElements())
    return op.emitOpError("map ")
           << AffineMapAttr::get(map) << " leaves " << type << " for "
           << op.getRows() << " rows and " << op.getCols() << " columns ("
           << constraint << ")";
  return success();
}

/// The values of the body that differ from column to column.
static llvm::DenseSet<Value> getColumnValues(RowKernelOp op) {
  llvm::DenseSet<Value> columns;
  Block &body = op.getBody().front();
  for (auto [argument, map] :
       llvm::zip(body.getArguments(),
                 op.getInputMaps().getAsValueRange<AffineMapAttr>()))
    if (map.isFunctionOfDim(1))
      columns.insert(argument);
  for (Operation &inner : body) {
    bool varies = isa<ColIndexOp>(inner) ||
                  (!isa<RowReduceOp>(inner) &&
                   llvm::any_of(inner.getOperands(), [&](Value operand) {
                     return columns.contains(operand);
                   }));
    if (varies)
      columns.insert(inner.result_begin(), inner.result_end());
  }
  return columns;
}

LogicalResult RowKernelOp::verify() {
  Block &body = getBody().front();
  if (static_cast<int64_t>(getRows()) < 1 ||
      static_cast<int64_t>(getCols()) < 1)
    return emitOpError("needs at least one row and one column");
  if (getInputMaps().size() != getInputs().size() ||
      body.getNumArguments() != getInputs().size())
    return emitOpError("has ")
           << getInputs().size() << " inputs, " << getInputMaps().size()
           << " input maps and " << body.getNumArguments()
           << " body arguments (C1)";
  for (auto [input, argument, map] :
       llvm::zip(getInputs(), body.getArguments(),
                 getInputMaps().getAsValueRange<AffineMapAttr>())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (argument.getType() != type.getElementType())
      return emitOpError("body argument has type ")
             << argument.getType() << " for an input of " << type << " (C1)";
    if (failed(verifyMap(*this, map, type, "C1")))
      return failure();
  }

  for (Operation &inner : body.without_terminator()) {
    bool scalar = isa<RowReduceOp, ColIndexOp>(inner) ||
                  (inner.getNumRegions() == 0 &&
                   (isa<arith::ArithDialect>(inner.getDialect()) ||
                    inner.getName().getDialectNamespace() == "math"));
    if (!scalar ||
        llvm::any_of(inner.getResultTypes(), llvm::IsaPred<ShapedType>))
      return emitOpError("body has `")
             << inner.getName() << "`, which is not a scalar op (C3)";
  }

  auto yield = cast<YieldOp>(body.getTerminator());
  if (getOutputMaps().size() != yield.getValues().size() ||
      getOutputResults().size() != yield.getValues().size())
    return emitOpError("yields ")
           << yield.getValues().size() << " values, but has "
           << getOutputMaps().size() << " output maps and "
           << getOutputResults().size() << " output results (C2)";
  llvm::DenseSet<Value> columns = getColumnValues(*this);
  for (auto [value, map, result] : llvm::zip(
           yield.getValues(), getOutputMaps().getAsValueRange<AffineMapAttr>(),
           getOutputResults())) {
    if (result < 0 || result >= static_cast<int64_t>(getNumResults()))
      return emitOpError("stores to result #")
             << result << " of " << getNumResults() << " (C2)";
    auto type = cast<RankedTensorType>(getResult(result).getType());
    if (value.getType() != type.getElementType())
      return emitOpError("yields a ")
             << value.getType() << " for a result of " << type << " (C2)";
    if (failed(verifyMap(*this, map, type, "C2")))
      return failure();
    if (!map.isFunctionOfDim(1) && columns.contains(value))
      return emitOpError("stores a value that differs from column to column "
                         "through map ")
             << AffineMapAttr::get(map) << ", which ignores the column (C4)";
  }
  return success();
}
