//===- LayerGraph.cpp - one layer's ops as a picture's boxes --------------===//
//
// A layer is what the locations' names say; what is in it, and what is above
// what, are the program's own data dependences. Nothing depends on which model
// it is.
//
//===----------------------------------------------------------------------===//

#include "LayerGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace sp;

std::optional<Layer> sp::getLayer(StringRef module) {
  size_t begin = 0;
  while (begin < module.size()) {
    size_t end = std::min(module.find('.', begin), module.size());
    StringRef component = module.slice(begin, end);
    int64_t number;
    if (begin != 0 && llvm::all_of(component, llvm::isDigit) &&
        !component.getAsInteger(10, number))
      return Layer{module.take_front(begin - 1).str(), number};
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<Layer> sp::chooseLayer(func::FuncOp function) {
  std::map<std::string, std::set<int64_t>> stacks;
  for (Operation &op : function.getBody().front())
    if (std::optional<Layer> layer = getLayer(getModuleName(&op)))
      stacks[layer->stack].insert(layer->number);
  std::optional<Layer> chosen;
  size_t most = 0;
  for (auto &[stack, numbers] : stacks)
    if (numbers.size() > most) {
      most = numbers.size();
      chosen = Layer{stack, *std::next(numbers.begin(), most / 2)};
    }
  return chosen;
}

/// Reshapes and casts: no box of their own.
static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, arith::TruncFOp,
             arith::ExtFOp, OptimizationBarrierOp>(op);
}

static Value seeThroughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What depends on the program's inputs, and so is there once per token.
static llvm::DenseSet<Value> findTokenData(func::FuncOp function) {
  llvm::DenseSet<Value> found;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kInputAttr))
      found.insert(argument);
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return found.contains(operand); }))
      found.insert(op.result_begin(), op.result_end());
  return found;
}

static bool isInModule(StringRef name, StringRef module) {
  return name.consume_front(module) && (name.empty() || name.front() == '.');
}

/// "arith.addf" is an addition to a reader.
static StringRef getOpName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (isa<arith::ArithDialect>(op->getDialect()))
    name.consume_back("f");
  return name;
}

/// Sums have no module of their own: residuals, and cotangents of what has
/// several readers.
static bool isSum(Operation *op) { return isa<arith::AddFOp>(op); }

namespace {
class GraphBuilder {
public:
  GraphBuilder(func::FuncOp function, MeshOp mesh, StringRef layer, Phase phase,
               ArrayRef<CollectiveRow> rows)
      : function(function), mesh(mesh), layer(layer), phase(phase),
        tokenData(findTokenData(function)), phases(findPhases(function)) {
    for (const CollectiveRow &row : rows)
      changes[row.op] = &row;
  }

  LayerGraph build();

private:
  bool isMember(Operation *op) const { return nodeOf.contains(op); }
  bool belongs(Operation *op) const;
  /// True if `op` sums gradients over ranks, or packs them for that.
  bool sumsGradients(Operation *op) const;
  /// True if `op` reads a value as the next part of the model does.
  bool isContinuation(Operation *op) const;
  unsigned addNode(LayerGraph::Node node);
  void addEdge(unsigned from, unsigned to);
  unsigned getInput(Value value, bool isSaved);
  void addOp(Operation *op);
  void addOutputs(Operation *op);
  void hold(unsigned node, Value value);
  /// Moves what is repeated down to what it is repeated for.
  void sinkRepeated();

  func::FuncOp function;
  MeshOp mesh;
  StringRef layer;
  Phase phase;
  llvm::DenseSet<Value> tokenData;
  llvm::DenseMap<Operation *, Phase> phases;
  llvm::DenseMap<Operation *, const CollectiveRow *> changes;

  LayerGraph graph;
  llvm::DenseMap<Operation *, unsigned> nodeOf;
  llvm::MapVector<Value, unsigned> inputs;
  /// What the backward pass computes again, and what it does that from.
  llvm::DenseSet<unsigned> repeated;
  /// By row and module, the box that its ops share.
  std::map<std::pair<unsigned, std::string>, unsigned> boxes;
};
} // namespace

bool GraphBuilder::belongs(Operation *op) const {
  if (phases.lookup(op) != phase || isView(op) || op->getNumResults() == 0 ||
      !isInModule(getModuleName(op), layer))
    return false;
  if (sumsGradients(op))
    return false;
  return llvm::any_of(op->getResults(),
                      [&](Value result) { return tokenData.contains(result); });
}

bool GraphBuilder::sumsGradients(Operation *op) const {
  if (isa<PackOp>(op))
    return llvm::any_of(op->getUsers(),
                        [&](Operation *user) { return sumsGradients(user); });
  auto change = changes.find(op);
  return change != changes.end() && !change->second->gradients.empty();
}

bool GraphBuilder::isContinuation(Operation *op) const {
  return phases.lookup(op) == phase && !sumsGradients(op);
}

unsigned GraphBuilder::addNode(LayerGraph::Node node) {
  graph.nodes.push_back(std::move(node));
  return graph.nodes.size() - 1;
}

void GraphBuilder::addEdge(unsigned from, unsigned to) {
  if (llvm::none_of(graph.edges, [&](const LayerGraph::Edge &edge) {
        return edge.from == from && edge.to == to;
      }))
    graph.edges.push_back({from, to});
}

/// The first value that others read is what the box shows.
void GraphBuilder::hold(unsigned node, Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType());
      type && !graph.nodes[node].held)
    graph.nodes[node].held = getHeldValue(type, mesh);
}

unsigned GraphBuilder::getInput(Value value, bool isSaved) {
  auto [it, inserted] = inputs.try_emplace(value, 0);
  if (!inserted)
    return it->second;
  std::string from;
  if (Operation *op = value.getDefiningOp())
    from = getModuleName(op);
  it->second = addNode({LayerGraph::Kind::Input,
                        isSaved                   ? "saved"
                        : phase == Phase::Forward ? "hidden state"
                                                  : "its gradient",
                        {isSaved ? "by forward" : "from above"},
                        from.empty() ? "" : "from " + from,
                        0,
                        std::nullopt,
                        0});
  if (isSaved)
    repeated.insert(it->second);
  hold(it->second, value);
  return it->second;
}

void GraphBuilder::addOp(Operation *op) {
  SmallVector<std::pair<unsigned, Value>> sources;
  SmallVector<Value> saved;
  unsigned row = 0;
  for (Value operand : op->getOperands()) {
    Value value = seeThroughViews(operand);
    if (!tokenData.contains(value))
      continue;
    Operation *maker = value.getDefiningOp();
    unsigned source;
    if (maker && isMember(maker))
      source = nodeOf.lookup(maker);
    else if (maker && phases.lookup(maker) == phase)
      source = getInput(value, /*isSaved=*/false);
    else {
      saved.push_back(value);
      continue;
    }
    sources.emplace_back(source, value);
    row = std::max(row, graph.nodes[source].row);
  }
  // What only reads the forward pass's values repeats a part of it.
  bool repeats = llvm::all_of(
      sources, [&](auto &source) { return repeated.contains(source.first); });
  if (repeats)
    for (Value value : saved)
      sources.emplace_back(getInput(value, /*isSaved=*/true), value);
  ++row;
  graph.numRows = std::max(graph.numRows, row + 1);

  auto change = changes.find(op);
  std::string module = getModuleName(op);
  unsigned node;
  if (change != changes.end()) {
    const CollectiveRow &collective = *change->second;
    node = addNode({collective.moves() ? LayerGraph::Kind::Collective
                                       : LayerGraph::Kind::Free,
                    collective.kind.str(),
                    {},
                    collective.why,
                    row,
                    std::nullopt,
                    collective.bytes});
  } else {
    // A sum does not share its box with what else its module does.
    std::string box = isSum(op) ? module + " sum" : module;
    auto [it, inserted] = boxes.try_emplace({row, box}, graph.nodes.size());
    node = it->second;
    std::string name = getOpName(op).str();
    if (inserted) {
      SmallVector<std::string> modules = getModuleNames(op);
      SmallVector<StringRef> own;
      for (StringRef each : modules)
        if (each.size() > layer.size())
          own.push_back(each.rsplit('.').second);
      addNode({LayerGraph::Kind::Compute,
               own.empty() || isSum(op) ? name : llvm::join(own, ", "),
               {},
               llvm::join(modules, ", "),
               row,
               std::nullopt,
               0});
    }
    graph.nodes[node].ops.push_back(name);
  }
  nodeOf[op] = node;
  if (repeats)
    repeated.insert(node);
  for (auto [source, value] : sources) {
    addEdge(source, node);
    hold(source, value);
  }
}

void GraphBuilder::addOutputs(Operation *op) {
  for (OpResult result : op->getResults()) {
    SmallVector<Value> names{result};
    bool leaves = false;
    while (!names.empty())
      for (Operation *user : names.pop_back_val().getUsers()) {
        if (isView(user))
          names.push_back(user->getResult(0));
        else
          leaves |= !isMember(user) && isContinuation(user);
      }
    if (!leaves)
      continue;
    hold(nodeOf.lookup(op), result);
    addEdge(nodeOf.lookup(op),
            addNode({LayerGraph::Kind::Output,
                     phase == Phase::Forward ? "hidden state" : "its gradient",
                     {"goes on"},
                     "",
                     graph.numRows,
                     std::nullopt,
                     0}));
  }
}

void GraphBuilder::sinkRepeated() {
  for (unsigned node = graph.nodes.size(); node-- > 0;) {
    if (!repeated.contains(node))
      continue;
    unsigned lowest = graph.numRows;
    for (const LayerGraph::Edge &edge : graph.edges)
      if (edge.from == node)
        lowest = std::min(lowest, graph.nodes[edge.to].row);
    if (lowest != graph.numRows && lowest > 0)
      graph.nodes[node].row = lowest - 1;
  }
}

LayerGraph GraphBuilder::build() {
  for (Operation &op : function.getBody().front())
    if (belongs(&op))
      addOp(&op);
  SmallVector<Operation *> members;
  for (Operation &op : function.getBody().front())
    if (isMember(&op))
      members.push_back(&op);
  for (Operation *op : members)
    addOutputs(op);
  sinkRepeated();
  ++graph.numRows;
  return std::move(graph);
}

LayerGraph sp::buildLayerGraph(func::FuncOp function, MeshOp mesh,
                               StringRef layer, Phase phase,
                               ArrayRef<CollectiveRow> rows) {
  return GraphBuilder(function, mesh, layer, phase, rows).build();
}
