//===- SPPadOps.cpp - more of a dimension, and less -----------------------===//
//
// Each is the other's adjoint, in two ways: what repeats the last element sums
// the cotangents of all that have it, and what cuts fills with zeros.
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "sp/Dialect/Adjoint.h"

using namespace mlir;
using namespace sp;

/// C1, C2 of both.
static LogicalResult verifyPadding(Operation *op, Value small, Value large,
                                   int64_t dim) {
  int64_t rank = tensorType(small).getRank();
  if (dim < 0 || dim >= rank)
    return op->emitOpError("dim is ")
           << dim << ", but there are " << rank << " dimensions (C1)";
  SmallVector<int64_t> shape(shapeOf(small));
  if (tensorType(large).getRank() == rank) {
    int64_t extent = shapeOf(large)[dim];
    if (shape[dim] < 1 || extent < shape[dim])
      return op->emitOpError("dimension ")
             << dim << " is " << shape[dim] << " without and " << extent
             << " with padding; the first must be at least 1 and at most the "
                "second (C1)";
    shape[dim] = extent;
  }
  if (failed(verifyShape(op, "the padded tensor", large, shape, "C1")))
    return failure();
  return verifySameElementType(op, {small, large}, "C2");
}

static LayoutRule getPaddingRule(Value small, int64_t dim) {
  std::string dims = leadingDims(tensorType(small).getRank());
  return LayoutRule::get({dims}, {dims}, "", std::string(1, dims[dim]));
}

LogicalResult PadOp::verify() {
  if (failed(verifyPadding(*this, getInput(), getResult(), getDim())))
    return failure();
  if (getFill().value_or(0) &&
      isa<FloatType>(tensorType(getInput()).getElementType()))
    return emitOpError("fills floating point numbers with ")
           << *getFill() << ", must be 0 (C4)";
  return success();
}

LayoutRule PadOp::getLayoutRule() {
  return getPaddingRule(getInput(), getDim());
}

bool PadOp::isLinearIn(const llvm::SmallBitVector &) {
  return getFill().value_or(0) == 0;
}

LogicalResult PadOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, UnpadOp::create(adjoint.b, adjoint.getCotangentType(0),
                                 adjoint.getCotangent(), getDim(),
                                 /*fold=*/!getFill()));
  return success();
}

LogicalResult UnpadOp::verify() {
  if (failed(verifyPadding(*this, getResult(), getInput(), getDim())))
    return failure();
  if (getFold() && !isa<FloatType>(tensorType(getInput()).getElementType()))
    return emitOpError("folds integers (C4)");
  return success();
}

LayoutRule UnpadOp::getLayoutRule() {
  return getPaddingRule(getInput(), getDim());
}

bool UnpadOp::isLinearIn(const llvm::SmallBitVector &) { return true; }

LogicalResult UnpadOp::emitAdjoint(AdjointEmitter &adjoint) {
  IntegerAttr fill = getFold() ? IntegerAttr() : adjoint.b.getI64IntegerAttr(0);
  adjoint.add(0, PadOp::create(adjoint.b, adjoint.getCotangentType(0),
                               adjoint.getCotangent(), getDimAttr(), fill));
  return success();
}
