//===- MessageKind.cpp - What two messages have in common -----------------===//

#include "MessageKind.h"

std::string sp::test::nameMessageKind(llvm::StringRef message,
                                      llvm::ArrayRef<MessageDetail> details) {
  std::string kind = message.str();
  for (const auto &[pattern, name] : details)
    while (pattern.match(kind))
      kind = pattern.sub(name, kind);
  return kind;
}
