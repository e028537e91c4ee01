//===- Localize.cpp - global shapes become what one rank holds ------------===//
//
// The border between the two halves of the compiler: before it, types say what
// every rank holds; after it, there is one rank's program, and attributes keep
// what files and later checks need.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPLOCALIZE
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct Localize : sp::impl::SPLocalizeBase<Localize> {
  void runOnOperation() override;

private:
  RankedTensorType getLocalType(RankedTensorType type);
  void recordLayouts(func::FuncOp function);
  void localize(func::FuncOp function);
  void replaceLayoutChange(Operation *op);
  void localizeOp(Operation *op);

  MeshOp mesh;
};
} // namespace

static LayoutAttr getLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

RankedTensorType Localize::getLocalType(RankedTensorType type) {
  LayoutAttr layout = getLayout(type);
  if (!layout)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  for (const AxisEntry &entry : layout.getEntries())
    if (entry.layout.isShard())
      shape[entry.layout.dim] /= mesh.getAxisSize(entry.axis);
  return RankedTensorType::get(shape, type.getElementType());
}

void Localize::recordLayouts(func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (LayoutAttr layout = getLayout(type))
      function.setArgAttr(i, kLayoutAttr, layout);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (LayoutAttr layout = getLayout(type))
      function.setResultAttr(i, kLayoutAttr, layout);
}

/// Called after the operand has its local type and before the result has.
void Localize::replaceLayoutChange(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value input = op->getOperand(0);
  Type type = getLocalType(tensorType(op->getResult(0)));
  auto replace = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  };
  auto collective = [&](CollectiveKind kind, StringAttr axis, IntegerAttr dim) {
    replace(CollectiveOp::create(builder, loc, type, kind, input, axis, dim));
  };
  if (auto copy = dyn_cast<CopyOp>(op))
    replace(input);
  else if (auto slice = dyn_cast<SliceOp>(op))
    replace(LocalSliceOp::create(builder, loc, type, input, slice.getAxis(),
                                 slice.getTo().dim));
  else if (auto pad = dyn_cast<ZeroPadOp>(op))
    replace(LocalZeroPadOp::create(builder, loc, type, input, pad.getAxis(),
                                   pad.getFrom().dim));
  else if (auto reduce = dyn_cast<AllReduceOp>(op))
    collective(CollectiveKind::AllReduce, reduce.getAxis(), {});
  else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    collective(CollectiveKind::ReduceScatter, scatter.getAxis(),
               builder.getI64IntegerAttr(scatter.getTo().dim));
  else if (auto gather = dyn_cast<AllGatherOp>(op))
    collective(CollectiveKind::AllGather, gather.getAxis(),
               builder.getI64IntegerAttr(gather.getFrom().dim));
}

/// Gives the results their local types, and attributes that repeat a shape.
void Localize::localizeOp(Operation *op) {
  if (auto dropout = dyn_cast<DropoutOp>(op))
    if (LayoutAttr layout = getLayout(dropout.getResult().getType()))
      dropout.setLayoutAttr(layout);
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || !getLayout(type))
      continue;
    RankedTensorType local = getLocalType(type);
    result.setType(local);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto elements = cast<DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(elements.isSplat() ? elements.resizeSplat(local)
                                               : elements.reshape(local));
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      expand.setStaticOutputShape(local.getShape());
  }
}

void Localize::localize(func::FuncOp function) {
  recordLayouts(function);
  // Layouts of results that a layout change reads are needed until it is
  // replaced, so all of them go first, each looking at global types only.
  SmallVector<Operation *> changes, others;
  function.walk([&](Operation *op) {
    bool changesLayout = isa<CopyOp, SliceOp, ZeroPadOp, AllReduceOp,
                             ReduceScatterOp, AllGatherOp>(op);
    (changesLayout ? changes : others).push_back(op);
  });
  for (Operation *op : changes)
    replaceLayoutChange(op);
  for (Operation *op : others)
    localizeOp(op);
  if (function.isDeclaration())
    return;
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      argument.setType(getLocalType(type));
  updateSignature(function);
  recordCollectives(function);
}

void Localize::runOnOperation() {
  mesh = MeshOp::lookup(getOperation());
  OpPassManager verifier("builtin.module");
  verifier.addPass(createSPVerifyLayouts());
  if (failed(runPipeline(verifier, getOperation())))
    return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>())
    localize(function);
}
