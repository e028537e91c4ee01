//===- Tally.cpp - How many runs agreed, and why others did not -----------===//

#include "Tally.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace sp::test;
using llvm::StringRef;

void Tally::addFailure(const Outcome &outcome) {
  ++numFailed;
  ++failures[outcome.kind];
}

void Tally::add(const Form &form, const Outcome &outcome) {
  ++numRuns;
  numSabotaged += outcome.isSabotaged;
  numSequential += form.isSequenceParallel;
  switch (outcome.verdict) {
  case Verdict::Agrees:
    ++numAgreed;
    numTensors += outcome.numTensors;
    numTolerant += outcome.numTolerant;
    coverage.numLinears += outcome.coverage.numLinears;
    for (auto &[reason, count] : outcome.coverage.whole)
      coverage.whole[reason] += count;
    if (form.isSequenceParallel) {
      numWithSplit += outcome.coverage.numSplit > 0;
      coverage.numSplit += outcome.coverage.numSplit;
      coverage.numReductions += outcome.coverage.numReductions;
    }
    return;
  case Verdict::Refused:
    ++numRefused;
    ++refusals[outcome.kind];
    return;
  case Verdict::Fails:
    numDetected += outcome.isSabotaged;
    addFailure(outcome);
    return;
  }
}

double Tally::getSplitFraction() const {
  return numSequential == 0 ? 0
                            : static_cast<double>(numWithSplit) / numSequential;
}

void Tally::print(llvm::raw_ostream &os) const {
  auto list = [&](StringRef what,
                  const std::map<std::string, int64_t> &counts) {
    for (auto &[kind, count] : counts)
      os << "  " << what << ", " << count << " times: " << kind << "\n";
  };
  os << numPrograms << " programs, " << numRuns
     << " parallel runs: " << numAgreed << " agree, " << numRefused
     << " refused, " << numFailed << " failures\n";
  list("failure", failures);
  list("refused", refusals);
  os << numTensors << " tensors agree, " << numTolerant
     << " of them where rounding the parameters changes as much\n";
  int64_t numWhole = llvm::sum_of(llvm::make_second_range(coverage.whole));
  os << coverage.numLinears - numWhole << " of " << coverage.numLinears
     << " linears sharded\n";
  list("whole", coverage.whole);
  os << numWithSplit << " of " << numSequential
     << " sequence-parallel runs agree with all-reduces split ("
     << llvm::format("%.2f", getSplitFraction()) << "): " << coverage.numSplit
     << " of " << coverage.numReductions << " all-reduces\n";
  if (numSabotaged > 0)
    os << "sabotaged " << numSabotaged << " runs, detected " << numDetected
       << "\n";
}
