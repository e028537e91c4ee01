//===- LayoutUtils.h - what the sharding passes share ---------------------===//

#ifndef SP_LIB_TRANSFORMS_LAYOUTUTILS_H
#define SP_LIB_TRANSFORMS_LAYOUTUTILS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Dialect/UniformSources.h"

namespace sp {

/// Sets the layout of `value`'s type along `axis`.
void setAxisLayout(mlir::Value value, mlir::StringAttr axis, AxisLayout layout,
                   mlir::ArrayRef<mlir::StringAttr> meshAxes);

/// Makes `summand` partial along `axis`; its readers read the sum instead.
AllReduceOp sumOverRanks(mlir::Value summand, mlir::StringAttr axis,
                         mlir::ArrayRef<mlir::StringAttr> meshAxes);

/// reduce(x) + reduce(y) = reduce(x + y): replaces `add` by one reduction if it
/// is the sum of two that are alike and that nothing else reads. Null if not.
mlir::Operation *mergeReductions(mlir::arith::AddFOp add);

/// The module's mesh; an error in the name of `pass` (C1) if it has none with
/// `axis`.
mlir::FailureOr<MeshOp> requireMeshAxis(mlir::ModuleOp module,
                                        mlir::StringRef axis,
                                        mlir::StringRef pass);

/// Makes the function's type follow its entry block and its return.
void updateSignature(mlir::func::FuncOp function);

/// A copy of the uniform source `op` that is of `type`.
mlir::Value cloneSource(mlir::OpBuilder &builder, mlir::Operation *op,
                        mlir::RankedTensorType type);

/// True if `op` sums the products of two tensors' elements, as linears and
/// their adjoints do.
bool isContraction(mlir::Operation *op);

/// Replaces layout changes of equal types before and after, but for their
/// shapes, by one change of one packed tensor. New ops go where `b` stands.
/// Each tensor is whole but for its first dimension, which one axis may shard.
UnpackOp changeTogether(mlir::ImplicitLocOpBuilder &b,
                        mlir::ArrayRef<mlir::Operation *> changes, MeshOp mesh);

/// Whether `changeTogether` can serve a tensor that changes between these
/// types.
bool canBePacked(mlir::RankedTensorType from, mlir::RankedTensorType to);

/// How a diagnostic names a value: the parameter or input that it is, the
/// location name of the op that defines it, or the op itself.
std::string describe(mlir::Value value);
std::string describe(mlir::Operation *op);

/// The names of a location, and the first of them, empty if it has none:
/// importers name ops after the module of the model that they come from.
llvm::SmallVector<llvm::StringRef> getLocNames(mlir::Location loc);
llvm::StringRef getLocName(mlir::Location loc);

/// The function's name as a location: a remark about a whole function would
/// otherwise quote its signature, which names every parameter of a model.
mlir::Location getNameLoc(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_LIB_TRANSFORMS_LAYOUTUTILS_H
