//===- sp-test-fuzz.cpp - Random programs, parallel and whole -------------===//

#include "CommandLine.h"
#include "fuzz/Check.h"
#include "fuzz/Generator.h"
#include "fuzz/Isolation.h"
#include "fuzz/Reduce.h"
#include "fuzz/Tally.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "sp/Init/Init.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <functional>

using namespace mlir;
using namespace sp;
using namespace sp::test;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-fuzz --seeds=FIRST..LAST | --programs=DIR | --print=SEED\n"
    "                    [--forms=N] [--jobs=N] [--keep=DIR]\n"
    "                    [--at-least=FRACTION] "
    "[--sabotage=lost-sum|doubled-sum]\n"
    "Makes random programs (--seeds) or reads unsharded ones (--programs), "
    "runs\n"
    "each whole and differentiated, and compares that with tensor and "
    "sequence\n"
    "parallelism on 2 and 4 ranks, with shared gathers and without, the head\n"
    "sharded or not, sequences padded or not, linears merged or not, cheap "
    "ops\n"
    "recomputed or not, and with sequence parallelism before and after\n"
    "differentiation: all results and gradients, in f64, must differ by at "
    "most\n"
    "1e-9 of the greatest element.\n"
    "Refusals of sizes that do not divide are counted by reason; everything\n"
    "else is a failure: another refusal, an invalid program, a crash, a hang, "
    "a\n"
    "difference, a gradient of a used parameter that vanishes. Exits with 1 "
    "if\n"
    "there is one.\n"
    "  --forms       how many of the ways to make a program parallel are "
    "tried,\n"
    "                other ones for each program (default all)\n"
    "  --jobs        how many programs at a time, in processes of their own\n"
    "                (default 2)\n"
    "  --keep        reduces the programs that fail and writes them there\n"
    "  --at-least    fails, too, if the part of the sequence-parallel runs in\n"
    "                which all-reduces were split is smaller\n"
    "  --sabotage    breaks one sum over ranks in every parallel program, "
    "behind\n"
    "                the verifiers' back: what would be found\n"
    "  --print       prints the program of a seed\n"
    "The long run: sp-test-fuzz --seeds=1..2000 --jobs=$(nproc) "
    "--keep=failures\n";

/// Generous: many programs may share the processors.
static constexpr unsigned kTimeoutSeconds = 300;

namespace {

/// A program by its number.
using Loader =
    std::function<OwningOpRef<ModuleOp>(MLIRContext &context, int64_t number)>;

class Fuzzer {
public:
  Fuzzer(Loader load, std::function<std::string(int64_t)> name,
         int64_t numForms, Sabotage sabotage)
      : load(std::move(load)), name(std::move(name)), numForms(numForms),
        sabotage(sabotage) {
    registerAllDialects(registry);
  }

  /// Checks all programs; gives the numbers of those that fail.
  SmallVector<int64_t> checkAll(int64_t count, int64_t jobs, Tally &tally);
  /// Reduces one that fails, for its first form that does.
  void keep(int64_t number, StringRef folder);

private:
  SmallVector<Form> selectForms(int64_t number);
  /// Of the program itself and of its forms.
  SmallVector<Outcome> check(ModuleOp program, ArrayRef<Form> forms);
  /// Of one form, or, if it is null, of the program itself; in a process of its
  /// own.
  Outcome checkIsolated(ModuleOp program, const Form *form);

  Loader load;
  std::function<std::string(int64_t)> name;
  int64_t numForms;
  Sabotage sabotage;
  DialectRegistry registry;
};

} // namespace

SmallVector<Form> Fuzzer::selectForms(int64_t number) {
  ArrayRef<Form> all = listForms();
  SmallVector<Form> forms;
  for (int64_t i = 0; i < numForms; ++i)
    forms.push_back(all[(number * numForms + i) % all.size()]);
  return forms;
}

SmallVector<Outcome> Fuzzer::check(ModuleOp program, ArrayRef<Form> forms) {
  Reference reference(program);
  SmallVector<Outcome> outcomes = {reference.getOutcome()};
  if (outcomes.front().verdict != Verdict::Fails)
    for (const Form &form : forms)
      outcomes.push_back(reference.check(form, sabotage));
  return outcomes;
}

static std::string describe(const Outcome &outcome) {
  return outcome.kind + (outcome.detail.empty() ? "" : ": ") + outcome.detail;
}

/// What a child process found; that it died, otherwise.
static std::vector<Outcome> readOutcomes(const IsolatedResult &result) {
  if (!result.death.empty())
    return {Outcome::fail("dies: " + result.death)};
  return llvm::cantFail(llvm::json::parse<std::vector<Outcome>>(result.output));
}

static std::string writeOutcomes(ArrayRef<Outcome> outcomes) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::Array(outcomes)));
}

SmallVector<int64_t> Fuzzer::checkAll(int64_t count, int64_t jobs,
                                      Tally &tally) {
  SmallVector<int64_t> failing;
  auto work = [&](int64_t number) {
    llvm::PrettyStackTraceString trace(name(number).c_str());
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> program = load(context, number);
    SmallVector<Outcome> outcomes = {Outcome::fail("the program is not valid")};
    if (program)
      outcomes = check(*program, selectForms(number));
    return writeOutcomes(outcomes);
  };
  auto done = [&](int64_t number, IsolatedResult result) {
    std::vector<Outcome> outcomes = readOutcomes(result);
    tally.addProgram();
    // Of each kind of failure the first form is named.
    std::map<std::string, std::pair<std::string, int64_t>> failures;
    auto add = [&](StringRef form, const Outcome &outcome) {
      if (outcome.verdict != Verdict::Fails)
        return;
      std::string first = form.str() + ": " + describe(outcome);
      ++failures.try_emplace(outcome.kind, first, 0).first->second.second;
    };
    add("", outcomes.front());
    if (outcomes.front().verdict == Verdict::Fails)
      tally.addFailure(outcomes.front());
    for (auto [form, outcome] :
         llvm::zip(selectForms(number), llvm::drop_begin(outcomes))) {
      add(", " + form.str(), outcome);
      tally.add(form, outcome);
    }
    for (auto &[kind, failure] : failures) {
      llvm::outs() << name(number) << failure.first;
      if (failure.second > 1)
        llvm::outs() << " (and in " << failure.second - 1 << " other forms)";
      llvm::outs() << "\n";
    }
    if (failures.empty())
      return;
    failing.push_back(number);
    llvm::outs().flush();
  };
  forEachIsolated(count, jobs, kTimeoutSeconds, work, done);
  llvm::sort(failing);
  return failing;
}

Outcome Fuzzer::checkIsolated(ModuleOp program, const Form *form) {
  Outcome outcome;
  forEachIsolated(
      1, 1, kTimeoutSeconds,
      [&](int64_t) {
        Reference reference(program);
        Outcome result = reference.getOutcome();
        if (form && result.verdict != Verdict::Fails)
          result = reference.check(*form, sabotage);
        return writeOutcomes(result);
      },
      [&](int64_t, IsolatedResult result) {
        outcome = readOutcomes(result).front();
      });
  return outcome;
}

void Fuzzer::keep(int64_t number, StringRef folder) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> program = load(context, number);
  if (!program)
    return;
  const Form *failing = nullptr;
  Outcome outcome = checkIsolated(*program, nullptr);
  if (outcome.verdict != Verdict::Fails)
    for (const Form &form : listForms()) {
      failing = &form;
      outcome = checkIsolated(*program, failing);
      if (outcome.verdict == Verdict::Fails)
        break;
    }
  OwningOpRef<ModuleOp> reduced =
      reduceProgram(*program, [&](ModuleOp smaller) {
        Outcome now = checkIsolated(smaller, failing);
        return now.verdict == Verdict::Fails && now.kind == outcome.kind;
      });
  outcome = checkIsolated(*reduced, failing);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// " << name(number);
  if (failing)
    os << ", " << failing->str();
  os << "\n// " << describe(outcome) << "\n";
  reduced->print(os);
  llvm::outs() << text;
  std::string path =
      (folder + "/" + llvm::sys::path::stem(name(number)) + ".mlir").str();
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << text;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static int64_t toNumber(const CommandLine &commandLine, StringRef text) {
  int64_t number;
  if (text.getAsInteger(10, number) || number < 0)
    commandLine.fail("`" + text + "` is not a number");
  return number;
}

static Sabotage toSabotage(const CommandLine &commandLine) {
  StringRef kind = commandLine.get("sabotage");
  if (kind.empty())
    return Sabotage::None;
  if (kind == "lost-sum")
    return Sabotage::LostSum;
  if (kind == "doubled-sum")
    return Sabotage::DoubledSum;
  commandLine.fail("`" + kind + "` is no sabotage");
}

static std::vector<std::string> listPrograms(const CommandLine &commandLine,
                                             StringRef folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".mlir")
      paths.push_back(it->path());
  if (error)
    commandLine.fail("cannot read `" + folder + "`: " + error.message());
  llvm::sort(paths);
  return paths;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CommandLine commandLine(argc, argv, usage,
                          {"seeds", "programs", "print", "forms", "jobs",
                           "keep", "at-least", "sabotage"},
                          0);
  if (StringRef seed = commandLine.get("print"); !seed.empty()) {
    MLIRContext context;
    auto program = generateProgram(context, toNumber(commandLine, seed));
    if (!program)
      return Failure;
    program->print(llvm::outs());
    return Success;
  }

  int64_t first = 0, count = 0;
  std::vector<std::string> paths;
  Loader load;
  std::function<std::string(int64_t)> name;
  if (StringRef seeds = commandLine.get("seeds"); !seeds.empty()) {
    auto [from, to] = seeds.split("..");
    first = toNumber(commandLine, from);
    count = toNumber(commandLine, to) - first + 1;
    load = [=](MLIRContext &context, int64_t number) {
      return generateProgram(context, first + number);
    };
    name = [=](int64_t number) {
      return "seed-" + std::to_string(first + number);
    };
  } else {
    paths = listPrograms(commandLine, commandLine.require("programs"));
    count = paths.size();
    load = [&](MLIRContext &context, int64_t number) {
      return parseSourceFile<ModuleOp>(paths[number], &context);
    };
    name = [&](int64_t number) { return paths[number]; };
  }
  if (count < 1)
    commandLine.fail("there are no programs");
  double atLeast = 0;
  if (commandLine.get("at-least", "0").getAsDouble(atLeast))
    commandLine.fail("--at-least needs a number");

  int64_t numForms =
      toNumber(commandLine,
               commandLine.get("forms", std::to_string(listForms().size())));
  if (numForms > static_cast<int64_t>(listForms().size()))
    commandLine.fail("there are " + Twine(listForms().size()) + " forms");
  Fuzzer fuzzer(load, name, numForms, toSabotage(commandLine));
  Tally tally;
  SmallVector<int64_t> failing = fuzzer.checkAll(
      count, toNumber(commandLine, commandLine.get("jobs", "2")), tally);
  if (StringRef folder = commandLine.get("keep"); !folder.empty()) {
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      commandLine.fail("cannot create `" + folder + "`: " + error.message());
    for (int64_t number : failing)
      fuzzer.keep(number, folder);
  }
  tally.print(llvm::outs());
  if (tally.getSplitFraction() < atLeast)
    llvm::outs() << "too few runs split all-reduces: less than " << atLeast
                 << " of them\n";
  return failing.empty() && tally.getSplitFraction() >= atLeast ? Success
                                                                : Failure;
}
