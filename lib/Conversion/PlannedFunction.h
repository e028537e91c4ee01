//===- PlannedFunction.h - what the planner and the lowering agree on -----===//

#ifndef SP_LIB_CONVERSION_PLANNEDFUNCTION_H
#define SP_LIB_CONVERSION_PLANNEDFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Dialect/SPDialect.h"

namespace sp {

/// Where the results of an op lie: per result an offset in the arena, or
/// -1 - i for a result that takes the place of argument i.
inline constexpr llvm::StringLiteral kOffsetsAttr = "sp.offsets";

/// The alignment of every offset, a cache line.
inline constexpr int64_t kAlignment = 64;

/// True if the op's results are buffers of their own in the arena: not a
/// reshape's (its operand's buffer) and not a constant's (a global).
bool ownsResultBuffers(mlir::Operation *op);

/// The rows of what `sp.pack` makes, one for a vector.
int64_t getNumRows(mlir::Value packed);

/// The operand in whose buffer the op's results are; null if there is none.
mlir::Value getAliasedOperand(mlir::Operation *op);
/// The value whose buffer `value` lives in, and where in it, in bytes.
std::pair<mlir::Value, int64_t> findBuffer(mlir::Value value);

/// Which buffer each value of a block lives in, and until when.
class BufferLifetimes {
public:
  explicit BufferLifetimes(mlir::Block &block);

  /// The value whose buffer `value` lives in.
  mlir::Value getRoot(mlir::Value value) const {
    auto it = rootOf.find(value);
    return it == rootOf.end() ? value : it->second;
  }
  /// The last op that reads the buffer of `root`, under any name; null if none
  /// does.
  mlir::Operation *getLastUse(mlir::Value root) const {
    return lastUse.lookup(root);
  }

  /// Calls `callback` with each root that nothing reads after `op`: those of
  /// its operands, and results that nothing reads at all.
  void forEachDying(mlir::Operation *op,
                    llvm::function_ref<void(mlir::Value)> callback) const;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> rootOf;
  llvm::DenseMap<mlir::Value, mlir::Operation *> lastUse;
};

/// The argument that each result of `function` is the new value of (`sp.param`
/// or `sp.state` of the same name); -1 for a result that is none.
llvm::SmallVector<int64_t> getUpdatedArguments(mlir::func::FuncOp function);

/// The bytes of a tensor that `verifyLocalType` accepts.
int64_t getByteSize(mlir::Type type);

/// Checks that tensors among `type` are local, static, and of an element type
/// that the runtime knows.
mlir::LogicalResult verifyLocalType(mlir::Operation *op, mlir::Type type);

} // namespace sp

#endif // SP_LIB_CONVERSION_PLANNEDFUNCTION_H
