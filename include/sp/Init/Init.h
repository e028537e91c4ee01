//===- Init.h - everything the tools register -----------------------------===//

#ifndef SP_INIT_INIT_H
#define SP_INIT_INIT_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sp {

/// Registers the dialects, external models and extensions that programs of
/// `sp` and the passes on them need.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes and pipelines of `sp`.
void registerAllPasses();

} // namespace sp

#endif // SP_INIT_INIT_H
