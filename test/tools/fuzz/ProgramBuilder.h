//===- ProgramBuilder.h - Unsharded programs, op by op ----------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_PROGRAMBUILDER_H
#define SP_TEST_TOOLS_FUZZ_PROGRAMBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sp/Dialect/SPOps.h"

namespace sp::test {

/// A function under construction, in f64: arguments and results are added as
/// the ops that need them are.
class ProgramBuilder {
public:
  explicit ProgramBuilder(mlir::MLIRContext &context);

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape);
  static llvm::ArrayRef<int64_t> shape(mlir::Value value);

  /// `role` is for the reader; names are made unique.
  mlir::Value parameter(llvm::StringRef role, llvm::ArrayRef<int64_t> shape);
  bool hasParameters() const { return numParameters > 0; }
  mlir::Value input(llvm::StringRef name, mlir::RankedTensorType type);
  void result(llvm::StringRef name, mlir::Value value);
  /// An attribute of the function.
  void mark(llvm::StringRef attribute);
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  /// Creates an op whose first result has the given shape.
  template <typename OpTy, typename... Args>
  mlir::Value make(llvm::ArrayRef<int64_t> shape, Args &&...args) {
    return OpTy::create(b, type(shape), std::forward<Args>(args)...)
        ->getResult(0);
  }
  /// Creates an op whose result has its first operand's shape.
  template <typename OpTy, typename... Args>
  mlir::Value like(mlir::Value first, Args &&...args) {
    return make<OpTy>(shape(first), first, std::forward<Args>(args)...);
  }
  mlir::FloatAttr number(double value) { return b.getF64FloatAttr(value); }

  mlir::Value splat(llvm::ArrayRef<int64_t> shape, double value);
  /// A constant of distinct elements in [-1, 1], none of them 0.
  mlir::Value distinct(llvm::ArrayRef<int64_t> shape);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value linear(mlir::Value x, llvm::StringRef role, int64_t outputs,
                     bool bias);
  /// `x` with dimension `perm[i]` as dimension i.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<mlir::ReassociationIndices> groups);
  mlir::Value sumLeading(mlir::Value x, int64_t count);
  /// The sum of all elements.
  mlir::Value sum(mlir::Value x) { return sumLeading(x, shape(x).size()); }
  /// The sum over the last dimension.
  mlir::Value sumLast(mlir::Value x);
  mlir::Value dropout(mlir::Value x);

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange)>;
  /// An elementwise `linalg.generic` over the dimensions of the first operand;
  /// `dims` are those that each of the others has.
  mlir::Value generic(llvm::ArrayRef<mlir::Value> operands,
                      llvm::ArrayRef<llvm::SmallVector<int64_t>> dims,
                      Body body);
  /// The number of the next op with a random mask.
  mlir::IntegerAttr opId() { return b.getI64IntegerAttr(numOpIds++); }

  mlir::ImplicitLocOpBuilder b;

private:
  mlir::Value argument(mlir::Type type, llvm::StringRef attribute,
                       const llvm::Twine &name);
  mlir::DictionaryAttr named(llvm::StringRef attribute,
                             const llvm::Twine &name);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::DictionaryAttr> argumentNames, resultNames;
  llvm::SmallVector<mlir::Value> results;
  int64_t numParameters = 0, numOpIds = 0;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_PROGRAMBUILDER_H
