//===- Projection.h - an activation times a parameter ---------------------===//
//
// What tensor parallelism shards, in whatever op it is written: `sp.linear`, a
// `linalg.matmul`, a contraction over heads and their elements at once.
//
//===----------------------------------------------------------------------===//

#ifndef SP_LIB_TRANSFORMS_PROJECTION_H
#define SP_LIB_TRANSFORMS_PROJECTION_H

#include "sp/Dialect/SPOps.h"
#include <optional>

namespace sp {

struct Projection {
  /// Any `sp.linear`; a `linalg` contraction of which one input is a parameter.
  static std::optional<Projection> match(mlir::Operation *op);

  /// Operand numbers. `addend` is added to the product: a bias, or the init of
  /// a `linalg` op.
  unsigned activation, weight;
  std::optional<unsigned> addend;
  /// The parameter that the weight is, or is cast, transposed or reshaped from;
  /// null if it is computed.
  mlir::BlockArgument parameter;
  /// Of the product, as if the addend were added after the sum over all ranks.
  LayoutRule rule;
};

/// The function argument that `value` is made from by ops of one operand; null
/// if there is none, or if it is an input.
mlir::BlockArgument findParameter(mlir::Value value);

} // namespace sp

#endif // SP_LIB_TRANSFORMS_PROJECTION_H
