//===- SavedActivations.cpp - what the backward pass reads of the forward -===//

#include "sp/Analysis/SavedActivations.h"

using namespace mlir;
using namespace sp;

/// True if the backward pass or the optimizer makes the function's result.
static bool isBackwardResult(func::FuncOp function, unsigned i) {
  if (function.getResultAttr(i, kParamAttr) ||
      function.getResultAttr(i, kStateAttr))
    return true;
  auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
  return name && (name.getValue().starts_with(kGradientPrefix) ||
                  name.getValue() == kGradNormResult);
}

llvm::DenseSet<Operation *> sp::findForwardOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> forward;
  SmallVector<Operation *> worklist;
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && forward.insert(op).second)
      worklist.push_back(op);
  };
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (!isBackwardResult(function, i))
      add(value);
  while (!worklist.empty())
    for (Value operand : worklist.pop_back_val()->getOperands())
      add(operand);
  return forward;
}

llvm::DenseSet<Value> sp::findActivations(func::FuncOp function) {
  llvm::DenseSet<Value> activations;
  bool named = llvm::any_of(function.getArguments(), [&](BlockArgument arg) {
    return function.getArgAttr(arg.getArgNumber(), kInputAttr) ||
           function.getArgAttr(arg.getArgNumber(), kParamAttr);
  });
  for (BlockArgument argument : function.getArguments())
    if (!named || function.getArgAttr(argument.getArgNumber(), kInputAttr))
      activations.insert(argument);
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return activations.contains(operand);
        }))
      activations.insert(op.result_begin(), op.result_end());
  return activations;
}

int64_t sp::getBytesPerRank(RankedTensorType type, MeshOp mesh) {
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (const AxisEntry &entry : getLayoutEntries(type))
    if (entry.layout.isShard())
      bytes /= mesh.getAxisSize(entry.axis);
  return bytes;
}
