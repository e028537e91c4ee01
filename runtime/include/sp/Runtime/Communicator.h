//===- Communicator.h - collectives of one group of ranks -------*- C++ -*-===//

#ifndef SP_RUNTIME_COMMUNICATOR_H
#define SP_RUNTIME_COMMUNICATOR_H

#include "sp/Runtime/Runtime.h"

#include <string>

namespace sp {

enum class Collective { AllReduce, ReduceScatter, AllGather };
constexpr int kNumCollectives = 3;

/// "all_reduce", "reduce_scatter" or "all_gather".
const char *getCollectiveName(Collective kind);

/// One collective on the tensor [outer, dim, inner], where `dim` is the global
/// extent of the dimension that is or gets sharded. An all-reduce of n elements
/// is [1, n, 1]; its `dim` need not be a multiple of the group's size.
struct CollectiveDesc {
  Collective kind;
  int32_t dtype; ///< An sp_dtype.
  int64_t outer, dim, inner;

  /// Of the full tensor.
  int64_t numElements() const { return outer * dim * inner; }
  int64_t numBytes() const;

  /// What one rank of a group of `size` sends when a ring does it, rounded
  /// down: (size - 1) / size of the full tensor, and twice that for an
  /// all-reduce. The `local` back end moves less; this is the figure that
  /// compares programs.
  int64_t ringBytes(int64_t size) const;
};

/// One rank's end of a group. The ranks of a group call the same collectives in
/// the same order; every implementation checks that they do, and bounds the
/// time that a rank waits for the others.
class Communicator {
public:
  virtual ~Communicator();

  /// This rank's number in the group, and the group's size.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Runs one collective and returns an empty string, or says what went wrong,
  /// naming a rank of the world, the collective and its sequence number in the
  /// group. `src` is not changed and must not overlap `dst`; both are free for
  /// reuse on return, with or without an error. After an error every later
  /// call fails too.
  [[nodiscard]] virtual std::string run(const CollectiveDesc &desc,
                                        const void *src, void *dst) = 0;

  /// Says that this rank has failed: whoever waits for it stops waiting. The
  /// first message of a world is the one that counts.
  virtual void abort(const std::string &message) = 0;
};

} // namespace sp

#endif // SP_RUNTIME_COMMUNICATOR_H
