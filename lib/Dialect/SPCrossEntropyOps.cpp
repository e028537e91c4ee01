//===- SPCrossEntropyOps.cpp - a loss over a sharded vocabulary -----------===//
//
// The cross entropy in two steps, so that what has to travel between them is
// two numbers per token. For each op: its verifier (the numbered constraints),
// its layout rule, in which operands it is linear, and its adjoint.
//
// The vocabulary and its parts are one factor: a shard of the one is a shard of
// the other.
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "sp/Dialect/Adjoint.h"

using namespace mlir;
using namespace sp;

//===----------------------------------------------------------------------===//
// CrossEntropyPartsOp, CrossEntropyPartsGradOp
//===----------------------------------------------------------------------===//

/// C1, C2 and C3 of both; `parts` is the result, or its cotangent.
template <typename OpTy>
static LogicalResult verifyParts(OpTy op, StringRef name, Value parts) {
  if (failed(verifyRank(op, "logits", op.getLogits(), 3, "C1")) ||
      failed(verifyRank(op, name, parts, 4, "C1")))
    return failure();
  ArrayRef<int64_t> logits = shapeOf(op.getLogits());
  int64_t numParts = shapeOf(parts)[0];
  if (failed(verifyShape(op, "targets", op.getTargets(), logits.drop_back(),
                         "C1")) ||
      failed(verifyShape(op, name, parts, {numParts, logits[0], logits[1], 2},
                         "C1")))
    return failure();
  if (numParts == 0 || logits[2] % numParts)
    return op.emitOpError("has a vocabulary of ")
           << logits[2] << ", which " << numParts
           << " parts do not divide (C1)";
  Type element = tensorType(op.getLogits()).getElementType();
  Type wanted = element.isF64() ? element : Float32Type::get(op.getContext());
  if (tensorType(parts).getElementType() != wanted)
    return op.emitOpError("")
           << name << " has element type " << tensorType(parts).getElementType()
           << ", must be " << wanted << " (C2)";
  if (op.getLayout())
    return verifyLayoutOf(op, *op.getLayout(), op.getLogits(), "C3");
  return success();
}

LogicalResult CrossEntropyPartsOp::verify() {
  return verifyParts(*this, "result", getResult());
}

LayoutRule CrossEntropyPartsOp::getLayoutRule() {
  return LayoutRule::get({"sbv", "sb"}, {"vsbt"}, "", "t");
}

LogicalResult CrossEntropyPartsOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, CrossEntropyPartsGradOp::create(
                     adjoint.b, adjoint.getCotangentType(0),
                     adjoint.getCotangent(), getLogits(), getTargets(),
                     getIgnoreIndexAttr(), LayoutAttr()));
  return success();
}

LogicalResult CrossEntropyPartsGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyParts(*this, "grad", getGrad())) ||
      failed(
          verifyShape(op, "result", getResult(), shapeOf(getLogits()), "C4")))
    return failure();
  return verifySameElementType(op, {getLogits(), getResult()}, "C4");
}

LayoutRule CrossEntropyPartsGradOp::getLayoutRule() {
  return LayoutRule::get({"vsbt", "sbv", "sb"}, {"sbv"}, "", "t");
}

bool CrossEntropyPartsGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

//===----------------------------------------------------------------------===//
// CrossEntropyJoinOp, CrossEntropyJoinGradOp
//===----------------------------------------------------------------------===//

/// C1 and C2 of both: `scalars` have rank 0, and all but the targets one type.
template <typename OpTy>
static LogicalResult verifyJoin(OpTy op, ValueRange scalars) {
  if (failed(verifyRank(op, "parts", op.getParts(), 4, "C1")))
    return failure();
  SmallVector<int64_t> parts(shapeOf(op.getParts()));
  parts[3] = 2;
  if (failed(verifyShape(op, "parts", op.getParts(), parts, "C1")) ||
      failed(verifyShape(op, "targets", op.getTargets(), {parts[1], parts[2]},
                         "C1")))
    return failure();
  for (Value scalar : scalars)
    if (failed(
            verifyShape(op, "the loss, count or cotangent", scalar, {}, "C1")))
      return failure();
  Type element = tensorType(op.getParts()).getElementType();
  if (element.isBF16())
    return op.emitOpError("parts have element type ")
           << element << ", must be f32 or f64 (C2)";
  SmallVector<Value> values{op.getParts()};
  llvm::append_range(values, scalars);
  return verifySameElementType(op, values, "C2");
}

LogicalResult CrossEntropyJoinOp::verify() {
  return verifyJoin(*this, getResults());
}

LayoutRule CrossEntropyJoinOp::getLayoutRule() {
  return LayoutRule::get({"psbt", "sb"}, {"", ""}, "sb", "pt");
}

bool CrossEntropyJoinOp::dependsOn(unsigned result, unsigned operand) {
  return result == 0 || operand == 1; // The count is of targets.
}

bool CrossEntropyJoinOp::isDifferentiable(unsigned result) {
  return result == 0;
}

LogicalResult CrossEntropyJoinOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(
      0, CrossEntropyJoinGradOp::create(adjoint.b, adjoint.getCotangentType(0),
                                        adjoint.getCotangent(), getParts(),
                                        getTargets(), getIgnoreIndexAttr()));
  return success();
}

LogicalResult CrossEntropyJoinGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyJoin(*this, getGrad())) ||
      failed(verifyShape(op, "result", getResult(), shapeOf(getParts()), "C1")))
    return failure();
  return verifySameElementType(op, {getParts(), getResult()}, "C2");
}

LayoutRule CrossEntropyJoinGradOp::getLayoutRule() {
  return LayoutRule::get({"", "psbt", "sb"}, {"psbt"}, "", "pt");
}

bool CrossEntropyJoinGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}
