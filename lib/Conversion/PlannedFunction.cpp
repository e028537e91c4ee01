//===- PlannedFunction.cpp - what the planner and the lowering agree on ---===//

#include "PlannedFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

/// True if a slice is whole rows of the outermost dimension: contiguous.
static bool isLeadingRows(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType(), result = slice.getType();
  if (source.getRank() != result.getRank() || source.getRank() == 0 ||
      !llvm::all_of(slice.getStaticStrides(),
                    [](int64_t stride) { return stride == 1; }) ||
      !slice.getOffsets().empty())
    return false;
  return source.getShape().drop_front() == result.getShape().drop_front();
}

/// True if what is kept is contiguous, and as it was.
static bool isLeadingRows(UnpadOp unpad) {
  return unpad.getDim() == 0 && !unpad.getFold();
}

int64_t sp::getNumRows(Value packed) {
  auto type = cast<RankedTensorType>(packed.getType());
  return llvm::product_of(type.getShape().drop_back());
}

Value sp::getAliasedOperand(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  auto unpack = dyn_cast<UnpackOp>(op);
  auto unpad = dyn_cast<UnpadOp>(op);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, CheckTargetsOp,
          OptimizationBarrierOp>(op) ||
      (slice && isLeadingRows(slice)) ||
      (unpack && getNumRows(unpack.getInput()) == 1) ||
      (unpad && isLeadingRows(unpad)))
    return op->getOperand(0);
  return {};
}

/// Where in its operand's buffer the result is, in bytes.
static int64_t getAliasOffset(OpResult result) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(result.getOwner())) {
    RankedTensorType type = slice.getType();
    return slice.getStaticOffsets().front() *
           getByteSize(RankedTensorType::get(type.getShape().drop_front(),
                                             type.getElementType()));
  }
  int64_t offset = 0;
  for (unsigned i = 0; i < result.getResultNumber(); ++i)
    offset += getByteSize(result.getOwner()->getResult(i).getType());
  return offset;
}

std::pair<Value, int64_t> sp::findBuffer(Value value) {
  int64_t offset = 0;
  while (auto result = dyn_cast<OpResult>(value)) {
    Value source = getAliasedOperand(result.getOwner());
    if (!source)
      break;
    offset += getAliasOffset(result);
    value = source;
  }
  return {value, offset};
}

BufferLifetimes::BufferLifetimes(Block &block) {
  for (Operation &op : block) {
    for (Value operand : op.getOperands())
      lastUse[getRoot(operand)] = &op;
    if (Value source = getAliasedOperand(&op))
      for (Value result : op.getResults())
        rootOf[result] = getRoot(source);
  }
}

void BufferLifetimes::forEachDying(
    Operation *op, llvm::function_ref<void(Value)> callback) const {
  for (Value operand : op->getOperands())
    if (Value root = getRoot(operand); getLastUse(root) == op)
      callback(root);
  for (Value result : op->getResults())
    if (!getLastUse(result))
      callback(result);
}

SmallVector<int64_t> sp::getUpdatedArguments(func::FuncOp function) {
  llvm::DenseMap<std::pair<StringRef, StringAttr>, int64_t> arguments;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    for (StringRef role : {kParamAttr, kStateAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(i, role))
        arguments[{role, name}] = i;
  SmallVector<int64_t> updated;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    updated.push_back(-1);
    for (StringRef role : {kParamAttr, kStateAttr})
      if (auto name = function.getResultAttrOfType<StringAttr>(i, role))
        if (auto it = arguments.find({role, name}); it != arguments.end())
          updated.back() = it->second;
  }
  return updated;
}

bool sp::ownsResultBuffers(Operation *op) {
  return op->getNumResults() != 0 && !getAliasedOperand(op) &&
         !isa<arith::ConstantOp>(op) &&
         llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

int64_t sp::getByteSize(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
}

LogicalResult sp::verifyLocalType(Operation *op, Type type) {
  if (hasLayout(type))
    return op->emitOpError("has type ")
           << type << ", which has a layout; run `sp-localize` first (C2)";
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return success();
  Type element = tensor.getElementType();
  if (!isa<RankedTensorType>(type) || !tensor.hasStaticShape())
    return op->emitOpError("has type ")
           << type << ", whose shape is not static (C2)";
  if (!element.isF32() && !element.isF64() && !element.isBF16() &&
      !element.isInteger(64))
    return op->emitOpError("has type ")
           << type << ", but the runtime has only f32, f64, bf16 and i64 (C2)";
  return success();
}
