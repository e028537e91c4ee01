//===- Differentiate.cpp - a program becomes its forward and backward -----===//
//
// Reverse mode on SSA: the ops state their adjoints, layout changes among them,
// so the backward collectives and the gradient sums need no rule of their own.
// What the backward pass reads of the forward pass are ordinary uses.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPDIFFERENTIATE
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct Differentiate : sp::impl::SPDifferentiateBase<Differentiate> {
  using SPDifferentiateBase::SPDifferentiateBase;

  void runOnOperation() override;

private:
  /// The number of the loss among the function's results; -1 if it has none.
  int64_t findLoss(func::FuncOp function);
  LogicalResult differentiate(func::FuncOp function, unsigned loss);
};
} // namespace

static bool hasNames(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kParamAttr) ||
        function.getArgAttr(i, kInputAttr))
      return true;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (function.getResultAttr(i, kResultAttr))
      return true;
  return false;
}

static bool isLossType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         isa<FloatType>(tensor.getElementType());
}

int64_t Differentiate::findLoss(func::FuncOp function) {
  if (function.isDeclaration())
    return -1;
  bool named = hasNames(function);
  int64_t found = -1;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (named ? name && name.getValue() == StringRef(loss) : isLossType(type)) {
      if (found >= 0)
        return -1;
      found = i;
    }
  }
  return found;
}

/// The arguments that get gradients, and what they are called: the parameters;
/// in a function without names, every argument of floating point numbers.
static SmallVector<std::pair<BlockArgument, std::string>>
findParameters(func::FuncOp function) {
  SmallVector<std::pair<BlockArgument, std::string>> parameters;
  bool named = hasNames(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, kParamAttr);
    if (isa<RankedTensorType>(argument.getType()) &&
        isDifferentiableType(argument.getType()) && (!named || name))
      parameters.emplace_back(argument, name ? name.str() : std::to_string(i));
  }
  return parameters;
}

LogicalResult Differentiate::differentiate(func::FuncOp function,
                                           unsigned lossNumber) {
  if (failed(verifyStraightLine(function, "sp-differentiate", "C3")))
    return failure();
  Type lossType = function.getResultTypes()[lossNumber];
  if (!isLossType(lossType))
    return emitError(function.getLoc())
           << "the loss of `" << function.getName() << "` is " << lossType
           << ", must be a tensor of rank 0 of floating point numbers (C1)";
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
        name && name.getValue().starts_with(kGradientPrefix))
      return emitError(function.getLoc())
             << "`" << function.getName() << "` has a result `"
             << name.getValue() << "`; it has been differentiated (C3)";

  Block &body = function.getBody().front();
  auto parameters = findParameters(function);
  DenseSet<Value> varied =
      findVaried(body, llvm::map_to_vector(parameters, [](auto &p) -> Value {
                   return p.first;
                 }));
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);

  Operation *terminator = body.getTerminator();
  OpBuilder builder(terminator);
  ReverseSweep sweep(builder, varied);
  Value lossValue = terminator->getOperand(lossNumber);
  ImplicitLocOpBuilder at(lossValue.getLoc(), builder);
  sweep.add(lossValue, createSplat(at, getCotangentType(lossType), 1),
            lossValue.getLoc());
  if (failed(sweep.run(ops)))
    return failure();

  SmallVector<Value> results(terminator->getOperands());
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  attributes.resize(results.size(), builder.getDictionaryAttr({}));
  for (auto &[parameter, name] : parameters) {
    Value gradient = sweep.get(parameter);
    if (!gradient) {
      at.setLoc(parameter.getLoc());
      gradient = createSplat(at, getCotangentType(parameter.getType()), 0);
    }
    results.push_back(gradient);
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        kResultAttr, builder.getStringAttr(kGradientPrefix + name))));
  }
  terminator->setOperands(results);
  updateSignature(function);
  function.setAllResultAttrs(attributes);
  annotateGradientSyncs(function);

  emitRemark(getNameLoc(function))
      << "differentiated: gradients of " << parameters.size() << " parameters, "
      << llvm::count_if(findGradientSyncs(function),
                        [](const GradientSync &g) { return !g.ops.empty(); })
      << " of them summed over ranks";
  return success();
}

void Differentiate::runOnOperation() {
  unsigned numLosses = 0;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    int64_t lossNumber = findLoss(function);
    if (lossNumber < 0)
      continue;
    ++numLosses;
    if (failed(differentiate(function, lossNumber)))
      return signalPassFailure();
  }
  if (numLosses == 0) {
    emitError(getOperation().getLoc())
        << "sp-differentiate: no function has a result named `"
        << StringRef(loss)
        << "`, or, without names, exactly one result that is a floating point "
           "tensor of rank 0 (C1)";
    signalPassFailure();
  }
}
