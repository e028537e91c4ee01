//===- LayerPicture.cpp - a layer's ops from top to bottom ----------------===//
//
// Boxes in rows, each under what it reads. Under a box is what the ranks hold
// of its result. Values that pass rows by, such as a residual, run on rails at
// the side.
//
//===----------------------------------------------------------------------===//

#include "Sections.h"
#include "Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

static constexpr double kWidth = 460, kMargin = 40, kRowHeight = 84;
static constexpr double kBoxTop = 8, kBoxHeight = 38, kChipHeight = 16;

double sp::renderGlyph(Holding holding, int64_t numRanks, double x, double y,
                       llvm::raw_ostream &os) {
  constexpr double kSide = 13, kGap = 3;
  constexpr int64_t kMost = 4;
  int64_t shown = std::min(numRanks, kMost);
  for (int64_t rank = 0; rank < shown; ++rank) {
    double left = x + rank * (kSide + kGap);
    os << formatv("<rect class='ga' x='{0}' y='{1}' width='{2}' "
                  "height='{2}'/>",
                  left, y, kSide);
    double part = kSide / numRanks;
    double fillX = left, fillY = y, width = kSide, height = kSide;
    if (holding == Holding::SequenceShard) {
      fillY += rank * part;
      height = part;
    } else if (holding == Holding::FeatureShard) {
      fillX += rank * part;
      width = part;
    }
    os << formatv("<rect class='gf {0}' x='{1}' y='{2}' width='{3}' "
                  "height='{4}'/>",
                  getStyleClass(holding), fillX, fillY, width, height);
  }
  return shown * (kSide + kGap) - kGap;
}

using Node = LayerGraph::Node;
using Kind = LayerGraph::Kind;

/// "input_grad, weight_grad" of what is linear_input_grad and
/// linear_weight_grad; "rope ×2".
static std::string listOps(llvm::ArrayRef<std::string> ops) {
  llvm::SmallVector<std::pair<StringRef, unsigned>> counts;
  for (StringRef op : ops) {
    auto known = llvm::find_if(counts, [&](auto &c) { return c.first == op; });
    if (known == counts.end())
      counts.emplace_back(op, 1);
    else
      ++known->second;
  }
  StringRef prefix = counts.front().first.split('_').first;
  bool isCommon = counts.size() > 1 && llvm::all_of(counts, [&](auto &c) {
                    return c.first.starts_with((prefix + "_").str());
                  });
  std::string text;
  for (auto [op, count] : counts) {
    text += text.empty() ? "" : ", ";
    text += isCommon ? op.drop_front(prefix.size() + 1) : op;
    if (count > 1)
      text += " ×" + std::to_string(count);
  }
  return text;
}

/// A node's name in tips and tables.
static std::string getFullName(const Node &node) {
  std::string ops = llvm::join(node.ops, ", ");
  return ops.empty() || ops == node.title ? node.title
                                          : node.title + " (" + ops + ")";
}

/// "gate_proj"; "layers.0" of a layer.
static std::string getShortName(StringRef module) {
  std::optional<Layer> layer = getLayer(module);
  StringRef rest = module.rsplit('.').first;
  return layer && layer->name() == module
             ? module.drop_front(rest.rfind('.') + 1).str()
             : module.rsplit('.').second.str();
}

namespace {
struct Place {
  double x, y, width;
  /// There is room for words.
  bool isAlone;
};

class Lane {
public:
  Lane(const LayerGraph &graph, int64_t numRanks, llvm::raw_ostream &os)
      : graph(graph), numRanks(numRanks), os(os) {
    place();
  }
  void draw();

private:
  void place();
  void drawEdge(const LayerGraph::Edge &edge);
  void drawArrow(double x, double y, StringRef direction, StringRef style);
  unsigned chooseTrack(bool left, unsigned begin, unsigned end);
  void drawNode(const Node &node, const Place &place);
  void drawHeld(const HeldValue &held, const Place &place);

  const LayerGraph &graph;
  int64_t numRanks;
  llvm::raw_ostream &os;
  std::vector<Place> places;
  /// Per side and track, the rows that are taken.
  std::vector<std::pair<unsigned, unsigned>> tracks[2][3];
};
} // namespace

void Lane::place() {
  std::vector<std::vector<unsigned>> rows(graph.numRows);
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    rows[node.row].push_back(i);
  places.resize(graph.nodes.size());
  for (auto [row, nodes] : llvm::enumerate(rows)) {
    double inner = kWidth - 2 * kMargin, slot = inner / nodes.size();
    for (auto [column, node] : llvm::enumerate(nodes)) {
      Kind kind = graph.nodes[node].kind;
      bool isBorder = kind == Kind::Input || kind == Kind::Output;
      places[node] = {kMargin + slot * (column + 0.5), row * kRowHeight,
                      std::min(slot - 8, isBorder ? 120.0 : 220.0),
                      nodes.size() == 1};
    }
  }
}

/// The style of what flows out of a node.
static StringRef getFlowClass(const Node &node) {
  return node.held ? getStyleClass(node.held->holding) : "rep";
}

void Lane::drawArrow(double x, double y, StringRef direction, StringRef style) {
  double dx = direction == "right" ? -1 : direction == "left" ? 1 : 0;
  double dy = direction == "down" ? -1 : 0;
  os << formatv("<path class='ah {0}' d='M{1} {2}L{3} {4}L{5} {6}Z'/>", style,
                x, y, x + 6 * dx + 4 * dy, y + 6 * dy + 4 * dx,
                x + 6 * dx - 4 * dy, y + 6 * dy - 4 * dx);
}

unsigned Lane::chooseTrack(bool left, unsigned begin, unsigned end) {
  unsigned track = 0;
  for (; track + 1 < std::size(tracks[0]); ++track)
    if (llvm::none_of(tracks[left][track], [&](auto &taken) {
          return begin < taken.second && taken.first < end;
        }))
      break;
  tracks[left][track].emplace_back(begin, end);
  return track;
}

void Lane::drawEdge(const LayerGraph::Edge &edge) {
  const Node &from = graph.nodes[edge.from], &to = graph.nodes[edge.to];
  Place a = places[edge.from], b = places[edge.to];
  StringRef style = getFlowClass(from);
  if (to.row == from.row + 1) {
    double y0 = a.y + kBoxTop + kBoxHeight + (from.held ? kChipHeight + 6 : 0);
    double y1 = b.y + kBoxTop;
    double middle = (y0 + y1) / 2;
    os << formatv("<path class='ed {0}' d='M{1} {2}C{1} {3} {4} {3} {4} {5}'/>",
                  style, a.x, y0, middle, b.x, y1 - 5);
    drawArrow(b.x, y1, "down", style);
    return;
  }
  // Out of the side, along a rail, and into the same side.
  bool left = a.x <= kWidth / 2;
  unsigned track = chooseTrack(left, from.row, to.row);
  double sign = left ? 1 : -1;
  double rail =
      left ? kMargin - 8 - 12 * track : kWidth - kMargin + 8 + 12 * track;
  double x0 = a.x - sign * a.width / 2, x1 = b.x - sign * b.width / 2;
  double y0 = a.y + kBoxTop + kBoxHeight / 2 + 7;
  double y1 = b.y + kBoxTop + kBoxHeight / 2 - 7;
  double corner = 6 * sign;
  os << formatv("<path class='ed {0}' d='M{1} {2}H{3}Q{4} {2} {4} {5}V{6}Q{4} "
                "{7} {3} {7}H{8}'/>",
                style, x0, y0, rail + corner, rail, y0 + 6, y1 - 6, y1,
                x1 - sign * 5);
  drawArrow(x1, y1, left ? "right" : "left", style);
}

/// What fits into `width` at about `size` units per letter.
static std::string fit(StringRef text, double width, double size) {
  size_t most = std::max<size_t>(3, width / size);
  return text.size() <= most ? text.str()
                             : text.take_front(most - 1).str() + "…";
}

void Lane::drawHeld(const HeldValue &held, const Place &place) {
  std::string text = formatSizes(held.localShape);
  if (place.isAlone)
    text = stringify(held.holding).str() + "  " + text;
  double glyph = std::min<int64_t>(numRanks, 4) * 16 - 3;
  // A letter is about six units wide; the multiplication sign is two bytes.
  size_t letters = text.size() - StringRef(text).count("×");
  double width = glyph + 6 + 6.1 * letters;
  double x = place.x - width / 2, y = place.y + kBoxTop + kBoxHeight + 4;
  renderGlyph(held.holding, numRanks, x, y, os);
  os << formatv("<text class='ch' x='{0}' y='{1}'>{2}</text>", x + glyph + 6,
                y + 11, escapeHTML(text));
}

void Lane::drawNode(const Node &node, const Place &place) {
  double x = place.x - place.width / 2, y = place.y + kBoxTop;
  std::string tip = getFullName(node);
  if (node.kind == Kind::Collective)
    tip += ", each rank sends " + formatBytes(node.bytes);
  if (!node.detail.empty())
    tip += "\n" + node.detail;
  if (node.held)
    tip += formatv("\nthen each rank holds {0}, {1}: {2} ({3})",
                   formatSizes(node.held->localShape),
                   formatBytes(node.held->bytes), stringify(node.held->holding),
                   node.held->layout);
  os << "<g><title>" << escapeHTML(tip) << "</title>";
  auto text = [&](StringRef style, double dy, StringRef content, double size) {
    os << formatv("<text class='{0}' x='{1}' y='{2}'>{3}</text>", style,
                  place.x, y + dy,
                  escapeHTML(fit(content, place.width - 6, size)));
  };
  std::string ops = node.ops.empty() ? "" : listOps(node.ops);
  if (ops == node.title) // A sum's module says what it is a sum for.
    ops = getShortName(node.detail);
  switch (node.kind) {
  case Kind::Compute:
    os << formatv("<rect class='bx' x='{0}' y='{1}' width='{2}' height='{3}' "
                  "rx='5'/>",
                  x, y, place.width, kBoxHeight);
    text("bt", 16, node.title, 7.2);
    text("bs", 30, ops, 6.1);
    break;
  case Kind::Collective:
  case Kind::Free: {
    bool moves = node.kind == Kind::Collective;
    os << formatv("<rect class='{0}' x='{1}' y='{2}' width='{3}' "
                  "height='{4}' rx='{5}'/>",
                  moves ? "co" : "fr", x, y, place.width, kBoxHeight,
                  kBoxHeight / 2);
    text(moves ? "ct" : "bt", 16, node.title, 7.2);
    text(moves ? "cs" : "bs", 30,
         moves ? "sends " + formatBytes(node.bytes) : "moves nothing", 6.1);
    break;
  }
  case Kind::Input:
  case Kind::Output:
    text("bt", 16, node.title, 7.2);
    text("bs", 30, ops, 6.1);
    break;
  }
  os << "</g>";
  if (node.held)
    drawHeld(*node.held, place);
  os << "\n";
}

void Lane::draw() {
  for (const LayerGraph::Edge &edge : graph.edges)
    drawEdge(edge);
  os << "\n";
  for (auto [node, place] : llvm::zip(graph.nodes, places))
    drawNode(node, place);
}

void sp::renderLane(const LayerGraph &graph, StringRef title, StringRef id,
                    int64_t numRanks, llvm::raw_ostream &os) {
  size_t collectives = llvm::count_if(graph.nodes, [](const Node &node) {
    return node.kind == Kind::Collective;
  });
  os << formatv("<svg class='lane' role='img' aria-labelledby='{0}' viewBox='0 "
                "0 {1} {2}'><title id='{0}'>{3}: {4} steps, {5} "
                "collectives</title>\n",
                id, kWidth, graph.numRows * kRowHeight - 20, escapeHTML(title),
                graph.numRows, collectives);
  Lane(graph, numRanks, os).draw();
  os << "</svg>\n";
}

void sp::renderLaneTable(const LayerGraph &graph, StringRef title,
                         llvm::raw_ostream &os) {
  os << "<div class='wide'><table><caption>" << escapeHTML(title)
     << "</caption><thead><tr><th scope='col'>step</th><th scope='col'>op</th>"
        "<th scope='col'>then each rank holds</th><th scope='col' "
        "class='n'>sends</th></tr></thead><tbody>\n";
  auto nodes =
      llvm::map_to_vector(graph.nodes, [](const Node &node) { return &node; });
  llvm::stable_sort(
      nodes, [](const Node *a, const Node *b) { return a->row < b->row; });
  for (const Node *node : nodes) {
    std::string held;
    if (node->held)
      held = formatv("{0}, {1}", stringify(node->held->holding),
                     formatSizes(node->held->localShape));
    os << formatv("<tr><td>{0}</td><th scope='row'>{1}</th><td>{2}</td><td "
                  "class='n'>{3}</td></tr>\n",
                  node->row, escapeHTML(getFullName(*node)), escapeHTML(held),
                  node->bytes ? formatBytes(node->bytes) : "");
  }
  os << "</tbody></table></div>\n";
}
