//===- CollectivesTest.cpp - what collectives compute ---------------------===//

#include "Testing.h"

using namespace sp;

namespace {

/// A tensor seen around one of its dimensions.
struct View {
  int64_t outer, dim, inner;
  int64_t count() const { return outer * dim * inner; }
};

/// Distinct for every rank and element; sums of eight are exact in every type
/// that they are used with.
double value(int64_t rank, int64_t element) {
  return double(rank * 1000 + element);
}

template <typename T>
std::vector<T> fullTensor(const View &view, int64_t rank) {
  std::vector<T> full(view.count());
  for (int64_t i = 0; i < view.count(); ++i)
    full[i] = fromDouble<T>(value(rank, i));
  return full;
}

/// Rank r's part, element by element.
template <typename T>
std::vector<T> partOf(const View &view, const std::vector<T> &full,
                      int64_t rank, int64_t size) {
  std::vector<T> part;
  int64_t local = view.dim / size;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t d = rank * local; d < (rank + 1) * local; ++d)
      for (int64_t i = 0; i < view.inner; ++i)
        part.push_back(full[(o * view.dim + d) * view.inner + i]);
  return part;
}

template <typename T>
std::vector<T> sumOverRanks(const View &view, int64_t size) {
  std::vector<T> sum(view.count());
  for (int64_t i = 0; i < view.count(); ++i) {
    double total = 0;
    for (int64_t rank = 0; rank < size; ++rank)
      total += value(rank, i);
    sum[i] = fromDouble<T>(total);
  }
  return sum;
}

template <typename T> void checkAll(int64_t size, const View &view) {
  auto world = makeWorld({size});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    sp_context *c = &context;
    int64_t rank = context.rank;
    sp_dtype dtype = dtypeOf<T>();
    const std::vector<T> full = fullTensor<T>(view, rank);
    const std::vector<T> expectedSum = sumOverRanks<T>(view, size);

    std::vector<T> src = full, sum(view.count());
    if (sp_all_reduce(c, 0, dtype, src.data(), sum.data(), view.count()))
      return 1;
    EXPECT_TRUE(sameBits(sum, expectedSum));
    EXPECT_TRUE(sameBits(src, full));

    std::vector<T> part(view.count() / size);
    if (sp_reduce_scatter(c, 0, dtype, src.data(), part.data(), view.outer,
                          view.dim, view.inner))
      return 1;
    EXPECT_TRUE(sameBits(part, partOf(view, expectedSum, rank, size)));
    EXPECT_TRUE(sameBits(src, full));

    // The parts of one tensor, so that the gathered tensor is that tensor.
    const std::vector<T> whole = fullTensor<T>(view, 0);
    const std::vector<T> own = partOf(view, whole, rank, size);
    std::vector<T> local = own, gathered(view.count());
    if (sp_all_gather(c, 0, dtype, local.data(), gathered.data(), view.outer,
                      view.dim, view.inner))
      return 1;
    EXPECT_TRUE(sameBits(gathered, whole));
    EXPECT_TRUE(sameBits(local, own));

    std::vector<T> sliced(view.count() / size);
    sp_slice(c, 0, sizeof(T), whole.data(), sliced.data(), view.outer, view.dim,
             view.inner);
    EXPECT_TRUE(sameBits(sliced, own));

    std::vector<T> padded(view.count(), fromDouble<T>(-1));
    sp_zero_pad(c, 0, sizeof(T), own.data(), padded.data(), view.outer,
                view.dim, view.inner);
    for (int64_t other = 0; other < size; ++other) {
      std::vector<T> expected =
          rank == other ? own : std::vector<T>(own.size());
      EXPECT_TRUE(sameBits(partOf(view, padded, other, size), expected));
    }
    return 0;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

class Collectives : public testing::TestWithParam<int64_t> {};

TEST_P(Collectives, AreRightOnEveryDimension) {
  // [S, B, H] = [24, 3, 48] around S, around H; [3, 24, 5] around the middle.
  for (View view : {View{1, 24, 3 * 48}, View{24 * 3, 48, 1}, View{3, 24, 5}}) {
    checkAll<float>(GetParam(), view);
    checkAll<double>(GetParam(), view);
    checkAll<int64_t>(GetParam(), view);
  }
}

TEST_P(Collectives, AreRightInBf16) {
  // Small integers: exact in eight bits, and so are the sums of few ranks.
  int64_t size = GetParam();
  auto world = makeWorld({size});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    std::vector<BFloat16> src(30), dst(30);
    for (int i = 0; i < 30; ++i)
      src[i] = toBFloat16(i - context.rank);
    if (sp_all_reduce(&context, 0, SP_BF16, src.data(), dst.data(), 30))
      return 1;
    for (int i = 0; i < 30; ++i)
      EXPECT_EQ(toFloat(dst[i]), i * size - size * (size - 1) / 2);
    return 0;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

TEST_P(Collectives, ReduceInTheOrderOfTheRanksWhateverTheForm) {
  int64_t size = GetParam();
  // Crosses the borders of blocks and of the parts of an all-reduce.
  View view = {3, size * 1111, 7};
  std::vector<std::vector<float>> inputs;
  for (int64_t rank = 0; rank < size; ++rank)
    inputs.push_back(randomValues<float>(view.count(), rank));
  std::vector<float> expected = inputs[0];
  for (int64_t rank = 1; rank < size; ++rank)
    for (int64_t i = 0; i < view.count(); ++i)
      expected[i] += inputs[rank][i];

  auto world = makeWorld({size});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    const std::vector<float> &src = inputs[context.rank];
    std::vector<float> reduced(view.count()), part(view.count() / size),
        gathered(view.count());
    for (int repeat = 0; repeat < 3; ++repeat) {
      if (sp_all_reduce(&context, 0, SP_F32, src.data(), reduced.data(),
                        view.count()) ||
          sp_reduce_scatter(&context, 0, SP_F32, src.data(), part.data(),
                            view.outer, view.dim, view.inner) ||
          sp_all_gather(&context, 0, SP_F32, part.data(), gathered.data(),
                        view.outer, view.dim, view.inner))
        return 1;
      EXPECT_TRUE(sameBits(reduced, expected));
      EXPECT_TRUE(sameBits(gathered, expected));
    }
    return 0;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

TEST_P(Collectives, TakeScalarsOddSizesAndNothing) {
  int64_t size = GetParam();
  auto world = makeWorld({size});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    for (int64_t count : {0, 1, 3, 63, 65, 4097}) {
      std::vector<int64_t> src(count), dst(count);
      for (int64_t i = 0; i < count; ++i)
        src[i] = context.rank + i;
      if (sp_all_reduce(&context, 0, SP_I64, src.data(), dst.data(), count))
        return 1;
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(dst[i], size * i + size * (size - 1) / 2);
    }
    int64_t none = 7;
    return sp_all_gather(&context, 0, SP_I64, &none, &none, 0, size, 1);
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

/// The sum over ranks of <a, b>.
int64_t dot(const std::vector<std::vector<int64_t>> &a,
            const std::vector<std::vector<int64_t>> &b) {
  int64_t sum = 0;
  for (size_t rank = 0; rank < a.size(); ++rank)
    for (size_t i = 0; i < a[rank].size(); ++i)
      sum += a[rank][i] * b[rank][i];
  return sum;
}

TEST_P(Collectives, AreEachOthersAdjoints) {
  int64_t size = GetParam();
  View view = {3, 2 * size, 5};
  int64_t full = view.count(), part = full / size;
  auto integers = [&](int64_t count, unsigned seed) {
    std::vector<std::vector<int64_t>> values(size);
    std::mt19937 engine(seed);
    for (auto &rank : values)
      for (int64_t i = 0; i < count; ++i)
        rank.push_back(int64_t(engine() % 201) - 100);
    return values;
  };
  auto x = integers(part, 1), y = integers(full, 2);
  std::vector<std::vector<int64_t>> gatherX(size), scatterY(size), padX(size),
      sliceY(size), reduceY(size);
  auto world = makeWorld({size});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    int64_t rank = context.rank;
    gatherX[rank].resize(full);
    padX[rank].resize(full);
    reduceY[rank].resize(full);
    scatterY[rank].resize(part);
    sliceY[rank].resize(part);
    sp_slice(&context, 0, 8, y[rank].data(), sliceY[rank].data(), view.outer,
             view.dim, view.inner);
    sp_zero_pad(&context, 0, 8, x[rank].data(), padX[rank].data(), view.outer,
                view.dim, view.inner);
    return sp_all_gather(&context, 0, SP_I64, x[rank].data(),
                         gatherX[rank].data(), view.outer, view.dim,
                         view.inner) ||
           sp_reduce_scatter(&context, 0, SP_I64, y[rank].data(),
                             scatterY[rank].data(), view.outer, view.dim,
                             view.inner) ||
           sp_all_reduce(&context, 0, SP_I64, y[rank].data(),
                         reduceY[rank].data(), full);
  });
  ASSERT_TRUE(result.succeeded()) << result.error;
  EXPECT_EQ(dot(gatherX, y), dot(x, scatterY));
  EXPECT_EQ(dot(padX, y), dot(x, sliceY));
  EXPECT_EQ(dot(gatherX, reduceY), size * dot(x, scatterY));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 8));

TEST(CollectivesOnMeshes, StayWithinTheirAxis) {
  auto world = makeWorld({2, 3});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    int64_t row = context.rank / 3, column = context.rank % 3;
    EXPECT_EQ(context.communicators[0]->rank(), row);
    EXPECT_EQ(context.communicators[0]->size(), 2);
    EXPECT_EQ(context.communicators[1]->rank(), column);
    EXPECT_EQ(context.communicators[1]->size(), 3);
    int64_t own = 1 << context.rank, down, across, both;
    if (sp_all_reduce(&context, 0, SP_I64, &own, &down, 1) ||
        sp_all_reduce(&context, 1, SP_I64, &own, &across, 1) ||
        sp_all_reduce(&context, 1, SP_I64, &down, &both, 1))
      return 1;
    EXPECT_EQ(down, 0b001001 << column);
    EXPECT_EQ(across, 0b111 << (3 * row));
    EXPECT_EQ(both, 0b111111);
    return 0;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

/// An axis of four ranks whose parts, major and minor, have groups of their own.
TEST(CollectivesOnMeshes, RunAlongPartsOfAnAxis) {
  std::string error;
  auto world =
      LocalWorld::create(4, {{4, 1}, {2, 2}, {2, 1}}, LocalWorldOptions(), &error);
  ASSERT_TRUE(world) << error;
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    const int64_t wanted[] = {1 + 2 + 4 + 8,
                              context.rank % 2 == 0 ? 1 + 4 : 2 + 8,
                              context.rank < 2 ? 1 + 2 : 4 + 8};
    const int64_t places[] = {context.rank, context.rank / 2, context.rank % 2};
    for (int32_t axis = 0; axis < 3; ++axis) {
      int64_t own = int64_t(1) << context.rank, sum;
      if (sp_all_reduce(&context, axis, SP_I64, &own, &sum, 1))
        return 1;
      EXPECT_EQ(sum, wanted[axis]);
      EXPECT_EQ(sp_axis_rank(&context, axis), places[axis]);
    }
    return 0;
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

TEST(CollectivesOnMeshes, RefuseAxesThatDoNotFit) {
  const std::vector<WorldAxis> bad[] = {
      {{3, 1}}, {{2, 3}}, {{4, 2}}, {{0, 1}}, {{2, 0}}, {{-2, -1}}};
  for (const std::vector<WorldAxis> &axes : bad) {
    std::string error;
    EXPECT_EQ(LocalWorld::create(4, axes, LocalWorldOptions(), &error), nullptr);
    EXPECT_NE(error.find("does not fit 4 ranks"), std::string::npos) << error;
  }
}

TEST(CollectivesOnMeshes, RunAtTheSameTimeInEachGroup) {
  auto world = makeWorld({2, 2});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    // The two columns do different numbers of collectives.
    int64_t count = context.rank % 2 ? 100 : 3, sum;
    for (int64_t i = 0; i < count; ++i) {
      if (sp_all_reduce(&context, 0, SP_I64, &i, &sum, 1))
        return 1;
      EXPECT_EQ(sum, 2 * i);
    }
    return sp_all_reduce(&context, 1, SP_I64, &count, &sum, 1);
  });
  EXPECT_TRUE(result.succeeded()) << result.error;
}

TEST(CollectiveStatistics, CountWhatARingSends) {
  auto world = makeWorld({4});
  RanksResult result = runRanks(*world, [&](sp_context &context) -> int32_t {
    std::vector<float> full(40), other(40);
    return sp_all_reduce(&context, 0, SP_F32, full.data(), other.data(), 40) ||
           sp_all_gather(&context, 0, SP_F32, full.data(), other.data(), 2, 4,
                         5) ||
           sp_all_gather(&context, 0, SP_F32, full.data(), other.data(), 2, 4,
                         5) ||
           sp_reduce_scatter(&context, 0, SP_F32, full.data(), other.data(), 1,
                             20, 1);
  });
  ASSERT_TRUE(result.succeeded()) << result.error;
  const auto &statistics = world->context(3).statistics;
  auto of = [&](Collective kind) { return statistics[int(kind)]; };
  EXPECT_EQ(of(Collective::AllReduce).count, 1);
  EXPECT_EQ(of(Collective::AllReduce).bytes, 2 * 160 * 3 / 4);
  EXPECT_EQ(of(Collective::AllGather).count, 2);
  EXPECT_EQ(of(Collective::AllGather).bytes, 2 * 160 * 3 / 4);
  EXPECT_EQ(of(Collective::ReduceScatter).count, 1);
  EXPECT_EQ(of(Collective::ReduceScatter).bytes, 80 * 3 / 4);
}

} // namespace
