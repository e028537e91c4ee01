//===- TrainingBatches.cpp - what each micro-batch is ---------------------===//

#include "TrainingBatches.h"
#include "sp/Training/TokenData.h"

using namespace llvm;
using namespace sp;

static cl::opt<std::string>
    data("data", cl::sub(getTrainCommand()),
         cl::desc("tokens to train on: uint16, little-endian, no header"),
         cl::value_desc("tokens.bin"));
static cl::opt<std::string> rowsOption(
    "rows", cl::sub(getTrainCommand()),
    cl::desc(
        "what a row of --data is: documents (default; from one first token "
        "of --document-start to the next, padded) or packed (the next "
        "--seq-len tokens)"),
    cl::init("documents"));
static cl::opt<std::string>
    documentStart("document-start", cl::sub(getTrainCommand()),
                  cl::desc("the first token of every document (default 1)"),
                  cl::value_desc("ID"), cl::init("1"));
static cl::opt<std::string>
    batchSizeOption("batch-size", cl::sub(getTrainCommand()),
                    cl::desc("rows of a micro-batch (default 4)"),
                    cl::value_desc("B"), cl::init("4"));
static cl::opt<std::string>
    seqLenOption("seq-len", cl::sub(getTrainCommand()),
                 cl::desc("tokens of a row (default 340)"), cl::value_desc("S"),
                 cl::init("340"));
static cl::opt<std::string> batches(
    "batches", cl::sub(getTrainCommand()),
    cl::desc("instead of --data: a file with input_ids and labels "
             "[B,S], used at every step, or [N,B,S], one after another"),
    cl::value_desc("batches.safetensors"));

namespace {

/// Rows of a token file in shuffled order.
class TokenBatches : public TrainingBatches {
public:
  TokenBatches(TokenData tokens, int64_t batchSize, int64_t seqLen,
               uint64_t seed)
      : tokens(std::move(tokens)), order(this->tokens.numRows(), seed) {
    this->batchSize = batchSize;
    this->seqLen = seqLen;
  }

  Error read(int64_t number, int64_t *inputIds, int64_t *labels) override {
    for (int64_t i = 0; i < batchSize; ++i)
      tokens.read(order.at(number * batchSize + i), inputIds + i * seqLen,
                  labels + i * seqLen);
    return Error::success();
  }

private:
  TokenData tokens;
  RowOrder order;
};

/// Batches made beforehand.
class FileBatches : public TrainingBatches {
public:
  static Expected<std::unique_ptr<TrainingBatches>> open(StringRef path);

  Error read(int64_t number, int64_t *inputIds, int64_t *labels) override {
    Shape offsets{number % count, 0, 0}, sizes{1, batchSize, seqLen};
    // A file of one batch has no dimension for their number.
    if (ids->shape().size() == 2) {
      offsets = {0, 0};
      sizes = {batchSize, seqLen};
    }
    if (Error error = readSlice(*ids, offsets, sizes, DType::I64, inputIds))
      return error;
    return readSlice(*targets, offsets, sizes, DType::I64, labels);
  }

private:
  std::unique_ptr<SafetensorsFile> file;
  std::optional<Tensor> ids, targets;
  int64_t count = 1;
};

} // namespace

Expected<std::unique_ptr<TrainingBatches>> FileBatches::open(StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  auto result = std::make_unique<FileBatches>();
  for (auto [name, tensor] : {std::pair<StringRef, std::optional<Tensor> *>(
                                  "input_ids", &result->ids),
                              {"labels", &result->targets}}) {
    Expected<Tensor> found = (*file)->get(name);
    if (!found)
      return found.takeError();
    ArrayRef<int64_t> shape = found->shape();
    if (shape.size() != 2 && shape.size() != 3)
      return createStringError("`" + name + "` in " + path + " has shape " +
                               formatShape(shape) +
                               ", must be [B, S] or [N, B, S]");
    if (llvm::is_contained(shape, 0))
      return createStringError("`" + name + "` in " + path + " is empty");
    if (!canConvert(found->dtype(), DType::I64))
      return createStringError("`" + name + "` in " + path +
                               " are no integers");
    *tensor = *found;
  }
  ArrayRef<int64_t> shape = result->ids->shape();
  if (shape != result->targets->shape())
    return createStringError("`input_ids` and `labels` in " + path +
                             " have different shapes");
  if (shape.size() == 3)
    result->count = shape.front();
  result->batchSize = shape[shape.size() - 2];
  result->seqLen = shape.back();
  result->file = std::move(*file);
  return std::move(result);
}

Expected<std::unique_ptr<TrainingBatches>>
TrainingBatches::create(const ModelOptions &model, uint64_t seed) {
  if (data.empty() == batches.empty())
    return usageError(data.empty()
                          ? "nothing to train on; give --data or --batches"
                          : "--data and --batches exclude each other");
  if (!batches.empty())
    return FileBatches::open(batches);
  Expected<int64_t> batchSize = parsePositive("--batch-size", batchSizeOption);
  if (!batchSize)
    return batchSize.takeError();
  Expected<int64_t> seqLen = parsePositive("--seq-len", seqLenOption);
  if (!seqLen)
    return seqLen.takeError();
  TokenData::Options options{*seqLen, model.config.vocabSize, std::nullopt};
  if (rowsOption == "documents") {
    int64_t start;
    if (StringRef(documentStart).getAsInteger(10, start) || start < 0)
      return usageError("--document-start must be a token, not `" +
                        documentStart + "`");
    options.documentStart = start;
  } else if (rowsOption != "packed") {
    return usageError("--rows " + rowsOption +
                      ": unknown kind; use documents or packed");
  }
  Expected<TokenData> tokens = TokenData::open(data, options);
  if (!tokens)
    return tokens.takeError();
  return std::make_unique<TokenBatches>(std::move(*tokens), *batchSize, *seqLen,
                                        seed);
}
