//===- Run.cpp - compiles and runs a program, and reports -----------------===//

#include "Run.h"
#include "Report.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace sp;

/// Gives `session` the parameters that the command line names.
static Error loadParameters(Session &session, const Program &program,
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

static std::optional<int64_t> countTokens(const Program &program) {
  for (const ProgramTensor &argument : program.arguments)
    if (argument.role == ProgramTensor::Role::Input &&
        argument.name == "input_ids")
      return product_of(argument.globalShape);
  return std::nullopt;
}

Error sp::runProgram(const RunRequest &request, const CommonOptions &options) {
  CompileOptions compileOptions;
  compileOptions.entry = request.entry;
  auto compiled = compileProgram(request.module, compileOptions);
  if (!compiled)
    return compiled.takeError();
  const Program &program = (*compiled)->getProgram();

  int64_t cores = hardware_concurrency().compute_thread_count();
  if (program.numRanks() * options.run.threadsPerRank > cores)
    errs() << "sp-run: note: " << program.numRanks() << " ranks of "
           << options.run.threadsPerRank << " threads share " << cores
           << " cores\n";

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
  Report report{**compiled, *run, *results, countTokens(program),
                request.sequenceParallel};
  if (!options.json.empty())
    if (Error error = report.writeJSON(options.json))
      return error;
  report.print(outs());
  return Error::success();
}
