//===- SPDialect.h - the sp dialect ---------------------------------------===//

#ifndef SP_DIALECT_SPDIALECT_H
#define SP_DIALECT_SPDIALECT_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "sp/Dialect/Layout.h"

#include "sp/Dialect/SPDialect.h.inc"
#include "sp/Dialect/SPEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sp/Dialect/SPAttrs.h.inc"

namespace sp {

/// Attributes of function arguments and results that name a tensor to the
/// outside: a parameter by its checkpoint name, an input or result by its name
/// in a batch or output file.
inline constexpr llvm::StringLiteral kParamAttr = "sp.param";
inline constexpr llvm::StringLiteral kInputAttr = "sp.input";
inline constexpr llvm::StringLiteral kResultAttr = "sp.result";
/// A gradient is the result of this prefix and the parameter's name.
inline constexpr llvm::StringLiteral kGradientPrefix = "grad.";
/// The result that is the norm of all gradients.
inline constexpr llvm::StringLiteral kGradNormResult = "grad_norm";
/// Names what a program keeps from run to run besides its parameters. A result
/// with `sp.param` or `sp.state` is the new value of the argument so named.
inline constexpr llvm::StringLiteral kStateAttr = "sp.state";
/// The layout an argument or result had before `sp-localize`.
inline constexpr llvm::StringLiteral kLayoutAttr = "sp.layout";

} // namespace sp

#endif // SP_DIALECT_SPDIALECT_H
