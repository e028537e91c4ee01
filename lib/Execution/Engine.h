//===- Engine.h - machine code in memory ------------------------*- C++ -*-===//

#ifndef SP_LIB_EXECUTION_ENGINE_H
#define SP_LIB_EXECUTION_ENGINE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace sp {

/// Compiles a module of the LLVM dialect for this machine, with the runtime's
/// functions to call.
llvm::Expected<std::unique_ptr<mlir::ExecutionEngine>>
createEngine(mlir::ModuleOp module, unsigned optLevel);

} // namespace sp

#endif // SP_LIB_EXECUTION_ENGINE_H
