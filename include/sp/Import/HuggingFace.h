//===- HuggingFace.h - programs from Hugging Face configurations ----------===//

#ifndef SP_IMPORT_HUGGINGFACE_H
#define SP_IMPORT_HUGGINGFACE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sp/IO/DType.h"
#include "sp/Import/DecoderConfig.h"
#include "llvm/Support/Error.h"

namespace sp {

/// Reads a model's configuration: `path` is a config.json, a folder that has
/// one, or "-" for the standard input. What is not supported is an error that
/// names the file, the key and its value; so is a key that is not known.
llvm::Expected<DecoderConfig> readHuggingFaceConfig(llvm::StringRef path);

struct ProgramOptions {
  int64_t batchSize = 1;
  int64_t seqLen = 1;
  /// Of parameters, activations and logits: F32, F64 or BF16.
  DType dtype = DType::F32;
  bool loss = true;
  bool logits = true;
  /// hidden.embed, hidden.0 ... after each block, hidden.norm: [B,S,H].
  bool hidden = false;
  /// With the configuration's dropout, and with f32 parameters if `dtype` is
  /// BF16 (master weights).
  bool training = false;
};

/// The unsharded program: a function of `input_ids` and `labels`
/// (only with the loss), int64 [B,S], and of the parameters under their
/// checkpoint names, to the results asked for, in the order loss, logits,
/// hidden states. Results and parameters have the type `dtype`, but the loss is
/// f32 unless that is F64. Dropout is the identity in evaluation and is left
/// out there; in training each has its `op_id`, from 0 in the program's order.
/// An error if `batchSize` or `seqLen` is below 1, the sequence is longer
/// than the model's `maxPositions`, a tensor's bytes overflow, or no result is
/// asked for. The module belongs to the caller; `context` must outlive it.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoderProgram(mlir::MLIRContext &context, const DecoderConfig &config,
                    const ProgramOptions &options);

} // namespace sp

#endif // SP_IMPORT_HUGGINGFACE_H
