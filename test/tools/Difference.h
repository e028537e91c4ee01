//===- Difference.h - How far apart two tensors are -------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_DIFFERENCE_H
#define SP_TEST_TOOLS_DIFFERENCE_H

#include "sp/IO/Safetensors.h"

namespace sp::test {

enum class CompareMode {
  /// max |a-b| / max |b| over the tensor.
  Scaled,
  /// max of |a-b| / |b| over the elements.
  Relative,
  /// 1 - the cosine of the angle between the tensors, as vectors.
  Direction,
  /// | |a| / |b| - 1 |, with the Euclidean norms.
  Norm,
  /// The number of bytes that differ; needs equal types.
  Bitwise,
};

/// The difference of `a` from the reference `b`; 0 / 0 counts as 0. A NaN
/// anywhere, different shapes or types that cannot be compared are errors.
llvm::Expected<double> measureDifference(const Tensor &a, const Tensor &b,
                                         CompareMode mode);

/// The same for all but Bitwise, on values. Returns NaN if there is one.
double measureDifference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b,
                         CompareMode mode);

/// All elements of a floating point or I64 tensor as F64.
llvm::Expected<std::vector<double>> readAsF64(const Tensor &tensor);

} // namespace sp::test

#endif // SP_TEST_TOOLS_DIFFERENCE_H
