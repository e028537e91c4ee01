//===- Model.h - programs from a model's folder -----------------*- C++ -*-===//

#ifndef SP_TOOLS_SPRUN_MODEL_H
#define SP_TOOLS_SPRUN_MODEL_H

#include "Options.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "sp/IO/Block.h"
#include "sp/Import/HuggingFace.h"

namespace sp {

/// The options of the commands that make a program from a model.
struct ModelOptions {
  std::string folder;
  DecoderConfig config;
  MeshSizes mesh;
  DType dtype;
  bool sequenceParallel, sharedEntryGathers;
  std::string objective;
  int64_t minTokens;
  std::string head;
  bool padSequence, mergeLinears;
};
llvm::Expected<ModelOptions> getModelOptions();

/// The shape [B, S] of `input_ids` in `file`.
llvm::Expected<Shape> readBatchShape(llvm::StringRef file);

/// A context with all dialects.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Imports the model and makes it parallel; `build` adds what follows.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModel(mlir::MLIRContext &context, const ModelOptions &model,
           ProgramOptions program,
           llvm::function_ref<void(mlir::OpPassManager &)> build = nullptr);

} // namespace sp

#endif // SP_TOOLS_SPRUN_MODEL_H
