//===- Progress.h - how far a training is -----------------------*- C++ -*-===//

#ifndef SP_TRAINING_PROGRESS_H
#define SP_TRAINING_PROGRESS_H

#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace sp {

/// One line about the last step: on a terminal it is drawn again at each step,
/// elsewhere it is printed now and then and at the end.
class Progress {
public:
  /// The steps up to `begin` were done before.
  Progress(llvm::raw_ostream &os, int64_t steps, int64_t begin);

  /// `step` counts from 1; `tokens` are those of one step.
  void report(int64_t step, double loss, double learningRate, int64_t tokens);

private:
  using Clock = std::chrono::steady_clock;

  llvm::raw_ostream &os;
  int64_t steps, begin;
  bool isTerminal;
  Clock::time_point start, printed;
};

} // namespace sp

#endif // SP_TRAINING_PROGRESS_H
