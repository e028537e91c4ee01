//===- Reduce.h - Smaller programs that fail the same way -------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_REDUCE_H
#define SP_TEST_TOOLS_FUZZ_REDUCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sp::test {

/// Drops results, parts of the program between a value and an earlier one of
/// its type, and what is before a value, as long as `isInteresting`. The loss
/// stays.
mlir::OwningOpRef<mlir::ModuleOp>
reduceProgram(mlir::ModuleOp program,
              llvm::function_ref<bool(mlir::ModuleOp)> isInteresting);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_REDUCE_H
