//===- AtomicFileTest.cpp -------------------------------------------------===//

#include "sp/IO/AtomicFile.h"

#include "TestFiles.h"

#include <unistd.h>

using namespace sp;
using namespace sp::test;
using Names = std::vector<std::string>;

TEST(AtomicFile, CreatesAndReplaces) {
  TempFolder folder;
  EXPECT_OK(writeFileAtomically(folder.path("a.json"), "one"));
  EXPECT_EQ(readFile(folder.path("a.json")), "one");
  EXPECT_OK(writeFileAtomically(folder.path("a.json"), "two"));
  EXPECT_EQ(readFile(folder.path("a.json")), "two");
  EXPECT_EQ(folder.list(), Names{"a.json"});
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  TempFolder folder;
  folder.write("a.json", "old");
  {
    AtomicFile file = take(AtomicFile::create(folder.path("a.json")));
    ASSERT_EQ(::write(file.fd(), "new", 3), 3);
    EXPECT_EQ(folder.list().size(), 2u);
    EXPECT_EQ(readFile(folder.path("a.json")), "old");
  }
  EXPECT_EQ(folder.list(), Names{"a.json"});
  EXPECT_EQ(readFile(folder.path("a.json")), "old");
}

TEST(AtomicFile, FailedCommitLeavesNothing) {
  TempFolder folder;
  {
    AtomicFile file = take(AtomicFile::create(folder.path("a.json")));
    // What the rename cannot replace appears in the meantime.
    llvm::sys::fs::create_directory(folder.path("a.json"));
    folder.write("a.json/inside", "");
    EXPECT_CONTAINS(message(file.commit()),
                    "cannot write " + folder.path("a.json"));
  }
  EXPECT_EQ(folder.list(), Names{"a.json"});
}

TEST(AtomicFile, NamesThePathItCannotWrite) {
  TempFolder folder;
  std::string inNoFolder = folder.path("none/a.json");
  EXPECT_CONTAINS(message(writeFileAtomically(inNoFolder, "x")),
                  "cannot write " + inNoFolder);
  EXPECT_CONTAINS(message(writeFileAtomically(folder.path(), "x")),
                  "not a regular file");
  EXPECT_EQ(folder.list(), Names{});
}

TEST(AtomicFile, KeepsSymbolicLinksAndDevices) {
  TempFolder folder;
  folder.write("target", "old");
  ASSERT_FALSE(
      llvm::sys::fs::create_link(folder.path("target"), folder.path("link")));
  EXPECT_OK(writeFileAtomically(folder.path("link"), "new"));
  EXPECT_EQ(readFile(folder.path("target")), "new");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(folder.path("link")));

  EXPECT_OK(writeFileAtomically("/dev/null", "x"));
  EXPECT_FALSE(llvm::sys::fs::is_regular_file("/dev/null"));
  EXPECT_CONTAINS(message(writeFileAtomically("/dev/full", "x")),
                  "cannot write /dev/full");
}
