//===- HuggingFace.cpp - reading a config.json ----------------------------===//

#include "sp/Import/HuggingFace.h"
#include "ConfigReader.h"
#include "Families.h"
#include "Sizes.h"
#include "sp/IO/StrictJSON.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace sp;
using namespace llvm;

/// Configurations nest two or three levels.
static constexpr unsigned kDeepestNesting = 64;
/// More layers than this are a mistake; the program would not fit into memory.
static constexpr int64_t kMostLayers = 1 << 16;

/// What every family must obey.
static void check(const DecoderConfig &config, ConfigReader &reader) {
  if (config.numLayers > kMostLayers)
    reader.fail("num_hidden_layers",
                "more than the " + Twine(kMostLayers) + " that are supported");
  if (config.numHeads % config.numKVHeads)
    reader.fail("num_key_value_heads",
                "must divide num_attention_heads = " + Twine(config.numHeads) +
                    " (here " + Twine(config.numKVHeads) + ")");
  if (config.headDim % 2 || config.headDim < 2)
    reader.fail("head_dim", "must be even, for the rotary embedding (here " +
                                Twine(config.headDim) + ")");
  // A layer has seven matrices of at most hidden_size x widest, of at most
  // eight bytes; embedding and head count as one layer more.
  int64_t widest =
      std::max({config.vocabSize, config.hiddenSize, config.intermediateSize,
                config.numHeads * config.headDim});
  if (!productFits({7, 8, config.numLayers + 1, config.hiddenSize, widest}))
    reader.fail("hidden_size", "which with the other sizes makes more bytes of "
                               "parameters than 64 bits can count");
}

Expected<DecoderConfig> sp::readHuggingFaceConfig(StringRef path) {
  SmallString<128> file(path);
  if (sys::fs::is_directory(file))
    sys::path::append(file, "config.json");
  auto buffer = MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/true);
  if (!buffer)
    return createStringError(file + ": " + buffer.getError().message());
  StringRef name = path == "-" ? StringRef("<stdin>") : file.str();

  Expected<json::Value> parsed =
      parseStrictJSON(name, (*buffer)->getBuffer(), kDeepestNesting);
  if (!parsed)
    return parsed.takeError();
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return createStringError(name + ": not a JSON object");

  std::string supported;
  const json::Value *typeValue = object->get("model_type");
  std::optional<StringRef> type = object->getString("model_type");
  for (const ModelFamily &family : kModelFamilies) {
    if (type == StringRef(family.modelType)) {
      ConfigReader reader(*object, name);
      DecoderConfig config = family.read(reader);
      check(config, reader);
      if (Error error = reader.finish())
        return std::move(error);
      return config;
    }
    supported +=
        (supported.empty() ? "" : ", ") + std::string(family.modelType);
  }
  return createStringError(
      typeValue ? formatv("{0}: `model_type` is {1}, which is not supported; "
                          "supported: {2}",
                          name, *typeValue, supported)
                      .str()
                : formatv("{0}: `model_type` is missing; supported: {1}", name,
                          supported)
                      .str());
}
