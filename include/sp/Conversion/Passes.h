//===- Passes.h - from a localised program to LLVM ------------------------===//

#ifndef SP_CONVERSION_PASSES_H
#define SP_CONVERSION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "sp/Dialect/SPDialect.h"

namespace sp {

/// What `sp-plan-memory` leaves on a function: the bytes of its arena, of all
/// its values without reuse, and of the activations that its forward pass saves
/// for its backward pass, if it has one.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "sp.arena_bytes";
inline constexpr llvm::StringLiteral kActivationBytesAttr =
    "sp.activation_bytes";
inline constexpr llvm::StringLiteral kSavedBytesAttr = "sp.saved_bytes";

#define GEN_PASS_DECL
#include "sp/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "sp/Conversion/Passes.h.inc"

} // namespace sp

#endif // SP_CONVERSION_PASSES_H
