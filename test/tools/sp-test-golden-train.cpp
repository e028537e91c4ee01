//===- sp-test-golden-train.cpp - Compares gradients and trainings --------===//
//
// The golden data of a model of real size holds a few sums of each gradient and
// of each trained parameter.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Difference.h"
#include "FormulaWeights.h"
#include "GoldenFiles.h"

#include "sp/IO/Block.h"

#include <cmath>

using namespace sp;
using namespace sp::test;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-golden-train GOLDEN_DIR --dtype=f32|f64 "
    "--gradients=RESULT.safetensors\n"
    "       sp-test-golden-train GOLDEN_DIR --dtype=f32|f64 "
    "--run=constant|cosine\n"
    "                            --json=RUN.json "
    "--parameters=RESULT.safetensors\n"
    "Compares `grad.NAME` with golden.json, or a training's losses, gradient\n"
    "norms and final parameters with a run of train.json, within the "
    "tolerances\n"
    "of manifest.json.\n";

namespace {
/// What the golden files hold of a tensor.
struct Sums {
  double sum = 0, l2 = 0, dot = 0;
  int64_t count = 0;
};
} // namespace

static Expected<Sums> measure(const Tensor &tensor, StringRef parameter) {
  auto values = readAsF64(tensor);
  if (!values)
    return values.takeError();
  Sums sums;
  std::string probe = ("probe." + parameter).str();
  for (auto [i, value] : llvm::enumerate(*values)) {
    sums.sum += value;
    sums.l2 += value * value;
    sums.dot += value * formulaUniform(probe, i);
  }
  sums.l2 = std::sqrt(sums.l2);
  sums.count = values->size();
  return sums;
}

static Expected<Sums> readSums(const llvm::json::Value &value, StringRef name) {
  const llvm::json::Object *object = value.getAsObject();
  std::optional<double> sum = object ? object->getNumber("sum") : std::nullopt;
  std::optional<double> l2 = object ? object->getNumber("l2") : std::nullopt;
  std::optional<double> dot = object ? object->getNumber("dot") : std::nullopt;
  if (!sum || !l2 || !dot)
    return llvm::createStringError("the golden file has no sums of " + name);
  return Sums{*sum, *l2, *dot, 0};
}

/// Calls `compare` with each parameter's name, its sums and the golden ones.
static Error
forEachParameter(const SafetensorsFile &file, StringRef prefix,
                 const llvm::json::Object &golden,
                 llvm::function_ref<Error(StringRef, Sums, Sums)> compare) {
  if (golden.empty())
    return llvm::createStringError("nothing to compare");
  for (const auto &[key, value] : golden) {
    std::string name = key.str();
    Expected<Tensor> tensor = file.get((prefix + name).str());
    if (!tensor)
      return tensor.takeError();
    Expected<Sums> actual = measure(*tensor, name);
    if (!actual)
      return actual.takeError();
    Expected<Sums> expected = readSums(value, name);
    if (!expected)
      return expected.takeError();
    if (Error error = compare(name, *actual, *expected))
      return error;
  }
  return Error::success();
}

static Expected<const llvm::json::Object *>
getObject(const llvm::json::Value &value, llvm::ArrayRef<StringRef> keys) {
  const llvm::json::Object *object = value.getAsObject();
  for (StringRef key : keys)
    object = object ? object->getObject(key) : nullptr;
  if (!object)
    return llvm::createStringError("the golden file has no object `" +
                                   keys.back() + "`");
  return object;
}

static Error compareGradients(StringRef folder, StringRef dtype,
                              StringRef result, bool &good) {
  auto file = SafetensorsFile::open(result);
  if (!file)
    return file.takeError();
  auto golden = readJSON(inFolder(folder, "golden.json"));
  if (!golden)
    return golden.takeError();
  auto gradients = getObject(*golden, {"grad"});
  if (!gradients)
    return gradients.takeError();
  std::string manifest = inFolder(folder, "manifest.json");
  auto bound = [&](StringRef key) {
    return readNumber(manifest, {"tolerances", dtype, key});
  };
  return forEachParameter(
      **file, "grad.", **gradients,
      [&](StringRef name, Sums actual, Sums expected) -> Error {
        if (Error error = check((name + " l2").str(),
                                std::abs(actual.l2 - expected.l2) / expected.l2,
                                bound("grad_l2_rel"), good))
          return error;
        if (Error error =
                check((name + " dot").str(),
                      std::abs(actual.dot - expected.dot) / expected.l2,
                      bound("grad_dot_over_l2"), good))
          return error;
        return check((name + " sum").str(),
                     std::abs(actual.sum - expected.sum) /
                         (expected.l2 * std::sqrt(double(actual.count))),
                     bound("grad_sum_over_l2_root_n"), good);
      });
}

/// The largest |a - b| / max(1, |b|) over the steps.
static Expected<double> compareSeries(const llvm::json::Object &actual,
                                      StringRef actualKey,
                                      const llvm::json::Object &expected,
                                      StringRef expectedKey) {
  const llvm::json::Array *a = actual.getArray(actualKey);
  const llvm::json::Array *b = expected.getArray(expectedKey);
  if (!a || !b || a->size() != b->size() || a->empty())
    return llvm::createStringError("`" + actualKey + "` and `" + expectedKey +
                                   "` are not series of equal length");
  double worst = 0;
  for (auto [x, y] : llvm::zip(*a, *b)) {
    std::optional<double> got = x.getAsNumber(), want = y.getAsNumber();
    if (!got || !want)
      return llvm::createStringError("`" + actualKey + "` has no number");
    worst = std::max(worst,
                     std::abs(*got - *want) / std::max(1.0, std::abs(*want)));
  }
  return worst;
}

static Error compareTraining(StringRef folder, StringRef dtype, StringRef run,
                             StringRef json, StringRef parameters, bool &good) {
  auto golden = readJSON(inFolder(folder, "train.json"));
  if (!golden)
    return golden.takeError();
  auto expected = getObject(*golden, {run});
  if (!expected)
    return expected.takeError();
  auto finalParams = getObject(*golden, {run, "final_params"});
  if (!finalParams)
    return finalParams.takeError();
  auto actual = readJSON(json);
  if (!actual)
    return actual.takeError();
  std::string manifest = inFolder(folder, "manifest.json");
  auto bound = [&](StringRef key) {
    return readNumber(manifest, {"tolerances", dtype, key});
  };
  if (Error error = check(
          "losses",
          compareSeries(*actual->getAsObject(), "losses", **expected, "loss"),
          bound("train_loss"), good))
    return error;
  if (Error error = check("gradient norms",
                          compareSeries(*actual->getAsObject(), "grad_norms",
                                        **expected, "grad_norm"),
                          bound("train_grad_norm"), good))
    return error;
  auto file = SafetensorsFile::open(parameters);
  if (!file)
    return file.takeError();
  return forEachParameter(
      **file, "", **finalParams,
      [&](StringRef name, Sums actual, Sums expected) {
        double worst = std::max({std::abs(actual.sum - expected.sum),
                                 std::abs(actual.l2 - expected.l2),
                                 std::abs(actual.dot - expected.dot)}) /
                       expected.l2;
        return check(name, worst, bound("train_params"), good);
      });
}

int main(int argc, char **argv) {
  CommandLine commandLine(argc, argv, usage,
                          {"dtype", "gradients", "run", "json", "parameters"},
                          1);
  StringRef folder = commandLine.positional(0);
  StringRef dtype = commandLine.require("dtype");
  if (dtype != "f32" && dtype != "f64")
    commandLine.fail("--dtype must be f32 or f64");
  bool good = true;
  StringRef gradients = commandLine.get("gradients");
  Error error = gradients.empty()
                    ? compareTraining(folder, dtype, commandLine.require("run"),
                                      commandLine.require("json"),
                                      commandLine.require("parameters"), good)
                    : compareGradients(folder, dtype, gradients, good);
  if (error)
    return report(std::move(error));
  return good ? Success : Failure;
}
