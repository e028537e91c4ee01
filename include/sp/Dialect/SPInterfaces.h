//===- SPInterfaces.h - the interfaces of ops -----------------------------===//

#ifndef SP_DIALECT_SPINTERFACES_H
#define SP_DIALECT_SPINTERFACES_H

#include "mlir/IR/OpDefinition.h"
#include "sp/Dialect/Layout.h"
#include "llvm/ADT/SmallBitVector.h"

namespace sp {
class AdjointEmitter;
} // namespace sp

namespace sp::detail {
/// The interface's default methods.
mlir::LogicalResult
inferLayoutsByRule(mlir::Operation *op, mlir::StringRef axis,
                   mlir::ArrayRef<AxisLayout> operands,
                   mlir::SmallVectorImpl<AxisLayout> &results);
mlir::LogicalResult
verifyLayoutsByInference(mlir::Operation *op, mlir::StringRef axis,
                         mlir::ArrayRef<AxisLayout> operands,
                         mlir::ArrayRef<AxisLayout> results);
} // namespace sp::detail

#include "sp/Dialect/SPInterfaces.h.inc"

#endif // SP_DIALECT_SPINTERFACES_H
