//===- sp-test-weights.cpp - Writes weights made by a formula -------------===//

#include "CommandLine.h"
#include "FormulaWeights.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace sp;
using namespace sp::test;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-weights --config config.json --out model.safetensors\n"
    "Writes the weights of a dense MiniMind model of any size, computed by "
    "the\n"
    "formula of test/data/minimind3/manifest.json, as F32.\n";

static Expected<std::vector<TensorSpec>> readParameters(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot open: " + buffer.getError().message());
  Expected<llvm::json::Value> config =
      llvm::json::parse((*buffer)->getBuffer());
  if (!config)
    return llvm::createStringError(
        path + " is not valid JSON: " + llvm::toString(config.takeError()));
  const llvm::json::Object *object = config->getAsObject();
  if (!object)
    return llvm::createStringError(path + " is not a JSON object");
  return listMiniMindParameters(*object);
}

static Error writeWeights(StringRef config, StringRef out) {
  auto parameters = readParameters(config);
  if (!parameters)
    return parameters.takeError();
  // Hugging Face's loader asks for the format.
  auto writer = SafetensorsWriter::create(out, *parameters, {{"format", "pt"}});
  if (!writer)
    return writer.takeError();
  for (const TensorSpec &parameter : *parameters) {
    auto bytes = (*writer)->bytes(parameter.name);
    if (!bytes)
      return bytes.takeError();
    llvm::MutableArrayRef<float> values(
        reinterpret_cast<float *>(bytes->data()),
        bytes->size() / sizeof(float));
    if (Error error = fillFormulaWeights(parameter, values))
      return error;
  }
  return (*writer)->commit();
}

int main(int argc, char **argv) {
  CommandLine commandLine(argc, argv, usage, {"config", "out"}, 0);
  StringRef config = commandLine.require("config");
  StringRef out = commandLine.require("out");
  if (Error error = writeWeights(config, out))
    return report(std::move(error));
  return Success;
}
