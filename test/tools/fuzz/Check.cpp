//===- Check.cpp - A program's forms against the whole program ------------===//

#include "Check.h"
#include "Generator.h"

#include "mlir/IR/Diagnostics.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace sp;
using namespace sp::test;

static constexpr double kTolerance = 1e-9;
static constexpr llvm::StringLiteral kGradient = "grad.";

Outcome Outcome::fail(StringRef kind, std::string detail) {
  Outcome outcome;
  outcome.verdict = Verdict::Fails;
  outcome.kind = kind.str();
  outcome.detail = std::move(detail);
  return outcome;
}

llvm::json::Value test::toJSON(const Outcome &outcome) {
  llvm::json::Object whole;
  for (auto &[reason, count] : outcome.coverage.whole)
    whole[reason] = count;
  return llvm::json::Object{{"verdict", static_cast<int>(outcome.verdict)},
                            {"kind", outcome.kind},
                            {"detail", outcome.detail},
                            {"linears", outcome.coverage.numLinears},
                            {"whole", std::move(whole)},
                            {"reductions", outcome.coverage.numReductions},
                            {"split", outcome.coverage.numSplit},
                            {"tensors", outcome.numTensors},
                            {"tolerant", outcome.numTolerant},
                            {"sabotaged", outcome.isSabotaged}};
}

bool test::fromJSON(const llvm::json::Value &value, Outcome &outcome,
                    llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  int verdict;
  if (!map || !map.map("verdict", verdict) || !map.map("kind", outcome.kind) ||
      !map.map("detail", outcome.detail) ||
      !map.map("linears", outcome.coverage.numLinears) ||
      !map.map("whole", outcome.coverage.whole) ||
      !map.map("reductions", outcome.coverage.numReductions) ||
      !map.map("split", outcome.coverage.numSplit) ||
      !map.map("tensors", outcome.numTensors) ||
      !map.map("tolerant", outcome.numTolerant) ||
      !map.map("sabotaged", outcome.isSabotaged))
    return false;
  outcome.verdict = static_cast<Verdict>(verdict);
  return true;
}

/// What `run` fails with, in the words of the diagnostics.
static Outcome attempt(MLIRContext *context,
                       llvm::function_ref<llvm::Error()> run) {
  std::string diagnostic;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &d) {
    if (diagnostic.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      diagnostic = d.str();
    return success();
  });
  llvm::Error error = run();
  if (!error)
    return {};
  std::string message = llvm::toString(std::move(error));
  if (!diagnostic.empty())
    message += ": " + diagnostic;
  return Outcome::fail(nameKind(message), message);
}

/// The names of the parameters that the loss is computed from.
static std::vector<std::string> listUsedParameters(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
        name && name.getValue() == "loss")
      worklist.push_back(value);
  std::vector<std::string> names;
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(worklist, op->getOperands());
    else if (auto name = function.getArgAttrOfType<StringAttr>(
                 cast<BlockArgument>(value).getArgNumber(), kParamAttr))
      names.push_back(name.str());
  }
  llvm::sort(names);
  return names;
}

static double findGreatest(ArrayRef<double> values) {
  double greatest = 0;
  for (double value : values)
    greatest =
        std::isfinite(value) ? std::max(greatest, std::fabs(value)) : INFINITY;
  return greatest;
}

/// NaN if there is one.
static double findGreatestDifference(ArrayRef<double> a, ArrayRef<double> b) {
  double greatest = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    double difference = std::fabs(x - y);
    if (!(difference <= greatest) && !std::isnan(greatest))
      greatest = difference;
  }
  return greatest;
}

Reference::Reference(ModuleOp program) : program(program) {
  outcome = prepare();
}

Outcome Reference::prepare() {
  OwningOpRef<ModuleOp> whole = program.clone();
  Coverage none;
  if (auto error = applyForm(*whole, kWholeForm, none))
    return Outcome::fail("no gradients: " + nameKind(error->message),
                         error->message);
  return attempt(program.getContext(), [&]() -> llvm::Error {
    auto runnable = RunnableProgram::compile(*whole);
    if (!runnable)
      return runnable.takeError();
    if (llvm::Error error = prepare(**runnable))
      return error;
    return prepareVanishing(**runnable);
  });
}

llvm::Error Reference::prepare(RunnableProgram &whole) {
  auto results = whole.run();
  if (!results)
    return results.takeError();
  expected = std::move(*results);
  auto nudged = whole.run({/*size=*/1e-15, /*parameter=*/""});
  if (!nudged)
    return nudged.takeError();
  for (auto &[name, values] : expected) {
    if (std::isinf(findGreatest(values)))
      return llvm::createStringError("`" + name + "` is not finite");
    allowed[name] =
        std::max(kTolerance * findGreatest(values),
                 1e3 * findGreatestDifference((*nudged)[name], values));
  }
  return llvm::Error::success();
}

llvm::Error Reference::prepareVanishing(RunnableProgram &whole) {
  double greatest = 0;
  for (auto &[name, values] : expected)
    if (StringRef(name).starts_with(kGradient))
      greatest = std::max(greatest, findGreatest(values));
  for (const std::string &name : listUsedParameters(program)) {
    if (findGreatest(expected[kGradient.str() + name]) > 1e-12 * greatest)
      continue;
    // Such as what is added to all keys of an attention.
    double losses[2];
    for (int i : {0, 1}) {
      auto results = whole.run({i == 0 ? 1e-4 : -1e-4, name});
      if (!results)
        return results.takeError();
      losses[i] = (*results)["loss"].front();
    }
    if (std::fabs(losses[0] - losses[1]) > 1e-11 * (1 + std::fabs(losses[0])))
      return llvm::createStringError("the gradient of `" + name +
                                     "` vanishes, but the loss depends on it");
    double &difference = allowed[kGradient.str() + name];
    difference = std::max(difference, kTolerance * greatest);
  }
  return llvm::Error::success();
}

Outcome Reference::compare(const Results &results) const {
  Outcome outcome;
  double worst = 0;
  for (auto &[name, want] : expected) {
    auto got = results.find(name);
    if (got == results.end())
      return Outcome::fail("a result is missing", name);
    double difference = findGreatestDifference(got->second, want);
    double scale = findGreatest(want), limit = allowed.find(name)->second;
    ++outcome.numTensors;
    outcome.numTolerant += limit > kTolerance * scale;
    if (difference <= limit) // Not if it is NaN.
      continue;
    double relative = difference / scale;
    if (outcome.verdict != Verdict::Fails || !(relative <= worst)) {
      worst = relative;
      outcome.verdict = Verdict::Fails;
      outcome.kind = "wrong result";
      outcome.detail = llvm::formatv("`{0}` differs by {1:e3}", name, relative);
    }
  }
  return outcome;
}

Outcome Reference::check(const Form &form, Sabotage sabotage) const {
  OwningOpRef<ModuleOp> parallel = ModuleOp(program).clone();
  Coverage coverage;
  if (auto error = applyForm(*parallel, form, coverage)) {
    if (!error->isRefusal())
      return Outcome::fail("invalid program: " + nameKind(error->message),
                           error->pass + ": " + error->message);
    auto function = *ModuleOp(program).getOps<func::FuncOp>().begin();
    if (function->hasAttr(kDividesAttr))
      return Outcome::fail("refused, but divides: " + nameKind(error->message),
                           error->pass + ": " + error->message);
    Outcome outcome;
    outcome.verdict = Verdict::Refused;
    outcome.kind = nameKind(error->message);
    outcome.detail = error->message;
    return outcome;
  }
  bool isSabotaged =
      sabotage != Sabotage::None && test::sabotage(*parallel, sabotage);
  Results results;
  Outcome outcome = attempt(parallel->getContext(), [&]() -> llvm::Error {
    auto runnable = RunnableProgram::compile(*parallel);
    if (!runnable)
      return runnable.takeError();
    return (*runnable)->run().moveInto(results);
  });
  if (outcome.verdict == Verdict::Agrees)
    outcome = compare(results);
  outcome.coverage = std::move(coverage);
  outcome.isSabotaged = isSabotaged;
  return outcome;
}
