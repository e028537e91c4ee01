//===- sp-test-compare.cpp - Compares two safetensors files ---------------===//

#include "CommandLine.h"
#include "Difference.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <set>

using namespace sp;
using namespace sp::test;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-compare A.safetensors B.safetensors [options]\n"
    "Compares the tensors of A with the reference B. Exits with 1 if one is\n"
    "beyond the tolerance, missing in either file, of another shape or NaN, "
    "or\n"
    "if there was nothing to compare.\n"
    "  --mode=scaled|rel|direction|norm|bitwise\n"
    "                             max|a-b|/max|b| per tensor (the default),\n"
    "                             max(|a-b|/|b|), 1 - cosine of the angle,\n"
    "                             ||a|/|b| - 1|, or equal type and bytes\n"
    "  --tolerance=X              the largest difference that passes; needed\n"
    "                             unless the mode is bitwise\n"
    "  --rename=a=b,...           tensor a of A goes by the name b\n"
    "  --names=x,y*,...           only these names of B; * matches anything\n";

namespace {
struct Options {
  CompareMode mode;
  double tolerance = 0;
  std::map<std::string, std::string> rename;
  std::vector<llvm::GlobPattern> patterns;
  std::vector<std::string> patternTexts;
};
} // namespace

static Options parseOptions(const CommandLine &commandLine) {
  Options options;
  auto mode = llvm::StringSwitch<std::optional<CompareMode>>(
                  commandLine.get("mode", "scaled"))
                  .Case("scaled", CompareMode::Scaled)
                  .Case("rel", CompareMode::Relative)
                  .Case("direction", CompareMode::Direction)
                  .Case("norm", CompareMode::Norm)
                  .Case("bitwise", CompareMode::Bitwise)
                  .Default(std::nullopt);
  if (!mode)
    commandLine.fail("--mode must be scaled, rel, direction, norm or bitwise");
  options.mode = *mode;

  if (*mode == CompareMode::Bitwise) {
    if (!commandLine.get("tolerance").empty())
      commandLine.fail("--mode=bitwise takes no --tolerance");
  } else if (!llvm::to_float(commandLine.require("tolerance"),
                             options.tolerance) ||
             !(options.tolerance >= 0) || std::isinf(options.tolerance)) {
    commandLine.fail("--tolerance must be a number >= 0");
  }

  llvm::SmallVector<StringRef> items;
  commandLine.get("rename").split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [from, to] = item.split('=');
    if (from.empty() || to.empty())
      commandLine.fail("--rename needs a=b, got `" + item + "`");
    options.rename[from.str()] = to.str();
  }

  items.clear();
  commandLine.get("names", "*").split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(item);
    if (!pattern)
      commandLine.fail("--names: " + llvm::toString(pattern.takeError()));
    options.patterns.push_back(std::move(*pattern));
    options.patternTexts.push_back(item.str());
  }
  return options;
}

/// A's tensors by the names they are compared under.
static Expected<std::map<std::string, Tensor>>
renameTensors(const SafetensorsFile &file, const Options &options) {
  for (auto &[from, to] : options.rename)
    if (!file.find(from))
      return file.get(from).takeError();
  std::map<std::string, Tensor> result;
  for (const TensorInfo &info : file.tensors()) {
    auto it = options.rename.find(info.name);
    const std::string &name =
        it == options.rename.end() ? info.name : it->second;
    if (!result.try_emplace(name, *file.find(info.name)).second)
      return llvm::createStringError(
          file.path() + ": two tensors go by the name `" + name + "`");
  }
  return result;
}

/// The names in either file that match a pattern: one that only A has is as
/// wrong as one that only B has. Every pattern must match something.
static Expected<std::set<std::string>>
selectNames(const std::map<std::string, Tensor> &a, const SafetensorsFile &b,
            const Options &options) {
  std::set<std::string> all, selected;
  for (auto &[name, tensor] : a)
    all.insert(name);
  for (const TensorInfo &info : b.tensors())
    all.insert(info.name);
  for (auto [pattern, text] :
       llvm::zip_equal(options.patterns, options.patternTexts)) {
    bool matched = false;
    for (const std::string &name : all)
      if (pattern.match(name)) {
        matched = true;
        selected.insert(name);
      }
    if (!matched)
      return llvm::createStringError("neither file has a tensor `" + text +
                                     "`");
  }
  return selected;
}

/// Prints the line for one tensor; false if it does not pass.
static bool compareOne(StringRef name, const std::map<std::string, Tensor> &a,
                       const SafetensorsFile &aFile, const SafetensorsFile &b,
                       const Options &options) {
  auto fail = [&](const llvm::Twine &why) {
    llvm::outs() << "FAIL " << name << ": " << why << "\n";
    return false;
  };
  auto it = a.find(name.str());
  if (it == a.end())
    return fail("missing in " + aFile.path());
  std::optional<Tensor> reference = b.find(name);
  if (!reference)
    return fail("missing in " + b.path());
  Expected<double> difference =
      measureDifference(it->second, *reference, options.mode);
  if (!difference)
    return fail(llvm::toString(difference.takeError()));

  bool good = *difference <= options.tolerance;
  llvm::outs() << (good ? "ok   " : "FAIL ") << name << ": ";
  if (options.mode == CompareMode::Bitwise)
    llvm::outs() << llvm::format("%.0f bytes differ", *difference);
  else
    llvm::outs() << llvm::format("%.3e, bound %.3e", *difference,
                                 options.tolerance);
  llvm::outs() << "\n";
  return good;
}

int main(int argc, char **argv) {
  CommandLine commandLine(argc, argv, usage,
                          {"mode", "tolerance", "rename", "names"}, 2);
  Options options = parseOptions(commandLine);
  auto aFile = SafetensorsFile::open(commandLine.positional(0));
  if (!aFile)
    return report(aFile.takeError());
  auto b = SafetensorsFile::open(commandLine.positional(1));
  if (!b)
    return report(b.takeError());
  auto a = renameTensors(**aFile, options);
  if (!a)
    return report(a.takeError());
  auto names = selectNames(*a, **b, options);
  if (!names)
    return report(names.takeError());

  bool good = true;
  int64_t numElements = 0;
  for (const std::string &name : *names) {
    good &= compareOne(name, *a, **aFile, **b, options);
    if (std::optional<Tensor> tensor = (*b)->find(name))
      numElements += tensor->numElements();
  }
  if (numElements == 0)
    return report(llvm::createStringError("nothing was compared"));
  return good ? Success : Failure;
}
