//===- MinCut.cpp - minimum cut with lexicographic costs ------------------===//
//
// Dinic's maximum flow (E. A. Dinic 1970). It needs only order, sum and
// difference of capacities, so pairs that are compared lexicographically do.
// Augmenting paths are walked with an explicit stack: graphs of deep models are
// deep.
//
//===----------------------------------------------------------------------===//

#include "sp/Analysis/MinCut.h"
#include <algorithm>

using namespace sp;

MinCut::MinCut() {
  addNode();
  addNode();
}

MinCut::Node MinCut::addNode() {
  edges.emplace_back();
  return edges.size() - 1;
}

void MinCut::addEdge(Node from, Node to, CutCost cost) {
  if (from == to || cost.isZero())
    return;
  edges[from].push_back({to, static_cast<unsigned>(edges[to].size()), cost});
  edges[to].push_back(
      {from, static_cast<unsigned>(edges[from].size() - 1), {}});
}

bool MinCut::buildLevels() {
  level.assign(edges.size(), -1);
  level[getSource()] = 0;
  llvm::SmallVector<Node> queue{getSource()};
  for (unsigned i = 0; i < queue.size(); ++i)
    for (const Edge &edge : edges[queue[i]])
      if (level[edge.to] < 0 && CutCost() < edge.capacity) {
        level[edge.to] = level[queue[i]] + 1;
        queue.push_back(edge.to);
      }
  return level[getSink()] >= 0;
}

/// Sends flow along one shortest path; zero if there is none left.
CutCost MinCut::augment() {
  llvm::SmallVector<std::pair<Node, unsigned>> path;
  Node node = getSource();
  while (node != getSink()) {
    if (next[node] < edges[node].size()) {
      const Edge &edge = edges[node][next[node]];
      if (level[edge.to] == level[node] + 1 && CutCost() < edge.capacity) {
        path.emplace_back(node, next[node]);
        node = edge.to;
      } else {
        ++next[node];
      }
      continue;
    }
    if (path.empty())
      return {};
    // A dead end: its predecessor tries its next edge.
    node = path.pop_back_val().first;
    ++next[node];
  }
  CutCost flow = CutCost::infinity();
  for (auto [from, index] : path)
    flow = std::min(flow, edges[from][index].capacity);
  for (auto [from, index] : path) {
    Edge &edge = edges[from][index];
    edge.capacity = edge.capacity - flow;
    Edge &reverse = edges[edge.to][edge.reverse];
    reverse.capacity = reverse.capacity + flow;
  }
  return flow;
}

CutCost MinCut::solve() {
  CutCost total;
  while (buildLevels()) {
    next.assign(edges.size(), 0);
    for (CutCost flow = augment(); !flow.isZero(); flow = augment())
      total = total + flow;
  }
  // Whatever can still reach the sink must be on its side; all else is source.
  sourceSide.assign(edges.size(), true);
  sourceSide[getSink()] = false;
  llvm::SmallVector<Node> queue{getSink()};
  for (unsigned i = 0; i < queue.size(); ++i)
    for (const Edge &edge : edges[queue[i]])
      if (sourceSide[edge.to] &&
          CutCost() < edges[edge.to][edge.reverse].capacity) {
        sourceSide[edge.to] = false;
        queue.push_back(edge.to);
      }
  return total;
}
