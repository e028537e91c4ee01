//===- Safetensors.h - Reading and writing .safetensors files ---*- C++ -*-===//
//
// The format: 8 bytes little-endian header length N, N bytes of JSON that maps
// each tensor's name to its dtype, shape and byte range, then the data, row
// major, little-endian, without holes.
//
// Every error names the file and, where one is concerned, the tensor.
//
//===----------------------------------------------------------------------===//

#ifndef SP_IO_SAFETENSORS_H
#define SP_IO_SAFETENSORS_H

#include "sp/IO/AtomicFile.h"
#include "sp/IO/DType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sp {

using Shape = llvm::SmallVector<int64_t, 4>;

/// Free-form strings in the header, under `__metadata__`.
using Metadata = std::map<std::string, std::string>;

/// One tensor as the header describes it.
struct TensorInfo {
  std::string name;
  DType dtype;
  Shape shape;
  int64_t numElements;
  /// The byte range [begin, end), counted from the end of the header.
  uint64_t begin, end;
};

/// A view of a tensor in an open file; valid as long as the file is open.
struct Tensor {
  const TensorInfo *info;
  /// `info->numElements` packed elements, not necessarily aligned.
  const char *data;
  /// The path of the file, for messages.
  llvm::StringRef file;

  llvm::StringRef name() const { return info->name; }
  DType dtype() const { return info->dtype; }
  llvm::ArrayRef<int64_t> shape() const { return info->shape; }
  int64_t numElements() const { return info->numElements; }
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A memory-mapped file: opening it reads only the header. Immutable, so any
/// number of threads may read. The file must not shrink while it is open.
class SafetensorsFile {
public:
  /// Maps the file at `path` and validates its header completely: after that
  /// every tensor's bytes are known to lie inside the file.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>>
  open(llvm::StringRef path);

  llvm::StringRef path() const { return filePath; }

  /// Sorted by name.
  llvm::ArrayRef<TensorInfo> tensors() const { return infos; }

  const Metadata &metadata() const { return fileMetadata; }

  /// None if there is no such tensor.
  std::optional<Tensor> find(llvm::StringRef name) const;

  /// An error if there is no such tensor.
  llvm::Expected<Tensor> get(llvm::StringRef name) const;

private:
  SafetensorsFile() = default;

  std::string filePath;
  llvm::sys::fs::mapped_file_region mapping;
  const char *data = nullptr;
  std::vector<TensorInfo> infos;
  llvm::StringMap<size_t> indexOf;
  Metadata fileMetadata;
};

/// Copies the block of `tensor` that starts at `offsets` and has shape `sizes`
/// to `dst`, packed in row-major order, converted to `target` (see
/// `canConvert`). Only the pages that hold the block are read. `dst` holds
/// product(sizes) elements of `target` and may be unaligned.
llvm::Error readSlice(const Tensor &tensor, llvm::ArrayRef<int64_t> offsets,
                      llvm::ArrayRef<int64_t> sizes, DType target, void *dst);

/// The whole tensor.
llvm::Error readTensor(const Tensor &tensor, DType target, void *dst);

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  DType dtype;
  Shape shape;
};

/// Writes a file whose tensors are declared first and filled afterwards, in any
/// order and from several threads: ranks write their shards into place. Names
/// are sorted in the header; the data of wider element types comes first, so
/// that every tensor is aligned to its element size.
class SafetensorsWriter {
public:
  /// Reserves the disk space, so that a full disk is an error here, in a
  /// temporary file that is removed unless `commit` succeeds.
  static llvm::Expected<std::unique_ptr<SafetensorsWriter>>
  create(llvm::StringRef path, llvm::ArrayRef<TensorSpec> tensors,
         const Metadata &metadata = {});

  llvm::StringRef path() const { return file.path(); }

  /// Stores the block at `offsets` of shape `sizes` from `src`, packed elements
  /// of type `source`, converted to the tensor's type. Threads may write
  /// disjoint blocks at the same time.
  llvm::Error writeSlice(llvm::StringRef name, llvm::ArrayRef<int64_t> offsets,
                         llvm::ArrayRef<int64_t> sizes, DType source,
                         const void *src);

  /// The tensor's bytes in the mapped file, aligned to its element size, for
  /// the caller to fill completely; valid until `commit`.
  llvm::Expected<llvm::MutableArrayRef<char>> bytes(llvm::StringRef name);

  /// Makes the file appear at its path, after all writes. A tensor that was
  /// written only in part is an error.
  llvm::Error commit();

private:
  struct Entry {
    TensorSpec spec;
    int64_t numElements, bytes;
    int64_t begin = 0;
    std::atomic<int64_t> written{0};
  };

  explicit SafetensorsWriter(AtomicFile file) : file(std::move(file)) {}
  llvm::Error declare(const TensorSpec &spec);
  llvm::Error layOut(const Metadata &metadata);
  llvm::Expected<Entry *> lookup(llvm::StringRef name) const;

  AtomicFile file;
  llvm::sys::fs::mapped_file_region mapping;
  char *data = nullptr;
  std::vector<std::unique_ptr<Entry>> entries;
  llvm::StringMap<Entry *> entryOf;
};

/// A tensor with its contents: product(shape) packed elements at `data`.
struct TensorData {
  TensorSpec spec;
  const void *data;
};

/// Writes all tensors in one call.
llvm::Error writeSafetensors(llvm::StringRef path,
                             llvm::ArrayRef<TensorData> tensors,
                             const Metadata &metadata = {});

} // namespace sp

#endif // SP_IO_SAFETENSORS_H
