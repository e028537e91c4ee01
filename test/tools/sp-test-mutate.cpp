//===- sp-test-mutate.cpp - Wrong collectives must not verify -------------===//
//
// Changes one layout change of a program at a time, infers all types that
// follow again (otherwise every mutant would break trivially), and asks the
// verifiers. A mutant that verifies is run: it must compute the same. The tool
// has no table of what is legal: it tries everything that the compiler accepts.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Difference.h"
#include "Faults.h"
#include "MessageKind.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Execution/Session.h"
#include "sp/Init/Init.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Dialect/SPOps.h"
#include <cmath>

using namespace mlir;
using namespace sp;
using namespace sp::test;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-mutate PROGRAM.mlir --batch=BATCH.safetensors\n"
    "                      [--rules=none]\n"
    "Deletes, doubles, retypes and exchanges every layout change of a program\n"
    "(before sp-localize), or every collective (after), and puts every other "
    "one\n"
    "before every use of a value, one at a time, and infers all types that\n"
    "follow again. Each mutant must be rejected by a "
    "rule\n"
    "or compute the same results within 1e-9. Exits with 1 if one does not.\n"
    "  --rules=none  run the mutants of a localised program without asking "
    "the\n"
    "                verifiers: what would go wrong\n";

//===----------------------------------------------------------------------===//
// Layout changes that could stand somewhere
//===----------------------------------------------------------------------===//

static bool isLayoutChange(Operation *op) {
  return isa<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
             AllGatherOp>(op);
}

static constexpr StringRef layoutChanges[] = {
    "sp.copy",       "sp.slice",          "sp.zero_pad",
    "sp.all_reduce", "sp.reduce_scatter", "sp.all_gather"};

namespace {
struct Change {
  StringRef op;
  AxisLayout to;
};
} // namespace

static Operation *createChange(OpBuilder &builder, Location loc, Value value,
                               const Change &change, StringAttr axis) {
  OperationState state(loc, change.op);
  state.addOperands(value);
  state.addTypes(withAxisLayout(tensorType(value), axis, change.to));
  return builder.create(state);
}

/// True if the op's own verifier accepts it.
static bool verifies(Operation *op) {
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(mlir::verify(op, /*verifyRecursively=*/false));
}

/// Every layout change of `value` that the ops' verifiers accept.
static SmallVector<Change> listChanges(Value value, StringAttr axis) {
  SmallVector<Change> changes;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return changes;
  SmallVector<AxisLayout> layouts = {
      AxisLayout::invariant(), AxisLayout::replicate(), AxisLayout::partial()};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    layouts.push_back(AxisLayout::shard(dim));
  OpBuilder detached(value.getContext());
  for (StringRef name : layoutChanges)
    for (AxisLayout to : layouts) {
      Change change{name, to};
      Operation *op =
          createChange(detached, value.getLoc(), value, change, axis);
      if (verifies(op))
        changes.push_back(change);
      op->destroy();
    }
  return changes;
}

//===----------------------------------------------------------------------===//
// Names in the report
//===----------------------------------------------------------------------===//

/// Sums of gradients, and what packs and unpacks them.
static bool isGradientSync(Operation *op) {
  return op->hasAttr("sp.sync_of") || isa<PackOp, UnpackOp>(op) ||
         (isa<CollectiveOp>(op) && op->getOperand(0).getDefiningOp<PackOp>());
}

static std::string nameOp(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  if (auto collective = dyn_cast<CollectiveOp>(op))
    name += " " + stringifyCollectiveKind(collective.getKind()).str();
  if (isGradientSync(op))
    name += " (gradient sync)";
  return name;
}

static std::string nameRule(StringRef diagnostic) {
  const MessageDetail details[] = {
      {llvm::Regex("tensor<[^>]*(<[^>]*>)?>"), "T"},
      {llvm::Regex("`grad[^`]*`|`model[^`]*`|`exp_avg[^`]*`"), "`NAME`"},
      {llvm::Regex("#[0-9]+"), "#"},
      {llvm::Regex("shard\\([0-9]+\\)"), "shard"},
      {llvm::Regex(" dimension [0-9]+ "), " dimension "},
      {llvm::Regex("was `.*`, now is `.*`"), "was A, now is B"}};
  return nameMessageKind(diagnostic, details);
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {

enum class Outcome { Rejected, Failed, Equal, Undetected };

/// How one kind of mutant fared.
struct Score {
  std::array<int64_t, 4> count = {};

  int64_t &operator[](Outcome outcome) {
    return count[static_cast<size_t>(outcome)];
  }
  int64_t total() const { return llvm::sum_of(count, int64_t(0)); }
  Score &operator+=(const Score &other) {
    for (auto [mine, theirs] : llvm::zip(count, other.count))
      mine += theirs;
    return *this;
  }
};

/// `makeRandomSource` has ones for vectors, of which every part is alike: here
/// they are matrices of one row.
class NormalSource final : public ParameterSource {
public:
  llvm::Error read(StringRef name, ArrayRef<int64_t> globalShape,
                   ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                   DType target, void *dst) const override {
    auto prepend = [](int64_t first, ArrayRef<int64_t> rest) {
      SmallVector<int64_t> all = {first};
      all.append(rest.begin(), rest.end());
      return all;
    };
    return source->read(name, prepend(1, globalShape), prepend(0, offsets),
                        prepend(1, sizes), target, dst);
  }
  llvm::Error checkNoExtra(ArrayRef<StringRef>,
                           llvm::function_ref<bool(StringRef)>) const override {
    return llvm::Error::success();
  }

private:
  std::unique_ptr<ParameterSource> source = makeRandomSource(1);
};

struct Options {
  std::string batch;
  bool hasRules;
};

class Mutator {
public:
  Mutator(ModuleOp program, Options options)
      : program(program), options(std::move(options)) {}

  /// False if the program itself does not run.
  bool prepare();
  void mutate() { isLocalised ? mutateCollectives() : mutateLayoutChanges(); }
  /// False if there is an undetected mutant.
  bool print();

private:
  void mutateLayoutChanges();
  void mutateCollectives();

  using Results = std::vector<std::vector<double>>;
  /// What a mutation does in a copy of the program, given where the program's
  /// ops are there; false if it is not possible, and so no mutant.
  using Mutation = llvm::function_ref<bool(IRMapping &)>;

  func::FuncOp getFunction(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }
  Block &getBlock() { return getFunction(program).getBody().front(); }
  /// The layout changes, or the ops that they are after localisation.
  SmallVector<Operation *> listOps();
  void attempt(Operation *op, const Twine &what, const Twine &detail,
               Mutation mutation);
  /// `isBehind`: counted under the op that defines the value.
  void insertBefore(OpOperand &use, bool isBehind);
  /// Infers the types again; fails, with a diagnostic, if a rule forbids it.
  LogicalResult infer(ModuleOp module);
  LogicalResult verify(ModuleOp module);
  llvm::Error loadInputs(Session &session);
  /// Empty results: the ranks disagree about an invariant one.
  llvm::Expected<Results> run(ModuleOp module);
  Outcome judge(ModuleOp module, std::string &why);

  ModuleOp program;
  Options options;
  StringAttr axis;
  bool isLocalised = false;
  Results expected;
  std::map<std::string, Score> scores;
  Score syncs;
  std::map<std::string, int64_t> rules;
};

} // namespace

SmallVector<Operation *> Mutator::listOps() {
  SmallVector<Operation *> ops;
  for (Operation &op : getBlock())
    if (isLayoutChange(&op) ||
        isa<CollectiveOp, LocalSliceOp, LocalZeroPadOp>(op))
      ops.push_back(&op);
  return ops;
}

llvm::Error Mutator::loadInputs(Session &session) {
  auto file = SafetensorsFile::open(options.batch);
  if (!file)
    return file.takeError();
  // What the batch does not have: the optimizer's inputs.
  double learningRate = 1e-3;
  int64_t step = 1;
  bool trains =
      session.setInput("learning_rate", &learningRate, sizeof(learningRate)) &&
      session.setInput("step", &step, sizeof(step));
  if (!trains)
    return session.loadInputs(**file);
  for (StringRef name : {"input_ids", "labels"}) {
    auto tensor = (*file)->get(name);
    if (!tensor)
      return tensor.takeError();
    session.setInput(name, tensor->data,
                     tensor->numElements() * byteSize(tensor->dtype()));
  }
  return llvm::Error::success();
}

llvm::Expected<Mutator::Results> Mutator::run(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto compiled = compileProgram(*copy, {/*entry=*/"", /*optLevel=*/0});
  if (!compiled)
    return compiled.takeError();
  auto session = Session::create(**compiled);
  if (!session)
    return session.takeError();
  if (llvm::Error error = loadInputs(**session))
    return std::move(error);
  if (llvm::Error error = (*session)->loadParameters(NormalSource()))
    return std::move(error);
  RunOptions runOptions;
  runOptions.timeoutSeconds = 20;
  auto report = (*session)->run(runOptions);
  if (!report)
    return report.takeError();
  auto results = (*session)->gatherResults();
  if (!results) {
    llvm::consumeError(results.takeError());
    return Results();
  }
  Results all;
  for (const TensorData &result : *results) {
    std::vector<double> values(llvm::product_of(result.spec.shape));
    convertElements(result.spec.dtype, result.data, DType::F64, values.data(),
                    values.size());
    all.push_back(std::move(values));
  }
  return all;
}

bool Mutator::prepare() {
  MeshOp mesh = MeshOp::lookup(program);
  if (!mesh || mesh.getAxes().size() != 1) {
    llvm::errs() << "error: the program has no mesh of one axis\n";
    return false;
  }
  axis = mesh.getAxes().front();
  isLocalised = getFunction(program)->hasAttr(kCollectivesAttr);
  if (!options.hasRules && !isLocalised) {
    llvm::errs() << "error: --rules=none needs a localised program, which does "
                    "not tell by its types what to run\n";
    return false;
  }
  auto results = run(program);
  if (!results) {
    llvm::errs() << "error: the program itself fails: "
                 << llvm::toString(results.takeError()) << "\n";
    return false;
  }
  // Of results that are 0 any multiple would seem right.
  auto isZero = [](ArrayRef<double> values) {
    return llvm::all_of(values, [](double value) { return value == 0; });
  };
  if (results->empty() || llvm::any_of(*results, isZero)) {
    llvm::errs() << "error: the program's results cannot tell a mutant\n";
    return false;
  }
  expected = std::move(*results);
  return true;
}

LogicalResult Mutator::infer(ModuleOp module) {
  func::FuncOp function = getFunction(module);
  Block &entry = function.getBody().front();
  auto along = [&](Value value) {
    return getAxisLayout(value.getType(), axis);
  };
  for (Operation &op : entry.without_terminator()) {
    auto iface = dyn_cast<LayoutOpInterface>(op);
    if (!iface)
      continue; // The verifier has its say.
    // A layout change has no axis unless its types differ along one.
    if (isLayoutChange(&op) &&
        failed(mlir::verify(&op, /*verifyRecursively=*/false)))
      return failure();
    SmallVector<AxisLayout> operands(llvm::map_range(op.getOperands(), along));
    SmallVector<AxisLayout> results;
    if (failed(iface.inferLayouts(axis, operands, results)))
      return failure();
    for (auto [value, layout] : llvm::zip(op.getResults(), results))
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        value.setType(withAxisLayout(type, axis, layout));
  }
  function.setFunctionType(
      FunctionType::get(module.getContext(), entry.getArgumentTypes(),
                        entry.getTerminator()->getOperandTypes()));
  return success();
}

LogicalResult Mutator::verify(ModuleOp module) {
  if (failed(mlir::verify(module)))
    return failure();
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createSPVerifyLayouts());
  if (failed(pm.run(module)))
    return failure();
  return verifyCollectives(getFunction(module));
}

Outcome Mutator::judge(ModuleOp module, std::string &why) {
  std::string diagnostic;
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &d) {
    if (diagnostic.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      diagnostic = d.str();
    return success();
  });
  if (!options.hasRules) {
    recordCollectives(getFunction(module));
  } else if ((!isLocalised && failed(infer(module))) ||
             failed(verify(module))) {
    ++rules[nameRule(diagnostic)];
    return Outcome::Rejected;
  }
  auto results = run(module);
  if (!results) {
    why = llvm::toString(results.takeError());
    if (!diagnostic.empty())
      why += ": " + diagnostic;
    return Outcome::Failed;
  }
  if (results->empty()) {
    why = "ranks disagree about a result";
    return Outcome::Undetected;
  }
  double worst = 0;
  for (auto [got, want] : llvm::zip_equal(*results, expected)) {
    double difference = measureDifference(got, want, CompareMode::Scaled);
    if (!(difference <= worst)) // Also NaN, which then stays.
      worst = difference;
    if (std::isnan(worst))
      break;
  }
  if (!(worst <= 1e-9)) {
    why = llvm::formatv("results differ by {0:e3}", worst);
    return Outcome::Undetected;
  }
  return Outcome::Equal;
}

/// `op` is what the mutant is counted under.
void Mutator::attempt(Operation *op, const Twine &what, const Twine &detail,
                      Mutation mutation) {
  IRMapping there;
  OwningOpRef<ModuleOp> mutant(cast<ModuleOp>(program->clone(there)));
  if (!mutation(there))
    return;
  std::string why;
  Outcome outcome = judge(*mutant, why);
  std::string kind = nameOp(op) + ", " + what.str();
  ++scores[kind][outcome];
  if (isGradientSync(op))
    ++syncs[outcome];
  if (outcome == Outcome::Rejected)
    return;
  StringRef labels[] = {"rejected", "rejected at compile/run", "equal in value",
                        "UNDETECTED"};
  llvm::outs() << labels[static_cast<size_t>(outcome)] << ": " << kind << " ("
               << detail << "), op "
               << std::distance(getBlock().begin(), op->getIterator());
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    llvm::outs() << " (" << name.getName().getValue() << ")";
  if (op->getNumOperands() == 1)
    llvm::outs() << " on " << op->getOperand(0).getType();
  llvm::outs() << (why.empty() ? "" : ": ") << why << "\n";
}

//===----------------------------------------------------------------------===//
// Before localisation
//===----------------------------------------------------------------------===//

static std::string str(const Change &change) {
  return (change.op + " to " + change.to.str()).str();
}

/// `use` is the program's.
void Mutator::insertBefore(OpOperand &use, bool isBehind) {
  Operation *counted = isBehind ? use.get().getDefiningOp() : use.getOwner();
  for (const Change &change : listChanges(use.get(), axis))
    attempt(counted, isBehind ? "insert behind" : "insert before",
            str(change) + " before operand #" + Twine(use.getOperandNumber()) +
                " of " + use.getOwner()->getName().getStringRef(),
            [&](IRMapping &there) {
              Operation *reader = there.lookup(use.getOwner());
              OpOperand &operand = reader->getOpOperand(use.getOperandNumber());
              OpBuilder builder(reader);
              operand.set(createChange(builder, reader->getLoc(), operand.get(),
                                       change, axis)
                              ->getResult(0));
              return true;
            });
}

void Mutator::mutateLayoutChanges() {
  for (Operation *op : listOps()) {
    StringRef own = op->getName().getStringRef();
    AxisLayout to = getAxisLayout(op->getResult(0).getType(), axis);

    attempt(op, "delete", "", [&](IRMapping &there) {
      bypass(there.lookup(op));
      return true;
    });
    // If no second one is legal, it keeps the first one's type, and the op's
    // verifier has its say.
    Change again{own, to};
    for (const Change &change : listChanges(op->getResult(0), axis))
      if (change.op == own)
        again = change;
    attempt(op, "duplicate", str(again), [&](IRMapping &there) {
      Operation *first = there.lookup(op);
      OpBuilder builder(first->getContext());
      builder.setInsertionPointAfter(first);
      Value result = first->getResult(0);
      Operation *second =
          createChange(builder, first->getLoc(), result, again, axis);
      result.replaceAllUsesExcept(second->getResult(0), second);
      return true;
    });
    for (const Change &change : listChanges(op->getOperand(0), axis)) {
      if (change.op == own && change.to == to)
        continue;
      attempt(op, change.op == own ? "retype" : "swap", str(change),
              [&](IRMapping &there) {
                Operation *victim = there.lookup(op);
                OpBuilder builder(victim);
                victim->replaceAllUsesWith(
                    createChange(builder, victim->getLoc(),
                                 victim->getOperand(0), change, axis));
                victim->erase();
                return true;
              });
    }
  }
  for (Operation &reader : getBlock())
    for (OpOperand &use : reader.getOpOperands()) {
      Operation *definition = use.get().getDefiningOp();
      bool isBehind =
          !isLayoutChange(&reader) && !isGradientSync(&reader) && definition &&
          (isLayoutChange(definition) || isGradientSync(definition));
      insertBefore(use, isBehind);
    }
}

//===----------------------------------------------------------------------===//
// After localisation
//===----------------------------------------------------------------------===//

/// An op of localised programs with the same types.
static Operation *createLocal(OpBuilder &builder, Operation *like,
                              std::optional<CollectiveKind> kind,
                              StringRef name, StringAttr axis,
                              std::optional<int64_t> dim) {
  OperationState state(like->getLoc(), name);
  state.addOperands(like->getOperands());
  state.addTypes(like->getResultTypes());
  state.addAttribute("axis", axis);
  if (kind)
    state.addAttribute("kind",
                       CollectiveKindAttr::get(builder.getContext(), *kind));
  if (dim)
    state.addAttribute("dim", builder.getI64IntegerAttr(*dim));
  return builder.create(state);
}

namespace {
struct LocalChange {
  StringRef op;
  std::optional<CollectiveKind> kind;
  std::optional<int64_t> dim;
};
} // namespace

static SmallVector<LocalChange> listLocalChanges(Operation *op) {
  SmallVector<LocalChange> changes = {
      {"sp.collective", CollectiveKind::AllReduce, {}}};
  for (int64_t dim = 0; dim < tensorType(op->getOperand(0)).getRank(); ++dim)
    changes.append({{"sp.collective", CollectiveKind::ReduceScatter, dim},
                    {"sp.collective", CollectiveKind::AllGather, dim},
                    {"sp.local_slice", {}, dim},
                    {"sp.local_zero_pad", {}, dim}});
  return changes;
}

static std::string str(const LocalChange &change) {
  std::string text = change.op.str();
  if (change.kind)
    text += " " + stringifyCollectiveKind(*change.kind).str();
  if (change.dim)
    text += " dim " + std::to_string(*change.dim);
  return text;
}

void Mutator::mutateCollectives() {
  SmallVector<Operation *> ops = listOps();
  for (unsigned number = 0; number < ops.size(); ++number) {
    Operation *op = ops[number];
    if (op->getOperand(0).getType() == op->getResult(0).getType()) {
      attempt(op, "delete", "", [&](IRMapping &there) {
        bypass(there.lookup(op));
        return true;
      });
      attempt(op, "duplicate", "", [&](IRMapping &there) {
        applyTwice(there.lookup(op));
        return true;
      });
    }
    for (const LocalChange &change : listLocalChanges(op)) {
      attempt(op, "swap", str(change), [&](IRMapping &there) {
        Operation *victim = there.lookup(op);
        OpBuilder builder(victim);
        Operation *other = createLocal(builder, victim, change.kind, change.op,
                                       axis, change.dim);
        bool differs = !OperationEquivalence::isEquivalentTo(
            victim, other, OperationEquivalence::ignoreValueEquivalence,
            nullptr,
            OperationEquivalence::IgnoreLocations |
                OperationEquivalence::IgnoreDiscardableAttrs);
        if (!differs || !verifies(other))
          return false;
        victim->replaceAllUsesWith(other);
        victim->erase();
        return true;
      });
    }
    if (number > 0)
      attempt(op, "move before the one before", "", [&](IRMapping &there) {
        Operation *victim = there.lookup(op);
        Operation *before = there.lookup(ops[number - 1]);
        Operation *definition = victim->getOperand(0).getDefiningOp();
        if (definition && !definition->isBeforeInBlock(before))
          return false;
        victim->moveBefore(before);
        return true;
      });
    for (Operation *later : ArrayRef(ops).drop_front(number + 1)) {
      if (later->getOperand(0).getType() != op->getOperand(0).getType())
        continue;
      attempt(op, "exchange operands with a later one", "",
              [&](IRMapping &there) {
                Operation *victim = there.lookup(op);
                Operation *other = there.lookup(later);
                Value mine = victim->getOperand(0);
                Value theirs = other->getOperand(0);
                Operation *definition = theirs.getDefiningOp();
                if (mine == theirs ||
                    (definition && !definition->isBeforeInBlock(victim)))
                  return false;
                victim->setOperand(0, theirs);
                other->setOperand(0, mine);
                return true;
              });
      if (later->getResult(0).getType() != op->getResult(0).getType())
        continue;
      attempt(op, "be read in place of a later one", "", [&](IRMapping &there) {
        there.lookup(later)->getResult(0).replaceAllUsesWith(
            there.lookup(op)->getResult(0));
        return true;
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

static std::string summarise(Score score) {
  return llvm::formatv("{0} mutants, {1} rejected, {2} rejected at "
                       "compile/run, {3} equal in value, {4} undetected",
                       score.total(), score[Outcome::Rejected],
                       score[Outcome::Failed], score[Outcome::Equal],
                       score[Outcome::Undetected]);
}

bool Mutator::print() {
  Score all;
  llvm::outs() << llvm::left_justify("", 65)
               << " mutants rejected at run    equal undetected\n";
  for (auto &[name, score] : scores) {
    all += score;
    llvm::outs() << llvm::left_justify(name, 65)
                 << llvm::format("%8d", int(score.total()));
    for (int64_t count : score.count)
      llvm::outs() << llvm::format(" %8d", int(count));
    llvm::outs() << "\n";
  }
  llvm::outs() << "rejected by:\n";
  for (auto &[rule, count] : rules)
    llvm::outs() << llvm::format("%8d", int(count)) << " " << rule << "\n";
  llvm::outs() << "gradient syncs: " << summarise(syncs) << "\n"
               << summarise(all) << "\n";
  return all[Outcome::Undetected] == 0 && all.total() > 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CommandLine commandLine(argc, argv, usage, {"batch", "rules"}, 1);
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  auto module = parseSourceFile<ModuleOp>(commandLine.positional(0), &context);
  if (!module)
    return Failure;
  if (llvm::range_size(module->getOps<func::FuncOp>()) != 1) {
    llvm::errs() << "error: the program must have one function\n";
    return Failure;
  }
  Mutator mutator(*module, {commandLine.require("batch").str(),
                            commandLine.get("rules") != "none"});
  if (!mutator.prepare())
    return Failure;
  mutator.mutate();
  return mutator.print() ? Success : Failure;
}
