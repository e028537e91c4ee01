//===- PaddingTest.cpp - more of a dimension, and less --------------------===//

#include "Testing.h"

using namespace sp;

namespace {

// [outer 2, dim 2, inner 2], and as much as 4 in the middle.
const double kSmall[] = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(Padding, RepeatsTheLastOrFills) {
  double out[16];
  sp_pad(8, kSmall, out, 2, 2, 4, 2, /*repeat=*/1, 0);
  const double repeated[] = {1, 2, 3, 4, 3, 4, 3, 4, 5, 6, 7, 8, 7, 8, 7, 8};
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], repeated[i]) << i;
  sp_pad(8, kSmall, out, 2, 2, 4, 2, /*repeat=*/0, 0);
  const double zeros[] = {1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0};
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], zeros[i]) << i;

  const int64_t labels[] = {7, 8, 9};
  int64_t more[5];
  sp_pad(8, labels, more, 1, 3, 5, 1, /*repeat=*/0, -100);
  const int64_t ignored[] = {7, 8, 9, -100, -100};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(more[i], ignored[i]) << i;
}

TEST(Padding, IsCutOrAddedToTheLast) {
  double large[16], out[8];
  for (int i = 0; i < 16; ++i)
    large[i] = i;
  sp_unpad(8, large, out, 2, 2, 4, 2);
  const double cut[] = {0, 1, 2, 3, 8, 9, 10, 11};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], cut[i]) << i;
  sp_context context(0, 1, 1);
  ASSERT_EQ(sp_unpad_fold(&context, SP_F64, large, out, 2, 2, 4, 2), 0);
  const double folded[] = {0, 1, 2 + 4 + 6,    3 + 5 + 7,
                           8, 9, 10 + 12 + 14, 11 + 13 + 15};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], folded[i]) << i;
}

} // namespace
