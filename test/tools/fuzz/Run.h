//===- Run.h - Running a program on made-up data ----------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_RUN_H
#define SP_TEST_TOOLS_FUZZ_RUN_H

#include "mlir/IR/BuiltinOps.h"
#include "sp/Execution/Session.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace sp::test {

/// The results in their global shapes, by name.
using Results = std::map<std::string, std::vector<double>>;

/// A change of parameters: each is multiplied by 1 + size * u, with its own u
/// in [-1, 1).
struct Nudge {
  double size = 0;
  /// Empty: all of them.
  std::string parameter;
};

/// A program on as many ranks as its mesh has. Parameters and inputs are
/// functions of their names: parameters and inputs of floating point numbers of
/// size 1, tokens below 5, and labels that now and then are -100.
class RunnableProgram {
public:
  /// Consumes the module.
  static llvm::Expected<std::unique_ptr<RunnableProgram>>
  compile(mlir::ModuleOp module);

  /// An invariant result that differs between ranks is an error.
  llvm::Expected<Results> run(const Nudge &nudge = {});

private:
  std::unique_ptr<CompiledProgram> compiled;
  std::unique_ptr<Session> session;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_RUN_H
