//===- GradientSync.h - where gradients are summed over ranks -------------===//

#ifndef SP_TRANSFORMS_GRADIENTSYNC_H
#define SP_TRANSFORMS_GRADIENTSYNC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Dialect/SPOps.h"

namespace sp {

/// A parameter's gradient, and the collectives that sum it over ranks.
struct GradientSync {
  std::string parameter;
  mlir::BlockArgument argument;
  mlir::Value gradient;
  /// The summing collectives; none if every rank has the whole gradient.
  llvm::SmallVector<AllReduceOp> ops;
  /// Why it is summed, or why not, in a few words.
  std::string reason;

  /// "sum over tp", once for each axis, or "none".
  std::string describeSum() const;
};

/// The gradients that `function` returns or gives to an optimizer, in the order
/// of its arguments. A sum is found where it is: an `all_reduce` between the
/// gradient and the ops that compute it.
llvm::SmallVector<GradientSync> findGradientSyncs(mlir::func::FuncOp function);

/// The ops of all of them.
llvm::DenseSet<mlir::Operation *>
findGradientSyncOps(mlir::func::FuncOp function);

/// The functions that return gradients or give them to an optimizer.
llvm::SmallVector<mlir::func::FuncOp>
findDifferentiatedFunctions(mlir::ModuleOp module);

/// The same for a pass that needs one: an error that names it (C1) if there is
/// none, or if tensors are where it would not look, in control flow.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
requireDifferentiatedFunctions(mlir::ModuleOp module, llvm::StringRef pass);

/// Gives each summing `all_reduce` the attributes `sp.sync_of`, the parameters'
/// names, and `sp.reason`: for readers, no pass depends on them.
void annotateGradientSyncs(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_TRANSFORMS_GRADIENTSYNC_H
