//===- Block.h - Rectangular blocks of row-major tensors --------*- C++ -*-===//
//
// A rank's shard of a tensor is a rectangular block: per dimension an offset
// and a size. Here a block is checked and walked as contiguous runs.
//
//===----------------------------------------------------------------------===//

#ifndef SP_IO_BLOCK_H
#define SP_IO_BLOCK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sp {

/// "[2, 3]"; "[]" for a scalar.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// The number of elements, or none if a dimension is negative or the product
/// of the dimensions other than zero does not fit int64_t (so that no stride
/// computed from `shape` can overflow either).
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Why the block does not lie inside `shape`, or none if it does.
std::optional<std::string> findBlockError(llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> offsets,
                                          llvm::ArrayRef<int64_t> sizes);

/// Calls `visit(tensorIndex, blockIndex, length)` for every maximal contiguous
/// run of a block that `findBlockError` accepts, in row-major order. The
/// indices count elements, in the whole tensor and in the packed block.
void forEachRun(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> offsets,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(int64_t, int64_t, int64_t)> visit);

} // namespace sp

#endif // SP_IO_BLOCK_H
