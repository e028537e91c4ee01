//===- sp-run.cpp - runs sharded programs ---------------------------------===//
//
// Exit codes: 0 good, 1 the run failed, 2 bad usage.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace sp;

namespace {
struct Command {
  cl::SubCommand &options;
  Error (*run)();
};
} // namespace

static const Command commands[] = {
    {getForwardCommand(), runForward}, {getGradCommand(), runGrad},
    {getTrainCommand(), runTrain},     {getExecCommand(), runExec},
    {getReportCommand(), runReport},   {getDoctorCommand(), runDoctor},
};

static std::string listCommands() {
  std::string list;
  for (const Command &command : commands)
    list += (list.empty() ? "" : ", ") + command.options.getName().str();
  return list;
}

/// cl's own messages name the tool and the help page; one line is ours.
static Error parseCommandLine(int argc, char **argv) {
  StringRef first = argc > 1 ? argv[1] : "";
  if (first.empty())
    return usageError("no command given; the commands are: " + listCommands());
  bool known = any_of(commands, [&](const Command &command) {
    return command.options.getName() == first;
  });
  if (!known && !first.starts_with("-"))
    return usageError("unknown command `" + first +
                      "`; the commands are: " + listCommands());

  std::string text;
  raw_string_ostream os(text);
  // LLVM's own options, which libraries register, are not for this tool's
  // users.
  static cl::OptionCategory none("sp-run options");
  cl::HideUnrelatedOptions(none);
  if (cl::ParseCommandLineOptions(
          argc, argv,
          "sp-run: runs models and programs on tensor- and sequence-parallel "
          "ranks\n\n"
          "  sp-run forward --model DIR --batch batch.safetensors --mesh tp=2 "
          "--out out.safetensors\n"
          "  sp-run grad    --model DIR --batch batch.safetensors --mesh tp=2 "
          "--out out.safetensors\n"
          "  sp-run train   --model DIR --data tokens.bin --mesh tp=2 --steps "
          "100 "
          "--checkpoint-dir OUT\n"
          "  sp-opt model.mlir --sp-parallelize=tp=2 | sp-run exec - --inputs "
          "batch.safetensors --weights DIR\n"
          "  sp-run report  --model DIR|config.json --mesh tp=2 --batch-size 4 "
          "--seq-len 340 --out report.html\n",
          &os)) {
    if (!known)
      return usageError("no command given; the commands are: " +
                        listCommands());
    return Error::success();
  }
  StringRef message = StringRef(text).trim().split('\n').first;
  message.consume_front(StringRef(argv[0]));
  message.consume_front("sp-run");
  message.consume_front(":");
  // What it says about an option's value, cl writes to stderr itself.
  if (message.trim().empty())
    return usageError("an option cannot take its value, as said above");
  return usageError(message.trim());
}

static Error runCommand() {
  for (const Command &command : commands)
    if (command.options)
      return command.run();
  llvm_unreachable("the command line names a command");
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  Error error = parseCommandLine(argc, argv);
  if (!error)
    error = runCommand();
  if (!error)
    return 0;
  int code = error.isA<UsageError>() ? 2 : 1;
  logAllUnhandledErrors(std::move(error), errs(), "sp-run: error: ");
  return code;
}
