//===- Adjoint.h - reverse-mode differentiation of SSA programs -----------===//
//
// Each op states its adjoint (`AdjointOpInterface`); a sweep over a block, from
// its last op to its first, hands every op the cotangents of its results and
// sums what the ops contribute to each value.
//
//===----------------------------------------------------------------------===//

#ifndef SP_DIALECT_ADJOINT_H
#define SP_DIALECT_ADJOINT_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sp {

/// The type of the cotangent of a value of `type`: the same, with the dual
/// layout along each axis (invariant and shard stay, replicate and partial
/// change places).
mlir::Type getCotangentType(mlir::Type type);

/// True if a value of `type` can have a cotangent: floating point numbers and
/// tensors of them.
bool isDifferentiableType(mlir::Type type);

/// The values of `block` that depend on `sources` in a differentiable way.
llvm::DenseSet<mlir::Value> findVaried(mlir::Block &block,
                                       mlir::ValueRange sources);

/// Cotangents on their way from results to operands.
class ReverseSweep {
public:
  /// New ops go where `builder` stands. Only values in `varied` get cotangents.
  ReverseSweep(mlir::OpBuilder &builder,
               const llvm::DenseSet<mlir::Value> &varied)
      : builder(builder), varied(varied) {}

  bool isVaried(mlir::Value value) const { return varied.contains(value); }

  /// Adds to the cotangent of `value`.
  void add(mlir::Value value, mlir::Value cotangent, mlir::Location loc);
  /// Null if nothing contributed: it is zero.
  mlir::Value get(mlir::Value value) const { return cotangents.lookup(value); }

  /// Emits the adjoints of `ops`, given in forward order. An op that has none
  /// is an error that names it.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

private:
  mlir::OpBuilder &builder;
  const llvm::DenseSet<mlir::Value> &varied;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// What an op's adjoint works with.
class AdjointEmitter {
public:
  AdjointEmitter(ReverseSweep &sweep, mlir::OpBuilder &builder,
                 mlir::Operation *op)
      : b(op->getLoc(), builder), sweep(sweep), op(op) {}

  /// Of a result; null if it is zero.
  mlir::Value getCotangent(unsigned result = 0) const;
  bool isVaried(mlir::Value value) const { return sweep.isVaried(value); }
  /// False if the operand's cotangent is not wanted.
  bool isNeeded(unsigned operand) const;
  mlir::Type getCotangentType(unsigned operand) const;
  void add(unsigned operand, mlir::Value cotangent);
  /// An error if the operand's cotangent is needed.
  mlir::LogicalResult refuse(unsigned operand, llvm::StringRef name);

  mlir::ImplicitLocOpBuilder b;

private:
  ReverseSweep &sweep;
  mlir::Operation *op;
};

/// `value` with the layout of `to`, which differs along one axis; the op is the
/// one that the table of layout changes has for it.
mlir::Value createLayoutChange(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                               mlir::Type to);

/// cotangent * factor, of `type`; the three may differ in their layouts.
mlir::Value createProduct(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                          mlir::Value cotangent, mlir::Value factor);

/// A constant of `type`, a floating point scalar or tensor, all `value`.
mlir::Value createSplat(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                        double value);

/// Attaches `AdjointOpInterface` to elementwise `arith`, `math` and `linalg`
/// and to the reshapes of `tensor`.
void registerAdjointModels(mlir::DialectRegistry &registry);

} // namespace sp

#endif // SP_DIALECT_ADJOINT_H
