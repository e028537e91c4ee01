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
  Option<bool> sequenceParallel{
      *this, "sequence-parallel",
      llvm::cl::desc("run token-local work on sequence shards"),
      llvm::cl::init(true)};
  Option<bool> sharedEntryGathers{
      *this, "shared-entry-gathers",
      llvm::cl::desc("one gather for all linears that read a value; false: the "
                     "textbook form, one per linear"),
      llvm::cl::init(true)};
  Option<bool> requireAll{*this, "require-all",
                          llvm::cl::desc("fail if an all_reduce is not split"),
                          llvm::cl::init(false)};
};

/// From an unsharded program to a tensor- and sequence-parallel one, verified
/// after every phase. Tensors keep their global shapes.
void buildParallelizePipeline(mlir::OpPassManager &pm,
                              const ParallelizeOptions &options);

/// Registers `--sp-parallelize`.
void registerPipelines();

} // namespace sp

#endif // SP_TRANSFORMS_PIPELINES_H
