//===- RowKernels.h - code for row kernels --------------------------------===//

#ifndef SP_CONVERSION_ROWKERNELS_H
#define SP_CONVERSION_ROWKERNELS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "sp/Dialect/SPOps.h"

namespace sp {

/// Emits `kernel` as the function
///   void NAME(ptr operands, i64 begin, i64 end)
/// at the builder's place (in a module): it computes rows [begin, end), with
/// `operands` an array of pointers to the inputs, then the outputs. A value's
/// bits depend on its definition and the number of columns, not on the range,
/// on other rows, or on what else the kernel computes. Inside are scf, vector,
/// arith and math, whose dialects must be loaded; `buildCpuCodegenPipeline`
/// lowers them.
mlir::LLVM::LLVMFuncOp emitCpuRowKernel(mlir::OpBuilder &builder,
                                        RowKernelOp kernel,
                                        llvm::StringRef name);

} // namespace sp

#endif // SP_CONVERSION_ROWKERNELS_H
