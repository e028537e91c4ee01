//===- Checkpoint.h - Hugging Face weight files -----------------*- C++ -*-===//

#ifndef SP_IO_CHECKPOINT_H
#define SP_IO_CHECKPOINT_H

#include "sp/IO/Safetensors.h"

namespace sp {

/// The tensors of a model, in one file or in several under an index. Immutable,
/// so any number of threads may read.
class Checkpoint {
public:
  /// `path` is a .safetensors file, or a folder with `model.safetensors` or,
  /// if it has none, `model.safetensors.index.json`. Every shard the index
  /// names must lie in the folder and hold the tensors assigned to it; tensors
  /// the index does not name are not part of the checkpoint.
  static llvm::Expected<Checkpoint> open(llvm::StringRef path);

  /// The single file or the index.
  llvm::StringRef path() const { return source; }

  /// Sorted.
  llvm::ArrayRef<llvm::StringRef> names() const { return sortedNames; }

  /// None if there is no such tensor. The view lives as long as the checkpoint,
  /// also after a move.
  std::optional<Tensor> find(llvm::StringRef name) const;

  /// An error "missing weight `NAME` in FILE" if there is no such tensor.
  llvm::Expected<Tensor> get(llvm::StringRef name) const;

private:
  Checkpoint() = default;
  static llvm::Expected<Checkpoint> openIndex(llvm::StringRef folder,
                                              llvm::StringRef index);
  void sortNames();

  std::string source;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  llvm::StringMap<Tensor> tensors;
  std::vector<llvm::StringRef> sortedNames;
};

} // namespace sp

#endif // SP_IO_CHECKPOINT_H
