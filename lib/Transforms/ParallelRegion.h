//===- ParallelRegion.h - what one shard can be carried through -----------===//
//
// A tensor-parallel region is opened by column-parallel projections and closed
// by row-parallel ones. It is found by following factors of the ops' layout
// rules, in both directions, from a projection that could close it. Names,
// sizes and the kinds of ops in between play no part.
//
// The head's region is found in the same way, from the logits. It is closed by
// cross entropies, which then need two numbers per token from each rank, and by
// results, which may leave as shards.
//
//===----------------------------------------------------------------------===//

#ifndef SP_LIB_TRANSFORMS_PARALLELREGION_H
#define SP_LIB_TRANSFORMS_PARALLELREGION_H

#include "Projection.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sp {

struct ParallelRegion {
  /// The values that a rank holds a shard of, parameters among them, with the
  /// sharded dimension.
  llvm::MapVector<mlir::Value, int64_t> shards;
  /// The ops that work on shards, with the factor that is sharded; those at the
  /// ends once more.
  llvm::MapVector<mlir::Operation *, int64_t> ops;
  llvm::SetVector<mlir::Operation *> columns, rows;
  /// Of the head: cross entropies, and the lookups in a weight that is the
  /// embedding's table as well.
  bool isHead = false;
  llvm::SetVector<mlir::Operation *> losses, lookups;
  /// Constants, of which each rank makes or takes its part.
  mlir::SmallVector<mlir::OpOperand *> sources;
  /// Operands from outside that every rank needs whole.
  mlir::SmallVector<mlir::OpOperand *> replicated;
  /// Ops that every rank does alike, on what enters the region: they make a
  /// single key/value head.
  llvm::SetVector<mlir::Operation *> repeated;
  /// With fewer key/value heads than ranks: their number, and the values that
  /// hold them, parameters among them.
  int64_t numGroups = 0;
  llvm::SetVector<mlir::Value> grouped;
};

/// The layout rule of `op`; a bias does not keep a linear from closing a
/// region, since it moves.
LayoutRule getRegionRule(mlir::Operation *op);

/// Finds one region, or says why there is none.
class RegionFinder {
public:
  /// Ops in `assigned` belong to other regions.
  RegionFinder(const llvm::DenseSet<mlir::Operation *> &assigned)
      : assigned(assigned) {}

  /// The region in which the projection `closing` sums over `factor`.
  mlir::FailureOr<ParallelRegion> find(mlir::Operation *closing,
                                       int64_t factor);
  /// The region of the head that gives `logits`.
  mlir::FailureOr<ParallelRegion> findHead(mlir::Value logits);
  const std::string &getReason() const { return reason; }
  /// What was found; incomplete after a failure.
  const ParallelRegion &getRegion() const { return region; }

private:
  mlir::LogicalResult fail(const llvm::Twine &why) {
    reason = why.str();
    return mlir::failure();
  }
  /// Follows all shards that are added, until nothing new comes up.
  mlir::FailureOr<ParallelRegion> follow();
  /// True if `value` was not known as a shard of `dim`.
  mlir::FailureOr<bool> insertShard(mlir::Value value, int64_t dim);
  mlir::LogicalResult addShard(mlir::Value value, int64_t dim);
  mlir::LogicalResult addParameter(mlir::BlockArgument parameter, int64_t dim);
  mlir::LogicalResult addOperand(mlir::OpOperand &operand, int64_t dim,
                                 bool isActivation);
  /// Follows a shard into the op that defines it and into its users.
  mlir::LogicalResult visitDefinition(mlir::Value value, int64_t dim);
  mlir::LogicalResult visitUses(mlir::Value value, int64_t dim);
  mlir::LogicalResult visitUse(mlir::OpOperand &use, int64_t dim);
  /// Carries `factor` through all operands and results of `op`.
  mlir::LogicalResult visit(mlir::Operation *op, int64_t factor);

  const llvm::DenseSet<mlir::Operation *> &assigned;
  ParallelRegion region;
  mlir::SmallVector<std::pair<mlir::Value, int64_t>> worklist;
  std::string reason;
};

/// Of regions that overlap the first, unless another one shares out more
/// weights than all that it excludes: of an MLP and a low-rank adapter in it,
/// the MLP.
std::vector<ParallelRegion>
chooseRegions(std::vector<ParallelRegion> candidates);

} // namespace sp

#endif // SP_LIB_TRANSFORMS_PARALLELREGION_H
