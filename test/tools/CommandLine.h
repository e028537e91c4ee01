//===- CommandLine.h - Options of the test tools ----------------*- C++ -*-===//
//
// `--key=value`, `--key value` and positional arguments. llvm::cl would also
// offer LLVM's own options, and exits with 1, which here means "not equal".
//
//===----------------------------------------------------------------------===//

#ifndef SP_TEST_TOOLS_COMMANDLINE_H
#define SP_TEST_TOOLS_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace sp::test {

enum ExitCode { Success = 0, Failure = 1, BadUsage = 2 };

class CommandLine {
public:
  /// Exits with `BadUsage` and the usage text unless every option is one of
  /// `options` and there are exactly `numPositional` other arguments. `--help`
  /// prints the usage text and exits with `Success`.
  CommandLine(int argc, char **argv, llvm::StringRef usage,
              llvm::ArrayRef<llvm::StringRef> options, size_t numPositional);

  llvm::StringRef positional(size_t index) const { return positionals[index]; }

  /// The option's value, or `fallback` if it was not given.
  llvm::StringRef get(llvm::StringRef option,
                      llvm::StringRef fallback = "") const;

  /// The option's value; exits with `BadUsage` if it was not given.
  llvm::StringRef require(llvm::StringRef option) const;

  /// Prints `message` and the usage text and exits with `BadUsage`.
  [[noreturn]] void fail(const llvm::Twine &message) const;

private:
  std::string usage;
  std::map<std::string, std::string> values;
  std::vector<std::string> positionals;
};

/// Prints the error as "error: MESSAGE" and returns `Failure`.
int report(llvm::Error error);

} // namespace sp::test

#endif // SP_TEST_TOOLS_COMMANDLINE_H
