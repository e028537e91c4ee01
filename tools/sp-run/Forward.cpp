//===- Forward.cpp - runs a model's forward pass on a batch ---------------===//

#include "Run.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "sp/IO/Block.h"
#include "sp/Import/HuggingFace.h"
#include "sp/Init/Init.h"
#include "sp/Transforms/Pipelines.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace sp;

static cl::opt<std::string> model("model", cl::sub(getForwardCommand()),
                                  cl::desc("Hugging Face folder"),
                                  cl::value_desc("DIR"));
static cl::opt<std::string> batch("batch", cl::sub(getForwardCommand()),
                                  cl::desc("file with input_ids and labels"),
                                  cl::value_desc("batch.safetensors"));
static cl::opt<std::string> mesh("mesh", cl::sub(getForwardCommand()),
                                 cl::desc("sizes of the mesh's axes"),
                                 cl::value_desc("tp=2"), cl::init("tp=1"));
static cl::opt<bool> sequenceParallel(
    "sequence-parallel", cl::sub(getForwardCommand()),
    cl::desc("run token-local work on sequence shards (default true)"),
    cl::init(true));
static cl::opt<bool> sharedEntryGathers(
    "shared-entry-gathers", cl::sub(getForwardCommand()),
    cl::desc("one gather for all linears that read a value (default true)"),
    cl::init(true));
static cl::opt<std::string> dtype("dtype", cl::sub(getForwardCommand()),
                                  cl::desc("f32 (default), f64 or bf16"),
                                  cl::init("f32"));
static cl::opt<bool> dumpHidden("dump-hidden", cl::sub(getForwardCommand()),
                                cl::desc("write the hidden states, too"));

/// The shape [B, S] of the batch.
static Expected<Shape> readBatchShape() {
  auto file = SafetensorsFile::open(batch);
  if (!file)
    return file.takeError();
  Expected<Tensor> ids = (*file)->get("input_ids");
  if (!ids)
    return ids.takeError();
  if (ids->shape().size() != 2)
    return createStringError("`input_ids` in " + batch + " has shape " +
                             formatShape(ids->shape()) + ", must be [B, S]");
  return Shape(ids->shape());
}

static Expected<DType> parseDTypeOption() {
  std::optional<DType> type = StringSwitch<std::optional<DType>>(dtype)
                                  .Case("f32", DType::F32)
                                  .Case("f64", DType::F64)
                                  .Case("bf16", DType::BF16)
                                  .Default(std::nullopt);
  if (!type)
    return usageError("--dtype " + dtype +
                      ": unknown type; use f32, f64 or bf16");
  return *type;
}

static Error parallelize(mlir::ModuleOp module, const MeshSizes &sizes) {
  ParallelizeOptions options;
  options.tp = sizes.tp;
  options.sequenceParallel = sequenceParallel;
  options.sharedEntryGathers = sharedEntryGathers;
  mlir::PassManager pm(module.getContext(), mlir::ModuleOp::getOperationName());
  buildParallelizePipeline(pm, options);
  if (failed(pm.run(module)))
    return createStringError("cannot parallelize " + model + " for --mesh " +
                             mesh);
  return Error::success();
}

Error sp::runForward() {
  Expected<CommonOptions> options = getCommonOptions();
  if (!options)
    return options.takeError();
  if (model.empty())
    return usageError("--model is missing");
  if (batch.empty())
    return usageError("--batch is missing");
  Expected<MeshSizes> sizes = parseMesh(mesh);
  if (!sizes)
    return sizes.takeError();
  ProgramOptions programOptions;
  if (Expected<DType> type = parseDTypeOption())
    programOptions.dtype = *type;
  else
    return type.takeError();
  programOptions.hidden = dumpHidden;

  Expected<DecoderConfig> config = readHuggingFaceConfig(model);
  if (!config)
    return config.takeError();
  Expected<Shape> shape = readBatchShape();
  if (!shape)
    return shape.takeError();
  programOptions.batchSize = (*shape)[0];
  programOptions.seqLen = (*shape)[1];

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // A function can be a whole model.
  auto module = buildDecoderProgram(context, *config, programOptions);
  if (!module)
    return module.takeError();
  if (Error error = parallelize(**module, *sizes))
    return error;

  RunRequest request;
  request.module = **module;
  request.inputs = batch;
  request.weights = model;
  request.tiedHead = config->tiedEmbeddings;
  request.sequenceParallel = sequenceParallel;
  return runProgram(request, *options);
}
