//===- Run.h - compiles and runs a program, and reports -------------------===//

#ifndef SP_TOOLS_SPRUN_RUN_H
#define SP_TOOLS_SPRUN_RUN_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace sp {

/// What a command knows of its program.
struct RunRequest {
  mlir::ModuleOp module;
  std::string entry;
  /// Empty: the program must have no inputs.
  std::string inputs;
  /// A folder or file of parameters; empty: random, or there are none.
  std::string weights;
  /// The head is, or may be, the embedding: the file may hold it twice.
  bool tiedHead = true;
  std::optional<bool> sequenceParallel;
};

/// Compiles and runs the program, writes its results and what was measured
/// where the options say, and prints a summary.
llvm::Error runProgram(const RunRequest &request, const CommonOptions &options);

} // namespace sp

#endif // SP_TOOLS_SPRUN_RUN_H
