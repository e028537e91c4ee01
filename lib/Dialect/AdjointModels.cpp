//===- AdjointModels.cpp - adjoints of upstream ops -----------------------===//
//
// Each works on scalars as well as on tensors of any layout.
//
//===----------------------------------------------------------------------===//

#include "LinalgAdjoint.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sp;

//===----------------------------------------------------------------------===//
// Elementwise arith and math
//===----------------------------------------------------------------------===//

namespace {

/// Short names for what derivatives are made of.
struct Calculator {
  ImplicitLocOpBuilder &b;
  Type type;

  Value number(double value) { return createSplat(b, type, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value scale(double factor, Value x) { return mul(number(factor), x); }
  Value square(Value x) { return mul(x, x); }
  Value inverse(Value x) { return div(number(1), x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  /// 1 where `condition` holds, else 0.
  Value indicator(Value condition) {
    return arith::UIToFPOp::create(b, type, condition);
  }
};

} // namespace

/// Adds cotangent * derivative.
static void addProduct(AdjointEmitter &adjoint, unsigned operand,
                       Value derivative) {
  adjoint.add(operand,
              createProduct(adjoint.b, adjoint.getCotangentType(operand),
                            adjoint.getCotangent(), derivative));
}

/// Adds the cotangent where `condition`, of a scalar or of each element, is
/// `wanted`.
static void addSelected(AdjointEmitter &adjoint, Type type, unsigned operand,
                        Value condition, bool wanted) {
  if (!adjoint.isNeeded(operand))
    return;
  Calculator c{adjoint.b, type};
  Value cotangent = adjoint.getCotangent();
  auto select = [&](Value chosen) {
    Value zero = c.number(0);
    return arith::SelectOp::create(c.b, condition, wanted ? chosen : zero,
                                   wanted ? zero : chosen);
  };
  if (cotangent.getType() == type)
    adjoint.add(operand, select(cotangent));
  else
    addProduct(adjoint, operand, select(c.number(1)));
}

/// The derivative of a function of one argument, at `x`, where it is `y`.
static Value getDerivative(Operation *op, Calculator c, Value x, Value y) {
  using P = arith::CmpFPredicate;
  constexpr double ln2 = 0x1.62e42fefa39efp-1, ln10 = 0x1.26bb1bbb55516p+1;
  constexpr double twoBySqrtPi = 0x1.20dd750429b6dp+0;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::AbsFOp>([&](auto) {
        Value zero = c.number(0);
        return c.sub(c.indicator(c.compare(P::OGT, x, zero)),
                     c.indicator(c.compare(P::OLT, x, zero)));
      })
      .Case<math::AtanOp>(
          [&](auto) { return c.inverse(c.add(c.number(1), c.square(x))); })
      .Case<math::CbrtOp>(
          [&](auto) { return c.inverse(c.scale(3, c.square(y))); })
      .Case<math::CosOp>(
          [&](auto) { return c.neg(math::SinOp::create(c.b, x)); })
      .Case<math::CoshOp>([&](auto) { return math::SinhOp::create(c.b, x); })
      .Case<math::ErfOp>([&](auto) {
        return c.scale(twoBySqrtPi,
                       math::ExpOp::create(c.b, c.neg(c.square(x))));
      })
      .Case<math::ExpOp>([&](auto) { return y; })
      .Case<math::Exp2Op>([&](auto) { return c.scale(ln2, y); })
      .Case<math::ExpM1Op>([&](auto) { return c.add(y, c.number(1)); })
      .Case<math::LogOp>([&](auto) { return c.inverse(x); })
      .Case<math::Log10Op>([&](auto) { return c.inverse(c.scale(ln10, x)); })
      .Case<math::Log1pOp>(
          [&](auto) { return c.inverse(c.add(x, c.number(1))); })
      .Case<math::Log2Op>([&](auto) { return c.inverse(c.scale(ln2, x)); })
      .Case<math::RsqrtOp>(
          [&](auto) { return c.scale(-0.5, c.mul(y, c.square(y))); })
      .Case<math::SinOp>([&](auto) { return math::CosOp::create(c.b, x); })
      .Case<math::SinhOp>([&](auto) { return math::CoshOp::create(c.b, x); })
      .Case<math::SqrtOp>([&](auto) { return c.div(c.number(0.5), y); })
      .Case<math::TanOp>([&](auto) { return c.add(c.number(1), c.square(y)); })
      .Case<math::TanhOp>(
          [&](auto) { return c.sub(c.number(1), c.square(y)); });
}

/// Functions of several arguments.
static void emit(arith::AddFOp, AdjointEmitter &adjoint) {
  adjoint.add(0, adjoint.getCotangent());
  adjoint.add(1, adjoint.getCotangent());
}

static void emit(arith::SubFOp, AdjointEmitter &adjoint) {
  adjoint.add(0, adjoint.getCotangent());
  if (adjoint.isNeeded(1))
    adjoint.add(1, arith::NegFOp::create(adjoint.b, adjoint.getCotangent()));
}

static void emit(arith::NegFOp, AdjointEmitter &adjoint) {
  adjoint.add(0, arith::NegFOp::create(adjoint.b, adjoint.getCotangent()));
}

static void emit(arith::MulFOp op, AdjointEmitter &adjoint) {
  for (unsigned i : {0, 1})
    if (adjoint.isNeeded(i))
      addProduct(adjoint, i, op.getOperand(1 - i));
}

static void emit(arith::DivFOp op, AdjointEmitter &adjoint) {
  Calculator c{adjoint.b, op.getType()};
  Value inverse = c.inverse(op.getRhs());
  if (adjoint.isNeeded(0))
    addProduct(adjoint, 0, inverse);
  if (adjoint.isNeeded(1))
    addProduct(adjoint, 1, c.neg(c.mul(op.getResult(), inverse)));
}

/// Of equal arguments the first one gets the gradient.
template <typename OpTy>
static void emitExtremum(OpTy op, arith::CmpFPredicate predicate,
                         AdjointEmitter &adjoint) {
  Value first = Calculator{adjoint.b, op.getType()}.compare(
      predicate, op.getLhs(), op.getRhs());
  addSelected(adjoint, op.getType(), 0, first, true);
  addSelected(adjoint, op.getType(), 1, first, false);
}
static void emit(arith::MaximumFOp op, AdjointEmitter &adjoint) {
  emitExtremum(op, arith::CmpFPredicate::OGE, adjoint);
}
static void emit(arith::MinimumFOp op, AdjointEmitter &adjoint) {
  emitExtremum(op, arith::CmpFPredicate::OLE, adjoint);
}
static void emit(arith::MaxNumFOp op, AdjointEmitter &adjoint) {
  emitExtremum(op, arith::CmpFPredicate::OGE, adjoint);
}
static void emit(arith::MinNumFOp op, AdjointEmitter &adjoint) {
  emitExtremum(op, arith::CmpFPredicate::OLE, adjoint);
}

static void emit(arith::SelectOp op, AdjointEmitter &adjoint) {
  addSelected(adjoint, op.getType(), 1, op.getCondition(), true);
  addSelected(adjoint, op.getType(), 2, op.getCondition(), false);
}

static void emit(arith::ExtFOp, AdjointEmitter &adjoint) {
  adjoint.add(0, arith::TruncFOp::create(adjoint.b, adjoint.getCotangentType(0),
                                         adjoint.getCotangent()));
}

static void emit(arith::TruncFOp, AdjointEmitter &adjoint) {
  adjoint.add(0, arith::ExtFOp::create(adjoint.b, adjoint.getCotangentType(0),
                                       adjoint.getCotangent()));
}

static void emit(math::FmaOp op, AdjointEmitter &adjoint) {
  if (adjoint.isNeeded(0))
    addProduct(adjoint, 0, op.getB());
  if (adjoint.isNeeded(1))
    addProduct(adjoint, 1, op.getA());
  adjoint.add(2, adjoint.getCotangent());
}

static void emit(math::Atan2Op op, AdjointEmitter &adjoint) {
  Calculator c{adjoint.b, op.getType()};
  Value y = op.getLhs(), x = op.getRhs();
  Value inverse = c.inverse(c.add(c.square(x), c.square(y)));
  if (adjoint.isNeeded(0))
    addProduct(adjoint, 0, c.mul(x, inverse));
  if (adjoint.isNeeded(1))
    addProduct(adjoint, 1, c.neg(c.mul(y, inverse)));
}

static void emit(math::PowFOp op, AdjointEmitter &adjoint) {
  Calculator c{adjoint.b, op.getType()};
  Value x = op.getLhs(), exponent = op.getRhs();
  if (adjoint.isNeeded(0)) {
    Value lower = math::PowFOp::create(c.b, x, c.sub(exponent, c.number(1)));
    addProduct(adjoint, 0, c.mul(exponent, lower));
  }
  if (adjoint.isNeeded(1)) {
    // x^e log x tends to 0 with x.
    Value zero = c.number(0);
    Value isZero = c.compare(arith::CmpFPredicate::OEQ, x, zero);
    Value product = c.mul(op.getResult(), math::LogOp::create(c.b, x));
    addProduct(adjoint, 1, arith::SelectOp::create(c.b, isZero, zero, product));
  }
}

namespace {

template <typename OpTy>
struct ElementwiseModel
    : AdjointOpInterface::ExternalModel<ElementwiseModel<OpTy>, OpTy> {
  LogicalResult emitAdjoint(Operation *op, AdjointEmitter &adjoint) const {
    emit(cast<OpTy>(op), adjoint);
    return success();
  }
};

template <typename OpTy>
struct UnaryModel : AdjointOpInterface::ExternalModel<UnaryModel<OpTy>, OpTy> {
  LogicalResult emitAdjoint(Operation *op, AdjointEmitter &adjoint) const {
    Value x = op->getOperand(0);
    Calculator c{adjoint.b, x.getType()};
    addProduct(adjoint, 0, getDerivative(op, c, x, op->getResult(0)));
    return success();
  }
};

/// A function that is constant between its jumps.
template <typename OpTy>
struct StepModel : AdjointOpInterface::ExternalModel<StepModel<OpTy>, OpTy> {
  LogicalResult emitAdjoint(Operation *, AdjointEmitter &) const {
    return success();
  }
  bool isDifferentiable(Operation *, unsigned) const { return false; }
};

//===----------------------------------------------------------------------===//
// tensor.expand_shape, tensor.collapse_shape
//===----------------------------------------------------------------------===//

template <typename OpTy, typename InverseTy>
struct ReshapeModel
    : AdjointOpInterface::ExternalModel<ReshapeModel<OpTy, InverseTy>, OpTy> {
  LogicalResult emitAdjoint(Operation *op, AdjointEmitter &adjoint) const {
    adjoint.add(0, InverseTy::create(
                       adjoint.b,
                       cast<RankedTensorType>(adjoint.getCotangentType(0)),
                       adjoint.getCotangent(),
                       cast<OpTy>(op).getReassociationIndices()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

template <typename OpTy>
struct LinalgModel
    : AdjointOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  LogicalResult emitAdjoint(Operation *op, AdjointEmitter &adjoint) const {
    return emitLinalgAdjoint(cast<linalg::LinalgOp>(op), adjoint);
  }
};

template <template <typename> class Model, typename... Ops>
void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}
} // namespace

void sp::registerAdjointModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    attach<ElementwiseModel, AddFOp, SubFOp, NegFOp, MulFOp, DivFOp, MaximumFOp,
           MinimumFOp, MaxNumFOp, MinNumFOp, SelectOp, ExtFOp, TruncFOp>(
        context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<UnaryModel, AbsFOp, AtanOp, CbrtOp, CosOp, CoshOp, ErfOp, ExpOp,
           Exp2Op, ExpM1Op, LogOp, Log10Op, Log1pOp, Log2Op, RsqrtOp, SinOp,
           SinhOp, SqrtOp, TanOp, TanhOp>(context);
    attach<ElementwiseModel, Atan2Op, FmaOp, PowFOp>(context);
    attach<StepModel, CeilOp, FloorOp, RoundOp, RoundEvenOp, TruncOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    using namespace linalg;
    attach<LinalgModel, GenericOp, MapOp, BroadcastOp, TransposeOp, AddOp,
           SubOp, linalg::MulOp, DivOp, MaxOp, MinOp, ExpOp, LogOp, AbsOp,
           NegFOp, ReciprocalOp, SqrtOp, RsqrtOp, SquareOp, TanhOp, ErfOp,
           PowFOp, ElementwiseOp, linalg::CopyOp, ReduceOp, MatmulOp,
           BatchMatmulOp, ContractOp, MatvecOp, VecmatOp, DotOp, BatchMatvecOp,
           BatchVecmatOp>(context);
    attach<StepModel, CeilOp, FloorOp, RoundOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    using namespace tensor;
    ExpandShapeOp::attachInterface<
        ReshapeModel<ExpandShapeOp, CollapseShapeOp>>(*context);
    CollapseShapeOp::attachInterface<
        ReshapeModel<CollapseShapeOp, ExpandShapeOp>>(*context);
  });
}
