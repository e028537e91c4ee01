//===- AtomicFile.h - Files that appear whole or not at all -----*- C++ -*-===//

#ifndef SP_IO_ATOMICFILE_H
#define SP_IO_ATOMICFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sp {

/// A temporary file beside its destination. `commit` makes it durable and then
/// moves it there in one step, so a reader, or a crash, finds the old file or
/// the new one and never a part. Without `commit` the temporary is removed.
class AtomicFile {
public:
  /// `path` may name a file that exists, also through a symbolic link (which is
  /// kept), or one that does not; its folder must exist.
  static llvm::Expected<AtomicFile> create(llvm::StringRef path);

  AtomicFile(AtomicFile &&other);
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// The destination.
  llvm::StringRef path() const { return destination; }

  /// Open for reading and writing; owned by this object.
  int fd() const { return descriptor; }

  /// Call once; after an error the old file is as it was.
  llvm::Error commit();

private:
  AtomicFile(std::string destination, std::string temporary, int descriptor)
      : destination(std::move(destination)), temporary(std::move(temporary)),
        descriptor(descriptor) {}
  void discard();

  std::string destination;
  std::string temporary;
  int descriptor;
};

/// Replaces the file at `path` as above. A device or pipe, such as /dev/stdout,
/// cannot be replaced and is written to directly.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef contents);

} // namespace sp

#endif // SP_IO_ATOMICFILE_H
