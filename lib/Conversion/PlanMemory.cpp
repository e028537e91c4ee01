//===- PlanMemory.cpp - one arena per rank, with static offsets -----------===//
//
// Values live from their op to their last use in the order of the block. A scan
// in that order gives each a place in one arena: the smallest free range that
// fits, or new bytes at the end.
//
//===----------------------------------------------------------------------===//

#include "PlannedFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Analysis/SavedActivations.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

namespace sp {
#define GEN_PASS_DEF_SPPLANMEMORY
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

/// The free ranges of an arena that grows at its end.
class Arena {
public:
  int64_t allocate(int64_t size);
  void free(int64_t offset, int64_t size);
  int64_t getSize() const { return end; }

private:
  void insert(int64_t offset, int64_t size) {
    byOffset.emplace(offset, size);
    bySize.emplace(size, offset);
  }
  void erase(std::map<int64_t, int64_t>::iterator range) {
    bySize.erase({range->second, range->first});
    byOffset.erase(range);
  }

  /// The same ranges twice: offset -> size, and (size, offset).
  std::map<int64_t, int64_t> byOffset;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t end = 0;
};

} // namespace

int64_t Arena::allocate(int64_t size) {
  auto best = bySize.lower_bound({size, 0});
  if (best != bySize.end()) {
    auto [room, offset] = *best;
    erase(byOffset.find(offset));
    if (room > size)
      insert(offset + size, room - size);
    return offset;
  }
  // Nothing fits: grow, from a free range that touches the end if there is one.
  int64_t offset = end;
  if (!byOffset.empty()) {
    auto last = std::prev(byOffset.end());
    if (last->first + last->second == end) {
      offset = last->first;
      erase(last);
    }
  }
  end = offset + size;
  return offset;
}

void Arena::free(int64_t offset, int64_t size) {
  auto next = byOffset.lower_bound(offset);
  if (next != byOffset.end() && next->first == offset + size) {
    size += next->second;
    auto merged = next++;
    erase(merged);
  }
  if (next != byOffset.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      erase(previous);
    }
  }
  insert(offset, size);
}

/// C1, C2: what the scan below relies on.
static LogicalResult verifyPlannable(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has ")
           << function.getBody().getBlocks().size()
           << " blocks; memory is planned for one (C1)";
  for (Operation &op : function.getBody().front()) {
    if (op.getNumRegions() != 0 && !isa<RowKernelOp>(op))
      return op.emitOpError("has a region; memory is planned for straight-line "
                            "code (C1)");
    for (Type type : op.getResultTypes())
      if (failed(verifyLocalType(&op, type)))
        return failure();
  }
  for (Type type : function.getArgumentTypes())
    if (failed(verifyLocalType(function, type)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {

class Planner {
public:
  explicit Planner(func::FuncOp function)
      : function(function), lifetimes(function.getBody().front()) {}

  void plan();

  Arena arena;
  /// All values' bytes, and the most that was alive at a time.
  int64_t activationBytes = 0, peakLiveBytes = 0;
  int64_t numInPlace = 0;

private:
  struct Buffer {
    int64_t offset, size;
  };

  void findUpdates();
  /// The result's entry in `sp.offsets`.
  int64_t place(OpResult result);
  void release(Value root);
  Value findInPlaceInput(OpResult result);
  /// The bytes of the activations that live from the forward to the backward
  /// pass.
  int64_t getSavedBytes();

  func::FuncOp function;
  BufferLifetimes lifetimes;
  /// Of a value that is returned as an argument's new value: the argument.
  llvm::DenseMap<Value, Value> updates;
  /// The buffers that hold a value at the current op.
  llvm::DenseMap<Value, Buffer> live;
  int64_t liveBytes = 0;
};

} // namespace

void Planner::findUpdates() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [value, argument] :
       llvm::zip(terminator->getOperands(), getUpdatedArguments(function)))
    if (argument >= 0)
      updates[value] = function.getArgument(argument);
}

/// The input of a row kernel whose buffer `result` may take over, element by
/// element: kernels store in their last pass over a row, and in each of its
/// steps after the loads. It is dead, or the argument that the result is the
/// new value of, and it begins where its buffer does.
Value Planner::findInPlaceInput(OpResult result) {
  auto kernel = dyn_cast<RowKernelOp>(result.getOwner());
  if (!kernel)
    return {};
  AffineExpr row, column;
  bindDims(kernel.getContext(), row, column);
  auto dense =
      AffineMapAttr::get(AffineMap::get(2, 0, row * kernel.getCols() + column));

  Value found;
  int64_t number = result.getResultNumber();
  for (auto [map, target] :
       llvm::zip(kernel.getOutputMaps(), kernel.getOutputResults()))
    if (target == number && map != dense)
      return {};
  for (auto [input, map] :
       llvm::zip(kernel.getInputs(), kernel.getInputMaps())) {
    Value root = lifetimes.getRoot(input);
    auto reads = llvm::count_if(kernel.getInputs(), [&](Value other) {
      return lifetimes.getRoot(other) == root;
    });
    if (map != dense || reads != 1 || lifetimes.getLastUse(root) != kernel ||
        getByteSize(input.getType()) != getByteSize(result.getType()) ||
        findBuffer(input).second != 0)
      continue;
    // Where it belongs in the end comes before any other place.
    if (updates.lookup(result) == root)
      return root;
    if (!found && live.contains(root))
      found = root;
  }
  return found;
}

int64_t Planner::place(OpResult result) {
  int64_t bytes = getByteSize(result.getType());
  activationBytes += bytes;
  if (Value input = findInPlaceInput(result)) {
    ++numInPlace;
    if (auto argument = dyn_cast<BlockArgument>(input))
      return -1 - static_cast<int64_t>(argument.getArgNumber());
    Buffer buffer = live.lookup(input);
    live.erase(input);
    live[result] = buffer;
    return buffer.offset;
  }
  int64_t size = llvm::alignTo(std::max<int64_t>(bytes, 1), kAlignment);
  int64_t offset = arena.allocate(size);
  live[result] = {offset, size};
  liveBytes += size;
  peakLiveBytes = std::max(peakLiveBytes, liveBytes);
  return offset;
}

void Planner::release(Value root) {
  auto it = live.find(root);
  if (it == live.end())
    return;
  arena.free(it->second.offset, it->second.size);
  liveBytes -= it->second.size;
  live.erase(it);
}

int64_t Planner::getSavedBytes() {
  llvm::DenseSet<Operation *> forward = findForwardOps(function);
  llvm::DenseSet<Value> activations = findActivations(function);
  llvm::DenseSet<Value> saved;
  int64_t bytes = 0;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (forward.contains(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value root = lifetimes.getRoot(operand);
      Operation *producer = root.getDefiningOp();
      if (producer && forward.contains(producer) &&
          ownsResultBuffers(producer) && activations.contains(root) &&
          saved.insert(root).second)
        bytes += getByteSize(root.getType());
    }
  }
  return bytes;
}

void Planner::plan() {
  findUpdates();
  Builder builder(function.getContext());
  for (Operation &op : function.getBody().front()) {
    if (ownsResultBuffers(&op)) {
      SmallVector<int64_t> offsets;
      for (OpResult result : op.getResults())
        offsets.push_back(place(result));
      op.setAttr(kOffsetsAttr, builder.getDenseI64ArrayAttr(offsets));
    }
    // Operands die after the results were placed: no op overwrites what it
    // still reads, but for the in-place kernels above.
    lifetimes.forEachDying(&op, [&](Value root) { release(root); });
  }
  function->setAttr(kArenaBytesAttr,
                    builder.getI64IntegerAttr(arena.getSize()));
  function->setAttr(kActivationBytesAttr,
                    builder.getI64IntegerAttr(activationBytes));
  if (int64_t bytes = getSavedBytes())
    function->setAttr(kSavedBytesAttr, builder.getI64IntegerAttr(bytes));
}

namespace {
struct PlanMemory : sp::impl::SPPlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    if (failed(verifyPlannable(function)))
      return signalPassFailure();
    Planner planner(function);
    planner.plan();
    arenaBytes += planner.arena.getSize();
    liveBytes += planner.peakLiveBytes;
    numInPlace += planner.numInPlace;
  }
};
} // namespace
