//===- Pipelines.h - the pipelines of sp ----------------------------------===//

#ifndef SP_TRANSFORMS_PIPELINES_H
#define SP_TRANSFORMS_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace sp {

/// Options of `--sp-parallelize`.
struct ParallelizeOptions : mlir::PassPipelineOptions<ParallelizeOptions> {
  Option<int64_t> tp{*this, "tp",
                     llvm::cl::desc("number of tensor-parallel ranks"),
                     llvm::cl::init(1)};
  Option<std::string> head{
      *this, "head",
      llvm::cl::desc("the language model's head and loss: replicated, or "
                     "sharded on the vocab"),
      llvm::cl::init("replicated")};
  Option<bool> sequenceParallel{
      *this, "sequence-parallel",
      llvm::cl::desc("run token-local work on sequence shards"),
      llvm::cl::init(true)};
  Option<bool> sharedEntryGathers{
      *this, "shared-entry-gathers",
      llvm::cl::desc("one gather for all linears that read a value; false: the "
                     "textbook form, one per linear"),
      llvm::cl::init(true)};
  Option<bool> mergeLinears{
      *this, "merge-linears",
      llvm::cl::desc("one linear for those that read a value and have an equal "
                     "layout"),
      llvm::cl::init(false)};
  Option<std::string> objective{
      *this, "objective",
      llvm::cl::desc("of sequence parallelism: memory (and repeated work) or "
                     "bytes (sent) first"),
      llvm::cl::init("memory")};
  Option<int64_t> minTokens{
      *this, "min-tokens",
      llvm::cl::desc("with fewer tokens, stay tensor parallel"),
      llvm::cl::init(0)};
  Option<bool> padSequence{
      *this, "pad-sequence",
      llvm::cl::desc("pad a sequence that the ranks could not share"),
      llvm::cl::init(false)};
  Option<bool> requireAll{*this, "require-all",
                          llvm::cl::desc("fail if an all_reduce is not split"),
                          llvm::cl::init(false)};
};

/// Options of `--sp-train-step`, and, but for the optimizer's, of
/// `--sp-gradients`.
struct GradientOptions : mlir::PassPipelineOptions<GradientOptions> {
  Option<int64_t> accumulationSteps{
      *this, "accumulation-steps",
      llvm::cl::desc("micro-batches per optimizer step"), llvm::cl::init(1)};
  Option<std::string> recompute{
      *this, "recompute",
      llvm::cl::desc("what the backward pass may run again: none, gathers (of "
                     "sequence shards), all (cheap ops as well) or auto (all "
                     "under a budget in bytes, else gathers)"),
      llvm::cl::init("auto")};
  Option<std::string> activationBudget{
      *this, "activation-budget",
      llvm::cl::desc("activations to save for the backward pass: at most so "
                     "many bytes per rank, or min"),
      llvm::cl::init("min")};
  Option<bool> syncAtEnd{
      *this, "sync-at-end",
      llvm::cl::desc("one sum over ranks for all gradients; false: one for "
                     "each, where its summands are"),
      llvm::cl::init(true)};
};

struct TrainStepOptions : GradientOptions {
  Option<double> beta1{*this, "beta1",
                       llvm::cl::desc("AdamW: decay of the first moment"),
                       llvm::cl::init(0.9)};
  Option<double> beta2{*this, "beta2",
                       llvm::cl::desc("AdamW: decay of the second moment"),
                       llvm::cl::init(0.999)};
  Option<double> eps{*this, "eps",
                     llvm::cl::desc("AdamW: added to the root of the second "
                                    "moment"),
                     llvm::cl::init(1e-8)};
  Option<double> weightDecay{*this, "weight-decay",
                             llvm::cl::desc("AdamW: decoupled weight decay"),
                             llvm::cl::init(0.01)};
  Option<double> maxNorm{*this, "max-norm",
                         llvm::cl::desc("greatest norm of the gradients; 0: no "
                                        "clipping"),
                         llvm::cl::init(1.0)};
};

/// From an unsharded program to a tensor- and sequence-parallel one, verified
/// after every phase. Tensors keep their global shapes.
void buildParallelizePipeline(mlir::OpPassManager &pm,
                              const ParallelizeOptions &options);

/// From a program with a loss, unsharded or parallel, to one that also returns
/// the gradient of every parameter; verified after every phase.
void buildGradientPipeline(mlir::OpPassManager &pm,
                           const GradientOptions &options);

/// From a program with a loss to one optimizer step, `@train_step`.
void buildTrainStepPipeline(mlir::OpPassManager &pm,
                            const TrainStepOptions &options);

/// Registers `--sp-parallelize`, `--sp-gradients` and `--sp-train-step`.
void registerPipelines();

} // namespace sp

#endif // SP_TRANSFORMS_PIPELINES_H
