//===- PlannedFunction.h - what the planner and the lowering agree on -----===//

#ifndef SP_LIB_CONVERSION_PLANNEDFUNCTION_H
#define SP_LIB_CONVERSION_PLANNEDFUNCTION_H

#include "mlir/IR/Operation.h"
#include "sp/Dialect/SPDialect.h"

namespace sp {

/// Where the results of an op lie in the arena (an offset per result).
inline constexpr llvm::StringLiteral kOffsetsAttr = "sp.offsets";

/// The alignment of every offset, a cache line.
inline constexpr int64_t kAlignment = 64;

/// True if the op's results are buffers of their own in the arena: not a
/// reshape's (its operand's buffer) and not a constant's (a global).
bool ownsResultBuffers(mlir::Operation *op);

/// The operand whose buffer is the op's result; null if there is none.
mlir::Value getAliasedOperand(mlir::Operation *op);

/// The bytes of a tensor that `verifyLocalType` accepts.
int64_t getByteSize(mlir::Type type);

/// Checks that tensors among `type` are local, static, and of an element type
/// that the runtime knows.
mlir::LogicalResult verifyLocalType(mlir::Operation *op, mlir::Type type);

} // namespace sp

#endif // SP_LIB_CONVERSION_PLANNEDFUNCTION_H
