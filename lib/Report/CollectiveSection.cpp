//===- CollectiveSection.cpp - collectives per layer, with bytes ----------===//

#include "Sections.h"
#include "Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

namespace {
/// Where a collective is: a layer, or one of the places that are no layers.
struct Where {
  enum Kind { InLayer, Outside, GradientSync, Optimizer } kind;
  Layer layer;

  bool operator<(const Where &other) const {
    return std::tie(kind, layer.stack, layer.number) <
           std::tie(other.kind, other.layer.stack, other.layer.number);
  }
};

/// The sums of one place: by program, phase and kind.
using Key = std::tuple<size_t, Phase, std::string>;
using Sums = std::map<Key, CollectiveSum>;

/// Successive layers with the same sums, or one other place.
struct Group {
  Where first, last;
  Sums sums;
};
} // namespace

static Where getWhere(const CollectiveLine &line) {
  if (line.numGradients != 0)
    return {Where::GradientSync, {}};
  if (line.phase == Phase::Update)
    return {Where::Optimizer, {}};
  if (std::optional<Layer> layer = getLayer(line.module))
    return {Where::InLayer, *layer};
  return {Where::Outside, {}};
}

static std::vector<Group> findGroups(llvm::ArrayRef<ProgramReport> programs) {
  std::map<Where, Sums> places;
  for (auto [i, program] : llvm::enumerate(programs))
    for (const CollectiveLine &line : program.collectives)
      if (line.moves)
        places[getWhere(line)][{i, line.phase, line.kind}] += {1, line.bytes};
  std::vector<Group> groups;
  for (auto &[where, sums] : places) {
    bool goesOn = where.kind == Where::InLayer && !groups.empty() &&
                  groups.back().last.layer.stack == where.layer.stack &&
                  groups.back().last.layer.number + 1 == where.layer.number &&
                  groups.back().sums == sums;
    if (goesOn)
      groups.back().last = where;
    else
      groups.push_back({where, where, sums});
  }
  return groups;
}

static std::string describe(const Group &group) {
  switch (group.first.kind) {
  case Where::InLayer:
    if (group.first.layer == group.last.layer)
      return group.first.layer.name();
    return formatv("each of {0}.{1} to {2}", group.first.layer.stack,
                   group.first.layer.number, group.last.layer.number);
  case Where::Outside:
    return "outside the layers";
  case Where::GradientSync:
    return "gradient sync";
  case Where::Optimizer:
    return "optimizer";
  }
  llvm_unreachable("all places are handled");
}

/// A row of `count · bytes` for every program and phase.
static void renderRow(StringRef kind, const Sums &sums, size_t numPrograms,
                      llvm::raw_ostream &os) {
  os << "<th scope='row'>" << kind << "</th>";
  for (size_t program = 0; program < numPrograms; ++program) {
    CollectiveSum both;
    for (Phase phase : {Phase::Forward, Phase::Backward, Phase::Update}) {
      auto sum = sums.find({program, phase, kind.str()});
      CollectiveSum value = sum == sums.end() ? CollectiveSum() : sum->second;
      // What is neither forward nor backward is only in the sum.
      both += value;
      if (phase == Phase::Update)
        value = both;
      if (value.count == 0)
        os << "<td class='n none'>–</td>";
      else
        os << formatv("<td class='n'><b>{0}</b> {1}</td>", value.count,
                      formatBytes(value.bytes));
    }
  }
  os << "</tr>\n";
}

static Sums sumOverKinds(const Sums &sums) {
  Sums all;
  for (auto &[key, sum] : sums)
    all[{std::get<0>(key), std::get<1>(key), "all"}] += sum;
  return all;
}

static void renderUnits(const PageHeader &header, const Sums &all,
                        llvm::ArrayRef<ProgramReport> programs,
                        llvm::raw_ostream &os) {
  os << "<tr class='sum'><th scope='row'>units</th>";
  for (auto [i, program] : llvm::enumerate(programs)) {
    int64_t unit = header.getUnit(program.numRanks), bytes = 0;
    for (Phase phase : {Phase::Forward, Phase::Backward}) {
      auto sum = all.find({i, phase, "all"});
      int64_t part = sum == all.end() ? 0 : sum->second.bytes;
      bytes += part;
      os << formatv("<td class='n'>{0:f2}</td>",
                    unit ? double(part) / unit : 0.0);
    }
    os << formatv("<td class='n'>{0:f2}</td>",
                  unit ? double(bytes) / unit : 0.0);
  }
  os << "</tr>\n";
}

static void renderGroup(const PageHeader &header, const Group &group,
                        llvm::ArrayRef<ProgramReport> programs,
                        llvm::raw_ostream &os) {
  bool isLayer = group.first.kind == Where::InLayer;
  llvm::SmallVector<StringRef> kinds;
  for (StringRef kind : kCollectiveKinds)
    if (llvm::any_of(group.sums, [&](auto &entry) {
          return std::get<2>(entry.first) == kind;
        }))
      kinds.push_back(kind);
  os << formatv("<tbody><tr><th scope='rowgroup' rowspan='{0}'>{1}</th>",
                kinds.size() + (isLayer ? 1 : 0), escapeHTML(describe(group)));
  for (auto [i, kind] : llvm::enumerate(kinds)) {
    if (i != 0)
      os << "<tr>";
    renderRow(kind, group.sums, programs.size(), os);
  }
  if (isLayer)
    renderUnits(header, sumOverKinds(group.sums), programs, os);
  os << "</tbody>\n";
}

static void renderAll(const ProgramReport &program, llvm::raw_ostream &os) {
  os << "<details><summary>Every layout change of " << program.title
     << ", in order, with its reason</summary><div class='wide'><table>"
        "<thead><tr><th scope='col'>kind</th><th scope='col'>layout</th><th "
        "scope='col' class='n'>each rank sends</th><th "
        "scope='col'>phase</th><th scope='col'>at</th><th "
        "scope='col'>why</th></tr></thead><tbody>\n";
  for (const CollectiveLine &line : program.collectives)
    os << formatv(
        "<tr{0}><th scope='row'>{1}</th><td>{2} on {3}</td><td "
        "class='n'>{4}</td><td>{5}</td><td>{6}</td><td>{7}</td>"
        "</tr>\n",
        line.moves ? "" : " class='none'", line.kind, line.change,
        escapeHTML(line.axis), line.moves ? formatBytes(line.bytes) : "nothing",
        stringify(line.phase), escapeHTML(line.at), escapeHTML(line.why));
  os << "</tbody></table></div></details>\n";
}

void sp::renderCollectiveSection(const PageHeader &header,
                                 llvm::ArrayRef<ProgramReport> programs,
                                 llvm::raw_ostream &os) {
  os << "<section id='collectives'><h2>Collectives</h2>\n"
     << formatv("<p>How many, and what each rank sends in a ring: (T − 1) / T "
                "of a tensor for a gather or a reduce-scatter, twice that for "
                "an all-reduce. One <em>unit</em> is a gather of one hidden "
                "state, here {0}.</p>\n",
                formatBytes(header.getUnit(programs.front().numRanks)));
  std::vector<Group> groups = findGroups(programs);
  os << "<div class='wide'><table id='per-layer'><thead><tr><th rowspan='2' "
        "scope='col'>where</th><th rowspan='2' scope='col'>kind</th>";
  for (const ProgramReport &program : programs)
    os << "<th colspan='3' scope='colgroup' class='program'>" << program.title
       << "</th>";
  os << "</tr><tr>";
  for (size_t i = 0; i < programs.size(); ++i)
    os << "<th scope='col' class='n'>forward</th><th scope='col' "
          "class='n'>backward</th><th scope='col' class='n'>sum</th>";
  os << "</tr></thead>\n";
  Sums total;
  for (auto [i, program] : llvm::enumerate(programs))
    for (const CollectiveLine &line : program.collectives)
      if (line.moves)
        total[{i, line.phase, "all"}] += {1, line.bytes};
  for (const Group &group : groups)
    renderGroup(header, group, programs, os);
  os << "<tbody><tr class='sum'><th scope='rowgroup'>whole step</th>";
  renderRow("all", total, programs.size(), os);
  os << "</tbody></table></div>\n";
  for (const ProgramReport &program : programs)
    renderAll(program, os);
  os << "</section>\n";
}
