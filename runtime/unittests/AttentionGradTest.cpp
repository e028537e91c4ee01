//===- AttentionGradTest.cpp ----------------------------------------------===//

#include "AttentionTesting.h"

using namespace sp;

namespace {

template <typename T> struct Inputs { std::vector<T> gradOut, q, k, v; };

template <typename T> Inputs<T> randomInputs(const AttentionCase &c) {
  return {randomValues<T>(c.qCount(), 1), randomValues<T>(c.qCount(), 2),
          randomValues<T>(c.kvCount(), 3), randomValues<T>(c.kvCount(), 4)};
}

template <typename To, typename From>
std::vector<To> convert(const std::vector<From> &values) {
  std::vector<To> result;
  for (From value : values)
    result.push_back(fromDouble<To>(toDouble(value)));
  return result;
}

/// Of q, k and v.
template <typename T> using Grads = std::array<std::vector<T>, 3>;

template <typename T>
Grads<T> differentiate(const AttentionCase &c, const Inputs<T> &in,
                       int64_t threads = 1) {
  TrainingContext context(threads);
  // What is there before does not count.
  T before = fromDouble<T>(-7);
  Grads<T> grads = {std::vector<T>(c.qCount(), before),
                    std::vector<T>(c.kvCount(), before),
                    std::vector<T>(c.kvCount(), before)};
  EXPECT_EQ(sp_attention_grad(
                &context, dtypeOf<T>(), in.gradOut.data(), in.q.data(),
                in.k.data(), in.v.data(), grads[0].data(), grads[1].data(),
                grads[2].data(), c.seq, c.batch, c.heads, c.kvHeads, c.dim,
                c.scale(), c.causal, c.dropout, kDropoutOp, c.headOffset),
            0)
      << context.getError();
  return grads;
}

std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> result;
  for (bool causal : {false, true})
    for (double p : {0.0, 0.3})
      for (AttentionCase c : {AttentionCase{1, 2, 2, 1, 8, causal, p},
                              {7, 2, 4, 2, 16, causal, p},
                              {64, 1, 2, 2, 24, causal, p},
                              {67, 2, 4, 1, 32, causal, p, /*headOffset=*/12},
                              {150, 2, 6, 3, 20, causal, p}})
        result.push_back(c);
  return result;
}

TEST(AttentionGrad, IsTheSlopeOfAttention) {
  for (const AttentionCase &c : cases()) {
    Inputs<double> in = randomInputs<double>(c);
    Grads<double> grads = differentiate(c, in);
    auto loss = [&] {
      std::vector<double> out = attend(c, in.q, in.k, in.v);
      double sum = 0;
      for (size_t i = 0; i < out.size(); ++i)
        sum += out[i] * in.gradOut[i];
      return sum;
    };
    std::mt19937 engine(5);
    std::vector<double> *inputs[] = {&in.q, &in.k, &in.v};
    for (int which = 0; which < 3; ++which)
      for (int sample = 0; sample < 8; ++sample) {
        int64_t at = engine() % inputs[which]->size();
        double &x = (*inputs[which])[at], middle = x, step = 1e-5;
        x = middle + step;
        double above = loss();
        x = middle - step;
        double below = loss();
        x = middle;
        EXPECT_NEAR(grads[which][at], (above - below) / (2 * step), 1e-8)
            << c << ", gradient of "
            << "qkv"[which] << " at " << at;
      }
  }
}

/// `tolerance` is relative to the largest entry of each gradient.
template <typename T> void compareWithF64(double tolerance) {
  for (const AttentionCase &c : cases()) {
    Inputs<T> in = randomInputs<T>(c);
    Grads<T> grads = differentiate(c, in);
    Grads<double> expected = differentiate<double>(
        c, {convert<double>(in.gradOut), convert<double>(in.q),
            convert<double>(in.k), convert<double>(in.v)});
    for (int which = 0; which < 3; ++which) {
      double largest = 0, worst = 0;
      for (size_t i = 0; i < expected[which].size(); ++i) {
        double value = expected[which][i];
        largest = std::max(largest, std::abs(value));
        worst = std::max(worst, std::abs(toDouble(grads[which][i]) - value));
      }
      EXPECT_LE(worst, tolerance * largest) << c << ", gradient of "
                                            << "qkv"[which];
    }
  }
}

TEST(AttentionGrad, IsThatOfF64InF32) { compareWithF64<float>(1e-5); }
// Rounded once: half of 2^-7, and a little for the f32 sums.
TEST(AttentionGrad, IsThatOfF64InBf16) { compareWithF64<BFloat16>(0.00392); }

TEST(AttentionGrad, DoesNotDependOnThreadsOrNeighbours) {
  for (AttentionCase c : {AttentionCase{340, 2, 8, 4, 96, true},
                          {130, 1, 8, 8, 64, true, /*dropout=*/0.1},
                          {200, 4, 16, 4, 128, false},
                          {65, 1, 32, 8, 64, true, /*dropout=*/0.5}}) {
    Inputs<float> in = randomInputs<float>(c);
    Grads<float> whole = differentiate(c, in);
    Grads<float> threaded = differentiate(c, in, /*threads=*/3);
    for (int which = 0; which < 3; ++which)
      EXPECT_TRUE(sameBits(whole[which], threaded[which])) << c;
    for (int64_t size = 2; size <= c.kvHeads; size *= 2)
      for (int64_t rank = 0; rank < size; ++rank) {
        auto take = [&](const std::vector<float> &full) {
          return takeShard(c, full, rank, size);
        };
        Grads<float> part = differentiate<float>(
            c.shard(rank, size),
            {take(in.gradOut), take(in.q), take(in.k), take(in.v)});
        for (int which = 0; which < 3; ++which)
          EXPECT_TRUE(sameBits(part[which], take(whole[which])))
              << c << ", gradient of "
              << "qkv"[which] << ", rank " << rank << " of " << size;
      }
  }
}

TEST(AttentionGrad, SeesTheMaskOfTheForwardPass) {
  // With equal scores the weights are 1 / S: out is linear in v, and with one
  // key and value dimension its matrix is read off both ways.
  AttentionCase c = {70, 1, 1, 1, 1, false, /*dropout=*/0.5};
  for (int64_t i : {0, 3, 69}) {
    Inputs<double> in = {std::vector<double>(c.seq), std::vector<double>(c.seq),
                         std::vector<double>(c.seq),
                         std::vector<double>(c.seq)};
    in.gradOut[i] = 1;
    std::vector<double> row = differentiate(c, in)[2];
    for (int64_t j = 0; j < c.seq; ++j) {
      std::vector<double> v(c.seq);
      v[j] = 1;
      EXPECT_EQ(row[j] != 0, attend(c, in.q, in.k, v)[i] != 0)
          << i << ", " << j;
    }
  }
}

TEST(AttentionGrad, IsZeroWhereAllIsDropped) {
  AttentionCase c = {70, 1, 2, 1, 8, true, /*dropout=*/1};
  for (const auto &grad : differentiate(c, randomInputs<float>(c)))
    for (float value : grad)
      EXPECT_EQ(value, 0);
}

TEST(AttentionGrad, RefusesWhatAttentionRefuses) {
  auto refusal = [&](int32_t dtype, int64_t heads, double p) {
    sp_context context(0, 1, 1);
    double x[8] = {};
    EXPECT_NE(sp_attention_grad(&context, dtype, x, x, x, x, x, x, x, 1, 1,
                                heads, 2, 1, 1, 1, p, 0, 0),
              0);
    return context.getError();
  };
  EXPECT_EQ(refusal(SP_F32, 3, 0),
            "attention_grad: 3 query heads cannot share 2 key/value heads");
  EXPECT_EQ(refusal(SP_F32, 2, 2),
            "attention_grad: dropout: p = 2 is not a probability");
  EXPECT_EQ(refusal(SP_I64, 2, 0), "attention_grad: not of i64");
}

} // namespace
