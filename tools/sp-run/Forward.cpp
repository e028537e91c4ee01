//===- Forward.cpp - runs a model's forward pass on a batch ---------------===//

#include "Model.h"
#include "Run.h"

using namespace llvm;
using namespace sp;

static cl::opt<bool> dumpHidden("dump-hidden", cl::sub(getForwardCommand()),
                                cl::desc("write the hidden states, too"));

Error sp::runForward() {
  Expected<CommonOptions> options = getCommonOptions();
  if (!options)
    return options.takeError();
  Expected<ModelOptions> model = getModelOptions();
  if (!model)
    return model.takeError();
  ProgramOptions program;
  program.hidden = dumpHidden;
  return runModelOnBatch(*model, *options, program);
}
