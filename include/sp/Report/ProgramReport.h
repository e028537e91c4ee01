//===- ProgramReport.h - what a training step does and holds ----*- C++ -*-===//
//
// Everything that the report page says about one program, as plain numbers and
// names: read off the program before and after it is localised and planned.
//
//===----------------------------------------------------------------------===//

#ifndef SP_REPORT_PROGRAMREPORT_H
#define SP_REPORT_PROGRAMREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "sp/Transforms/CollectiveTable.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace sp {

/// What the ranks hold of an activation, in a reader's words.
enum class Holding { Replicated, SequenceShard, FeatureShard, Partial };
llvm::StringRef stringify(Holding holding);

/// What one rank holds of a value.
struct HeldValue {
  Holding holding = Holding::Replicated;
  /// "shard(0) on tp".
  std::string layout;
  llvm::SmallVector<int64_t> localShape;
  int64_t bytes = 0;
};
HeldValue getHeldValue(mlir::RankedTensorType type, MeshOp mesh);

/// A repeated part of a model: "model.layers", 3.
struct Layer {
  std::string stack;
  int64_t number = 0;

  std::string name() const { return stack + "." + std::to_string(number); }
  bool operator==(const Layer &other) const {
    return stack == other.stack && number == other.number;
  }
};
/// The layer that a module is in: its name has a number for a component.
std::optional<Layer> getLayer(llvm::StringRef module);

/// A collective or free layout change; see `CollectiveRow`.
struct CollectiveLine {
  std::string kind, axis, change, at, module, why;
  Phase phase;
  bool moves;
  int64_t bytes;
  size_t numGradients;
};

/// The ops of one layer in one phase, in rows: each op is below what it reads.
struct LayerGraph {
  enum class Kind { Input, Compute, Collective, Free, Output };
  struct Node {
    Kind kind;
    /// The module's short name, or the op.
    std::string title;
    std::vector<std::string> ops;
    /// Where the op is, or why the collective is there.
    std::string detail;
    unsigned row = 0;
    /// What others read of it.
    std::optional<HeldValue> held;
    /// Sent by each rank.
    int64_t bytes = 0;
  };
  struct Edge {
    unsigned from, to;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  unsigned numRows = 0;
};

/// A value in the arena.
struct MemoryUse {
  std::string op, module, layout;
  Holding holding;
  /// A parameter's gradient or a summand of it; else an activation.
  bool isGradient;
  int64_t bytes;
  /// Steps of the schedule.
  size_t begin, end;
};

struct MemoryStep {
  std::string op, module;
  Phase phase;
  /// Of all values, and of parameters' gradients among them.
  int64_t liveBytes, gradientBytes;

  int64_t activationBytes() const { return liveBytes - gradientBytes; }
};

/// One rank's arena while the program runs.
struct MemoryReport {
  std::vector<MemoryStep> steps;
  size_t peakStep = 0;
  int64_t peakBytes = 0;
  std::vector<MemoryUse> atPeak;
  /// The most that activations, without the gradients, take at a time.
  int64_t peakActivationBytes = 0;
  /// All values' bytes without reuse.
  int64_t activationBytes = 0;
  int64_t arenaBytes = 0;
  /// Of activations that the backward pass reads.
  int64_t savedBytes = 0;
  int64_t parameterBytes = 0, stateBytes = 0;
};

struct GradientLine {
  std::string parameter, layout, sum, why;
};

struct ProgramReport {
  /// "TP" or "TP+SP".
  std::string title;
  int64_t numRanks = 1;
  /// Elements of all parameters, whole.
  int64_t numParameters = 0;
  /// The layer that is drawn.
  std::string layer;
  LayerGraph forward, backward;
  std::vector<CollectiveLine> collectives;
  std::vector<GradientLine> gradients;
  MemoryReport memory;
  /// What the passes said.
  std::vector<std::string> remarks;
};

/// Describes a program on global shapes that has one entry function; plans it
/// on the way, so that `module` is one rank's program afterwards.
llvm::Expected<ProgramReport> describeProgram(mlir::ModuleOp module,
                                              llvm::StringRef title);

} // namespace sp

#endif // SP_REPORT_PROGRAMREPORT_H
