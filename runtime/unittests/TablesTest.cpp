//===- TablesTest.cpp - embedding, RoPE tables, transposition, symbols ----===//

#include "FloatTypes.h"
#include "Testing.h"

#include <cmath>
#include <set>

using namespace sp;

namespace {

TEST(Embedding, WritesSequenceMajor) {
  sp_context context(0, 1, 1);
  const int64_t batch = 3, seq = 5, vocab = 20, hidden = 4;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < batch * seq; ++i)
    ids.push_back((i * 7) % vocab);
  std::vector<float> table(vocab * hidden), out(seq * batch * hidden);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = i;
  ASSERT_EQ(sp_embedding(&context, SP_F32, ids.data(), table.data(), out.data(),
                         batch, seq, vocab, hidden, /*first=*/0, vocab),
            0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < seq; ++s)
      for (int64_t h = 0; h < hidden; ++h)
        EXPECT_EQ(out[(s * batch + b) * hidden + h],
                  ids[b * seq + s] * hidden + h);
}

TEST(Embedding, HasNothingForTheTokensOfOtherRanks) {
  sp_context context(0, 1, 1);
  const int64_t ids[4] = {4, 5, 7, 8};
  const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  float out[4][2];
  ASSERT_EQ(sp_embedding(&context, SP_F32, ids, table, out, /*batch=*/1,
                         /*seq=*/4, /*rows=*/3, /*hidden=*/2, /*first=*/5,
                         /*vocab=*/9),
            0);
  const float expected[4][2] = {{0, 0}, {1, 2}, {5, 6}, {0, 0}};
  for (int s = 0; s < 4; ++s)
    for (int h = 0; h < 2; ++h)
      EXPECT_EQ(out[s][h], expected[s][h]) << s << ", " << h;
}

TEST(Embedding, NamesAnIdOutsideTheVocabulary) {
  for (int64_t bad : {200, 128, -1}) {
    sp_context context(0, 1, 1);
    int64_t ids[8] = {0, 1, 2, bad, 127, 0, 0, 0};
    std::vector<uint16_t> table(128 * 2), out(8 * 2);
    // Also where the rank has only some of the rows.
    EXPECT_NE(sp_embedding(&context, SP_BF16, ids, table.data(), out.data(), 2,
                           4, 64, 2, 64, 128),
              0);
    EXPECT_EQ(context.getError(),
              "token id " + std::to_string(bad) +
                  " at input_ids[0, 3] is outside the vocabulary of 128");
  }
}

/// To the bit: the order of the sum is part of the definition.
template <typename T> void checkEmbeddingGrad() {
  const int64_t batch = 3, seq = 50, vocab = 20, hidden = 37;
  // 13 is every other token; 17 and on are none.
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < batch * seq; ++i)
    ids.push_back(i % 2 ? 13 : i * 7 % 17);
  auto grad = randomValues<T>(seq * batch * hidden, 1);
  std::vector<Wide<T>> sums(vocab * hidden);
  for (int64_t s = 0; s < seq; ++s)
    for (int64_t b = 0; b < batch; ++b)
      addTo(&sums[ids[b * seq + s] * hidden], &grad[(s * batch + b) * hidden],
            hidden);
  std::vector<T> expected;
  for (Wide<T> sum : sums)
    expected.push_back(narrow<T>(sum));

  for (int64_t threads : {1, 3}) {
    sp_context context(0, 1, threads);
    std::vector<T> table(vocab * hidden, fromDouble<T>(-7));
    ASSERT_EQ(sp_embedding_grad(&context, dtypeOf<T>(), ids.data(), grad.data(),
                                table.data(), batch, seq, vocab, hidden,
                                /*first=*/0, vocab),
              0);
    EXPECT_TRUE(sameBits(table, expected)) << threads << " threads";
    // A rank's rows have the bits that they have among all.
    std::vector<T> rows(6 * hidden, fromDouble<T>(-7));
    ASSERT_EQ(sp_embedding_grad(&context, dtypeOf<T>(), ids.data(), grad.data(),
                                rows.data(), batch, seq, 6, hidden,
                                /*first=*/12, vocab),
              0);
    EXPECT_TRUE(sameBits(rows, std::vector<T>(expected.begin() + 12 * hidden,
                                              expected.begin() + 18 * hidden)))
        << threads << " threads";
  }
}

TEST(EmbeddingGrad, SumsTheRowsOfATokenInOrder) {
  checkEmbeddingGrad<float>();
  checkEmbeddingGrad<double>();
  checkEmbeddingGrad<BFloat16>();
}

TEST(EmbeddingGrad, NamesAnIdOutsideTheVocabulary) {
  for (int64_t bad : {128, -1}) {
    sp_context context(0, 1, 1);
    int64_t ids[8] = {0, 1, 2, 3, 127, 0, bad, 0};
    std::vector<float> table(128 * 2), grad(8 * 2);
    EXPECT_NE(sp_embedding_grad(&context, SP_F32, ids, grad.data(),
                                table.data(), 2, 4, 64, 2, 0, 128),
              0);
    EXPECT_EQ(context.getError(),
              "token id " + std::to_string(bad) +
                  " at input_ids[1, 2] is outside the vocabulary of 128");
  }
}

TEST(RopeTable, HoldsCosinesAndSines) {
  const int64_t positions = 300, half = 48;
  std::vector<double> cos(positions * half), sin(positions * half);
  std::vector<float> cos32(cos.size()), sin32(cos.size());
  std::vector<BFloat16> cos16(cos.size()), sin16(cos.size());
  sp_rope_table(SP_F64, cos.data(), sin.data(), positions, half, 1e6);
  sp_rope_table(SP_F32, cos32.data(), sin32.data(), positions, half, 1e6);
  sp_rope_table(SP_BF16, cos16.data(), sin16.data(), positions, half, 1e6);
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t i = 0; i < half; ++i) {
      int64_t at = p * half + i;
      double angle = p * std::pow(1e6, -2.0 * i / (2 * half));
      EXPECT_NEAR(cos[at], std::cos(angle), 1e-13);
      EXPECT_NEAR(sin[at], std::sin(angle), 1e-13);
      EXPECT_EQ(cos32[at], float(cos[at]));
      EXPECT_EQ(sin32[at], float(sin[at]));
      EXPECT_EQ(cos16[at].bits, roundToBFloat16(cos[at]).bits);
      EXPECT_EQ(sin16[at].bits, roundToBFloat16(sin[at]).bits);
    }
}

TEST(BFloat16, RoundsOnceToTheNearestEven) {
  const double step = 1.0 / 128, tiny = 1e-12;
  EXPECT_EQ(toFloat(toBFloat16(1 + float(step) / 2)), 1);
  EXPECT_EQ(toFloat(toBFloat16(1 + float(step) * 3 / 2)), 1 + 2 * step);
  // Through f32 these would become ties.
  EXPECT_EQ(toFloat(roundToBFloat16(1 + step / 2 + tiny)), 1 + step);
  EXPECT_EQ(toFloat(roundToBFloat16(1 + step * 3 / 2 - tiny)), 1 + step);
  EXPECT_EQ(toFloat(roundToBFloat16(-1 - step / 2 - tiny)), -1 - step);
  EXPECT_EQ(toFloat(roundToBFloat16(-1 - step * 3 / 2 + tiny)), -1 - step);
  EXPECT_EQ(toFloat(roundToBFloat16(1 + step / 2)), 1);
  EXPECT_TRUE(std::isnan(toFloat(toBFloat16(NAN))));
  EXPECT_TRUE(std::isinf(toFloat(toBFloat16(3.4e38f))));
}

TEST(Transpose01, SwapsTheOuterDimensions) {
  for (int64_t elemBytes : {1, 2, 4, 8})
    for (auto [d0, d1, inner] : {std::array<int64_t, 3>{3, 5, 1},
                                 {33, 17, 1},
                                 {4, 3, 7},
                                 {1, 9, 64},
                                 {0, 3, 2}}) {
      int64_t row = inner * elemBytes;
      std::vector<char> src(d0 * d1 * row), dst(src.size());
      for (size_t i = 0; i < src.size(); ++i)
        src[i] = char(i * 37 + i / 251);
      sp_transpose01(elemBytes, src.data(), dst.data(), d0, d1, inner);
      for (int64_t i = 0; i < d0; ++i)
        for (int64_t j = 0; j < d1; ++j)
          EXPECT_EQ(std::memcmp(&dst[(j * d0 + i) * row],
                                &src[(i * d1 + j) * row], row),
                    0);
    }
}

TEST(RuntimeSymbols, AreThereOnceEach) {
  std::set<std::string> names;
  std::set<void *> addresses;
  for (const RuntimeSymbol &symbol : runtimeSymbols()) {
    EXPECT_NE(symbol.address, nullptr);
    EXPECT_EQ(std::string(symbol.name).rfind("sp_", 0), 0u);
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
    EXPECT_TRUE(addresses.insert(symbol.address).second) << symbol.name;
  }
  EXPECT_TRUE(names.count("sp_launch") && names.count("sp_zero_pad"));
}

} // namespace
