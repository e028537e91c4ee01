//===- Isolation.h - Work that may crash ------------------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_ISOLATION_H
#define SP_TEST_TOOLS_FUZZ_ISOLATION_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace sp::test {

/// What came of work in a process of its own.
struct IsolatedResult {
  std::string output;
  /// How the process died; empty if it did not.
  std::string death;
};

/// Does `work` for each number below `count`, each in a child process, at most
/// `jobs` at a time, and hands over what each returns, in the order in which
/// they end. Nothing that a child does, crashing and hanging included, touches
/// the others. The caller must have no threads.
void forEachIsolated(int64_t count, int64_t jobs, unsigned timeoutSeconds,
                     llvm::function_ref<std::string(int64_t)> work,
                     llvm::function_ref<void(int64_t, IsolatedResult)> done);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_ISOLATION_H
