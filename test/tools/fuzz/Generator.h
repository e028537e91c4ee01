//===- Generator.h - Random unsharded programs ------------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_GENERATOR_H
#define SP_TEST_TOOLS_FUZZ_GENERATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sp::test {

/// On a function of which 2 and 4 ranks can share everything, so that there is
/// nothing to refuse.
inline constexpr llvm::StringLiteral kDividesAttr = "fuzz.divides";

/// A function of blocks with random ops, order, residuals and sizes, in f64,
/// with parameters, inputs and a result "loss". It follows from the seed alone.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext &context,
                                                  uint64_t seed);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_GENERATOR_H
