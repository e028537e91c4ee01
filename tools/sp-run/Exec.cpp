//===- Exec.cpp - runs a program made by sp-opt ---------------------------===//

#include "Run.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace sp;

static cl::opt<std::string> programPath(cl::Positional,
                                        cl::sub(getExecCommand()),
                                        cl::desc("PROGRAM.mlir|-"),
                                        cl::Required);
static cl::opt<std::string> inputs("inputs", cl::sub(getExecCommand()),
                                   cl::desc("file with the inputs, by name"),
                                   cl::value_desc("in.safetensors"));
static cl::opt<std::string>
    weights("weights", cl::sub(getExecCommand()),
            cl::desc("folder or file with the parameters"),
            cl::value_desc("DIR|file"));
static cl::opt<std::string> entry("entry", cl::sub(getExecCommand()),
                                  cl::desc("the function to run"),
                                  cl::value_desc("NAME"));

Error sp::runExec() {
  Expected<CommonOptions> options = getCommonOptions();
  if (!options)
    return options.takeError();
  if (!weights.empty() && options->randomWeights)
    return usageError("--weights and --random-weights exclude each other");

  std::string message;
  auto buffer = mlir::openInputFile(programPath, &message);
  if (!buffer)
    return createStringError(message);
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto sources = std::make_shared<SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), SMLoc());
  mlir::SourceMgrDiagnosticHandler diagnostics(*sources, context.get());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, context.get());
  if (!module)
    return createStringError("cannot parse " + programPath);

  RunRequest request;
  request.module = *module;
  request.entry = entry;
  request.inputs = inputs;
  request.weights = weights;
  return runProgram(request, *options);
}
