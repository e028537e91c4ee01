//===- Block.cpp - Rectangular blocks of row-major tensors ----------------===//

#include "sp/IO/Block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace sp;
using llvm::ArrayRef;

std::string sp::formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

std::optional<int64_t> sp::countElements(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0)
      empty = true;
    else if (llvm::MulOverflow(product, dim, product))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

std::optional<std::string> sp::findBlockError(ArrayRef<int64_t> shape,
                                              ArrayRef<int64_t> offsets,
                                              ArrayRef<int64_t> sizes) {
  std::string block =
      "block at " + formatShape(offsets) + " of size " + formatShape(sizes);
  if (offsets.size() != shape.size() || sizes.size() != shape.size())
    return block + " needs " + std::to_string(shape.size()) +
           " dimensions for shape " + formatShape(shape);
  for (auto [dim, offset, size] : llvm::zip_equal(shape, offsets, sizes))
    if (offset < 0 || size < 0 || offset > dim || size > dim - offset)
      return block + " does not lie inside shape " + formatShape(shape);
  return std::nullopt;
}

void sp::forEachRun(ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> sizes,
                    llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) {
  if (llvm::is_contained(sizes, 0))
    return;

  // The run takes in trailing dimensions up to the first one cut by the block.
  size_t outerRank = shape.size();
  int64_t run = 1;
  while (outerRank > 0) {
    run *= sizes[--outerRank];
    if (sizes[outerRank] != shape[outerRank])
      break;
  }

  llvm::SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  int64_t tensorIndex = 0;
  for (auto [offset, stride] : llvm::zip_equal(offsets, strides))
    tensorIndex += offset * stride;

  // An odometer over the outer dimensions.
  llvm::SmallVector<int64_t, 6> position(outerRank, 0);
  for (int64_t blockIndex = 0;; blockIndex += run) {
    visit(tensorIndex, blockIndex, run);
    size_t dim = outerRank;
    while (dim > 0 && position[dim - 1] + 1 == sizes[dim - 1]) {
      --dim;
      tensorIndex -= position[dim] * strides[dim];
      position[dim] = 0;
    }
    if (dim == 0)
      return;
    ++position[dim - 1];
    tensorIndex += strides[dim - 1];
  }
}
