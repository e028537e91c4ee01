//===- Pipelines.h - from a localised program to LLVM ---------------------===//

#ifndef SP_CONVERSION_PIPELINES_H
#define SP_CONVERSION_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace sp {

/// Brings what `convert-sp-to-llvm` leaves in kernels (scf, vector, arith,
/// math) to the LLVM dialect. `pm` is anchored on builtin.module.
void buildCpuCodegenPipeline(mlir::OpPassManager &pm);

} // namespace sp

#endif // SP_CONVERSION_PIPELINES_H
