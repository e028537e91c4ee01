//===- MinCutTest.cpp -----------------------------------------------------===//

#include "sp/Analysis/MinCut.h"
#include "gtest/gtest.h"
#include <random>
#include <tuple>
#include <vector>

using namespace sp;

namespace {

struct Edge {
  unsigned from, to;
  CutCost cost;
};

/// The least cost over all labellings, and the most source labels among those.
std::pair<CutCost, int> bruteForce(unsigned numNodes,
                                   const std::vector<Edge> &edges) {
  CutCost best = CutCost::infinity();
  int most = -1;
  // Nodes 0 and 1 are source and sink.
  for (unsigned labels = 0; labels < (1u << numNodes); ++labels) {
    auto isSource = [&](unsigned node) {
      return node == 0 || (node > 1 && (labels >> (node - 2) & 1));
    };
    CutCost cost;
    for (const Edge &edge : edges)
      if (isSource(edge.from) && !isSource(edge.to))
        cost = cost + edge.cost;
    int sources = __builtin_popcount(labels);
    bool better = cost < best;
    if (better || (!(best < cost) && sources > most))
      most = better ? sources : std::max(most, sources);
    if (better)
      best = cost;
  }
  return {best, most};
}

TEST(MinCut, EqualsBruteForceOnRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    unsigned numNodes = 1 + random() % 9;
    std::vector<Edge> edges;
    MinCut cut;
    for (unsigned i = 0; i < numNodes; ++i)
      cut.addNode();
    for (unsigned i = 0, e = random() % (4 * numNodes); i < e; ++i) {
      Edge edge{unsigned(random() % (numNodes + 2)),
                unsigned(random() % (numNodes + 2)),
                {int64_t(random() % 4), int64_t(random() % 4)}};
      edges.push_back(edge);
      cut.addEdge(edge.from, edge.to, edge.cost);
    }
    auto [cost, sources] = bruteForce(numNodes, edges);
    CutCost solved = cut.solve();
    EXPECT_EQ(std::tie(solved.major, solved.minor),
              std::tie(cost.major, cost.minor));
    CutCost labelled;
    for (const Edge &edge : edges)
      if (cut.isSource(edge.from) && !cut.isSource(edge.to))
        labelled = labelled + edge.cost;
    EXPECT_EQ(std::tie(labelled.major, labelled.minor),
              std::tie(cost.major, cost.minor))
        << "the labelling costs what solve() says";
    int labels = 0;
    for (unsigned i = 0; i < numNodes; ++i)
      labels += cut.isSource(2 + i);
    EXPECT_EQ(labels, sources) << "of several optima, the most source labels";
  }
}

TEST(MinCut, MajorIsNeverTradedForMinor) {
  MinCut cut;
  MinCut::Node node = cut.addNode();
  cut.addCostIfSink(node, {1, 0});
  cut.addCostIfSource(node, {0, int64_t(1) << 60});
  cut.solve();
  EXPECT_TRUE(cut.isSource(node));
}

TEST(MinCut, LongChainsNeedNoDeepRecursion) {
  MinCut cut;
  MinCut::Node previous = cut.getSource();
  for (int i = 0; i < 200000; ++i) {
    MinCut::Node node = cut.addNode();
    cut.addEdge(previous, node, {2, 0});
    previous = node;
  }
  cut.addEdge(previous, cut.getSink(), {1, 0});
  EXPECT_EQ(cut.solve().major, 1);
  EXPECT_TRUE(cut.isSource(previous));
}

} // namespace
