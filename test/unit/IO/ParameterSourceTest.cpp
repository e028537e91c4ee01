//===- ParameterSourceTest.cpp --------------------------------------------===//

#include "sp/IO/ParameterSource.h"

#include "TestFiles.h"

#include <cmath>
#include <numeric>

using namespace sp;
using namespace sp::test;
using llvm::StringRef;

/// Reads the whole parameter as T blocks along `dim` and puts them together.
static std::vector<float> readInParts(const ParameterSource &source,
                                      StringRef name, Shape shape, size_t dim,
                                      int64_t T) {
  std::vector<float> whole(shape[0] * shape[1]);
  for (int64_t rank = 0; rank < T; ++rank) {
    Shape sizes = shape, offsets(2, 0);
    sizes[dim] /= T;
    offsets[dim] = rank * sizes[dim];
    std::vector<float> part(sizes[0] * sizes[1]);
    EXPECT_OK(
        source.read(name, shape, offsets, sizes, DType::F32, part.data()));
    for (int64_t i = 0; i < int64_t(part.size()); ++i)
      whole[(offsets[0] + i / sizes[1]) * shape[1] + offsets[1] +
            i % sizes[1]] = part[i];
  }
  return whole;
}

static std::unique_ptr<ParameterSource> openSource(StringRef path) {
  return makeCheckpointSource(take(Checkpoint::open(path)));
}

TEST(CheckpointSource, CheckerboardAgreesForEveryT) {
  TempFolder folder;
  const Shape shape = {8, 12};
  std::vector<float> board(8 * 12);
  for (int i = 0; i < 8 * 12; ++i)
    board[i] = (i / 12 + i % 12) % 2 ? float(i) : -float(i);
  EXPECT_OK(writeSafetensors(folder.path("model.safetensors"),
                             {{{"w", DType::F32, shape}, board.data()}}));
  auto source = openSource(folder.path());
  for (size_t dim : {0, 1})
    for (int64_t T : {1, 2, 4})
      EXPECT_EQ(readInParts(*source, "w", shape, dim, T), board);
}

TEST(CheckpointSource, NamesWhatIsMissingOrMisshapen) {
  auto source = openSource(SP_TEST_DATA_DIR "/tiny");
  std::string file = SP_TEST_DATA_DIR "/tiny/model.safetensors";
  float out[64 * 128];
  EXPECT_EQ(message(source->read("lm_head.weight", {128, 64}, {0, 0}, {1, 1},
                                 DType::F32, out)),
            "missing weight `lm_head.weight` in " + file);
  EXPECT_CONTAINS(message(source->read("model.norm.weight", {32}, {0}, {32},
                                       DType::F32, out)),
                  "weight `model.norm.weight` in " + file +
                      " has shape [64], but the model needs [32]");
  EXPECT_CONTAINS(message(source->read("model.norm.weight", {64}, {0}, {64},
                                       DType::I64, out)),
                  "`model.norm.weight` has type F32 and cannot be read as I64");
}

TEST(CheckpointSource, NamesExtraTensors) {
  TempFolder folder;
  std::vector<TensorData> tensors;
  char byte = 0;
  for (std::string name :
       {"w", "lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"})
    tensors.push_back({{name, DType::U8, {1}}, &byte});
  EXPECT_OK(writeSafetensors(folder.path("model.safetensors"), tensors));
  auto source = openSource(folder.path());
  std::string text = message(source->checkNoExtra({"w"}));
  EXPECT_CONTAINS(text, folder.path("model.safetensors"));
  EXPECT_CONTAINS(text, "`lm_head.weight`, `model.layers.0.self_attn.");
  EXPECT_OK(source->checkNoExtra(
      {"w"}, [](StringRef name) { return isRedundantTensor(name, true); }));
  text = message(source->checkNoExtra(
      {"w"}, [](StringRef name) { return isRedundantTensor(name, false); }));
  EXPECT_CONTAINS(text, "does not use: `lm_head.weight`;");
  text = message(source->checkNoExtra({"lm_head.weight"}, [](StringRef name) {
    return isRedundantTensor(name, true);
  }));
  EXPECT_CONTAINS(text, "does not use: `w`;");
}

TEST(CheckpointSource, ShortensALongList) {
  TempFolder folder;
  std::vector<TensorData> tensors;
  char byte = 0;
  for (int i = 10; i < 21; ++i)
    tensors.push_back({{"w" + std::to_string(i), DType::U8, {1}}, &byte});
  EXPECT_OK(writeSafetensors(folder.path("model.safetensors"), tensors));
  EXPECT_CONTAINS(message(openSource(folder.path())->checkNoExtra({})),
                  "`w17` and 3 more;");
}

TEST(RandomSource, DoesNotDependOnTheSlice) {
  auto source = makeRandomSource(7);
  // 20 / 4 columns: blocks start in the middle of a Box-Muller pair.
  const Shape shape = {12, 20};
  std::vector<float> whole = readInParts(*source, "w", shape, 0, 1);
  for (size_t dim : {0, 1})
    for (int64_t T : {2, 4})
      EXPECT_EQ(readInParts(*source, "w", shape, dim, T), whole);
  for (int64_t i = 0; i < 12 * 20; ++i) {
    float one;
    EXPECT_OK(
        source->read("w", shape, {i / 20, i % 20}, {1, 1}, DType::F32, &one));
    EXPECT_EQ(one, whole[i]);
  }
}

TEST(RandomSource, DependsOnSeedAndName) {
  const Shape shape = {8, 8};
  auto read = [&](uint64_t seed, StringRef name) {
    return readInParts(*makeRandomSource(seed), name, shape, 0, 1);
  };
  EXPECT_EQ(read(1, "w"), read(1, "w"));
  EXPECT_NE(read(1, "w"), read(2, "w"));
  EXPECT_NE(read(1, "w"), read(1, "v"));
}

TEST(RandomSource, IsNormal) {
  const int64_t count = 1 << 20;
  std::vector<double> values(count);
  EXPECT_OK(makeRandomSource(0)->read("w", {1024, 1024}, {0, 0}, {1024, 1024},
                                      DType::F64, values.data()));
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = values[i] / 0.02;
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    neighbours += x * values[(i + 1) % count] / 0.02;
  }
  // Within five standard errors of a normal distribution's moments.
  double error = 5 / std::sqrt(double(count));
  EXPECT_NEAR(sum / count, 0, error);
  EXPECT_NEAR(squares / count, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(fourth / count, 3, error * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / count, 0, error);
}

TEST(RandomSource, VectorsAreOnesAndBiasesZeros) {
  auto source = makeRandomSource(3);
  float out[3] = {5, 5, 5};
  EXPECT_OK(source->read("x.norm.weight", {4}, {1}, {2}, DType::F32, out));
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(out[2], 5);
  EXPECT_OK(source->read("x.bias", {4}, {1}, {2}, DType::F32, out));
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
}

TEST(RandomSource, TypesStartFromTheSameValues) {
  auto source = makeRandomSource(3);
  std::vector<float> f32(64);
  std::vector<double> f64(64);
  std::vector<uint16_t> bf16(64);
  EXPECT_OK(source->read("w", {8, 8}, {0, 0}, {8, 8}, DType::F32, f32.data()));
  EXPECT_OK(source->read("w", {8, 8}, {0, 0}, {8, 8}, DType::F64, f64.data()));
  EXPECT_OK(
      source->read("w", {8, 8}, {0, 0}, {8, 8}, DType::BF16, bf16.data()));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(f64[i], f32[i]);
    EXPECT_EQ(bf16[i], floatToBF16(f32[i]));
  }
}

TEST(RandomSource, RefusesBadRequests) {
  auto source = makeRandomSource(3);
  char out[8];
  EXPECT_CONTAINS(
      message(source->read("w", {8, 8}, {0, 0}, {1, 1}, DType::I64, out)),
      "weight `w` of type I64");
  EXPECT_CONTAINS(
      message(source->read("w", {8, 8}, {8, 0}, {1, 1}, DType::F32, out)),
      "weight `w` cannot be read");
  EXPECT_CONTAINS(
      message(source->read("w", {-8, 8}, {0, 0}, {0, 0}, DType::F32, out)),
      "impossible shape");
  EXPECT_OK(source->checkNoExtra({"w"}));
}
