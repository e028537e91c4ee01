//===- LayoutUtils.cpp - what the sharding passes share -------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sp;

void sp::setAxisLayout(Value value, StringAttr axis, AxisLayout layout,
                       ArrayRef<StringAttr> meshAxes) {
  RankedTensorType type =
      withAxisLayout(tensorType(value), axis, layout, meshAxes);
  value.setType(type);
  // A constant's attribute has the type of its result.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto elements = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(elements.resizeSplat(type));
}

void sp::updateSignature(func::FuncOp function) {
  Block &entry = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), entry.getArgumentTypes(),
                        entry.getTerminator()->getOperandTypes()));
}

bool sp::isUniformSource(Operation *op) {
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa_and_nonnull<tensor::EmptyOp>(op);
}

Location sp::getNameLoc(func::FuncOp function) {
  return NameLoc::get(function.getSymNameAttr());
}

StringRef sp::getLocName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      if (StringRef name = getLocName(inner); !name.empty())
        return name;
  return {};
}

std::string sp::describe(Operation *op) {
  std::string text = ("`" + op->getName().getStringRef() + "`").str();
  if (StringRef name = getLocName(op->getLoc()); !name.empty())
    text += (" (" + name + ")").str();
  return text;
}

std::string sp::describe(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "the result of " + describe(value.getDefiningOp());
  if (auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
    for (StringRef attr : {kParamAttr, kInputAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), attr))
        return ("`" + name.getValue() + "`").str();
  return "argument #" + std::to_string(argument.getArgNumber());
}
