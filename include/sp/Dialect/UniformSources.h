//===- UniformSources.h - tensors that are the same everywhere ------------===//
//
// Splat constants, `tensor.empty` and `linalg.fill`: a part of one is another
// one, so they take any shard's type without a layout change.
//
//===----------------------------------------------------------------------===//

#ifndef SP_DIALECT_UNIFORMSOURCES_H
#define SP_DIALECT_UNIFORMSOURCES_H

#include "mlir/IR/Operation.h"

namespace sp {

/// False for a null `op`, as all of these.
bool isUniformSource(mlir::Operation *op);

/// A uniform source of zeros: it may be partial, too.
bool isZeroSource(mlir::Operation *op);

/// Erases a uniform source that nothing reads, and what only it read.
void eraseUnusedSource(mlir::Operation *op);

} // namespace sp

#endif // SP_DIALECT_UNIFORMSOURCES_H
