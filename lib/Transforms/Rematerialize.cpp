//===- Rematerialize.cpp - what is kept for the backward pass -------------===//
//
// Each forward value that the backward pass needs is saved, or recomputed from
// what is. For a price of memory in terms of work, the best plan is a minimum
// cut; the price is raised until the plan fits the budget. Then what does not
// need to be recomputed for that is saved after all.
//
// The cut: an op is on the sink side if the backward pass runs it again, a
// value if the backward pass reads it. A value that is read but whose op is not
// run again is saved: that edge is cut and costs its bytes. An op that is run
// again reads its operands, and costs its work.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "sp/Analysis/MinCut.h"
#include "sp/Analysis/SavedActivations.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include <array>
#include <cmath>

namespace sp {
#define GEN_PASS_DEF_SPREMATERIALIZE
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

/// Which ops the backward pass may run again.
enum class Recompute { None, Gathers, All };

/// The ops that it does run again, and what that means.
struct Plan {
  llvm::DenseSet<Operation *> recomputed;
  llvm::SetVector<Value> saved;
  /// Of the saved values; of the recomputed ops.
  int64_t bytes = 0, work = 0;
};

/// Chooses and carries out a plan for one function.
class Rematerializer {
public:
  Rematerializer(func::FuncOp function, MeshOp mesh, Recompute recompute);

  /// The plan that recomputes nothing.
  Plan findKeepingPlan() const { return solve({0, 1}, {1, 0}); }
  /// The cheapest plan that saves at most `budget` bytes, or, if there is none,
  /// the one that saves the fewest. `keeps` is the plan that recomputes
  /// nothing.
  Plan findPlan(int64_t budget, Plan keeps) const;

  void rewrite(const Plan &plan);
  void printTable(const Plan &plan, llvm::raw_ostream &os) const;

private:
  bool isRecomputable(Operation *op) const;
  int64_t getWork(Operation *op) const;
  int64_t getBytes(Value value) const {
    return getBytesPerRank(tensorType(value), mesh);
  }
  bool isBackwardUse(Operation *user) const {
    return !forward.contains(user) && !user->hasTrait<OpTrait::IsTerminator>();
  }
  /// A forward result that takes memory if it is saved.
  bool isSavable(Value value) const {
    return activations.contains(value) &&
           isa<RankedTensorType>(value.getType());
  }

  /// The plan of least cost for these costs of a saved byte and a unit of work.
  Plan solve(CutCost perByte, CutCost perWork) const;
  /// What follows from running `ops` again, as far as it is needed.
  Plan evaluate(const llvm::DenseSet<Operation *> &ops) const;
  Plan keepWhatFits(const Plan &plan, int64_t budget) const;

  func::FuncOp function;
  MeshOp mesh;
  Recompute recompute;
  llvm::DenseSet<Operation *> forward;
  llvm::DenseSet<Value> activations;
  /// What the backward pass reads of the forward pass.
  llvm::DenseSet<Value> read;
  /// The forward ops with activations as results, in order.
  SmallVector<Operation *> ops;
  int64_t allBytes = 0, allWork = 0;
};

} // namespace

/// Another name for the operand: nothing is stored.
static bool isAlias(Operation *op) {
  return isa<CopyOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             OptimizationBarrierOp>(op);
}

/// True if the op does one step for each element of its result: no contraction,
/// no sum.
static bool isCheap(Operation *op) {
  auto iface = dyn_cast<LayoutOpInterface>(op);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!iface || isa<AttentionOp>(op) || isContraction(op) ||
      (linalgOp && linalgOp.getNumReductionLoops() > 0))
    return false;
  if (isa<EmbeddingOp>(op)) // Its sum over the vocabulary has one term.
    return true;
  LayoutRule rule = iface.getLayoutRule();
  SmallVector<int64_t> extents(rule.isReduction.size(), 1);
  auto visit = [&](ValueRange values, ArrayRef<SmallVector<int64_t>> factors) {
    for (auto [value, own] : llvm::zip(values, factors)) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        continue;
      for (auto [factor, extent] : llvm::zip(own, type.getShape()))
        if (factor != LayoutRule::kBlocked)
          extents[factor] = extent;
    }
  };
  visit(op->getOperands(), rule.operands);
  visit(op->getResults(), rule.results);
  int64_t steps = llvm::product_of(extents);
  return llvm::all_of(op->getResults(), [&](Value result) {
    return tensorType(result).getNumElements() >= steps;
  });
}

/// How often a contraction multiplies and adds, on all ranks together.
static double countSteps(Operation *op) {
  double steps = 1;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    for (int64_t extent : linalgOp.getStaticLoopRanges())
      steps *= extent;
    return steps;
  }
  // [M,K] x [N,K] -> [M,N]: each extent is there twice.
  std::array<Value, 3> matrices = {op->getOperand(0), op->getOperand(1),
                                   op->getResult(0)};
  for (Value matrix : matrices)
    steps *= tensorType(matrix).getNumElements();
  return std::sqrt(steps);
}

/// True if the ranks of a region compute the op's results alike, in whole or in
/// groups, each from all tokens: keys and values, where ranks outnumber their
/// heads.
static bool isRepeatedByRanks(Operation *op) {
  auto isReplicated = [](Type type) {
    return llvm::any_of(getLayoutEntries(type), [](const AxisEntry &entry) {
      return entry.layout.isReplicate();
    });
  };
  return (isContraction(op) || isCheap(op)) &&
         llvm::all_of(op->getResultTypes(), isReplicated);
}

Rematerializer::Rematerializer(func::FuncOp function, MeshOp mesh,
                               Recompute recompute)
    : function(function), mesh(mesh), recompute(recompute),
      forward(findForwardOps(function)),
      activations(findActivations(function)) {
  for (Operation &op : function.getBody().front()) {
    if (!forward.contains(&op) ||
        llvm::none_of(op.getResults(), [&](Value v) { return isSavable(v); }))
      continue;
    ops.push_back(&op);
    allWork += getWork(&op);
    for (Value result : op.getResults()) {
      if (!isSavable(result))
        continue;
      allBytes += getBytes(result);
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return isBackwardUse(user); }))
        read.insert(result);
    }
  }
}

bool Rematerializer::isRecomputable(Operation *op) const {
  if (isAlias(op))
    return true;
  if (recompute == Recompute::None)
    return false;
  // The loss's gather is small: saving it keeps the backward pass of the loss
  // free of communication.
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return !gather.getInput().getDefiningOp<CrossEntropyPartsOp>();
  return isPure(op) && (isRepeatedByRanks(op) ||
                        (recompute == Recompute::All && isCheap(op)));
}

/// In bytes that a rank moves through its memory. Links between ranks are
/// slower than memory by about the first factor below (an H100: 3.35 TB/s of
/// memory, 0.45 TB/s of NVLink in one direction); a rank multiplies and adds as
/// often as the second one while it moves a byte (989 TFLOP/s in bf16).
int64_t Rematerializer::getWork(Operation *op) const {
  constexpr int64_t kLinkCost = 8, kStepsPerByte = 148;
  if (isAlias(op))
    return 0;
  int64_t work = 0;
  for (Value value : op->getOperands())
    if (isa<RankedTensorType>(value.getType()))
      work += getBytes(value);
  for (Value value : op->getResults())
    work += getBytes(value);
  if (auto gather = dyn_cast<AllGatherOp>(op))
    work += kLinkCost *
            (getBytes(gather.getResult()) - getBytes(gather.getInput()));
  // A rank takes the share of the steps that it has of the result.
  if (isContraction(op)) {
    RankedTensorType type = tensorType(op->getResult(0));
    double whole = getBytesPerRank(
        RankedTensorType::get(type.getShape(), type.getElementType()), mesh);
    if (whole > 0)
      work +=
          countSteps(op) / kStepsPerByte * getBytesPerRank(type, mesh) / whole;
  }
  return work;
}

Plan Rematerializer::solve(CutCost perByte, CutCost perWork) const {
  MinCut cut;
  llvm::DenseMap<Operation *, MinCut::Node> opNodes;
  llvm::DenseMap<Value, MinCut::Node> valueNodes;
  for (Operation *op : ops) {
    MinCut::Node node = opNodes[op] = cut.addNode();
    cut.addCostIfSink(node, isRecomputable(op) ? perWork * getWork(op)
                                               : CutCost::infinity());
    for (Value operand : op->getOperands())
      if (auto it = valueNodes.find(operand); it != valueNodes.end())
        cut.addEdge(it->second, node, CutCost::infinity());
    for (Value result : op->getResults()) {
      if (!isSavable(result))
        continue;
      MinCut::Node value = valueNodes[result] = cut.addNode();
      cut.addEdge(node, value, perByte * getBytes(result));
      if (read.contains(result))
        cut.addEdge(value, cut.getSink(), CutCost::infinity());
    }
  }
  cut.solve();
  llvm::DenseSet<Operation *> chosen;
  for (auto [op, node] : opNodes)
    if (!cut.isSource(node))
      chosen.insert(op);
  return evaluate(chosen);
}

Plan Rematerializer::evaluate(const llvm::DenseSet<Operation *> &chosen) const {
  Plan plan;
  llvm::DenseSet<Value> needed;
  for (Operation *op : llvm::reverse(ops)) {
    bool runs = false;
    for (Value result : op->getResults()) {
      if (!isSavable(result) ||
          !(needed.contains(result) || read.contains(result)))
        continue;
      if (chosen.contains(op)) {
        runs = true;
        continue;
      }
      plan.saved.insert(result);
      plan.bytes += getBytes(result);
    }
    if (!runs)
      continue;
    plan.recomputed.insert(op);
    plan.work += getWork(op);
    needed.insert(op->operand_begin(), op->operand_end());
  }
  return plan;
}

Plan Rematerializer::findPlan(int64_t budget, Plan keeps) const {
  if (keeps.bytes <= budget)
    return keeps;
  Plan fits = solve({1, 0}, {0, 1});
  if (fits.bytes > budget)
    return fits;
  // Of all plans, those that are best for some price are the corners of a
  // convex line; `keeps` and `fits` close in on the budget from both sides.
  // Between corners a better plan may hang on the one before.
  Plan before = fits;
  while (true) {
    int64_t byte = fits.work - keeps.work, work = keeps.bytes - fits.bytes;
    while (static_cast<double>(allBytes) * byte +
               static_cast<double>(allWork) * work >
           static_cast<double>(CutCost::infinity().major) / 4) {
      byte = llvm::divideCeil(byte, 2);
      work = llvm::divideCeil(work, 2);
    }
    Plan plan = solve({byte, 0}, {work, 0});
    if (plan.bytes >= keeps.bytes || plan.bytes <= fits.bytes)
      break;
    if (plan.bytes <= budget)
      before = std::exchange(fits, std::move(plan));
    else
      keeps = std::move(plan);
  }
  Plan last = keepWhatFits(fits, budget);
  if (before.bytes == fits.bytes) // There was no corner before.
    return last;
  Plan other = keepWhatFits(before, budget);
  return other.work < last.work ? other : last;
}

/// `plan`, which fits, without what it need not recompute to fit: the dearest
/// for its bytes first, of these the last layer's, whose values are used first
/// in the backward pass. Ops that hang together are kept together.
Plan Rematerializer::keepWhatFits(const Plan &plan, int64_t budget) const {
  llvm::EquivalenceClasses<Operation *> groups;
  for (Operation *op : ops) {
    if (!plan.recomputed.contains(op))
      continue;
    groups.insert(op);
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && plan.recomputed.contains(source))
        groups.unionSets(op, source);
  }
  struct Group {
    Operation *leader;
    int64_t bytes = 0, work = 0;
  };
  llvm::MapVector<Operation *, Group> ordered;
  for (Operation *op : llvm::reverse(ops)) {
    if (!plan.recomputed.contains(op))
      continue;
    Group &group = ordered[groups.getLeaderValue(op)];
    group.leader = op;
    group.work += getWork(op);
    for (Value result : op->getResults())
      if (isSavable(result))
        group.bytes += getBytes(result);
  }
  SmallVector<Group> candidates =
      llvm::map_to_vector(ordered, [](auto &entry) { return entry.second; });
  llvm::stable_sort(candidates, [](const Group &a, const Group &b) {
    return static_cast<double>(a.work) * b.bytes >
           static_cast<double>(b.work) * a.bytes;
  });
  auto keep = [&](const Plan &from, ArrayRef<Group> kept) {
    llvm::DenseSet<Operation *> fewer = from.recomputed;
    for (const Group &group : kept)
      for (Operation *member : groups.members(group.leader))
        fewer.erase(member);
    return evaluate(fewer);
  };
  // Of equal groups only the first that does not fit is tried: layers are many,
  // kinds of groups few.
  auto eraseLike = [](SmallVector<Group> &from, Group kind) {
    llvm::erase_if(from, [&](const Group &group) {
      return group.bytes == kind.bytes && group.work == kind.work;
    });
  };
  auto keepInOrder = [&](SmallVector<Group> rest) {
    Plan kept = plan;
    while (!rest.empty()) {
      unsigned fit = 0, tooMany = rest.size() + 1;
      while (tooMany - fit > 1) {
        unsigned middle = fit + (tooMany - fit) / 2;
        (keep(kept, ArrayRef(rest).take_front(middle)).bytes <= budget
             ? fit
             : tooMany) = middle;
      }
      kept = keep(kept, ArrayRef(rest).take_front(fit));
      rest.erase(rest.begin(), rest.begin() + fit);
      if (!rest.empty())
        eraseLike(rest, rest.front());
    }
    return kept;
  };
  // One kind that fills the room badly may keep a better one out.
  Plan best = keepInOrder(candidates);
  for (SmallVector<Group> kinds = candidates; !kinds.empty();
       eraseLike(kinds, kinds.front())) {
    SmallVector<Group> others = candidates;
    eraseLike(others, kinds.front());
    if (Plan other = keepInOrder(std::move(others)); other.work < best.work)
      best = std::move(other);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

void Rematerializer::rewrite(const Plan &plan) {
  llvm::DenseMap<Operation *, unsigned> order;
  for (auto [i, op] : llvm::enumerate(function.getBody().front()))
    order[&op] = i;

  // Another name for a saved value needs no second one.
  llvm::DenseSet<Operation *> recomputed;
  for (Operation *op : ops)
    if (plan.recomputed.contains(op) &&
        (!isAlias(op) ||
         recomputed.contains(op->getOperand(0).getDefiningOp())))
      recomputed.insert(op);

  // Each runs just before what needs it first.
  llvm::DenseMap<Operation *, Operation *> places;
  auto findPlace = [&](ValueRange values) {
    Operation *place = nullptr;
    for (Value value : values)
      for (Operation *user : value.getUsers()) {
        Operation *at = isBackwardUse(user) ? user : places.lookup(user);
        if (at && (!place || order[at] < order[place]))
          place = at;
      }
    return place;
  };
  for (Operation *op : llvm::reverse(ops))
    if (recomputed.contains(op))
      places[op] = findPlace(op->getResults());

  OpBuilder builder(function.getContext());
  IRMapping mapping;
  auto replaceBackwardUses = [&](Value from, Value to, Operation *place) {
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      auto it = order.find(use.getOwner());
      return it != order.end() && isBackwardUse(use.getOwner()) &&
             it->second >= order[place];
    });
  };
  for (Operation *op : ops) {
    Operation *place = places.lookup(op);
    if (!place)
      continue;
    builder.setInsertionPoint(place);
    for (Value operand : op->getOperands()) {
      if (mapping.contains(operand) || !activations.contains(operand))
        continue;
      // In front of the first of the recomputed ops that read it.
      Operation *first = nullptr;
      for (Operation *user : operand.getUsers())
        if (Operation *at = places.lookup(user);
            at && (!first || order[at] < order[first]))
          first = at;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(first);
      Value barrier = OptimizationBarrierOp::create(builder, operand.getLoc(),
                                                    operand.getType(), operand);
      mapping.map(operand, barrier);
      replaceBackwardUses(operand, barrier, first);
    }
    Operation *clone = builder.clone(*op, mapping);
    for (auto [result, again] :
         llvm::zip(op->getResults(), clone->getResults()))
      replaceBackwardUses(result, again, place);
  }
}

void Rematerializer::printTable(const Plan &plan, llvm::raw_ostream &os) const {
  struct Row {
    int64_t count = 0, bytes = 0, work = 0;
  };
  llvm::MapVector<std::tuple<int, StringRef, Type>, Row> rows;
  for (Operation *op : ops) {
    bool recomputed = plan.recomputed.contains(op);
    if (recomputed && isAlias(op))
      continue;
    for (Value result : op->getResults()) {
      if (!recomputed && !plan.saved.contains(result))
        continue;
      Row &row =
          rows[{recomputed, op->getName().getStringRef(), result.getType()}];
      ++row.count;
      row.bytes += getBytes(result);
      row.work += recomputed ? getWork(op) : 0;
    }
  }
  for (bool recomputed : {false, true})
    for (const auto &[key, row] : rows) {
      auto [again, name, type] = key;
      if (static_cast<bool>(again) != recomputed)
        continue;
      os << "\n  " << (again ? "recompute" : "save     ") << " "
         << llvm::format("%4d x ", static_cast<int>(row.count)) << name << " "
         << type << ": " << row.bytes << " bytes";
      if (again)
        os << ", work " << row.work;
    }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// "min", or a number of bytes with or without a binary unit.
static FailureOr<int64_t> parseBudget(StringRef text) {
  if (text == "min")
    return 0;
  int64_t unit = 1, count;
  for (auto [suffix, shift] :
       {std::pair<StringRef, int>("KiB", 10), {"MiB", 20}, {"GiB", 30}})
    if (text.consume_back(suffix)) {
      unit <<= shift;
      break;
    }
  if (text.getAsInteger(10, count) || count < 0 ||
      count > std::numeric_limits<int64_t>::max() / unit)
    return failure();
  return count * unit;
}

namespace {
struct Rematerialize : sp::impl::SPRematerializeBase<Rematerialize> {
  using SPRematerializeBase::SPRematerializeBase;

  void runOnOperation() override;

private:
  LogicalResult runOnFunction(func::FuncOp function, int64_t budget,
                              Recompute kind);
};
} // namespace

LogicalResult Rematerialize::runOnFunction(func::FuncOp function,
                                           int64_t budget, Recompute kind) {
  Rematerializer rematerializer(function, MeshOp::lookup(getOperation()), kind);
  Plan keeps = rematerializer.findKeepingPlan();
  Plan plan = rematerializer.findPlan(budget, keeps);
  if (plan.bytes > budget && activationBudget != "min")
    return emitError(getNameLoc(function))
           << "the activation budget of " << budget
           << " bytes per rank is too small: the backward pass needs at least "
           << plan.bytes << " with recompute=" << recompute.getValue()
           << " (C2)";
  std::string table;
  llvm::raw_string_ostream os(table);
  rematerializer.printTable(plan, os);
  emitRemark(getNameLoc(function))
      << "saves " << plan.bytes << " bytes of activations per rank for the "
      << "backward pass (without recomputation " << keeps.bytes << ")" << table;
  rematerializer.rewrite(plan);
  savedBytes += plan.bytes;
  numRecomputed += plan.recomputed.size();
  return success();
}

void Rematerialize::runOnOperation() {
  // Who names a number of bytes wants it met.
  if (recompute == "auto")
    recompute = activationBudget == "min" ? "gathers" : "all";
  auto kind = llvm::StringSwitch<std::optional<Recompute>>(recompute)
                  .Case("none", Recompute::None)
                  .Case("gathers", Recompute::Gathers)
                  .Case("all", Recompute::All)
                  .Default(std::nullopt);
  if (!kind) {
    emitError(getOperation().getLoc())
        << "sp-rematerialize: recompute is `" << recompute.getValue()
        << "`, must be auto, none, gathers or all (C3)";
    return signalPassFailure();
  }
  FailureOr<int64_t> budget = parseBudget(activationBudget);
  if (failed(budget)) {
    emitError(getOperation().getLoc())
        << "sp-rematerialize: activation-budget is `"
        << activationBudget.getValue()
        << "`, must be `min` or a number of bytes, such as 500000 or 64MiB "
           "(C3)";
    return signalPassFailure();
  }
  auto functions =
      requireDifferentiatedFunctions(getOperation(), getArgument());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp function : *functions)
    if (failed(runOnFunction(function, *budget, *kind)))
      return signalPassFailure();
}
