//===- TestFiles.h - Files and errors in tests ------------------*- C++ -*-===//

#ifndef SP_TEST_UNIT_IO_TESTFILES_H
#define SP_TEST_UNIT_IO_TESTFILES_H

#include "sp/IO/Safetensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace sp::test {

/// A folder that is removed, with all in it, at the end of the scope.
class TempFolder {
public:
  TempFolder() {
    std::error_code error =
        llvm::sys::fs::createUniqueDirectory("sp-io-test", folder);
    EXPECT_FALSE(error) << error.message();
  }
  ~TempFolder() { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name = "") const {
    llvm::SmallString<256> result(folder);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

  /// Writes a file as it is, without any of the code under test.
  std::string write(llvm::StringRef name, llvm::StringRef contents) const {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    EXPECT_FALSE(error) << error.message();
    os << contents;
    return path(name);
  }

  /// The names of the entries.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(folder, error), end;
         it != end && !error; it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

private:
  llvm::SmallString<128> folder;
};

inline std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "cannot read the file";
}

/// A safetensors file made by hand: header length, header, data.
inline std::string makeFile(llvm::StringRef header, llvm::StringRef data) {
  std::string text;
  for (uint64_t length = header.size(), i = 0; i < 8; ++i)
    text += char(length >> (8 * i));
  return text + header.str() + data.str();
}

/// Empty for success.
inline std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "";
}

template <typename T> std::string message(llvm::Expected<T> value) {
  return message(value.takeError());
}

/// The value; the test aborts with the error's message if there is none.
template <typename T> T take(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  llvm::errs() << llvm::toString(value.takeError()) << "\n";
  abort();
}

#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)
#define EXPECT_OK(error) EXPECT_EQ(sp::test::message(error), "")

} // namespace sp::test

#endif // SP_TEST_UNIT_IO_TESTFILES_H
