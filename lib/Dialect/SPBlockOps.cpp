//===- SPBlockOps.cpp - the ops of a Transformer block --------------------===//
//
// For each op: its verifier (the numbered constraints), its layout rule, in
// which operands it is linear, and its adjoint.
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "sp/Dialect/Adjoint.h"

using namespace mlir;
using namespace sp;

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  Operation *op = *this;
  if (failed(verifyRank(op, "ids", getIds(), 2, "C1")) ||
      failed(verifyRank(op, "table", getTable(), 2, "C1")))
    return failure();
  ArrayRef<int64_t> ids = shapeOf(getIds()), table = shapeOf(getTable());
  if (failed(verifyShape(op, "result", getResult(), {ids[1], ids[0], table[1]},
                         "C1")) ||
      failed(verifySameElementType(op, {getTable(), getResult()}, "C2")))
    return failure();
  if (getLayout())
    return verifyLayoutOf(op, *getLayout(), getTable(), "C3");
  return success();
}

LayoutRule EmbeddingOp::getLayoutRule() {
  return LayoutRule::get({"bs", "vh"}, {"sbh"}, "v");
}

LogicalResult EmbeddingOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(1, EmbeddingGradOp::create(adjoint.b, adjoint.getCotangentType(1),
                                         adjoint.getCotangent(), getIds(),
                                         LayoutAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// RMSNormOp
//===----------------------------------------------------------------------===//

LogicalResult RMSNormOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "input", getInput(), 1, "C1")) ||
      failed(verifyShape(op, "weight", getWeight(),
                         {shapeOf(getInput()).back()}, "C1")) ||
      failed(
          verifyShape(op, "result", getResult(), shapeOf(getInput()), "C1")) ||
      failed(verifySameElementType(op, {getInput(), getResult()}, "C2")) ||
      failed(verifyWeightElementType(op, getInput(), getWeight(), "C2")))
    return failure();
  return verifyNotNegative(op, "eps", getEps(), "C3");
}

LayoutRule RMSNormOp::getLayoutRule() {
  std::string lead = leadingDims(tensorType(getInput()).getRank() - 1);
  return LayoutRule::get({lead + "h", "h"}, {lead + "h"}, "", "h");
}

LogicalResult RMSNormOp::emitAdjoint(AdjointEmitter &adjoint) {
  auto grad = RMSNormGradOp::create(
      adjoint.b, adjoint.getCotangentType(0), adjoint.getCotangentType(1),
      adjoint.getCotangent(), getInput(), getWeight(), getEpsAttr());
  adjoint.add(0, grad.getInputGrad());
  adjoint.add(1, grad.getWeightGrad());
  return success();
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "input", getInput(), 1, "C1")) ||
      failed(verifyRank(op, "weight", getWeight(), 2, "C1")))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  if (shapeOf(getInput()).back() != weight[1])
    return emitOpError("input has ") << shapeOf(getInput()).back()
                                     << " features, but the weight has shape "
                                     << shapeStr(weight) << " (C1)";
  SmallVector<int64_t> result(shapeOf(getInput()).drop_back());
  result.push_back(weight[0]);
  if (failed(verifyShape(op, "result", getResult(), result, "C1")))
    return failure();
  if (getBias() &&
      failed(verifyShape(op, "bias", getBias(), {weight[0]}, "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule LinearOp::getLayoutRule() {
  std::string lead = leadingDims(tensorType(getInput()).getRank() - 1);
  if (!getBias())
    return LayoutRule::get({lead + "k", "nk"}, {lead + "n"}, "k");
  // With a bias the sum over k must be whole: the bias would be added T times.
  return LayoutRule::get({lead + "k", "nk", "n"}, {lead + "n"}, "", "k");
}

bool LinearOp::isLinearIn(const llvm::SmallBitVector &operands) {
  if (getBias())
    return isExactly(operands, {0, 2}) || isExactly(operands, {1, 2});
  return isExactly(operands, {0}) || isExactly(operands, {1});
}

/// The sum over all but the last dimension, if operand `bias` needs it.
static void addBiasAdjoint(AdjointEmitter &adjoint, unsigned bias) {
  if (!adjoint.isNeeded(bias))
    return;
  Value cotangent = adjoint.getCotangent();
  adjoint.add(bias, SumLeadingOp::create(
                        adjoint.b, adjoint.getCotangentType(bias), cotangent,
                        tensorType(cotangent).getRank() - 1));
}

LogicalResult LinearOp::emitAdjoint(AdjointEmitter &adjoint) {
  Value cotangent = adjoint.getCotangent();
  if (adjoint.isNeeded(0))
    adjoint.add(0, LinearInputGradOp::create(adjoint.b,
                                             adjoint.getCotangentType(0),
                                             cotangent, getWeight()));
  if (adjoint.isNeeded(1))
    adjoint.add(1, LinearWeightGradOp::create(adjoint.b,
                                              adjoint.getCotangentType(1),
                                              cotangent, getInput()));
  if (getBias())
    addBiasAdjoint(adjoint, 2);
  return success();
}

//===----------------------------------------------------------------------===//
// BiasAddOp
//===----------------------------------------------------------------------===//

LogicalResult BiasAddOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "input", getInput(), 1, "C1")) ||
      failed(verifyShape(op, "bias", getBias(), {shapeOf(getInput()).back()},
                         "C1")) ||
      failed(verifyShape(op, "result", getResult(), shapeOf(getInput()), "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule BiasAddOp::getLayoutRule() {
  std::string lead = leadingDims(tensorType(getInput()).getRank() - 1);
  return LayoutRule::get({lead + "n", "n"}, {lead + "n"});
}

bool BiasAddOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0, 1});
}

LogicalResult BiasAddOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, adjoint.getCotangent());
  addBiasAdjoint(adjoint, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise ops: ScaleOp, SwiGLUOp, DropoutOp
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::verify() { return verifyElementwise(*this); }
LayoutRule ScaleOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool ScaleOp::isLinearIn(const llvm::SmallBitVector &operands) { return true; }

LogicalResult ScaleOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, ScaleOp::create(adjoint.b, adjoint.getCotangentType(0),
                                 adjoint.getCotangent(), getFactorAttr()));
  return success();
}

LogicalResult MulOp::verify() { return verifyElementwise(*this); }
LayoutRule MulOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool MulOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0}) || isExactly(operands, {1});
}

LogicalResult MulOp::emitAdjoint(AdjointEmitter &adjoint) {
  for (unsigned i : {0, 1})
    if (adjoint.isNeeded(i))
      adjoint.add(i, createProduct(adjoint.b, adjoint.getCotangentType(i),
                                   adjoint.getCotangent(), getOperand(1 - i)));
  return success();
}

LogicalResult SwiGLUOp::verify() { return verifyElementwise(*this); }
LayoutRule SwiGLUOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool SwiGLUOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {1});
}

LogicalResult SwiGLUOp::emitAdjoint(AdjointEmitter &adjoint) {
  auto grad = SwiGLUGradOp::create(adjoint.b, adjoint.getCotangentType(0),
                                   adjoint.getCotangentType(1),
                                   adjoint.getCotangent(), getGate(), getUp());
  adjoint.add(0, grad.getGateGrad());
  adjoint.add(1, grad.getUpGrad());
  return success();
}

LayoutRule OptimizationBarrierOp::getLayoutRule() {
  return LayoutRule::elementwise(*this);
}
bool OptimizationBarrierOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return true;
}

LogicalResult DropoutOp::verify() {
  if (failed(verifyElementwise(*this)))
    return failure();
  if (failed(verifyProbability(*this, "p", getP(), "C2")))
    return failure();
  if (tensorType(getInput()).getRank() > 4)
    return emitOpError("input has rank ")
           << tensorType(getInput()).getRank() << ", must be at most 4 (C3)";
  if (getLayout())
    return verifyLayoutOf(*this, *getLayout(), getInput(), "C4");
  return success();
}
LayoutRule DropoutOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool DropoutOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return true;
}

/// The same mask: it is a function of `op_id` and the coordinates.
LogicalResult DropoutOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, DropoutOp::create(adjoint.b, adjoint.getCotangentType(0),
                                   adjoint.getCotangent(), getPAttr(),
                                   getOpIdAttr(), LayoutAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// SumLeadingOp, BroadcastLeadingOp
//===----------------------------------------------------------------------===//

/// C1, C2 of both: `small` has all but the first `count` dimensions of `large`.
static LogicalResult verifyLeading(Operation *op, StringRef name, Value small,
                                   Value large, uint64_t count) {
  ArrayRef<int64_t> shape = shapeOf(large);
  if (count > shape.size())
    return op->emitOpError("count is ")
           << count << ", but there are " << shape.size() << " dimensions (C1)";
  if (failed(verifyShape(op, name, small, shape.drop_front(count), "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LogicalResult SumLeadingOp::verify() {
  return verifyLeading(*this, "result", getResult(), getInput(), getCount());
}

LayoutRule SumLeadingOp::getLayoutRule() {
  std::string all = leadingDims(tensorType(getInput()).getRank());
  return LayoutRule::get({all}, {all.substr(getCount())},
                         all.substr(0, getCount()));
}

bool SumLeadingOp::isLinearIn(const llvm::SmallBitVector &) { return true; }

LogicalResult SumLeadingOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(
      0, BroadcastLeadingOp::create(adjoint.b, adjoint.getCotangentType(0),
                                    adjoint.getCotangent(), getCountAttr()));
  return success();
}

LogicalResult BroadcastLeadingOp::verify() {
  return verifyLeading(*this, "input", getInput(), getResult(), getCount());
}

LayoutRule BroadcastLeadingOp::getLayoutRule() {
  std::string all = leadingDims(tensorType(getResult()).getRank());
  return LayoutRule::get({all.substr(getCount())}, {all});
}

bool BroadcastLeadingOp::isLinearIn(const llvm::SmallBitVector &) {
  return true;
}

LogicalResult
BroadcastLeadingOp::inferLayouts(StringRef axis, ArrayRef<AxisLayout> operands,
                                 SmallVectorImpl<AxisLayout> &results) {
  AxisLayout result = getAxisLayout(getResult().getType(), axis);
  if (operands.front().isReplicate() && result.isShard() &&
      result.dim < static_cast<int64_t>(getCount())) {
    results.assign(1, result);
    return success();
  }
  return detail::inferLayoutsByRule(*this, axis, operands, results);
}

LogicalResult BroadcastLeadingOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0, SumLeadingOp::create(adjoint.b, adjoint.getCotangentType(0),
                                      adjoint.getCotangent(), getCountAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// RopeTableOp, RopeOp
//===----------------------------------------------------------------------===//

LogicalResult RopeTableOp::verify() {
  if (getCos().getType() != getSin().getType())
    return emitOpError("results have types ")
           << getCos().getType() << " and " << getSin().getType()
           << ", must be equal (C1)";
  if (failed(verifyRank(*this, "result", getCos(), 2, "C1")))
    return failure();
  if (!(getTheta().convertToDouble() > 0))
    return emitOpError("theta is ")
           << getTheta().convertToDouble() << ", must be positive (C2)";
  return success();
}

LayoutRule RopeTableOp::getLayoutRule() {
  return LayoutRule::get({}, {"sd", "sd"}, "", "sd");
}

LogicalResult RopeTableOp::verifyLayouts(StringRef axis,
                                         ArrayRef<AxisLayout> operands,
                                         ArrayRef<AxisLayout> results) {
  for (AxisLayout layout : results)
    if (!layout.isInvariant())
      return emitOpError("result is ")
             << layout.str() << " along `" << axis
             << "`, must be invariant (C3); use `sp.copy` or `sp.slice` on it";
  return success();
}

LogicalResult RopeOp::verify() {
  Operation *op = *this;
  if (failed(verifyRank(op, "input", getInput(), 4, "C1")))
    return failure();
  ArrayRef<int64_t> input = shapeOf(getInput());
  if (input[3] % 2)
    return emitOpError("head dimension ") << input[3] << " is odd (C1)";
  SmallVector<int64_t> table{input[0], input[3] / 2};
  if (failed(verifyShape(op, "cos", getCos(), table, "C1")) ||
      failed(verifyShape(op, "sin", getSin(), table, "C1")) ||
      failed(verifyShape(op, "result", getResult(), input, "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule RopeOp::getLayoutRule() {
  return LayoutRule::get({"sbhd", "se", "se"}, {"sbhd"}, "", "de");
}

bool RopeOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0}) || isExactly(operands, {1, 2});
}

LogicalResult RopeOp::emitAdjoint(AdjointEmitter &adjoint) {
  if (failed(adjoint.refuse(1, "cosines")) ||
      failed(adjoint.refuse(2, "sines")))
    return failure();
  auto inverse = getInverse() ? UnitAttr() : adjoint.b.getUnitAttr();
  adjoint.add(0, RopeOp::create(adjoint.b, adjoint.getCotangentType(0),
                                adjoint.getCotangent(), getCos(), getSin(),
                                inverse));
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getResult());
}

LayoutRule AttentionOp::getLayoutRule() {
  // One letter for query and key/value heads: a shard holds whole groups,
  // because the mesh-aware verifier demands that T divides both. Beyond that,
  // `inferLayouts` knows shards of one group.
  return LayoutRule::get({"sbhd", "sbhd", "sbhd"}, {"sbhd"}, "", "sd");
}

LogicalResult
AttentionOp::inferLayouts(StringRef axis, ArrayRef<AxisLayout> operands,
                          SmallVectorImpl<AxisLayout> &results) {
  if (operands[0] == AxisLayout::shard(2) && operands[1].isReplicate() &&
      operands[2].isReplicate() &&
      splitsHeadGroups(*this, {getKey(), getValue()}, axis)) {
    results.assign(1, AxisLayout::shard(2));
    return success();
  }
  return detail::inferLayoutsByRule(*this, axis, operands, results);
}

bool AttentionOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {2});
}

LogicalResult AttentionOp::emitAdjoint(AdjointEmitter &adjoint) {
  auto grad = AttentionGradOp::create(
      adjoint.b, adjoint.getCotangentType(0), adjoint.getCotangentType(1),
      adjoint.getCotangentType(2), adjoint.getCotangent(), getQuery(), getKey(),
      getValue(), getScaleAttr(), getCausalAttr(), getDropoutAttr(),
      getOpIdAttr(), LayoutAttr());
  for (auto [i, value] : llvm::enumerate(grad.getResults()))
    adjoint.add(i, value);
  return success();
}

//===----------------------------------------------------------------------===//
// ShiftLabelsOp, CrossEntropyOp, BatchMajorOp
//===----------------------------------------------------------------------===//

LogicalResult ShiftLabelsOp::verify() {
  if (failed(verifyRank(*this, "labels", getLabels(), 2, "C1")))
    return failure();
  ArrayRef<int64_t> labels = shapeOf(getLabels());
  return verifyShape(*this, "result", getResult(), {labels[1], labels[0]},
                     "C1");
}

LayoutRule ShiftLabelsOp::getLayoutRule() {
  return LayoutRule::get({"bs"}, {"sb"}, "", "s");
}

LogicalResult CrossEntropyOp::verify() {
  Operation *op = *this;
  if (failed(verifyRank(op, "logits", getLogits(), 3, "C1")))
    return failure();
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (failed(
          verifyShape(op, "targets", getTargets(), logits.drop_back(), "C1")) ||
      failed(verifyShape(op, "loss_sum", getLossSum(), {}, "C1")) ||
      failed(verifyShape(op, "count", getCount(), {}, "C1")))
    return failure();
  Type element = tensorType(getLogits()).getElementType();
  Type wanted = element.isF64() ? element : Float32Type::get(getContext());
  for (Value result : op->getResults())
    if (tensorType(result).getElementType() != wanted)
      return emitOpError("result has element type ")
             << tensorType(result).getElementType() << ", must be " << wanted
             << " (C2)";
  return success();
}

LayoutRule CrossEntropyOp::getLayoutRule() {
  return LayoutRule::get({"sbv", "sb"}, {"", ""}, "sb", "v");
}

bool CrossEntropyOp::dependsOn(unsigned result, unsigned operand) {
  return result == 0 || operand == 1; // The count is of targets.
}

bool CrossEntropyOp::isDifferentiable(unsigned result) { return result == 0; }

LogicalResult CrossEntropyOp::emitAdjoint(AdjointEmitter &adjoint) {
  adjoint.add(0,
              CrossEntropyGradOp::create(adjoint.b, adjoint.getCotangentType(0),
                                         adjoint.getCotangent(), getLogits(),
                                         getTargets(), getIgnoreIndexAttr()));
  return success();
}

LogicalResult BatchMajorOp::verify() {
  if (failed(verifyMinRank(*this, "input", getInput(), 2, "C1")))
    return failure();
  SmallVector<int64_t> shape(shapeOf(getInput()));
  std::swap(shape[0], shape[1]);
  if (failed(verifyShape(*this, "result", getResult(), shape, "C1")))
    return failure();
  return verifySameElementType(*this, operandsAndResults(*this), "C1");
}

LayoutRule BatchMajorOp::getLayoutRule() {
  std::string rest = leadingDims(tensorType(getInput()).getRank() - 2);
  return LayoutRule::get({"sb" + rest}, {"bs" + rest});
}

bool BatchMajorOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return true;
}

LogicalResult BatchMajorOp::emitAdjoint(AdjointEmitter &adjoint) {
  if (adjoint.isNeeded(0))
    adjoint.add(0, BatchMajorOp::create(adjoint.b, adjoint.getCotangentType(0),
                                        adjoint.getCotangent()));
  return success();
}
