//===- LayoutTest.cpp - moves within a rank -------------------------------===//

#include "Testing.h"

#include <vector>

using namespace sp;

namespace {

// Two rows of three, of which two are taken, into rows of four and of two.
TEST(CopyRows, KeepsWhatIsBetweenThem) {
  const int32_t from[] = {1, 2, 3, 4, 5, 6};
  std::vector<int32_t> to(8, 0);
  sp_copy_rows(2, 8, from + 1, 12, to.data() + 1, 16);
  EXPECT_EQ(to, (std::vector<int32_t>{0, 2, 3, 0, 0, 5, 6, 0}));

  std::vector<int32_t> dense(5, 9);
  sp_copy_rows(2, 8, from, 12, dense.data(), 8);
  EXPECT_EQ(dense, (std::vector<int32_t>{1, 2, 4, 5, 9}));
}

TEST(CopyRows, TakesContiguousRowsAsOne) {
  const int32_t from[] = {1, 2, 3, 4, 5, 6};
  std::vector<int32_t> to(7, 0);
  sp_copy_rows(3, 8, from, 8, to.data(), 8);
  EXPECT_EQ(to, (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 0}));
}

TEST(CopyRows, CopiesNothingOfNothing) {
  int32_t to = 7;
  sp_copy_rows(0, 4, nullptr, 4, &to, 4);
  sp_copy_rows(3, 0, &to, 0, &to, 0);
  EXPECT_EQ(to, 7);
}

} // namespace
