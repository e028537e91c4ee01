//===- OpVerification.h - what the ops' verifiers share -------------------===//
//
// Each check names what it is about and the constraint of the op's description.
//
//===----------------------------------------------------------------------===//

#ifndef SP_LIB_DIALECT_OPVERIFICATION_H
#define SP_LIB_DIALECT_OPVERIFICATION_H

#include "sp/Dialect/SPOps.h"

namespace sp {

/// "[2, 16]".
std::string shapeStr(mlir::ArrayRef<int64_t> shape);

mlir::LogicalResult verifyShape(mlir::Operation *op, mlir::StringRef name,
                                mlir::Value value,
                                mlir::ArrayRef<int64_t> shape,
                                mlir::StringRef constraint);
mlir::LogicalResult verifyRank(mlir::Operation *op, mlir::StringRef name,
                               mlir::Value value, int64_t rank,
                               mlir::StringRef constraint);
mlir::LogicalResult verifyMinRank(mlir::Operation *op, mlir::StringRef name,
                                  mlir::Value value, int64_t rank,
                                  mlir::StringRef constraint);
mlir::LogicalResult verifySameElementType(mlir::Operation *op,
                                          mlir::ValueRange values,
                                          mlir::StringRef constraint);
/// All operands and results have the same shape and element type.
mlir::LogicalResult verifyElementwise(mlir::Operation *op);
/// `weight` has the element type of `data`, or is f32 beside bf16.
mlir::LogicalResult verifyWeightElementType(mlir::Operation *op,
                                            mlir::Value data,
                                            mlir::Value weight,
                                            mlir::StringRef constraint);
mlir::LogicalResult verifyNotNegative(mlir::Operation *op, mlir::StringRef name,
                                      const llvm::APFloat &value,
                                      mlir::StringRef constraint);
/// In [0, 1).
mlir::LogicalResult verifyProbability(mlir::Operation *op, mlir::StringRef name,
                                      const llvm::APFloat &value,
                                      mlir::StringRef constraint);

/// `layout` is one that `value` could have had.
mlir::LogicalResult verifyLayoutOf(mlir::Operation *op, LayoutAttr layout,
                                   mlir::Value value,
                                   mlir::StringRef constraint);

mlir::SmallVector<mlir::Value> operandsAndResults(mlir::Operation *op);

/// True if `operands` are exactly the numbers in `wanted`.
bool isExactly(const llvm::SmallBitVector &operands,
               std::initializer_list<unsigned> wanted);

/// True if `op` may have query heads sharded along `axis` beside key/value heads
/// that are not: each rank has one key/value head, to which all its query heads
/// belong.
bool splitsHeadGroups(mlir::Operation *op, mlir::ValueRange keyAndValue,
                      mlir::StringRef axis);

/// C1, C2 and C4 of `attention`, and of its adjoint, where `result` is what has
/// the result's type.
template <typename OpTy>
mlir::LogicalResult verifyAttention(OpTy op, mlir::Value result);

} // namespace sp

template <typename OpTy>
mlir::LogicalResult sp::verifyAttention(OpTy op, mlir::Value result) {
  for (auto [name, value] :
       {std::pair<mlir::StringRef, mlir::Value>("query", op.getQuery()),
        {"key", op.getKey()},
        {"value", op.getValue()}})
    if (failed(verifyRank(op, name, value, 4, "C1")))
      return mlir::failure();
  mlir::ArrayRef<int64_t> query = shapeOf(op.getQuery());
  mlir::SmallVector<int64_t> key{query[0], query[1], shapeOf(op.getKey())[2],
                                 query[3]};
  if (failed(verifyShape(op, "key", op.getKey(), key, "C1")) ||
      failed(verifyShape(op, "value", op.getValue(), key, "C1")) ||
      failed(verifyShape(op, "result", result, query, "C1")))
    return mlir::failure();
  if (key[2] == 0 || query[2] % key[2])
    return op.emitOpError("has ")
           << query[2] << " query heads, which " << key[2]
           << " key/value heads do not divide (C1)";
  if (!op.getDropout() != !op.getOpId())
    return op.emitOpError("needs both of `dropout` and `op_id`, or none (C4)");
  if (op.getDropout() &&
      failed(verifyProbability(op, "dropout", *op.getDropout(), "C4")))
    return mlir::failure();
  if (op.getLayout() &&
      failed(verifyLayoutOf(op, *op.getLayout(), result, "C4")))
    return mlir::failure();
  return verifySameElementType(op, operandsAndResults(op), "C2");
}

#endif // SP_LIB_DIALECT_OPVERIFICATION_H
