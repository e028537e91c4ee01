//===- Projection.cpp - an activation times a parameter -------------------===//

#include "Projection.h"
#include "LayoutUtils.h"
#include "sp/Dialect/LinalgReductions.h"

using namespace mlir;
using namespace sp;

static func::FuncOp getFunction(BlockArgument argument) {
  return dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
}

BlockArgument sp::findParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<LayoutOpInterface>(op) || op->getNumResults() != 1 ||
        isContraction(op))
      return {};
    Value only;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()) ||
          isUniformSource(operand.getDefiningOp()))
        continue;
      if (only && only != operand)
        return {};
      only = operand;
    }
    if (!only)
      return {};
    value = only;
  }
  auto argument = cast<BlockArgument>(value);
  func::FuncOp function = getFunction(argument);
  bool isInput =
      function && function.getArgAttr(argument.getArgNumber(), kInputAttr);
  return function && !isInput ? argument : BlockArgument();
}

static std::optional<Projection> matchLinear(LinearOp linear) {
  Projection projection{0, 1, std::nullopt, findParameter(linear.getWeight()),
                        linear.getLayoutRule()};
  if (linear.getBias()) {
    projection.addend = 2;
    std::string lead = leadingDims(tensorType(linear.getInput()).getRank() - 1);
    projection.rule =
        LayoutRule::get({lead + "k", "nk", "n"}, {lead + "n"}, "k");
  }
  return projection;
}

/// Which input is the weight: a parameter. If both may be, the one that is said
/// to be, else the one that the last dimension of the result, the features,
/// comes from.
static std::optional<unsigned> findWeight(linalg::LinalgOp op,
                                          const LayoutRule &rule) {
  BlockArgument parameters[2];
  bool named[2];
  for (unsigned i : {0, 1}) {
    parameters[i] = findParameter(op->getOperand(i));
    named[i] = parameters[i] &&
               getFunction(parameters[i])
                   .getArgAttr(parameters[i].getArgNumber(), kParamAttr);
  }
  if (!parameters[0] && !parameters[1])
    return std::nullopt;
  if (!parameters[0] || !parameters[1])
    return parameters[0] ? 0 : 1;
  if (named[0] != named[1])
    return named[0] ? 0 : 1;
  int64_t last =
      rule.results[0].empty() ? LayoutRule::kBlocked : rule.results[0].back();
  return last != LayoutRule::kBlocked && rule.operandDim(0, last) >= 0 &&
                 rule.operandDim(1, last) < 0
             ? 0
             : 1;
}

std::optional<Projection> Projection::match(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return matchLinear(linear);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !isa<LayoutOpInterface>(op) || !isContraction(linalgOp) ||
      !linalgOp.hasPureTensorSemantics())
    return std::nullopt;
  LayoutRule rule = cast<LayoutOpInterface>(op).getLayoutRule();
  std::optional<unsigned> weight = findWeight(linalgOp, rule);
  if (!weight)
    return std::nullopt;
  return Projection{1 - *weight, *weight, 2,
                    findParameter(op->getOperand(*weight)), std::move(rule)};
}
