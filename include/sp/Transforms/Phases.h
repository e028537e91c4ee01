//===- Phases.h - forward, backward, update ---------------------*- C++ -*-===//

#ifndef SP_TRANSFORMS_PHASES_H
#define SP_TRANSFORMS_PHASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace sp {

/// What an op of a function is for: what the loss and the logits depend on is
/// forward, what else the gradients depend on is backward (sums over ranks and
/// work that is repeated among it), all else is the optimizer's.
enum class Phase { Forward, Backward, Update };
llvm::StringRef stringify(Phase phase);

/// The phases of the ops of a function of one block; without gradients all are
/// forward.
llvm::DenseMap<mlir::Operation *, Phase>
findPhases(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_TRANSFORMS_PHASES_H
