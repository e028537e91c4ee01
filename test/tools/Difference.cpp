//===- Difference.cpp - How far apart two tensors are ---------------------===//

#include "Difference.h"

#include "sp/IO/Block.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace sp;
using namespace sp::test;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

/// A quotient by 0 that is not 0 / 0 is infinite, and NaN stays NaN.
static double quotient(double difference, double scale) {
  return difference == 0 ? 0 : difference / scale;
}

/// As std::max, but a NaN is kept.
static double maxOrNaN(double a, double b) {
  return std::isnan(b) || b > a ? b : a;
}

/// Of the tensors as vectors: Direction and Norm.
static double measureVectors(ArrayRef<double> a, ArrayRef<double> b,
                             CompareMode mode) {
  double aa = 0, bb = 0, ab = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  if (mode == CompareMode::Norm)
    return std::fabs(quotient(std::sqrt(aa), std::sqrt(bb)) - 1);
  return aa == 0 && bb == 0 ? 0 : 1 - ab / std::sqrt(aa * bb);
}

double test::measureDifference(ArrayRef<double> a, ArrayRef<double> b,
                               CompareMode mode) {
  if (mode == CompareMode::Direction || mode == CompareMode::Norm)
    return measureVectors(a, b, mode);
  double worst = 0, scale = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    double difference = std::fabs(x - y);
    if (mode == CompareMode::Relative)
      difference = quotient(difference, std::fabs(y));
    // Once NaN, always NaN: no later element compares greater.
    worst = std::isnan(worst) ? worst : maxOrNaN(worst, difference);
    scale = std::max(scale, std::fabs(y));
  }
  return mode == CompareMode::Scaled ? quotient(worst, scale) : worst;
}

Expected<std::vector<double>> test::readAsF64(const Tensor &tensor) {
  std::vector<double> values(tensor.numElements());
  if (tensor.dtype() != DType::I64) {
    if (Error error = readTensor(tensor, DType::F64, values.data()))
      return error;
    return values;
  }
  std::vector<int64_t> integers(tensor.numElements());
  if (Error error = readTensor(tensor, DType::I64, integers.data()))
    return error;
  llvm::copy(integers, values.begin());
  return values;
}

static Error compareError(const Tensor &tensor, const llvm::Twine &message) {
  return llvm::createStringError("`" + tensor.name() + "` in " + tensor.file +
                                 " " + message);
}

static Error refuseNaN(const Tensor &tensor, ArrayRef<double> values) {
  auto isNaN = [](double value) { return std::isnan(value); };
  size_t count = llvm::count_if(values, isNaN);
  if (count == 0)
    return Error::success();
  size_t first = llvm::find_if(values, isNaN) - values.begin();
  return compareError(tensor, "has " + llvm::Twine(count) +
                                  " NaN, the first at element " +
                                  llvm::Twine(first));
}

static double countDifferentBytes(const Tensor &a, const Tensor &b) {
  size_t bytes = a.numElements() * byteSize(a.dtype());
  size_t different = 0;
  for (size_t i = 0; i < bytes; ++i)
    different += a.data[i] != b.data[i];
  return different;
}

Expected<double> test::measureDifference(const Tensor &a, const Tensor &b,
                                         CompareMode mode) {
  if (a.shape() != b.shape())
    return compareError(a, "has shape " + formatShape(a.shape()) + ", but " +
                               formatShape(b.shape()) + " in " + b.file);
  bool bitwise = mode == CompareMode::Bitwise;
  if (a.dtype() != b.dtype() &&
      (bitwise || a.dtype() == DType::I64 || b.dtype() == DType::I64))
    return compareError(a, "has type " + dtypeName(a.dtype()) + ", but " +
                               dtypeName(b.dtype()) + " in " + b.file);
  if (bitwise && !canConvert(a.dtype(), DType::F64))
    return countDifferentBytes(a, b);

  auto aValues = readAsF64(a);
  if (!aValues)
    return aValues.takeError();
  auto bValues = readAsF64(b);
  if (!bValues)
    return bValues.takeError();
  if (Error error = refuseNaN(a, *aValues))
    return error;
  if (Error error = refuseNaN(b, *bValues))
    return error;
  if (bitwise)
    return countDifferentBytes(a, b);
  // Two integers beyond 2^53 can differ and still be the same F64.
  if (a.dtype() == DType::I64 && countDifferentBytes(a, b) != 0 &&
      *aValues == *bValues)
    return compareError(a, "differs from " + b.file +
                               " by less than F64 can tell");
  double worst = measureDifference(*aValues, *bValues, mode);
  if (std::isnan(worst))
    return compareError(a, "or its counterpart in " + b.file +
                               " is infinite where no difference is defined");
  return worst;
}
