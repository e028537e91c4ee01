//===- KernelBuilder.cpp - row kernels from ops on tensors ----------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sp;

RowKernelOp KernelBuilder::finish(Body body) {
  Location loc = op->getLoc();
  auto kernel =
      RowKernelOp::create(builder, loc, outputs, inputs, rows, cols,
                          builder.getAffineMapArrayAttr(inputMaps),
                          builder.getAffineMapArrayAttr(outputMaps),
                          builder.getDenseI64ArrayAttr(outputResults));
  Block &block = kernel.getBody().emplaceBlock();
  auto inner = ImplicitLocOpBuilder::atBlockEnd(loc, &block);
  SmallVector<Value> loaded;
  for (Value input : inputs) {
    Type type = tensorType(input).getElementType();
    Value element = block.addArgument(type, loc);
    if (type.isBF16())
      element = arith::ExtFOp::create(inner, inner.getF32Type(), element);
    loaded.push_back(element);
  }
  SmallVector<Value> values = body(
      inner,
      llvm::map_to_vector(slots, [&](unsigned slot) { return loaded[slot]; }));
  for (auto [value, result] : llvm::zip_equal(values, outputResults))
    if (Type type = tensorType(kernel.getResult(result)).getElementType();
        type.isBF16())
      value = inner.createOrFold<arith::TruncFOp>(type, value);
  YieldOp::create(inner, values);
  return kernel;
}

Type sp::getComputeType(Type element) {
  return element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

Value sp::createFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

bool sp::isStorable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 0)
    return false;
  Type element = tensor.getElementType();
  return element.isF32() || element.isF64() || element.isBF16() ||
         element.isInteger(64);
}

TypedAttr sp::getScalar(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return isa<ShapedType>(fill.value().getType()) ? TypedAttr()
                                                   : getScalar(fill.value());
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return dyn_cast<TypedAttr>(attribute);
  return elements.isSplat() ? elements.getSplatValue<TypedAttr>() : TypedAttr();
}

Value sp::createScalar(ImplicitLocOpBuilder &b, TypedAttr scalar) {
  if (auto number = dyn_cast<FloatAttr>(scalar))
    return createFloat(b, getComputeType(number.getType()),
                       number.getValueAsDouble());
  return arith::ConstantOp::create(b, scalar);
}

LogicalResult sp::verifyDivision(Operation *op, TypedAttr divisor) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return success();
  auto number = dyn_cast_or_null<IntegerAttr>(divisor);
  if (number && !number.getValue().isZero() && !number.getValue().isAllOnes())
    return success();
  return op->emitOpError("divides integers by what may be 0, or -1, which "
                         "would end the process; only other constants are "
                         "allowed (C4)");
}

SmallVector<Value> sp::cloneScalar(ImplicitLocOpBuilder &b, Operation *op,
                                   ValueRange operands) {
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(getElementTypeOrSelf(type));
  if (isa<arith::TruncFOp>(op) && types[0].isBF16()) {
    Value rounded = arith::TruncFOp::create(b, types[0], operands[0]);
    return {arith::ExtFOp::create(b, b.getF32Type(), rounded)};
  }
  llvm::transform(types, types.begin(), getComputeType);
  // A bf16 has been widened already.
  if (isa<arith::ExtFOp>(op) && operands[0].getType() == types[0])
    return {operands[0]};
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}
