//===- AccumulateGradients.cpp - several micro-batches in one program -----===//
//
// The micro-batches follow each other in the program, so each one's activations
// are dead before the next one's forward pass begins.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPACCUMULATEGRADIENTS
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct AccumulateGradients
    : sp::impl::SPAccumulateGradientsBase<AccumulateGradients> {
  using SPAccumulateGradientsBase::SPAccumulateGradientsBase;

  void runOnOperation() override;

private:
  LogicalResult accumulate(func::FuncOp function);
};
} // namespace

static constexpr llvm::StringLiteral kOpId = "op_id";

/// The least number above every `op_id` of the function.
static int64_t countOpIds(func::FuncOp function) {
  int64_t count = 0;
  function.walk([&](Operation *op) {
    if (isa<DropoutOp, AttentionOp, AttentionGradOp>(op))
      if (auto id = op->getAttrOfType<IntegerAttr>(kOpId))
        count = std::max(count, id.getInt() + 1);
  });
  return count;
}

/// Rows [step * B, (step + 1) * B) of an input that has become longer.
static Value takeRows(OpBuilder &builder, Value whole, RankedTensorType type,
                      int64_t step) {
  auto sizes = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
  offsets.front() = step * type.getDimSize(0);
  return tensor::ExtractSliceOp::create(builder, whole.getLoc(), type, whole,
                                        sizes(offsets), sizes(type.getShape()),
                                        sizes(strides));
}

LogicalResult AccumulateGradients::accumulate(func::FuncOp function) {
  Block &body = function.getBody().front();
  Operation *terminator = body.getTerminator();

  // Only what has a mean is kept.
  SmallVector<Value> kept;
  SmallVector<DictionaryAttr> attributes;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    bool isGradient = name && name.getValue().starts_with(kGradientPrefix);
    auto type = cast<RankedTensorType>(value.getType());
    if (!isGradient && (type.getRank() != 0 || !name))
      continue;
    kept.push_back(value);
    attributes.push_back(function.getResultAttrDict(i));
  }

  SmallVector<std::pair<BlockArgument, RankedTensorType>> inputs;
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), kInputAttr))
      continue;
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() == 0 || hasLayout(type))
      return emitError(function.getLoc())
             << describe(argument) << " is " << argument.getType()
             << ", which cannot hold one micro-batch after another; it must be "
                "an invariant tensor of at least one dimension (C3)";
    inputs.emplace_back(argument, type);
  }

  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (auto [argument, type] : inputs) {
    SmallVector<int64_t> shape(type.getShape());
    shape.front() *= steps;
    argument.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  OpBuilder builder(terminator);
  int64_t numOpIds = countOpIds(function);
  SmallVector<Value> sums(kept.size());
  for (int64_t step = 0; step < steps; ++step) {
    IRMapping mapping;
    for (auto [argument, type] : inputs)
      mapping.map(argument, takeRows(builder, argument, type, step));
    for (Operation *op : ops) {
      Operation *clone = builder.clone(*op, mapping);
      if (auto id = clone->getAttrOfType<IntegerAttr>(kOpId))
        clone->setAttr(
            kOpId, builder.getI64IntegerAttr(id.getInt() + step * numOpIds));
    }
    for (auto [sum, value] : llvm::zip(sums, kept)) {
      Value own = mapping.lookupOrDefault(value);
      sum =
          sum ? arith::AddFOp::create(builder, value.getLoc(), sum, own) : own;
    }
  }
  for (Value &sum : sums)
    sum = ScaleOp::create(builder, sum.getLoc(), sum.getType(), sum,
                          builder.getF64FloatAttr(1.0 / steps));
  terminator->setOperands(sums);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  updateSignature(function);
  function.setAllResultAttrs(attributes);
  annotateGradientSyncs(function);
  return success();
}

void AccumulateGradients::runOnOperation() {
  if (steps < 1) {
    emitError(getOperation().getLoc())
        << "sp-accumulate-gradients: steps is " << static_cast<int64_t>(steps)
        << ", must be at least 1 (C2)";
    return signalPassFailure();
  }
  auto functions = requireDifferentiatedFunctions(getOperation(), getArgument());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp function : *functions)
    if (steps > 1 && failed(accumulate(function)))
      return signalPassFailure();
}
