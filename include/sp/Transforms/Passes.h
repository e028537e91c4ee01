//===- Passes.h - the passes and pipelines of sp --------------------------===//

#ifndef SP_TRANSFORMS_PASSES_H
#define SP_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "sp/Dialect/SPDialect.h"

namespace sp {

#define GEN_PASS_DECL
#include "sp/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "sp/Transforms/Passes.h.inc"

} // namespace sp

#endif // SP_TRANSFORMS_PASSES_H
