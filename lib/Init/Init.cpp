//===- Init.cpp - everything the tools register ---------------------------===//

#include "sp/Init/Init.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/Adjoint.h"
#include "sp/Dialect/LayoutModels.h"
#include "sp/Dialect/SPDialect.h"
#include "sp/Transforms/Passes.h"
#include "sp/Transforms/Pipelines.h"

using namespace mlir;

void sp::registerAllDialects(DialectRegistry &registry) {
  registry.insert<SPDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  func::registerInlinerExtension(registry);
  registerLayoutModels(registry);
  registerAdjointModels(registry);
}

void sp::registerAllPasses() {
  registerTransformsPasses();
  registerConversionPasses();
  registerPipelines();
}
