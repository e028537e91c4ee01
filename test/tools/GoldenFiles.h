//===- GoldenFiles.h - Reference data and its tolerances --------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_GOLDENFILES_H
#define SP_TEST_TOOLS_GOLDENFILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace sp::test {

/// `file`, relative to `folder`.
std::string inFolder(llvm::StringRef folder, llvm::StringRef file);

/// A JSON object.
llvm::Expected<llvm::json::Value> readJSON(llvm::StringRef path);

/// The number at `keys`, one object inside the other.
llvm::Expected<double> readNumber(llvm::StringRef path,
                                  llvm::ArrayRef<llvm::StringRef> keys);

/// Prints the line for one quantity; sets `good` to false if it does not pass.
llvm::Error check(llvm::StringRef name, llvm::Expected<double> measured,
                  llvm::Expected<double> bound, bool &good);

} // namespace sp::test

#endif // SP_TEST_TOOLS_GOLDENFILES_H
