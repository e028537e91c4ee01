//===- Page.cpp - one self-contained HTML page ----------------------------===//

#include "sp/Report/Page.h"
#include "Sections.h"
#include "Text.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

static void renderGlossary(int64_t numRanks, llvm::raw_ostream &os) {
  struct Entry {
    Holding holding;
    StringRef text;
  };
  static constexpr Entry entries[] = {
      {Holding::Replicated, "every rank has all of it"},
      {Holding::SequenceShard, "each rank has 1/T of the tokens"},
      {Holding::FeatureShard,
       "each rank has 1/T of the heads or features, for all tokens"},
      {Holding::Partial,
       "each rank has a summand: only the sum over the ranks is the value"},
  };
  os << "<section id='glossary'><h2>How to read this</h2>\n"
        "<p><b>Tensor parallelism</b> (TP) splits the heads and features of "
        "each layer's two regions, attention and MLP, over T ranks; between "
        "the regions every rank keeps, and computes, the same hidden state. "
        "<b>Sequence parallelism</b> (SP) splits that, too, along the "
        "sequence: an all-reduce, which leaves the whole sum on every rank, "
        "becomes a reduce-scatter, which leaves each its part, and an "
        "all-gather before the next region. In a ring the two together send "
        "what the all-reduce sends, and the memory for what is in between "
        "falls to 1/T. What the backward pass gathers again, instead of "
        "keeping it whole, comes on top.</p>\n<ul class='legend'>";
  for (const Entry &entry : entries) {
    std::string glyph;
    llvm::raw_string_ostream stream(glyph);
    double width = renderGlyph(entry.holding, numRanks, 0.5, 0.5, stream);
    os << formatv("<li><svg class='gl' aria-hidden='true' width='{0}' "
                  "height='14'>{1}</svg> <b>{2}</b> {3}</li>",
                  width + 1, glyph, stringify(entry.holding), entry.text);
  }
  os << formatv("</ul><p class='none'>A square is a rank{0}. Its height is "
                "the sequence, its width the features.</p></section>\n",
                numRanks > 4 ? ", of which four are drawn" : "");
}

static void renderPictures(llvm::ArrayRef<ProgramReport> programs,
                           llvm::raw_ostream &os) {
  os << "<section id='life'><h2>One layer, op by op</h2>\n";
  if (programs.front().layer.empty()) {
    os << "<p>The program's ops name no layers, so there is none to "
          "draw.</p></section>\n";
    return;
  }
  os << "<p>The ops of <code>" << escapeHTML(programs.front().layer)
     << "</code>, from top to bottom, and under each what the ranks hold of "
        "its result. Round filled marks are collectives, dashed ones are "
        "layout "
        "changes that move nothing. What a backward op reads of the forward "
        "pass is not drawn. Point at a mark for why it is there.</p>\n";
  for (Phase phase : {Phase::Forward, Phase::Backward}) {
    os << formatv("<h3>{0} pass</h3>\n<div class='lanes'>",
                  phase == Phase::Forward ? "Forward" : "Backward");
    for (auto [i, program] : llvm::enumerate(programs)) {
      const LayerGraph &graph =
          phase == Phase::Forward ? program.forward : program.backward;
      std::string title =
          formatv("{0}, {1} pass", program.title, stringify(phase));
      os << "<figure><figcaption>" << program.title << "</figcaption>\n";
      renderLane(graph, title,
                 formatv("lane-{0}-{1}", stringify(phase), i).str(),
                 program.numRanks, os);
      os << "<details><summary>As a table</summary>";
      renderLaneTable(graph, title, os);
      os << "</details></figure>\n";
    }
    os << "</div>\n";
  }
  os << "</section>\n";
}

/// Parameters that differ only in their layer, and get the same answer, are one
/// row.
static void renderGradients(llvm::ArrayRef<ProgramReport> programs,
                            llvm::raw_ostream &os) {
  os << "<section id='gradients'><h2>Gradient sync</h2>\n"
        "<p>A gradient is summed over the ranks if each of them has computed "
        "only its part's share of it. Nothing says so but the program: the "
        "sum is the adjoint of the parameter's <code>copy</code>.</p>\n"
        "<div class='wide'><table><thead><tr><th "
        "scope='col'>parameter</th><th scope='col' class='n'>how many</th><th "
        "scope='col'>layout</th>";
  for (const ProgramReport &program : programs)
    os << "<th scope='col'>" << program.title << "</th>";
  os << "<th scope='col'>why</th></tr></thead><tbody>\n";
  // A row's cells, and its number of parameters.
  std::vector<std::pair<std::vector<std::string>, size_t>> rows;
  std::map<std::vector<std::string>, size_t> found;
  for (auto [i, line] : llvm::enumerate(programs.front().gradients)) {
    std::vector<std::string> cells = {getPattern(line.parameter), line.layout};
    std::string why;
    for (const ProgramReport &program : programs) {
      cells.push_back(program.gradients[i].sum);
      // The last program's, which is the most parallel one.
      why = program.gradients[i].why;
    }
    // The reason names its op, which is in a layer.
    if (std::optional<Layer> layer = getLayer(line.parameter))
      if (size_t at = why.find(layer->name()); at != std::string::npos)
        why.replace(at, layer->name().size(), layer->stack + ".*");
    cells.push_back(why);
    auto [it, inserted] = found.try_emplace(cells, rows.size());
    if (inserted)
      rows.emplace_back(cells, 0);
    ++rows[it->second].second;
  }
  for (auto &[cells, count] : rows) {
    os << "<tr><th scope='row'><code>" << escapeHTML(cells[0])
       << "</code></th><td class='n'>" << count << "</td>";
    for (size_t i = 1; i < cells.size(); ++i)
      os << (cells[i] == "none" ? "<td class='none'>" : "<td>")
         << escapeHTML(cells[i]) << "</td>";
    os << "</tr>\n";
  }
  os << "</tbody></table></div></section>\n";
}

static void renderRemarks(llvm::ArrayRef<ProgramReport> programs,
                          llvm::raw_ostream &os) {
  os << "<section id='remarks'><h2>What the passes said</h2>\n";
  for (const ProgramReport &program : programs) {
    os << "<h3>" << program.title << "</h3><ul>";
    for (const std::string &remark : program.remarks)
      os << "<li>" << escapeHTML(remark) << "</li>";
    os << "</ul>\n";
  }
  os << "</section>\n";
}

static int64_t sumSent(const ProgramReport &program) {
  int64_t bytes = 0;
  for (const CollectiveLine &line : program.collectives)
    bytes += line.bytes;
  return bytes;
}

static int64_t countMoves(const ProgramReport &program) {
  return llvm::count_if(program.collectives,
                        [](const CollectiveLine &line) { return line.moves; });
}

/// The answers, before anything else.
static void renderTiles(llvm::ArrayRef<ProgramReport> programs,
                        llvm::raw_ostream &os) {
  const ProgramReport &first = programs.front(), &last = programs.back();
  auto tile = [&](StringRef name, int64_t from, int64_t to, bool bytes) {
    auto show = [&](int64_t n) {
      return bytes ? formatBytes(n) : std::to_string(n);
    };
    os << formatv("<div class='tile'><dt>{0}</dt><dd>{1}</dd>", name, show(to));
    if (programs.size() > 1)
      os << formatv("<dd class='note'>{0}: {1}, {2}: {3} ({4})</dd>",
                    first.title, show(from), last.title, show(to),
                    formatChange(from, to));
    else
      os << formatv("<dd class='note'>{0}</dd>", last.title);
    os << "</div>\n";
  };
  os << "<dl class='tiles'>";
  tile("arena per rank", first.memory.arenaBytes, last.memory.arenaBytes, true);
  tile("activations, at their most", first.memory.peakActivationBytes,
       last.memory.peakActivationBytes, true);
  tile("sent by each rank per step", sumSent(first), sumSent(last), true);
  tile("collectives per step", countMoves(first), countMoves(last), false);
  os << "</dl>\n";
}

static void renderHeader(const PageHeader &header,
                         llvm::ArrayRef<ProgramReport> programs,
                         llvm::raw_ostream &os) {
  std::string titles;
  for (const ProgramReport &program : programs)
    titles += (titles.empty() ? "" : " beside ") + program.title;
  os << formatv(
      "<header><p class='kind'>sp report: one training step, {0}</p>"
      "<h1>{1}</h1><p>mesh <b>{2}</b> · batch {3} × {4} tokens · "
      "{5} layers · hidden size {6} · {7:N} parameters · {8}</p></header>\n",
      titles, escapeHTML(header.model), escapeHTML(header.mesh),
      header.batchSize, header.seqLen, header.numLayers, header.hiddenSize,
      programs.front().numParameters, header.dtype);
}

std::string sp::renderPage(const PageHeader &header,
                           llvm::ArrayRef<ProgramReport> programs) {
  std::string page;
  llvm::raw_string_ostream os(page);
  // The policy forbids everything that could go to the network or run.
  os << "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src "
        "'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        "<meta name='viewport' content='width=device-width, "
        "initial-scale=1'>\n<link rel='icon' href='data:,'>\n<title>"
     << escapeHTML(header.model) << " on " << escapeHTML(header.mesh)
     << ": sp report</title>\n<style>" << kPageStyle
     << "</style></head><body>\n"
        "<svg width='0' height='0' class='defs' aria-hidden='true'><defs>"
        "<pattern id='hatch' width='5' height='5' "
        "patternUnits='userSpaceOnUse' patternTransform='rotate(45)'><rect "
        "class='hb' width='5' height='5'/><rect class='hs' width='2.2' "
        "height='5'/></pattern></defs></svg>\n";
  renderHeader(header, programs, os);
  os << "<main>\n";
  renderTiles(programs, os);
  renderGlossary(programs.front().numRanks, os);
  renderPictures(programs, os);
  renderCollectiveSection(header, programs, os);
  renderMemorySection(programs, os);
  renderGradients(programs, os);
  renderRemarks(programs, os);
  os << "</main>\n<script type='application/json' id='data'>"
     << renderData(header, programs) << "</script>\n</body></html>\n";
  return page;
}
