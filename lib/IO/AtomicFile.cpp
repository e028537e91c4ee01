//===- AtomicFile.cpp - Files that appear whole or not at all -------------===//

#include "sp/IO/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace sp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

static Error cannotWrite(StringRef path, std::error_code why) {
  return llvm::createStringError(why,
                                 "cannot write " + path + ": " + why.message());
}

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

/// Makes a rename in `folder` durable. Not all file systems can; the file
/// itself is whole either way, so that is no error.
static void syncFolder(StringRef folder) {
  int fd = ::open(folder.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)::fsync(fd);
  ::close(fd);
}

Expected<AtomicFile> AtomicFile::create(StringRef path) {
  // A rename would replace a link itself: write where it points.
  llvm::SmallString<256> destination(path);
  fs::file_status status;
  if (!fs::status(path, status)) {
    if (!fs::is_regular_file(status))
      return llvm::createStringError("cannot write " + path +
                                     ": it exists and is not a regular file");
    if (std::error_code error = fs::real_path(path, destination))
      return cannotWrite(path, error);
  }

  // Beside the destination, as a rename cannot cross file systems.
  llvm::SmallString<256> temporary;
  int fd;
  if (std::error_code error = fs::createUniqueFile(
          Twine(destination) + ".tmp-%%%%%%%%", fd, temporary))
    return cannotWrite(path, error);
  llvm::sys::RemoveFileOnSignal(temporary);
  return AtomicFile(destination.str().str(), temporary.str().str(), fd);
}

AtomicFile::AtomicFile(AtomicFile &&other)
    : destination(std::move(other.destination)),
      temporary(std::move(other.temporary)), descriptor(other.descriptor) {
  other.descriptor = -1;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  descriptor = -1;
  fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
}

Error AtomicFile::commit() {
  assert(descriptor >= 0 && "commit called twice");
  std::error_code error;
  // The data first: a rename that survives a crash must not name an empty file.
  if (::fsync(descriptor) != 0)
    error = lastError();
  else
    error = fs::rename(temporary, destination);
  if (error) {
    discard();
    return cannotWrite(destination, error);
  }
  ::close(descriptor);
  descriptor = -1;
  llvm::sys::DontRemoveFileOnSignal(temporary);
  StringRef folder = llvm::sys::path::parent_path(destination);
  syncFolder(folder.empty() ? "." : folder);
  return Error::success();
}

static Error writeAll(StringRef path, llvm::raw_fd_ostream &os,
                      StringRef contents) {
  os << contents;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error ? cannotWrite(path, error) : Error::success();
}

Error sp::writeFileAtomically(StringRef path, StringRef contents) {
  fs::file_status status;
  if (!fs::status(path, status) && !fs::is_regular_file(status) &&
      !fs::is_directory(status)) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    return error ? cannotWrite(path, error) : writeAll(path, os, contents);
  }

  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream os(file->fd(), /*shouldClose=*/false);
  if (Error error = writeAll(path, os, contents))
    return error;
  return file->commit();
}
