//===- SPGradOps.cpp - the ops of backward passes and optimizers ----------===//
//
// For each op: its verifier (the numbered constraints), its layout rule, and in
// which operands it is linear. An adjoint is linear in the cotangent.
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "sp/Dialect/Adjoint.h"

using namespace mlir;
using namespace sp;

/// One letter for every dimension of `value` but the last.
static std::string leadingDimsOf(Value value) {
  return leadingDims(tensorType(value).getRank() - 1);
}

//===----------------------------------------------------------------------===//
// LinearInputGradOp, LinearWeightGradOp
//===----------------------------------------------------------------------===//

LogicalResult LinearInputGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "grad", getGrad(), 1, "C1")) ||
      failed(verifyRank(op, "weight", getWeight(), 2, "C1")))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  SmallVector<int64_t> grad(shapeOf(getGrad())), result(grad);
  grad.back() = weight[0];
  result.back() = weight[1];
  if (failed(verifyShape(op, "grad", getGrad(), grad, "C1")) ||
      failed(verifyShape(op, "result", getResult(), result, "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule LinearInputGradOp::getLayoutRule() {
  std::string lead = leadingDimsOf(getGrad());
  return LayoutRule::get({lead + "n", "nk"}, {lead + "k"}, "n");
}

bool LinearInputGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0}) || isExactly(operands, {1});
}

LogicalResult LinearWeightGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "grad", getGrad(), 1, "C1")) ||
      failed(verifyMinRank(op, "input", getInput(), 1, "C1")))
    return failure();
  ArrayRef<int64_t> grad = shapeOf(getGrad());
  SmallVector<int64_t> input(grad);
  input.back() = shapeOf(getInput()).back();
  if (failed(verifyShape(op, "input", getInput(), input, "C1")) ||
      failed(verifyShape(op, "result", getResult(), {grad.back(), input.back()},
                         "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule LinearWeightGradOp::getLayoutRule() {
  std::string lead = leadingDimsOf(getGrad());
  return LayoutRule::get({lead + "n", lead + "k"}, {"nk"}, lead);
}

bool LinearWeightGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0}) || isExactly(operands, {1});
}

//===----------------------------------------------------------------------===//
// RMSNormGradOp, SwiGLUGradOp
//===----------------------------------------------------------------------===//

LogicalResult RMSNormGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyMinRank(op, "input", getInput(), 1, "C1")))
    return failure();
  ArrayRef<int64_t> input = shapeOf(getInput());
  if (failed(verifyShape(op, "grad", getGrad(), input, "C1")) ||
      failed(verifyShape(op, "input_grad", getInputGrad(), input, "C1")) ||
      failed(verifyShape(op, "weight", getWeight(), {input.back()}, "C1")) ||
      failed(verifyShape(op, "weight_grad", getWeightGrad(), {input.back()},
                         "C1")) ||
      failed(verifySameElementType(op, {getInput(), getGrad(), getInputGrad()},
                                   "C2")) ||
      failed(verifySameElementType(op, {getWeight(), getWeightGrad()}, "C2")) ||
      failed(verifyWeightElementType(op, getInput(), getWeight(), "C2")))
    return failure();
  return verifyNotNegative(op, "eps", getEps(), "C3");
}

LayoutRule RMSNormGradOp::getLayoutRule() {
  std::string lead = leadingDimsOf(getInput()), all = lead + "h";
  return LayoutRule::get({all, all, "h"}, {all, "h"}, lead, "h");
}

bool RMSNormGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

bool RMSNormGradOp::dependsOn(unsigned result, unsigned operand) {
  return result == 0 || operand != 2; // weight_grad not on the weight
}

LogicalResult SwiGLUGradOp::verify() { return verifyElementwise(*this); }
LayoutRule SwiGLUGradOp::getLayoutRule() {
  return LayoutRule::elementwise(*this);
}
bool SwiGLUGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

bool SwiGLUGradOp::dependsOn(unsigned result, unsigned operand) {
  return result == 0 || operand != 2; // up_grad not on up
}

//===----------------------------------------------------------------------===//
// AttentionGradOp, EmbeddingGradOp, CrossEntropyGradOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this, getGrad())))
    return failure();
  for (auto [result, operand] :
       llvm::zip(getResults(), getOperands().drop_front()))
    if (failed(verifyShape(*this, "result", result, shapeOf(operand), "C5")))
      return failure();
  return success();
}

LayoutRule AttentionGradOp::getLayoutRule() {
  return LayoutRule::get({"sbhd", "sbhd", "sbhd", "sbhd"},
                         {"sbhd", "sbhd", "sbhd"}, "", "sd");
}

/// Each rank has its own queries' contribution to their group's head.
LogicalResult
AttentionGradOp::inferLayouts(StringRef axis, ArrayRef<AxisLayout> operands,
                              SmallVectorImpl<AxisLayout> &results) {
  if (operands[0] == AxisLayout::shard(2) &&
      operands[1] == AxisLayout::shard(2) && operands[2].isReplicate() &&
      operands[3].isReplicate() &&
      splitsHeadGroups(*this, {getKey(), getValue()}, axis)) {
    results.assign(
        {AxisLayout::shard(2), AxisLayout::partial(), AxisLayout::partial()});
    return success();
  }
  return detail::inferLayoutsByRule(*this, axis, operands, results);
}

bool AttentionGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

LogicalResult EmbeddingGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyRank(op, "ids", getIds(), 2, "C1")) ||
      failed(verifyRank(op, "result", getResult(), 2, "C1")))
    return failure();
  ArrayRef<int64_t> ids = shapeOf(getIds());
  if (failed(verifyShape(op, "grad", getGrad(),
                         {ids[1], ids[0], shapeOf(getResult())[1]}, "C1")) ||
      failed(verifySameElementType(op, {getGrad(), getResult()}, "C2")))
    return failure();
  if (getLayout())
    return verifyLayoutOf(op, *getLayout(), getResult(), "C4");
  return success();
}

LayoutRule EmbeddingGradOp::getLayoutRule() {
  return LayoutRule::get({"sbh", "bs"}, {"vh"}, "sb", "v");
}

bool EmbeddingGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

/// No operand has the vocabulary, so it is the result's type that says whether
/// a rank computes all of its rows.
LogicalResult
EmbeddingGradOp::inferLayouts(StringRef axis, ArrayRef<AxisLayout> operands,
                              SmallVectorImpl<AxisLayout> &results) {
  AxisLayout result = getAxisLayout(getResult().getType(), axis);
  if (result == AxisLayout::shard(0) && operands[0].isReplicate() &&
      operands[1].isReplicate()) {
    results.assign(1, result);
    return success();
  }
  return detail::inferLayoutsByRule(*this, axis, operands, results);
}

LogicalResult CrossEntropyGradOp::verify() {
  Operation *op = *this;
  if (failed(verifyRank(op, "logits", getLogits(), 3, "C1")))
    return failure();
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (failed(verifyShape(op, "grad", getGrad(), {}, "C1")) ||
      failed(
          verifyShape(op, "targets", getTargets(), logits.drop_back(), "C1")) ||
      failed(verifyShape(op, "result", getResult(), logits, "C1")) ||
      failed(verifySameElementType(op, {getLogits(), getResult()}, "C2")))
    return failure();
  Type element = tensorType(getLogits()).getElementType();
  Type wanted = element.isF64() ? element : Float32Type::get(getContext());
  if (tensorType(getGrad()).getElementType() != wanted)
    return emitOpError("grad has element type ")
           << tensorType(getGrad()).getElementType() << ", must be " << wanted
           << " (C2)";
  return success();
}

LayoutRule CrossEntropyGradOp::getLayoutRule() {
  return LayoutRule::get({"", "sbv", "sb"}, {"sbv"}, "", "v");
}

bool CrossEntropyGradOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {0});
}

//===----------------------------------------------------------------------===//
// PackOp, UnpackOp
//===----------------------------------------------------------------------===//

/// C1, C2 of both.
static LogicalResult verifyPacked(Operation *op, Value packed,
                                  ValueRange parts) {
  if (parts.empty())
    return op->emitOpError("has nothing to pack (C1)");
  ArrayRef<int64_t> whole = shapeOf(packed);
  ArrayRef<int64_t> rows = whole.drop_back(whole.empty() ? 0 : 1);
  int64_t length = 0;
  for (Value part : parts) {
    ArrayRef<int64_t> own = shapeOf(part);
    if (rows.empty()) {
      length += llvm::product_of(own);
      continue;
    }
    ArrayRef<int64_t> common = rows.drop_back();
    if (own.size() <= common.size() ||
        own.take_front(common.size()) != common || rows.back() == 0 ||
        own[common.size()] % rows.back())
      return op->emitOpError("packs rows ")
             << packed.getType() << ", which " << part.getType()
             << " cannot be cut into (C1)";
    length += llvm::product_of(own.drop_front(common.size())) / rows.back();
  }
  SmallVector<int64_t> shape(rows);
  shape.push_back(length);
  if (failed(verifyShape(op, shape.size() > 1 ? "the rows" : "the vector",
                         packed, shape, "C1")))
    return failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

/// The dimensions that make rows are those of every part; no other may be
/// sharded.
static LayoutRule getPackedRule(Operation *op, Value packed) {
  LayoutRule rule;
  int64_t numFactors = tensorType(packed).getRank() - 1;
  auto carry = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) {
      SmallVector<int64_t> factors(tensorType(value).getRank(),
                                   LayoutRule::kBlocked);
      for (int64_t factor = 0; factor < numFactors; ++factor)
        factors[factor] = factor;
      return factors;
    });
  };
  llvm::append_range(rule.operands, carry(op->getOperands()));
  llvm::append_range(rule.results, carry(op->getResults()));
  rule.isReduction.append(numFactors, false);
  return rule;
}

LogicalResult PackOp::verify() {
  return verifyPacked(*this, getResult(), getInputs());
}
LayoutRule PackOp::getLayoutRule() { return getPackedRule(*this, getResult()); }
bool PackOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return operands.all();
}
LogicalResult PackOp::emitAdjoint(AdjointEmitter &adjoint) {
  auto types = llvm::map_to_vector(getInputs().getTypes(), getCotangentType);
  auto parts = UnpackOp::create(adjoint.b, types, adjoint.getCotangent());
  for (auto [i, part] : llvm::enumerate(parts.getResults()))
    adjoint.add(i, part);
  return success();
}

LogicalResult UnpackOp::verify() {
  return verifyPacked(*this, getInput(), getOutputs());
}
LayoutRule UnpackOp::getLayoutRule() {
  return getPackedRule(*this, getInput());
}
bool UnpackOp::isLinearIn(const llvm::SmallBitVector &) { return true; }
LogicalResult UnpackOp::emitAdjoint(AdjointEmitter &adjoint) {
  SmallVector<Value> parts;
  for (Value output : getOutputs()) {
    Value cotangent = adjoint.getCotangent(parts.size());
    if (!cotangent)
      cotangent = createSplat(adjoint.b, getCotangentType(output.getType()), 0);
    parts.push_back(cotangent);
  }
  adjoint.add(0, PackOp::create(adjoint.b, adjoint.getCotangentType(0), parts));
  return success();
}

//===----------------------------------------------------------------------===//
// SumSquaresOp, AdamWOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyF64Scalar(Operation *op, StringRef name, Value value,
                                     StringRef constraint) {
  RankedTensorType type = tensorType(value);
  if (type.getRank() != 0 || !type.getElementType().isF64())
    return op->emitOpError("")
           << name << " is " << type << ", must be tensor<f64> (" << constraint
           << ")";
  return success();
}

LogicalResult SumSquaresOp::verify() {
  return verifyF64Scalar(*this, "result", getResult(), "C1");
}

LayoutRule SumSquaresOp::getLayoutRule() {
  std::string all = leadingDims(tensorType(getInput()).getRank());
  return LayoutRule::get({all}, {""}, all);
}

LogicalResult AdamWOp::verify() {
  Operation *op = *this;
  SmallVector<Value> tensors(getOperands().take_front(4));
  llvm::append_range(tensors, getResults());
  for (Value tensor : tensors)
    if (failed(verifyShape(op, "operand or result", tensor, shapeOf(getParam()),
                           "C1")))
      return failure();
  for (Value scalar : getOperands().drop_front(4))
    if (failed(verifyF64Scalar(op, "operand", scalar, "C1")))
      return failure();
  if (failed(verifySameElementType(op, tensors, "C2")) ||
      failed(verifyProbability(op, "beta1", getBeta1(), "C3")) ||
      failed(verifyProbability(op, "beta2", getBeta2(), "C3")) ||
      failed(verifyNotNegative(op, "eps", getEps(), "C3")))
    return failure();
  return verifyNotNegative(op, "weight_decay", getWeightDecay(), "C3");
}

LayoutRule AdamWOp::getLayoutRule() { return LayoutRule::elementwise(*this); }

bool AdamWOp::dependsOn(unsigned result, unsigned operand) {
  // A moment depends on itself, the gradient and its scale.
  return result == 0 || operand == 1 || operand == 4 || operand == result + 1;
}
