//===- Adjoint.cpp - reverse-mode differentiation of SSA programs ---------===//

#include "sp/Dialect/Adjoint.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

Type sp::getCotangentType(Type type) {
  SmallVector<AxisEntry> entries(getLayoutEntries(type));
  if (entries.empty())
    return type;
  for (AxisEntry &entry : entries)
    entry.layout = entry.layout.dual();
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(type.getContext(), entries));
}

bool sp::isDifferentiableType(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) &&
         (isa<FloatType>(type) || isa<RankedTensorType>(type));
}

DenseSet<Value> sp::findVaried(Block &block, ValueRange sources) {
  DenseSet<Value> varied(sources.begin(), sources.end());
  for (Operation &op : block) {
    // An op that reads a value from within a region depends on it, too.
    bool reads = op.walk([&](Operation *inner) {
                     return WalkResult(failure(
                         llvm::any_of(inner->getOperands(), [&](Value v) {
                           return varied.contains(v);
                         })));
                   }).wasInterrupted();
    if (!reads)
      continue;
    auto iface = dyn_cast<AdjointOpInterface>(op);
    for (OpResult result : op.getResults())
      if (isDifferentiableType(result.getType()) &&
          (!iface || iface.isDifferentiable(result.getResultNumber())))
        varied.insert(result);
  }
  return varied;
}

void ReverseSweep::add(Value value, Value cotangent, Location loc) {
  if (!isVaried(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? arith::AddFOp::create(builder, loc, sum, cotangent) : cotangent;
}

LogicalResult ReverseSweep::run(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    if (llvm::none_of(op->getResults(), [&](Value v) { return get(v); }))
      continue;
    auto iface = dyn_cast<AdjointOpInterface>(op);
    if (!iface)
      return op->emitOpError("has no adjoint, but the gradient passes through "
                             "it (C2)");
    AdjointEmitter emitter(*this, builder, op);
    if (failed(iface.emitAdjoint(emitter)))
      return failure();
  }
  return success();
}

Value AdjointEmitter::getCotangent(unsigned result) const {
  return sweep.get(op->getResult(result));
}

bool AdjointEmitter::isNeeded(unsigned operand) const {
  return sweep.isVaried(op->getOperand(operand));
}

Type AdjointEmitter::getCotangentType(unsigned operand) const {
  return sp::getCotangentType(op->getOperand(operand).getType());
}

void AdjointEmitter::add(unsigned operand, Value cotangent) {
  sweep.add(op->getOperand(operand), cotangent, op->getLoc());
}

LogicalResult AdjointEmitter::refuse(unsigned operand, StringRef name) {
  if (!isNeeded(operand))
    return success();
  return op->emitOpError("has no adjoint in its ")
         << name << ", but the gradient passes through it (C2)";
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Value sp::createLayoutChange(ImplicitLocOpBuilder &b, Value value, Type to) {
  SmallVector<StringAttr> axes = getChangedAxes(value.getType(), to);
  assert(axes.size() == 1 && "must change the layout along one axis");
  AxisLayout before = getAxisLayout(value.getType(), axes.front());
  AxisLayout after = getAxisLayout(to, axes.front());
  if (before.isShard()) {
    if (after.isPartial())
      return ZeroPadOp::create(b, to, value);
    return AllGatherOp::create(b, to, value);
  }
  if (before.isPartial()) {
    if (after.isShard())
      return ReduceScatterOp::create(b, to, value);
    return AllReduceOp::create(b, to, value);
  }
  if (after.isShard())
    return SliceOp::create(b, to, value);
  return CopyOp::create(b, to, value);
}

Value sp::createProduct(ImplicitLocOpBuilder &b, Type type, Value cotangent,
                        Value factor) {
  if (cotangent.getType() == type && factor.getType() == type)
    return arith::MulFOp::create(b, cotangent, factor);
  return MulOp::create(b, type, cotangent, factor);
}

Value sp::createSplat(ImplicitLocOpBuilder &b, Type type, double value) {
  FloatAttr number = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(tensor, number));
  return arith::ConstantOp::create(b, number);
}
