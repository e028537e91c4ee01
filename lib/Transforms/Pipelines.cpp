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
  SPTensorParallelOptions tensor;
  tensor.size = options.tp;
  tensor.head = options.head;
  pm.addPass(createSPTensorParallel(tensor));
  // ... and no phase hands a wrong program to the next.
  pm.addPass(createSPVerifyLayouts());
  if (options.sequenceParallel) {
    if (options.padSequence) {
      SPPadSequenceOptions pad;
      pad.minTokens = options.minTokens;
      pm.addPass(createSPPadSequence(pad));
      pm.addPass(createSPVerifyLayouts());
    }
    SPSequenceParallelOptions sequence;
    sequence.objective = options.objective;
    sequence.minTokens = options.minTokens;
    sequence.requireAll = options.requireAll;
    pm.addPass(createSPSequenceParallel(sequence));
    pm.addPass(createSPVerifyLayouts());
  }
  // After sequence parallelism, which turns copies into the gathers to share.
  if (options.sharedEntryGathers) {
    pm.addPass(createSPOptimizeCollectives());
    pm.addPass(createSPVerifyLayouts());
  }
  // After that, which makes linears read one value.
  if (options.mergeLinears) {
    pm.addPass(createSPMergeLinears());
    pm.addPass(createSPVerifyLayouts());
  }
}

void sp::buildGradientPipeline(OpPassManager &pm,
                               const GradientOptions &options) {
  pm.addPass(createSPVerifyLayouts());
  pm.addPass(createSPDifferentiate());
  pm.addPass(createSPVerifyLayouts());
  // Before accumulation, which repeats whatever this decides.
  pm.addPass(
      createSPRematerialize({options.recompute, options.activationBudget}));
  pm.addPass(createSPVerifyLayouts());
  if (options.accumulationSteps != 1) {
    pm.addPass(createSPAccumulateGradients({options.accumulationSteps}));
    pm.addPass(createSPVerifyLayouts());
  }
  // After accumulation: once per optimizer step, not once per micro-batch.
  if (options.syncAtEnd) {
    pm.addPass(createSPSyncGradients());
    pm.addPass(createSPVerifyLayouts());
  }
}

void sp::buildTrainStepPipeline(OpPassManager &pm,
                                const TrainStepOptions &options) {
  buildGradientPipeline(pm, options);
  pm.addPass(createSPAddOptimizer({options.beta1, options.beta2, options.eps,
                                   options.weightDecay, options.maxNorm}));
  pm.addPass(createSPVerifyLayouts());
}

void sp::registerPipelines() {
  PassPipelineRegistration<ParallelizeOptions>(
      "sp-parallelize",
      "tensor and sequence parallelism on an unsharded program",
      buildParallelizePipeline);
  PassPipelineRegistration<GradientOptions>(
      "sp-gradients",
      "the gradient of every parameter of a program with a loss",
      buildGradientPipeline);
  PassPipelineRegistration<TrainStepOptions>(
      "sp-train-step",
      "one optimizer step of a program with a loss: gradients, clipping, AdamW",
      buildTrainStepPipeline);
}
