//===- LayerGraph.h - one layer's ops as a picture's boxes ------*- C++ -*-===//

#ifndef SP_LIB_REPORT_LAYERGRAPH_H
#define SP_LIB_REPORT_LAYERGRAPH_H

#include "sp/Report/ProgramReport.h"

namespace sp {

/// The ops of the module `layer` in `phase` that work on token data. `rows` are
/// the function's layout changes.
LayerGraph buildLayerGraph(mlir::func::FuncOp function, MeshOp mesh,
                           llvm::StringRef layer, Phase phase,
                           llvm::ArrayRef<CollectiveRow> rows);

/// A layer of the stack with most layers, one from its middle; none if the
/// function's ops are in no layers.
std::optional<Layer> chooseLayer(mlir::func::FuncOp function);

} // namespace sp

#endif // SP_LIB_REPORT_LAYERGRAPH_H
