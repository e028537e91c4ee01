//===- ConfigReader.cpp - typed access to a config.json -------------------===//

#include "ConfigReader.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace sp;
using namespace llvm;

/// A size beyond this would overflow products of sizes.
static constexpr int64_t kLargestSize = int64_t(1) << 31;

const json::Value *ConfigReader::find(StringRef key) {
  known.insert(key);
  return object.get(key);
}

void ConfigReader::fail(StringRef key, const Twine &why) {
  if (!error.empty())
    return;
  const json::Value *value = object.get(key);
  error = value
              ? formatv("{0}: `{1}` is {2}, {3}", file, key, *value, why.str())
                    .str()
              : formatv("{0}: `{1}` {2}", file, key, why.str()).str();
}

int64_t ConfigReader::size(StringRef key, std::optional<int64_t> byDefault) {
  const json::Value *value = find(key);
  if (!value && byDefault)
    return *byDefault;
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (!value)
    fail(key, "is missing");
  else if (!number || *number < 1 || *number > kLargestSize)
    fail(key, "must be a whole number from 1 to " + Twine(kLargestSize));
  else
    return *number;
  return 1;
}

double ConfigReader::positive(StringRef key, std::optional<double> byDefault) {
  const json::Value *value = find(key);
  if (!value && byDefault)
    return *byDefault;
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (!value)
    fail(key, "is missing");
  else if (!number || !(*number > 0) || !std::isfinite(*number))
    fail(key, "must be a finite number above 0");
  else
    return *number;
  return 1;
}

double ConfigReader::probability(StringRef key, double byDefault) {
  const json::Value *value = find(key);
  if (!value)
    return byDefault;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0 && *number < 1)
    return *number;
  fail(key, "must be a number of at least 0 and below 1");
  return byDefault;
}

bool ConfigReader::flag(StringRef key, bool byDefault) {
  const json::Value *value = find(key);
  if (!value)
    return byDefault;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  fail(key, "must be true or false");
  return byDefault;
}

bool ConfigReader::isNull(StringRef key) {
  const json::Value *value = find(key);
  return value && value->kind() == json::Value::Null;
}

void ConfigReader::require(StringRef key, const json::Value &wanted) {
  const json::Value *value = find(key);
  if (value && *value != wanted)
    fail(key,
         formatv("which is not supported; supported is {0}", wanted).str());
}

void ConfigReader::refuse(std::initializer_list<StringRef> keys,
                          const Twine &why) {
  for (StringRef key : keys)
    if (find(key))
      fail(key, why);
}

void ConfigReader::ignore(std::initializer_list<StringRef> keys) {
  for (StringRef key : keys)
    known.insert(key);
}

Error ConfigReader::finish() {
  for (const auto &[key, value] : object)
    if (!known.contains(key))
      fail(key, "a key that this importer does not know; it may change the "
                "model, so it is not ignored");
  if (error.empty())
    return Error::success();
  return createStringError(error);
}
