//===- Grad.cpp - a model's gradients on a batch --------------------------===//

#include "Model.h"
#include "Run.h"
#include "sp/Transforms/Pipelines.h"

using namespace llvm;
using namespace sp;

static cl::opt<bool>
    syncAtEnd("sync-at-end", cl::sub(getGradCommand()),
              cl::desc("sum all gradients over ranks at once (default true)"),
              cl::init(true));

Error sp::runGrad() {
  Expected<CommonOptions> options = getCommonOptions();
  if (!options)
    return options.takeError();
  Expected<ModelOptions> model = getModelOptions();
  if (!model)
    return model.takeError();
  if (Error error = applyTrainingOptions(*model, *options))
    return error;
  ProgramOptions program;
  program.training = true;
  return runModelOnBatch(*model, *options, program, [](auto &pm) {
    GradientOptions gradient;
    gradient.syncAtEnd = syncAtEnd;
    applyMemoryOptions(gradient);
    buildGradientPipeline(pm, gradient);
  });
}
