//===- Reduce.cpp - Smaller programs that fail the same way ---------------===//

#include "Reduce.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

static func::FuncOp getFunction(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

/// Drops what nobody reads.
static void eraseDead(func::FuncOp function) {
  Block &body = function.front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)function.eraseArguments(unused);
}

namespace {

class Reducer {
public:
  Reducer(ModuleOp program, function_ref<bool(ModuleOp)> isInteresting)
      : program(program.clone()), isInteresting(isInteresting) {}

  OwningOpRef<ModuleOp> reduce() {
    while (dropResults() || bypassValues() || cutValues() || dropBiases())
      ;
    return std::move(program);
  }

private:
  /// Keeps what `change` does to a copy of the program if it stays interesting
  /// and becomes smaller. `change` gets where the program's values are.
  bool attempt(function_ref<void(func::FuncOp, IRMapping &)> change);
  bool dropResults();
  /// Reads an earlier value of the same type instead.
  bool bypassValues();
  /// Makes a value a parameter.
  bool cutValues();
  bool dropBiases();

  SmallVector<Value> listValues() {
    SmallVector<Value> values;
    for (Operation &op : getFunction(*program).front())
      llvm::append_range(values, op.getResults());
    return values;
  }
  static size_t measure(func::FuncOp function) {
    size_t size = function.getNumArguments() + function.getNumResults();
    for (Operation &op : function.front())
      size += 1 + op.getNumOperands();
    return size;
  }

  OwningOpRef<ModuleOp> program;
  function_ref<bool(ModuleOp)> isInteresting;
  int64_t numCuts = 0;
};

} // namespace

bool Reducer::attempt(function_ref<void(func::FuncOp, IRMapping &)> change) {
  IRMapping there;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(program.get()->clone(there)));
  func::FuncOp function = getFunction(*copy);
  change(function, there);
  eraseDead(function);
  if (measure(function) >= measure(getFunction(*program)) ||
      failed(verify(*copy)) || !isInteresting(*copy))
    return false;
  program = std::move(copy);
  return true;
}

bool Reducer::dropResults() {
  bool any = false;
  for (unsigned i = getFunction(*program).getNumResults(); i-- > 0;) {
    auto name =
        getFunction(*program).getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue() == "loss")
      continue;
    any |= attempt([&](func::FuncOp function, IRMapping &) {
      function.front().getTerminator()->eraseOperand(i);
      llvm::BitVector dropped(function.getNumResults());
      dropped.set(i);
      (void)function.eraseResults(dropped);
    });
  }
  return any;
}

bool Reducer::bypassValues() {
  SmallVector<Value> values = listValues();
  for (Value value : llvm::reverse(values)) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = false;
    (void)getBackwardSlice(value.getDefiningOp(), &slice, options);
    // The earliest one drops most.
    for (Operation &op : getFunction(*program).front()) {
      // What nobody has written has no value.
      if (!slice.contains(&op) || isa<tensor::EmptyOp>(op))
        continue;
      for (Value earlier : op.getResults())
        if (earlier.getType() == value.getType() &&
            attempt([&](func::FuncOp, IRMapping &there) {
              there.lookup(value).replaceAllUsesWith(there.lookup(earlier));
            }))
          return true;
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      if (isa<BlockArgument>(operand) && operand.getType() == value.getType() &&
          attempt([&](func::FuncOp, IRMapping &there) {
            there.lookup(value).replaceAllUsesWith(there.lookup(operand));
          }))
        return true;
  }
  return false;
}

bool Reducer::cutValues() {
  SmallVector<Value> values = listValues();
  for (Value value : llvm::reverse(values)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.getElementType().isF64() || type.getRank() == 0)
      continue;
    if (attempt([&](func::FuncOp function, IRMapping &there) {
          Builder b(function.getContext());
          auto name = b.getNamedAttr(
              kParamAttr, b.getStringAttr("cut" + std::to_string(numCuts)));
          unsigned number = function.getNumArguments();
          (void)function.insertArgument(number, type, b.getDictionaryAttr(name),
                                        function.getLoc());
          there.lookup(value).replaceAllUsesWith(function.getArgument(number));
        })) {
      ++numCuts;
      return true;
    }
  }
  return false;
}

bool Reducer::dropBiases() {
  for (Value value : listValues())
    if (auto linear = value.getDefiningOp<LinearOp>();
        linear && linear.getBias())
      if (attempt([&](func::FuncOp, IRMapping &there) {
            cast<LinearOp>(there.lookup(value).getDefiningOp())
                .getBiasMutable()
                .clear();
          }))
        return true;
  return false;
}

OwningOpRef<ModuleOp>
test::reduceProgram(ModuleOp program,
                    function_ref<bool(ModuleOp)> isInteresting) {
  return Reducer(program, isInteresting).reduce();
}
