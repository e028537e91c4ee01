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

TEST(AxisRank, IsTheCoordinateOnTheMesh) {
  auto world = LocalWorld::create({2, 3});
  ASSERT_TRUE(world);
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(sp_axis_rank(&world->context(rank), 0), rank / 3);
    EXPECT_EQ(sp_axis_rank(&world->context(rank), 1), rank % 3);
  }
}

} // namespace
