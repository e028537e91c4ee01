//===- TokenDims.h - which dimension of a value is the sequence -----------===//

#ifndef SP_LIB_TRANSFORMS_TOKENDIMS_H
#define SP_LIB_TRANSFORMS_TOKENDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Dialect/UniformSources.h"

namespace sp {

/// The all-reduces along `axis` that close regions, of the forward or of the
/// backward pass: all but those that sum gradients.
mlir::SmallVector<AllReduceOp> findReductions(mlir::func::FuncOp function,
                                              mlir::StringRef axis);

/// Rows of the largest value that a tensor-parallel region reduces: its
/// elements but for the last dimension.
int64_t countTokens(mlir::ArrayRef<AllReduceOp> reductions);

/// The sequence dimension of every value that has one, carried by the layout
/// rules in both directions from what the tensor-parallel regions reduce.
class TokenDims {
public:
  /// On `size` ranks.
  TokenDims(mlir::ArrayRef<AllReduceOp> reductions, int64_t size);

  /// -1 if the value has no (known) sequence dimension.
  int64_t get(mlir::Value value) const {
    auto it = dims.find(value);
    return it == dims.end() ? -1 : it->second;
  }
  /// The factor of `op`'s rule that is the sequence; blocked if there is none.
  int64_t getFactor(mlir::Operation *op) const;

private:
  /// A uniform source has none of its own: one constant may serve values with
  /// different sequence dimensions.
  void add(mlir::Value value, int64_t dim) {
    if (!isUniformSource(value.getDefiningOp()) &&
        dims.try_emplace(value, dim).second)
      worklist.push_back(value);
  }
  void visit(mlir::Operation *op);
  void propagate();

  mlir::DenseMap<mlir::Value, int64_t> dims;
  mlir::SmallVector<mlir::Value> worklist;
};

} // namespace sp

#endif // SP_LIB_TRANSFORMS_TOKENDIMS_H
