//===- Phases.cpp - forward, backward, update -----------------------------===//

#include "sp/Transforms/Phases.h"
#include "sp/Analysis/SavedActivations.h"
#include "sp/Transforms/GradientSync.h"

using namespace mlir;
using namespace sp;

llvm::StringRef sp::stringify(Phase phase) {
  switch (phase) {
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Update:
    return "update";
  }
  llvm_unreachable("all phases are handled");
}

/// Gives `phase` to the ops that `roots` depend on and that have none yet.
static void markSources(ArrayRef<Value> roots, Phase phase,
                        llvm::DenseMap<Operation *, Phase> &phases) {
  SmallVector<Value> stack(roots);
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (op && phases.try_emplace(op, phase).second)
      llvm::append_range(stack, op->getOperands());
  }
}

llvm::DenseMap<Operation *, Phase> sp::findPhases(func::FuncOp function) {
  llvm::DenseMap<Operation *, Phase> phases;
  Block &body = function.getBody().front();
  auto gradients = llvm::map_to_vector(
      findGradientSyncs(function),
      [](const GradientSync &sync) { return sync.gradient; });
  if (!gradients.empty()) {
    for (Operation *op : findForwardOps(function))
      phases[op] = Phase::Forward;
    markSources(gradients, Phase::Backward, phases);
  }
  for (Operation &op : body)
    phases.try_emplace(&op, gradients.empty() ? Phase::Forward : Phase::Update);
  return phases;
}
