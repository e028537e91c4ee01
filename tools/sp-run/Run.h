//===- Run.h - compiles and runs a program, and reports -------------------===//

#ifndef SP_TOOLS_SPRUN_RUN_H
#define SP_TOOLS_SPRUN_RUN_H

#include "Model.h"

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

/// Gives `session` the parameters that the command line names.
llvm::Error loadParameters(Session &session, const Program &program,
                           const RunRequest &request,
                           const CommonOptions &options);

/// Says so on stderr if the ranks' threads are more than the cores.
void noteSharedCores(const Program &program, const CommonOptions &options);

/// Runs the program that `buildModel` makes, for the batch of `--batch`.
llvm::Error runModelOnBatch(
    const ModelOptions &model, const CommonOptions &options,
    ProgramOptions program,
    llvm::function_ref<void(mlir::OpPassManager &)> build = nullptr);

} // namespace sp

#endif // SP_TOOLS_SPRUN_RUN_H
