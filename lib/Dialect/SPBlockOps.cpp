//===- SPBlockOps.cpp - the ops of a Transformer block --------------------===//
//
// For each op: its verifier (the numbered constraints), its layout rule, and in
// which operands it is linear.
//
//===----------------------------------------------------------------------===//

#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return tensorType(value).getShape();
}

static std::string shapeStr(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

static LogicalResult verifyShape(Operation *op, StringRef name, Value value,
                                 ArrayRef<int64_t> shape,
                                 StringRef constraint) {
  if (shapeOf(value) != shape)
    return op->emitOpError("")
           << name << " has shape " << shapeStr(shapeOf(value)) << ", must be "
           << shapeStr(shape) << " (" << constraint << ")";
  return success();
}

static LogicalResult verifyRank(Operation *op, StringRef name, Value value,
                                int64_t rank, StringRef constraint) {
  if (tensorType(value).getRank() != rank)
    return op->emitOpError("")
           << name << " has rank " << tensorType(value).getRank()
           << ", must be " << rank << " (" << constraint << ")";
  return success();
}

static LogicalResult verifyMinRank(Operation *op, StringRef name, Value value,
                                   int64_t rank, StringRef constraint) {
  if (tensorType(value).getRank() < rank)
    return op->emitOpError("")
           << name << " has rank " << tensorType(value).getRank()
           << ", must be at least " << rank << " (" << constraint << ")";
  return success();
}

static LogicalResult verifySameElementType(Operation *op, ValueRange values,
                                           StringRef constraint) {
  Type first = tensorType(values.front()).getElementType();
  for (Value value : values.drop_front())
    if (tensorType(value).getElementType() != first)
      return op->emitOpError("mixes element types ")
             << first << " and " << tensorType(value).getElementType() << " ("
             << constraint << ")";
  return success();
}

static SmallVector<Value> operandsAndResults(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  return values;
}

static bool isExactly(const llvm::SmallBitVector &operands,
                      std::initializer_list<unsigned> wanted) {
  return operands.count() == wanted.size() &&
         llvm::all_of(wanted, [&](unsigned i) { return operands.test(i); });
}

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
                         "C1")))
    return failure();
  return verifySameElementType(op, {getTable(), getResult()}, "C2");
}

LayoutRule EmbeddingOp::getLayoutRule() {
  return LayoutRule::get({"bs", "vh"}, {"sbh"}, "", "v");
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
      failed(verifySameElementType(op, operandsAndResults(op), "C2")))
    return failure();
  if (!(getEps().convertToDouble() >= 0))
    return emitOpError("eps is ")
           << getEps().convertToDouble() << ", must not be negative (C3)";
  return success();
}

LayoutRule RMSNormOp::getLayoutRule() {
  std::string lead = leadingDims(tensorType(getInput()).getRank() - 1);
  return LayoutRule::get({lead + "h", "h"}, {lead + "h"}, "", "h");
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

//===----------------------------------------------------------------------===//
// Elementwise ops: ScaleOp, SwiGLUOp, DropoutOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyElementwise(Operation *op) {
  for (Value operand : op->getOperands())
    if (failed(verifyShape(op, "result", op->getResult(0), shapeOf(operand),
                           "C1")))
      return failure();
  return verifySameElementType(op, operandsAndResults(op), "C1");
}

LogicalResult ScaleOp::verify() { return verifyElementwise(*this); }
LayoutRule ScaleOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool ScaleOp::isLinearIn(const llvm::SmallBitVector &operands) { return true; }

LogicalResult SwiGLUOp::verify() { return verifyElementwise(*this); }
LayoutRule SwiGLUOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool SwiGLUOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {1});
}

LogicalResult DropoutOp::verify() {
  if (failed(verifyElementwise(*this)))
    return failure();
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1))
    return emitOpError("p is ") << p << ", must be in [0, 1) (C2)";
  if (tensorType(getInput()).getRank() > 4)
    return emitOpError("input has rank ")
           << tensorType(getInput()).getRank() << ", must be at most 4 (C3)";
  return success();
}
LayoutRule DropoutOp::getLayoutRule() { return LayoutRule::elementwise(*this); }
bool DropoutOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return true;
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

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  Operation *op = *this;
  for (auto [name, value] : {std::pair<StringRef, Value>("query", getQuery()),
                             {"key", getKey()},
                             {"value", getValue()}})
    if (failed(verifyRank(op, name, value, 4, "C1")))
      return failure();
  ArrayRef<int64_t> query = shapeOf(getQuery());
  SmallVector<int64_t> keyShape{query[0], query[1], shapeOf(getKey())[2],
                                query[3]};
  if (failed(verifyShape(op, "key", getKey(), keyShape, "C1")) ||
      failed(verifyShape(op, "value", getValue(), keyShape, "C1")) ||
      failed(verifyShape(op, "result", getResult(), query, "C1")))
    return failure();
  if (keyShape[2] == 0 || query[2] % keyShape[2])
    return emitOpError("has ")
           << query[2] << " query heads, which " << keyShape[2]
           << " key/value heads do not divide (C1)";
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

LayoutRule AttentionOp::getLayoutRule() {
  // One letter for query and key/value heads: a shard holds whole groups,
  // because the mesh-aware verifier demands that T divides both.
  return LayoutRule::get({"sbhd", "sbhd", "sbhd"}, {"sbhd"}, "", "sd");
}

bool AttentionOp::isLinearIn(const llvm::SmallBitVector &operands) {
  return isExactly(operands, {2});
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
