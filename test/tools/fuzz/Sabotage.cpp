//===- Sabotage.cpp - Programs made wrong on purpose ----------------------===//

#include "Sabotage.h"

#include "Faults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

/// The first of the sums over ranks: most of the program depends on it.
static CollectiveOp findSum(func::FuncOp function) {
  for (auto op : function.getOps<CollectiveOp>())
    if (op.getKind() == CollectiveKind::AllReduce)
      return op;
  return {};
}

static bool breakSum(func::FuncOp function, bool isDoubled) {
  CollectiveOp op = findSum(function);
  if (!op)
    return false;
  isDoubled ? applyTwice(op) : bypass(op);
  return true;
}

bool test::sabotage(ModuleOp module, Sabotage kind) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createSPLocalize());
  if (failed(pm.run(module)))
    return false;
  auto function = *module.getOps<func::FuncOp>().begin();
  if (!breakSum(function, kind == Sabotage::DoubledSum))
    return false;
  recordCollectives(function);
  return true;
}
