//===- LayoutModels.h - layout rules of upstream ops ----------------------===//

#ifndef SP_DIALECT_LAYOUTMODELS_H
#define SP_DIALECT_LAYOUTMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sp {

/// Attaches `LayoutOpInterface` to `arith.constant`, elementwise `arith` and
/// `math`, elementwise `linalg`, sums and contractions of `linalg`, and the
/// reshapes of `tensor`. Every other upstream op stays without a rule, and so
/// is denied on tensors with layouts.
void registerLayoutModels(mlir::DialectRegistry &registry);

} // namespace sp

#endif // SP_DIALECT_LAYOUTMODELS_H
