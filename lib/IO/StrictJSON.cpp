//===- StrictJSON.cpp - JSON from files nobody vouches for ----------------===//

#include "sp/IO/StrictJSON.h"

#include "llvm/ADT/StringSet.h"

using namespace sp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The length of the string literal that `text` starts with, with its quotes.
static size_t measureString(StringRef text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// Walks the brackets and strings of `text`, which need not be valid JSON: what
/// is malformed here is left for the parser to report.
static Error scan(StringRef what, StringRef text, unsigned maxDepth) {
  std::vector<llvm::StringSet<>> keys;
  while (!text.empty()) {
    char c = text.front();
    size_t length = 1;
    if (c == '{' || c == '[') {
      if (keys.size() == maxDepth)
        return llvm::createStringError(what + ": JSON is nested deeper than " +
                                       llvm::Twine(maxDepth) + " levels");
      keys.emplace_back();
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    } else if (c == '"') {
      length = measureString(text);
      StringRef after = text.drop_front(length).ltrim(" \t\r\n");
      if (!keys.empty() && after.starts_with(":")) {
        // Parsed, so that "a" and "\u0061" are the same key.
        Expected<llvm::json::Value> key =
            llvm::json::parse(text.take_front(length));
        if (!key)
          llvm::consumeError(key.takeError());
        else if (auto name = key->getAsString())
          if (!keys.back().insert(*name).second)
            return llvm::createStringError(what + ": `" + *name +
                                           "` appears twice");
      }
    }
    text = text.drop_front(length);
  }
  return Error::success();
}

Expected<llvm::json::Value> sp::parseStrictJSON(StringRef what, StringRef text,
                                                unsigned maxDepth) {
  if (Error error = scan(what, text, maxDepth))
    return error;
  Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError(
        what + " is not valid JSON: " + llvm::toString(value.takeError()));
  return value;
}
