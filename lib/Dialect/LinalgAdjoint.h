//===- LinalgAdjoint.h - adjoints of linalg ops ---------------------------===//

#ifndef SP_LIB_DIALECT_LINALGADJOINT_H
#define SP_LIB_DIALECT_LINALGADJOINT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "sp/Dialect/Adjoint.h"

namespace sp {

/// Elementwise ops, sums, contractions, and maxima and minima of an operand.
mlir::LogicalResult emitLinalgAdjoint(mlir::linalg::LinalgOp op,
                                      AdjointEmitter &adjoint);

} // namespace sp

#endif // SP_LIB_DIALECT_LINALGADJOINT_H
