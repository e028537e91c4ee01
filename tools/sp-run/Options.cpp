//===- Options.cpp - the command line of sp-run ---------------------------===//

#include "Model.h"
#include "sp/Transforms/Pipelines.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace sp;

char UsageError::ID;

cl::SubCommand &sp::getForwardCommand() {
  static cl::SubCommand command("forward",
                                "runs a model's forward pass on a batch");
  return command;
}

cl::SubCommand &sp::getGradCommand() {
  static cl::SubCommand command("grad",
                                "a model's loss and gradients on a batch");
  return command;
}

cl::SubCommand &sp::getTrainCommand() {
  static cl::SubCommand command("train", "trains a model on a token file");
  return command;
}

cl::SubCommand &sp::getExecCommand() {
  static cl::SubCommand command("exec", "runs a program made by sp-opt");
  return command;
}

cl::SubCommand &sp::getReportCommand() {
  static cl::SubCommand command(
      "report",
      "writes one HTML page about a training step: what each rank holds and "
      "sends, with tensor and with sequence parallelism");
  return command;
}

cl::SubCommand &sp::getDoctorCommand() {
  static cl::SubCommand command("doctor", "says what this machine offers");
  return command;
}

#define RUN_COMMANDS                                                           \
  cl::sub(getForwardCommand()), cl::sub(getGradCommand()),                     \
      cl::sub(getTrainCommand()), cl::sub(getExecCommand())
#define TRAINING_COMMANDS cl::sub(getGradCommand()), cl::sub(getTrainCommand())
/// Those that choose what is saved for the backward pass.
#define BACKWARD_COMMANDS TRAINING_COMMANDS, cl::sub(getReportCommand())

static cl::opt<std::string> out("out", RUN_COMMANDS,
                                cl::desc("file for the results"),
                                cl::value_desc("out.safetensors"));
static cl::opt<std::string> json("json", RUN_COMMANDS,
                                 cl::desc("file for the measurements"),
                                 cl::value_desc("file.json"));
static cl::opt<std::string> device("device", RUN_COMMANDS,
                                   cl::desc("cpu (default)"), cl::init("cpu"));
static cl::opt<std::string>
    comm("comm", RUN_COMMANDS, cl::desc("local (default)"), cl::init("local"));
static cl::opt<std::string>
    threadsPerRank("threads-per-rank", RUN_COMMANDS,
                   cl::desc("threads of each rank (default 1)"),
                   cl::value_desc("N"), cl::init("1"));
static cl::opt<std::string>
    randomWeights("random-weights", RUN_COMMANDS,
                  cl::desc("initial values from a seed instead of a file"),
                  cl::value_desc("SEED"));
static cl::opt<std::string>
    timeout("timeout", RUN_COMMANDS,
            cl::desc("how long ranks wait for each other (default: "
                     "SP_COMM_TIMEOUT_SECONDS, or 60)"),
            cl::value_desc("SECONDS"));
static cl::opt<std::string> dropout(
    "dropout", TRAINING_COMMANDS,
    cl::desc("probability of dropout (default: the model's configuration)"),
    cl::value_desc("P"));
static cl::opt<std::string>
    seed("seed", TRAINING_COMMANDS,
         cl::desc("of dropout and of the order of the data (default 0)"),
         cl::value_desc("N"), cl::init("0"));
static cl::opt<std::string> recompute(
    "recompute", BACKWARD_COMMANDS,
    cl::desc("what the backward pass may run again to save memory: none, "
             "gathers (of sequence shards, and keys and values that ranks hold "
             "alike), all (cheap ops as well) or auto (default: all under a "
             "budget in bytes, else gathers)"),
    cl::value_desc("KIND"), cl::init("auto"));
static cl::opt<std::string> activationBudget(
    "activation-budget", BACKWARD_COMMANDS,
    cl::desc("activations to save for the backward pass: at most so many bytes "
             "per rank, such as 64MiB, or min (default)"),
    cl::value_desc("BYTES"), cl::init("min"));
static cl::opt<std::string>
    repeat("repeat", cl::sub(getForwardCommand()), cl::sub(getGradCommand()),
           cl::sub(getExecCommand()),
           cl::desc("run N times and report the median time (default 1)"),
           cl::value_desc("N"), cl::init("1"));

Expected<MeshSizes> sp::parseMesh(StringRef text) {
  MeshSizes sizes;
  SmallVector<StringRef> axes;
  text.split(axes, ',');
  llvm::SmallVector<StringRef> seen;
  for (StringRef axis : axes) {
    auto [name, value] = axis.split('=');
    if (name != "tp")
      return usageError("--mesh " + text + ": unknown axis `" + name +
                        "`; the axes are: tp");
    if (is_contained(seen, name))
      return usageError("--mesh " + text + ": axis `" + name +
                        "` is given twice");
    seen.push_back(name);
    int64_t size;
    if (value.getAsInteger(10, size) || size < 1)
      return usageError("--mesh " + text + ": the size of `" + name +
                        "` must be a number of at least 1, not `" + value +
                        "`");
    sizes.tp = size;
  }
  return sizes;
}

Expected<int64_t> sp::parsePositive(StringRef option, StringRef text) {
  int64_t value;
  if (text.getAsInteger(10, value) || value < 1)
    return usageError(option + " must be a number of at least 1, not `" + text +
                      "`");
  return value;
}

void sp::applyMemoryOptions(GradientOptions &options) {
  options.recompute = recompute;
  options.activationBudget = activationBudget;
}

Error sp::applyTrainingOptions(ModelOptions &model, CommonOptions &options) {
  if (dropout.getNumOccurrences()) {
    double p;
    if (!to_float(dropout.getValue(), p) || !(p >= 0 && p < 1))
      return usageError("--dropout must be a number of at least 0 and below 1, "
                        "not `" +
                        dropout + "`");
    model.config.dropout = p;
  }
  if (StringRef(seed).getAsInteger(10, options.run.seed))
    return usageError("--seed must be a number, not `" + seed + "`");
  return Error::success();
}

Expected<CommonOptions> sp::getCommonOptions() {
  CommonOptions options;
  options.out = out;
  options.json = json;

  if (device == "cuda")
    return usageError("--device cuda: not available in this build");
  if (device != "cpu")
    return usageError("--device " + device + ": unknown device; use cpu");
  if (comm == "mpi" || comm == "nccl")
    return usageError("--comm " + comm + ": not available in this build");
  if (comm != "local")
    return usageError("--comm " + comm + ": unknown communicator; use local");

  Expected<int64_t> threads =
      parsePositive("--threads-per-rank", threadsPerRank);
  if (!threads)
    return threads.takeError();
  options.run.threadsPerRank = *threads;
  Expected<int64_t> runs = parsePositive("--repeat", repeat);
  if (!runs)
    return runs.takeError();
  options.run.repeat = *runs;
  if (timeout.getNumOccurrences()) {
    double seconds;
    if (!to_float(timeout.getValue(), seconds) || !(seconds > 0))
      return usageError("--timeout must be a number of seconds above 0, not `" +
                        timeout + "`");
    options.run.timeoutSeconds = seconds;
  }
  if (randomWeights.getNumOccurrences()) {
    uint64_t seed;
    if (StringRef(randomWeights).getAsInteger(10, seed))
      return usageError("--random-weights needs a number, not `" +
                        randomWeights + "`");
    options.randomWeights = seed;
  }
  return options;
}
