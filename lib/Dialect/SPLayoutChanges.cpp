//===- SPLayoutChanges.cpp - the ops that change a layout -----------------===//
//
// One table says which change each op is; everything else is shared.
//
//===----------------------------------------------------------------------===//

#include "sp/Dialect/Adjoint.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

namespace {
/// What a layout-change op turns into what.
struct Change {
  LayoutKind from[2];
  LayoutKind to[2];
};
} // namespace

template <typename OpTy> static Change getChange() {
  using K = LayoutKind;
  if constexpr (std::is_same_v<OpTy, CopyOp>)
    return {{K::Invariant, K::Invariant}, {K::Replicate, K::Replicate}};
  else if constexpr (std::is_same_v<OpTy, SliceOp>)
    return {{K::Invariant, K::Replicate}, {K::Shard, K::Shard}};
  else if constexpr (std::is_same_v<OpTy, ZeroPadOp>)
    return {{K::Shard, K::Shard}, {K::Partial, K::Partial}};
  else if constexpr (std::is_same_v<OpTy, AllReduceOp>)
    return {{K::Partial, K::Partial}, {K::Invariant, K::Invariant}};
  else if constexpr (std::is_same_v<OpTy, ReduceScatterOp>)
    return {{K::Partial, K::Partial}, {K::Shard, K::Shard}};
  else
    return {{K::Shard, K::Shard}, {K::Replicate, K::Invariant}};
}

static bool contains(const LayoutKind (&kinds)[2], AxisLayout layout) {
  return kinds[0] == layout.kind || kinds[1] == layout.kind;
}

static std::string str(const LayoutKind (&kinds)[2]) {
  auto name = [](LayoutKind kind) {
    return kind == LayoutKind::Shard ? std::string("shard(d)")
                                     : AxisLayout{kind, -1}.str();
  };
  return kinds[0] == kinds[1] ? name(kinds[0])
                              : name(kinds[0]) + " or " + name(kinds[1]);
}

template <typename OpTy> static LogicalResult verifyChange(OpTy op) {
  auto from = cast<RankedTensorType>(op.getInput().getType());
  auto to = cast<RankedTensorType>(op.getResult().getType());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return op.emitOpError("changes the shape or element type from ")
           << from << " to " << to << ", must change only the layout (C1)";
  for (RankedTensorType type : {from, to})
    if (Attribute encoding = type.getEncoding();
        encoding && !isa<LayoutAttr>(encoding))
      return op.emitOpError("has type ")
             << type << ", whose encoding is no layout; must change only the "
             << "layout (C1)";
  SmallVector<StringAttr> axes = getChangedAxes(from, to);
  if (axes.size() != 1)
    return op.emitOpError("changes the layout along ")
           << axes.size() << " axes, must change exactly one (C1): " << from
           << " to " << to;
  Change change = getChange<OpTy>();
  if (!contains(change.from, op.getFrom()) || !contains(change.to, op.getTo()))
    return op.emitOpError("changes ")
           << op.getFrom().str() << " to " << op.getTo().str() << " along `"
           << axes.front().getValue() << "`, must change " << str(change.from)
           << " to " << str(change.to) << " (C2)";
  return success();
}

/// The result's layout is the op's own choice, within its table row; along
/// other axes the layout goes through unchanged. A change along an axis is one
/// along each of its parts.
template <typename OpTy>
static LogicalResult inferChange(OpTy op, StringRef axis,
                                 ArrayRef<AxisLayout> operands,
                                 SmallVectorImpl<AxisLayout> &results) {
  StringRef own = op.getAxis();
  if (own != axis && own != getParentAxis(axis)) {
    results.assign(1, operands.front());
    return success();
  }
  Change change = getChange<OpTy>();
  if (!contains(change.from, operands.front()))
    return op.emitOpError("operand is ")
           << operands.front().str() << " along `" << axis << "`, must be "
           << str(change.from) << " (C2)";
  results.assign(1, op.getTo());
  return success();
}

// Every layout change is linear, but a partial operand along its own axis is
// the table's business; along another axis a sum goes through unchanged. The
// adjoint is the change between the dual layouts, backwards.
#define SP_LAYOUT_CHANGE(OpTy)                                                 \
  LogicalResult OpTy::verify() { return verifyChange(*this); }                 \
  StringAttr OpTy::getAxis() {                                                 \
    return getChangedAxes(getInput().getType(), getResult().getType())         \
        .front();                                                              \
  }                                                                            \
  AxisLayout OpTy::getFrom() {                                                 \
    return getAxisLayout(getInput().getType(), getAxis());                     \
  }                                                                            \
  AxisLayout OpTy::getTo() {                                                   \
    return getAxisLayout(getResult().getType(), getAxis());                    \
  }                                                                            \
  LayoutRule OpTy::getLayoutRule() {                                           \
    return LayoutRule::elementwise(getOperation());                            \
  }                                                                            \
  bool OpTy::isLinearIn(const llvm::SmallBitVector &) { return true; }         \
  LogicalResult OpTy::inferLayouts(StringRef axis,                             \
                                   ArrayRef<AxisLayout> operands,              \
                                   SmallVectorImpl<AxisLayout> &results) {     \
    return inferChange(*this, axis, operands, results);                        \
  }                                                                            \
  LogicalResult OpTy::verifyLayouts(StringRef axis,                            \
                                    ArrayRef<AxisLayout> operands,             \
                                    ArrayRef<AxisLayout> results) {            \
    return detail::verifyLayoutsByInference(*this, axis, operands, results);   \
  }                                                                            \
  LogicalResult OpTy::emitAdjoint(AdjointEmitter &adjoint) {                   \
    adjoint.add(0, createLayoutChange(adjoint.b, adjoint.getCotangent(),       \
                                      adjoint.getCotangentType(0)));           \
    return success();                                                          \
  }

SP_LAYOUT_CHANGE(CopyOp)
SP_LAYOUT_CHANGE(SliceOp)
SP_LAYOUT_CHANGE(ZeroPadOp)
SP_LAYOUT_CHANGE(AllReduceOp)
SP_LAYOUT_CHANGE(ReduceScatterOp)
SP_LAYOUT_CHANGE(AllGatherOp)
