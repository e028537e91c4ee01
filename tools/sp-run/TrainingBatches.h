//===- TrainingBatches.h - what each micro-batch is -------------*- C++ -*-===//

#ifndef SP_TOOLS_SPRUN_TRAININGBATCHES_H
#define SP_TOOLS_SPRUN_TRAININGBATCHES_H

#include "Model.h"

namespace sp {

/// The micro-batches of a training run, by their number from its start.
class TrainingBatches {
public:
  /// From `--data` or `--batches`, as the command line says.
  static llvm::Expected<std::unique_ptr<TrainingBatches>>
  create(const ModelOptions &model, uint64_t seed);
  virtual ~TrainingBatches() = default;

  int64_t batchSize = 0, seqLen = 0;

  /// Writes [batchSize, seqLen] tokens and labels.
  virtual llvm::Error read(int64_t number, int64_t *inputIds,
                           int64_t *labels) = 0;
};

} // namespace sp

#endif // SP_TOOLS_SPRUN_TRAININGBATCHES_H
