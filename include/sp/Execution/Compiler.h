//===- Compiler.h - from a program to machine code --------------*- C++ -*-===//

#ifndef SP_EXECUTION_COMPILER_H
#define SP_EXECUTION_COMPILER_H

#include "mlir/Support/LLVM.h"
#include "sp/Execution/Program.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

struct sp_context;

namespace sp {

struct CompileOptions {
  /// The entry function; empty: the only one there is.
  std::string entry;
  /// How hard LLVM works on the generated code, 0 to 3.
  unsigned optLevel = 2;
};

/// A program in memory, ready to run on any number of threads at a time.
class CompiledProgram {
public:
  /// 0, or the status of the runtime call that failed. `args` and `results`
  /// point to each tensor of the rank, in the program's order.
  using EntryPoint = int32_t (*)(sp_context *context, void *arena,
                                 void *const *args, void *const *results);

  CompiledProgram(Program program,
                  std::unique_ptr<mlir::ExecutionEngine> engine,
                  EntryPoint entryPoint, double compileMilliseconds);
  ~CompiledProgram();

  const Program &getProgram() const { return program; }
  EntryPoint getEntryPoint() const { return entryPoint; }
  double getCompileMilliseconds() const { return compileMilliseconds; }

private:
  Program program;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  EntryPoint entryPoint;
  double compileMilliseconds;
};

/// The first half of compiling: one rank's program with its arena planned
/// (`sp-plan-memory`), still of ops on tensors. MLIR's diagnostics say what is
/// wrong.
mlir::LogicalResult planProgram(mlir::ModuleOp module);

/// Compiles `module`, localised or not, and consumes it. MLIR's diagnostics say
/// what is wrong with a program; the error says that something is.
llvm::Expected<std::unique_ptr<CompiledProgram>>
compileProgram(mlir::ModuleOp module, const CompileOptions &options = {});

} // namespace sp

#endif // SP_EXECUTION_COMPILER_H
