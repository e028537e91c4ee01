//===- ReportCommand.cpp - a page about what TP and SP do to a model ------===//

#include "Model.h"
#include "sp/IO/AtomicFile.h"
#include "sp/Report/Page.h"
#include "sp/Transforms/Pipelines.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace sp;

static cl::opt<std::string> batchSize("batch-size", cl::sub(getReportCommand()),
                                      cl::desc("rows of a batch (default 4)"),
                                      cl::value_desc("B"), cl::init("4"));
static cl::opt<std::string> seqLen("seq-len", cl::sub(getReportCommand()),
                                   cl::desc("tokens of a row (default 340)"),
                                   cl::value_desc("S"), cl::init("340"));
static cl::opt<std::string>
    out("out", cl::sub(getReportCommand()),
        cl::desc("file for the page (default report.html)"),
        cl::value_desc("report.html"), cl::init("report.html"));

/// A folder's name; of "DIR/config.json", too.
static std::string getModelName(StringRef path) {
  SmallString<128> absolute(path);
  sys::fs::make_absolute(absolute);
  sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  if (sys::path::filename(absolute) == "config.json")
    sys::path::remove_filename(absolute);
  while (absolute.size() > 1 && sys::path::is_separator(absolute.back()))
    absolute.pop_back();
  return sys::path::filename(absolute).str();
}

/// Compiles one training step, as `sp-run train` would, and describes it.
static Expected<ProgramReport> describeStep(mlir::MLIRContext &context,
                                            ModelOptions model,
                                            ProgramOptions program,
                                            bool sequenceParallel) {
  model.sequenceParallel = sequenceParallel;
  // Remarks belong to the page, errors to the terminal.
  std::vector<std::string> remarks;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
          return mlir::failure();
        std::string text;
        raw_string_ostream os(text);
        if (auto name = dyn_cast<mlir::NameLoc>(diagnostic.getLocation()))
          os << name.getName().getValue() << ": ";
        os << diagnostic;
        remarks.push_back(std::move(text));
        return mlir::success();
      });
  auto module = buildModel(context, model, program, [](auto &pm) {
    TrainStepOptions step;
    applyMemoryOptions(step);
    buildTrainStepPipeline(pm, step);
  });
  if (!module)
    return module.takeError();
  Expected<ProgramReport> report =
      describeProgram(**module, sequenceParallel ? "TP+SP" : "TP");
  if (report)
    report->remarks = std::move(remarks);
  return report;
}

Error sp::runReport() {
  Expected<ModelOptions> model = getModelOptions();
  if (!model)
    return model.takeError();
  Expected<int64_t> rows = parsePositive("--batch-size", batchSize);
  if (!rows)
    return rows.takeError();
  Expected<int64_t> tokens = parsePositive("--seq-len", seqLen);
  if (!tokens)
    return tokens.takeError();

  ProgramOptions program;
  program.training = true;
  program.logits = false;
  program.batchSize = *rows;
  program.seqLen = *tokens;
  program.dtype = model->dtype;
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::vector<ProgramReport> programs;
  for (bool sequenceParallel : {false, true}) {
    if (sequenceParallel && !model->sequenceParallel)
      continue;
    Expected<ProgramReport> report =
        describeStep(*context, *model, program, sequenceParallel);
    if (!report)
      return report.takeError();
    programs.push_back(std::move(*report));
  }

  PageHeader header;
  header.model = getModelName(model->folder);
  header.mesh = formatv("tp={0}", model->mesh.tp);
  header.dtype = StringRef(dtypeName(model->dtype)).lower();
  header.batchSize = *rows;
  header.seqLen = *tokens;
  header.hiddenSize = model->config.hiddenSize;
  header.numLayers = model->config.numLayers;
  header.elementBytes = byteSize(model->dtype);
  if (Error error = writeFileAtomically(out, renderPage(header, programs)))
    return error;
  outs() << "wrote " << out << "\n";
  return Error::success();
}
