//===- sp-test-golden-at.cpp - Compares logits at sampled positions -------===//
//
// The golden data of a model of real size holds the logits of a few positions
// only, and there only both ends of the vocabulary.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Difference.h"
#include "GoldenFiles.h"

#include "sp/IO/Block.h"

using namespace sp;
using namespace sp::test;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef usage =
    "usage: sp-test-golden-at RESULT.safetensors GOLDEN_DIR --dtype=f32|f64\n"
    "                         [--tolerance-from=manifest.json]\n"
    "Compares `logits` [B,S,V] and `loss` of RESULT with the samples in\n"
    "GOLDEN_DIR (golden.safetensors, golden.json). The bounds are the "
    "`logits`\n"
    "and `loss_rel` of this dtype in the `tolerances` of the manifest, a path\n"
    "relative to GOLDEN_DIR.\n";

/// The result's logits at [position, vocabulary entry], both as in the golden
/// file: half of the entries from the start of the vocabulary, half from the
/// end.
static Expected<std::vector<double>>
sampleLogits(const Tensor &logits, const Tensor &positions, int64_t entries) {
  if (logits.shape().size() != 3 || logits.shape()[2] < entries)
    return llvm::createStringError(logits.file +
                                   ": `logits` must be [B,S,V], but is " +
                                   formatShape(logits.shape()));
  std::vector<int64_t> indices(positions.numElements());
  if (Error error = readTensor(positions, DType::I64, indices.data()))
    return error;

  int64_t vocab = logits.shape()[2];
  int64_t half = entries / 2;
  std::vector<double> samples(indices.size() / 2 * entries);
  double *out = samples.data();
  for (size_t i = 0; i < indices.size(); i += 2)
    for (int64_t first : {int64_t(0), vocab - half}) {
      if (Error error = readSlice(logits, {indices[i], indices[i + 1], first},
                                  {1, 1, half}, DType::F64, out))
        return error;
      out += half;
    }
  return samples;
}

static Expected<double> measureLogits(const SafetensorsFile &result,
                                      const SafetensorsFile &golden) {
  Expected<Tensor> logits = result.get("logits");
  if (!logits)
    return logits.takeError();
  Expected<Tensor> positions = golden.get("positions");
  if (!positions)
    return positions.takeError();
  Expected<Tensor> reference = golden.get("logits_at");
  if (!reference)
    return reference.takeError();
  if (reference->shape().size() != 2 || reference->shape()[1] % 2 != 0 ||
      positions->shape() != llvm::ArrayRef<int64_t>{reference->shape()[0], 2} ||
      reference->numElements() == 0)
    return llvm::createStringError(golden.path() +
                                   ": `positions` and `logits_at` do not have "
                                   "the shapes [N,2] and [N,even]");

  auto actual = sampleLogits(*logits, *positions, reference->shape()[1]);
  if (!actual)
    return actual.takeError();
  auto expected = readAsF64(*reference);
  if (!expected)
    return expected.takeError();
  return measureDifference(*actual, *expected, CompareMode::Scaled);
}

static Expected<double> measureLoss(const SafetensorsFile &result,
                                    StringRef goldenJSON) {
  Expected<Tensor> loss = result.get("loss");
  if (!loss)
    return loss.takeError();
  if (loss->numElements() != 1)
    return llvm::createStringError(result.path() +
                                   ": `loss` must be one number, but is " +
                                   formatShape(loss->shape()));
  auto actual = readAsF64(*loss);
  if (!actual)
    return actual.takeError();
  Expected<double> expected = readNumber(goldenJSON, {"loss"});
  if (!expected)
    return expected.takeError();
  return measureDifference(*actual, {*expected}, CompareMode::Relative);
}

int main(int argc, char **argv) {
  CommandLine commandLine(argc, argv, usage, {"dtype", "tolerance-from"}, 2);
  StringRef folder = commandLine.positional(1);
  StringRef dtype = commandLine.require("dtype");
  if (dtype != "f32" && dtype != "f64")
    commandLine.fail("--dtype must be f32 or f64");
  std::string manifest =
      inFolder(folder, commandLine.get("tolerance-from", "manifest.json"));

  auto result = SafetensorsFile::open(commandLine.positional(0));
  if (!result)
    return report(result.takeError());
  auto golden = SafetensorsFile::open(inFolder(folder, "golden.safetensors"));
  if (!golden)
    return report(golden.takeError());

  bool good = true;
  if (Error error =
          check("logits", measureLogits(**result, **golden),
                readNumber(manifest, {"tolerances", dtype, "logits"}), good))
    return report(std::move(error));
  if (Error error =
          check("loss", measureLoss(**result, inFolder(folder, "golden.json")),
                readNumber(manifest, {"tolerances", dtype, "loss_rel"}), good))
    return report(std::move(error));
  return good ? Success : Failure;
}
