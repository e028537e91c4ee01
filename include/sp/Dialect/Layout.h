//===- Layout.h - layouts along one mesh axis, and rules for ops ----------===//
//
// The algebra behind the verifier and every sharding pass: what a rank holds
// (`AxisLayout`), and how an op carries it from operands to results
// (`LayoutRule`).
//
//===----------------------------------------------------------------------===//

#ifndef SP_DIALECT_LAYOUT_H
#define SP_DIALECT_LAYOUT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace sp {

/// Mixed is no layout: what is asked about an axis whose sub-axes differ.
enum class LayoutKind { Invariant, Replicate, Shard, Partial, Mixed };

/// What each rank of one mesh axis holds of a tensor.
struct AxisLayout {
  LayoutKind kind = LayoutKind::Invariant;
  /// The sharded dimension of the tensor; -1 unless `kind` is Shard.
  int64_t dim = -1;

  static AxisLayout invariant() { return {}; }
  static AxisLayout replicate() { return {LayoutKind::Replicate, -1}; }
  static AxisLayout partial() { return {LayoutKind::Partial, -1}; }
  static AxisLayout shard(int64_t dim) { return {LayoutKind::Shard, dim}; }
  static AxisLayout mixed() { return {LayoutKind::Mixed, -1}; }

  bool isInvariant() const { return kind == LayoutKind::Invariant; }
  bool isReplicate() const { return kind == LayoutKind::Replicate; }
  bool isShard() const { return kind == LayoutKind::Shard; }
  bool isPartial() const { return kind == LayoutKind::Partial; }

  /// The layout of a cotangent: replicate and partial change places.
  AxisLayout dual() const {
    if (isReplicate())
      return partial();
    return isPartial() ? replicate() : *this;
  }

  bool operator==(const AxisLayout &other) const {
    return kind == other.kind && dim == other.dim;
  }
  bool operator!=(const AxisLayout &other) const { return !(*this == other); }

  /// "invariant", "replicate", "shard(0)", "partial" or "mixed".
  std::string str() const;
};

/// One axis of a layout attribute.
struct AxisEntry {
  mlir::StringAttr axis;
  AxisLayout layout;

  bool operator==(const AxisEntry &other) const {
    return axis == other.axis && layout == other.layout;
  }
};
llvm::hash_code hash_value(const AxisEntry &entry);

/// The type of `value`, which is a ranked tensor.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return tensorType(value).getShape();
}

/// The axis that `axis` is a part of: "tp" of "tp.kv". Empty if it is whole.
inline mlir::StringRef getParentAxis(mlir::StringRef axis) {
  auto [parent, part] = axis.rsplit('.');
  return part.empty() ? mlir::StringRef() : parent;
}

/// What the layout of `type` says; nothing if it has none.
mlir::ArrayRef<AxisEntry> getLayoutEntries(mlir::Type type);

/// The layout of `type` along `axis`. Types other than ranked tensors, and
/// tensors with another dialect's encoding, are invariant. A sub-axis is as its
/// axis is, unless the type names it.
AxisLayout getAxisLayout(mlir::Type type, mlir::StringRef axis);

/// `type` with its layout along `axis` replaced; a new axis goes to its place
/// in `meshAxes` order (appended when `meshAxes` does not name it). Sub-axes that
/// have become equal are written as their axis.
mlir::RankedTensorType
withAxisLayout(mlir::RankedTensorType type, mlir::StringAttr axis,
               AxisLayout layout,
               mlir::ArrayRef<mlir::StringAttr> meshAxes = {});

/// The axes along which two ranked tensor types have different layouts.
llvm::SmallVector<mlir::StringAttr> getChangedAxes(mlir::Type from,
                                                   mlir::Type to);

/// True if `type` is, or contains anywhere (function, tuple, ... types), a
/// tensor with a layout.
bool hasLayout(mlir::Type type);

/// How the dimensions of an op's operands and results belong together, as
/// factors of its iteration space (as in Shardy's sharding rules, or an
/// einsum). Layouts follow from it along each axis on its own:
///
///   all invariant -> invariant; all replicate -> replicate;
///   an operand sharded on factor f: every operand that has f is sharded on it,
///     every other one is replicate; then a result that has f is sharded on it,
///     a result that sums over f (a reduction factor) is partial, and a result
///     that merely lacks f is an error;
///   a blocked factor must not be sharded.
struct LayoutRule {
  /// No factor: the dimension must not be sharded.
  static constexpr int64_t kBlocked = -1;

  /// The factor of every dimension, per operand / result of the op (empty for
  /// values that are not ranked tensors).
  llvm::SmallVector<llvm::SmallVector<int64_t>> operands, results;
  /// Factors that the op sums over: absent from the results.
  llvm::SmallVector<bool> isReduction;

  /// Builds a rule from one letter per dimension, for example
  /// `get({"sbk", "nk"}, {"sbn"}, /*reduction=*/"k")`; the letters in `blocked`
  /// must not be sharded.
  static LayoutRule get(mlir::ArrayRef<std::string> operands,
                        mlir::ArrayRef<std::string> results,
                        mlir::StringRef reduction = "",
                        mlir::StringRef blocked = "");

  /// All operands and results have equal dimensions.
  static LayoutRule elementwise(mlir::Operation *op);

  /// The dimension of an operand / result that belongs to `factor`; -1 if none.
  int64_t operandDim(unsigned operand, int64_t factor) const;
  int64_t resultDim(unsigned result, int64_t factor) const;
};

/// `n` distinct letters from `first` on: the leading dimensions of a tensor of
/// unknown rank in `LayoutRule::get`.
std::string leadingDims(int64_t n, char first = 'A');

} // namespace sp

#endif // SP_DIALECT_LAYOUT_H
