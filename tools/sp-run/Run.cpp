//===- Run.cpp - compiles and runs a program, and reports -----------------===//

#include "Run.h"
#include "Report.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace sp;

Error sp::loadParameters(Session &session, const Program &program,
                         const RunRequest &request,
                         const CommonOptions &options) {
  SmallVector<StringRef> names;
  for (const ProgramTensor &argument : program.arguments)
    if (argument.role == ProgramTensor::Role::Parameter)
      names.push_back(argument.name);
  if (options.randomWeights)
    return session.loadParameters(*makeRandomSource(*options.randomWeights));
  if (request.weights.empty()) {
    if (names.empty())
      return Error::success();
    return usageError("the program has parameters (`" + names.front() +
                      "`, ...); give --weights or --random-weights");
  }
  Expected<Checkpoint> checkpoint = Checkpoint::open(request.weights);
  if (!checkpoint)
    return checkpoint.takeError();
  auto source = makeCheckpointSource(std::move(*checkpoint));
  if (Error error = session.loadParameters(*source))
    return error;
  return source->checkNoExtra(names, [&](StringRef name) {
    return isRedundantTensor(name, request.tiedHead);
  });
}

void sp::noteSharedCores(const Program &program, const CommonOptions &options) {
  int64_t cores = hardware_concurrency().compute_thread_count();
  if (program.numRanks() * options.run.threadsPerRank > cores)
    errs() << "sp-run: note: " << program.numRanks() << " ranks of "
           << options.run.threadsPerRank << " threads share " << cores
           << " cores\n";
}

static Error loadInputs(Session &session, const Program &program,
                        const RunRequest &request) {
  if (request.inputs.empty()) {
    for (const ProgramTensor &argument : program.arguments)
      if (argument.role == ProgramTensor::Role::Input)
        return usageError("the program has inputs (`" + argument.name +
                          "`, ...); give --inputs");
    return Error::success();
  }
  auto file = SafetensorsFile::open(request.inputs);
  if (!file)
    return file.takeError();
  return session.loadInputs(**file);
}

static cl::opt<std::string> batch("batch", cl::sub(getForwardCommand()),
                                  cl::sub(getGradCommand()),
                                  cl::desc("file with input_ids and labels"),
                                  cl::value_desc("batch.safetensors"));

Error sp::runModelOnBatch(const ModelOptions &model,
                          const CommonOptions &options, ProgramOptions program,
                          function_ref<void(mlir::OpPassManager &)> build) {
  if (batch.empty())
    return usageError("--batch is missing");
  Expected<Shape> shape = readBatchShape(batch);
  if (!shape)
    return shape.takeError();
  program.batchSize = (*shape)[0];
  program.seqLen = (*shape)[1];
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto module = buildModel(*context, model, program, build);
  if (!module)
    return module.takeError();

  RunRequest request;
  request.module = **module;
  request.inputs = batch;
  request.weights = model.folder;
  request.tiedHead = model.config.tiedEmbeddings;
  request.sequenceParallel = model.sequenceParallel;
  return runProgram(request, options);
}

static std::optional<int64_t> countTokens(const Program &program) {
  for (const ProgramTensor &argument : program.arguments)
    if (argument.role == ProgramTensor::Role::Input &&
        argument.name == "input_ids")
      return product_of(argument.globalShape);
  return std::nullopt;
}

/// The norm of all gradients among the results; none if there are none.
static std::optional<double> computeGradNorm(ArrayRef<TensorData> results) {
  std::optional<double> sum;
  for (const TensorData &result : results) {
    if (!StringRef(result.spec.name).starts_with("grad."))
      continue;
    int64_t count = product_of(result.spec.shape);
    std::vector<double> values(count);
    convertElements(result.spec.dtype, result.data, DType::F64, values.data(),
                    count);
    for (double value : values)
      sum = sum.value_or(0) + value * value;
  }
  return sum ? std::optional(std::sqrt(*sum)) : std::nullopt;
}

Error sp::runProgram(const RunRequest &request, const CommonOptions &options) {
  CompileOptions compileOptions;
  compileOptions.entry = request.entry;
  auto compiled = compileProgram(request.module, compileOptions);
  if (!compiled)
    return compiled.takeError();
  const Program &program = (*compiled)->getProgram();

  noteSharedCores(program, options);
  auto session = Session::create(**compiled);
  if (!session)
    return session.takeError();
  if (Error error = loadInputs(**session, program, request))
    return error;
  if (Error error = loadParameters(**session, program, request, options))
    return error;
  Expected<RunReport> run = (*session)->run(options.run);
  if (!run)
    return run.takeError();
  auto results = (*session)->gatherResults();
  if (!results)
    return results.takeError();

  if (!options.out.empty())
    if (Error error = writeSafetensors(options.out, *results))
      return error;
  std::optional<double> norm = (*session)->getNumber("grad_norm");
  Report report{**compiled,
                *run,
                (*session)->getNumber("loss"),
                norm ? norm : computeGradNorm(*results),
                countTokens(program),
                request.sequenceParallel};
  if (!options.json.empty())
    if (Error error = report.writeJSON(options.json))
      return error;
  report.print(outs());
  return Error::success();
}
