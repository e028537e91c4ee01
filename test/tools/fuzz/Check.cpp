//===- Check.cpp - A program's forms against the whole program ------------===//

#include "Check.h"
#include "Difference.h"

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
      !map.map("sabotaged", outcome.isSabotaged))
    return false;
  outcome.verdict = static_cast<Verdict>(verdict);
  return true;
}

/// Runs a program with gradients; a failure if that is not possible.
static Outcome run(ModuleOp module, Results &results) {
  std::string diagnostic;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    if (diagnostic.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      diagnostic = d.str();
    return success();
  });
  auto got = runProgram(module);
  if (got) {
    results = std::move(*got);
    return {};
  }
  std::string message = llvm::toString(got.takeError());
  if (!diagnostic.empty())
    message += ": " + diagnostic;
  return Outcome::fail("does not run: " + nameKind(message), message);
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

Reference::Reference(ModuleOp program) : program(program) {
  OwningOpRef<ModuleOp> whole = program.clone();
  Coverage none;
  if (auto error = applyForm(*whole, kWholeForm, none)) {
    outcome = Outcome::fail("no gradients: " + nameKind(error->message),
                            error->message);
    return;
  }
  outcome = run(*whole, expected);
  if (outcome.verdict == Verdict::Fails)
    return;
  double greatest = 0;
  for (auto &[name, values] : expected) {
    double size = findGreatest(values);
    if (std::isinf(size))
      outcome = Outcome::fail("not finite", name);
    if (StringRef(name).starts_with(kGradient))
      greatest = std::max(greatest, size);
  }
  // Of a gradient that is nothing but rounding errors, any would do.
  for (const std::string &name : listUsedParameters(program))
    if (findGreatest(expected[kGradient.str() + name]) <= 1e-12 * greatest)
      outcome = Outcome::fail("a gradient vanishes", name);
}

Outcome Reference::compare(const Results &results) const {
  double worst = 0;
  std::string where;
  for (auto &[name, want] : expected) {
    auto got = results.find(name);
    if (got == results.end())
      return Outcome::fail("a result is missing", name);
    double difference =
        measureDifference(got->second, want, CompareMode::Scaled);
    if (!(difference <= worst)) { // Also NaN.
      worst = difference;
      where = name;
    }
    if (std::isnan(worst))
      break;
  }
  if (!(worst <= kTolerance))
    return Outcome::fail(
        "wrong result", llvm::formatv("`{0}` differs by {1:e3}", where, worst));
  return {};
}

Outcome Reference::check(const Form &form, Sabotage sabotage) const {
  OwningOpRef<ModuleOp> parallel = ModuleOp(program).clone();
  Coverage coverage;
  if (auto error = applyForm(*parallel, form, coverage)) {
    if (!error->isRefusal())
      return Outcome::fail("invalid program: " + nameKind(error->message),
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
  Outcome outcome = run(*parallel, results);
  if (outcome.verdict == Verdict::Agrees)
    outcome = compare(results);
  outcome.coverage = std::move(coverage);
  outcome.isSabotaged = isSabotaged;
  return outcome;
}
