//===- ParameterSource.h - Where a model's parameters come from -*- C++ -*-===//

#ifndef SP_IO_PARAMETERSOURCE_H
#define SP_IO_PARAMETERSOURCE_H

#include "sp/IO/Checkpoint.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sp {

/// Gives each rank its blocks of the parameters. Any number of threads may read
/// at the same time, and the value of an element does not depend on the block
/// it is read in.
class ParameterSource {
public:
  virtual ~ParameterSource() = default;

  /// Stores the block at `offsets` of shape `sizes` of the parameter `name`,
  /// whose whole shape is `globalShape`, at `dst`: product(sizes) packed
  /// elements of type `target`.
  virtual llvm::Error read(llvm::StringRef name,
                           llvm::ArrayRef<int64_t> globalShape,
                           llvm::ArrayRef<int64_t> offsets,
                           llvm::ArrayRef<int64_t> sizes, DType target,
                           void *dst) const = 0;

  /// An error that names the tensors this source has, the program does not use
  /// and `allowed` (none if null) does not excuse: they mean that the program
  /// is not the model that was saved.
  virtual llvm::Error checkNoExtra(
      llvm::ArrayRef<llvm::StringRef> used,
      llvm::function_ref<bool(llvm::StringRef)> allowed = nullptr) const = 0;
};

/// Reads from `checkpoint`. Errors: "missing weight `NAME` in FILE", a shape
/// other than `globalShape` (with both), an unsupported conversion.
std::unique_ptr<ParameterSource> makeCheckpointSource(Checkpoint checkpoint);

/// Initial values for training from scratch, a function of the seed, the name
/// and the element's global index: parameters of rank 2 and more are normal
/// with mean 0 and standard deviation 0.02; those of lower rank are 0 if the
/// name ends in `bias`, else 1 (norm weights). Each is rounded to f32 and then
/// converted, so that runs in all types start from the same f32 values.
std::unique_ptr<ParameterSource> makeRandomSource(uint64_t seed);

/// True for tensors that files hold but that carry no information of their own:
/// rotary `inv_freq` buffers and, if the head is tied to the embedding, its
/// copy `lm_head.weight`. To be given to `checkNoExtra`.
bool isRedundantTensor(llvm::StringRef name, bool tiedHead);

} // namespace sp

#endif // SP_IO_PARAMETERSOURCE_H
