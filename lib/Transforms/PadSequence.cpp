//===- PadSequence.cpp - a sequence that any number of ranks can share ----===//
//
// Every value with a sequence dimension gets more of it, where ops work on each
// token alone, or on those before it. What enters there is padded, what leaves
// is cut, so all else, and the caller, see the sequence as it is: an op that
// mixes tokens reads the cut value rather than a wrong one.
//
// Padding repeats the last token, because an op may not be defined for zeros;
// only targets are padded with what the loss ignores.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "TokenDims.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace sp {
#define GEN_PASS_DEF_SPPADSEQUENCE
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

class Padder {
public:
  Padder(func::FuncOp function, ArrayRef<AllReduceOp> reductions, int64_t size);

  /// The smallest extent of a sequence dimension that `size` does not divide; 0
  /// if it divides all. Greater ones count several elements per token.
  int64_t getExtent() const { return extent; }
  int64_t getPaddedExtent() const { return llvm::alignTo(extent, size); }
  /// The ops that are not padded but work on what is; before `rewrite`.
  SmallVector<Operation *> findMixers() const;
  void rewrite();

private:
  void choosePaddedOps();
  bool isPadded(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && padded.contains(op) && tokens.get(value) >= 0;
  }
  /// Attention over the sequence, rather than over another dimension.
  bool mixesTokens(Operation *op) const {
    return isa<AttentionOp>(op) && tokens.getFactor(op) == LayoutRule::kBlocked;
  }
  bool canBePadded(Operation *op) const;
  /// -1 if the operand has no sequence dimension.
  int64_t getDim(OpOperand &operand) const;
  /// Of all sequence dimensions of the op.
  SmallVector<int64_t> getExtents(Operation *op) const;
  RankedTensorType getPaddedType(Value value, int64_t dim) const;
  void rewriteOperands(Operation *op);
  Value getPaddedValue(OpOperand &operand, int64_t dim);
  Value getCut(Value value);

  Block &body;
  int64_t size, extent = 0;
  TokenDims tokens;
  SetVector<Operation *> padded;
  /// What values that are padded were before.
  DenseMap<Value, Type> types;
  DenseMap<Value, Value> cuts;
  DenseMap<std::tuple<Value, int64_t, IntegerAttr>, Value> pads;
};

} // namespace

Padder::Padder(func::FuncOp function, ArrayRef<AllReduceOp> reductions,
               int64_t size)
    : body(function.front()), size(size), tokens(reductions, size) {
  for (Operation &op : body)
    if (canBePadded(&op))
      padded.insert(&op);
  for (Operation *op : padded)
    for (int64_t own : getExtents(op))
      if (own % size != 0 && (extent == 0 || own < extent))
        extent = own;
  if (extent != 0)
    choosePaddedOps();
}

void Padder::choosePaddedOps() {
  // What has nothing to do with this sequence must not be padded for it.
  padded.remove_if([&](Operation *op) {
    return llvm::any_of(getExtents(op),
                        [&](int64_t own) { return own % extent != 0; });
  });
  // At an exit the end is cut off before the transposition, so that it is not
  // moved, and the cut is no copy.
  padded.remove_if([&](Operation *op) {
    return isa<BatchMajorOp>(op) &&
           llvm::none_of(op->getUsers(), [&](Operation *user) {
             return padded.contains(user);
           });
  });
}

SmallVector<Operation *> Padder::findMixers() const {
  // An exit only moves what it reads, for others.
  auto readsPadded = [&](Value value) {
    if (auto exit = value.getDefiningOp<BatchMajorOp>();
        exit && !padded.contains(exit))
      value = exit.getInput();
    return isPadded(value);
  };
  SmallVector<Operation *> mixers;
  for (Operation &op : body)
    if (!padded.contains(&op) && !isa<func::ReturnOp, BatchMajorOp>(op) &&
        llvm::any_of(op.getOperands(), readsPadded))
      mixers.push_back(&op);
  return mixers;
}

/// The targets of a loss, which skips those that it ignores.
static OpOperand *getTargets(Operation *op) {
  if (auto loss = dyn_cast<CrossEntropyOp>(op))
    return &loss.getTargetsMutable();
  if (auto loss = dyn_cast<CrossEntropyJoinOp>(op))
    return &loss.getTargetsMutable();
  return nullptr;
}

bool Padder::canBePadded(Operation *op) const {
  auto hasDim = [&](Value value) { return tokens.get(value) >= 0; };
  // No token sees a later one.
  if (mixesTokens(op))
    return cast<AttentionOp>(op).getCausal() &&
           llvm::all_of(op->getOperands(), hasDim) && hasDim(op->getResult(0));
  int64_t factor = tokens.getFactor(op);
  if (factor == LayoutRule::kBlocked || op->getNumOperands() == 0)
    return false;
  // A sum over tokens, but not over those that it is told to ignore.
  if (getTargets(op))
    return true;
  return !cast<LayoutOpInterface>(op).getLayoutRule().isReduction[factor] &&
         llvm::all_of(op->getResults(), hasDim);
}

int64_t Padder::getDim(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (!isa<RankedTensorType>(operand.get().getType()))
    return -1;
  if (mixesTokens(op))
    return tokens.get(operand.get());
  return cast<LayoutOpInterface>(op).getLayoutRule().operandDim(
      operand.getOperandNumber(), tokens.getFactor(op));
}

SmallVector<int64_t> Padder::getExtents(Operation *op) const {
  SmallVector<int64_t> extents;
  auto add = [&](Value value, int64_t dim) {
    if (dim >= 0)
      extents.push_back(shapeOf(value)[dim]);
  };
  for (OpOperand &operand : op->getOpOperands())
    add(operand.get(), getDim(operand));
  for (Value result : op->getResults())
    add(result, tokens.get(result));
  return extents;
}

RankedTensorType Padder::getPaddedType(Value value, int64_t dim) const {
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = shape[dim] / extent * getPaddedExtent();
  return type.clone(shape);
}

Value Padder::getPaddedValue(OpOperand &operand, int64_t dim) {
  Value value = operand.get();
  IntegerAttr fill;
  if (&operand == getTargets(operand.getOwner())) {
    fill = operand.getOwner()->getAttrOfType<IntegerAttr>("ignore_index");
    // Computed targets do not end in what is ignored.
    if (isPadded(value))
      value = getCut(value);
  }
  RankedTensorType type = getPaddedType(value, dim);
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (Operation *source = value.getDefiningOp();
      !fill && isUniformSource(source))
    return cloneSource(builder, source, type);
  Value &pad = pads[{value, dim, fill}];
  if (!pad)
    pad = PadOp::create(builder, value.getLoc(), type, value,
                        builder.getI64IntegerAttr(dim), fill);
  return pad;
}

Value Padder::getCut(Value value) {
  Value &cut = cuts[value];
  if (!cut) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    cut = UnpadOp::create(builder, value.getLoc(), types.lookup(value), value,
                          tokens.get(value), /*fold=*/false);
  }
  return cut;
}

void Padder::rewriteOperands(Operation *op) {
  if (!padded.contains(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (isPadded(operand.get()))
        operand.set(getCut(operand.get()));
    return;
  }
  // All dimensions first: they follow from the operands that are replaced.
  auto dims = llvm::map_to_vector(
      op->getOpOperands(), [&](OpOperand &operand) { return getDim(operand); });
  for (auto [operand, dim] : llvm::zip_equal(op->getOpOperands(), dims))
    if (dim >= 0 && (&operand == getTargets(op) || !isPadded(operand.get())))
      operand.set(getPaddedValue(operand, dim));
}

void Padder::rewrite() {
  SmallVector<Operation *> ops;
  for (Operation &op : body)
    ops.push_back(&op);
  for (Operation *op : padded)
    for (Value result : op->getResults())
      types[result] = result.getType();
  // Dimensions follow from the types, so all operands come before all types.
  for (Operation *op : ops)
    rewriteOperands(op);
  for (Operation *op : padded) {
    for (Value result : op->getResults())
      if (int64_t dim = tokens.get(result); dim >= 0)
        result.setType(getPaddedType(result, dim));
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      expand.setStaticOutputShape(expand.getResultType().getShape());
  }
}

namespace {
struct PadSequence : sp::impl::SPPadSequenceBase<PadSequence> {
  using SPPadSequenceBase::SPPadSequenceBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = requireMeshAxis(module, axis, getArgument());
    if (failed(mesh))
      return signalPassFailure();
    if (failed(verifyStraightLine(module, "sp-pad-sequence", "C2")))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration())
        runOnFunction(function, mesh->getAxisSize(axis));
  }

private:
  void runOnFunction(func::FuncOp function, int64_t size) {
    SmallVector<AllReduceOp> reductions = findReductions(function, axis);
    // What sp-sequence-parallel leaves alone, and says so, needs no padding.
    if (countTokens(reductions) < minTokens)
      return;
    Padder padder(function, reductions, size);
    int64_t extent = padder.getExtent();
    if (extent == 0)
      return;
    SmallVector<Operation *> mixers = padder.findMixers();
    padder.rewrite();
    numPadded += padder.getPaddedExtent() - extent;
    emitRemark(getNameLoc(function))
        << "pads the sequence from " << extent << " to "
        << padder.getPaddedExtent() << ", for `" << StringRef(axis)
        << "` = " << size;
    for (Operation *op : mixers)
      emitRemark(op->getLoc()) << describe(op) << " runs without padding";
  }
};
} // namespace
