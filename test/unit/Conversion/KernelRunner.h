//===- KernelRunner.h - compiles and runs the row kernels of a function ---===//

#ifndef SP_TEST_KERNELRUNNER_H
#define SP_TEST_KERNELRUNNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace sp::test {

/// A tensor's elements in row-major order.
using Values = std::vector<double>;

struct RunOptions {
  bool fuse = false;
  unsigned optLevel = 0;
};

/// What a run of `func.func @f` gave.
struct RunResult {
  /// One per result of the function, as numbers and as bytes.
  std::vector<Values> values;
  std::vector<std::vector<char>> bytes;
  /// The number of row kernels that it took.
  unsigned kernels = 0;
};

/// Makes row kernels of `@f` in `text`, compiles them and runs them on
/// `inputs`. Also runs each kernel's rows in other groups, which must give the
/// same bytes.
RunResult run(llvm::StringRef text, llvm::ArrayRef<Values> inputs,
              const RunOptions &options = {});

} // namespace sp::test

#endif // SP_TEST_KERNELRUNNER_H
