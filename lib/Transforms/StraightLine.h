//===- StraightLine.h - no control flow around tensors --------------------===//

#ifndef SP_LIB_TRANSFORMS_STRAIGHTLINE_H
#define SP_LIB_TRANSFORMS_STRAIGHTLINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sp {

/// Our passes walk the one block of each function of a module. Tensors anywhere
/// else (in a region of another op, in a called function, in further blocks, in
/// a nested module) would be skipped, so the op that leads there is an error
/// that names it, `pass` and its `constraint`.
mlir::LogicalResult verifyStraightLine(mlir::ModuleOp module,
                                       llvm::StringRef pass,
                                       llvm::StringRef constraint);
mlir::LogicalResult verifyStraightLine(mlir::func::FuncOp function,
                                       llvm::StringRef pass,
                                       llvm::StringRef constraint);

} // namespace sp

#endif // SP_LIB_TRANSFORMS_STRAIGHTLINE_H
