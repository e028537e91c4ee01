//===- LaunchTest.cpp - a rank's threads ----------------------------------===//

#include "Testing.h"

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

using namespace sp;

namespace {

/// Adds 1 to each row's counter and notes the size of the range.
void countRows(void *const *operands, int64_t begin, int64_t end) {
  auto *rows = static_cast<int64_t *>(operands[0]);
  for (int64_t i = begin; i < end; ++i)
    ++rows[i];
  ++*static_cast<std::atomic<int64_t> *>(operands[1]);
}

TEST(Launch, RunsEveryRowOnceOnUpToAllThreads) {
  for (int64_t threads : {1, 2, 3, 8}) {
    sp_context context(0, 1, threads);
    for (int64_t rows : {0, 1, 2, 7, 1000})
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<int64_t> counts(rows);
        std::atomic<int64_t> numRanges{0};
        void *operands[] = {counts.data(), &numRanges};
        sp_launch(&context, countRows, operands, rows);
        ASSERT_EQ(counts, std::vector<int64_t>(rows, 1));
        ASSERT_EQ(numRanges, std::min(threads, rows));
      }
  }
}

TEST(Launch, ReachesSleepingThreads) {
  sp_context context(0, 1, 4);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<int64_t> counts(100);
    std::atomic<int64_t> numRanges{0};
    void *operands[] = {counts.data(), &numRanges};
    sp_launch(&context, countRows, operands, 100);
    EXPECT_EQ(counts, std::vector<int64_t>(100, 1));
  }
}

TEST(ParallelFor, HandsOnAnException) {
  sp_context context(0, 1, 3);
  EXPECT_THROW(context.parallelFor(3,
                                   [](int64_t begin, int64_t, int64_t) {
                                     if (begin == 2)
                                       throw std::runtime_error("no");
                                   }),
               std::runtime_error);
  std::atomic<int64_t> sum{0};
  context.parallelFor(
      10, [&](int64_t begin, int64_t end, int64_t) { sum += end - begin; });
  EXPECT_EQ(sum, 10);
}

TEST(Scratch, GrowsAndIsAligned) {
  Scratch scratch;
  for (size_t bytes : {1, 100, 50, 5000}) {
    void *memory = scratch.get(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
  }
  EXPECT_EQ(scratch.get(10), scratch.get(5000));
}

} // namespace
