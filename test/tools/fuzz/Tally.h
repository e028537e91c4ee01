//===- Tally.h - How many runs agreed, and why others did not ---*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_TALLY_H
#define SP_TEST_TOOLS_FUZZ_TALLY_H

#include "Check.h"

#include "llvm/Support/raw_ostream.h"

namespace sp::test {

class Tally {
public:
  void addProgram() { ++numPrograms; }
  void add(const Form &form, const Outcome &outcome);
  /// A program that cannot be compared with.
  void addFailure(const Outcome &outcome);

  void print(llvm::raw_ostream &os) const;
  int64_t getNumFailed() const { return numFailed; }
  /// Of the runs that were to split all-reduces, the part that did, and agreed.
  double getSplitFraction() const;

private:
  int64_t numPrograms = 0, numRuns = 0, numAgreed = 0, numRefused = 0,
          numFailed = 0;
  int64_t numTensors = 0, numTolerant = 0;
  int64_t numSabotaged = 0, numDetected = 0;
  /// Runs with sequence parallelism.
  int64_t numSequential = 0, numWithSplit = 0;
  /// Of all runs that agree, but reductions only of those with sequence
  /// parallelism.
  Coverage coverage;
  std::map<std::string, int64_t> refusals, failures;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_TALLY_H
