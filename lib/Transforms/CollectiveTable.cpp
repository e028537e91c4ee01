//===- CollectiveTable.cpp - a program's layout changes, explained --------===//

#include "sp/Transforms/CollectiveTable.h"
#include "LayoutUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Analysis/SavedActivations.h"
#include "sp/Transforms/GradientSync.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sp;

bool CollectiveRow::moves() const {
  return isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op);
}

std::string CollectiveRow::change() const {
  return from.str() + " -> " + to.str();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string sp::describeLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto layout = tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                       : LayoutAttr();
  if (!layout)
    return "invariant";
  return llvm::join(llvm::map_range(layout.getEntries(),
                                    [](const AxisEntry &entry) {
                                      return entry.layout.str() + " on " +
                                             entry.axis.str();
                                    }),
                    ", ");
}

/// The same data in another shape or precision.
static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, arith::TruncFOp,
             arith::ExtFOp>(op);
}

/// The names of the parameters that `value` is made of, seen through casts,
/// reshapes, layout changes and packing; none if there is any work in between.
static SmallVector<StringRef> getParameterNames(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    SmallVector<StringRef> names;
    if (isView(op) || isa<CopyOp, SliceOp, AllGatherOp, PackOp>(op))
      for (Value operand : op->getOperands())
        llvm::append_range(names, getParameterNames(operand));
    return names;
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function ? function.getArgAttrOfType<StringAttr>(
                             argument.getArgNumber(), kParamAttr)
                       : StringAttr();
  return name ? SmallVector<StringRef>{name.getValue()}
              : SmallVector<StringRef>();
}

SmallVector<std::string> sp::getModuleNames(Operation *op) {
  if (SmallVector<StringRef> names = getLocNames(op->getLoc()); !names.empty())
    return llvm::to_vector_of<std::string>(names);
  SmallVector<std::string> modules;
  for (Value operand : op->getOperands()) {
    for (StringRef name : getParameterNames(operand))
      modules.push_back(name.contains('.') ? name.rsplit('.').first.str()
                                           : name.str());
    if (!modules.empty())
      break;
  }
  return modules;
}

std::string sp::getModuleName(Operation *op) {
  SmallVector<std::string> modules = getModuleNames(op);
  return modules.empty() ? "" : modules.front();
}

/// The last component of a module's name; "layers.0" rather than "0".
static StringRef getShortName(StringRef module) {
  auto [rest, last] = module.rsplit('.');
  if (last.empty())
    return module;
  if (!llvm::all_of(last, llvm::isDigit))
    return last;
  size_t dot = rest.rfind('.');
  return dot == StringRef::npos ? module : module.drop_front(dot + 1);
}

/// How a reason calls an op.
static SmallVector<std::string> getReaderNames(Operation *op) {
  if (isa<func::ReturnOp>(op))
    return {"the caller"};
  SmallVector<std::string> names = getModuleNames(op);
  for (std::string &name : names)
    name = getShortName(name).str();
  if (names.empty())
    names.push_back(describe(op));
  return names;
}

/// As the other passes name it; programs that went through text have lost their
/// locations' names, but not their parameters'.
static std::string describeAt(Operation *op) {
  std::string text = describe(op);
  std::string module = getModuleName(op);
  if (getLocName(op->getLoc()).empty() && !module.empty())
    text += " (" + module + ")";
  return text;
}

/// The names that `get` gives each op, without repetitions.
static SmallVector<std::string>
collectNames(ArrayRef<Operation *> ops,
             llvm::function_ref<SmallVector<std::string>(Operation *)> get) {
  SmallVector<std::string> names;
  for (Operation *op : ops)
    for (std::string &name : get(op))
      if (!llvm::is_contained(names, name))
        names.push_back(std::move(name));
  return names;
}

/// "q_proj, k_proj and v_proj".
static std::string listNames(ArrayRef<Operation *> ops) {
  SmallVector<std::string> names = collectNames(ops, getReaderNames);
  constexpr size_t kMost = 4;
  std::string text;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i == kMost)
      return text + " and " + std::to_string(names.size() - kMost) + " more";
    if (i != 0)
      text += i + 1 == names.size() && i < kMost ? " and " : ", ";
    text += name;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// What is around a layout change
//===----------------------------------------------------------------------===//

/// The ops that read `value`, in order.
static SmallVector<Operation *> findReaders(Value value) {
  llvm::SetVector<Operation *> readers;
  SmallVector<Value> stack{value};
  while (!stack.empty())
    for (Operation *user : stack.pop_back_val().getUsers()) {
      if (isView(user))
        stack.push_back(user->getResult(0));
      else
        readers.insert(value.getParentBlock()->findAncestorOpInBlock(*user));
    }
  SmallVector<Operation *> sorted = readers.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// The ops that make `value`: of a sum of summands, those that make them.
static SmallVector<Operation *> findMakers(Value value, StringAttr axis) {
  llvm::SetVector<Operation *> makers;
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op)
      continue;
    bool isSum = isa<arith::AddFOp, ScaleOp, PackOp>(op) &&
                 getAxisLayout(next.getType(), axis).isPartial();
    if (isSum || isView(op))
      // The first operand's makers come off the stack first.
      llvm::append_range(stack, llvm::reverse(op->getOperands()));
    else
      makers.insert(op);
  }
  return makers.takeVector();
}

/// True if `op` works on a parameter of which each rank has its part, or
/// several ranks the same.
static bool hasShardedParameter(Operation *op, StringAttr axis) {
  auto isSharded = [&](const AxisEntry &entry) {
    return entry.layout.isShard() &&
           (entry.axis == axis || getParentAxis(entry.axis) == axis.getValue());
  };
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return llvm::any_of(getLayoutEntries(operand.getType()), isSharded) &&
           !getParameterNames(operand).empty();
  });
}

/// Those of `ops` that are in a tensor-parallel region.
static SmallVector<Operation *> findSharded(ArrayRef<Operation *> ops,
                                            StringAttr axis) {
  return llvm::filter_to_vector(
      ops, [&](Operation *op) { return hasShardedParameter(op, axis); });
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

namespace {
/// Explains the changes of one function, in order.
class Explainer {
public:
  Explainer(func::FuncOp function,
            const llvm::DenseMap<Operation *, Phase> &phases)
      : phases(phases) {
    for (const GradientSync &sync : findGradientSyncs(function))
      for (AllReduceOp op : sync.ops)
        syncs[op].push_back(sync);
  }

  void explain(CollectiveRow &row);

private:
  struct Forward {
    CollectiveRow row;
    SmallVector<std::string> makers, readers;
  };
  void explainSync(CollectiveRow &row);
  void explainByNeighbours(CollectiveRow &row);
  const Forward *findOriginal(const CollectiveRow &row);

  const llvm::DenseMap<Operation *, Phase> &phases;
  SmallVector<Operation *> makers, readers;
  llvm::DenseMap<Operation *, SmallVector<GradientSync>> syncs;
  std::vector<Forward> forwards;
  /// By a maker's or reader's module, and by operand: the forward pass's
  /// changes.
  llvm::StringMap<SmallVector<unsigned>> byModule;
  llvm::DenseMap<Value, SmallVector<unsigned>> byOperand;
};
} // namespace

void Explainer::explainSync(CollectiveRow &row) {
  ArrayRef<GradientSync> summed = syncs[row.op];
  for (const GradientSync &sync : summed)
    row.gradients.push_back(sync.parameter);
  if (summed.size() == 1) {
    row.why = "sums the gradient of `" + summed.front().parameter +
              "`: " + summed.front().reason;
    return;
  }
  row.at = std::to_string(summed.size()) + " parameters";
  row.module = "";
  row.why = "sums the gradients of " + row.at +
            ", each used on data of which each rank has its part";
}

void Explainer::explainByNeighbours(CollectiveRow &row) {
  // An optimizer works on sharded parameters, too, but it is no region.
  SmallVector<Operation *> inside;
  if (row.phase != Phase::Update)
    inside = findSharded(readers, row.axis);
  std::string who = listNames(readers);
  row.why =
      llvm::TypeSwitch<Operation *, std::string>(row.op)
          .Case<CopyOp, AllGatherOp>([&](auto) -> std::string {
            if (!inside.empty())
              return "enters the tensor-parallel region of " +
                     listNames(inside);
            if (row.to.isInvariant())
              return "joins the shards for " + who + ", the same on every rank";
            if (row.moves())
              return "joins the shards for " + who;
            auto names = getParameterNames(row.op->getOperand(0));
            return (
                "lets " + who + " use " +
                (names.size() == 1 ? "`" + names.front().str() + "`" : "it") +
                " on each rank's part");
          })
          .Case<SliceOp>(
              [&](auto) { return "leaves each rank its part, for " + who; })
          .Case<ZeroPadOp>([&](auto) {
            return "puts each rank's part among zeros, for " + who;
          })
          .Default([&](Operation *) -> std::string {
            SmallVector<Operation *> closing = findSharded(makers, row.axis);
            return closing.empty()
                       ? "sums what each rank has of " + listNames(makers)
                       : "closes the tensor-parallel region of " +
                             listNames(closing);
          });
}

static SmallVector<std::string> getModules(ArrayRef<Operation *> ops) {
  return collectNames(ops, getModuleNames);
}

/// The change of the forward pass whose adjoint `row` is: it goes the dual way,
/// and between the same modules.
const Explainer::Forward *Explainer::findOriginal(const CollectiveRow &row) {
  SmallVector<std::string> makerModules = getModules(makers),
                           readerModules = getModules(readers);
  llvm::SetVector<unsigned> candidates;
  for (ArrayRef<std::string> modules : {makerModules, readerModules})
    for (const std::string &module : modules)
      candidates.insert_range(byModule.lookup(module));
  auto shape = shapeOf(row.op->getResult(0));
  const Forward *best = nullptr;
  size_t bestCommon = 0;
  for (unsigned i : candidates) {
    const Forward &forward = forwards[i];
    if (forward.row.axis != row.axis || forward.row.from.dual() != row.to ||
        forward.row.to.dual() != row.from ||
        shapeOf(forward.row.op->getResult(0)) != shape)
      continue;
    auto countIn = [](ArrayRef<std::string> a, ArrayRef<std::string> b) {
      return llvm::count_if(
          a, [&](auto &name) { return llvm::is_contained(b, name); });
    };
    // What reads a value makes its cotangent.
    size_t common = countIn(makerModules, forward.readers) +
                    countIn(readerModules, forward.makers);
    if (common > bestCommon) {
      best = &forward;
      bestCommon = common;
    }
  }
  return best;
}

void Explainer::explain(CollectiveRow &row) {
  makers = findMakers(row.op->getOperand(0), row.axis);
  readers = findReaders(row.op->getResult(0));
  // What the backward pass reads of the forward pass is not what it is for.
  auto isLater = [&](Operation *op) {
    auto phase = phases.find(op);
    return phase != phases.end() && phase->second != row.phase;
  };
  if (!llvm::all_of(readers, isLater))
    llvm::erase_if(readers, isLater);
  Operation *served = row.op;
  if (row.from.isPartial()) {
    if (!makers.empty())
      served = makers.front();
  } else if (!readers.empty()) {
    served = readers.front();
  }
  row.at = describeAt(served);
  row.module = getModuleName(served);

  if (syncs.contains(row.op))
    return explainSync(row);
  if (row.phase == Phase::Forward) {
    explainByNeighbours(row);
    forwards.push_back({row, getModules(makers), getModules(readers)});
    unsigned i = forwards.size() - 1;
    for (ArrayRef<std::string> modules :
         {forwards[i].makers, forwards[i].readers})
      for (const std::string &module : modules)
        byModule[module].push_back(i);
    byOperand[row.op->getOperand(0)].push_back(i);
    return;
  }
  Value operand = row.op->getOperand(0);
  if (auto barrier = operand.getDefiningOp<OptimizationBarrierOp>())
    operand = barrier.getInput();
  for (unsigned i : byOperand.lookup(operand))
    if (forwards[i].row.op->getName() == row.op->getName() &&
        forwards[i].row.to == row.to) {
      row.why =
          ("again the " + row.kind + " that " + forwards[i].row.why).str();
      return;
    }
  if (const Forward *original = findOriginal(row)) {
    row.why =
        ("adjoint of the " + original->row.kind + " that " + original->row.why)
            .str();
    return;
  }
  explainByNeighbours(row);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// What each rank sends. Along other axes it holds what its layout says.
static int64_t getRingBytes(Operation *op, StringAttr axis, MeshOp mesh) {
  int64_t phases = isa<AllReduceOp>(op)                    ? 2
                   : isa<ReduceScatterOp, AllGatherOp>(op) ? 1
                                                           : 0;
  RankedTensorType whole =
      withAxisLayout(tensorType(op->getOperand(0)), axis,
                     AxisLayout::invariant(), mesh.getAxes());
  int64_t bytes = getBytesPerRank(whole, mesh);
  int64_t size = mesh.getAxisSize(axis);
  return phases * (size - 1) * bytes / size;
}

SmallVector<CollectiveRow> sp::findCollectives(func::FuncOp function,
                                               MeshOp mesh) {
  llvm::DenseMap<Operation *, Phase> phases = findPhases(function);
  Explainer explainer(function, phases);
  SmallVector<CollectiveRow> rows;
  for (Operation &op : function.getBody().front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
              AllGatherOp>([&](auto change) {
          CollectiveRow row{&op,
                            op.getName().stripDialect(),
                            change.getAxis(),
                            change.getFrom(),
                            change.getTo(),
                            getRingBytes(&op, change.getAxis(), mesh),
                            phases.lookup(&op),
                            {},
                            {},
                            {},
                            {}};
          explainer.explain(row);
          rows.push_back(std::move(row));
        });
  return rows;
}
