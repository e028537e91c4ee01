//===- LabelsTest.cpp - from labels to valid targets ----------------------===//

#include "Testing.h"

using namespace sp;

namespace {

TEST(Labels, ShiftToTheNextTokenAndTranspose) {
  const int64_t labels[2][3] = {{1, 2, 3}, {4, 5, 6}};
  int64_t out[3][2];
  sp_shift_labels(labels[0], out[0], /*batch=*/2, /*seq=*/3, -100);
  const int64_t expected[3][2] = {{2, 5}, {3, 6}, {-100, -100}};
  for (int s = 0; s < 3; ++s)
    for (int b = 0; b < 2; ++b)
      EXPECT_EQ(out[s][b], expected[s][b]) << s << ", " << b;
}

TEST(Labels, TargetsAreTokensOrIgnored) {
  sp_context context(0, 1, 1);
  const int64_t good[] = {0, -100, 7};
  EXPECT_EQ(sp_check_targets(&context, good, 3, 8, -100), 0);
  for (int64_t wrong : {int64_t(8), int64_t(-1)}) {
    sp_context context(0, 1, 1);
    const int64_t targets[] = {0, -100, wrong};
    EXPECT_NE(sp_check_targets(&context, targets, 3, 8, -100), 0);
    EXPECT_EQ(context.getError(),
              "target " + std::to_string(wrong) +
                  " at position 2 is neither -100 (ignored) nor in the "
                  "vocabulary of 8");
  }
}

TEST(Labels, HaveAColumnInOnePartAtMost) {
  sp_context context(0, 1, 1);
  // A rank with tokens 4 to 9 of 12, in two parts. Token 5 is to be ignored.
  const int64_t targets[] = {3, 4, 6, 7, 9, 10, 5};
  int64_t out[7][2];
  ASSERT_EQ(sp_part_targets(&context, targets, out[0], 7, /*parts=*/2,
                            /*part_size=*/3, /*first=*/4, /*vocab=*/12,
                            /*ignore_index=*/5),
            0);
  const int64_t expected[7][2] = {{-1, -1}, {0, -1},  {2, -1}, {-1, 0},
                                  {-1, 2},  {-1, -1}, {-1, -1}};
  for (int i = 0; i < 7; ++i)
    for (int p = 0; p < 2; ++p)
      EXPECT_EQ(out[i][p], expected[i][p]) << i << ", " << p;
}

TEST(Labels, AreCheckedAgainstTheWholeVocabulary) {
  for (int64_t wrong : {int64_t(12), int64_t(-1)}) {
    sp_context context(0, 1, 1);
    const int64_t targets[] = {0, -100, wrong};
    int64_t out[3];
    EXPECT_NE(sp_part_targets(&context, targets, out, 3, 1, 6, 6, 12, -100), 0);
    EXPECT_EQ(context.getError(),
              "target " + std::to_string(wrong) +
                  " at position 2 is neither -100 (ignored) nor in the "
                  "vocabulary of 12");
  }
}

TEST(AxisRank, IsTheCoordinateOnTheMesh) {
  auto world = LocalWorld::create({2, 3});
  ASSERT_TRUE(world);
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(sp_axis_rank(&world->context(rank), 0), rank / 3);
    EXPECT_EQ(sp_axis_rank(&world->context(rank), 1), rank % 3);
  }
}

} // namespace
