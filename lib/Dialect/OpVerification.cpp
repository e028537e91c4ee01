//===- OpVerification.cpp - what the ops' verifiers share -----------------===//

#include "OpVerification.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sp;

std::string sp::shapeStr(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

LogicalResult sp::verifyShape(Operation *op, StringRef name, Value value,
                              ArrayRef<int64_t> shape, StringRef constraint) {
  if (shapeOf(value) != shape)
    return op->emitOpError("")
           << name << " has shape " << shapeStr(shapeOf(value)) << ", must be "
           << shapeStr(shape) << " (" << constraint << ")";
  return success();
}

LogicalResult sp::verifyRank(Operation *op, StringRef name, Value value,
                             int64_t rank, StringRef constraint) {
  if (tensorType(value).getRank() != rank)
    return op->emitOpError("")
           << name << " has rank " << tensorType(value).getRank()
           << ", must be " << rank << " (" << constraint << ")";
  return success();
}

LogicalResult sp::verifyMinRank(Operation *op, StringRef name, Value value,
                                int64_t rank, StringRef constraint) {
  if (tensorType(value).getRank() < rank)
    return op->emitOpError("")
           << name << " has rank " << tensorType(value).getRank()
           << ", must be at least " << rank << " (" << constraint << ")";
  return success();
}

LogicalResult sp::verifySameElementType(Operation *op, ValueRange values,
                                        StringRef constraint) {
  Type first = tensorType(values.front()).getElementType();
  for (Value value : values.drop_front())
    if (tensorType(value).getElementType() != first)
      return op->emitOpError("mixes element types ")
             << first << " and " << tensorType(value).getElementType() << " ("
             << constraint << ")";
  return success();
}

SmallVector<Value> sp::operandsAndResults(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  return values;
}

bool sp::isExactly(const llvm::SmallBitVector &operands,
                   std::initializer_list<unsigned> wanted) {
  return operands.count() == wanted.size() &&
         llvm::all_of(wanted, [&](unsigned i) { return operands.test(i); });
}

LogicalResult sp::verifyElementwise(Operation *op) {
  for (Value operand : op->getOperands())
    if (failed(verifyShape(op, "result", op->getResult(0), shapeOf(operand),
                           "C1")))
      return failure();
  return verifySameElementType(op, operandsAndResults(op), "C1");
}

LogicalResult sp::verifyWeightElementType(Operation *op, Value data,
                                          Value weight, StringRef constraint) {
  Type element = tensorType(weight).getElementType();
  if (tensorType(data).getElementType().isBF16() && element.isF32())
    return success();
  return verifySameElementType(op, {data, weight}, constraint);
}

LogicalResult sp::verifyNotNegative(Operation *op, StringRef name,
                                    const llvm::APFloat &value,
                                    StringRef constraint) {
  if (!(value.convertToDouble() >= 0))
    return op->emitOpError("")
           << name << " is " << value.convertToDouble()
           << ", must not be negative (" << constraint << ")";
  return success();
}

LogicalResult sp::verifyProbability(Operation *op, StringRef name,
                                    const llvm::APFloat &value,
                                    StringRef constraint) {
  double p = value.convertToDouble();
  if (!(p >= 0 && p < 1))
    return op->emitOpError("") << name << " is " << p << ", must be in [0, 1) ("
                               << constraint << ")";
  return success();
}

LogicalResult sp::verifyLayoutOf(Operation *op, LayoutAttr layout, Value value,
                                 StringRef constraint) {
  return layout.verifyEncoding(
      shapeOf(value), tensorType(value).getElementType(),
      [&] { return op->emitOpError("(") << constraint << ") "; });
}

bool sp::splitsHeadGroups(Operation *op, ValueRange keyAndValue,
                          StringRef axis) {
  auto module = op->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? MeshOp::lookup(module) : MeshOp();
  if (!mesh)
    return false;
  for (Value value : keyAndValue) {
    // Query heads are numbered group by group, so the groups must be what the
    // major axes share out.
    int64_t heads = tensorType(value).getDimSize(2);
    for (StringAttr other : mesh.getLeafAxes()) {
      if (getAxisLayout(value.getType(), other) != AxisLayout::shard(2))
        continue;
      if (mesh.getAxisIndex(other) >= mesh.getAxisIndex(axis) ||
          heads % mesh.getAxisSize(other))
        return false;
      heads /= mesh.getAxisSize(other);
    }
    if (heads != 1)
      return false;
  }
  return true;
}
