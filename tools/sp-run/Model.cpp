//===- Model.cpp - programs from a model's folder -------------------------===//

#include "Model.h"
#include "sp/Init/Init.h"
#include "sp/Transforms/Pipelines.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace sp;

#define MODEL_COMMANDS                                                         \
  cl::sub(getForwardCommand()), cl::sub(getGradCommand()),                     \
      cl::sub(getTrainCommand()), cl::sub(getReportCommand())

static cl::opt<std::string>
    model("model", MODEL_COMMANDS,
          cl::desc("Hugging Face folder; a report needs no more than its "
                   "config.json"),
          cl::value_desc("DIR"));
static cl::opt<std::string> mesh("mesh", MODEL_COMMANDS,
                                 cl::desc("sizes of the mesh's axes"),
                                 cl::value_desc("tp=2"), cl::init("tp=1"));
static cl::opt<bool> sequenceParallel(
    "sequence-parallel", MODEL_COMMANDS,
    cl::desc("run token-local work on sequence shards (default true); a report "
             "is about both, or, with false, about tensor parallelism alone"),
    cl::init(true));
static cl::opt<std::string>
    objective("objective", MODEL_COMMANDS,
              cl::desc("of sequence parallelism: what comes first, memory (and "
                       "repeated work; default) or bytes (sent)"),
              cl::value_desc("memory|bytes"), cl::init("memory"));
static cl::opt<std::string>
    minTokens("min-tokens", MODEL_COMMANDS,
              cl::desc("with fewer tokens (batch size times sequence length), "
                       "stay tensor parallel (default 0)"),
              cl::value_desc("N"), cl::init("0"));
static cl::opt<bool> padSequence(
    "pad-sequence", MODEL_COMMANDS,
    cl::desc("pad a sequence that the ranks could not share; no number "
             "changes (default false: an error)"),
    cl::init(false));
static cl::opt<bool> sharedEntryGathers(
    "shared-entry-gathers", MODEL_COMMANDS,
    cl::desc("one gather for all linears that read a value (default true)"),
    cl::init(true));
static cl::opt<bool> mergeLinears(
    "merge-linears", MODEL_COMMANDS,
    cl::desc("one large linear for Q/K/V and one for gate/up; checkpoints stay "
             "as they are (default false)"),
    cl::init(false));
static cl::opt<std::string>
    head("head", MODEL_COMMANDS,
         cl::desc("the head and its loss: replicated (default), or vocab, each "
                  "rank with its part of the vocabulary"),
         cl::value_desc("KIND"), cl::init("replicated"));
static cl::opt<std::string> dtype(
    "dtype", MODEL_COMMANDS,
    cl::desc("f32 (default), f64 or bf16; in training, bf16 computes on f32 "
             "parameters"),
    cl::init("f32"));

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

Expected<ModelOptions> sp::getModelOptions() {
  if (model.empty())
    return usageError("--model is missing");
  Expected<MeshSizes> sizes = parseMesh(mesh);
  if (!sizes)
    return sizes.takeError();
  Expected<DType> type = parseDTypeOption();
  if (!type)
    return type.takeError();
  if (objective != "memory" && objective != "bytes")
    return usageError("--objective " + objective +
                      ": unknown objective; use memory or bytes");
  int64_t tokens;
  if (StringRef(minTokens).getAsInteger(10, tokens) || tokens < 0)
    return usageError("--min-tokens must be a number of at least 0, not `" +
                      minTokens + "`");
  if (head != "replicated" && head != "vocab")
    return usageError("--head " + head +
                      ": unknown kind of head; use replicated or vocab");
  Expected<DecoderConfig> config = readHuggingFaceConfig(model);
  if (!config)
    return config.takeError();
  return ModelOptions{model,      *config,          *sizes,
                      *type,      sequenceParallel, sharedEntryGathers,
                      objective,  tokens,           head,
                      padSequence, mergeLinears};
}

Expected<Shape> sp::readBatchShape(StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  Expected<Tensor> ids = (*file)->get("input_ids");
  if (!ids)
    return ids.takeError();
  if (ids->shape().size() != 2)
    return createStringError("`input_ids` in " + path + " has shape " +
                             formatShape(ids->shape()) + ", must be [B, S]");
  return Shape(ids->shape());
}

std::unique_ptr<mlir::MLIRContext> sp::createContext() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry);
  context->printOpOnDiagnostic(false); // A function can be a whole model.
  return context;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
sp::buildModel(mlir::MLIRContext &context, const ModelOptions &model,
               ProgramOptions program,
               function_ref<void(mlir::OpPassManager &)> build) {
  program.dtype = model.dtype;
  auto module = buildDecoderProgram(context, model.config, program);
  if (!module)
    return module.takeError();
  ParallelizeOptions options;
  options.tp = model.mesh.tp;
  options.sequenceParallel = model.sequenceParallel;
  options.sharedEntryGathers = model.sharedEntryGathers;
  options.objective = model.objective;
  options.minTokens = model.minTokens;
  options.head = model.head;
  options.padSequence = model.padSequence;
  options.mergeLinears = model.mergeLinears;
  mlir::PassManager pm(&context, mlir::ModuleOp::getOperationName());
  buildParallelizePipeline(pm, options);
  if (build)
    build(pm);
  if (failed(pm.run(**module)))
    return createStringError("cannot parallelize " + model.folder +
                             " for --mesh " + mesh);
  return module;
}
