//===- PrintGradientSync.cpp - which gradients are summed, and why --------===//

#include "LayoutUtils.h"
#include "sp/Transforms/CollectiveTable.h"
#include "sp/Transforms/GradientSync.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sp {
#define GEN_PASS_DEF_SPPRINTGRADIENTSYNC
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

static void print(func::FuncOp function, raw_ostream &os) {
  SmallVector<GradientSync> syncs = findGradientSyncs(function);
  size_t width = 9;
  for (const GradientSync &sync : syncs)
    width = std::max(width, sync.parameter.size());
  auto row = [&](StringRef parameter, StringRef layout, StringRef sum,
                 StringRef why) {
    os << parameter;
    os.indent(width - parameter.size());
    os << llvm::formatv("  {0,-18}  {1,-12}  {2}\n", layout, sum, why);
  };
  os << "gradients of `" << function.getName() << "`\n";
  row("parameter", "layout", "sync", "why");
  for (const GradientSync &sync : syncs)
    row(sync.parameter, describeLayout(sync.argument.getType()),
        sync.describeSum(), sync.reason);
}

namespace {
struct PrintGradientSync
    : sp::impl::SPPrintGradientSyncBase<PrintGradientSync> {
  void runOnOperation() override {
    auto functions =
        requireDifferentiatedFunctions(getOperation(), getArgument());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      print(function, llvm::errs());
    markAllAnalysesPreserved();
  }
};
} // namespace
