//===- Check.h - A program's forms against the whole program ----*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_CHECK_H
#define SP_TEST_TOOLS_FUZZ_CHECK_H

#include "Form.h"
#include "Run.h"
#include "Sabotage.h"

#include "llvm/Support/JSON.h"

namespace sp::test {

enum class Verdict { Agrees, Refused, Fails };

/// What came of one form of a program.
struct Outcome {
  Verdict verdict = Verdict::Agrees;
  /// Of a refusal its reason, of a failure what has gone wrong: equal for
  /// outcomes that differ only in numbers and names.
  std::string kind;
  std::string detail;
  Coverage coverage;
  /// Of the tensors that were compared, those with a tolerance of their own.
  int64_t numTensors = 0, numTolerant = 0;
  bool isSabotaged = false;

  static Outcome fail(llvm::StringRef kind, std::string detail = "");
};

llvm::json::Value toJSON(const Outcome &outcome);
bool fromJSON(const llvm::json::Value &value, Outcome &outcome,
              llvm::json::Path path);

/// An unsharded program and what it computes.
class Reference {
public:
  /// `program` has no gradients yet, and must outlive the reference.
  explicit Reference(mlir::ModuleOp program);

  /// A failure if the program itself does not run, or lacks a gradient.
  const Outcome &getOutcome() const { return outcome; }

  /// Results and gradients of a form must differ by at most 1e-9 of each
  /// tensor's greatest element; by more only where rounding the parameters
  /// alone changes as much, and by 1e-9 of the greatest gradient where a
  /// gradient is nothing but rounding errors.
  Outcome check(const Form &form, Sabotage sabotage) const;

private:
  Outcome prepare();
  llvm::Error prepare(RunnableProgram &whole);
  /// Fails if the loss depends on a parameter whose gradient vanishes.
  llvm::Error prepareVanishing(RunnableProgram &whole);
  Outcome compare(const Results &results) const;

  mlir::ModuleOp program;
  Results expected;
  /// By how much a result may differ.
  std::map<std::string, double> allowed;
  Outcome outcome;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_CHECK_H
