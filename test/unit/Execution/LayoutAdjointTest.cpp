//===- LayoutAdjointTest.cpp - <A x, y> = <x, A^T y> ----------------------===//
//
// For every layout change A, on distinct integers, exactly. x and y differ from
// rank to rank where their layout lets them, as arguments of functions cannot:
// the op and the adjoint that it emits are each run on every rank, on such
// values, by the runtime's function that they are lowered to. (Whole programs
// with every layout change are in AdjointTest.cpp.) The inner product is
// the sum over the ranks of what they hold, an invariant value counted once; so
// a replicate value meets the sum of its partial cotangent, and the reverse.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Init/Init.h"
#include "sp/Runtime/Context.h"
#include "sp/Runtime/Runtime.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace sp;

namespace {

/// One rank's values of a tensor.
using Local = std::vector<double>;
/// By rank.
using Global = std::vector<Local>;

struct Row {
  LayoutKind from, to;
};

constexpr LayoutKind I = LayoutKind::Invariant, R = LayoutKind::Replicate,
                     S = LayoutKind::Shard, P = LayoutKind::Partial;
constexpr Row kRows[] = {{I, R}, {P, I}, {P, S}, {S, R},
                         {S, I}, {I, S}, {R, S}, {S, P}};

class LayoutAdjoint
    : public testing::TestWithParam<std::tuple<int64_t, int, Row>> {
protected:
  int64_t numRanks() const { return std::get<0>(GetParam()); }
  int64_t dim() const { return std::get<1>(GetParam()); }
  Row row() const { return std::get<2>(GetParam()); }

  int64_t numElements() const { return shape[0] * shape[1] * shape[2]; }
  AxisLayout layout(LayoutKind kind) const {
    return {kind, kind == S ? dim() : -1};
  }

  /// Distinct integers, equal on all ranks if the layout says so.
  Global make(LayoutKind kind, uint64_t seed) {
    int64_t count = kind == S ? numElements() / numRanks() : numElements();
    bool isWhole = kind == I || kind == R;
    Local all(isWhole ? count : count * numRanks());
    std::iota(all.begin(), all.end(), 1 - static_cast<double>(all.size() / 2));
    std::mt19937_64 engine(seed);
    std::shuffle(all.begin(), all.end(), engine);
    Global values;
    for (int64_t rank = 0; rank < numRanks(); ++rank) {
      auto begin = all.begin() + (isWhole ? 0 : rank * count);
      values.emplace_back(begin, begin + count);
    }
    return values;
  }

  /// What the op of the table does on every rank.
  Global apply(llvm::StringRef op, LayoutKind from, LayoutKind to,
               const Global &values) {
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < 3; ++d)
      (d < dim() ? outer : inner) *= d == dim() ? 1 : shape[d];
    Global results(numRanks(),
                   Local(to == S ? numElements() / numRanks() : numElements()));
    auto world = LocalWorld::create({numRanks()});
    auto outcome = runRanks(*world, [&](sp_context &context) -> int32_t {
      const double *in = values[context.rank].data();
      double *out = results[context.rank].data();
      if (op == "sp.copy")
        results[context.rank] = values[context.rank];
      else if (op == "sp.slice")
        sp_slice(&context, 0, 8, in, out, outer, shape[dim()], inner);
      else if (op == "sp.zero_pad")
        sp_zero_pad(&context, 0, 8, in, out, outer, shape[dim()], inner);
      else if (op == "sp.all_reduce")
        return sp_all_reduce(&context, 0, SP_F64, in, out, numElements());
      else if (op == "sp.reduce_scatter")
        return sp_reduce_scatter(&context, 0, SP_F64, in, out, outer,
                                 shape[dim()], inner);
      else if (op == "sp.all_gather")
        return sp_all_gather(&context, 0, SP_F64, in, out, outer, shape[dim()],
                             inner);
      else
        return 1;
      return 0;
    });
    EXPECT_TRUE(outcome.succeeded()) << outcome.error;
    return results;
  }

  /// <x, y> of a value and a cotangent.
  double multiply(LayoutKind kind, const Global &x, const Global &y) {
    double sum = 0;
    for (size_t rank = 0; rank < (kind == I ? 1 : x.size()); ++rank)
      for (size_t i = 0; i < x[rank].size(); ++i)
        sum += x[rank][i] * y[rank][i];
    return sum;
  }

  static LayoutKind dual(LayoutKind kind) {
    return kind == R ? P : kind == P ? R : kind;
  }

  /// The names of the op for the change and of the one that it emits as its
  /// adjoint, whose types are checked.
  std::pair<std::string, std::string> findOps(LayoutKind from, LayoutKind to) {
    mlir::Builder builder(&context);
    auto axis = builder.getStringAttr("tp");
    auto plain = mlir::RankedTensorType::get(shape, builder.getF64Type());
    auto type = [&](LayoutKind kind) -> mlir::Type {
      return withAxisLayout(plain, axis, layout(kind));
    };
    auto module = mlir::OwningOpRef<mlir::ModuleOp>(
        mlir::ModuleOp::create(builder.getUnknownLoc()));
    auto b = mlir::ImplicitLocOpBuilder::atBlockEnd(builder.getUnknownLoc(),
                                                    module->getBody());
    auto function = mlir::func::FuncOp::create(
        b, "f", b.getFunctionType({type(from), type(dual(to))}, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
    mlir::Value x = function.getArgument(0), y = function.getArgument(1);
    mlir::Value change = createLayoutChange(b, x, type(to));

    llvm::DenseSet<mlir::Value> varied{x, change};
    ReverseSweep sweep(b, varied);
    sweep.add(change, y, b.getLoc());
    EXPECT_TRUE(mlir::succeeded(sweep.run({change.getDefiningOp()})));
    mlir::Value adjoint = sweep.get(x);
    EXPECT_EQ(adjoint.getType(), type(dual(from)));
    EXPECT_EQ(adjoint.getDefiningOp()->getOperand(0), y);
    auto name = [](mlir::Value value) {
      mlir::Operation *op = value.getDefiningOp();
      EXPECT_TRUE(mlir::succeeded(mlir::verify(op, false)));
      return op->getName().getStringRef().str();
    };
    return {name(change), name(adjoint)};
  }

  LayoutAdjoint() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  llvm::SmallVector<int64_t> shape{16, 8, 24};
  mlir::MLIRContext context;
};

TEST_P(LayoutAdjoint, OnIntegersExactly) {
  auto [from, to] = row();
  Global x = make(from, 1), y = make(dual(to), 2);
  auto [forward, backward] = findOps(from, to);
  Global ax = apply(forward, from, to, x);
  Global aty = apply(backward, dual(to), dual(from), y);
  EXPECT_EQ(multiply(to, ax, y), multiply(from, x, aty))
      << forward << " and " << backward;
}

INSTANTIATE_TEST_SUITE_P(Changes, LayoutAdjoint,
                         testing::Combine(testing::Values(2, 4, 8),
                                          testing::Values(0, 1, 2),
                                          testing::ValuesIn(kRows)));

/// The gather before work that every rank does alike, with the backward of the
/// gather before rank-specific work: the gradient is T times too large. What
/// the test above would see if the table were wrong.
using WrongAdjoint = LayoutAdjoint;

TEST_P(WrongAdjoint, OfTheOtherGatherIsOffByT) {
  Global x = make(S, 1), y = make(I, 2);
  Global gathered = apply("sp.all_gather", S, I, x);
  Global wrong = apply("sp.reduce_scatter", P, S, y);
  EXPECT_EQ(multiply(I, gathered, y) * numRanks(), multiply(S, x, wrong));
}

INSTANTIATE_TEST_SUITE_P(Gathers, WrongAdjoint,
                         testing::Combine(testing::Values(2, 4, 8),
                                          testing::Values(0, 1, 2),
                                          testing::Values(Row{S, I})));

} // namespace
