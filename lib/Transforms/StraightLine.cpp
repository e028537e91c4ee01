//===- StraightLine.cpp - no control flow around tensors ------------------===//

#include "StraightLine.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "sp/Dialect/SPOps.h"

using namespace mlir;
using namespace sp;

static bool touchesTensors(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

/// True if an op in a region of `op` works on tensors, or a block there has
/// them as arguments.
static bool hasTensorsInside(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      if (llvm::any_of(block.getArgumentTypes(), llvm::IsaPred<TensorType>))
        return true;
      for (Operation &inner : block)
        if (touchesTensors(&inner) || hasTensorsInside(&inner))
          return true;
    }
  return false;
}

/// Without the op itself, which may be long.
static InFlightDiagnostic emitRefusal(Operation *op) {
  return emitError(op->getLoc()) << "'" << op->getName() << "' op ";
}

LogicalResult sp::verifyStraightLine(func::FuncOp function, StringRef pass,
                                     StringRef constraint) {
  if (function.isDeclaration() || !hasTensorsInside(function))
    return success();
  if (!function.getBody().hasOneBlock())
    return emitRefusal(function)
           << "`" << function.getName() << "` has "
           << function.getBody().getBlocks().size() << " blocks; " << pass
           << " takes straight-line code (" << constraint << ")";
  for (Operation &op : function.getBody().front()) {
    if (isa<CallOpInterface>(op) && touchesTensors(&op)) {
      auto diag = emitRefusal(&op) << "calls ";
      auto callee = dyn_cast<SymbolRefAttr>(
          cast<CallOpInterface>(op).getCallableForCallee());
      if (callee)
        diag << "`" << callee.getLeafReference().getValue() << "`";
      else
        diag << "a function";
      return diag << " with tensors; " << pass
                  << " does not follow calls: inline it (" << constraint << ")";
    }
    // Their bodies belong to the ops, whose layout rules look into them.
    if (isa<linalg::LinalgOp, RowKernelOp>(op))
      continue;
    if (hasTensorsInside(&op))
      return emitRefusal(&op)
             << "works on tensors in a region; " << pass
             << " takes straight-line code: unroll it, or choose its branch ("
             << constraint << ")";
  }
  return success();
}

LogicalResult sp::verifyStraightLine(ModuleOp module, StringRef pass,
                                     StringRef constraint) {
  for (Operation &op : *module.getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (failed(verifyStraightLine(function, pass, constraint)))
        return failure();
    } else if (hasTensorsInside(&op)) {
      return emitRefusal(&op)
             << "works on tensors and is no function of the module itself; "
             << pass << " would skip it (" << constraint << ")";
    }
  }
  return success();
}
