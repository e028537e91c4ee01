//===- AttentionTest.cpp --------------------------------------------------===//

#include "Testing.h"

#include <cmath>
#include <limits>

using namespace sp;

namespace {

struct Shape {
  int64_t seq, batch, heads, kvHeads, dim;
  bool causal;
  int64_t qCount() const { return seq * batch * heads * dim; }
  int64_t kvCount() const { return seq * batch * kvHeads * dim; }
  double scale() const { return 1 / std::sqrt(double(dim)); }
};

/// By the definition.
template <typename T>
std::vector<double> naive(const Shape &s, const std::vector<T> &q,
                          const std::vector<T> &k, const std::vector<T> &v) {
  std::vector<double> out(s.qCount());
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h) {
      int64_t kvHead = h * s.kvHeads / s.heads;
      auto at = [&](int64_t i) {
        return ((i * s.batch + b) * s.heads + h) * s.dim;
      };
      auto kvAt = [&](int64_t i) {
        return ((i * s.batch + b) * s.kvHeads + kvHead) * s.dim;
      };
      for (int64_t i = 0; i < s.seq; ++i) {
        int64_t keys = s.causal ? i + 1 : s.seq;
        std::vector<double> weights(keys);
        double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t d = 0; d < s.dim; ++d)
            weights[j] += toDouble(q[at(i) + d]) * toDouble(k[kvAt(j) + d]);
          weights[j] *= s.scale();
          maximum = std::max(maximum, weights[j]);
        }
        for (double &weight : weights)
          sum += weight = std::exp(weight - maximum);
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t d = 0; d < s.dim; ++d)
            out[at(i) + d] += weights[j] / sum * toDouble(v[kvAt(j) + d]);
      }
    }
  return out;
}

template <typename T>
std::vector<T> run(const Shape &s, const std::vector<T> &q,
                   const std::vector<T> &k, const std::vector<T> &v,
                   int64_t threads = 1) {
  sp_context context(0, 1, threads);
  std::vector<T> out(s.qCount(), fromDouble<T>(-7));
  EXPECT_EQ(sp_attention(&context, dtypeOf<T>(), q.data(), k.data(), v.data(),
                         out.data(), s.seq, s.batch, s.heads, s.kvHeads, s.dim,
                         s.scale(), s.causal),
            0)
      << context.getError();
  return out;
}

template <typename T> void compare(double tolerance) {
  for (bool causal : {false, true})
    for (Shape shape : {Shape{1, 1, 1, 1, 8, causal},
                        {5, 3, 4, 2, 16, causal},
                        {64, 2, 2, 2, 24, causal},
                        {67, 2, 4, 1, 32, causal},
                        {129, 1, 6, 3, 96, causal}}) {
      auto q = randomValues<T>(shape.qCount(), 1);
      auto k = randomValues<T>(shape.kvCount(), 2);
      auto v = randomValues<T>(shape.kvCount(), 3);
      auto out = run(shape, q, k, v);
      auto expected = naive(shape, q, k, v);
      double worst = 0;
      for (int64_t i = 0; i < shape.qCount(); ++i)
        worst = std::max(worst, std::abs(toDouble(out[i]) - expected[i]));
      EXPECT_LT(worst, tolerance) << "S = " << shape.seq << causal;
    }
}

TEST(Attention, FollowsItsDefinitionInF64) { compare<double>(1e-14); }
TEST(Attention, FollowsItsDefinitionInF32) { compare<float>(1e-6); }
// Results below 1 in magnitude, rounded once: half of 2^-8.
TEST(Attention, FollowsItsDefinitionInBf16) { compare<BFloat16>(0.00196); }

/// The heads [begin, end) of [S, B, heads, D].
std::vector<float> takeHeads(const Shape &s, const std::vector<float> &full,
                             int64_t heads, int64_t begin, int64_t end) {
  std::vector<float> part;
  for (int64_t i = 0; i < s.seq * s.batch; ++i)
    part.insert(part.end(), full.begin() + (i * heads + begin) * s.dim,
                full.begin() + (i * heads + end) * s.dim);
  return part;
}

TEST(Attention, GivesAHeadTheSameBitsAloneAndAmongOthers) {
  // Strides of powers of two are what a library treats differently.
  for (Shape shape : {Shape{340, 2, 8, 4, 96, true},
                      {340, 1, 8, 8, 64, true},
                      {200, 4, 16, 4, 128, false},
                      {65, 1, 32, 8, 64, true}}) {
    auto q = randomValues<float>(shape.qCount(), 1);
    auto k = randomValues<float>(shape.kvCount(), 2);
    auto v = randomValues<float>(shape.kvCount(), 3);
    auto whole = run(shape, q, k, v);
    EXPECT_TRUE(sameBits(whole, run(shape, q, k, v, /*threads=*/3)));
    for (int64_t size = 2; size <= shape.kvHeads; size *= 2) {
      Shape local = shape;
      local.heads /= size;
      local.kvHeads /= size;
      for (int64_t rank = 0; rank < size; ++rank) {
        auto take = [&](const std::vector<float> &full, int64_t heads,
                        int64_t localHeads) {
          return takeHeads(shape, full, heads, rank * localHeads,
                           (rank + 1) * localHeads);
        };
        auto part = run(local, take(q, shape.heads, local.heads),
                        take(k, shape.kvHeads, local.kvHeads),
                        take(v, shape.kvHeads, local.kvHeads));
        EXPECT_TRUE(sameBits(part, take(whole, shape.heads, local.heads)))
            << "S = " << shape.seq << ", rank " << rank << " of " << size;
      }
    }
  }
}

TEST(Attention, SurvivesLargeScoresAndShowsNaN) {
  Shape shape = {70, 1, 1, 1, 8, true};
  auto q = randomValues<float>(shape.qCount(), 1);
  auto k = randomValues<float>(shape.kvCount(), 2);
  auto v = randomValues<float>(shape.kvCount(), 3);
  for (float &value : q)
    value *= 1e4f;
  for (float value : run(shape, q, k, v))
    EXPECT_TRUE(std::isfinite(value));

  q[3 * 8] = std::numeric_limits<float>::quiet_NaN();
  auto out = run(shape, q, k, v);
  for (int64_t i = 0; i < shape.qCount(); ++i)
    EXPECT_EQ(std::isnan(out[i]), i / 8 == 3);
}

TEST(Attention, RefusesHeadsThatDoNotDivide) {
  sp_context context(0, 1, 1);
  EXPECT_NE(sp_attention(&context, SP_F32, nullptr, nullptr, nullptr, nullptr,
                         1, 1, 6, 4, 8, 1, 1),
            0);
  EXPECT_EQ(context.getError(),
            "attention: 6 query heads cannot share 4 key/value heads");
}

} // namespace
