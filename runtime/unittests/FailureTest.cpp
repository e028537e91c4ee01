//===- FailureTest.cpp - ranks that fail, differ or stop ------------------===//

#include "Testing.h"

#include <chrono>
#include <cstdlib>
#include <thread>

using namespace sp;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_TRUE(contains(text, part))                                            \
      << "\"" << text << "\" lacks \"" << part << "\""

int32_t reduceOne(sp_context &context, int32_t axis = 0) {
  int64_t one = 1, sum;
  return sp_all_reduce(&context, axis, SP_I64, &one, &sum, 1);
}

TEST(DivergingRank, WithAnotherKindIsNamedOnAllRanks) {
  auto world = makeWorld({4});
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    std::vector<float> src(8), dst(32);
    if (reduceOne(context))
      return 1;
    if (context.rank == 2)
      return sp_all_gather(&context, 0, SP_F32, src.data(), dst.data(), 1, 32,
                           1);
    return sp_all_reduce(&context, 0, SP_F32, src.data(), dst.data(), 8);
  });
  const char *expected = "the ranks' collectives #2 on mesh axis 0 differ: "
                         "ranks 0, 1, 3 do all_reduce of 1x8x1 f32; rank 2 "
                         "does all_gather of 1x32x1 f32";
  EXPECT_EQ(result.error, expected);
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.statuses[rank], 1);
    EXPECT_EQ(world->context(rank).getError(), expected);
    EXPECT_EQ(world->context(rank).statistics[0].count, 1);
  }
}

TEST(DivergingRank, WithAnotherSizeShapeOrTypeIsAnError) {
  struct Case {
    sp_dtype dtype;
    int64_t outer, dim, inner;
  };
  for (Case odd : {Case{SP_F32, 2, 4, 2}, Case{SP_F32, 1, 4, 4},
                   Case{SP_BF16, 2, 4, 4}, Case{SP_F32, 4, 4, 2}}) {
    auto world = makeWorld({2});
    RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
      Case own = context.rank ? odd : Case{SP_F32, 2, 4, 4};
      std::vector<float> src(64), dst(64);
      return sp_reduce_scatter(&context, 0, own.dtype, src.data(), dst.data(),
                               own.outer, own.dim, own.inner);
    });
    EXPECT_CONTAINS(result.error, "rank 0 does reduce_scatter of 2x4x4 f32");
    EXPECT_CONTAINS(result.error, "rank 1 does reduce_scatter of");
    EXPECT_EQ(result.statuses, std::vector<int32_t>({1, 1}));
  }
}

TEST(FailingRank, FreesTheOthersAndIsTheOneReported) {
  for (int64_t size : {2, 3, 8}) {
    auto world = makeWorld({size});
    RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
      if (reduceOne(context))
        return 1;
      if (context.rank == 1)
        return context.fail("out of luck");
      return reduceOne(context);
    });
    EXPECT_EQ(result.error, "rank 1: out of luck");
    for (int64_t rank = 0; rank < size; ++rank) {
      EXPECT_EQ(result.statuses[rank], 1);
      if (rank == 1)
        continue;
      EXPECT_EQ(world->context(rank).getError(),
                "all_reduce #2 on mesh axis 0: rank 1 failed: out of luck");
    }
  }
}

TEST(FailingRank, MayReturnAStatusOrThrow) {
  auto world = makeWorld({2});
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    return context.rank == 0 ? 7 : reduceOne(context);
  });
  EXPECT_EQ(result.error, "rank 0: stopped with status 7");
  EXPECT_EQ(result.statuses, std::vector<int32_t>({7, 1}));

  world = makeWorld({2});
  result = runRanks(*world, [](sp_context &context) -> int32_t {
    if (context.rank == 1)
      throw std::runtime_error("thrown");
    return reduceOne(context);
  });
  EXPECT_EQ(result.error, "rank 1: thrown");
}

TEST(FailingRank, FreesRanksOfOtherGroups) {
  // Rank 3 shares no axis with rank 0, which waits for 1, which waits for 3.
  auto world = makeWorld({2, 2});
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    if (context.rank == 3)
      return context.fail("gone");
    return reduceOne(context, context.rank == 1 ? 0 : 1);
  });
  EXPECT_EQ(result.error, "rank 3: gone");
  EXPECT_CONTAINS(world->context(0).getError(),
                  "all_reduce #1 on mesh axis 1: rank 3 failed: gone");
}

TEST(FailingRank, KeepsItsFirstMessage) {
  sp_context context(0, 1, 1);
  EXPECT_NE(context.fail("first"), 0);
  EXPECT_NE(context.fail("second"), 0);
  EXPECT_EQ(context.getError(), "first");
}

TEST(FailingRank, IsNotForgottenIfTheBodyIgnoresIt) {
  auto world = makeWorld({1});
  float x = 0;
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    sp_slice(&context, 5, 4, &x, &x, 1, 1, 1);
    return 0;
  });
  EXPECT_EQ(result.error, "rank 0: slice: the mesh has no axis 5");
}

TEST(FailedWorld, StaysFailed) {
  auto world = makeWorld({2});
  runRanks(*world, [](sp_context &context) { return context.fail("no"); });
  RanksResult result =
      runRanks(*world, [](sp_context &context) { return reduceOne(context); });
  EXPECT_FALSE(result.succeeded());
}

TEST(FinishedRank, IsNamedByThoseWhoWaitForIt) {
  auto world = makeWorld({3});
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    if (reduceOne(context))
      return 1;
    return context.rank == 2 ? 0 : reduceOne(context);
  });
  EXPECT_EQ(result.error,
            "all_reduce #2 on mesh axis 0: rank 2 finished without it");
  EXPECT_EQ(result.statuses, std::vector<int32_t>({1, 1, 0}));
}

TEST(FinishedRank, DoesNotDisturbTheNextRun) {
  auto world = makeWorld({4});
  for (int repeat = 0; repeat < 20; ++repeat) {
    RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
      return reduceOne(context);
    });
    ASSERT_TRUE(result.succeeded()) << result.error;
  }
}

TEST(LateRank, IsNamedAfterTheTimeout) {
  auto world = makeWorld({3}, /*threads=*/1, /*timeout=*/0.2);
  auto begin = std::chrono::steady_clock::now();
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    if (reduceOne(context))
      return 1;
    if (context.rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
    return reduceOne(context);
  });
  EXPECT_EQ(result.error, "all_reduce #2 on mesh axis 0: rank 1 did not come "
                          "within 0.2 s");
  EXPECT_EQ(result.statuses, std::vector<int32_t>({1, 1, 1}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(LateRank, OnAnotherAxisIsATimeoutToo) {
  // Rank 0 waits for 2, which waits for 3, which waits for 1, which waits for
  // 0.
  auto world = makeWorld({2, 2}, /*threads=*/1, /*timeout=*/0.2);
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    return reduceOne(context, context.rank == 0 || context.rank == 3 ? 0 : 1);
  });
  EXPECT_CONTAINS(result.error, "all_reduce #1 on mesh axis");
  EXPECT_CONTAINS(result.error, "did not come within 0.2 s");
}

TEST(Collective, RefusesWhatItCannotDo) {
  struct Case {
    std::function<int32_t(sp_context *, float *)> call;
    const char *message;
  };
  const Case cases[] = {
      {[](sp_context *c, float *x) {
         return sp_all_gather(c, 0, SP_F32, x, x + 32, 1, 5, 1);
       },
       "all_gather: a dimension of 5 cannot be split over 2 ranks"},
      {[](sp_context *c, float *x) {
         return sp_all_reduce(c, 1, SP_F32, x, x + 32, 5);
       },
       "all_reduce: the mesh has no axis 1"},
      {[](sp_context *c, float *x) {
         return sp_all_reduce(c, 0, 9, x, x + 32, 5);
       },
       "all_reduce: not of dtype 9"},
      {[](sp_context *c, float *x) {
         return sp_all_reduce(c, 0, SP_F32, x, x + 4, 5);
       },
       "all_reduce: its source and destination overlap"},
      {[](sp_context *c, float *x) {
         return sp_all_reduce(c, 0, SP_F32, x, x + 32, -5);
       },
       "all_reduce: a negative size"},
  };
  for (const Case &test : cases) {
    auto world = makeWorld({2});
    RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
      std::vector<float> memory(64);
      return test.call(&context, memory.data());
    });
    EXPECT_CONTAINS(result.error, test.message);
  }
}

TEST(LocalWorld, RefusesBadMeshesAndOptions) {
  auto refusal = [](std::vector<int64_t> axes, LocalWorldOptions options) {
    std::string error;
    EXPECT_EQ(LocalWorld::create(axes, options, &error), nullptr);
    return error;
  };
  EXPECT_EQ(refusal({2, 0}, {}), "a mesh axis of size 0 has no ranks");
  EXPECT_EQ(refusal({1000, 1000}, {}), "the mesh has more than 1024 ranks");
  EXPECT_CONTAINS(refusal({2}, {0, {}}), "0 threads per rank");
  EXPECT_CONTAINS(refusal({2}, {1, -1.0}), "a timeout of -1 s");
  EXPECT_CONTAINS(refusal({2}, {1, 0.0 / 0.0}), "a timeout of");
}

TEST(LocalWorld, TakesItsTimeoutFromTheEnvironment) {
  const char *name = "SP_COMM_TIMEOUT_SECONDS";
  for (const char *bad : {"", "soon", "5s", "-1", "0", "nan", "inf"}) {
    setenv(name, bad, 1);
    std::string error;
    EXPECT_EQ(LocalWorld::create({2}, {}, &error), nullptr) << bad;
    EXPECT_CONTAINS(error, std::string(name) + "=" + bad);
  }
  setenv(name, "0.1", 1);
  auto world = LocalWorld::create({2});
  unsetenv(name);
  ASSERT_TRUE(world);
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    if (context.rank == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return reduceOne(context);
  });
  EXPECT_CONTAINS(result.error, "rank 0 did not come within 0.1 s");
}

TEST(LocalWorld, WithoutAxesIsOneRank) {
  auto world = makeWorld({});
  EXPECT_EQ(world->size(), 1);
  RanksResult result = runRanks(*world, [](sp_context &context) -> int32_t {
    return context.rank == 0 && context.worldSize == 1 ? 0 : 1;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

} // namespace
