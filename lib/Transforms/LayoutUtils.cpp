//===- LayoutUtils.cpp - what the sharding passes share -------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Dialect/LinalgReductions.h"

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

AllReduceOp sp::sumOverRanks(Value summand, StringAttr axis,
                             ArrayRef<StringAttr> meshAxes) {
  Type whole = summand.getType();
  setAxisLayout(summand, axis, AxisLayout::partial(), meshAxes);
  OpBuilder builder(summand.getContext());
  builder.setInsertionPointAfterValue(summand);
  auto sum = AllReduceOp::create(builder, summand.getLoc(), whole, summand);
  summand.replaceAllUsesExcept(sum, sum);
  return sum;
}

Operation *sp::mergeReductions(arith::AddFOp add) {
  Operation *lhs = add.getLhs().getDefiningOp();
  Operation *rhs = add.getRhs().getDefiningOp();
  if (!lhs || !rhs || lhs == rhs || lhs->getName() != rhs->getName() ||
      !isa<AllReduceOp, ReduceScatterOp>(lhs) ||
      lhs->getBlock() != add->getBlock() ||
      rhs->getBlock() != add->getBlock() || !lhs->hasOneUse() ||
      !rhs->hasOneUse() ||
      lhs->getOperand(0).getType() != rhs->getOperand(0).getType())
    return nullptr;
  OpBuilder builder(add);
  Value summand = arith::AddFOp::create(builder, add.getLoc(),
                                        lhs->getOperand(0), rhs->getOperand(0));
  Operation *sum = builder.clone(*lhs);
  sum->setOperand(0, summand);
  add->replaceAllUsesWith(sum);
  for (Operation *op : {add.getOperation(), lhs, rhs})
    op->erase();
  return sum;
}

FailureOr<MeshOp> sp::requireMeshAxis(ModuleOp module, StringRef axis,
                                      StringRef pass) {
  MeshOp mesh = MeshOp::lookup(module);
  if (!mesh || mesh.getAxisSize(axis) == 0)
    return emitError(module.getLoc())
           << pass << ": the module has no mesh with an axis `" << axis
           << "`; run sp-tensor-parallel first (C1)";
  return mesh;
}

void sp::updateSignature(func::FuncOp function) {
  Block &entry = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), entry.getArgumentTypes(),
                        entry.getTerminator()->getOperandTypes()));
}

Value sp::cloneSource(OpBuilder &builder, Operation *op,
                      RankedTensorType type) {
  Location loc = op->getLoc();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(
        builder, loc,
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  Value empty = tensor::EmptyOp::create(builder, loc, type, ValueRange());
  if (isa<tensor::EmptyOp>(op))
    return empty;
  // What else was in the init of a fill does not matter.
  Value filled = cast<linalg::FillOp>(op).value();
  return linalg::FillOp::create(builder, loc, filled, empty).getResult(0);
}

bool sp::isContraction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return isa<LinearOp, LinearInputGradOp, LinearWeightGradOp>(op) ||
         (linalgOp && isContraction(linalgOp));
}

/// The axis that shards the first dimension; null if there is none.
static StringAttr getRowAxis(RankedTensorType from, RankedTensorType to) {
  for (RankedTensorType type : {from, to})
    for (const AxisEntry &entry : getLayoutEntries(type))
      if (entry.layout.isShard())
        return entry.axis;
  return {};
}

bool sp::canBePacked(RankedTensorType from, RankedTensorType to) {
  // A row has a part of every tensor, so one axis makes the rows.
  StringAttr rowAxis = getRowAxis(from, to);
  return llvm::all_of(ArrayRef<RankedTensorType>{from, to}, [&](auto type) {
    return llvm::all_of(getLayoutEntries(type), [&](const AxisEntry &entry) {
      return !entry.layout.isShard() ||
             (entry.layout == AxisLayout::shard(0) && entry.axis == rowAxis);
    });
  });
}

UnpackOp sp::changeTogether(ImplicitLocOpBuilder &b,
                            ArrayRef<Operation *> changes, MeshOp mesh) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  int64_t elements = 0;
  for (Operation *op : changes) {
    inputs.push_back(op->getOperand(0));
    types.push_back(op->getResult(0).getType());
    elements += tensorType(inputs.back()).getNumElements();
  }
  auto from = tensorType(inputs.front()), to = cast<RankedTensorType>(types[0]);
  SmallVector<int64_t> shape{elements};
  if (StringAttr axis = getRowAxis(from, to)) {
    int64_t rows = mesh.getAxisSize(axis);
    shape = {rows, elements / rows};
  }
  auto pack = [&](RankedTensorType type) {
    return RankedTensorType::get(shape, type.getElementType(),
                                 type.getEncoding());
  };
  Value packed = PackOp::create(b, pack(from), inputs);
  Value changed = createLayoutChange(b, packed, pack(to));
  auto unpacked = UnpackOp::create(b, types, changed);
  for (auto [op, value] : llvm::zip(changes, unpacked.getResults())) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  return unpacked;
}

Location sp::getNameLoc(func::FuncOp function) {
  return NameLoc::get(function.getSymNameAttr());
}

SmallVector<StringRef> sp::getLocNames(Location loc) {
  SmallVector<StringRef> names;
  if (auto name = dyn_cast<NameLoc>(loc))
    names.push_back(name.getName());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      llvm::append_range(names, getLocNames(inner));
  return names;
}

StringRef sp::getLocName(Location loc) {
  SmallVector<StringRef> names = getLocNames(loc);
  return names.empty() ? StringRef() : names.front();
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
