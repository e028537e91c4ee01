//===- Report.cpp - what a run printed and wrote --------------------------===//

#include "Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace sp;

static constexpr StringLiteral kinds[] = {"all_reduce", "reduce_scatter",
                                          "all_gather"};

std::optional<double> Report::getTokensPerSecond() const {
  if (!tokens || run.stepMilliseconds <= 0)
    return std::nullopt;
  return *tokens / (run.stepMilliseconds / 1000);
}

/// The type of the program's floating point arithmetic.
static StringRef getDTypeName(const Program &program) {
  for (const auto *tensors : {&program.arguments, &program.results})
    for (const ProgramTensor &tensor : *tensors)
      switch (tensor.dtype) {
      case DType::F64:
        return "f64";
      case DType::F32:
        return "f32";
      case DType::BF16:
        return "bf16";
      default:
        break;
      }
  return "none";
}

static std::string formatBytes(int64_t bytes) {
  if (bytes < 1024)
    return formatv("{0} B", bytes);
  if (bytes < 1024 * 1024)
    return formatv("{0:f1} KiB", bytes / 1024.0);
  return formatv("{0:f1} MiB", bytes / (1024.0 * 1024.0));
}

/// JSON has no NaN and no infinity.
static json::Value toJSON(double number) {
  return std::isfinite(number) ? json::Value(number) : json::Value(nullptr);
}

void Report::print(raw_ostream &os) const {
  const Program &program = compiled.getProgram();
  auto line = [&](StringRef what) -> raw_ostream & {
    return os << formatv("{0,-12} ", what);
  };
  line("ranks") << program.numRanks();
  for (const ProgramAxis &axis : program.mesh)
    os << " " << axis.name << "=" << axis.size;
  os << ", " << getDTypeName(program) << "\n";
  if (loss)
    line("loss") << formatv("{0}\n", format("%.9g", *loss));
  if (gradNorm)
    line("grad norm") << formatv("{0}\n", format("%.9g", *gradNorm));
  line("time") << formatv("{0:f3} ms", run.stepMilliseconds);
  if (std::optional<double> rate = getTokensPerSecond())
    os << formatv(", {0:f0} tokens/s", *rate);
  os << formatv(" (compiled in {0:f0} ms)\n",
                compiled.getCompileMilliseconds());
  line("collectives");
  ListSeparator separator;
  for (auto [kind, total] : zip(kinds, run.collectives))
    if (total.count)
      os << separator << total.count << " " << kind << " ("
         << formatBytes(total.bytes) << ")";
  os << (any_of(run.collectives,
                [](const CollectiveTotal &total) { return total.count; })
             ? " per rank\n"
             : "none\n");
  int64_t touched = 0;
  for (int64_t bytes : run.arenaBytesTouched)
    touched = std::max(touched, bytes);
  line("memory") << formatBytes(program.arenaBytes)
                 << " arena per rank planned, " << formatBytes(touched)
                 << " touched; " << formatBytes(program.activationBytes)
                 << " without reuse";
  if (program.savedBytes)
    os << "; " << formatBytes(program.savedBytes)
       << " of activations saved for the backward pass";
  os << "\n";
}

Error Report::writeJSON(StringRef path) const {
  const Program &program = compiled.getProgram();
  json::Object root;
  if (loss)
    root["loss"] = toJSON(*loss);
  if (gradNorm)
    root["grad_norm"] = toJSON(*gradNorm);
  if (!losses.empty()) {
    root["losses"] = json::Array(map_range(losses, toJSON));
    root["grad_norms"] = json::Array(map_range(gradNorms, toJSON));
  }
  if (std::optional<double> rate = getTokensPerSecond())
    root["tokens_per_second"] = *rate;
  root["step_ms"] = run.stepMilliseconds;
  root["compile_ms"] = compiled.getCompileMilliseconds();
  json::Object collectives;
  for (auto [kind, total] : zip(kinds, run.collectives))
    collectives[kind] =
        json::Object{{"count", total.count}, {"bytes", total.bytes}};
  root["collectives"] = std::move(collectives);
  root["arena_bytes"] =
      json::Object{{"planned", program.arenaBytes},
                   {"measured", json::Array(run.arenaBytesTouched)}};
  root["activation_bytes"] = program.activationBytes;
  if (program.savedBytes)
    root["saved_activation_bytes"] = program.savedBytes;
  json::Object mesh;
  for (const ProgramAxis &axis : program.mesh)
    mesh[axis.name] = axis.size;
  root["mesh"] = std::move(mesh);
  root["dtype"] = getDTypeName(program);
  if (sequenceParallel)
    root["sequence_parallel"] = *sequenceParallel;
  return writeFileAtomically(
      path, formatv("{0:2}\n", json::Value(std::move(root))).str());
}
