//===- PlannedFunction.cpp - what the planner and the lowering agree on ---===//

#include "PlannedFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

Value sp::getAliasedOperand(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, CheckTargetsOp>(op))
    return op->getOperand(0);
  return {};
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
