//===- FormRowKernels.cpp - token-local ops become row kernels ------------===//
//
// One small builder per op says what happens to the elements of a row.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "LinalgKernels.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sp {
#define GEN_PASS_DEF_SPFORMROWKERNELS
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

//===----------------------------------------------------------------------===//
// Elementwise arith and math
//===----------------------------------------------------------------------===//

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
// Splats
//===----------------------------------------------------------------------===//

static RowKernelOp formSplat(Operation *op, TypedAttr scalar) {
  RankedTensorType type = tensorType(op->getResult(0));
  KernelBuilder kernel(op, type.getShape());
  kernel.store(kernel.output(type), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange) {
    return SmallVector<Value>{createScalar(b, scalar)};
  });
}

//===----------------------------------------------------------------------===//
// The ops of a Transformer block
//===----------------------------------------------------------------------===//

/// The mean over the row.
static Value createMean(ImplicitLocOpBuilder &b, Value x, int64_t cols) {
  Type type = x.getType();
  Value sum = RowReduceOp::create(b, type, ReduceKind::Sum, x);
  return arith::DivFOp::create(b, sum, createFloat(b, type, cols));
}

/// 1 / sqrt(mean(x^2) + eps).
static Value createInverseRms(ImplicitLocOpBuilder &b, Value x, int64_t cols,
                              const llvm::APFloat &eps) {
  Type type = x.getType();
  Value mean = createMean(b, arith::MulFOp::create(b, x, x), cols);
  Value shifted = arith::AddFOp::create(
      b, mean, createFloat(b, type, eps.convertToDouble()));
  Value root = math::SqrtOp::create(b, shifted);
  return arith::DivFOp::create(b, createFloat(b, type, 1), root);
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
        createFloat(b, in[0].getType(), op.getFactor().convertToDouble());
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
  return arith::AddFOp::create(b, exp, createFloat(b, x.getType(), 1));
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
    Value one = createFloat(b, gate.getType(), 1);
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
                                      createFloat(b, type, 0));
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
  Value none = createFloat(b, f64, 0);
  return {arith::SelectOp::create(b, valid, loss, none),
          arith::SelectOp::create(b, valid, createFloat(b, f64, 1), none)};
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
    Value one = createFloat(b, compute, 1), zero = createFloat(b, compute, 0);
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
/// in the logits, the first input; the second is the target's column in it.
template <typename OpTy>
static KernelBuilder startPartRows(OpTy op, ArrayRef<int64_t> parts) {
  Value targets = getPartTargets(op, parts[0]);
  KernelBuilder kernel(op, parts[0] * parts[1] * parts[2],
                       shapeOf(op.getLogits())[2] / parts[0]);
  kernel.input(op.getLogits(), kernel.dense());
  kernel.input(targets, kernel.perRow());
  return kernel;
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
  KernelBuilder kernel = startPartRows(op, parts);
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
  KernelBuilder kernel = startPartRows(op, parts);
  for (int64_t number : {0, 1})
    kernel.input(op.getGrad(), getPartOffset(kernel, parts, number));
  kernel.store(kernel.output(op.getType()), kernel.dense());
  return kernel.finish([&](ImplicitLocOpBuilder &b, ValueRange in) {
    Type compute = in[0].getType();
    LogSumExp whole = createLogSumExp(b, in[0]);
    // The sum is at least 1, unless all is minus infinity.
    Value one = createFloat(b, compute, 1);
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
                                          createFloat(b, in[2].getType(), 0));
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
      return createFloat(b, f64, value.convertToDouble());
    };
    auto round = [&](Value scalar) -> Value {
      return compute == f64
                 ? scalar
                 : Value(arith::TruncFOp::create(b, compute, scalar));
    };
    auto fixed = [&](double value) { return createFloat(b, compute, value); };
    auto mul = [&](Value x, Value y) -> Value {
      return arith::MulFOp::create(b, x, y);
    };
    auto add = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    };
    Value rate = in[5];
    Value decay = mul(rate, number(op.getWeightDecay()));
    Value keep = round(arith::SubFOp::create(b, createFloat(b, f64, 1), decay));
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
          [&](auto linalgOp) { return results(formLinalgKernel(linalgOp)); })
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
