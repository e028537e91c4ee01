//===- CommandLine.cpp - Options of the test tools ------------------------===//

#include "CommandLine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace sp::test;
using llvm::StringRef;

CommandLine::CommandLine(int argc, char **argv, StringRef usage,
                         llvm::ArrayRef<StringRef> options,
                         size_t numPositional)
    : usage(usage.str()) {
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (!argument.consume_front("--")) {
      positionals.push_back(argument.str());
      continue;
    }
    if (argument == "help") {
      llvm::outs() << usage;
      std::exit(Success);
    }
    auto [option, value] = argument.split('=');
    if (!llvm::is_contained(options, option))
      fail("unknown option --" + option);
    if (!argument.contains('=')) {
      if (++i == argc)
        fail("--" + option + " needs a value");
      value = argv[i];
    }
    if (!values.try_emplace(option.str(), value.str()).second)
      fail("--" + option + " is given twice");
  }
  if (positionals.size() != numPositional)
    fail("needs " + llvm::Twine(numPositional) + " files, got " +
         llvm::Twine(positionals.size()));
}

StringRef CommandLine::get(StringRef option, StringRef fallback) const {
  auto it = values.find(option.str());
  return it == values.end() ? fallback : StringRef(it->second);
}

StringRef CommandLine::require(StringRef option) const {
  auto it = values.find(option.str());
  if (it == values.end())
    fail("--" + option + " is missing");
  return it->second;
}

void CommandLine::fail(const llvm::Twine &message) const {
  llvm::errs() << "error: " << message << "\n" << usage;
  std::exit(BadUsage);
}

int sp::test::report(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return Failure;
}
