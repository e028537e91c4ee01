//===- ProgramBuilder.cpp - Unsharded programs, op by op ------------------===//

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

ProgramBuilder::ProgramBuilder(MLIRContext &context)
    : b(UnknownLoc::get(&context), &context) {
  context.loadDialect<SPDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      tensor::TensorDialect>();
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToStart(module->getBody());
  function = func::FuncOp::create(b, "f", b.getFunctionType({}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
}

RankedTensorType ProgramBuilder::type(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, b.getF64Type());
}

ArrayRef<int64_t> ProgramBuilder::shape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

DictionaryAttr ProgramBuilder::named(StringRef attribute, const Twine &name) {
  return b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(name)));
}

Value ProgramBuilder::argument(Type type, StringRef attribute,
                               const Twine &name) {
  argumentNames.push_back(named(attribute, name));
  return function.front().addArgument(type, b.getLoc());
}

Value ProgramBuilder::parameter(StringRef role, ArrayRef<int64_t> shape) {
  return argument(type(shape), kParamAttr,
                  "p" + Twine(numParameters++) + "." + role);
}

Value ProgramBuilder::input(StringRef name, RankedTensorType type) {
  return argument(type, kInputAttr, name);
}

void ProgramBuilder::result(StringRef name, Value value) {
  resultNames.push_back(named(kResultAttr, name));
  results.push_back(value);
}

void ProgramBuilder::mark(StringRef attribute) {
  function->setAttr(attribute, b.getUnitAttr());
}

OwningOpRef<ModuleOp> ProgramBuilder::finish() {
  func::ReturnOp::create(b, results);
  function.setFunctionType(b.getFunctionType(
      function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentNames);
  function.setAllResultAttrs(resultNames);
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value ProgramBuilder::splat(ArrayRef<int64_t> shape, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type(shape), number(value)));
}

Value ProgramBuilder::distinct(ArrayRef<int64_t> shape) {
  SmallVector<double> values;
  int64_t count = llvm::product_of(shape);
  for (int64_t i = 0; i < count; ++i)
    values.push_back((i % 2 ? -1. : 1.) * (i + 1) / count);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type(shape), ArrayRef<double>(values)));
}

Value ProgramBuilder::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}

Value ProgramBuilder::mul(Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

Value ProgramBuilder::scale(Value x, double factor) {
  return like<ScaleOp>(x, number(factor));
}

Value ProgramBuilder::linear(Value x, StringRef role, int64_t outputs,
                             bool bias) {
  int64_t inputs = shape(x).back();
  Value weight = parameter(role, {outputs, inputs});
  Value added;
  if (bias)
    added = parameter((role + ".bias").str(), {outputs});
  SmallVector<int64_t> to(shape(x));
  to.back() = outputs;
  return make<LinearOp>(to, x, weight, added);
}

Value ProgramBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> to;
  for (int64_t dim : perm)
    to.push_back(shape(x)[dim]);
  Value init = tensor::EmptyOp::create(b, type(to), ValueRange());
  return linalg::TransposeOp::create(b, x, init, perm)->getResult(0);
}

Value ProgramBuilder::reshape(Value x, ArrayRef<int64_t> to,
                              ArrayRef<ReassociationIndices> groups) {
  if (to.size() < shape(x).size())
    return make<tensor::CollapseShapeOp>(to, x, groups);
  return make<tensor::ExpandShapeOp>(to, x, groups);
}

Value ProgramBuilder::sumLeading(Value x, int64_t count) {
  return make<SumLeadingOp>(shape(x).drop_front(count), x,
                            b.getI64IntegerAttr(count));
}

Value ProgramBuilder::sumLast(Value x) {
  int64_t rank = shape(x).size();
  SmallVector<int64_t> perm = {rank - 1};
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    perm.push_back(dim);
  return sumLeading(transpose(x, perm), 1);
}

Value ProgramBuilder::dropout(Value x) {
  return like<DropoutOp>(x, number(0.25), opId(), LayoutAttr());
}

Value ProgramBuilder::generic(ArrayRef<Value> operands,
                              ArrayRef<SmallVector<int64_t>> dims, Body body) {
  unsigned rank = shape(operands.front()).size();
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {identity};
  for (ArrayRef<int64_t> own : dims) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : own)
      exprs.push_back(b.getAffineDimExpr(dim));
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
  }
  maps.push_back(identity);
  RankedTensorType to = type(shape(operands.front()));
  Value init = tensor::EmptyOp::create(b, to, ValueRange());
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, TypeRange(to), operands, init, maps, loops,
             [&](OpBuilder &inner, Location loc, ValueRange elements) {
               linalg::YieldOp::create(inner, loc, body(inner, loc, elements));
             })
      .getResult(0);
}
