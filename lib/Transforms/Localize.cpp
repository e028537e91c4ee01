//===- Localize.cpp - global shapes become what one rank holds ------------===//
//
// The border between the two halves of the compiler: before it, types say what
// every rank holds; after it, there is one rank's program, and attributes keep
// what files and later checks need.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

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
  struct Change;
  void replace(const Change &change);
  void recordPart(Operation *op);
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

/// All attributes at once: each change makes a new array of all of them.
void Localize::recordLayouts(func::FuncOp function) {
  auto add = [&](TypeRange types, function_ref<DictionaryAttr(unsigned)> get) {
    SmallVector<DictionaryAttr> all;
    for (auto [i, type] : llvm::enumerate(types)) {
      NamedAttrList attributes(get(i));
      if (LayoutAttr layout = getLayout(type))
        attributes.set(kLayoutAttr, layout);
      all.push_back(attributes.getDictionary(&getContext()));
    }
    return all;
  };
  function.setAllArgAttrs(add(function.getArgumentTypes(), [&](unsigned i) {
    return function.getArgAttrDict(i);
  }));
  function.setAllResultAttrs(add(function.getResultTypes(), [&](unsigned i) {
    return function.getResultAttrDict(i);
  }));
}

/// What a layout change becomes, read off its types while they are global.
struct Localize::Change {
  Operation *op;
  StringAttr axis;
  AxisLayout from, to;
};

void Localize::replace(const Change &change) {
  Operation *op = change.op;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value input = op->getOperand(0);
  Type type = getLocalType(tensorType(op->getResult(0)));
  auto collective = [&](CollectiveKind kind, AxisLayout sharded) -> Value {
    IntegerAttr dim;
    if (sharded.isShard())
      dim = builder.getI64IntegerAttr(sharded.dim);
    return CollectiveOp::create(builder, loc, type, kind, input, change.axis,
                                dim);
  };
  Value local =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<CopyOp>([&](auto) { return input; })
          .Case<SliceOp>([&](auto) {
            return LocalSliceOp::create(builder, loc, type, input, change.axis,
                                        change.to.dim);
          })
          .Case<ZeroPadOp>([&](auto) {
            return LocalZeroPadOp::create(builder, loc, type, input,
                                          change.axis, change.from.dim);
          })
          .Case<AllReduceOp>(
              [&](auto) { return collective(CollectiveKind::AllReduce, {}); })
          .Case<ReduceScatterOp>([&](auto) {
            return collective(CollectiveKind::ReduceScatter, change.to);
          })
          .Case<AllGatherOp>([&](auto) {
            return collective(CollectiveKind::AllGather, change.from);
          });
  op->getResult(0).replaceAllUsesWith(local);
  op->erase();
}

static bool hasMask(DropoutOp) { return true; }
template <typename OpTy> static bool hasMask(OpTy attention) {
  return attention.getDropout().has_value();
}

/// Keeps the layout of the tensor of which an op asks where the rank's part is,
/// while types are global.
void Localize::recordPart(Operation *op) {
  auto record = [](auto op, Value tensor) {
    if (LayoutAttr layout = getLayout(tensor.getType()))
      op.setLayoutAttr(layout);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<DropoutOp, AttentionOp, AttentionGradOp>([&](auto op) {
        if (hasMask(op))
          record(op, op->getResult(0));
      })
      .Case([&](EmbeddingOp op) { record(op, op.getTable()); })
      .Case([&](EmbeddingGradOp op) { record(op, op.getResult()); })
      .Case<CrossEntropyPartsOp, CrossEntropyPartsGradOp>(
          [&](auto op) { record(op, op.getLogits()); });
}

/// Gives the results their local types, and attributes that repeat a shape.
void Localize::localizeOp(Operation *op) {
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
  SmallVector<Change> changes;
  SmallVector<Operation *> others;
  function.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
              AllGatherOp>([&](auto change) {
          changes.push_back(
              {change, change.getAxis(), change.getFrom(), change.getTo()});
        })
        .Default([&](Operation *other) {
          recordPart(other);
          others.push_back(other);
        });
  });
  for (const Change &change : changes)
    replace(change);
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
  if (failed(runPipeline(verifier, getOperation())) ||
      failed(verifyStraightLine(getOperation(), "sp-localize", "C2")))
    return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>())
    localize(function);
}
