//===- AddOptimizer.cpp - gradient clipping and AdamW ---------------------===//
//
// The optimizer's state has its parameter's type, so it is sharded as the
// parameter is; and the norm of a sharded gradient is a partial sum, so it is
// summed over the ranks exactly where it must be.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace sp {
#define GEN_PASS_DEF_SPADDOPTIMIZER
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

/// Builds the end of one function.
class OptimizerBuilder {
public:
  OptimizerBuilder(func::FuncOp function, SPAddOptimizerOptions options,
                   MeshOp mesh)
      : function(function), options(options), mesh(mesh),
        meshAxes(mesh ? mesh.getAxes() : SmallVector<StringAttr>()),
        terminator(function.getBody().front().getTerminator()),
        b(terminator->getLoc(), terminator),
        scalar(RankedTensorType::get({}, b.getF64Type())) {}

  LogicalResult build();

private:
  BlockArgument addArgument(Type type, StringRef attribute, const Twine &name);
  void addResult(Value value, StringRef attribute, const Twine &name);
  Value number(double value) { return createSplat(b, scalar, value); }
  Value splitAmongReplicas(Value gradient);
  Value getNorm(ArrayRef<GradientSync> gradients);
  Value getScale(Value norm);
  Value getCorrection(double beta, Value step);
  Value matchLayout(Value value, Type type);

  func::FuncOp function;
  SPAddOptimizerOptions options;
  /// Null if nothing is sharded.
  MeshOp mesh;
  SmallVector<StringAttr> meshAxes;
  Operation *terminator;
  ImplicitLocOpBuilder b;
  RankedTensorType scalar;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  SmallVector<Value> results;
  /// Copies of scalars: per scalar and layout one.
  DenseMap<std::pair<Value, Attribute>, Value> copies;
};

} // namespace

BlockArgument OptimizerBuilder::addArgument(Type type, StringRef attribute,
                                            const Twine &name) {
  argumentAttrs.push_back(
      b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(name))));
  return function.getBody().front().addArgument(type, b.getLoc());
}

void OptimizerBuilder::addResult(Value value, StringRef attribute,
                                 const Twine &name) {
  results.push_back(value);
  resultAttrs.push_back(
      b.getDictionaryAttr(b.getNamedAttr(attribute, b.getStringAttr(name))));
}

/// A dimension that `size` divides, but not `taken`; -1 if there is none.
static int64_t findOtherDim(ArrayRef<int64_t> shape, int64_t taken,
                            int64_t size) {
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(dim) != taken && extent % size == 0)
      return dim;
  return -1;
}

/// A gradient that is sharded on a part of an axis and equal along the rest,
/// each rank with its own piece of the equal values: the squares of all
/// gradients are then summed over the same ranks, in one collective.
Value OptimizerBuilder::splitAmongReplicas(Value gradient) {
  for (const AxisEntry &entry : getLayoutEntries(gradient.getType())) {
    StringRef parent = getParentAxis(entry.axis);
    if (parent.empty() || !entry.layout.isShard())
      continue;
    for (StringAttr axis : mesh.getLeafAxes()) {
      if (getParentAxis(axis) != parent ||
          !getAxisLayout(gradient.getType(), axis).isInvariant())
        continue;
      int64_t dim = findOtherDim(shapeOf(gradient), entry.layout.dim,
                                 mesh.getAxisSize(axis));
      if (dim >= 0)
        gradient = createLayoutChange(b, gradient,
                                      withAxisLayout(tensorType(gradient), axis,
                                                     AxisLayout::shard(dim),
                                                     meshAxes));
    }
  }
  return gradient;
}

/// The square root of the sum of the squares of all elements. Partial sums are
/// added up before they are summed over the ranks: one collective per axis.
Value OptimizerBuilder::getNorm(ArrayRef<GradientSync> gradients) {
  llvm::MapVector<Type, Value> sums;
  for (const GradientSync &gradient : gradients) {
    Value part = splitAmongReplicas(gradient.gradient);
    RankedTensorType type = scalar;
    for (const AxisEntry &entry : getLayoutEntries(part.getType()))
      if (entry.layout.isShard())
        type =
            withAxisLayout(type, entry.axis, AxisLayout::partial(), meshAxes);
    Value square = SumSquaresOp::create(b, type, part);
    Value &sum = sums[type];
    sum = sum ? arith::AddFOp::create(b, sum, square) : square;
  }
  Value total;
  for (auto &[type, sum] : sums) {
    for (const AxisEntry &entry : getLayoutEntries(sum.getType()))
      sum =
          createLayoutChange(b, sum,
                             withAxisLayout(tensorType(sum), entry.axis,
                                            AxisLayout::invariant(), meshAxes));
    total = total ? arith::AddFOp::create(b, total, sum) : sum;
  }
  return math::SqrtOp::create(b, total);
}

/// What clipping multiplies every gradient with.
Value OptimizerBuilder::getScale(Value norm) {
  if (options.maxNorm == 0)
    return number(1);
  Value shifted = arith::AddFOp::create(b, norm, number(1e-6));
  Value ratio = arith::DivFOp::create(b, number(options.maxNorm), shifted);
  return arith::MinimumFOp::create(b, ratio, number(1));
}

/// 1 - beta^step.
Value OptimizerBuilder::getCorrection(double beta, Value step) {
  return arith::SubFOp::create(b, number(1),
                               math::PowFOp::create(b, number(beta), step));
}

/// Along every axis that `type` is sharded on, `value` is used for work on the
/// rank's own part.
Value OptimizerBuilder::matchLayout(Value value, Type type) {
  Value &copy = copies[{value, cast<RankedTensorType>(type).getEncoding()}];
  if (copy)
    return copy;
  copy = value;
  for (const AxisEntry &entry : getLayoutEntries(type))
    if (entry.layout.isShard())
      copy =
          createLayoutChange(b, copy,
                             withAxisLayout(tensorType(copy), entry.axis,
                                            AxisLayout::replicate(), meshAxes));
  return copy;
}

LogicalResult OptimizerBuilder::build() {
  SmallVector<GradientSync> gradients = findGradientSyncs(function);
  for (const GradientSync &gradient : gradients)
    if (gradient.gradient.getType() != gradient.argument.getType())
      return emitError(function.getLoc())
             << "the gradient of `" << gradient.parameter << "` is "
             << gradient.gradient.getType() << ", but the parameter is "
             << gradient.argument.getType() << " (C1)";
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    argumentAttrs.push_back(function.getArgAttrDict(i));
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue().starts_with(kGradientPrefix))
      continue;
    results.push_back(value);
    resultAttrs.push_back(function.getResultAttrDict(i));
  }

  Value learningRate = addArgument(scalar, kInputAttr, "learning_rate");
  Value step = addArgument(RankedTensorType::get({}, b.getI64Type()),
                           kInputAttr, "step");
  Value norm = getNorm(gradients);
  addResult(norm, kResultAttr, kGradNormResult);
  Value scale = getScale(norm);
  Value count = arith::SIToFPOp::create(b, scalar, step);
  Value correction1 = getCorrection(options.beta1, count);
  Value correction2 = getCorrection(options.beta2, count);

  for (const GradientSync &gradient : gradients) {
    Type type = gradient.argument.getType();
    b.setLoc(gradient.argument.getLoc());
    std::string first = "exp_avg." + gradient.parameter;
    std::string second = "exp_avg_sq." + gradient.parameter;
    auto number = [&](double value) { return b.getF64FloatAttr(value); };
    Value average = addArgument(type, kStateAttr, first);
    Value averageSquare = addArgument(type, kStateAttr, second);
    SmallVector<Value> scalars;
    for (Value value : {scale, learningRate, correction1, correction2})
      scalars.push_back(matchLayout(value, type));
    auto adamw = AdamWOp::create(
        b, type, type, type, gradient.argument, gradient.gradient, average,
        averageSquare, scalars[0], scalars[1], scalars[2], scalars[3],
        number(options.beta1), number(options.beta2), number(options.eps),
        number(options.weightDecay));
    addResult(adamw.getNewParam(), kParamAttr, gradient.parameter);
    addResult(adamw.getNewExpAvg(), kStateAttr, first);
    addResult(adamw.getNewExpAvgSq(), kStateAttr, second);
  }
  terminator->setOperands(results);
  updateSignature(function);
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  function.setSymName("train_step");
  return success();
}

namespace {
struct AddOptimizer : sp::impl::SPAddOptimizerBase<AddOptimizer> {
  using SPAddOptimizerBase::SPAddOptimizerBase;

  void runOnOperation() override;

private:
  LogicalResult checkOptions();
};
} // namespace

LogicalResult AddOptimizer::checkOptions() {
  auto check = [&](StringRef name, double value, bool good, StringRef must) {
    if (good)
      return success();
    return LogicalResult(emitError(getOperation().getLoc())
                         << "sp-add-optimizer: " << name << " is " << value
                         << ", must " << must << " (C2)");
  };
  for (auto [name, value] :
       {std::pair<StringRef, double>("beta1", beta1), {"beta2", beta2}})
    if (failed(check(name, value, value >= 0 && value < 1, "be in [0, 1)")))
      return failure();
  for (auto [name, value] : {std::pair<StringRef, double>("eps", eps),
                             {"weight-decay", weightDecay},
                             {"max-norm", maxNorm}})
    if (failed(check(name, value, value >= 0, "not be negative")))
      return failure();
  return success();
}

void AddOptimizer::runOnOperation() {
  if (failed(checkOptions()))
    return signalPassFailure();
  auto functions =
      requireDifferentiatedFunctions(getOperation(), getArgument());
  if (failed(functions))
    return signalPassFailure();
  if (functions->size() != 1) {
    emitError(getOperation().getLoc())
        << "sp-add-optimizer: " << functions->size()
        << " functions return gradients, must be one (C1)";
    return signalPassFailure();
  }
  MeshOp mesh = MeshOp::lookup(getOperation());
  SPAddOptimizerOptions options{beta1, beta2, eps, weightDecay, maxNorm};
  if (failed(OptimizerBuilder(functions->front(), options, mesh).build()))
    signalPassFailure();
}
