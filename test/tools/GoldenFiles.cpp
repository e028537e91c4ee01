//===- GoldenFiles.cpp - Reference data and its tolerances ----------------===//

#include "GoldenFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace sp::test;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

std::string sp::test::inFolder(StringRef folder, StringRef file) {
  if (llvm::sys::path::is_absolute(file))
    return file.str();
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

Expected<llvm::json::Value> sp::test::readJSON(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot open: " + buffer.getError().message());
  Expected<llvm::json::Value> value = llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    return llvm::createStringError(
        path + " is not valid JSON: " + llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return llvm::createStringError(path + " is not a JSON object");
  return value;
}

Expected<double> sp::test::readNumber(StringRef path,
                                      llvm::ArrayRef<StringRef> keys) {
  Expected<llvm::json::Value> value = readJSON(path);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  std::string where;
  for (StringRef key : keys.drop_back()) {
    object = object ? object->getObject(key) : nullptr;
    where += (key + ".").str();
  }
  if (object)
    if (std::optional<double> number = object->getNumber(keys.back()))
      return *number;
  return llvm::createStringError(path + " has no number `" + where +
                                 keys.back() + "`");
}

Error sp::test::check(StringRef name, Expected<double> measured,
                      Expected<double> bound, bool &good) {
  if (!measured) {
    llvm::consumeError(bound.takeError());
    return measured.takeError();
  }
  if (!bound)
    return bound.takeError();
  bool within = *measured <= *bound; // false for NaN
  llvm::outs() << (within ? "ok   " : "FAIL ") << name << ": "
               << llvm::format("%.3e, bound %.3e\n", *measured, *bound);
  good &= within;
  return Error::success();
}
