//===- GradientSync.cpp - where gradients are summed over ranks -----------===//

#include "sp/Transforms/GradientSync.h"
#include "LayoutUtils.h"
#include "StraightLine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sp;

std::string GradientSync::describeSum() const {
  SmallVector<std::string> axes;
  for (AllReduceOp op : llvm::ArrayRef(ops))
    if (std::string axis = op.getAxis().str(); !llvm::is_contained(axes, axis))
      axes.push_back(axis);
  return axes.empty() ? "none" : "sum over " + llvm::join(axes, ", ");
}

/// True if `op` makes sums of gradients of sums of gradients. One vector is
/// summed for many.
static bool isSumOfGradients(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::ExtFOp, arith::TruncFOp, ScaleOp,
                         UnpackOp>(op);
}

/// The values that `value`, a sum of gradients, is made of, seen through one
/// op; none if the op computes something else.
static SmallVector<Value> getSummands(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isSumOfGradients(op))
    return {};
  return SmallVector<Value>(op->getOperands());
}

/// What a summand of a gradient is before the sum over ranks.
static Value getUnpacked(AllReduceOp reduce, Value gradient) {
  auto pack = reduce.getInput().getDefiningOp<PackOp>();
  auto result = dyn_cast<OpResult>(gradient);
  if (pack && result && isa<UnpackOp>(result.getOwner()))
    return pack.getInputs()[result.getResultNumber()];
  return reduce.getInput();
}

/// "its rms_norm (model.norm) ...": the op on sharded data that makes `partial`
/// a summand on each rank.
static std::string explainSum(Value partial, StringAttr axis) {
  while (true) {
    SmallVector<Value> summands = getSummands(partial);
    if (summands.empty())
      break;
    partial = summands.front();
  }
  Operation *op = partial.getDefiningOp();
  if (!op)
    return "each rank has a summand";
  for (Value operand : op->getOperands()) {
    AxisLayout layout = getAxisLayout(operand.getType(), axis);
    if (layout.isShard())
      return describe(op) + " sums over dimension " +
             std::to_string(layout.dim) + ", of which each rank has its part";
  }
  return describe(op) + " works on a summand on each rank";
}

/// False if the backward pass goes on from `value`. Of a parameter that is a
/// hidden state, the gradient is a sum of activations' cotangents.
static bool isOnlyGradient(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<func::ReturnOp, AdamWOp, SumSquaresOp>(user))
      return true;
    // Of what replicas have alike, each counts its part in the norm.
    return (isSumOfGradients(user) || isa<SliceOp>(user)) &&
           llvm::all_of(user->getResults(), isOnlyGradient);
  });
}

/// Finds the sums over ranks behind `gradient`.
static void findSyncs(GradientSync &sync) {
  llvm::SetVector<Value> values;
  if (isOnlyGradient(sync.gradient))
    values.insert(sync.gradient);
  llvm::SetVector<Operation *> ops;
  for (unsigned i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (auto reduce = value.getDefiningOp<AllReduceOp>()) {
      ops.insert(reduce);
      continue;
    }
    for (Value summand : getSummands(value)) {
      if (!isOnlyGradient(summand))
        continue;
      values.insert(summand);
      auto reduce = summand.getDefiningOp<AllReduceOp>();
      if (reduce && sync.reason.empty())
        sync.reason = explainSum(getUnpacked(reduce, value), reduce.getAxis());
    }
  }
  for (Operation *op : ops)
    sync.ops.push_back(cast<AllReduceOp>(op));
  if (!sync.ops.empty() && sync.reason.empty())
    sync.reason =
        explainSum(sync.ops.front().getInput(), sync.ops.front().getAxis());
  if (sync.ops.empty())
    sync.reason =
        hasLayout(sync.argument.getType())
            ? "each rank has the gradient of its own part"
            : "every rank computes the whole gradient from whole data";
}

SmallVector<GradientSync> sp::findGradientSyncs(func::FuncOp function) {
  // By argument, the gradient.
  llvm::MapVector<BlockArgument, Value> gradients;
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::StringMap<Value> returned;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue().starts_with(kGradientPrefix))
      returned[name.getValue().drop_front(kGradientPrefix.size())] = value;
  }
  llvm::DenseMap<Value, Value> optimized;
  for (auto adamw : function.getOps<AdamWOp>())
    optimized[adamw.getParam()] = adamw.getGrad();

  SmallVector<GradientSync> syncs;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto param = function.getArgAttrOfType<StringAttr>(i, kParamAttr);
    std::string name = param ? param.str() : std::to_string(i);
    Value gradient = optimized.lookup(argument);
    if (!gradient)
      gradient = returned.lookup(name);
    if (!gradient)
      continue;
    GradientSync sync{name, argument, gradient, {}, ""};
    findSyncs(sync);
    syncs.push_back(std::move(sync));
  }
  return syncs;
}

DenseSet<Operation *> sp::findGradientSyncOps(func::FuncOp function) {
  DenseSet<Operation *> ops;
  for (const GradientSync &sync : findGradientSyncs(function))
    ops.insert(sync.ops.begin(), sync.ops.end());
  return ops;
}

SmallVector<func::FuncOp> sp::findDifferentiatedFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && function.getBody().hasOneBlock() &&
        !findGradientSyncs(function).empty())
      functions.push_back(function);
  return functions;
}

FailureOr<SmallVector<func::FuncOp>>
sp::requireDifferentiatedFunctions(ModuleOp module, StringRef pass) {
  if (failed(verifyStraightLine(module, pass, "C1")))
    return failure();
  SmallVector<func::FuncOp> functions = findDifferentiatedFunctions(module);
  if (functions.empty())
    return emitError(module.getLoc()) << pass
                                      << ": no function returns gradients; run "
                                         "sp-differentiate first (C1)";
  return functions;
}

void sp::annotateGradientSyncs(func::FuncOp function) {
  Builder builder(function.getContext());
  llvm::MapVector<Operation *, SmallVector<Attribute>> names;
  llvm::DenseMap<Operation *, std::string> reasons;
  for (const GradientSync &sync : findGradientSyncs(function))
    for (AllReduceOp op : sync.ops) {
      names[op].push_back(builder.getStringAttr(sync.parameter));
      reasons.try_emplace(op, sync.reason);
    }
  for (auto &[op, parameters] : names) {
    if (parameters.size() == 1) {
      op->setAttr("sp.sync_of", parameters.front());
      op->setAttr("sp.reason", builder.getStringAttr(reasons[op]));
      continue;
    }
    op->setAttr("sp.sync_of", builder.getArrayAttr(parameters));
    op->setAttr("sp.reason",
                builder.getStringAttr("each of these gradients is a sum over "
                                      "data of which each rank has its part"));
  }
}
