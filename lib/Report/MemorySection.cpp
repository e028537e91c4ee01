//===- MemorySection.cpp - what a rank's memory holds, and when -----------===//

#include "Sections.h"
#include "Text.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

/// Rows of one number for every program.
static void renderSizes(llvm::ArrayRef<ProgramReport> programs,
                        llvm::raw_ostream &os) {
  os << "<table id='sizes'><caption>Memory of one rank</caption><thead><tr><th "
        "scope='col'></th>";
  for (const ProgramReport &program : programs)
    os << "<th scope='col' class='n'>" << program.title << "</th>";
  if (programs.size() == 2)
    os << "<th scope='col' class='n'>change</th>";
  os << "</tr></thead><tbody>\n";
  auto row = [&](StringRef name, auto get) {
    os << "<tr><th scope='row'>" << name << "</th>";
    for (const ProgramReport &program : programs)
      os << "<td class='n'>" << formatBytes(get(program.memory)) << "</td>";
    if (programs.size() == 2)
      os << "<td class='n'>"
         << formatChange(get(programs[0].memory), get(programs[1].memory))
         << "</td>";
    os << "</tr>\n";
  };
  row("parameters", [](const MemoryReport &m) { return m.parameterBytes; });
  row("optimizer states", [](const MemoryReport &m) { return m.stateBytes; });
  for (Phase phase : {Phase::Forward, Phase::Backward, Phase::Update})
    row(formatv("most live bytes, {0}", stringify(phase)).str(),
        [&](const MemoryReport &m) {
          int64_t most = 0;
          for (const MemoryStep &step : m.steps)
            if (step.phase == phase)
              most = std::max(most, step.liveBytes);
          return most;
        });
  row("most bytes of activations, without gradients",
      [](const MemoryReport &m) { return m.peakActivationBytes; });
  row("saved for the backward pass",
      [](const MemoryReport &m) { return m.savedBytes; });
  row("arena, as planned", [](const MemoryReport &m) { return m.arenaBytes; });
  row("all values, without reuse of memory",
      [](const MemoryReport &m) { return m.activationBytes; });
  os << "</tbody></table>\n";
}

/// Values of the same op in other layers count as one.
static void renderPeak(const ProgramReport &program, llvm::raw_ostream &os) {
  const MemoryReport &memory = program.memory;
  if (memory.steps.empty())
    return;
  const MemoryStep &peak = memory.steps[memory.peakStep];
  os << formatv(
      "<div class='wide'><table><caption>{0}: {1}, {7} of it gradients, live "
      "at step {2} of {3}, {4} <code>{5}</code> {6}</caption><thead><tr><th "
      "scope='col'>made by</th><th scope='col'>is</th><th "
      "scope='col'>layout</th><th "
      "scope='col' class='n'>values</th><th scope='col' "
      "class='n'>bytes</th><th scope='col' class='n'>share</th>"
      "</tr></thead><tbody>\n",
      escapeHTML(program.title), formatBytes(memory.peakBytes),
      memory.peakStep + 1, memory.steps.size(), stringify(peak.phase),
      escapeHTML(peak.op), escapeHTML(peak.module),
      formatBytes(peak.gradientBytes));
  using Key = std::tuple<std::string, std::string, std::string, bool>;
  std::map<Key, std::pair<CollectiveSum, Holding>> groups;
  for (const MemoryUse &use : memory.atPeak) {
    auto &[sum, holding] =
        groups[{use.op, getPattern(use.module), use.layout, use.isGradient}];
    sum += {1, use.bytes};
    holding = use.holding;
  }
  using Entry = std::pair<Key, std::pair<CollectiveSum, Holding>>;
  std::vector<Entry> sorted(groups.begin(), groups.end());
  llvm::stable_sort(sorted, [](const Entry &a, const Entry &b) {
    return a.second.first.bytes > b.second.first.bytes;
  });
  for (auto &[key, value] : sorted) {
    auto &[op, module, layout, isGradient] = key;
    auto &[sum, holding] = value;
    std::string glyph;
    llvm::raw_string_ostream glyphStream(glyph);
    double width =
        renderGlyph(holding, program.numRanks, 0.5, 0.5, glyphStream);
    double share = 100.0 * sum.bytes / std::max<int64_t>(memory.peakBytes, 1);
    os << formatv(
        "<tr><th scope='row'><code>{0}</code> {1}</th><td>{9}</td><td><svg "
        "class='gl' "
        "aria-hidden='true' width='{2}' height='14'>{3}</svg> {4} <span "
        "class='none'>{5}</span></td><td class='n'>{6}</td><td "
        "class='n'>{7}</td><td class='n'>{8:f1} %</td></tr>\n",
        escapeHTML(op), escapeHTML(module), width + 1, glyph,
        layout.empty() ? "" : stringify(holding), escapeHTML(layout), sum.count,
        formatBytes(sum.bytes), share, isGradient ? "gradient" : "activation");
  }
  os << "</tbody></table></div>\n";
}

void sp::renderMemorySection(llvm::ArrayRef<ProgramReport> programs,
                             llvm::raw_ostream &os) {
  os << "<section id='memory'><h2>Memory over the schedule</h2>\n"
        "<p>Activations and gradients lie in one arena per rank, with places "
        "that are planned before anything runs. The curve is what is in use "
        "at each step: activations pile up while the forward pass keeps values "
        "for the backward pass, which uses them up while gradients pile up "
        "until the optimizer takes them. Point at the curve for the step. "
        "Numbers at the bottom are layers.</p>\n";
  renderMemoryChart(programs, os);
  renderSizes(programs, os);
  os << "<h3>What occupies the peak</h3>\n";
  for (const ProgramReport &program : programs)
    renderPeak(program, os);
  os << "</section>\n";
}
