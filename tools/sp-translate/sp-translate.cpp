//===- sp-translate.cpp - imports models as MLIR programs -----------------===//

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "sp/IO/AtomicFile.h"
#include "sp/Import/HuggingFace.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace sp;

static cl::OptionCategory category("sp-translate options");

static cl::opt<std::string>
    importHF("import-hf", cl::cat(category),
             cl::desc("Hugging Face configuration: a folder with config.json, "
                      "the file itself, or - for standard input"),
             cl::value_desc("DIR|config.json"));
static cl::opt<int64_t> batchSize("batch-size", cl::cat(category),
                                  cl::desc("rows of a batch (default 1)"),
                                  cl::init(1));
static cl::opt<int64_t> seqLen("seq-len", cl::cat(category),
                               cl::desc("tokens of a row"), cl::init(0));
static cl::opt<DType>
    dtype("dtype", cl::cat(category),
          cl::desc("type of parameters and activations (default f32)"),
          cl::values(clEnumValN(DType::F32, "f32", "single precision"),
                     clEnumValN(DType::BF16, "bf16", "brain float"),
                     clEnumValN(DType::F64, "f64", "double precision")),
          cl::init(DType::F32));
static cl::list<std::string>
    outputs("outputs", cl::cat(category), cl::CommaSeparated,
            cl::desc("results of the program: loss, logits, hidden (every "
                     "hidden state); default loss,logits"),
            cl::value_desc("NAME,..."));
static cl::opt<bool>
    training("training", cl::cat(category),
             cl::desc("the program in training: with dropout, and with f32 "
                      "parameters if --dtype is bf16"));
static cl::opt<bool> debugInfo("locations", cl::cat(category),
                               cl::desc("print each op's model module"));
static cl::opt<std::string> output("o", cl::cat(category),
                                   cl::desc("output file (default -)"),
                                   cl::value_desc("model.mlir"), cl::init("-"));

static constexpr const char kOverview[] =
    R"(sp-translate: a model's configuration as an unsharded MLIR program

  sp-translate --import-hf configs/minimind3 --batch-size 2 --seq-len 340 -o model.mlir

writes @forward: input_ids and labels [B,S] and the parameters, under their names in
the checkpoint, to the loss and the logits [B,S,V]. It is the program in evaluation,
without dropout, unless --training is given. No weights are read. What to do with it:

  sp-opt model.mlir --sp-parallelize="tp=2 sequence-parallel=true" -o parallel.mlir

Exit codes: 0 good, 1 the configuration cannot be imported, 2 bad usage.
)";

static void printVersion(raw_ostream &os) {
  os << "sp-translate " << SP_VERSION << " (LLVM " << LLVM_VERSION_STRING
     << ")\n";
}

/// Exit codes: 1 the import failed, 2 bad usage.
static int fail(const Twine &message, int code) {
  WithColor::error(errs(), "sp-translate") << message << "\n";
  return code;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  std::string usage;
  raw_string_ostream errors(usage);
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &errors))
    // About a value that does not parse, LLVM has already written its message.
    return usage.empty() ? 2 : fail(StringRef(usage).trim(), 2);

  if (importHF.empty())
    return fail("nothing to import; give --import-hf DIR|config.json", 2);
  if (batchSize < 1)
    return fail("--batch-size is " + Twine(batchSize) + ", must be at least 1",
                2);
  if (seqLen < 1)
    return fail(seqLen.getNumOccurrences()
                    ? "--seq-len is " + Twine(seqLen) + ", must be at least 1"
                    : Twine("--seq-len is needed: the tokens of a row"),
                2);
  ProgramOptions options;
  options.batchSize = batchSize;
  options.seqLen = seqLen;
  options.dtype = dtype;
  options.training = training;
  if (outputs.getNumOccurrences()) {
    options.loss = options.logits = false;
    for (const std::string &name : outputs) {
      if (name == "loss")
        options.loss = true;
      else if (name == "logits")
        options.logits = true;
      else if (name == "hidden")
        options.hidden = true;
      else
        return fail("--outputs: unknown name `" + name +
                        "`; known are loss, logits, hidden",
                    2);
    }
  }

  Expected<DecoderConfig> config = readHuggingFaceConfig(importHF);
  if (!config)
    return fail(toString(config.takeError()), 1);
  mlir::MLIRContext context;
  auto module = buildDecoderProgram(context, *config, options);
  if (!module)
    return fail(importHF + ": " + toString(module.takeError()), 1);

  std::string text;
  raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  if (debugInfo)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  (*module)->print(os, flags);
  if (output == "-") {
    outs() << text;
    outs().flush();
    std::error_code error = outs().error();
    outs().clear_error();
    return error ? fail("<stdout>: " + error.message(), 1) : 0;
  }
  if (Error error = writeFileAtomically(output, text))
    return fail(toString(std::move(error)), 1);
  return 0;
}
