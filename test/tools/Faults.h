//===- Faults.h - Programs made wrong on purpose ----------------*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FAULTS_H
#define SP_TEST_TOOLS_FAULTS_H

#include "mlir/IR/Builders.h"

namespace sp::test {

/// Deletes an op of one operand and one result: its users get its operand.
inline void bypass(mlir::Operation *op) {
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
}

/// Applies such an op to its own result.
inline void applyTwice(mlir::Operation *op) {
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  mlir::Operation *second = builder.clone(*op);
  second->setOperand(0, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(second->getResult(0), second);
}

} // namespace sp::test

#endif // SP_TEST_TOOLS_FAULTS_H
