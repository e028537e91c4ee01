//===- sp-opt.cpp - runs passes on MLIR files -----------------------------===//

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "sp/Init/Init.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sp::registerAllDialects(registry);
  sp::registerAllPasses();
  // The upstream passes that users combine with ours (and that our tests show
  // not to break a program): canonicalize, cse, control-flow-sink, ...
  mlir::registerTransformsPasses();
  mlir::registerLinalgPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv,
      "sp-opt: tensor- and sequence-parallel Transformers\n\n"
      "  sp-opt model.mlir --sp-parallelize=\"tp=2 sequence-parallel=true\"\n",
      registry));
}
