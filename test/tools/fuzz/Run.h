//===- Run.h - Running a program on made-up data ----------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_RUN_H
#define SP_TEST_TOOLS_FUZZ_RUN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace sp::test {

/// The results in their global shapes, by name.
using Results = std::map<std::string, std::vector<double>>;

/// Compiles and runs `module` on as many ranks as its mesh has, and consumes
/// it. Parameters and inputs are functions of their names: parameters and
/// inputs of floating point numbers of size 1, tokens below 5, and labels that
/// now and then are -100. An invariant result that differs between ranks is an
/// error.
llvm::Expected<Results> runProgram(mlir::ModuleOp module);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_RUN_H
