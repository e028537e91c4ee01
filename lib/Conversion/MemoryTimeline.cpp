//===- MemoryTimeline.cpp - what an arena holds, op by op -----------------===//

#include "sp/Conversion/MemoryTimeline.h"
#include "PlannedFunction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sp;

MemoryTimeline sp::computeMemoryTimeline(func::FuncOp function) {
  Block &block = function.getBody().front();
  BufferLifetimes lifetimes(block);
  MemoryTimeline timeline;
  // By offset, the value that is there: its place in `timeline.values`.
  llvm::DenseMap<int64_t, size_t> occupants;
  llvm::DenseMap<Value, int64_t> offsetOf;
  int64_t liveBytes = 0;
  auto release = [&](Value root) {
    auto offset = offsetOf.find(root);
    if (offset == offsetOf.end())
      return;
    auto occupant = occupants.find(offset->second);
    // Otherwise another value has taken its place over.
    if (occupant == occupants.end() ||
        timeline.values[occupant->second].value != root)
      return;
    PlacedValue &value = timeline.values[occupant->second];
    value.end = timeline.steps.size() - 1;
    liveBytes -= value.bytes;
    occupants.erase(occupant);
  };
  for (Operation &op : block) {
    if (auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttr)) {
      size_t step = timeline.steps.size();
      timeline.steps.push_back(&op);
      for (auto [result, offset] :
           llvm::zip(op.getResults(), offsets.asArrayRef())) {
        if (offset < 0) // It lies in an argument.
          continue;
        int64_t bytes = llvm::alignTo(
            std::max<int64_t>(getByteSize(result.getType()), 1), kAlignment);
        auto [occupant, inserted] =
            occupants.try_emplace(offset, timeline.values.size());
        if (inserted) {
          liveBytes += bytes;
        } else {
          timeline.values[occupant->second].end = step - 1;
          occupant->second = timeline.values.size();
        }
        timeline.values.push_back({result, bytes, step, step});
        offsetOf[result] = offset;
      }
      timeline.liveBytes.push_back(liveBytes);
    }
    if (timeline.steps.empty())
      continue;
    lifetimes.forEachDying(&op, release);
  }
  return timeline;
}
