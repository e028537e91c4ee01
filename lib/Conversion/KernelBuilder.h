//===- KernelBuilder.h - row kernels from ops on tensors ------------------===//

#ifndef SP_LIB_CONVERSION_KERNELBUILDER_H
#define SP_LIB_CONVERSION_KERNELBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sp/Dialect/SPOps.h"

namespace sp {

/// A row kernel under construction. Rows are the leading dimensions of a tensor
/// and columns its last one, unless said otherwise.
class KernelBuilder {
public:
  KernelBuilder(mlir::Operation *op, int64_t rows, int64_t cols)
      : op(op), builder(op), rows(rows), cols(cols) {
    mlir::MLIRContext *context = op->getContext();
    row = mlir::getAffineDimExpr(0, context);
    col = mlir::getAffineDimExpr(1, context);
  }
  /// With the rows and columns of `shape`.
  KernelBuilder(mlir::Operation *op, llvm::ArrayRef<int64_t> shape)
      : KernelBuilder(op,
                      shape.empty() ? 1 : llvm::product_of(shape.drop_back()),
                      shape.empty() ? 1 : shape.back()) {}

  /// The element at (row, column) of a [rows, cols] tensor; of a [cols] vector;
  /// of a [rows] column.
  mlir::AffineExpr dense() { return row * cols + col; }
  mlir::AffineExpr perColumn() { return col; }
  mlir::AffineExpr perRow() { return row; }

  /// The number of the element for the body. What is read twice is one input.
  unsigned input(mlir::Value value, mlir::AffineExpr offset) {
    mlir::AffineMap map = mlir::AffineMap::get(2, 0, offset);
    unsigned number = 0;
    while (number < inputs.size() &&
           (inputs[number] != value || inputMaps[number] != map))
      ++number;
    if (number == inputs.size()) {
      inputs.push_back(value);
      inputMaps.push_back(map);
    }
    slots.push_back(number);
    return slots.size() - 1;
  }
  unsigned output(mlir::RankedTensorType type) {
    outputs.push_back(type);
    return outputs.size() - 1;
  }
  /// That the value yielded next goes to `output` at `offset`.
  void store(unsigned output, mlir::AffineExpr offset) {
    outputResults.push_back(output);
    outputMaps.push_back(mlir::AffineMap::get(2, 0, offset));
  }

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;
  /// Creates the kernel. `body` gets the inputs' elements, bf16 as f32, and
  /// gives what `store` announced; f32 is rounded to bf16 outputs.
  RowKernelOp finish(Body body);

  mlir::AffineExpr row, col;

private:
  mlir::Operation *op;
  mlir::OpBuilder builder;
  int64_t rows, cols;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<unsigned> slots;
  llvm::SmallVector<mlir::AffineMap> inputMaps, outputMaps;
  llvm::SmallVector<mlir::Type> outputs;
  llvm::SmallVector<int64_t> outputResults;
};

/// The type that a tensor's elements are computed in.
mlir::Type getComputeType(mlir::Type element);

/// Whether a value of `type` can be in memory.
bool isStorable(mlir::Type type);

mlir::Value createFloat(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                        double value);

/// The scalar that `value` is, or is a splat of, if it is constant; or null.
mlir::TypedAttr getScalar(mlir::Value value);

/// A scalar constant in its compute type.
mlir::Value createScalar(mlir::ImplicitLocOpBuilder &b, mlir::TypedAttr scalar);

/// Clones an op for scalars of compute types. What rounds to bf16 still does.
llvm::SmallVector<mlir::Value> cloneScalar(mlir::ImplicitLocOpBuilder &b,
                                           mlir::Operation *op,
                                           mlir::ValueRange operands);

/// C4 of `sp-form-row-kernels`: an integer division that may trap would end the
/// process. `divisor` is what `op` divides by, as far as it is known.
mlir::LogicalResult verifyDivision(mlir::Operation *op,
                                   mlir::TypedAttr divisor);

} // namespace sp

#endif // SP_LIB_CONVERSION_KERNELBUILDER_H
