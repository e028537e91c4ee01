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
#include "sp/Dialect/LinalgReductions.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

namespace sp {
#define GEN_PASS_DEF_SPFORMROWKERNELS
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

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

  /// The element at (row, column) of a [rows, cols] tensor; of a [cols] vector;
  /// of a [rows] column.
  AffineExpr dense() { return row * cols + col; }
  AffineExpr perColumn() { return col; }
  AffineExpr perRow() { return row; }

  /// The number of the element for the body. What is read twice is one input.
  unsigned input(Value value, AffineExpr offset) {
    AffineMap map = AffineMap::get(2, 0, offset);
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
  /// Creates the kernel. `body` gets the inputs' elements, bf16 as f32, and
  /// gives what `store` announced; f32 is rounded to bf16 outputs.
  RowKernelOp finish(Body body);

  AffineExpr row, col;

private:
  Operation *op;
  OpBuilder builder;
  int64_t rows, cols;
  SmallVector<Value> inputs;
  SmallVector<unsigned> slots;
  SmallVector<AffineMap> inputMaps, outputMaps;
  SmallVector<Type> outputs;
  SmallVector<int64_t> outputResults;
};

} // namespace

RowKernelOp KernelBuilder::finish(Body body) {
  Location loc = op->getLoc();
  auto kernel =
      RowKernelOp::create(builder, loc, outputs, inputs, rows, cols,
                          builder.getAffineMapArrayAttr(inputMaps),
                          builder.getAffineMapArrayAttr(outputMaps),
                          builder.getDenseI64ArrayAttr(outputResults));
  Block &block = kernel.getBody().emplaceBlock();
  auto inner = ImplicitLocOpBuilder::atBlockEnd(loc, &block);
  SmallVector<Value> loaded;
  for (Value input : inputs) {
    Type type = tensorType(input).getElementType();
    Value element = block.addArgument(type, loc);
    if (type.isBF16())
      element = arith::ExtFOp::create(inner, inner.getF32Type(), element);
    loaded.push_back(element);
  }
  SmallVector<Value> values = body(
      inner,
      llvm::map_to_vector(slots, [&](unsigned slot) { return loaded[slot]; }));
  for (auto [value, result] : llvm::zip_equal(values, outputResults))
    if (Type type = tensorType(kernel.getResult(result)).getElementType();
        type.isBF16())
      value = inner.createOrFold<arith::TruncFOp>(type, value);
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
// Scalars
//===----------------------------------------------------------------------===//

/// The scalar that `value` is, or is a splat of, if it is constant; or null.
static TypedAttr getScalar(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return isa<ShapedType>(fill.value().getType()) ? TypedAttr()
                                                   : getScalar(fill.value());
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return dyn_cast<TypedAttr>(attribute);
  return elements.isSplat() ? elements.getSplatValue<TypedAttr>() : TypedAttr();
}

/// A scalar constant in its compute type.
static Value createScalar(ImplicitLocOpBuilder &b, TypedAttr scalar) {
  if (auto number = dyn_cast<FloatAttr>(scalar))
    return constant(b, getComputeType(number.getType()),
                    number.getValueAsDouble());
  return arith::ConstantOp::create(b, scalar);
}

/// C4: an integer division that may trap would end the process. `divisor` is
/// what `op` divides by, as far as it is known.
static LogicalResult verifyDivision(Operation *op, TypedAttr divisor) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return success();
  auto number = dyn_cast_or_null<IntegerAttr>(divisor);
  if (number && !number.getValue().isZero() && !number.getValue().isAllOnes())
    return success();
  return op->emitOpError(
      "divides integers by what may be 0, or -1, which would "
      "end the process; only other constants are allowed "
      "(C4)");
}

/// Clones an op for scalars of compute types. What rounds to bf16 still does.
static SmallVector<Value> cloneScalar(ImplicitLocOpBuilder &b, Operation *op,
                                      ValueRange operands) {
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(getElementTypeOrSelf(type));
  if (isa<arith::TruncFOp>(op) && types[0].isBF16()) {
    Value rounded = arith::TruncFOp::create(b, types[0], operands[0]);
    return {arith::ExtFOp::create(b, b.getF32Type(), rounded)};
  }
  llvm::transform(types, types.begin(), getComputeType);
  // A bf16 has been widened already.
  if (isa<arith::ExtFOp>(op) && operands[0].getType() == types[0])
    return {operands[0]};
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}

//===----------------------------------------------------------------------===//
// Elementwise arith and math
//===----------------------------------------------------------------------===//

/// Whether a value of `type` can be in memory.
static bool isStorable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 0)
    return false;
  Type element = tensor.getElementType();
  return element.isF32() || element.isF64() || element.isBF16() ||
         element.isInteger(64);
}

static bool isElementwise(Operation *op) {
  return op && OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// An elementwise op whose results, such as truth values, are never in memory:
/// each of its readers computes them for itself.
static bool isInlined(Operation *op) {
  return isElementwise(op) && !llvm::all_of(op->getResultTypes(), isStorable);
}

/// `op` and what is inlined into it, operands first.
static void collectInlined(Operation *op, SetVector<Operation *> &ops) {
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp(); isInlined(def))
      collectInlined(def, ops);
  ops.insert(op);
}

static FailureOr<RowKernelOp> formElementwise(Operation *op) {
  SetVector<Operation *> ops;
  collectInlined(op, ops);
  KernelBuilder kernel(op, tensorType(op->getResult(0)).getShape());
  llvm::MapVector<Value, unsigned> inputs;
  for (Operation *inner : ops) {
    if (inner->getNumOperands() == 2 &&
        failed(verifyDivision(inner, getScalar(inner->getOperand(1)))))
      return failure();
    for (Value operand : inner->getOperands()) {
      if (getScalar(operand) || ops.contains(operand.getDefiningOp()))
        continue;
      if (!isStorable(operand.getType()))
        return inner->emitOpError("reads ")
               << operand.getType()
               << ", which is neither a constant nor a tensor in memory (C3)";
      if (!inputs.contains(operand))
        inputs[operand] = kernel.input(operand, kernel.dense());
    }
  }
  for (OpResult result : op->getResults())
    kernel.store(kernel.output(tensorType(result)), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange elements) {
    IRMapping mapping;
    for (auto [value, number] : inputs)
      mapping.map(value, elements[number]);
    for (Operation *inner : ops) {
      SmallVector<Value> operands;
      for (Value operand : inner->getOperands()) {
        TypedAttr scalar = getScalar(operand);
        operands.push_back(scalar ? createScalar(b, scalar)
                                  : mapping.lookup(operand));
      }
      mapping.map(inner->getResults(), cloneScalar(b, inner, operands));
    }
    return llvm::map_to_vector(
        op->getResults(), [&](Value result) { return mapping.lookup(result); });
  });
}

//===----------------------------------------------------------------------===//
// Splats and linalg
//===----------------------------------------------------------------------===//

static RowKernelOp formSplat(Operation *op, TypedAttr scalar) {
  RankedTensorType type = tensorType(op->getResult(0));
  KernelBuilder kernel(op, type.getShape());
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange) {
    return SmallVector<Value>{createScalar(b, scalar)};
  });
}

namespace {

/// The loops of a linalg op as rows and columns: the digits of each, outermost
/// first.
class LoopDigits {
public:
  LoopDigits(const KernelBuilder &kernel, linalg::LinalgOp op,
             ArrayRef<int64_t> rows, ArrayRef<int64_t> cols)
      : extents(op.getStaticLoopRanges()), digits{llvm::to_vector(rows),
                                                  llvm::to_vector(cols)},
        numbers{kernel.row, kernel.col} {}

  /// The linear offset of `map`'s point in a tensor of `shape`.
  AffineExpr getOffset(AffineMap map, ArrayRef<int64_t> shape) const;

private:
  /// The number that the digits [begin, end) of the row or column make.
  AffineExpr getNumber(unsigned which, unsigned begin, unsigned end) const;
  /// Of a loop: row (0) or column (1), and which digit.
  std::pair<unsigned, unsigned> find(unsigned loop) const;

  SmallVector<int64_t> extents;
  SmallVector<int64_t> digits[2];
  AffineExpr numbers[2];
};

} // namespace

AffineExpr LoopDigits::getNumber(unsigned which, unsigned begin,
                                 unsigned end) const {
  int64_t stride = 1, extent = 1;
  for (int64_t loop : ArrayRef(digits[which]).drop_front(end))
    stride *= extents[loop];
  for (int64_t loop : ArrayRef(digits[which]).slice(begin, end - begin))
    extent *= extents[loop];
  AffineExpr number = numbers[which].floorDiv(stride);
  return begin == 0 ? number : number % extent;
}

std::pair<unsigned, unsigned> LoopDigits::find(unsigned loop) const {
  for (unsigned which : {0, 1}) {
    auto *it = llvm::find(digits[which], static_cast<int64_t>(loop));
    if (it != digits[which].end())
      return {which, it - digits[which].begin()};
  }
  llvm_unreachable("every loop is a digit of the row or the column");
}

AffineExpr LoopDigits::getOffset(AffineMap map, ArrayRef<int64_t> shape) const {
  AffineExpr offset = getAffineConstantExpr(0, map.getContext());
  for (unsigned i = 0, e = shape.size(); i < e;) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(i));
    if (!dim) {
      SmallVector<AffineExpr> positions;
      for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
        auto [which, digit] = find(loop);
        positions.push_back(getNumber(which, digit, digit + 1));
      }
      offset = offset * shape[i] + map.getResult(i).replaceDims(positions);
      ++i;
      continue;
    }
    // Digits that follow each other are one number, so that a kernel that reads
    // what another one stored says so in the same words.
    auto [which, begin] = find(dim.getPosition());
    unsigned end = begin;
    int64_t extent = 1;
    while (i < e && end < digits[which].size() &&
           map.getResult(i) ==
               getAffineDimExpr(digits[which][end], map.getContext())) {
      extent *= shape[i++];
      ++end;
    }
    offset = offset * extent + getNumber(which, begin, end);
  }
  return offset;
}

static SmallVector<int64_t> getLoops(AffineMap map) {
  SmallVector<int64_t> loops;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    loops.push_back(map.getDimPosition(i));
  return loops;
}

static std::optional<ReduceKind> getReduceKind(Operation *combiner) {
  if (isa<arith::AddFOp>(combiner))
    return ReduceKind::Sum;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
          arith::MinNumFOp>(combiner))
    return ReduceKind::Max;
  return std::nullopt;
}

/// `element` combined over the row, then with `init`, as `combiner` does.
static Value createReduction(ImplicitLocOpBuilder &b, Operation *combiner,
                             Value element, Value init) {
  Type type = element.getType();
  bool negates = isa<arith::MinimumFOp, arith::MinNumFOp>(combiner);
  if (negates)
    element = arith::NegFOp::create(b, element);
  // The row's maximum of NaN is NaN.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner)) {
    Value isNaN =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, element, element);
    Value least = constant(b, type, -std::numeric_limits<double>::infinity());
    element = arith::SelectOp::create(b, isNaN, least, element);
  }
  Value reduced =
      RowReduceOp::create(b, type, *getReduceKind(combiner), element);
  if (negates)
    reduced = arith::NegFOp::create(b, reduced);
  SmallVector<Value> operands{init, reduced};
  return cloneScalar(b, combiner, operands).front();
}

/// The constant that a value of the body is, if it is one; or null.
static TypedAttr getBodyScalar(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return getScalar(value);
  // Of `linalg.map`, the init has no argument.
  return getScalar(op->getOperand(argument.getArgNumber()));
}

/// C2.
static LogicalResult verifyLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return op->emitOpError("works on buffers (C2)");
  AffineMap outputMap = op.getIndexingMapMatchingResult(op->getOpResult(0));
  if (!outputMap.isProjectedPermutation() ||
      outputMap.getNumResults() != op.getNumParallelLoops())
    return op->emitOpError("result map is not a permutation of the parallel "
                           "loops (C2)");
  for (OpResult result : op->getResults())
    if (op.getIndexingMapMatchingResult(result) != outputMap)
      return op->emitOpError("has results of different maps (C2)");
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    if (!OpTrait::hasElementwiseMappableTraits(&inner) &&
        !inner.hasTrait<OpTrait::ConstantLike>())
      return inner.emitOpError("is not a scalar op (C2)");
    if (inner.getNumOperands() == 2 &&
        failed(verifyDivision(&inner, getBodyScalar(op, inner.getOperand(1)))))
      return failure();
  }
  if (op.getNumReductionLoops() == 0)
    return success();
  if (op.getNumParallelLoops() + op.getNumReductionLoops() != op.getNumLoops())
    return op->emitOpError("has loops that are neither parallel nor "
                           "reductions (C2)");
  for (OpResult result : op->getResults()) {
    auto reduction = getReduction(op, result.getResultNumber());
    if (!reduction || !getReduceKind(reduction->combiner))
      return op->emitOpError("result #")
             << result.getResultNumber()
             << " is a reduction other than a sum, a maximum or a minimum of "
                "floating point numbers (C2)";
  }
  return success();
}

/// A row is all columns of one element of the result if the op reduces.
static FailureOr<RowKernelOp> formLinalg(linalg::LinalgOp op) {
  if (failed(verifyLinalg(op)))
    return failure();
  Block &body = op->getRegion(0).front();
  AffineMap outputMap = op.getIndexingMapMatchingResult(op->getOpResult(0));
  bool reduces = op.getNumReductionLoops() > 0;
  SmallVector<int64_t> rows = getLoops(outputMap), cols;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      cols.push_back(loop);
  if (!reduces && !rows.empty())
    cols.push_back(rows.pop_back_val());
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto count = [&](ArrayRef<int64_t> loops) {
    int64_t size = 1;
    for (int64_t loop : loops)
      size *= extents[loop];
    return size;
  };
  KernelBuilder kernel(op, count(rows), count(cols));
  LoopDigits loops(kernel, op, rows, cols);

  // A body argument stands for an element, or for the constant its operand is.
  SmallVector<std::pair<BlockArgument, unsigned>> inputs;
  SmallVector<std::pair<Value, TypedAttr>> scalars;
  auto addScalar = [&](Value inBody, Value outside) -> LogicalResult {
    TypedAttr scalar = getScalar(outside);
    if (!scalar)
      return op->emitOpError("reads a value that is neither a tensor operand's "
                             "element nor a constant (C2)");
    scalars.emplace_back(inBody, scalar);
    return success();
  };
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (getScalar(operand.get()) || !isStorable(operand.get().getType())) {
      if (failed(addScalar(argument, operand.get())))
        return failure();
      continue;
    }
    AffineExpr offset = loops.getOffset(op.getMatchingIndexingMap(&operand),
                                        shapeOf(operand.get()));
    inputs.emplace_back(argument, kernel.input(operand.get(), offset));
  }
  for (Operation &inner : body)
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != &body &&
          failed(addScalar(operand, operand)))
        return failure();
  for (OpResult result : op->getResults())
    kernel.store(kernel.output(tensorType(result)),
                 reduces ? kernel.perRow() : kernel.dense());

  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange elements) {
    IRMapping mapping;
    for (auto [argument, number] : inputs)
      mapping.map(argument, elements[number]);
    for (auto [value, scalar] : scalars)
      mapping.map(value, createScalar(b, scalar));
    for (OpResult result : op->getResults())
      if (auto reduction = getReduction(op, result.getResultNumber()))
        mapping.map(reduction->combiner->getResult(0), Value());
    for (Operation &inner : body.without_terminator()) {
      if (mapping.contains(inner.getResult(0)))
        continue;
      if (TypedAttr scalar = getScalar(inner.getResult(0))) {
        mapping.map(inner.getResult(0), createScalar(b, scalar));
        continue;
      }
      SmallVector<Value> operands = llvm::map_to_vector(
          inner.getOperands(), [&](Value v) { return mapping.lookup(v); });
      mapping.map(inner.getResults(), cloneScalar(b, &inner, operands));
    }
    SmallVector<Value> values;
    for (OpResult result : op->getResults()) {
      unsigned number = result.getResultNumber();
      if (auto reduction = getReduction(op, number)) {
        Value init = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
        values.push_back(createReduction(b, reduction->combiner,
                                         mapping.lookup(reduction->element),
                                         mapping.lookup(init)));
        continue;
      }
      values.push_back(
          mapping.lookup(body.getTerminator()->getOperand(number)));
    }
    return values;
  });
}

//===----------------------------------------------------------------------===//
// The ops of a Transformer block
//===----------------------------------------------------------------------===//

/// The mean over the row.
static Value createMean(ImplicitLocOpBuilder &b, Value x, int64_t cols) {
  Type type = x.getType();
  Value sum = RowReduceOp::create(b, type, ReduceKind::Sum, x);
  return arith::DivFOp::create(b, sum, constant(b, type, cols));
}

/// 1 / sqrt(mean(x^2) + eps).
static Value createInverseRms(ImplicitLocOpBuilder &b, Value x, int64_t cols,
                              const llvm::APFloat &eps) {
  Type type = x.getType();
  Value mean = createMean(b, arith::MulFOp::create(b, x, x), cols);
  Value shifted =
      arith::AddFOp::create(b, mean, constant(b, type, eps.convertToDouble()));
  Value root = math::SqrtOp::create(b, shifted);
  return arith::DivFOp::create(b, constant(b, type, 1), root);
}

static RowKernelOp form(RMSNormOp op) {
  RankedTensorType type = op.getType();
  KernelBuilder kernel(op, type.getShape());
  kernel.input(op.getInput(), kernel.dense());
  kernel.input(op.getWeight(), kernel.perColumn());
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Value inverse =
        createInverseRms(b, in[0], type.getShape().back(), op.getEps());
    Value normalised = arith::MulFOp::create(b, in[0], inverse);
    return SmallVector<Value>{arith::MulFOp::create(b, normalised, in[1])};
  });
}

/// Rows contribute to the weight's gradient; their sum is another op, because
/// rows are independent.
static SmallVector<Value> form(RMSNormGradOp op) {
  RankedTensorType type = tensorType(op.getInput());
  int64_t cols = type.getShape().back();
  KernelBuilder kernel(op, type.getShape());
  kernel.input(op.getGrad(), kernel.dense());
  kernel.input(op.getInput(), kernel.dense());
  kernel.input(op.getWeight(), kernel.perColumn());
  kernel.store(kernel.output(type), kernel.dense());
  bool wantsWeight = !op.getWeightGrad().use_empty();
  if (wantsWeight)
    kernel.store(
        kernel.output(RankedTensorType::get(
            type.getShape(), tensorType(op.getWeightGrad()).getElementType())),
        kernel.dense());
  RowKernelOp rows = kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    auto mul = [&](Value x, Value y) -> Value {
      return arith::MulFOp::create(b, x, y);
    };
    Value inverse = createInverseRms(b, in[1], cols, op.getEps());
    Value normalised = mul(in[1], inverse), scaled = mul(in[0], in[2]);
    Value mean = createMean(b, mul(scaled, normalised), cols);
    SmallVector<Value> values{
        mul(inverse, arith::SubFOp::create(b, scaled, mul(normalised, mean)))};
    if (wantsWeight)
      values.push_back(mul(in[0], normalised));
    return values;
  });
  if (!wantsWeight)
    return {rows.getResult(0), op.getWeightGrad()};
  OpBuilder builder(op);
  return {rows.getResult(0),
          SumLeadingOp::create(builder, op.getLoc(),
                               op.getWeightGrad().getType(), rows.getResult(1),
                               type.getRank() - 1)};
}

/// A row is one index of the new dimensions.
static RowKernelOp form(BroadcastLeadingOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  KernelBuilder kernel(op, llvm::product_of(shape.take_front(op.getCount())),
                       llvm::product_of(shape.drop_front(op.getCount())));
  kernel.input(op.getInput(), kernel.perColumn());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    return SmallVector<Value>(in);
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

static RowKernelOp form(MulOp op) {
  KernelBuilder kernel(op, op.getType().getShape());
  kernel.input(op.getLhs(), kernel.dense());
  kernel.input(op.getRhs(), kernel.dense());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    return SmallVector<Value>{arith::MulFOp::create(b, in[0], in[1])};
  });
}

/// 1 + exp(-x).
static Value createOnePlusExp(ImplicitLocOpBuilder &b, Value x) {
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return arith::AddFOp::create(b, exp, constant(b, x.getType(), 1));
}

static RowKernelOp form(SwiGLUOp op) {
  KernelBuilder kernel(op, op.getType().getShape());
  kernel.input(op.getGate(), kernel.dense());
  kernel.input(op.getUp(), kernel.dense());
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Value silu = arith::DivFOp::create(b, in[0], createOnePlusExp(b, in[0]));
    return SmallVector<Value>{arith::MulFOp::create(b, silu, in[1])};
  });
}

static RowKernelOp form(SwiGLUGradOp op) {
  RankedTensorType type = tensorType(op.getGrad());
  KernelBuilder kernel(op, type.getShape());
  for (Value operand : op.getOperands())
    kernel.input(operand, kernel.dense());
  for (unsigned i = 0; i < 2; ++i)
    kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    auto mul = [&](Value x, Value y) -> Value {
      return arith::MulFOp::create(b, x, y);
    };
    Value grad = in[0], gate = in[1], up = in[2];
    Value one = constant(b, gate.getType(), 1);
    Value sigmoid = arith::DivFOp::create(b, one, createOnePlusExp(b, gate));
    Value silu = mul(gate, sigmoid);
    // s (1 + gate (1 - s)) = s + silu - silu s
    Value slope = arith::SubFOp::create(
        b, arith::AddFOp::create(b, sigmoid, silu), mul(silu, sigmoid));
    return SmallVector<Value>{mul(mul(grad, up), slope), mul(grad, silu)};
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
    Value sin = op.getInverse() ? arith::NegFOp::create(b, in[3]) : in[3];
    return SmallVector<Value>{
        arith::SubFOp::create(b, mul(in[0], in[2]), mul(in[1], sin)),
        arith::AddFOp::create(b, mul(in[1], in[2]), mul(in[0], sin))};
  });
}

/// The targets, once they are known to be tokens.
template <typename OpTy> static Value checkTargets(OpTy op) {
  OpBuilder builder(op);
  return CheckTargetsOp::create(
      builder, op.getLoc(), op.getTargets().getType(), op.getTargets(),
      builder.getI64IntegerAttr(shapeOf(op.getLogits())[2]),
      op.getIgnoreIndexAttr());
}

/// Whether the column is the row's target.
static Value createIsTarget(ImplicitLocOpBuilder &b, Value target) {
  Value column = ColIndexOp::create(b, b.getI64Type());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, target);
}

/// Whether the row's target counts.
static Value createIsValid(ImplicitLocOpBuilder &b, Value target,
                           IntegerAttr ignoreIndex) {
  Value ignore = arith::ConstantOp::create(b, ignoreIndex);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, target, ignore);
}

/// exp(x - max) and its sum over the row.
static std::pair<Value, Value> createShiftedExp(ImplicitLocOpBuilder &b,
                                                Value x, Value max) {
  Value exp = math::ExpOp::create(b, arith::SubFOp::create(b, x, max));
  return {exp, RowReduceOp::create(b, x.getType(), ReduceKind::Sum, exp)};
}

/// The row's x where the column is the target, 0 if it has none.
static Value createPick(ImplicitLocOpBuilder &b, Value x, Value target) {
  Type type = x.getType();
  Value own = arith::SelectOp::create(b, createIsTarget(b, target), x,
                                      constant(b, type, 0));
  return RowReduceOp::create(b, type, ReduceKind::Sum, own);
}

/// Announces that each row of `losses` stores its loss, and whether it counts.
static void storePerToken(KernelBuilder &losses, int64_t tokens, Type f64) {
  auto perToken = RankedTensorType::get({tokens}, f64);
  losses.store(losses.output(perToken), losses.perRow());
  losses.store(losses.output(perToken), losses.perRow());
}

/// What is stored: the loss and 1, or zeros for an ignored token.
static SmallVector<Value> createCounted(ImplicitLocOpBuilder &b, Value loss,
                                        Value valid) {
  Type f64 = b.getF64Type();
  if (loss.getType() != f64)
    loss = arith::ExtFOp::create(b, f64, loss);
  Value none = constant(b, f64, 0);
  return {arith::SelectOp::create(b, valid, loss, none),
          arith::SelectOp::create(b, valid, constant(b, f64, 1), none)};
}

/// Sums what the rows of `each` stored: a kernel of its own, because rows are
/// independent.
template <typename OpTy>
static SmallVector<Value> sumTokens(OpTy op, RowKernelOp each) {
  Type f64 = Float64Type::get(op.getContext());
  KernelBuilder sums(op, 1, shapeOf(each.getResult(0))[0]);
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

static SmallVector<Value> form(CrossEntropyOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getLogits());
  int64_t tokens = shape[0] * shape[1];
  Value targets = checkTargets(op);
  KernelBuilder losses(op, tokens, shape[2]);
  losses.input(op.getLogits(), losses.dense());
  losses.input(targets, losses.perRow());
  storePerToken(losses, tokens, Float64Type::get(op.getContext()));
  return sumTokens(op, losses.finish([&](ImplicitLocOpBuilder &b,
                                         ValueRange in) {
    Value max = RowReduceOp::create(b, in[0].getType(), ReduceKind::Max, in[0]);
    Value sum = createShiftedExp(b, in[0], max).second;
    Value picked = createPick(b, in[0], in[1]);
    Value loss = arith::AddFOp::create(b, math::LogOp::create(b, sum),
                                       arith::SubFOp::create(b, max, picked));
    return createCounted(b, loss,
                         createIsValid(b, in[1], op.getIgnoreIndexAttr()));
  }));
}

static RowKernelOp form(CrossEntropyGradOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getLogits());
  Value targets = checkTargets(op);
  KernelBuilder kernel(op, shape[0] * shape[1], shape[2]);
  kernel.input(op.getLogits(), kernel.dense());
  kernel.input(targets, kernel.perRow());
  kernel.input(op.getGrad(), getAffineConstantExpr(0, op.getContext()));
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type compute = in[0].getType();
    Value max = RowReduceOp::create(b, compute, ReduceKind::Max, in[0]);
    auto [exp, sum] = createShiftedExp(b, in[0], max);
    Value one = constant(b, compute, 1), zero = constant(b, compute, 0);
    Value valid = createIsValid(b, in[1], op.getIgnoreIndexAttr());
    Value scale = arith::SelectOp::create(b, valid, in[2], zero);
    Value normaliser = arith::DivFOp::create(b, one, sum);
    Value probability = arith::MulFOp::create(b, exp, normaliser);
    Value shifted = arith::SubFOp::create(b, probability, one);
    Value difference = arith::SelectOp::create(b, createIsTarget(b, in[1]),
                                               shifted, probability);
    return SmallVector<Value>{arith::MulFOp::create(b, scale, difference)};
  });
}

//===----------------------------------------------------------------------===//
// The cross entropy over parts of the vocabulary
//===----------------------------------------------------------------------===//

/// The targets' columns in each part, and -1 where they are not in it: [S,B,P].
template <typename OpTy> static Value getPartTargets(OpTy op, int64_t parts) {
  OpBuilder builder(op);
  SmallVector<int64_t> shape(shapeOf(op.getTargets()));
  shape.push_back(parts);
  return PartTargetsOp::create(
      builder, op.getLoc(), RankedTensorType::get(shape, builder.getI64Type()),
      op.getTargets(), builder.getI64IntegerAttr(shapeOf(op.getLogits())[2]),
      op.getIgnoreIndexAttr(), op.getLayoutAttr());
}

/// A row is one token's part of the vocabulary, token by token: so it is dense
/// in the logits.
static KernelBuilder getPartRows(Operation *op, ArrayRef<int64_t> parts,
                                 int64_t vocab) {
  return KernelBuilder(op, parts[0] * parts[1] * parts[2], vocab / parts[0]);
}

/// Where the row's `number`th of two is in a [P,S,B,2] tensor.
static AffineExpr getPartOffset(const KernelBuilder &kernel,
                                ArrayRef<int64_t> parts, int64_t number) {
  AffineExpr part = kernel.row % parts[0],
             token = kernel.row.floorDiv(parts[0]);
  return (part * (parts[1] * parts[2]) + token) * 2 + number;
}

namespace {
/// The log-sum-exp of a row, with what it is made of.
struct LogSumExp {
  Value exp, sum, value;
};
} // namespace

/// A row of nothing but minus infinities, as a part of the vocabulary may be
/// where the whole is not, gives minus infinity, and no NaN on the way.
static LogSumExp createLogSumExp(ImplicitLocOpBuilder &b, Value x) {
  Type type = x.getType();
  auto least = APFloat::getLargest(cast<FloatType>(type).getFloatSemantics(),
                                   /*Negative=*/true);
  Value max = arith::MaximumFOp::create(
      b, RowReduceOp::create(b, type, ReduceKind::Max, x),
      arith::ConstantOp::create(b, b.getFloatAttr(type, least)));
  auto [exp, sum] = createShiftedExp(b, x, max);
  return {exp, sum, arith::AddFOp::create(b, max, math::LogOp::create(b, sum))};
}

static RowKernelOp form(CrossEntropyPartsOp op) {
  ArrayRef<int64_t> parts = shapeOf(op.getResult());
  Value targets = getPartTargets(op, parts[0]);
  KernelBuilder kernel = getPartRows(op, parts, shapeOf(op.getLogits())[2]);
  kernel.input(op.getLogits(), kernel.dense());
  kernel.input(targets, kernel.perRow());
  unsigned output = kernel.output(op.getType());
  for (int64_t number : {0, 1})
    kernel.store(output, getPartOffset(kernel, parts, number));
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    return SmallVector<Value>{createLogSumExp(b, in[0]).value,
                              createPick(b, in[0], in[1])};
  });
}

static RowKernelOp form(CrossEntropyPartsGradOp op) {
  ArrayRef<int64_t> parts = shapeOf(op.getGrad());
  Value targets = getPartTargets(op, parts[0]);
  KernelBuilder kernel = getPartRows(op, parts, shapeOf(op.getLogits())[2]);
  kernel.input(op.getLogits(), kernel.dense());
  kernel.input(targets, kernel.perRow());
  for (int64_t number : {0, 1})
    kernel.input(op.getGrad(), getPartOffset(kernel, parts, number));
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type compute = in[0].getType();
    LogSumExp whole = createLogSumExp(b, in[0]);
    // The sum is at least 1, unless all is minus infinity.
    Value one = constant(b, compute, 1);
    Value sum = arith::MaximumFOp::create(b, whole.sum, one);
    Value scale = arith::DivFOp::create(b, in[2], sum);
    Value spread = arith::MulFOp::create(b, whole.exp, scale);
    Value picked = arith::AddFOp::create(b, spread, in[3]);
    return SmallVector<Value>{
        arith::SelectOp::create(b, createIsTarget(b, in[1]), picked, spread)};
  });
}

/// A row is one token, a column one part.
static KernelBuilder getJoinRows(Operation *op, ArrayRef<int64_t> parts) {
  return KernelBuilder(op, parts[1] * parts[2], parts[0]);
}

/// Where the column's `number`th of two is in a [P,S,B,2] tensor.
static AffineExpr getJoinOffset(const KernelBuilder &kernel,
                                ArrayRef<int64_t> parts, int64_t number) {
  return (kernel.col * (parts[1] * parts[2]) + kernel.row) * 2 + number;
}

static SmallVector<Value> form(CrossEntropyJoinOp op) {
  ArrayRef<int64_t> parts = shapeOf(op.getParts());
  KernelBuilder losses = getJoinRows(op, parts);
  for (int64_t number : {0, 1})
    losses.input(op.getParts(), getJoinOffset(losses, parts, number));
  losses.input(op.getTargets(), losses.perRow());
  storePerToken(losses, parts[1] * parts[2], Float64Type::get(op.getContext()));
  return sumTokens(
      op, losses.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
        Value picked =
            RowReduceOp::create(b, in[1].getType(), ReduceKind::Sum, in[1]);
        Value loss =
            arith::SubFOp::create(b, createLogSumExp(b, in[0]).value, picked);
        return createCounted(b, loss,
                             createIsValid(b, in[2], op.getIgnoreIndexAttr()));
      }));
}

static RowKernelOp form(CrossEntropyJoinGradOp op) {
  ArrayRef<int64_t> parts = shapeOf(op.getParts());
  KernelBuilder kernel = getJoinRows(op, parts);
  kernel.input(op.getParts(), getJoinOffset(kernel, parts, 0));
  kernel.input(op.getTargets(), kernel.perRow());
  kernel.input(op.getGrad(), getAffineConstantExpr(0, op.getContext()));
  unsigned output = kernel.output(op.getType());
  for (int64_t number : {0, 1})
    kernel.store(output, getJoinOffset(kernel, parts, number));
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Value valid = createIsValid(b, in[1], op.getIgnoreIndexAttr());
    Value scale = arith::SelectOp::create(b, valid, in[2],
                                          constant(b, in[2].getType(), 0));
    LogSumExp whole = createLogSumExp(b, in[0]);
    Value share = arith::DivFOp::create(b, whole.exp, whole.sum);
    return SmallVector<Value>{arith::MulFOp::create(b, scale, share),
                              arith::NegFOp::create(b, scale)};
  });
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

static RowKernelOp form(AdamWOp op) {
  RankedTensorType type = tensorType(op.getParam());
  KernelBuilder kernel(op, type.getShape());
  for (Value tensor : op.getOperands().take_front(4))
    kernel.input(tensor, kernel.dense());
  for (Value scalar : op.getOperands().drop_front(4))
    kernel.input(scalar, getAffineConstantExpr(0, op.getContext()));
  for (unsigned i = 0; i < 3; ++i)
    kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type f64 = b.getF64Type(), compute = in[0].getType();
    // What is the same for all elements, in f64.
    auto number = [&](const llvm::APFloat &value) {
      return constant(b, f64, value.convertToDouble());
    };
    auto round = [&](Value scalar) -> Value {
      return compute == f64
                 ? scalar
                 : Value(arith::TruncFOp::create(b, compute, scalar));
    };
    auto fixed = [&](double value) { return constant(b, compute, value); };
    auto mul = [&](Value x, Value y) -> Value {
      return arith::MulFOp::create(b, x, y);
    };
    auto add = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    };
    Value rate = in[5];
    Value decay = mul(rate, number(op.getWeightDecay()));
    Value keep = round(arith::SubFOp::create(b, constant(b, f64, 1), decay));
    Value stepSize = round(arith::DivFOp::create(b, rate, in[6]));
    Value root = round(math::SqrtOp::create(b, in[7]));

    double beta1 = op.getBeta1().convertToDouble();
    double beta2 = op.getBeta2().convertToDouble();
    Value gradient = mul(in[1], round(in[4]));
    Value average =
        add(mul(fixed(beta1), in[2]), mul(fixed(1 - beta1), gradient));
    Value averageSquare = add(mul(fixed(beta2), in[3]),
                              mul(fixed(1 - beta2), mul(gradient, gradient)));
    Value deviation =
        arith::DivFOp::create(b, math::SqrtOp::create(b, averageSquare), root);
    Value divisor = add(deviation, fixed(op.getEps().convertToDouble()));
    Value change = mul(stepSize, arith::DivFOp::create(b, average, divisor));
    return SmallVector<Value>{
        arith::SubFOp::create(b, mul(keep, in[0]), change), average,
        averageSquare};
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FormRowKernels : sp::impl::SPFormRowKernelsBase<FormRowKernels> {
  void runOnOperation() override;
};
} // namespace

/// C1, C3: what an op works on.
static LogicalResult verifyTypes(Operation *op) {
  for (Type type :
       llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                          SmallVector<Type>(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    if (tensor.getEncoding())
      return op->emitOpError("works on ")
             << type << "; run sp-localize first (C1)";
    if (!isStorable(type) && !isElementwise(op))
      return op->emitOpError("works on ")
             << type
             << "; tensors in memory are static, not empty, and of f32, f64, "
                "bf16 or i64 (C3)";
  }
  return success();
}

/// The bias leaves the linear.
static RowKernelOp form(LinearOp op) {
  OpBuilder builder(op);
  Value product =
      LinearOp::create(builder, op.getLoc(), op.getType(), op.getInput(),
                       op.getWeight(), /*bias=*/Value());
  auto biased = BiasAddOp::create(builder, op.getLoc(), op.getType(), product,
                                  op.getBias());
  RowKernelOp kernel = form(biased);
  biased.erase();
  return kernel;
}

/// The values that replace the op's results; none if the op stays.
static FailureOr<SmallVector<Value>> formKernels(Operation *op) {
  auto results = [](FailureOr<RowKernelOp> kernel) {
    return failed(kernel) ? FailureOr<SmallVector<Value>>(failure())
                          : SmallVector<Value>((*kernel)->getResults());
  };
  if (isElementwise(op))
    return results(formElementwise(op));
  return llvm::TypeSwitch<Operation *, FailureOr<SmallVector<Value>>>(op)
      .Case<AdamWOp, BiasAddOp, BroadcastLeadingOp, CrossEntropyGradOp,
            CrossEntropyJoinGradOp, CrossEntropyPartsGradOp,
            CrossEntropyPartsOp, MulOp, RMSNormOp, RopeOp, ScaleOp,
            SwiGLUGradOp, SwiGLUOp>(
          [&](auto concrete) { return results(form(concrete)); })
      .Case<CrossEntropyJoinOp, CrossEntropyOp, RMSNormGradOp>(
          [](auto concrete) { return form(concrete); })
      .Case<LinearOp>([&](LinearOp linear) {
        return linear.getBias() ? results(form(linear)) : SmallVector<Value>();
      })
      .Case<linalg::LinalgOp>(
          [&](auto linalgOp) { return results(formLinalg(linalgOp)); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

void FormRowKernels::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isDeclaration())
    return;
  // What is left to its readers: they come later, so it goes in reverse order.
  SmallVector<Operation *> ops, inlined, splats;
  for (Operation &op : function.getBody().front()) {
    if (isa<arith::ConstantOp, tensor::EmptyOp>(op) ||
        (isa<linalg::FillOp>(op) && getScalar(op.getResult(0))))
      splats.push_back(&op);
    else
      (isInlined(&op) ? inlined : ops).push_back(&op);
  }
  for (Operation *op : llvm::concat<Operation *>(inlined, ops))
    if (failed(verifyTypes(op)))
      return signalPassFailure();
  for (Operation *op : ops) {
    FailureOr<SmallVector<Value>> values = formKernels(op);
    if (failed(values))
      return signalPassFailure();
    if (values->empty())
      continue;
    op->replaceAllUsesWith(*values);
    op->erase();
  }
  for (Operation *op : llvm::reverse(inlined))
    op->erase();
  // Splats that something else than a kernel still reads; a fill before its
  // init.
  for (Operation *op : llvm::reverse(splats)) {
    if (op->use_empty()) {
      op->erase();
      continue;
    }
    if (!isa<RankedTensorType>(op->getResult(0).getType()))
      continue;
    if (TypedAttr scalar = getScalar(op->getResult(0))) {
      op->replaceAllUsesWith(formSplat(op, scalar)->getResults());
      op->erase();
    }
  }
  function.walk([&](RowKernelOp) { ++numKernels; });
}
