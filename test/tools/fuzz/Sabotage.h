//===- Sabotage.h - Programs made wrong on purpose --------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_SABOTAGE_H
#define SP_TEST_TOOLS_FUZZ_SABOTAGE_H

#include "mlir/IR/BuiltinOps.h"

namespace sp::test {

enum class Sabotage {
  None,
  /// A sum over ranks is left out.
  LostSum,
  /// A sum over ranks is done twice.
  DoubledSum,
};

/// Localises a parallel program and breaks its first sum over ranks, in a way
/// that no verifier can see. False if it has none.
bool sabotage(mlir::ModuleOp module, Sabotage kind);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_SABOTAGE_H
