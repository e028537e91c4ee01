//===- LinalgKernels.h - linalg ops become row kernels --------------------===//

#ifndef SP_LIB_CONVERSION_LINALGKERNELS_H
#define SP_LIB_CONVERSION_LINALGKERNELS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "sp/Dialect/SPOps.h"

namespace sp {

/// Checks C2 and C4 of `sp-form-row-kernels`.
mlir::FailureOr<RowKernelOp> formLinalgKernel(mlir::linalg::LinalgOp op);

} // namespace sp

#endif // SP_LIB_CONVERSION_LINALGKERNELS_H
