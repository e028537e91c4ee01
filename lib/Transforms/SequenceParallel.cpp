//===- SequenceParallel.cpp - token-local work on sequence shards ---------===//
//
// A labelling problem, not a list of patterns: each token-local op runs either
// replicated or on the rank's shard of the sequence, and the labelling of least
// cost is a minimum cut. What is token-local follows from the layout rules.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "TokenDims.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "sp/Analysis/MinCut.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace sp {
#define GEN_PASS_DEF_SPSEQUENCEPARALLEL
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

//===----------------------------------------------------------------------===//
// The labelling
//===----------------------------------------------------------------------===//

/// What is not traded for anything else: memory and repeated work, or what is
/// sent.
enum class Objective { Memory, Bytes };

/// Labels and rewrites one function.
class Sharder {
public:
  Sharder(func::FuncOp function, StringAttr axis, MeshOp mesh,
          Objective objective)
      : function(function), axis(axis), meshAxes(mesh.getAxes()),
        size(mesh.getAxisSize(axis)), objective(objective),
        reductions(findReductions(function, axis)), tokens(reductions, size) {
    for (const GradientSync &sync : findGradientSyncs(function))
      gradients.insert(sync.gradient);
  }

  CutCost label();
  int64_t countTokens() const { return sp::countTokens(reductions); }
  LogicalResult checkDivisibility();
  void rewrite();
  /// The values that the cut goes through, regions apart; after `rewrite`.
  std::string describeCut() const;

  int64_t numSplit = 0, numKept = 0, numSharded = 0;
  /// The all-reduces that stay.
  SmallVector<AllReduceOp> kept;

private:
  bool isLabelled(Operation *op) const { return nodes.contains(op); }
  bool isSharded(Operation *op) const {
    return op && nodes.contains(op) && cut.isSource(nodes.lookup(op));
  }
  /// `copy` of the value into a tensor-parallel region.
  bool isRegionEntry(Operation *op) const {
    auto copy = dyn_cast<CopyOp>(op);
    return copy && copy.getAxis() == axis;
  }
  bool isTokenLocal(Operation *op) const;
  void addCosts(Operation *op);
  void addValueCosts(Value value);

  CutCost cost(int64_t memory, int64_t bytes) const {
    return objective == Objective::Memory ? CutCost{memory, bytes}
                                          : CutCost{bytes, memory};
  }
  /// (T-1) times the bytes of a value: what replication wastes over all ranks,
  /// and, per rank and times T, what a ring moves to gather it.
  int64_t weigh(Value value) const;

  Value getShard(Value value, int64_t dim);
  Value getWhole(Value value);
  bool mayLeaveAsShard(Value value, Operation *user) const;
  void rewriteUses(Value value);

  func::FuncOp function;
  StringAttr axis;
  SmallVector<StringAttr> meshAxes;
  int64_t size;
  Objective objective;
  /// None if the program is not differentiated.
  DenseSet<Value> gradients;
  SmallVector<AllReduceOp> reductions;
  TokenDims tokens;
  MinCut cut;
  llvm::MapVector<Operation *, MinCut::Node> nodes;
  /// Per whole value its slice; per sharded value its gather.
  llvm::MapVector<Value, Value> shards, wholes;
};

} // namespace

/// What a sum starts from; as good as a summand if it is zero.
static bool isZeroInit(OpOperand &operand) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  return linalgOp && linalgOp.isDpsInit(&operand) &&
         isZeroSource(operand.get().getDefiningOp());
}

/// A contraction of tokens with something that all tokens share, or whose
/// result they share: a linear, or the gradient of its weight.
static bool isWeightContraction(Operation *op, int64_t factor) {
  if (!isContraction(op))
    return false;
  LayoutRule rule = cast<LayoutOpInterface>(op).getLayoutRule();
  auto lacksFactor = [&](ArrayRef<int64_t> factors) {
    return !llvm::is_contained(factors, factor);
  };
  return llvm::any_of(rule.operands, lacksFactor) ||
         llvm::any_of(rule.results, lacksFactor);
}

bool Sharder::isTokenLocal(Operation *op) const {
  // Lookups and weight-sized gradient sums stay whole, and so do constants, of
  // which the readers take their part.
  if (isa<EmbeddingOp, EmbeddingGradOp>(op) || op->getNumResults() == 0 ||
      op->getNumOperands() == 0 || isUniformSource(op))
    return false;
  auto isWhole = [&](Type type) {
    return getAxisLayout(type, axis).isInvariant();
  };
  if (!llvm::all_of(op->getOperandTypes(), isWhole) ||
      !llvm::all_of(op->getResultTypes(), isWhole))
    return false;
  int64_t factor = tokens.getFactor(op);
  if (factor == LayoutRule::kBlocked || isWeightContraction(op, factor))
    return false;
  auto iface = cast<LayoutOpInterface>(op);
  LayoutRule rule = iface.getLayoutRule();
  unsigned numLocal = llvm::count_if(
      op->getResults(), [&](Value value) { return tokens.get(value) >= 0; });
  if (numLocal == op->getNumResults())
    return true;
  // The others are sums over tokens; an op of sums alone must be linear, or it
  // mixes tokens.
  if (!rule.isReduction[factor])
    return false;
  if (numLocal > 0)
    return true;
  llvm::SmallBitVector operands(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (tokens.get(operand.get()) >= 0 || isZeroInit(operand))
      operands.set(operand.getOperandNumber());
  return iface.isLinearIn(operands);
}

int64_t Sharder::weigh(Value value) const {
  RankedTensorType type = tensorType(value);
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return bytes * (size - 1);
}

/// What an op costs by itself.
void Sharder::addCosts(Operation *op) {
  MinCut::Node node = nodes.lookup(op);
  bool onlySums = true;
  for (Value result : op->getResults()) {
    if (tokens.get(result) >= 0) {
      cut.addCostIfSink(node, cost(weigh(result), 0));
      onlySums = false;
    } else { // On a shard, a partial sum.
      cut.addCostIfSource(node, cost(0, 2 * weigh(result)));
    }
  }
  // What every rank repeats is reading all tokens.
  if (onlySums)
    for (Value operand : op->getOperands())
      if (tokens.get(operand) >= 0)
        cut.addCostIfSink(node, cost(weigh(operand), 0));
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    // reduce_scatter moves half of what all_reduce does.
    cut.addCostIfSink(node, cost(0, 2 * weigh(reduce.getResult())));
    cut.addCostIfSource(node, cost(0, weigh(reduce.getResult())));
    return;
  }
  // On a shard, each replicated operand's gradient needs one sum; it is there
  // already if the program is differentiated.
  if (!gradients.empty())
    return;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()) && tokens.get(operand) < 0 &&
        !isUniformSource(operand.getDefiningOp()))
      cut.addCostIfSource(node, cost(0, 2 * weigh(operand)));
}

/// What it costs to hand a value of one label to users of the other; once for
/// all users.
void Sharder::addValueCosts(Value value) {
  if (tokens.get(value) < 0)
    return;
  Operation *producer = value.getDefiningOp();
  bool produced = producer && isLabelled(producer);
  if (!produced)
    return; // A slice moves nothing.
  MinCut::Node node = nodes.lookup(producer);
  // One gather at the entry of a region serves every whole use as well.
  if (llvm::any_of(value.getUsers(),
                   [&](Operation *user) { return isRegionEntry(user); })) {
    cut.addCostIfSource(node, cost(0, weigh(value)));
    return;
  }
  // What is gathered is then whole on every rank.
  MinCut::Node gathered = cut.addNode();
  cut.addEdge(node, gathered, cost(weigh(value), weigh(value)));
  for (Operation *user : value.getUsers()) {
    if (mayLeaveAsShard(value, user))
      continue;
    cut.addEdge(gathered, isLabelled(user) ? nodes.lookup(user) : cut.getSink(),
                CutCost::infinity());
  }
}

CutCost Sharder::label() {
  // A sum of gradients is none of them, whatever its shape: it leaves whole.
  DenseSet<Operation *> closing(reductions.begin(), reductions.end());
  for (Operation &op : function.getBody().front()) {
    auto reduce = dyn_cast<AllReduceOp>(op);
    if (reduce ? closing.contains(&op) && tokens.get(reduce.getResult()) >= 0
               : isTokenLocal(&op))
      nodes.insert({&op, cut.addNode()});
  }
  for (auto [op, node] : nodes) {
    addCosts(op);
    for (Value result : op->getResults())
      addValueCosts(result);
  }
  CutCost cost = cut.solve();
  for (AllReduceOp op : reductions) {
    if (isSharded(op)) {
      ++numSplit;
    } else {
      ++numKept;
      kept.push_back(op);
    }
  }
  return cost;
}

LogicalResult Sharder::checkDivisibility() {
  for (auto [op, node] : nodes) {
    if (!cut.isSource(node))
      continue;
    for (Value result : op->getResults()) {
      int64_t dim = tokens.get(result);
      if (dim < 0)
        continue;
      int64_t extent = tensorType(result).getDimSize(dim);
      if (extent % size)
        return op->emitError("sequence length ")
               << extent << " (dimension " << dim << " of " << describe(result)
               << ") is not divisible by `" << axis.getValue() << "` = " << size
               << "; choose a sequence length that is a multiple of " << size
               << ", pad it (pad-sequence), or run without sequence "
                  "parallelism (C2)";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The shard of a value that may be whole.
Value Sharder::getShard(Value value, int64_t dim) {
  if (getAxisLayout(value.getType(), axis).isShard())
    return value;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  if (Operation *source = value.getDefiningOp(); isUniformSource(source))
    return cloneSource(builder, source,
                       withAxisLayout(tensorType(value), axis,
                                      AxisLayout::shard(dim), meshAxes));
  Value &shard = shards[value];
  if (shard)
    return shard;
  Type type =
      withAxisLayout(tensorType(value), axis, AxisLayout::shard(dim), meshAxes);
  return shard = SliceOp::create(builder, value.getLoc(), type, value);
}

/// The whole of a sharded value.
Value Sharder::getWhole(Value value) {
  Value &whole = wholes[value];
  if (whole)
    return whole;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  Type type = withAxisLayout(tensorType(value), axis, AxisLayout::invariant(),
                             meshAxes);
  return whole = AllGatherOp::create(builder, value.getLoc(), type, value);
}

/// A result may leave as a shard; a gradient leaves as its parameter is.
bool Sharder::mayLeaveAsShard(Value value, Operation *user) const {
  return isa<func::ReturnOp>(user) && !gradients.contains(value);
}

/// Hands a value that has become sharded to users that are not.
void Sharder::rewriteUses(Value value) {
  SmallVector<OpOperand *> entries, others;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isSharded(user) || mayLeaveAsShard(value, user))
      continue;
    (isRegionEntry(user) ? entries : others).push_back(&use);
  }
  for (OpOperand *use : others)
    use->set(getWhole(value));
  for (OpOperand *use : llvm::reverse(entries)) {
    // With whole users about, the gathered value is there already.
    if (!others.empty()) {
      use->set(getWhole(value));
      continue;
    }
    Operation *copy = use->getOwner();
    OpBuilder builder(copy);
    auto gather = AllGatherOp::create(builder, copy->getLoc(),
                                      copy->getResult(0).getType(), value);
    copy->getResult(0).replaceAllUsesWith(gather.getResult());
    copy->erase();
  }
}

void Sharder::rewrite() {
  // Factors follow from the values that an op reads, which are about to change.
  SmallVector<std::pair<Operation *, int64_t>> sharded;
  for (auto [op, node] : nodes)
    if (cut.isSource(node))
      sharded.emplace_back(op, tokens.getFactor(op));
  SmallVector<Value> values;
  // Erased at the end: a new op must not get the address of a labelled one.
  SmallVector<Operation *> split;
  for (auto [op, factor] : sharded) {
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      OpBuilder builder(op);
      Value whole = reduce.getResult();
      Type type =
          withAxisLayout(tensorType(whole), axis,
                         AxisLayout::shard(tokens.get(whole)), meshAxes);
      Value scattered = ReduceScatterOp::create(builder, op->getLoc(), type,
                                                reduce.getInput());
      whole.replaceAllUsesWith(scattered);
      values.push_back(scattered);
      split.push_back(op);
      continue;
    }
    ++numSharded;
    LayoutRule rule = cast<LayoutOpInterface>(op).getLayoutRule();
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      int64_t dim = rule.operandDim(operand.getOperandNumber(), factor);
      if (dim >= 0) {
        operand.set(getShard(operand.get(), dim));
        continue;
      }
      OpBuilder builder(op);
      if (rule.isReduction[factor] && isZeroInit(operand)) {
        operand.set(
            cloneSource(builder, operand.get().getDefiningOp(),
                        withAxisLayout(tensorType(operand.get()), axis,
                                       AxisLayout::partial(), meshAxes)));
        continue;
      }
      Type type = withAxisLayout(tensorType(operand.get()), axis,
                                 AxisLayout::replicate(), meshAxes);
      operand.set(CopyOp::create(builder, op->getLoc(), type, operand.get()));
    }
    for (OpResult result : op->getResults()) {
      int64_t dim = rule.resultDim(result.getResultNumber(), factor);
      if (dim < 0) {
        sumOverRanks(result, axis, meshAxes);
        continue;
      }
      setAxisLayout(result, axis, AxisLayout::shard(dim), meshAxes);
      values.push_back(result);
    }
  }
  for (Value value : values)
    rewriteUses(value);
  for (Operation *op : split)
    op->erase();
  updateSignature(function);
}

/// "`%x`, `sp.add` and 3 more".
static std::string listValues(const llvm::MapVector<Value, Value> &values) {
  constexpr size_t kMost = 4;
  std::string text;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (i == kMost)
      return text + " and " + std::to_string(values.size() - kMost) + " more";
    Operation *source = value.first.getDefiningOp();
    text += i == 0 ? "" : ", ";
    text += source ? describe(source) : describe(value.first);
  }
  return text;
}

std::string Sharder::describeCut() const {
  SmallVector<std::string> parts;
  if (!shards.empty())
    parts.push_back("the shard begins with a slice of " + listValues(shards));
  if (!wholes.empty())
    parts.push_back("it ends with a gather of " + listValues(wholes));
  return llvm::join(parts, "; ");
}

namespace {
struct SequenceParallel : sp::impl::SPSequenceParallelBase<SequenceParallel> {
  using SPSequenceParallelBase::SPSequenceParallelBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = requireMeshAxis(module, axis, getArgument());
    if (failed(mesh))
      return signalPassFailure();
    if (objective != "memory" && objective != "bytes") {
      emitError(module.getLoc())
          << "sp-sequence-parallel: objective is `" << objective.getValue()
          << "`, must be memory or bytes (C4)";
      return signalPassFailure();
    }
    if (failed(verifyStraightLine(module, "sp-sequence-parallel", "C5")))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration() && failed(runOnFunction(function, *mesh)))
        return signalPassFailure();
  }

private:
  LogicalResult runOnFunction(func::FuncOp function, MeshOp mesh) {
    StringAttr axisName = StringAttr::get(&getContext(), axis);
    bool memoryFirst = objective == "memory";
    Sharder sharder(function, axisName, mesh,
                    memoryFirst ? Objective::Memory : Objective::Bytes);
    if (int64_t tokens = sharder.countTokens(); tokens < minTokens) {
      if (requireAll)
        return emitError(getNameLoc(function))
               << "stays tensor parallel: " << tokens
               << " tokens are fewer than min-tokens = "
               << static_cast<int64_t>(minTokens)
               << ", and require-all is set (C3)";
      emitRemark(getNameLoc(function)) << "stays tensor parallel: " << tokens
                                       << " tokens are fewer than min-tokens = "
                                       << static_cast<int64_t>(minTokens);
      return success();
    }
    CutCost cost = sharder.label();
    int64_t replicated = memoryFirst ? cost.major : cost.minor;
    int64_t moved = memoryFirst ? cost.minor : cost.major;
    if (requireAll && sharder.numKept > 0)
      return sharder.kept.front().emitError("")
             << describe(sharder.kept.front().getOperation())
             << " stays an all_reduce: its result is not worth sharding or not "
                "token-local, and require-all is set (C3)";
    if (failed(sharder.checkDivisibility()))
      return failure();
    sharder.rewrite();
    annotateGradientSyncs(function);
    int64_t ranks = mesh.getAxisSize(axisName);
    emitRemark(getNameLoc(function))
        << "sequence parallel along `" << axisName.getValue() << "`: split "
        << sharder.numSplit << " of " << sharder.numSplit + sharder.numKept
        << " all-reduces, " << sharder.numSharded
        << " ops on the shard; per rank " << replicated / ranks
        << " bytes are replicated and " << moved / ranks << " moved";
    if (std::string cut = sharder.describeCut(); !cut.empty())
      emitRemark(getNameLoc(function)) << "the cut: " << cut;
    for (AllReduceOp op : sharder.kept)
      emitRemark(op.getLoc())
          << describe(op.getOperation()) << " stays whole: its result "
          << (tensorType(op.getResult()).getRank() == 0
                  ? "has no dimensions"
                  : "costs no less on a shard");
    numSplit += sharder.numSplit;
    numKept += sharder.numKept;
    numShardedOps += sharder.numSharded;
    return success();
  }
};
} // namespace
