//===- MemoryChart.cpp - live bytes over the schedule ---------------------===//
//
// The plot stretches with the page; its labels are HTML beside it, so that they
// keep their size. The programs have different numbers of steps, so each one's
// steps are spread over the stretch of the same phase and layer.
//
//===----------------------------------------------------------------------===//

#include "Sections.h"
#include "Text.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

namespace {
/// Successive steps of one phase, in or outside one layer.
struct Stretch {
  Phase phase;
  std::string layer;
  size_t begin, end;

  bool isLike(const Stretch &other) const {
    return phase == other.phase && layer == other.layer;
  }
};

class Chart {
public:
  Chart(llvm::ArrayRef<ProgramReport> programs, llvm::raw_ostream &os)
      : programs(programs), os(os) {
    divide();
  }
  void draw();

private:
  void divide();
  void drawBands();
  void drawProgram(size_t number);
  void drawLabels();
  double getX(size_t program, size_t step) const;
  double getY(int64_t bytes) const { return 100 - 100.0 * bytes / highest; }

  llvm::ArrayRef<ProgramReport> programs;
  llvm::raw_ostream &os;
  /// Per program, alike in number and kind.
  std::vector<std::vector<Stretch>> stretches;
  /// Where each stretch begins, from 0 to 100; and the end.
  std::vector<double> borders;
  int64_t highest = 1, tick = 1;
};
} // namespace

/// The layers may be left out, where programs differ in their order.
static std::vector<Stretch> findStretches(const MemoryReport &memory,
                                          bool useLayers) {
  std::vector<Stretch> stretches;
  for (auto [i, step] : llvm::enumerate(memory.steps)) {
    std::string layer;
    if (useLayers) {
      if (std::optional<Layer> found = getLayer(step.module))
        layer = std::to_string(found->number);
      else if (step.module.empty() && !stretches.empty() &&
               stretches.back().phase == step.phase)
        layer = stretches.back().layer;
    }
    Stretch next{step.phase, layer, i, i + 1};
    if (!stretches.empty() && stretches.back().isLike(next))
      stretches.back().end = i + 1;
    else
      stretches.push_back(next);
  }
  return stretches;
}

void Chart::divide() {
  auto findAll = [&](bool useLayers) {
    stretches.clear();
    for (const ProgramReport &program : programs)
      stretches.push_back(findStretches(program.memory, useLayers));
    return llvm::all_of(stretches, [&](const std::vector<Stretch> &other) {
      return other.size() == stretches.front().size() &&
             llvm::all_of(llvm::zip(other, stretches.front()), [](auto pair) {
               return std::get<0>(pair).isLike(std::get<1>(pair));
             });
    });
  };
  if (!findAll(true) && !findAll(false))
    // Not even the phases agree: each program is one stretch.
    for (std::vector<Stretch> &all : stretches)
      all = {{Phase::Forward, "", 0, all.empty() ? 0 : all.back().end}};
  double total = 0;
  for (size_t i = 0; i < stretches.front().size(); ++i) {
    borders.push_back(total);
    size_t most = 0;
    for (const std::vector<Stretch> &all : stretches)
      most = std::max(most, all[i].end - all[i].begin);
    total += most;
  }
  borders.push_back(total);
  for (double &border : borders)
    border *= 100 / std::max(total, 1.0);
  for (const ProgramReport &program : programs)
    highest = std::max(
        {highest, program.memory.arenaBytes, program.memory.peakBytes});
  while (highest / tick >= 5)
    tick *= 2;
  highest += highest / 20;
}

double Chart::getX(size_t program, size_t step) const {
  for (auto [i, stretch] : llvm::enumerate(stretches[program]))
    if (step < stretch.end)
      return borders[i] + (borders[i + 1] - borders[i]) *
                              (step - stretch.begin) /
                              (stretch.end - stretch.begin);
  return borders.back();
}

void Chart::drawBands() {
  for (auto [i, stretch] : llvm::enumerate(stretches.front())) {
    if (!stretch.layer.empty() && std::stoll(stretch.layer) % 2 == 0)
      os << formatv("<rect class='band' x='{0}' y='0' width='{1}' "
                    "height='100'/>",
                    borders[i], borders[i + 1] - borders[i]);
    bool isBorder = i != 0 && stretch.phase != stretches.front()[i - 1].phase;
    if (isBorder)
      os << formatv("<line class='phase' x1='{0}' x2='{0}' y1='0' y2='100'/>",
                    borders[i]);
  }
  for (int64_t bytes = 0; bytes <= highest; bytes += tick)
    os << formatv("<line class='grid' x1='0' x2='100' y1='{0}' y2='{0}'/>",
                  getY(bytes));
  os << "\n";
}

void Chart::drawProgram(size_t number) {
  const ProgramReport &program = programs[number];
  const MemoryReport &memory = program.memory;
  os << formatv("<line class='arena p{0}' x1='0' x2='100' y1='{1}' y2='{1}'>"
                "<title>{2}: arena of {3} planned</title></line>\n",
                number, getY(memory.arenaBytes), escapeHTML(program.title),
                formatBytes(memory.arenaBytes));
  std::string line, area;
  for (auto [i, step] : llvm::enumerate(memory.steps)) {
    auto add = [&, i = i](std::string &path, int64_t bytes) {
      path += formatv("{0}{1:f3} {2:f3}H{3:f3}", i == 0 ? "M" : "L",
                      getX(number, i), getY(bytes), getX(number, i + 1));
    };
    add(line, step.liveBytes);
    add(area, step.activationBytes());
  }
  os << formatv("<path class='area p{0}' d='{1}V100H0Z'/>"
                "<path class='line p{0}' d='{2}'/>\n",
                number, area, line);
  // What one points at: one rectangle per step, or per several, which then
  // speaks for the highest of them.
  constexpr size_t kMost = 600;
  size_t width = (memory.steps.size() + kMost - 1) / kMost;
  for (size_t begin = 0; begin < memory.steps.size(); begin += width) {
    size_t end = std::min(begin + width, memory.steps.size());
    auto highestStep = std::max_element(
        memory.steps.begin() + begin, memory.steps.begin() + end,
        [](const MemoryStep &a, const MemoryStep &b) {
          return a.liveBytes < b.liveBytes;
        });
    double x = getX(number, begin);
    os << formatv("<rect class='hit' x='{0:f3}' y='{1:f3}' width='{2:f3}' "
                  "height='{3:f3}'><title>{4}, step {5} of {6}, {7}: {8} "
                  "live, {11} of it gradients\n{9} {10}</title></rect>\n",
                  x, getY(highestStep->liveBytes), getX(number, end) - x,
                  100 - getY(highestStep->liveBytes), escapeHTML(program.title),
                  highestStep - memory.steps.begin() + 1, memory.steps.size(),
                  stringify(highestStep->phase),
                  formatBytes(highestStep->liveBytes),
                  escapeHTML(highestStep->op), escapeHTML(highestStep->module),
                  formatBytes(highestStep->gradientBytes));
  }
}

void Chart::drawLabels() {
  os << "<div class='yl' aria-hidden='true'>";
  for (int64_t bytes = 0; bytes <= highest; bytes += tick)
    os << formatv("<span style='top:{0:f2}%'>{1}</span>", getY(bytes),
                  formatBytes(bytes));
  os << "</div><div class='xl' aria-hidden='true'>";
  double phaseBegin = 0;
  const std::vector<Stretch> &first = stretches.front();
  for (auto [i, stretch] : llvm::enumerate(first)) {
    if (!stretch.layer.empty() && borders[i + 1] - borders[i] > 2.5)
      os << formatv("<span class='ly' style='left:{0:f2}%'>{1}</span>",
                    (borders[i] + borders[i + 1]) / 2, stretch.layer);
    if (i + 1 == first.size() || first[i + 1].phase != stretch.phase) {
      os << formatv("<span class='ph' style='left:{0:f2}%;width:{1:f2}%'>{2}"
                    "</span>",
                    phaseBegin, borders[i + 1] - phaseBegin,
                    stringify(stretch.phase));
      phaseBegin = borders[i + 1];
    }
  }
  os << "</div>\n";
}

void Chart::draw() {
  os << "<p class='legend'>";
  for (auto [i, program] : llvm::enumerate(programs))
    os << formatv("<span class='key p{0}'></span>{1} ", i,
                  escapeHTML(program.title));
  os << " · filled: activations · line: with parameters' gradients · dashed: "
        "planned arena</p><div class='chart'><svg role='img' "
        "aria-labelledby='memory-title' "
        "viewBox='0 0 100 100' preserveAspectRatio='none'><title "
        "id='memory-title'>Bytes of the arena that are in use at each step of "
        "the schedule, per rank</title>\n";
  drawBands();
  for (size_t i = 0; i < programs.size(); ++i)
    drawProgram(i);
  os << "</svg>\n";
  drawLabels();
  os << "</div>\n";
}

void sp::renderMemoryChart(llvm::ArrayRef<ProgramReport> programs,
                           llvm::raw_ostream &os) {
  Chart(programs, os).draw();
}
