//===- SavedActivations.h - what the backward pass reads of the forward ---===//

#ifndef SP_ANALYSIS_SAVEDACTIVATIONS_H
#define SP_ANALYSIS_SAVEDACTIVATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/DenseSet.h"

namespace sp {

/// The ops of a differentiated function's forward pass: those that results
/// other than gradients, their norm and new values depend on. All ops that
/// results depend on, if it is not differentiated.
llvm::DenseSet<mlir::Operation *> findForwardOps(mlir::func::FuncOp function);

/// The values that depend on the function's inputs (`sp.input`; on any argument
/// if none has a name): activations. Others depend on parameters and constants
/// alone.
llvm::DenseSet<mlir::Value> findActivations(mlir::func::FuncOp function);

/// The bytes that one rank holds of a value of this type; `mesh` may be null
/// for types without a layout.
int64_t getBytesPerRank(mlir::RankedTensorType type, MeshOp mesh);

} // namespace sp

#endif // SP_ANALYSIS_SAVEDACTIVATIONS_H
