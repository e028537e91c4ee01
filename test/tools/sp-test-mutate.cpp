//===- sp-test-mutate.cpp - Wrong collectives must not verify -------------===//
//
// Changes one layout change of a program at a time, infers all types that
// follow again (otherwise every mutant would break trivially), and asks the
// verifiers. A mutant that verifies is run: it must compute the same.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Difference.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
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

using namespace mlir;
using namespace sp;
using namespace sp::test;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-mutate PROGRAM.mlir --batch=BATCH.safetensors\n"
    "Deletes, doubles, retypes and exchanges every layout change of a program\n"
    "(before sp-localize), or every collective (after), one at a time, and\n"
    "infers all types that follow again. Each mutant must be rejected by a "
    "rule\n"
    "or compute the same results within 1e-9. Exits with 1 if one does not.\n";

//===----------------------------------------------------------------------===//
// The table of layout changes
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  StringRef op;
  LayoutKind from, to;
};
} // namespace

static constexpr LayoutKind I = LayoutKind::Invariant,
                            R = LayoutKind::Replicate, S = LayoutKind::Shard,
                            P = LayoutKind::Partial;
static const Row table[] = {
    {"sp.copy", I, R},       {"sp.slice", I, S},
    {"sp.slice", R, S},      {"sp.zero_pad", S, P},
    {"sp.all_reduce", P, I}, {"sp.reduce_scatter", P, S},
    {"sp.all_gather", S, R}, {"sp.all_gather", S, I},
};

static bool isLayoutChange(Operation *op) {
  return isa<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
             AllGatherOp>(op);
}

static bool isLegal(StringRef op, AxisLayout from, AxisLayout to) {
  return llvm::any_of(table, [&](const Row &row) {
    return row.op == op && row.from == from.kind && row.to == to.kind;
  });
}

namespace {
/// A layout change that could stand somewhere.
struct Change {
  StringRef op;
  AxisLayout to;
};
} // namespace

/// Every change of `type`, as it is along the axis.
static SmallVector<Change> listChanges(RankedTensorType type, StringAttr axis,
                                       int64_t size) {
  SmallVector<Change> changes;
  AxisLayout from = getAxisLayout(type, axis);
  for (const Row &row : table) {
    if (row.from != from.kind)
      continue;
    if (row.to != S) {
      changes.push_back({row.op, AxisLayout{row.to, -1}});
      continue;
    }
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) % size == 0)
        changes.push_back({row.op, AxisLayout::shard(dim)});
  }
  return changes;
}

static Operation *createChange(OpBuilder &builder, Location loc, Value value,
                               const Change &change, StringAttr axis) {
  OperationState state(loc, change.op);
  state.addOperands(value);
  state.addTypes(withAxisLayout(tensorType(value), axis, change.to));
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {

enum class Outcome { Rejected, Equal, Undetected };

/// How one kind of mutant fared.
struct Score {
  int64_t total = 0, rejected = 0, equal = 0, undetected = 0;

  void add(Outcome outcome) {
    ++total;
    ++(outcome == Outcome::Rejected ? rejected
       : outcome == Outcome::Equal  ? equal
                                    : undetected);
  }
};

class Mutator {
public:
  Mutator(ModuleOp program, std::string batch)
      : program(program), batch(std::move(batch)) {}

  /// False if the program itself does not run.
  bool prepare();
  void mutateLayoutChanges();
  void mutateCollectives();
  /// False if there is an undetected mutant.
  bool print();

private:
  /// What a mutation does to its op in a copy of the program; false if it is
  /// not possible there, and so no mutant.
  using Mutation = llvm::function_ref<bool(Operation *)>;

  func::FuncOp getFunction(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }
  /// The layout changes, or the ops that they are after localisation.
  SmallVector<Operation *> listOps(ModuleOp module);
  /// Mutates the op of this number.
  void attempt(unsigned number, StringRef what, Mutation mutation);
  /// Infers the types again; why it is impossible, or empty.
  std::string infer(ModuleOp module);
  std::string verify(ModuleOp module);
  llvm::Expected<std::vector<std::vector<double>>> run(ModuleOp module);
  Outcome judge(ModuleOp module, std::string &why);

  ModuleOp program;
  std::string batch;
  StringAttr axis;
  int64_t size = 0;
  std::vector<std::vector<double>> expected;
  std::map<std::string, Score> scores;
};

} // namespace

SmallVector<Operation *> Mutator::listOps(ModuleOp module) {
  SmallVector<Operation *> ops;
  for (Operation &op : getFunction(module).getBody().front())
    if (isLayoutChange(&op) ||
        isa<CollectiveOp, LocalSliceOp, LocalZeroPadOp>(op))
      ops.push_back(&op);
  return ops;
}

llvm::Expected<std::vector<std::vector<double>>> Mutator::run(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto compiled = compileProgram(*copy, {});
  if (!compiled)
    return compiled.takeError();
  auto session = Session::create(**compiled);
  if (!session)
    return session.takeError();
  auto file = SafetensorsFile::open(batch);
  if (!file)
    return file.takeError();
  // What the batch does not have: the optimizer's inputs.
  double learningRate = 1e-3;
  int64_t step = 1;
  bool trains = (*session)->setInput("learning_rate", &learningRate,
                                     sizeof(learningRate)) &&
                (*session)->setInput("step", &step, sizeof(step));
  if (trains) {
    for (StringRef name : {"input_ids", "labels"}) {
      auto tensor = (*file)->get(name);
      if (!tensor)
        return tensor.takeError();
      (*session)->setInput(name, tensor->data,
                           tensor->numElements() * byteSize(tensor->dtype()));
    }
  } else if (llvm::Error error = (*session)->loadInputs(**file)) {
    return std::move(error);
  }
  if (llvm::Error error = (*session)->loadParameters(*makeRandomSource(1)))
    return std::move(error);
  RunOptions options;
  options.timeoutSeconds = 20;
  auto report = (*session)->run(options);
  if (!report)
    return report.takeError();
  auto results = (*session)->gatherResults();
  if (!results)
    return results.takeError();
  std::vector<std::vector<double>> all;
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
  size = mesh.getAxisSize(axis);
  auto results = run(program);
  if (!results) {
    llvm::errs() << "error: the program itself fails: "
                 << llvm::toString(results.takeError()) << "\n";
    return false;
  }
  expected = std::move(*results);
  return true;
}

std::string Mutator::infer(ModuleOp module) {
  func::FuncOp function = getFunction(module);
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto iface = dyn_cast<LayoutOpInterface>(op);
    if (!iface)
      return "an op without a layout rule";
    auto along = [&](Value value) {
      return getAxisLayout(value.getType(), axis);
    };
    if (isLayoutChange(&op)) {
      AxisLayout from = along(op.getOperand(0)), to = along(op.getResult(0));
      if (!isLegal(op.getName().getStringRef(), from, to))
        return "no such layout change";
      continue;
    }
    SmallVector<AxisLayout> operands(llvm::map_range(op.getOperands(), along));
    SmallVector<AxisLayout> results;
    if (failed(iface.inferLayouts(axis, operands, results)))
      return "an op's layout rule";
    for (auto [value, layout] : llvm::zip(op.getResults(), results))
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        value.setType(withAxisLayout(type, axis, layout));
  }
  Block &entry = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(module.getContext(), entry.getArgumentTypes(),
                        entry.getTerminator()->getOperandTypes()));
  return "";
}

std::string Mutator::verify(ModuleOp module) {
  if (failed(mlir::verify(module)))
    return "an op's verifier";
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createSPVerifyLayouts());
  if (failed(pm.run(module)))
    return "sp-verify-layouts";
  if (failed(verifyCollectives(getFunction(module))))
    return "sp-verify-collectives";
  return "";
}

Outcome Mutator::judge(ModuleOp module, std::string &why) {
  std::string diagnostic;
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &d) {
    if (diagnostic.empty())
      diagnostic = d.str();
    return success();
  });
  bool isLocalised = getFunction(module)->hasAttr(kCollectivesAttr);
  why = isLocalised ? "" : infer(module);
  if (why.empty())
    why = verify(module);
  if (!why.empty())
    return Outcome::Rejected;
  auto results = run(module);
  if (!results) {
    why = llvm::toString(results.takeError());
    return Outcome::Rejected;
  }
  for (auto [got, want] : llvm::zip_equal(*results, expected)) {
    double difference = measureDifference(got, want, CompareMode::Scaled);
    if (!(difference <= 1e-9)) {
      why = llvm::formatv("results differ by {0}", difference);
      return Outcome::Undetected;
    }
  }
  return Outcome::Equal;
}

void Mutator::attempt(unsigned number, StringRef what, Mutation mutation) {
  OwningOpRef<ModuleOp> mutant = program.clone();
  Operation *op = listOps(*mutant)[number];
  std::string name = op->getName().getStringRef().str();
  if (auto collective = dyn_cast<CollectiveOp>(op))
    name += " " + stringifyCollectiveKind(collective.getKind()).str();
  if (op->hasAttr("sp.sync_of"))
    name += " (gradient sync)";
  if (!mutation(op))
    return;
  std::string why;
  Outcome outcome = judge(*mutant, why);
  scores[name + ", " + what.str()].add(outcome);
  if (outcome != Outcome::Rejected)
    llvm::outs() << (outcome == Outcome::Equal ? "equal in value: "
                                               : "UNDETECTED: ")
                 << what << " of " << name << " #" << number
                 << (why.empty() ? "" : ": ") << why << "\n";
}

void Mutator::mutateLayoutChanges() {
  SmallVector<Operation *> ops = listOps(program);
  for (auto [number, op] : llvm::enumerate(ops)) {
    StringRef own = op->getName().getStringRef();
    AxisLayout to = getAxisLayout(op->getResult(0).getType(), axis);

    attempt(number, "delete", [&](Operation *victim) {
      victim->getResult(0).replaceAllUsesWith(victim->getOperand(0));
      victim->erase();
      return true;
    });
    attempt(number, "duplicate", [&](Operation *victim) {
      // No type is legal for the second one if none is listed: it keeps the
      // first one's, and the op's verifier has its say.
      Change change{own, to};
      for (const Change &other :
           listChanges(tensorType(victim->getResult(0)), axis, size))
        if (other.op == own)
          change = other;
      OpBuilder builder(victim->getContext());
      builder.setInsertionPointAfter(victim);
      Operation *second = createChange(builder, victim->getLoc(),
                                       victim->getResult(0), change, axis);
      victim->getResult(0).replaceAllUsesExcept(second->getResult(0), second);
      return true;
    });
    for (const Change &change :
         listChanges(tensorType(op->getOperand(0)), axis, size)) {
      if (change.op == own && change.to == to)
        continue;
      attempt(
          number, change.op == own ? "retype" : "swap", [&](Operation *victim) {
            OpBuilder builder(victim);
            Operation *other = createChange(
                builder, victim->getLoc(), victim->getOperand(0), change, axis);
            victim->replaceAllUsesWith(other);
            victim->erase();
            return true;
          });
    }
    for (const Change &change :
         listChanges(tensorType(op->getResult(0)), axis, size))
      for (unsigned use = 0, e = llvm::range_size(op->getUses()); use < e;
           ++use)
        attempt(number, "insert behind", [&](Operation *victim) {
          OpOperand &operand = *std::next(victim->use_begin(), use);
          OpBuilder builder(operand.getOwner());
          operand.set(createChange(builder, victim->getLoc(),
                                   victim->getResult(0), change, axis)
                          ->getResult(0));
          return true;
        });
    for (const Change &change :
         listChanges(tensorType(op->getOperand(0)), axis, size))
      attempt(number, "insert before", [&](Operation *victim) {
        OpBuilder builder(victim);
        victim->setOperand(0, createChange(builder, victim->getLoc(),
                                           victim->getOperand(0), change, axis)
                                  ->getResult(0));
        return true;
      });
  }
}

void Mutator::mutateCollectives() {
  SmallVector<Operation *> ops = listOps(program);
  for (unsigned number = 0, e = ops.size(); number < e; ++number) {
    attempt(number, "delete", [&](Operation *victim) {
      if (victim->getOperand(0).getType() != victim->getResult(0).getType())
        return false;
      victim->getResult(0).replaceAllUsesWith(victim->getOperand(0));
      victim->erase();
      return true;
    });
    attempt(number, "duplicate", [&](Operation *victim) {
      if (victim->getOperand(0).getType() != victim->getResult(0).getType())
        return false;
      OpBuilder builder(victim->getContext());
      builder.setInsertionPointAfter(victim);
      Operation *second = builder.clone(*victim);
      second->setOperand(0, victim->getResult(0));
      victim->getResult(0).replaceAllUsesExcept(second->getResult(0), second);
      return true;
    });
    attempt(number, "move before the one before", [&](Operation *victim) {
      SmallVector<Operation *> all =
          listOps(victim->getParentOfType<ModuleOp>());
      if (number == 0)
        return false;
      Operation *definition = victim->getOperand(0).getDefiningOp();
      if (definition && !definition->isBeforeInBlock(all[number - 1]))
        return false;
      victim->moveBefore(all[number - 1]);
      return true;
    });
    for (unsigned other = number + 1; other < e; ++other) {
      if (ops[other]->getOperand(0).getType() !=
          ops[number]->getOperand(0).getType())
        continue;
      attempt(number, "read what a later one reads", [&](Operation *victim) {
        SmallVector<Operation *> all =
            listOps(victim->getParentOfType<ModuleOp>());
        Value mine = victim->getOperand(0);
        Value theirs = all[other]->getOperand(0);
        Operation *definition = theirs.getDefiningOp();
        if (mine == theirs ||
            (definition && !definition->isBeforeInBlock(victim)))
          return false;
        victim->setOperand(0, theirs);
        all[other]->setOperand(0, mine);
        return true;
      });
      attempt(number, "be read in place of a later one",
              [&](Operation *victim) {
                SmallVector<Operation *> all =
                    listOps(victim->getParentOfType<ModuleOp>());
                Value mine = victim->getResult(0);
                Value theirs = all[other]->getResult(0);
                if (mine.getType() != theirs.getType())
                  return false;
                theirs.replaceAllUsesWith(mine);
                return true;
              });
    }
    auto type = tensorType(ops[number]->getResult(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      attempt(number, "another dimension", [&](Operation *victim) {
        auto own = victim->getAttrOfType<IntegerAttr>("dim");
        if (!own || own.getInt() == dim)
          return false;
        victim->setAttr("dim", Builder(victim).getI64IntegerAttr(dim));
        return true;
      });
  }
}

bool Mutator::print() {
  Score all;
  llvm::outs() << "                                                       "
                  "mutants rejected    equal undetected\n";
  for (auto &[name, score] : scores) {
    llvm::outs() << llvm::left_justify(name, 54)
                 << llvm::format("%8d %8d %8d %10d\n", int(score.total),
                                 int(score.rejected), int(score.equal),
                                 int(score.undetected));
    all.total += score.total;
    all.rejected += score.rejected;
    all.equal += score.equal;
    all.undetected += score.undetected;
  }
  llvm::outs() << all.total << " mutants: " << all.rejected << " rejected, "
               << all.equal << " equal in value, " << all.undetected
               << " undetected\n";
  return all.undetected == 0 && all.total > 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CommandLine commandLine(argc, argv, usage, {"batch"}, 1);
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
  Mutator mutator(*module, commandLine.require("batch").str());
  if (!mutator.prepare())
    return Failure;
  bool isLocalised =
      (*module->getOps<func::FuncOp>().begin())->hasAttr(kCollectivesAttr);
  if (isLocalised)
    mutator.mutateCollectives();
  else
    mutator.mutateLayoutChanges();
  return mutator.print() ? Success : Failure;
}
