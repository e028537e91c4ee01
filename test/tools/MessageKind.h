//===- MessageKind.h - What two messages have in common ---------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_MESSAGEKIND_H
#define SP_TEST_TOOLS_MESSAGEKIND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"
#include <string>
#include <utility>

namespace sp::test {

/// A regular expression, and what stands for all that it matches; the
/// replacement must not match it again.
using MessageDetail = std::pair<llvm::Regex, llvm::StringRef>;

/// A message without what differs between two that the same rule gives.
std::string nameMessageKind(llvm::StringRef message,
                            llvm::ArrayRef<MessageDetail> details);

} // namespace sp::test

#endif // SP_TEST_TOOLS_MESSAGEKIND_H
