//===- AttentionTest.cpp --------------------------------------------------===//

#include "AttentionTesting.h"

#include <limits>

using namespace sp;

namespace {

/// What sp_dropout makes of ones [B, heads, S, S].
std::vector<double> dropoutFactors(const AttentionCase &c) {
  TrainingContext context;
  int64_t shape[] = {c.batch, c.heads, c.seq, c.seq};
  int64_t offset[] = {0, c.headOffset, 0, 0};
  std::vector<double> factors(c.batch * c.heads * c.seq * c.seq, 1);
  sp_dropout(&context, SP_F64, factors.data(), factors.data(), 4, shape, offset,
             c.dropout, kDropoutOp);
  return factors;
}

/// By the definition.
template <typename T>
std::vector<double> naive(const AttentionCase &c, const std::vector<T> &q,
                          const std::vector<T> &k, const std::vector<T> &v) {
  std::vector<double> out(c.qCount()), factors = dropoutFactors(c);
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h) {
      int64_t kvHead = h * c.kvHeads / c.heads;
      auto at = [&](int64_t i) {
        return ((i * c.batch + b) * c.heads + h) * c.dim;
      };
      auto kvAt = [&](int64_t i) {
        return ((i * c.batch + b) * c.kvHeads + kvHead) * c.dim;
      };
      for (int64_t i = 0; i < c.seq; ++i) {
        int64_t keys = c.causal ? i + 1 : c.seq;
        const double *kept = &factors[((b * c.heads + h) * c.seq + i) * c.seq];
        std::vector<double> weights(keys);
        double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t d = 0; d < c.dim; ++d)
            weights[j] += toDouble(q[at(i) + d]) * toDouble(k[kvAt(j) + d]);
          weights[j] *= c.scale();
          maximum = std::max(maximum, weights[j]);
        }
        for (double &weight : weights)
          sum += weight = std::exp(weight - maximum);
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t d = 0; d < c.dim; ++d)
            out[at(i) + d] +=
                weights[j] / sum * kept[j] * toDouble(v[kvAt(j) + d]);
      }
    }
  return out;
}

template <typename T> void compare(double dropout, double tolerance) {
  for (bool causal : {false, true})
    for (AttentionCase c :
         {AttentionCase{1, 1, 1, 1, 8, causal, dropout},
          {5, 3, 4, 2, 16, causal, dropout},
          {64, 2, 2, 2, 24, causal, dropout},
          {67, 2, 4, 1, 32, causal, dropout, /*headOffset=*/12},
          {129, 1, 6, 3, 96, causal, dropout}}) {
      auto q = randomValues<T>(c.qCount(), 1);
      auto k = randomValues<T>(c.kvCount(), 2);
      auto v = randomValues<T>(c.kvCount(), 3);
      auto out = attend(c, q, k, v);
      auto expected = naive(c, q, k, v);
      double worst = 0;
      for (int64_t i = 0; i < c.qCount(); ++i)
        worst = std::max(worst, std::abs(toDouble(out[i]) - expected[i]));
      EXPECT_LT(worst, tolerance) << c;
    }
}

TEST(Attention, FollowsItsDefinitionInF64) { compare<double>(0, 1e-14); }
TEST(Attention, FollowsItsDefinitionInF32) { compare<float>(0, 1e-6); }
// Results below 1 in magnitude, rounded once: half of 2^-8.
TEST(Attention, FollowsItsDefinitionInBf16) { compare<BFloat16>(0, 0.00196); }

TEST(AttentionDropout, HasTheMaskOfDropoutInF64) {
  compare<double>(0.3, 1e-14);
  compare<double>(1, 1e-14);
}
TEST(AttentionDropout, HasTheMaskOfDropoutInF32) { compare<float>(0.3, 1e-6); }
// Results below 2 in magnitude.
TEST(AttentionDropout, HasTheMaskOfDropoutInBf16) {
  compare<BFloat16>(0.3, 0.00391);
}

TEST(Attention, GivesAHeadTheSameBitsAloneAndAmongOthers) {
  // Strides of powers of two are what a library treats differently.
  for (AttentionCase c : {AttentionCase{340, 2, 8, 4, 96, true},
                          {340, 1, 8, 8, 64, true, /*dropout=*/0.1},
                          {200, 4, 16, 4, 128, false},
                          {65, 1, 32, 8, 64, true, /*dropout=*/0.5}}) {
    auto q = randomValues<float>(c.qCount(), 1);
    auto k = randomValues<float>(c.kvCount(), 2);
    auto v = randomValues<float>(c.kvCount(), 3);
    auto whole = attend(c, q, k, v);
    EXPECT_TRUE(sameBits(whole, attend(c, q, k, v, /*threads=*/3)));
    for (int64_t size = 2; size <= c.kvHeads; size *= 2)
      for (int64_t rank = 0; rank < size; ++rank) {
        auto take = [&](const std::vector<float> &full) {
          return takeShard(c, full, rank, size);
        };
        auto part = attend(c.shard(rank, size), take(q), take(k), take(v));
        EXPECT_TRUE(sameBits(part, take(whole)))
            << c << ", rank " << rank << " of " << size;
      }
  }
}

TEST(Attention, SurvivesLargeScoresAndShowsNaN) {
  AttentionCase c = {70, 1, 1, 1, 8, true};
  auto q = randomValues<float>(c.qCount(), 1);
  auto k = randomValues<float>(c.kvCount(), 2);
  auto v = randomValues<float>(c.kvCount(), 3);
  for (float &value : q)
    value *= 1e4f;
  for (float value : attend(c, q, k, v))
    EXPECT_TRUE(std::isfinite(value));

  q[3 * 8] = std::numeric_limits<float>::quiet_NaN();
  auto out = attend(c, q, k, v);
  for (int64_t i = 0; i < c.qCount(); ++i)
    EXPECT_EQ(std::isnan(out[i]), i / 8 == 3);
}

TEST(Attention, RefusesHeadsThatDoNotDivide) {
  sp_context context(0, 1, 1);
  EXPECT_NE(sp_attention(&context, SP_F32, nullptr, nullptr, nullptr, nullptr,
                         1, 1, 6, 4, 8, 1, 1, 0, 0, 0),
            0);
  EXPECT_EQ(context.getError(),
            "attention: 6 query heads cannot share 4 key/value heads");
}

TEST(AttentionDropout, RefusesWhatHasNoMask) {
  auto refusal = [&](double p, int64_t headOffset) {
    sp_context context(0, 1, 1);
    float x = 0;
    EXPECT_NE(sp_attention(&context, SP_F32, &x, &x, &x, &x, 1, 1, 1, 1, 1, 1,
                           1, p, 0, headOffset),
              0);
    return context.getError();
  };
  EXPECT_EQ(refusal(-0.5, 0),
            "attention: dropout: p = -0.5 is not a probability");
  EXPECT_EQ(refusal(NAN, 0),
            "attention: dropout: p = nan is not a probability");
  EXPECT_EQ(refusal(0.5, int64_t(1) << 32),
            "attention: dropout: coordinate 4294967297 has no counter");
}

} // namespace
