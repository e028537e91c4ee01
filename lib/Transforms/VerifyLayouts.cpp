//===- VerifyLayouts.cpp - checks every layout in a module ----------------===//
//
// The gate between phases: an op without a layout rule must not touch a tensor
// with a layout, and every other op must obey its rule along each mesh axis.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPVERIFYLAYOUTS
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

/// An error about `op`; a function or a loop is named, not printed whole.
static InFlightDiagnostic emitOpError(Operation *op) {
  if (op->getNumRegions() == 0)
    return op->emitOpError("");
  return emitError(op->getLoc()) << "'" << op->getName() << "' op ";
}

namespace {

class LayoutVerifier {
public:
  explicit LayoutVerifier(MeshOp mesh) : mesh(mesh) {
    if (mesh)
      axes = mesh.getLeafAxes();
  }

  LogicalResult verify(Operation *op);

private:
  /// C1, C2 for every layout inside `type`.
  LogicalResult verifyType(Operation *op, Type type);
  /// C1: an axis whose parts are alike is written as one.
  LogicalResult verifyParts(Operation *op, RankedTensorType type);
  /// C4 for the arguments and results of a function.
  LogicalResult verifySignature(FunctionOpInterface function);
  /// C3.
  LogicalResult verifyRule(Operation *op);

  MeshOp mesh;
  SmallVector<StringAttr> axes;
  /// Types repeat; each is checked once.
  DenseSet<Type> verified;
};

} // namespace

LogicalResult LayoutVerifier::verifyParts(Operation *op, RankedTensorType type) {
  for (const AxisEntry &entry : getLayoutEntries(type)) {
    StringRef axis = getParentAxis(entry.axis);
    if (axis.empty() || llvm::any_of(axes, [&](StringAttr part) {
          return getParentAxis(part) == axis &&
                 getAxisLayout(type, part) != entry.layout;
        }))
      continue;
    return emitOpError(op) << "has type " << type << ", in which all parts of `"
                           << axis << "` are " << entry.layout.str()
                           << "; it must name the axis (C1)";
  }
  return success();
}

LogicalResult LayoutVerifier::verifyType(Operation *op, Type type) {
  if (!verified.insert(type).second)
    return success();
  WalkResult result = type.walk([&](RankedTensorType tensor) {
    auto layout = dyn_cast_or_null<LayoutAttr>(tensor.getEncoding());
    if (!layout) {
      if (!tensor.getEncoding() || !hasLayout(tensor))
        return WalkResult::advance();
      emitOpError(op) << "has type " << tensor
                      << ", which hides a layout inside another encoding (C4)";
      return WalkResult::interrupt();
    }
    if (!mesh) {
      emitOpError(op) << "has type " << tensor
                      << ", but the module has no `sp.mesh` (C1)";
      return WalkResult::interrupt();
    }
    if (failed(verifyParts(op, tensor)))
      return WalkResult::interrupt();
    int64_t last = -1;
    for (const AxisEntry &entry : layout.getEntries()) {
      int64_t index = mesh.getAxisIndex(entry.axis);
      if (index < 0) {
        emitOpError(op) << "has type " << tensor
                        << ", but the mesh has no axis `"
                        << entry.axis.getValue() << "` (C1)";
        return WalkResult::interrupt();
      }
      if (index <= last) {
        emitOpError(op) << "has type " << tensor
                        << ", whose axes are not in mesh order (C1)";
        return WalkResult::interrupt();
      }
      last = index;
      if (!entry.layout.isShard())
        continue;
      int64_t extent = tensor.getDimSize(entry.layout.dim);
      int64_t size = mesh.getAxisSize(entry.axis);
      bool dynamic = ShapedType::isDynamic(extent);
      if (dynamic || extent % size) {
        emitOpError(op) << "has type " << tensor << ", whose dimension "
                        << entry.layout.dim << " ("
                        << (dynamic ? "?" : std::to_string(extent))
                        << ") is not divisible by `" << entry.axis.getValue()
                        << "` = " << size << " (C2)";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyBoundary(Operation *op, StringRef what, unsigned i,
                                    Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto layout = tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                       : LayoutAttr();
  if (!layout) {
    if (hasLayout(type))
      return emitOpError(op)
             << what << " #" << i << " has type " << type
             << ", which hides a layout inside another type (C4)";
    return success();
  }
  for (const AxisEntry &entry : layout.getEntries())
    if (!entry.layout.isShard())
      return emitOpError(op)
             << what << " #" << i << " is " << entry.layout.str() << " along `"
             << entry.axis.getValue() << "`, must be invariant or sharded (C4)";
  return success();
}

/// What `sp-localize` leaves on a function.
static bool isLocalised(Operation *function) {
  return function && function->hasAttr(kCollectivesAttr);
}

/// C6 for ops: those that give each rank its own value, without a type that
/// says so, are for localised functions, and layouts for all others.
static LogicalResult verifyPhase(Operation *op, bool touches) {
  bool isLocal =
      isa<CollectiveOp, LocalSliceOp, LocalZeroPadOp>(op) ||
      (isa<DropoutOp, AttentionOp, AttentionGradOp, EmbeddingOp,
           EmbeddingGradOp, CrossEntropyPartsOp, CrossEntropyPartsGradOp>(op) &&
       op->hasAttr("layout"));
  bool localised = isLocalised(op->getParentOfType<func::FuncOp>());
  if (isLocal && !localised)
    return op->emitOpError("is an op of localised programs; before "
                           "sp-localize, layouts change by `sp.all_reduce`, "
                           "`sp.reduce_scatter`, `sp.all_gather`, `sp.slice` "
                           "and `sp.zero_pad`, and no op has a `layout` (C6)");
  if (touches && localised)
    return op->emitOpError("touches a tensor with a layout in a function that "
                           "is localised (it has `")
           << kCollectivesAttr << "`) (C6)";
  return success();
}

/// C6 for functions.
static LogicalResult verifyPhase(FunctionOpInterface function) {
  if (isLocalised(function)) {
    if (hasLayout(function.getFunctionType()))
      return emitOpError(function) << "has layouts, but is localised (it has `"
                                   << kCollectivesAttr << "`) (C6)";
    return success();
  }
  auto refuse = [&](StringRef what, unsigned i) {
    return emitOpError(function)
           << what << " #" << i << " has `" << kLayoutAttr
           << "`, which is for localised functions; write the layout as the "
              "type's encoding (C6)";
  };
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kLayoutAttr))
      return refuse("argument", i);
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (function.getResultAttr(i, kLayoutAttr))
      return refuse("result", i);
  return success();
}

/// C7: what a result is the gradient or the new value of.
static LogicalResult verifyUpdates(FunctionOpInterface function) {
  // By attribute and name, the arguments.
  llvm::DenseMap<std::pair<StringRef, StringRef>, Type> arguments;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    for (StringRef attribute : {kParamAttr, kStateAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attribute))
        arguments[{attribute, name.getValue()}] = type;
  auto check = [&](unsigned i, Type type, StringRef what, StringRef attribute,
                   StringRef name) -> LogicalResult {
    auto argument = arguments.find({attribute, name});
    if (argument == arguments.end() || argument->second == type)
      return success();
    return emitOpError(function)
           << "result #" << i << " is " << type << ", but is the " << what
           << " of `" << name << "`, which is " << argument->second << " (C7)";
  };
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    for (StringRef attribute : {kParamAttr, kStateAttr})
      if (auto name = function.getResultAttrOfType<StringAttr>(i, attribute))
        if (failed(check(i, type, "new value", attribute, name)))
          return failure();
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue().starts_with(kGradientPrefix) &&
        failed(check(i, type, "gradient", kParamAttr,
                     name.getValue().drop_front(kGradientPrefix.size()))))
      return failure();
  }
  return success();
}

LogicalResult LayoutVerifier::verifySignature(FunctionOpInterface function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(verifyType(function, type)) ||
        failed(verifyBoundary(function, "argument", i, type)))
      return failure();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(verifyType(function, type)) ||
        failed(verifyBoundary(function, "result", i, type)))
      return failure();
  return verifyUpdates(function);
}

LogicalResult LayoutVerifier::verifyRule(Operation *op) {
  bool touches = llvm::any_of(op->getOperandTypes(), hasLayout) ||
                 llvm::any_of(op->getResultTypes(), hasLayout);
  if (failed(verifyPhase(op, touches)))
    return failure();
  if (!touches)
    return success();
  for (Type type : op->getOperandTypes())
    if (failed(verifyType(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(verifyType(op, type)))
      return failure();
  // A return hands over what the signature says; its own verifier compares the
  // types.
  if (isa<func::ReturnOp>(op))
    return success();
  auto iface = dyn_cast<LayoutOpInterface>(op);
  if (!iface)
    return op->emitOpError("touches a tensor with a layout, but has no layout "
                           "rule (C3)");
  for (StringAttr axis : axes) {
    auto along = [&](TypeRange types) {
      return llvm::map_to_vector(
          types, [&](Type type) { return getAxisLayout(type, axis); });
    };
    if (failed(iface.verifyLayouts(axis, along(op->getOperandTypes()),
                                   along(op->getResultTypes()))))
      return failure();
  }
  return success();
}

LogicalResult LayoutVerifier::verify(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function &&
      (failed(verifyPhase(function)) || failed(verifySignature(function))))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      if (function && block.isEntryBlock())
        continue; // Its arguments are the signature's.
      for (BlockArgument argument : block.getArguments())
        if (hasLayout(argument.getType()))
          return emitOpError(op)
                 << "has a block argument of type " << argument.getType()
                 << "; only function arguments may have layouts (C4)";
    }
  return verifyRule(op);
}

namespace {
struct VerifyLayouts : sp::impl::SPVerifyLayoutsBase<VerifyLayouts> {
  void runOnOperation() override {
    // Nested modules have none of their own: layouts are looked up in one.
    SmallVector<MeshOp> meshes;
    getOperation().walk([&](MeshOp mesh) { meshes.push_back(mesh); });
    if (meshes.size() > 1) {
      meshes[1].emitOpError("is a second mesh; a module has at most one (C5)");
      return signalPassFailure();
    }
    LayoutVerifier verifier(meshes.empty() ? MeshOp() : meshes.front());
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return WalkResult(verifier.verify(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
    else
      markAllAnalysesPreserved();
  }
};
} // namespace
