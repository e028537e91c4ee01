//===- DropoutTest.cpp ----------------------------------------------------===//

#include "Philox.h"
#include "Testing.h"

#include <cmath>

using namespace sp;

namespace {

TEST(Philox, GivesTheKnownAnswers) {
  // Random123 1.14, tests/kat_vectors, philox 4x32 10.
  struct Answer {
    uint32_t counter[4], key[2], words[4];
  };
  const Answer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Answer &answer : answers) {
    typedef uint64_t Pair __attribute__((vector_size(16)));
    uint64_t one[4], key = answer.key[0] | uint64_t(answer.key[1]) << 32;
    Pair two[4];
    for (int word = 0; word < 4; ++word) {
      one[word] = answer.counter[word];
      two[word] = Pair{} + one[word];
    }
    philox4x32(one, key);
    philox4x32(two, key);
    for (int word = 0; word < 4; ++word) {
      EXPECT_EQ(one[word], answer.words[word]);
      EXPECT_EQ(two[word][0], answer.words[word]);
      EXPECT_EQ(two[word][1], answer.words[word]);
    }
  }
}

using Dims = std::vector<int64_t>;

template <typename T>
std::vector<T> drop(sp_context &context, const std::vector<T> &src,
                    const Dims &shape, const Dims &offset, double p,
                    int64_t opId = 5) {
  std::vector<T> dst(src.size());
  sp_dropout(&context, dtypeOf<T>(), src.data(), dst.data(), shape.size(),
             shape.data(), offset.data(), p, opId);
  EXPECT_EQ(context.getError(), "");
  return dst;
}

TEST(Dropout, HasTheMaskThatItsDefinitionGives) {
  sp_context context(0, 1, 1);
  context.seed = 3;
  context.step = 4;
  auto mix = [](uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  uint64_t key = mix(mix(mix(3) + 4) + 5);
  std::vector<double> ones(2 * 3 * 7, 1);
  auto dropped = drop(context, ones, {2, 3, 7}, {10, 20, 30}, 0.25);
  for (uint32_t i = 0; i < ones.size(); ++i) {
    uint32_t last = 30 + i % 7;
    uint64_t words[4] = {0, 10 + i / 21, 20 + i / 7 % 3, last / 4};
    philox4x32(words, key);
    EXPECT_EQ(dropped[i], words[last % 4] >= 0x40000000u ? 1 / 0.75 : 0);
  }
}

TEST(Dropout, DoesNotDependOnTheSharding) {
  Dims global = {6, 2, 4, 70};
  sp_context one(0, 1, 1), three(0, 1, 3);
  one.seed = three.seed = 11;
  auto full = randomValues<float>(6 * 2 * 4 * 70, 1);
  auto whole = drop(one, full, global, {0, 0, 0, 0}, 0.3);
  EXPECT_TRUE(sameBits(whole, drop(three, full, global, {0, 0, 0, 0}, 0.3)));

  for (int d = 0; d < 4; ++d) {
    // In parts of 2: on the last dimension not whole counters.
    Dims shape = global, offset(4, 0);
    shape[d] = 2;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < 4; ++i)
      (i < d ? outer : inner) *= i == d ? 1 : global[i];
    for (offset[d] = 0; offset[d] < global[d]; offset[d] += 2) {
      std::vector<float> part, expected;
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < 2 * inner; ++i) {
          int64_t at = (o * global[d] + offset[d]) * inner + i;
          part.push_back(full[at]);
          expected.push_back(whole[at]);
        }
      EXPECT_TRUE(sameBits(drop(one, part, shape, offset, 0.3), expected));
    }
  }
}

TEST(Dropout, IsTheSameForEveryType) {
  sp_context context(0, 1, 1);
  int64_t count = 1000;
  auto f64 = drop(context, std::vector<double>(count, 1), {count}, {0}, 0.5);
  auto f32 = drop(context, std::vector<float>(count, 1), {count}, {0}, 0.5);
  auto bf16 = drop(context, std::vector<BFloat16>(count, toBFloat16(1)),
                   {count}, {0}, 0.5);
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_EQ(f32[i], f64[i]);
    EXPECT_EQ(toFloat(bf16[i]), f64[i]);
  }
}

TEST(Dropout, ChangesWithSeedStepAndOp) {
  sp_context context(0, 1, 1);
  std::vector<float> ones(256, 1);
  auto mask = [&](uint64_t seed, uint64_t step, int64_t op) {
    context.seed = seed;
    context.step = step;
    return drop(context, ones, {256}, {0}, 0.5, op);
  };
  auto base = mask(1, 2, 3);
  EXPECT_EQ(base, mask(1, 2, 3));
  for (auto other : {mask(2, 2, 3), mask(1, 3, 3), mask(1, 2, 4), mask(2, 1, 3),
                     mask(1, 3, 2)}) {
    int64_t same = 0;
    for (int i = 0; i < 256; ++i)
      same += base[i] == other[i];
    EXPECT_NEAR(same, 128, 48); // Six standard deviations.
  }
}

TEST(Dropout, KeepsTheRightShareAndTheMean) {
  sp_context context(0, 1, 1);
  int64_t count = 1 << 20;
  std::vector<float> ones(count, 1);
  for (double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    auto dropped = drop(context, ones, {1024, 1024}, {0, 0}, p);
    int64_t kept = 0;
    for (float value : dropped) {
      kept += value != 0;
      ASSERT_TRUE(value == 0 || value == float(1 / (1 - p)));
    }
    // Five standard deviations.
    EXPECT_NEAR(kept, count * (1 - p), 5 * std::sqrt(count * p * (1 - p)));
  }
}

TEST(Dropout, RefusesWhatHasNoMask) {
  float x = 0;
  auto refusal = [&](int32_t rank, Dims offset, double p) {
    sp_context context(0, 1, 1);
    Dims shape(5, 1);
    sp_dropout(&context, SP_F32, &x, &x, rank, shape.data(), offset.data(), p,
               0);
    return context.getError();
  };
  EXPECT_EQ(refusal(5, {0, 0, 0, 0, 0}, 0.5),
            "dropout: a tensor of rank 5 has no counter");
  EXPECT_EQ(refusal(1, {0}, 1.5), "dropout: p = 1.5 is not a probability");
  EXPECT_EQ(refusal(1, {int64_t(1) << 32}, 0.5),
            "dropout: coordinate 4294967297 has no counter");
  EXPECT_EQ(refusal(1, {(int64_t(1) << 32) - 1}, 0.5), "");
  EXPECT_EQ(refusal(0, {}, 0.5), "");
}

} // namespace
