//===- LayoutModels.cpp - layout rules of upstream ops --------------------===//

#include "sp/Dialect/LayoutModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "sp/Dialect/LinalgReductions.h"
#include "sp/Dialect/SPDialect.h"
#include "sp/Dialect/SPInterfaces.h"

using namespace mlir;
using namespace sp;

namespace {

//===----------------------------------------------------------------------===//
// Elementwise arith and math
//===----------------------------------------------------------------------===//

template <typename OpTy>
struct ElementwiseModel
    : LayoutOpInterface::ExternalModel<ElementwiseModel<OpTy>, OpTy> {
  LayoutRule getLayoutRule(Operation *op) const {
    return LayoutRule::elementwise(op);
  }
  // Rounding (truncf) is not linear; widening is.
  bool isLinearIn(Operation *op, const llvm::SmallBitVector &operands) const {
    return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
               arith::AddIOp, arith::SubIOp>(op) &&
           operands.all();
  }
};

//===----------------------------------------------------------------------===//
// Sources: constants, tensor.empty
//===----------------------------------------------------------------------===//

static bool isZero(Attribute value) {
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (!elements || !elements.isSplat())
    return false;
  Attribute splat = elements.getSplatValue<Attribute>();
  return matchPattern(splat, m_AnyZeroFloat()) || matchPattern(splat, m_Zero());
}

/// A value without operands has the layout that its type says.
template <typename Derived, typename OpTy>
struct SourceModel : LayoutOpInterface::ExternalModel<Derived, OpTy> {
  LayoutRule getLayoutRule(Operation *op) const {
    return LayoutRule::elementwise(op);
  }
  LogicalResult inferLayouts(Operation *op, StringRef axis,
                             ArrayRef<AxisLayout>,
                             SmallVectorImpl<AxisLayout> &results) const {
    results.assign(1, getAxisLayout(op->getResult(0).getType(), axis));
    return success();
  }
};

struct ConstantModel : SourceModel<ConstantModel, arith::ConstantOp> {
  LogicalResult verifyLayouts(Operation *op, StringRef axis,
                              ArrayRef<AxisLayout>,
                              ArrayRef<AxisLayout> results) const {
    Attribute value = cast<arith::ConstantOp>(op).getValue();
    if (results.front().isPartial() && !isZero(value))
      return op->emitOpError("is partial along `")
             << axis
             << "` and not zero: its sum over the ranks would be T times "
                "what it says";
    auto elements = dyn_cast<DenseElementsAttr>(value);
    if (results.front().isShard() && !(elements && elements.isSplat()))
      return op->emitOpError("is ")
             << results.front().str() << " along `" << axis
             << "` and not a splat; make it invariant and use `sp.slice`";
    return success();
  }
};

struct EmptyModel : SourceModel<EmptyModel, tensor::EmptyOp> {};

//===----------------------------------------------------------------------===//
// tensor.expand_shape, tensor.collapse_shape
//===----------------------------------------------------------------------===//

/// The factors of a reshape: a dimension of the collapsed side goes with the
/// outermost dimension of its group that is not 1; the inner ones are blocked,
/// since a contiguous part of the whole is a part of the outermost alone.
static void getReshapeFactors(ArrayRef<int64_t> expandedShape,
                              ArrayRef<ReassociationIndices> groups,
                              SmallVectorImpl<int64_t> &expanded,
                              SmallVectorImpl<int64_t> &collapsed) {
  expanded.assign(expandedShape.size(), LayoutRule::kBlocked);
  for (auto [factor, group] : llvm::enumerate(groups)) {
    collapsed.push_back(factor);
    auto outermost = llvm::find_if(
        group, [&](int64_t dim) { return expandedShape[dim] != 1; });
    expanded[outermost == group.end() ? group.front() : *outermost] = factor;
  }
}

template <typename OpTy>
struct ReshapeModel
    : LayoutOpInterface::ExternalModel<ReshapeModel<OpTy>, OpTy> {
  LayoutRule getLayoutRule(Operation *op) const {
    auto reshape = cast<OpTy>(op);
    LayoutRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    auto groups = reshape.getReassociationIndices();
    constexpr bool expands = std::is_same_v<OpTy, tensor::ExpandShapeOp>;
    auto &source = rule.operands.front();
    auto &result = rule.results.front();
    if constexpr (expands)
      getReshapeFactors(reshape.getResultType().getShape(), groups, result,
                        source);
    else
      getReshapeFactors(reshape.getSrcType().getShape(), groups, source,
                        result);
    rule.isReduction.assign(groups.size(), false);
    return rule;
  }
  bool isLinearIn(Operation *, const llvm::SmallBitVector &) const {
    return true;
  }
};

//===----------------------------------------------------------------------===//
// Elementwise and summing linalg
//===----------------------------------------------------------------------===//

/// True if everything in the body is scalar: a tensor that is read from within
/// the body would escape the rule.
static bool hasScalarBody(Operation *op) {
  return !op->walk([&](Operation *inner) {
              if (inner == op)
                return WalkResult::advance();
              for (Type type : llvm::concat<Type>(
                       SmallVector<Type>(inner->getOperandTypes()),
                       SmallVector<Type>(inner->getResultTypes())))
                if (isa<ShapedType>(type))
                  return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

/// The factors are the loops. A loop is blocked if it is a reduction other than
/// a sum, if the body reads its index, or if a map uses it other than as one
/// plain dimension; all are if the body reads tensors.
static LayoutRule getLinalgRule(linalg::LinalgOp op) {
  unsigned loops = op.getNumLoops();
  bool sums = isSum(op);
  LayoutRule rule;
  llvm::SmallBitVector blocked(loops, !hasScalarBody(op));
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool reduces = kind == utils::IteratorType::reduction;
    rule.isReduction.push_back(reduces);
    if (kind != utils::IteratorType::parallel && !(reduces && sums))
      blocked.set(loop);
  }
  op->walk([&](linalg::IndexOp index) { blocked.set(index.getDim()); });
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (AffineMap map : maps)
    for (unsigned loop = 0; loop < loops; ++loop) {
      unsigned uses = 0;
      for (AffineExpr expr : map.getResults())
        if (expr.isFunctionOfDim(loop))
          uses += isa<AffineDimExpr>(expr) ? 1 : 2;
      if (uses > 1)
        blocked.set(loop);
    }

  auto factors = [&](AffineMap map) {
    SmallVector<int64_t> dims;
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      dims.push_back(dim && !blocked.test(dim.getPosition())
                         ? static_cast<int64_t>(dim.getPosition())
                         : LayoutRule::kBlocked);
    }
    return dims;
  };
  for (OpOperand &operand : op->getOpOperands())
    rule.operands.push_back(factors(op.getMatchingIndexingMap(&operand)));
  for (OpResult result : op->getResults())
    rule.results.push_back(factors(op.getIndexingMapMatchingResult(result)));
  return rule;
}

/// Whether a value of the body depends on the partial operands, and how. A zero
/// does not, but is linear in them all the same.
enum class Dependence { None, Zero, Linear, Other };

static bool isLinear(Dependence d) {
  return d == Dependence::Linear || d == Dependence::Zero;
}
static bool isIndependent(Dependence d) {
  return d == Dependence::None || d == Dependence::Zero;
}

static Dependence getDependence(Operation *op,
                                function_ref<Dependence(Value)> of) {
  if (matchPattern(op, m_AnyZeroFloat()))
    return Dependence::Zero;
  SmallVector<Dependence> operands(llvm::map_range(op->getOperands(), of));
  if (llvm::all_of(operands, isIndependent))
    return Dependence::None;
  bool linear = false;
  if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp>(op))
    linear = llvm::all_of(operands, isLinear);
  else if (isa<arith::MulFOp>(op))
    linear = llvm::count_if(operands, isIndependent) == 1 &&
             llvm::count(operands, Dependence::Linear) == 1;
  else if (isa<arith::DivFOp>(op))
    linear = isLinear(operands[0]) && isIndependent(operands[1]);
  else if (isa<arith::SelectOp>(op))
    linear = isIndependent(operands[0]) && isLinear(operands[1]) &&
             isLinear(operands[2]);
  return linear ? Dependence::Linear : Dependence::Other;
}

/// By the rule; but where the sum over a sharded loop leaves a summand on each
/// rank, what it is added to must be a summand, too.
static LogicalResult inferLinalgLayouts(linalg::LinalgOp op, StringRef axis,
                                        ArrayRef<AxisLayout> operands,
                                        SmallVectorImpl<AxisLayout> &results) {
  SmallVector<AxisLayout> known(operands);
  auto *shard = llvm::find_if(known, [](AxisLayout l) { return l.isShard(); });
  LayoutRule rule = getLinalgRule(op);
  bool sumsOverShard = false;
  if (shard != known.end()) {
    int64_t factor = rule.operands[shard - known.begin()][shard->dim];
    sumsOverShard = factor != LayoutRule::kBlocked && rule.isReduction[factor];
  }
  unsigned firstInit = op.getNumDpsInputs();
  if (sumsOverShard)
    for (AxisLayout &init : MutableArrayRef(known).drop_front(firstInit)) {
      if (init.isReplicate())
        return op->emitOpError("operand #")
               << &init - known.begin() << " is replicate along `" << axis
               << "`, but each rank adds only its part of the sum to it, so it "
                  "would count T times; start from a partial zero";
      if (init.isPartial())
        init = AxisLayout::replicate();
    }
  return sp::detail::inferLayoutsByRule(op, axis, known, results);
}

template <typename OpTy>
struct LinalgModel : LayoutOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  LayoutRule getLayoutRule(Operation *op) const {
    return getLinalgRule(cast<linalg::LinalgOp>(op));
  }

  bool isLinearIn(Operation *op, const llvm::SmallBitVector &operands) const {
    Block &body = op->getRegion(0).front();
    // `linalg.map` has no body argument for its init.
    DenseMap<Value, Dependence> known;
    for (BlockArgument argument : body.getArguments())
      known[argument] = operands.test(argument.getArgNumber())
                            ? Dependence::Linear
                            : Dependence::None;
    auto of = [&](Value value) { return known.lookup(value); };
    for (Operation &inner : body.without_terminator()) {
      Dependence dependence = inner.getNumRegions() == 0
                                  ? getDependence(&inner, of)
                                  : Dependence::Other;
      for (Value result : inner.getResults())
        known[result] = dependence;
    }
    return llvm::all_of(body.getTerminator()->getOperands(),
                        [&](Value value) { return isLinear(of(value)); });
  }

  LogicalResult inferLayouts(Operation *op, StringRef axis,
                             ArrayRef<AxisLayout> operands,
                             SmallVectorImpl<AxisLayout> &results) const {
    bool anyLayout = llvm::any_of(
        operands, [](AxisLayout layout) { return !layout.isInvariant(); });
    if (anyLayout && !hasScalarBody(op))
      return op->emitOpError("reads a tensor from within its body, which no "
                             "layout rule covers");
    if (anyLayout && !cast<linalg::LinalgOp>(op).hasPureTensorSemantics())
      return op->emitOpError("mixes tensors and buffers, which no layout rule "
                             "covers");
    return inferLinalgLayouts(cast<linalg::LinalgOp>(op), axis, operands,
                              results);
  }
};

/// `linalg.fill` is a constant whose type is its init's.
struct FillModel : LayoutOpInterface::ExternalModel<FillModel, linalg::FillOp> {
  LayoutRule getLayoutRule(Operation *op) const {
    return getLinalgRule(cast<linalg::LinalgOp>(op));
  }
  LogicalResult inferLayouts(Operation *op, StringRef axis,
                             ArrayRef<AxisLayout> operands,
                             SmallVectorImpl<AxisLayout> &results) const {
    auto fill = cast<linalg::FillOp>(op);
    if (isa<ShapedType>(fill.value().getType()))
      return op->emitOpError(
          "fills with a tensor, which no layout rule covers");
    AxisLayout init = operands.back();
    if (init.isPartial() && !matchPattern(fill.value(), m_AnyZeroFloat()) &&
        !matchPattern(fill.value(), m_Zero()))
      return op->emitOpError("is partial along `")
             << axis
             << "` and not zero: its sum over the ranks would be T times "
                "what it says";
    results.assign(1, init);
    return success();
  }
};

template <template <typename> class Model, typename... Ops>
void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

} // namespace

void sp::registerLayoutModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    ConstantOp::attachInterface<ConstantModel>(*context);
    attach<ElementwiseModel, AddFOp, SubFOp, MulFOp, DivFOp, RemFOp, NegFOp,
           MaximumFOp, MinimumFOp, MaxNumFOp, MinNumFOp, CmpFOp, SelectOp,
           ExtFOp, TruncFOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, AddIOp,
           SubIOp, MulIOp, DivSIOp, DivUIOp, RemSIOp, RemUIOp, AndIOp, OrIOp,
           XOrIOp, CmpIOp, MaxSIOp, MinSIOp, MaxUIOp, MinUIOp, ExtSIOp, ExtUIOp,
           TruncIOp, ShLIOp, ShRSIOp, ShRUIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<ElementwiseModel, AbsFOp, AtanOp, Atan2Op, CbrtOp, CeilOp,
           CopySignOp, CosOp, CoshOp, ErfOp, ExpOp, Exp2Op, ExpM1Op, FloorOp,
           FmaOp, LogOp, Log10Op, Log1pOp, Log2Op, PowFOp, RoundOp, RoundEvenOp,
           RsqrtOp, SinOp, SinhOp, SqrtOp, TanOp, TanhOp, TruncOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    using namespace linalg;
    attach<LinalgModel, GenericOp, MapOp, BroadcastOp, TransposeOp, AddOp,
           SubOp, MulOp, DivOp, MaxOp, MinOp, ExpOp, LogOp, AbsOp, CeilOp,
           FloorOp, NegFOp, ReciprocalOp, RoundOp, SqrtOp, RsqrtOp, SquareOp,
           TanhOp, ErfOp, PowFOp, SelectOp, ElementwiseOp, linalg::CopyOp,
           ReduceOp, MatmulOp, BatchMatmulOp, ContractOp, MatvecOp, VecmatOp,
           DotOp, BatchMatvecOp, BatchVecmatOp>(context);
    FillOp::attachInterface<FillModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    using namespace tensor;
    EmptyOp::attachInterface<EmptyModel>(*context);
    attach<ReshapeModel, ExpandShapeOp, CollapseShapeOp>(context);
  });
}
