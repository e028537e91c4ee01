//===- ConfigReader.h - typed access to a config.json ---------------------===//
//
// A family reads the keys it knows; the first error is kept, and `finish` reports
// it, or a key that nobody read: an option that is ignored is a wrong model.
//
//===----------------------------------------------------------------------===//

#ifndef SP_LIB_IMPORT_CONFIGREADER_H
#define SP_LIB_IMPORT_CONFIGREADER_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace sp {

class ConfigReader {
public:
  ConfigReader(const llvm::json::Object &object, llvm::StringRef file)
      : object(object), file(file) {}

  /// A size of at least 1; without a default the key must be there.
  int64_t size(llvm::StringRef key, std::optional<int64_t> byDefault = {});
  /// A positive number.
  double positive(llvm::StringRef key, std::optional<double> byDefault = {});
  bool flag(llvm::StringRef key, bool byDefault);

  /// The key must be absent, null, or equal to `value`: nothing else is supported.
  void require(llvm::StringRef key, const llvm::json::Value &value);
  /// Keys that do not change the evaluation program.
  void ignore(std::initializer_list<llvm::StringRef> keys);

  /// "FILE: `key` is VALUE, WHY"; for what a family finds out by itself.
  void fail(llvm::StringRef key, const llvm::Twine &why);
  llvm::Error finish();

private:
  /// The value, or null if absent or JSON null; marks the key as known.
  const llvm::json::Value *find(llvm::StringRef key);

  const llvm::json::Object &object;
  std::string file;
  llvm::StringSet<> known;
  std::string error;
};

} // namespace sp

#endif // SP_LIB_IMPORT_CONFIGREADER_H
