//===- MemoryTimeline.h - what an arena holds, op by op ---------*- C++ -*-===//

#ifndef SP_CONVERSION_MEMORYTIMELINE_H
#define SP_CONVERSION_MEMORYTIMELINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sp {

/// A value of a planned function that has bytes of the arena.
struct PlacedValue {
  mlir::OpResult value;
  /// As the planner counts them, aligned.
  int64_t bytes;
  /// The first and the last step at which it is there.
  size_t begin, end;
};

/// One rank's arena while a planned function runs.
struct MemoryTimeline {
  /// The ops that do something, in order: no reshapes, constants and the like.
  std::vector<mlir::Operation *> steps;
  /// The bytes of all values that are there at each step: what it reads, what
  /// it writes, and what waits. The most of them is what no plan can do
  /// without.
  std::vector<int64_t> liveBytes;
  std::vector<PlacedValue> values;
};

/// Of a function that `sp-plan-memory` has planned.
MemoryTimeline computeMemoryTimeline(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_CONVERSION_MEMORYTIMELINE_H
