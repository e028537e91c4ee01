//===- Train.cpp - trains a model -----------------------------------------===//

#include "Model.h"
#include "Report.h"
#include "Run.h"
#include "TrainingBatches.h"
#include "sp/IO/AtomicFile.h"
#include "sp/Training/LearningRate.h"
#include "sp/Training/Progress.h"
#include "sp/Transforms/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace sp;

static cl::opt<std::string> steps("steps", cl::sub(getTrainCommand()),
                                  cl::desc("optimizer steps (default 100)"),
                                  cl::value_desc("N"), cl::init("100"));
static cl::opt<std::string>
    accumulationSteps("accumulation-steps", cl::sub(getTrainCommand()),
                      cl::desc("micro-batches per optimizer step (default 1)"),
                      cl::value_desc("N"), cl::init("1"));
static cl::opt<std::string>
    learningRate("learning-rate", cl::sub(getTrainCommand()),
                 cl::desc("of the first steps (default 5e-4)"),
                 cl::value_desc("X"), cl::init("5e-4"));
static cl::opt<std::string> schedule(
    "schedule", cl::sub(getTrainCommand()),
    cl::desc("of the learning rate: cosine (default; falls to a tenth) "
             "or constant"),
    cl::init("cosine"));
static cl::opt<std::string> weightDecay("weight-decay",
                                        cl::sub(getTrainCommand()),
                                        cl::desc("of AdamW (default 0.01)"),
                                        cl::value_desc("X"), cl::init("0.01"));
static cl::opt<std::string>
    maxNorm("max-norm", cl::sub(getTrainCommand()),
            cl::desc("greatest norm of the gradients (default 1; 0: no "
                     "clipping)"),
            cl::value_desc("X"), cl::init("1"));
static cl::opt<std::string>
    checkpointDir("checkpoint-dir", cl::sub(getTrainCommand()),
                  cl::desc("folder for the trained model and the state of the "
                           "training"),
                  cl::value_desc("DIR"));
static cl::opt<std::string>
    saveEvery("save-every", cl::sub(getTrainCommand()),
              cl::desc("steps between two checkpoints (default: only the end)"),
              cl::value_desc("N"), cl::init("0"));
static cl::opt<bool> resume("resume", cl::sub(getTrainCommand()),
                            cl::desc("go on from the state in "
                                     "--checkpoint-dir"));
static cl::opt<bool> checkReplicas(
    "check-replicas", cl::sub(getTrainCommand()),
    cl::desc("check after every step that invariant parameters are the same, "
             "bit by bit, on all ranks"));

namespace {
struct TrainingOptions {
  int64_t steps, accumulationSteps, saveEvery;
  double learningRate, weightDecay, maxNorm;
};
} // namespace

static Error parse(StringRef option, StringRef text, double &number) {
  if (to_float(text, number) && number >= 0 && std::isfinite(number))
    return Error::success();
  return usageError("--" + option + " must be a number of at least 0, not `" +
                    text + "`");
}

static Expected<TrainingOptions> getTrainingOptions() {
  TrainingOptions options;
  Expected<int64_t> numSteps = parsePositive("--steps", steps);
  if (!numSteps)
    return numSteps.takeError();
  options.steps = *numSteps;
  Expected<int64_t> accumulation =
      parsePositive("--accumulation-steps", accumulationSteps);
  if (!accumulation)
    return accumulation.takeError();
  options.accumulationSteps = *accumulation;
  if (StringRef(saveEvery).getAsInteger(10, options.saveEvery) ||
      options.saveEvery < 0)
    return usageError("--save-every must be a number of at least 0, not `" +
                      saveEvery + "`");
  for (auto [option, text, number] :
       {std::tuple<StringRef, StringRef, double *>(
            "learning-rate", learningRate, &options.learningRate),
        {"weight-decay", weightDecay, &options.weightDecay},
        {"max-norm", maxNorm, &options.maxNorm}})
    if (Error error = parse(option, text, *number))
      return error;
  if (checkpointDir.empty() && (resume || options.saveEvery > 0))
    return usageError("--resume and --save-every need --checkpoint-dir");
  return options;
}

//===----------------------------------------------------------------------===//
// The state of a training
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kStateFile = "training_state.safetensors";
static constexpr StringLiteral kModelFile = "model.safetensors";
/// Beside the parameters and moments in the state's file.
static constexpr StringLiteral kStepName = "training.step";
static constexpr StringLiteral kSeedName = "training.seed";

static std::string inCheckpointDir(StringRef name) {
  SmallString<128> path(checkpointDir);
  sys::path::append(path, name);
  return path.str().str();
}

/// One file for all that a run goes on from, so that its parts belong together;
/// and the model by itself, for everybody else.
static Error save(Session &session, int64_t step, uint64_t seed) {
  auto parameters = session.gatherArguments(ProgramTensor::Role::Parameter);
  if (!parameters)
    return parameters.takeError();
  if (Error error = writeSafetensors(inCheckpointDir(kModelFile), *parameters))
    return error;
  auto all = session.gatherArguments(std::nullopt);
  if (!all)
    return all.takeError();
  int64_t seedBits = static_cast<int64_t>(seed);
  all->push_back({{kStepName.str(), DType::I64, {}}, &step});
  all->push_back({{kSeedName.str(), DType::I64, {}}, &seedBits});
  return writeSafetensors(inCheckpointDir(kStateFile), *all);
}

static Expected<int64_t> readNumber(const Checkpoint &state, StringRef name) {
  Expected<Tensor> tensor = state.get(name);
  if (!tensor)
    return tensor.takeError();
  int64_t number;
  if (!tensor->shape().empty() || !canConvert(tensor->dtype(), DType::I64))
    return createStringError("`" + name + "` in " + state.path() +
                             " is not one integer");
  if (Error error = readSlice(*tensor, {}, {}, DType::I64, &number))
    return error;
  return number;
}

/// The number of steps that the state has behind it.
static Expected<int64_t> restore(Session &session, uint64_t seed) {
  Expected<Checkpoint> state = Checkpoint::open(inCheckpointDir(kStateFile));
  if (!state)
    return state.takeError();
  Expected<int64_t> step = readNumber(*state, kStepName);
  if (!step)
    return step.takeError();
  Expected<int64_t> oldSeed = readNumber(*state, kSeedName);
  if (!oldSeed)
    return oldSeed.takeError();
  if (static_cast<uint64_t>(*oldSeed) != seed)
    return createStringError(
        state->path() + " is of a training with --seed=" +
        Twine(static_cast<uint64_t>(*oldSeed)) +
        "; with another seed the data and masks would not go on");
  auto source = makeCheckpointSource(std::move(*state));
  if (Error error = session.loadParameters(*source))
    return error;
  if (Error error = session.loadStates(*source))
    return error;
  return *step;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
class Trainer {
public:
  Trainer(Session &session, TrainingBatches &batches,
          const TrainingOptions &training, LearningRate rate,
          const CommonOptions &options)
      : session(session), batches(batches), training(training), rate(rate),
        options(options), perBatch(batches.batchSize * batches.seqLen),
        inputIds(perBatch * training.accumulationSteps),
        labels(inputIds.size()) {}

  /// Steps `begin` + 1 to the last.
  Error run(int64_t begin);

  RunReport last;
  std::vector<double> losses, norms, milliseconds;

private:
  Error step(int64_t number);

  Session &session;
  TrainingBatches &batches;
  const TrainingOptions &training;
  LearningRate rate;
  const CommonOptions &options;
  int64_t perBatch;
  std::vector<int64_t> inputIds, labels;
};
} // namespace

/// `number` counts from 1.
Error Trainer::step(int64_t number) {
  for (int64_t i = 0; i < training.accumulationSteps; ++i)
    if (Error error = batches.read(
            (number - 1) * training.accumulationSteps + i,
            inputIds.data() + i * perBatch, labels.data() + i * perBatch))
      return error;
  double learningRate = rate.at(number);
  int64_t bytes = inputIds.size() * sizeof(int64_t);
  session.setInput("input_ids", inputIds.data(), bytes);
  session.setInput("labels", labels.data(), bytes);
  session.setInput("learning_rate", &learningRate, sizeof(learningRate));
  session.setInput("step", &number, sizeof(number));
  RunOptions runOptions = options.run;
  runOptions.step = number;
  Expected<RunReport> report = session.run(runOptions);
  if (!report)
    return report.takeError();
  last = *report;
  double loss = session.getNumber("loss").value_or(0);
  double norm = session.getNumber("grad_norm").value_or(0);
  losses.push_back(loss);
  norms.push_back(norm);
  milliseconds.push_back(last.stepMilliseconds);
  if (!std::isfinite(loss) || !std::isfinite(norm))
    return createStringError(
        formatv("step {0}: the loss is {1}, the norm of the gradients {2}; try "
                "a lower --learning-rate",
                number, loss, norm)
            .str());
  if (checkReplicas)
    if (Error error = session.checkReplicas())
      return createStringError("step " + Twine(number) + ": " +
                               toString(std::move(error)));
  return Error::success();
}

Error Trainer::run(int64_t begin) {
  Progress progress(errs(), training.steps, begin);
  for (int64_t number = begin + 1; number <= training.steps; ++number) {
    if (Error error = step(number))
      return error;
    progress.report(number, losses.back(), rate.at(number), inputIds.size());
    bool isLast = number == training.steps;
    if (!checkpointDir.empty() &&
        (isLast || (training.saveEvery && number % training.saveEvery == 0)))
      if (Error error = save(session, number, options.run.seed))
        return error;
  }
  return Error::success();
}

/// With the model's configuration, so that the folder is a model's.
static Error createCheckpointDir(const ModelOptions &model) {
  if (checkpointDir.empty())
    return Error::success();
  if (std::error_code error = sys::fs::create_directories(checkpointDir))
    return createStringError("cannot create " + checkpointDir + ": " +
                             error.message());
  SmallString<128> config(model.folder);
  if (sys::fs::is_directory(config))
    sys::path::append(config, "config.json");
  auto text = MemoryBuffer::getFile(config);
  if (!text)
    return createStringError(config + ": " + text.getError().message());
  return writeFileAtomically(inCheckpointDir("config.json"),
                             (*text)->getBuffer());
}

Error sp::runTrain() {
  Expected<CommonOptions> options = getCommonOptions();
  if (!options)
    return options.takeError();
  Expected<ModelOptions> model = getModelOptions();
  if (!model)
    return model.takeError();
  if (Error error = applyTrainingOptions(*model, *options))
    return error;
  Expected<TrainingOptions> training = getTrainingOptions();
  if (!training)
    return training.takeError();
  Expected<LearningRate> rate =
      LearningRate::parse(schedule, training->learningRate, training->steps);
  if (!rate)
    return usageError("--schedule: " + toString(rate.takeError()));
  auto batches = TrainingBatches::create(*model, options->run.seed);
  if (!batches)
    return batches.takeError();
  if (Error error = createCheckpointDir(*model))
    return error;

  ProgramOptions program;
  program.training = true;
  program.logits = false;
  program.batchSize = (*batches)->batchSize;
  program.seqLen = (*batches)->seqLen;
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto module = buildModel(*context, *model, program, [&](auto &pm) {
    TrainStepOptions step;
    applyMemoryOptions(step);
    step.accumulationSteps = training->accumulationSteps;
    step.weightDecay = training->weightDecay;
    step.maxNorm = training->maxNorm;
    buildTrainStepPipeline(pm, step);
  });
  if (!module)
    return module.takeError();
  auto compiled = compileProgram(**module, {});
  if (!compiled)
    return compiled.takeError();
  noteSharedCores((*compiled)->getProgram(), *options);
  auto session = Session::create(**compiled);
  if (!session)
    return session.takeError();

  int64_t begin = 0;
  if (resume) {
    Expected<int64_t> step = restore(**session, options->run.seed);
    if (!step)
      return step.takeError();
    begin = *step;
    if (begin >= training->steps)
      return createStringError("the state in " + checkpointDir +
                               " is of step " + Twine(begin) +
                               "; there is nothing to do up to "
                               "--steps=" +
                               Twine(training->steps));
  } else {
    RunRequest request;
    request.weights = model->folder;
    request.tiedHead = model->config.tiedEmbeddings;
    if (Error error = loadParameters(**session, (*compiled)->getProgram(),
                                     request, *options))
      return error;
  }

  Trainer trainer(**session, **batches, *training, *rate, *options);
  if (Error error = trainer.run(begin))
    return error;
  if (!options->out.empty()) {
    auto all = (*session)->gatherArguments(std::nullopt);
    if (!all)
      return all.takeError();
    if (Error error = writeSafetensors(options->out, *all))
      return error;
  }
  llvm::sort(trainer.milliseconds);
  trainer.last.stepMilliseconds =
      trainer.milliseconds[trainer.milliseconds.size() / 2];
  Report report{**compiled,
                trainer.last,
                trainer.losses.back(),
                trainer.norms.back(),
                (*batches)->batchSize * (*batches)->seqLen *
                    training->accumulationSteps,
                model->sequenceParallel,
                trainer.losses,
                trainer.norms};
  if (!options->json.empty())
    if (Error error = report.writeJSON(options->json))
      return error;
  report.print(outs());
  return Error::success();
}
