//===- LinalgReductions.h - what linalg ops with reductions compute -------===//
//
// Read off the body and the maps, never off an op's name: `linalg.matmul`, a
// `linalg.generic` that computes the same, and one with its operands swapped
// are the same contraction.
//
//===----------------------------------------------------------------------===//

#ifndef SP_DIALECT_LINALGREDUCTIONS_H
#define SP_DIALECT_LINALGREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace sp {

/// result = combiner(init, element of every point of the reduction loops).
struct LinalgReduction {
  mlir::Operation *combiner;
  /// In the body; does not depend on the init.
  mlir::Value element;

  bool isSum() const;
};

/// How result `result` of `op` is combined along its reduction loops; none if
/// the body does something else with what it has so far.
std::optional<LinalgReduction> getReduction(mlir::linalg::LinalgOp op,
                                            unsigned result);

/// True if `op` has reduction loops and all that it does along them is adding.
bool isSum(mlir::linalg::LinalgOp op);

/// True if `op` sums the products of the elements of its two inputs.
bool isContraction(mlir::linalg::LinalgOp op);

} // namespace sp

#endif // SP_DIALECT_LINALGREDUCTIONS_H
