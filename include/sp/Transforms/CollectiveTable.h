//===- CollectiveTable.h - a program's layout changes, explained *- C++ -*-===//
//
// What a program on global shapes moves between ranks: which collectives, how
// many bytes, and why. All of it is read off the program, the reasons too: from
// what makes a collective's operand and what reads its result.
//
//===----------------------------------------------------------------------===//

#ifndef SP_TRANSFORMS_COLLECTIVETABLE_H
#define SP_TRANSFORMS_COLLECTIVETABLE_H

#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Phases.h"

namespace sp {

/// The part of the model that `op` belongs to, such as
/// "model.layers.0.self_attn.q_proj": its location's name, or else the name of
/// its parameter without the last component. Empty if it has neither.
std::string getModuleName(mlir::Operation *op);
/// All of them, where one op stands for those of several modules.
llvm::SmallVector<std::string> getModuleNames(mlir::Operation *op);

/// "shard(0) on tp", or "invariant": a layout as tables show it.
std::string describeLayout(mlir::Type type);

/// One layout change of a function.
struct CollectiveRow {
  mlir::Operation *op;
  /// Its name without the dialect: "all_gather".
  llvm::StringRef kind;
  mlir::StringAttr axis;
  AxisLayout from, to;
  /// What each rank sends in a ring; 0 for a change that moves nothing.
  int64_t bytes;
  Phase phase;
  /// The op or parameter that it serves.
  std::string at;
  /// That op's module.
  std::string module;
  /// A clause without a subject: "enters the tensor-parallel region of q_proj".
  std::string why;
  /// The parameters whose gradients it sums.
  llvm::SmallVector<std::string> gradients;

  /// False for `copy`, `slice` and `zero_pad`.
  bool moves() const;
  /// "shard(0) -> replicate".
  std::string change() const;
};

/// The layout changes of `function`, a single block on global shapes, in order.
llvm::SmallVector<CollectiveRow> findCollectives(mlir::func::FuncOp function,
                                                 MeshOp mesh);

/// How many there are of a kind, and what each rank sends.
struct CollectiveSum {
  int64_t count = 0, bytes = 0;

  CollectiveSum &operator+=(const CollectiveSum &other) {
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
  bool operator==(const CollectiveSum &other) const {
    return count == other.count && bytes == other.bytes;
  }
};

/// The kinds that move data, in the order of every table.
inline constexpr llvm::StringLiteral kCollectiveKinds[] = {
    "all_reduce", "reduce_scatter", "all_gather"};

} // namespace sp

#endif // SP_TRANSFORMS_COLLECTIVETABLE_H
