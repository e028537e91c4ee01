//===- LearningRate.h - schedules of the learning rate ----------*- C++ -*-===//

#ifndef SP_TRAINING_LEARNINGRATE_H
#define SP_TRAINING_LEARNINGRATE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sp {

/// The learning rate of each optimizer step.
class LearningRate {
public:
  /// `schedule` is "constant", or "cosine": MiniMind's, which falls from `base`
  /// to a tenth of it over `totalSteps`, base * (0.1 + 0.45 * (1 + cos(pi *
  /// step / totalSteps))). Another name is an error that lists these.
  static llvm::Expected<LearningRate> parse(llvm::StringRef schedule,
                                            double base, int64_t totalSteps);

  /// `step` counts from 1.
  double at(int64_t step) const;

private:
  enum class Kind { Constant, Cosine };

  LearningRate(Kind kind, double base, int64_t totalSteps)
      : kind(kind), base(base), totalSteps(totalSteps) {}

  Kind kind;
  double base;
  int64_t totalSteps;
};

} // namespace sp

#endif // SP_TRAINING_LEARNINGRATE_H
