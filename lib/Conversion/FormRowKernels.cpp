//===- FormRowKernels.cpp - token-local ops become row kernels ------------===//
//
// One small builder per op says what happens to the elements of a row; the rest
// (rows and columns, maps, widening bf16) is shared.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sp {
#define GEN_PASS_DEF_SPFORMROWKERNELS
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What is shared
//===----------------------------------------------------------------------===//

namespace {

/// A row kernel under construction. Rows are the leading dimensions of a tensor
/// and columns its last one, unless said otherwise.
class KernelBuilder {
public:
  KernelBuilder(Operation *op, int64_t rows, int64_t cols)
      : op(op), builder(op), rows(rows), cols(cols) {
    MLIRContext *context = op->getContext();
    row = getAffineDimExpr(0, context);
    col = getAffineDimExpr(1, context);
  }
  /// With the rows and columns of `shape`.
  KernelBuilder(Operation *op, ArrayRef<int64_t> shape)
      : KernelBuilder(op,
                      shape.empty() ? 1 : llvm::product_of(shape.drop_back()),
                      shape.empty() ? 1 : shape.back()) {}

  /// The element at (row, column) of a [rows, cols] tensor; of a [cols] vector; of
  /// a [rows] column.
  AffineExpr dense() { return row * cols + col; }
  AffineExpr perColumn() { return col; }
  AffineExpr perRow() { return row; }

  unsigned input(Value value, AffineExpr offset) {
    inputs.push_back(value);
    inputMaps.push_back(AffineMap::get(2, 0, offset));
    return inputs.size() - 1;
  }
  unsigned output(RankedTensorType type) {
    outputs.push_back(type);
    return outputs.size() - 1;
  }
  /// That the value yielded next goes to `output` at `offset`.
  void store(unsigned output, AffineExpr offset) {
    outputResults.push_back(output);
    outputMaps.push_back(AffineMap::get(2, 0, offset));
  }

  using Body =
      function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)>;
  /// Creates the kernel. `body` gets the inputs' elements, bf16 as f32, and gives
  /// what `store` announced; f32 is rounded to bf16 outputs.
  RowKernelOp finish(Body body);

  AffineExpr row, col;

private:
  Operation *op;
  OpBuilder builder;
  int64_t rows, cols;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  SmallVector<Type> outputs;
  SmallVector<int64_t> outputResults;
};

} // namespace

RowKernelOp KernelBuilder::finish(Body body) {
  Location loc = op->getLoc();
  auto kernel = RowKernelOp::create(
      builder, loc, outputs, inputs, rows, cols,
      builder.getAffineMapArrayAttr(inputMaps),
      builder.getAffineMapArrayAttr(outputMaps),
      builder.getDenseI64ArrayAttr(outputResults));
  Block &block = kernel.getBody().emplaceBlock();
  auto inner = ImplicitLocOpBuilder::atBlockEnd(loc, &block);
  SmallVector<Value> elements;
  for (Value input : inputs) {
    Type type = tensorType(input).getElementType();
    Value element = block.addArgument(type, loc);
    if (type.isBF16())
      element = arith::ExtFOp::create(inner, inner.getF32Type(), element);
    elements.push_back(element);
  }
  SmallVector<Value> values = body(inner, elements);
  for (auto [value, result] : llvm::zip_equal(values, outputResults))
    if (Type type = tensorType(kernel.getResult(result)).getElementType();
        type.isBF16())
      value = arith::TruncFOp::create(inner, type, value);
  YieldOp::create(inner, values);
  return kernel;
}

/// The type that a tensor's elements are computed in.
static Type getComputeType(Type element) {
  return element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

static Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

//===----------------------------------------------------------------------===//
// Elementwise arith and math
//===----------------------------------------------------------------------===//

/// The scalar of a splat constant, or null.
static TypedAttr getSplat(Value value) {
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<TypedAttr>();
  return {};
}

/// A scalar constant in its compute type.
static Value createScalar(ImplicitLocOpBuilder &b, TypedAttr scalar) {
  if (auto number = dyn_cast<FloatAttr>(scalar))
    return constant(b, getComputeType(number.getType()),
                    number.getValueAsDouble());
  return arith::ConstantOp::create(b, scalar);
}

/// Clones a scalar op on compute types.
static SmallVector<Value> cloneScalar(ImplicitLocOpBuilder &b, Operation *op,
                                      ValueRange operands) {
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  for (Type type : op->getResultTypes())
    state.addTypes(getComputeType(getElementTypeOrSelf(type)));
  state.addAttributes(op->getAttrs());
  // A conversion between bf16 and f32 has nothing left to do.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
      operands[0].getType() == state.types[0])
    return {operands[0]};
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}

static RowKernelOp formElementwise(Operation *op) {
  RankedTensorType type = tensorType(op->getResult(0));
  KernelBuilder kernel(op, type.getShape());
  SmallVector<int> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(getSplat(operand) ? -1
                                       : int(kernel.input(operand,
                                                          kernel.dense())));
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange elements) {
    SmallVector<Value> operands;
    for (auto [operand, input] : llvm::zip(op->getOperands(), inputs))
      operands.push_back(input < 0 ? createScalar(b, getSplat(operand))
                                   : elements[input]);
    return cloneScalar(b, op, operands);
  });
}

//===----------------------------------------------------------------------===//
// Fills and linalg
//===----------------------------------------------------------------------===//

static RowKernelOp formSplat(Operation *op, TypedAttr scalar) {
  RankedTensorType type = tensorType(op->getResult(0));
  KernelBuilder kernel(op, type.getShape());
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange) {
    return SmallVector<Value>{createScalar(b, scalar)};
  });
}

/// The linear offset of `map`'s point in a tensor of `shape`, given the position
/// along each loop.
static AffineExpr getOffset(AffineMap map, ArrayRef<int64_t> shape,
                            ArrayRef<AffineExpr> loops) {
  AffineExpr offset = getAffineConstantExpr(0, map.getContext());
  for (auto [expr, extent] : llvm::zip_equal(map.getResults(), shape))
    offset = offset * extent + expr.replaceDims(loops);
  return offset;
}

static FailureOr<RowKernelOp> formLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() > 0)
    return op->emitOpError("is not elementwise on tensors (C2)");
  RankedTensorType type = tensorType(op->getResult(0));
  AffineMap outputMap =
      op.getIndexingMapMatchingResult(op->getOpResult(0));
  if (!outputMap.isPermutation())
    return op->emitOpError("result map is not a permutation (C2)");
  for (OpResult result : op->getResults())
    if (op.getIndexingMapMatchingResult(result) != outputMap)
      return op->emitOpError("has results of different maps (C2)");

  // The position along each loop, from row and column of the result.
  KernelBuilder kernel(op, type.getShape());
  SmallVector<AffineExpr> loops(op.getNumLoops());
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    AffineExpr &position = loops[outputMap.getDimPosition(dim)];
    if (dim == type.getRank() - 1) {
      position = kernel.col;
      continue;
    }
    position = kernel.row.floorDiv(stride);
    stride *= type.getDimSize(dim);
    if (dim > 0)
      position = position % type.getDimSize(dim);
  }

  Block &body = op->getRegion(0).front();
  for (Operation &inner : body.without_terminator())
    if (inner.getNumRegions() > 0 ||
        !OpTrait::hasElementwiseMappableTraits(&inner))
      if (!inner.hasTrait<OpTrait::ConstantLike>())
        return inner.emitOpError("is not a scalar op (C2)");

  SmallVector<int> inputs;
  for (auto [argument, operand] :
       llvm::zip(body.getArguments(), op->getOperands())) {
    if (argument.use_empty() || !isa<RankedTensorType>(operand.getType())) {
      inputs.push_back(-1);
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(
        &op->getOpOperand(argument.getArgNumber()));
    AffineExpr offset =
        map == outputMap
            ? kernel.dense()
            : getOffset(map, tensorType(operand).getShape(), loops);
    inputs.push_back(kernel.input(operand, offset));
  }
  for (OpResult result : op->getResults())
    kernel.store(kernel.output(tensorType(result)), kernel.dense());

  // Scalars from outside the body must be constants: a kernel is isolated.
  SetVector<Value> outside;
  for (auto [argument, operand] :
       llvm::zip(body.getArguments(), op->getOperands()))
    if (!argument.use_empty() && !isa<RankedTensorType>(operand.getType()))
      outside.insert(operand);
  for (Operation &inner : body)
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != &body)
        outside.insert(operand);
  for (Value value : outside)
    if (!matchPattern(value, m_Constant()) || isa<ShapedType>(value.getType()))
      return op->emitOpError("reads a value from outside its body that is not a "
                             "scalar constant (C2)");

  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange elements) {
    IRMapping mapping;
    for (Value value : outside) {
      Attribute scalar;
      matchPattern(value, m_Constant(&scalar));
      mapping.map(value, createScalar(b, cast<TypedAttr>(scalar)));
    }
    for (auto [argument, operand, input] :
         llvm::zip(body.getArguments(), op->getOperands(), inputs)) {
      if (input >= 0)
        mapping.map(argument, elements[input]);
      else if (Value scalar = mapping.lookupOrNull(operand))
        mapping.map(argument, scalar);
    }
    for (Operation &inner : body.without_terminator()) {
      Attribute scalar;
      if (matchPattern(&inner, m_Constant(&scalar))) {
        mapping.map(inner.getResult(0),
                    createScalar(b, cast<TypedAttr>(scalar)));
        continue;
      }
      SmallVector<Value> operands = llvm::map_to_vector(
          inner.getOperands(), [&](Value v) { return mapping.lookup(v); });
      mapping.map(inner.getResults(), cloneScalar(b, &inner, operands));
    }
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookup(value); });
  });
}

//===----------------------------------------------------------------------===//
// The ops of a Transformer block
//===----------------------------------------------------------------------===//

static RowKernelOp form(RMSNormOp op) {
  RankedTensorType type = op.getType();
  int64_t cols = type.getShape().back();
  KernelBuilder kernel(op, type.getShape());
  kernel.input(op.getInput(), kernel.dense());
  kernel.input(op.getWeight(), kernel.perColumn());
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type compute = in[0].getType();
    Value square = arith::MulFOp::create(b, in[0], in[0]);
    Value sum = RowReduceOp::create(b, compute, ReduceKind::Sum, square);
    Value mean = arith::DivFOp::create(b, sum, constant(b, compute, cols));
    Value shifted = arith::AddFOp::create(
        b, mean, constant(b, compute, op.getEps().convertToDouble()));
    Value root = math::SqrtOp::create(b, shifted);
    Value inverse = arith::DivFOp::create(b, constant(b, compute, 1), root);
    Value normalised = arith::MulFOp::create(b, in[0], inverse);
    return SmallVector<Value>{arith::MulFOp::create(b, normalised, in[1])};
  });
}

static RowKernelOp form(BiasAddOp op) {
  KernelBuilder kernel(op, op.getType().getShape());
  kernel.input(op.getInput(), kernel.dense());
  kernel.input(op.getBias(), kernel.perColumn());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    return SmallVector<Value>{arith::AddFOp::create(b, in[0], in[1])};
  });
}

static RowKernelOp form(ScaleOp op) {
  KernelBuilder kernel(op, op.getType().getShape());
  kernel.input(op.getInput(), kernel.dense());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Value factor =
        constant(b, in[0].getType(), op.getFactor().convertToDouble());
    return SmallVector<Value>{arith::MulFOp::create(b, in[0], factor)};
  });
}

static RowKernelOp form(SwiGLUOp op) {
  KernelBuilder kernel(op, op.getType().getShape());
  kernel.input(op.getGate(), kernel.dense());
  kernel.input(op.getUp(), kernel.dense());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, in[0]));
    Value one = constant(b, in[0].getType(), 1);
    Value silu =
        arith::DivFOp::create(b, in[0], arith::AddFOp::create(b, exp, one));
    return SmallVector<Value>{arith::MulFOp::create(b, silu, in[1])};
  });
}

/// A row is one head of one token; a column is one pair of its elements.
static RowKernelOp form(RopeOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t half = shape[3] / 2, rowsPerToken = shape[1] * shape[2];
  KernelBuilder kernel(op, shape[0] * rowsPerToken, half);
  AffineExpr first = kernel.row * shape[3] + kernel.col;
  AffineExpr table = kernel.row.floorDiv(rowsPerToken) * half + kernel.col;
  kernel.input(op.getInput(), first);
  kernel.input(op.getInput(), first + half);
  kernel.input(op.getCos(), table);
  kernel.input(op.getSin(), table);
  unsigned output = kernel.output(op.getType());
  kernel.store(output, first);
  kernel.store(output, first + half);
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    auto mul = [&](Value x, Value y) -> Value {
      return arith::MulFOp::create(b, x, y);
    };
    return SmallVector<Value>{
        arith::SubFOp::create(b, mul(in[0], in[2]), mul(in[1], in[3])),
        arith::AddFOp::create(b, mul(in[1], in[2]), mul(in[0], in[3]))};
  });
}

/// Each token's loss, then their sum: two kernels, because rows are independent.
static SmallVector<Value> form(CrossEntropyOp op) {
  ArrayRef<int64_t> shape = tensorType(op.getLogits()).getShape();
  int64_t tokens = shape[0] * shape[1];
  OpBuilder builder(op);
  Value targets = CheckTargetsOp::create(
      builder, op.getLoc(), op.getTargets().getType(), op.getTargets(),
      builder.getI64IntegerAttr(shape[2]), op.getIgnoreIndexAttr());
  Type f64 = builder.getF64Type();
  auto perToken = RankedTensorType::get({tokens}, f64);

  KernelBuilder losses(op, tokens, shape[2]);
  losses.input(op.getLogits(), losses.dense());
  losses.input(targets, losses.perRow());
  losses.store(losses.output(perToken), losses.perRow());
  losses.store(losses.output(perToken), losses.perRow());
  RowKernelOp each =
      losses.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
        Type compute = in[0].getType();
        Value zero = constant(b, compute, 0);
        Value max = RowReduceOp::create(b, compute, ReduceKind::Max, in[0]);
        Value exp =
            math::ExpOp::create(b, arith::SubFOp::create(b, in[0], max));
        Value sum = RowReduceOp::create(b, compute, ReduceKind::Sum, exp);
        Value column = ColIndexOp::create(b, b.getI64Type());
        Value isTarget = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                               column, in[1]);
        Value picked = RowReduceOp::create(
            b, compute, ReduceKind::Sum,
            arith::SelectOp::create(b, isTarget, in[0], zero));
        Value loss = arith::AddFOp::create(
            b, math::LogOp::create(b, sum),
            arith::SubFOp::create(b, max, picked));
        if (compute != f64)
          loss = arith::ExtFOp::create(b, f64, loss);
        Value ignore = arith::ConstantOp::create(b, op.getIgnoreIndexAttr());
        Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, in[1],
                                            ignore);
        Value none = constant(b, f64, 0);
        return SmallVector<Value>{
            arith::SelectOp::create(b, valid, loss, none),
            arith::SelectOp::create(b, valid, constant(b, f64, 1), none)};
      });

  KernelBuilder sums(op, 1, tokens);
  sums.input(each.getResult(0), sums.perColumn());
  sums.input(each.getResult(1), sums.perColumn());
  AffineExpr only = getAffineConstantExpr(0, op.getContext());
  sums.store(sums.output(tensorType(op.getLossSum())), only);
  sums.store(sums.output(tensorType(op.getCount())), only);
  RowKernelOp total = sums.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type type = tensorType(op.getLossSum()).getElementType();
    auto sum = [&](Value value) {
      Value result = RowReduceOp::create(b, f64, ReduceKind::Sum, value);
      return type == f64 ? result
                         : Value(arith::TruncFOp::create(b, type, result));
    };
    return SmallVector<Value>{sum(in[0]), sum(in[1])};
  });
  return SmallVector<Value>(total.getResults());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FormRowKernels : sp::impl::SPFormRowKernelsBase<FormRowKernels> {
  void runOnOperation() override;

private:
  /// The values that replace the op's results; none if the op stays.
  FailureOr<SmallVector<Value>> form(Operation *op);
};
} // namespace

FailureOr<SmallVector<Value>> FormRowKernels::form(Operation *op) {
  auto results = [](RowKernelOp kernel) {
    return SmallVector<Value>(kernel.getResults());
  };
  if (auto linear = dyn_cast<LinearOp>(op)) {
    if (!linear.getBias())
      return SmallVector<Value>();
    OpBuilder builder(op);
    Value product =
        LinearOp::create(builder, op->getLoc(), linear.getType(),
                         linear.getInput(), linear.getWeight(), Value());
    auto biased = BiasAddOp::create(builder, op->getLoc(), linear.getType(),
                                    product, linear.getBias());
    SmallVector<Value> values = results(::form(biased));
    biased.erase();
    return values;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Attribute scalar;
    if (!matchPattern(fill.value(), m_Constant(&scalar)))
      return op->emitOpError("fills with a value that is not constant (C2)");
    return results(formSplat(op, cast<TypedAttr>(scalar)));
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    FailureOr<RowKernelOp> kernel = formLinalg(linalgOp);
    if (failed(kernel))
      return failure();
    return results(*kernel);
  }
  if (OpTrait::hasElementwiseMappableTraits(op) &&
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return results(formElementwise(op));
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<RMSNormOp, BiasAddOp, ScaleOp, SwiGLUOp, RopeOp>(
          [&](auto concrete) { return results(::form(concrete)); })
      .Case<CrossEntropyOp>([](auto entropy) { return ::form(entropy); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

void FormRowKernels::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isDeclaration())
    return;
  SmallVector<Operation *> ops, sources;
  for (Operation &op : function.getBody().front())
    (isa<arith::ConstantOp, tensor::EmptyOp>(op) ? sources : ops).push_back(&op);
  for (Operation *op : ops) {
    for (Value value : llvm::concat<Value>(
             SmallVector<Value>(op->getOperands()),
             SmallVector<Value>(op->getResults())))
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && type.getEncoding()) {
        op->emitOpError("works on ")
            << type << "; run sp-localize first (C1)";
        return signalPassFailure();
      }
    FailureOr<SmallVector<Value>> values = form(op);
    if (failed(values))
      return signalPassFailure();
    if (values->empty())
      continue;
    op->replaceAllUsesWith(*values);
    op->erase();
  }
  // Splats that something else than an elementwise op still reads.
  for (Operation *op : sources) {
    if (op->use_empty()) {
      op->erase();
      continue;
    }
    if (!isa<RankedTensorType>(op->getResult(0).getType()))
      continue;
    if (TypedAttr scalar = getSplat(op->getResult(0))) {
      op->replaceAllUsesWith(formSplat(op, scalar)->getResults());
      op->erase();
    }
  }
  function.walk([&](RowKernelOp) { ++numKernels; });
}
