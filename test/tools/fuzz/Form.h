//===- Form.h - The ways to make a program parallel -------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_FORM_H
#define SP_TEST_TOOLS_FUZZ_FORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>
#include <string>

namespace sp::test {

/// A diagnostic without what differs between two of one kind.
std::string nameKind(llvm::StringRef message);

struct Form {
  /// 1: neither tensor- nor sequence-parallel.
  int64_t ranks;
  bool isSequenceParallel;
  /// Otherwise the textbook form, and each gradient is summed where it is.
  bool sharesGathers;
  /// Sequence parallelism on the differentiated program.
  bool isDifferentiatedFirst;
  bool shardsHead = false;
  bool padsSequence = false;
  /// As much as can be is run again in the backward pass.
  bool recomputes = false;
  /// One linear for several of one operand.
  bool mergesLinears = false;

  std::string str() const;
};

/// What the programs are compared with.
inline constexpr Form kWholeForm = {1, false, false, false};

llvm::ArrayRef<Form> listForms();

/// How much of a program became parallel.
struct Coverage {
  int64_t numLinears = 0;
  /// By reason, the linears that tensor parallelism left whole.
  std::map<std::string, int64_t> whole;
  /// The all-reduces that tensor parallelism put in, and those that sequence
  /// parallelism split.
  int64_t numReductions = 0, numSplit = 0;
};

/// Why a program could not be parallelised.
struct FormError {
  /// The pass that failed.
  std::string pass;
  std::string message;
  /// Whether a user can do something about it: a pass refuses what it documents
  /// that it does not take. Otherwise a pass has made an invalid program.
  bool isRefusal() const;
};

/// Brings an unsharded program into a form, with gradients.
std::optional<FormError> applyForm(mlir::ModuleOp module, const Form &form,
                                   Coverage &coverage);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_FORM_H
