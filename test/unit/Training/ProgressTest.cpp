//===- ProgressTest.cpp ---------------------------------------------------===//

#include "sp/Training/Progress.h"
#include "gtest/gtest.h"

using namespace sp;

/// In a file or pipe: the first and the last step, and no control characters.
TEST(Progress, IsPlainLinesWhereThereIsNoTerminal) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Progress progress(os, 10, 5);
  for (int64_t step = 6; step <= 10; ++step)
    progress.report(step, 1.5, 5e-4, 100);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  ASSERT_EQ(lines.size(), 2u) << text;
  EXPECT_TRUE(lines[0].starts_with("step 6/10  loss 1.5000  lr 5.00e-04"));
  EXPECT_TRUE(lines[1].starts_with("step 10/10  "));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}
