//===- Collectives.h - the recorded sequence of collectives ---------------===//

#ifndef SP_TRANSFORMS_COLLECTIVES_H
#define SP_TRANSFORMS_COLLECTIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sp {

/// The function attribute that holds the record.
inline constexpr llvm::StringLiteral kCollectivesAttr = "sp.collectives";

/// Records the function's collectives in order, each as kind, axis, dimension,
/// types and what it depends on: the arguments and the earlier collectives that
/// reach it. Ranks that run the record in another order, or feed it other
/// values, diverge; after localisation no type tells.
void recordCollectives(mlir::func::FuncOp function);

/// Fails, naming the first difference, if the function no longer has the
/// collectives that were recorded. A function without a record passes.
mlir::LogicalResult verifyCollectives(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_TRANSFORMS_COLLECTIVES_H
