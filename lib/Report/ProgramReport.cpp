//===- ProgramReport.cpp - what a training step does and holds ------------===//

#include "sp/Report/ProgramReport.h"
#include "LayerGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "sp/Analysis/SavedActivations.h"
#include "sp/Conversion/MemoryTimeline.h"
#include "sp/Execution/Compiler.h"
#include "sp/Transforms/GradientSync.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sp;
using llvm::createStringError;
using llvm::Expected;

StringRef sp::stringify(Holding holding) {
  switch (holding) {
  case Holding::Replicated:
    return "replicated";
  case Holding::SequenceShard:
    return "sequence shard";
  case Holding::FeatureShard:
    return "head or feature shard";
  case Holding::Partial:
    return "partial sums";
  }
  llvm_unreachable("all holdings are handled");
}

HeldValue sp::getHeldValue(RankedTensorType type, MeshOp mesh) {
  HeldValue held;
  held.layout = describeLayout(type);
  held.localShape.assign(type.getShape().begin(), type.getShape().end());
  if (auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding()))
    for (const AxisEntry &entry : layout.getEntries()) {
      if (entry.layout.isPartial())
        held.holding = Holding::Partial;
      if (!entry.layout.isShard())
        continue;
      held.localShape[entry.layout.dim] /= mesh.getAxisSize(entry.axis);
      // Hidden states are sequence-major; smaller tensors have no sequence.
      bool isSequence = entry.layout.dim == 0 && type.getRank() >= 3;
      if (held.holding == Holding::Replicated)
        held.holding =
            isSequence ? Holding::SequenceShard : Holding::FeatureShard;
    }
  held.bytes = getBytesPerRank(type, mesh);
  return held;
}

//===----------------------------------------------------------------------===//
// Through localisation
//===----------------------------------------------------------------------===//

namespace {
/// An op of the program on global shapes, for those of the planned one that it
/// became: their types no longer say what a rank holds.
struct Origin {
  std::string op, module;
  Phase phase;
  struct Result {
    HeldValue held;
    bool isGradient;
  };
  SmallVector<Result> results;
};

/// Names every op by a number that its location carries through later passes.
class Origins {
public:
  Origins(func::FuncOp function, MeshOp mesh);

  /// The ops that `op` was made of, in order.
  SmallVector<const Origin *> find(Operation *op) const;
  /// The op that made `value`; null if it is not known.
  const Origin *find(OpResult value) const;

private:
  std::vector<Origin> origins;
};
} // namespace

/// The gradients of parameters, and what they are sums of.
static llvm::DenseSet<Value> findGradientValues(func::FuncOp function) {
  llvm::DenseSet<Value> found;
  for (const GradientSync &sync : findGradientSyncs(function)) {
    SmallVector<Value> stack{sync.gradient};
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (found.insert(value).second &&
          isa_and_nonnull<AllReduceOp, PackOp, UnpackOp, ScaleOp, arith::AddFOp,
                          arith::ExtFOp, arith::TruncFOp>(op))
        llvm::append_range(stack, op->getOperands());
    }
  }
  return found;
}

Origins::Origins(func::FuncOp function, MeshOp mesh) {
  llvm::DenseSet<Value> gradients = findGradientValues(function);
  llvm::DenseMap<Operation *, Phase> phases = findPhases(function);
  Builder builder(function.getContext());
  for (Operation &op : function.getBody().front()) {
    Origin origin{op.getName().stripDialect().str(),
                  getModuleName(&op),
                  phases.lookup(&op),
                  {}};
    for (Value result : op.getResults())
      if (auto tensor = dyn_cast<RankedTensorType>(result.getType()))
        origin.results.push_back(
            {getHeldValue(tensor, mesh), gradients.contains(result)});
    op.setLoc(FusedLoc::get({op.getLoc()},
                            builder.getI64IntegerAttr(origins.size()),
                            function.getContext()));
    origins.push_back(std::move(origin));
  }
}

static void collectNumbers(Location loc, SmallVectorImpl<int64_t> &numbers) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return;
  if (auto number = dyn_cast_or_null<IntegerAttr>(fused.getMetadata())) {
    numbers.push_back(number.getInt());
    return;
  }
  for (Location inner : fused.getLocations())
    collectNumbers(inner, numbers);
}

SmallVector<const Origin *> Origins::find(Operation *op) const {
  SmallVector<int64_t> numbers;
  collectNumbers(op->getLoc(), numbers);
  SmallVector<const Origin *> found;
  for (int64_t number : numbers)
    found.push_back(&origins[number]);
  return found;
}

const Origin *Origins::find(OpResult value) const {
  // Each of a fused kernel's results was made by one of its scalar ops.
  if (auto kernel = dyn_cast<RowKernelOp>(value.getOwner()))
    for (auto [yielded, target] :
         llvm::zip(kernel.getBody().front().getTerminator()->getOperands(),
                   kernel.getOutputResults()))
      if (Operation *op = yielded.getDefiningOp();
          op && target == static_cast<int64_t>(value.getResultNumber()))
        if (SmallVector<const Origin *> found = find(op); !found.empty())
          return found.back();
  SmallVector<const Origin *> found = find(value.getOwner());
  return found.empty() ? nullptr : found.back();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static MemoryUse describeUse(const PlacedValue &placed,
                             const Origins &origins) {
  MemoryUse use{placed.value.getOwner()->getName().stripDialect().str(),
                "",
                "",
                Holding::Replicated,
                false,
                placed.bytes,
                placed.begin,
                placed.end};
  const Origin *origin = origins.find(placed.value);
  if (!origin)
    return use;
  use.op = origin->op;
  use.module = origin->module;
  // Of several results, the one of this shape.
  ArrayRef<int64_t> shape = shapeOf(placed.value);
  for (const Origin::Result &result : origin->results)
    if (ArrayRef<int64_t>(result.held.localShape) == shape) {
      use.layout = result.held.layout;
      use.holding = result.held.holding;
      use.isGradient = result.isGradient;
      break;
    }
  return use;
}

static MemoryStep describeStep(Operation *op, const Origins &origins) {
  MemoryStep step{op->getName().stripDialect().str(), "", Phase::Forward, 0, 0};
  SmallVector<const Origin *> found = origins.find(op);
  if (found.empty())
    return step;
  SmallVector<StringRef> names;
  for (const Origin *origin : found)
    if (!llvm::is_contained(names, origin->op))
      names.push_back(origin->op);
  step.op = llvm::join(names, " + ");
  step.module = found.back()->module;
  step.phase = found.back()->phase;
  return step;
}

static MemoryReport describeMemory(func::FuncOp function,
                                   const Program &program,
                                   const Origins &origins) {
  MemoryTimeline timeline = computeMemoryTimeline(function);
  MemoryReport memory;
  for (auto [op, bytes] : llvm::zip(timeline.steps, timeline.liveBytes)) {
    memory.steps.push_back(describeStep(op, origins));
    memory.steps.back().liveBytes = bytes;
    if (bytes > memory.peakBytes) {
      memory.peakBytes = bytes;
      memory.peakStep = memory.steps.size() - 1;
    }
  }
  for (const PlacedValue &value : timeline.values) {
    MemoryUse use = describeUse(value, origins);
    if (use.isGradient)
      for (size_t step = value.begin; step <= value.end; ++step)
        memory.steps[step].gradientBytes += value.bytes;
    if (value.begin <= memory.peakStep && memory.peakStep <= value.end)
      memory.atPeak.push_back(std::move(use));
  }
  for (const MemoryStep &step : memory.steps)
    memory.peakActivationBytes =
        std::max(memory.peakActivationBytes, step.activationBytes());
  memory.arenaBytes = program.arenaBytes;
  memory.savedBytes = program.savedBytes;
  memory.activationBytes = program.activationBytes;
  for (const ProgramTensor &argument : program.arguments) {
    if (argument.role == ProgramTensor::Role::Parameter)
      memory.parameterBytes += argument.localBytes();
    if (argument.role == ProgramTensor::Role::State)
      memory.stateBytes += argument.localBytes();
  }
  return memory;
}

//===----------------------------------------------------------------------===//
// A program
//===----------------------------------------------------------------------===//

static GradientLine describeGradient(const GradientSync &sync) {
  return {sync.parameter, describeLayout(sync.argument.getType()),
          sync.describeSum(), sync.reason};
}

static CollectiveLine describeCollective(const CollectiveRow &row) {
  return {row.kind.str(), row.axis.str(),
          row.change(),   row.at,
          row.module,     row.why,
          row.phase,      row.moves(),
          row.bytes,      row.gradients.size()};
}

Expected<ProgramReport> sp::describeProgram(ModuleOp module, StringRef title) {
  MeshOp mesh = MeshOp::lookup(module);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (!mesh || functions.size() != 1)
    return createStringError("a report is about one function on a mesh");
  func::FuncOp function = functions.front();

  ProgramReport report;
  report.title = title.str();
  SmallVector<CollectiveRow> rows = findCollectives(function, mesh);
  for (const CollectiveRow &row : rows)
    report.collectives.push_back(describeCollective(row));
  for (const GradientSync &sync : findGradientSyncs(function))
    report.gradients.push_back(describeGradient(sync));
  if (std::optional<Layer> layer = chooseLayer(function)) {
    report.layer = layer->name();
    report.forward =
        buildLayerGraph(function, mesh, report.layer, Phase::Forward, rows);
    report.backward =
        buildLayerGraph(function, mesh, report.layer, Phase::Backward, rows);
  }
  Origins origins(function, mesh);
  if (failed(planProgram(module)))
    return createStringError("the program is not valid");
  Expected<Program> program = Program::describe(module, function.getName());
  if (!program)
    return program.takeError();
  report.numRanks = program->numRanks();
  for (const ProgramTensor &argument : program->arguments)
    if (argument.role == ProgramTensor::Role::Parameter)
      report.numParameters += llvm::product_of(argument.globalShape);
  report.memory = describeMemory(function, *program, origins);
  return report;
}
