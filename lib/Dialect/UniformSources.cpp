//===- UniformSources.cpp - tensors that are the same everywhere ----------===//

#include "sp/Dialect/UniformSources.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sp;

bool sp::isUniformSource(Operation *op) {
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return op->getNumResults() == 1 && !isa<ShapedType>(fill.value().getType());
  return isa_and_nonnull<tensor::EmptyOp>(op);
}

bool sp::isZeroSource(Operation *op) {
  auto isZero = [](Attribute value) {
    return matchPattern(value, m_AnyZeroFloat()) ||
           matchPattern(value, m_Zero());
  };
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op)) {
    Attribute value;
    return isUniformSource(op) &&
           matchPattern(fill.value(), m_Constant(&value)) && isZero(value);
  }
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  return splat && isZero(splat.getSplatValue<Attribute>());
}

void sp::eraseUnusedSource(Operation *op) {
  bool isSource = isUniformSource(op) || isa_and_nonnull<arith::ConstantOp>(op);
  if (!isSource || !op->use_empty())
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnusedSource(operand.getDefiningOp());
}
