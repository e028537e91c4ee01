//===- BlockTest.cpp ------------------------------------------------------===//

#include "sp/IO/Block.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>
#include <vector>

using namespace sp;
using Dims = std::vector<int64_t>;

/// The tensor index of every element of the block, one element at a time.
static Dims naiveBlock(const Dims &shape, const Dims &offsets,
                       const Dims &sizes) {
  int64_t count = *countElements(sizes);
  Dims result;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, index = 0, stride = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      index += (offsets[dim] + rest % sizes[dim]) * stride;
      rest /= sizes[dim];
      stride *= shape[dim];
    }
    result.push_back(index);
  }
  return result;
}

TEST(Block, RunsAgreeWithTheNaiveOrder) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    Dims shape, offsets, sizes;
    for (unsigned rank = random() % 5; rank > 0; --rank) {
      int64_t dim = 1 + random() % 5;
      // Whole dimensions often: they are what merges into longer runs.
      int64_t size = random() % 2 ? dim : random() % (dim + 1);
      shape.push_back(dim);
      sizes.push_back(size);
      offsets.push_back(random() % (dim - size + 1));
    }
    ASSERT_FALSE(findBlockError(shape, offsets, sizes));
    Dims visited;
    forEachRun(shape, offsets, sizes,
               [&](int64_t tensor, int64_t block, int64_t count) {
                 EXPECT_EQ(block, int64_t(visited.size()));
                 for (int64_t i = 0; i < count; ++i)
                   visited.push_back(tensor + i);
               });
    EXPECT_EQ(visited, naiveBlock(shape, offsets, sizes));
  }
}

TEST(Block, RunsAreMaximal) {
  int calls = 0;
  auto count = [&](int64_t, int64_t, int64_t) { ++calls; };
  forEachRun({4, 3, 5}, {1, 0, 0}, {2, 3, 5}, count);
  EXPECT_EQ(calls, 1);
  forEachRun({4, 3, 5}, {1, 1, 0}, {2, 2, 5}, count);
  EXPECT_EQ(calls, 3);
}

TEST(Block, CountsWithoutOverflow) {
  EXPECT_EQ(countElements({}), 1);
  EXPECT_EQ(countElements({2, 0, 3}), 0);
  EXPECT_EQ(countElements({int64_t(1) << 31, int64_t(1) << 31}), int64_t(1)
                                                                     << 62);
  EXPECT_FALSE(countElements({int64_t(1) << 32, int64_t(1) << 31}));
  EXPECT_FALSE(countElements({int64_t(1) << 62, int64_t(1) << 62, 0}));
  EXPECT_FALSE(countElements({-1}));
}

TEST(Block, RefusesWhatLiesOutside) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(findBlockError({4}, {3}, {2}));
  EXPECT_TRUE(findBlockError({4}, {5}, {0}));
  EXPECT_TRUE(findBlockError({4}, {-1}, {2}));
  EXPECT_TRUE(findBlockError({4}, {0}, {-1}));
  EXPECT_TRUE(findBlockError({4}, {max}, {max}));
  EXPECT_TRUE(findBlockError({4}, {}, {4}));
  EXPECT_TRUE(findBlockError({}, {0}, {1}));
  EXPECT_FALSE(findBlockError({4}, {4}, {0}));
  EXPECT_FALSE(findBlockError({}, {}, {}));
  EXPECT_EQ(*findBlockError({4, 2}, {3, 0}, {2, 2}),
            "block at [3, 0] of size [2, 2] does not lie inside shape [4, 2]");
}
