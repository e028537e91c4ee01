//===- MinCut.h - minimum cut with lexicographic costs --------------------===//

#ifndef SP_ANALYSIS_MINCUT_H
#define SP_ANALYSIS_MINCUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>

namespace sp {

/// A cost of two components, the first of which always counts more: what the
/// objective puts first is never traded for what it puts second.
struct CutCost {
  int64_t major = 0, minor = 0;

  static CutCost infinity() {
    return {std::numeric_limits<int64_t>::max() / 4, 0};
  }
  bool isZero() const { return major == 0 && minor == 0; }
  bool operator<(const CutCost &other) const {
    return major != other.major ? major < other.major : minor < other.minor;
  }
  CutCost operator+(const CutCost &other) const {
    return {major + other.major, minor + other.minor};
  }
  CutCost operator*(int64_t count) const {
    return {major * count, minor * count};
  }
  CutCost operator-(const CutCost &other) const {
    return {major - other.major, minor - other.minor};
  }
};

/// A two-label problem: each node is labelled source or sink; the cost of a
/// labelling is the sum over the edges from a source node to a sink node.
class MinCut {
public:
  using Node = unsigned;

  MinCut();
  Node addNode();
  Node getSource() const { return 0; }
  Node getSink() const { return 1; }
  /// Costs `cost` if `from` is labelled source and `to` sink.
  void addEdge(Node from, Node to, CutCost cost);
  void addCostIfSource(Node node, CutCost cost) {
    addEdge(node, getSink(), cost);
  }
  void addCostIfSink(Node node, CutCost cost) {
    addEdge(getSource(), node, cost);
  }

  /// Finds a labelling of least cost and returns its cost; of several, the one
  /// with the most nodes labelled source (they form a lattice, so there is
  /// one).
  CutCost solve();
  bool isSource(Node node) const { return sourceSide[node]; }

private:
  struct Edge {
    Node to;
    unsigned reverse;
    CutCost capacity;
  };

  bool buildLevels();
  CutCost augment();

  llvm::SmallVector<llvm::SmallVector<Edge, 4>> edges;
  llvm::SmallVector<int> level;
  llvm::SmallVector<unsigned> next;
  llvm::SmallVector<bool> sourceSide;
};

} // namespace sp

#endif // SP_ANALYSIS_MINCUT_H
