//===- HuggingFace.cpp - reading a config.json ----------------------------===//

#include "sp/Import/HuggingFace.h"
#include "ConfigReader.h"
#include "Families.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sp;
using namespace llvm;

Expected<DecoderConfig> sp::readHuggingFaceConfig(StringRef path) {
  SmallString<128> file(path);
  if (sys::fs::is_directory(file))
    sys::path::append(file, "config.json");
  auto buffer = MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/true);
  if (!buffer)
    return createStringError(file + ": " + buffer.getError().message());
  StringRef name = path == "-" ? StringRef("<stdin>") : file.str();

  Expected<json::Value> parsed = json::parse((*buffer)->getBuffer());
  if (!parsed)
    return createStringError(name + ": " + toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return createStringError(name + ": not a JSON object");

  std::string supported;
  std::optional<StringRef> type = object->getString("model_type");
  for (const ModelFamily &family : kModelFamilies) {
    if (type == StringRef(family.modelType)) {
      ConfigReader reader(*object, name);
      DecoderConfig config = family.read(reader);
      if (Error error = reader.finish())
        return std::move(error);
      return config;
    }
    supported += (supported.empty() ? "" : ", ") + std::string(family.modelType);
  }
  return createStringError(
      name + (type ? ": `model_type` is \"" + type->str() + "\""
                   : std::string(": `model_type` is missing")) +
      "; supported: " + supported);
}
