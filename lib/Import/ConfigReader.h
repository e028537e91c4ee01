//===- ConfigReader.h - typed access to a config.json ---------------------===//
//
// A family reads the keys it knows; the first error is kept, and `finish`
// reports it, or a key that nobody read: an option that is ignored is a wrong
// model.
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

  // A null is a value of the wrong type, not an absent key: models do not read
  // it as their default.

  /// A size of at least 1; without a default the key must be there.
  int64_t size(llvm::StringRef key, std::optional<int64_t> byDefault = {});
  /// A positive, finite number.
  double positive(llvm::StringRef key, std::optional<double> byDefault = {});
  /// A number in [0, 1).
  double probability(llvm::StringRef key, double byDefault);
  bool flag(llvm::StringRef key, bool byDefault);
  /// The key is there and null, for families that give that a meaning.
  bool isNull(llvm::StringRef key);

  /// The key must be absent or equal to `value`: nothing else is supported.
  void require(llvm::StringRef key, const llvm::json::Value &value);
  /// Keys that must be absent; `why` says what they stand for.
  void refuse(std::initializer_list<llvm::StringRef> keys,
              const llvm::Twine &why);
  /// Keys that do not change the program.
  void ignore(std::initializer_list<llvm::StringRef> keys);

  /// "FILE: `key` is VALUE, WHY"; for what a family finds out by itself.
  void fail(llvm::StringRef key, const llvm::Twine &why);
  llvm::Error finish();

private:
  /// The value, or nullptr if absent; marks the key as known.
  const llvm::json::Value *find(llvm::StringRef key);

  const llvm::json::Object &object;
  std::string file;
  llvm::StringSet<> known;
  std::string error;
};

} // namespace sp

#endif // SP_LIB_IMPORT_CONFIGREADER_H
