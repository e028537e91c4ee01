//===- Program.h - what a program exchanges with files ----------*- C++ -*-===//

#ifndef SP_EXECUTION_PROGRAM_H
#define SP_EXECUTION_PROGRAM_H

#include "sp/IO/Safetensors.h"

#include <optional>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sp {

/// An argument or result of a program: its name and shape in files, and the
/// part of it that one rank holds.
struct ProgramTensor {
  enum class Role { Input, Parameter, State, Result };

  Role role;
  std::string name;
  DType dtype;
  Shape globalShape, localShape;
  /// The mesh axis that shards each dimension; -1 if none does.
  llvm::SmallVector<int64_t, 4> shardAxes;
  /// Of a result that is a parameter's or state's new value: that argument. It
  /// is written over the old one.
  std::optional<int64_t> updates;

  bool isSharded() const;
  int64_t localBytes() const;
  int64_t globalBytes() const;
};

/// An axis of the mesh, or a part of one ("tp.kv").
struct ProgramAxis {
  std::string name;
  int64_t size;
  /// How far apart neighbours are: a rank's place is (rank / stride) % size.
  int64_t stride;
};

/// The entry function of a localised and planned module.
struct Program {
  std::string entry;
  std::vector<ProgramAxis> mesh;
  std::vector<ProgramTensor> arguments, results;
  int64_t arenaBytes = 0;
  int64_t activationBytes = 0;
  int64_t savedBytes = 0;

  /// `entry` empty: the only public function with `sp` names on its arguments
  /// or results.
  static llvm::Expected<Program> describe(mlir::ModuleOp module,
                                          llvm::StringRef entry);

  /// 1 without a mesh.
  int64_t numRanks() const;

  /// Where `rank`'s part of `tensor` begins.
  Shape getOffsets(const ProgramTensor &tensor, int64_t rank) const;
};

} // namespace sp

#endif // SP_EXECUTION_PROGRAM_H
