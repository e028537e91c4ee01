//===- PageData.cpp - the page's numbers as JSON --------------------------===//

#include "Sections.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace sp;
namespace json = llvm::json;

static std::string fix(llvm::StringRef text) { return json::fixUTF8(text); }

static json::Object describeTotals(const ProgramReport &program) {
  json::Object totals;
  for (llvm::StringRef kind : kCollectiveKinds) {
    CollectiveSum sum;
    for (const CollectiveLine &line : program.collectives)
      if (line.kind == kind)
        sum += {1, line.bytes};
    totals[kind] = json::Object{{"count", sum.count}, {"bytes", sum.bytes}};
  }
  return totals;
}

static json::Array describeCollectives(const ProgramReport &program) {
  json::Array lines;
  for (const CollectiveLine &line : program.collectives)
    lines.push_back(json::Object{{"kind", line.kind},
                                 {"axis", fix(line.axis)},
                                 {"layout", line.change},
                                 {"bytes", line.bytes},
                                 {"phase", stringify(line.phase)},
                                 {"at", fix(line.at)},
                                 {"module", fix(line.module)},
                                 {"why", fix(line.why)}});
  return lines;
}

static json::Object describeMemory(const MemoryReport &memory) {
  json::Array live, gradients, ops, phases, values;
  for (const MemoryStep &step : memory.steps) {
    live.push_back(step.liveBytes);
    gradients.push_back(step.gradientBytes);
    ops.push_back(fix(step.op + " " + step.module));
    phases.push_back(stringify(step.phase));
  }
  for (const MemoryUse &use : memory.atPeak)
    values.push_back(json::Object{{"op", fix(use.op)},
                                  {"module", fix(use.module)},
                                  {"layout", fix(use.layout)},
                                  {"gradient", use.isGradient},
                                  {"bytes", use.bytes},
                                  {"from_step", int64_t(use.begin)},
                                  {"to_step", int64_t(use.end)}});
  return json::Object{{"arena_bytes_planned", memory.arenaBytes},
                      {"activation_bytes", memory.activationBytes},
                      {"saved_activation_bytes", memory.savedBytes},
                      {"parameter_bytes", memory.parameterBytes},
                      {"state_bytes", memory.stateBytes},
                      {"live_bytes", std::move(live)},
                      {"gradient_bytes", std::move(gradients)},
                      {"ops", std::move(ops)},
                      {"phases", std::move(phases)},
                      {"peak", json::Object{{"step", int64_t(memory.peakStep)},
                                            {"bytes", memory.peakBytes},
                                            {"values", std::move(values)}}}};
}

static json::Object describe(const ProgramReport &program) {
  json::Array gradients, remarks;
  for (const GradientLine &line : program.gradients)
    gradients.push_back(json::Object{{"parameter", fix(line.parameter)},
                                     {"layout", fix(line.layout)},
                                     {"sync", fix(line.sum)},
                                     {"why", fix(line.why)}});
  for (const std::string &remark : program.remarks)
    remarks.push_back(fix(remark));
  return json::Object{{"ranks", program.numRanks},
                      {"totals", describeTotals(program)},
                      {"collectives", describeCollectives(program)},
                      {"memory", describeMemory(program.memory)},
                      {"gradient_sync", std::move(gradients)},
                      {"remarks", std::move(remarks)}};
}

std::string sp::renderData(const PageHeader &header,
                           llvm::ArrayRef<ProgramReport> programs) {
  json::Object all;
  for (const ProgramReport &program : programs)
    all[program.title] = describe(program);
  json::Object root{{"model", fix(header.model)},
                    {"mesh", fix(header.mesh)},
                    {"dtype", header.dtype},
                    {"batch_size", header.batchSize},
                    {"seq_len", header.seqLen},
                    {"hidden_size", header.hiddenSize},
                    {"layers", header.numLayers},
                    {"unit_bytes", header.getUnit(programs.front().numRanks)},
                    {"programs", std::move(all)}};
  std::string text = llvm::formatv("{0}", json::Value(std::move(root)));
  // Nothing in it may end the element, or begin a comment, of the page.
  std::string escaped;
  for (char c : text)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}
