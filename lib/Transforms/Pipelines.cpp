//===- Pipelines.cpp - the pipelines of sp --------------------------------===//

#include "sp/Transforms/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "sp/Transforms/Passes.h"

using namespace mlir;
using namespace sp;

void sp::buildParallelizePipeline(OpPassManager &pm,
                                  const ParallelizeOptions &options) {
  // Nothing wrong goes in ...
  pm.addPass(createSPVerifyLayouts());
  pm.addPass(createSPTensorParallel({/*size=*/options.tp}));
  // ... and no phase hands a wrong program to the next.
  pm.addPass(createSPVerifyLayouts());
  if (options.sequenceParallel) {
    SPSequenceParallelOptions sequence;
    sequence.requireAll = options.requireAll;
    pm.addPass(createSPSequenceParallel(sequence));
    pm.addPass(createSPVerifyLayouts());
  }
  // After sequence parallelism, which turns copies into the gathers to share.
  if (options.sharedEntryGathers) {
    pm.addPass(createSPOptimizeCollectives());
    pm.addPass(createSPVerifyLayouts());
  }
}

void sp::registerPipelines() {
  PassPipelineRegistration<ParallelizeOptions>(
      "sp-parallelize",
      "tensor and sequence parallelism on an unsharded program",
      buildParallelizePipeline);
}
