//===- StrictJSON.h - JSON from files nobody vouches for --------*- C++ -*-===//

#ifndef SP_IO_STRICTJSON_H
#define SP_IO_STRICTJSON_H

#include "llvm/Support/JSON.h"

namespace sp {

/// Parses `text`, and refuses two things that llvm::json lets pass: an object
/// with a key twice (it keeps the last) and nesting deeper than `maxDepth` (it
/// recurses). Messages start with `what`, which names the file.
llvm::Expected<llvm::json::Value>
parseStrictJSON(llvm::StringRef what, llvm::StringRef text, unsigned maxDepth);

} // namespace sp

#endif // SP_IO_STRICTJSON_H
