//===- Report.h - what a run printed and wrote ------------------*- C++ -*-===//

#ifndef SP_TOOLS_SPRUN_REPORT_H
#define SP_TOOLS_SPRUN_REPORT_H

#include "sp/Execution/Session.h"

namespace sp {

/// A finished run, for people and for scripts.
struct Report {
  const CompiledProgram &compiled;
  const RunReport &run;
  /// None if the program has no such result.
  std::optional<double> loss, gradNorm;
  /// Tokens per run; none if the program has no `input_ids`.
  std::optional<int64_t> tokens;
  /// How the program was made, where this run made it.
  std::optional<bool> sequenceParallel;
  /// Of a training run, before each step.
  std::vector<double> losses = {}, gradNorms = {};

  void print(llvm::raw_ostream &os) const;
  llvm::Error writeJSON(llvm::StringRef path) const;

private:
  std::optional<double> getTokensPerSecond() const;
};

} // namespace sp

#endif // SP_TOOLS_SPRUN_REPORT_H
