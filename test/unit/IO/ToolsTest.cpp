//===- ToolsTest.cpp - Exit codes and output of the test tools ------------===//
//
// A comparison that passes when it should not hides every other bug.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Program.h"

#include <limits>

using namespace sp;
using namespace sp::test;
using llvm::StringRef;

namespace {
class Tools : public ::testing::Test {
protected:
  /// Runs a tool; its exit code, with its output in `output`.
  int run(StringRef tool, std::vector<std::string> arguments) {
    std::string program = (SP_TOOLS_DIR "/" + tool).str();
    std::vector<StringRef> argv = {program};
    llvm::append_range(argv, arguments);
    std::string out = folder.path("output");
    int code = llvm::sys::ExecuteAndWait(program, argv, std::nullopt,
                                         {StringRef(""), out, out});
    output = readFile(out);
    return code;
  }

  template <typename T>
  void add(std::string name, DType type, std::vector<T> values,
           std::optional<Shape> shape = std::nullopt) {
    Shape flat = {int64_t(values.size())};
    buffers.emplace_back(reinterpret_cast<const char *>(values.data()),
                         values.size() * sizeof(T));
    specs.push_back({std::move(name), type, shape.value_or(flat)});
  }

  /// Writes the tensors added since the last call.
  std::string write(StringRef file) {
    std::vector<TensorData> tensors;
    for (auto [spec, buffer] : llvm::zip_equal(specs, buffers))
      tensors.push_back({spec, buffer.data()});
    EXPECT_OK(writeSafetensors(folder.path(file), tensors));
    specs.clear();
    buffers.clear();
    return folder.path(file);
  }

  int compare(std::string a, std::string b,
              std::vector<std::string> options = {}) {
    options.insert(options.begin(), {a, b});
    return run("sp-test-compare", options);
  }

  TempFolder folder;
  std::string output;
  std::vector<TensorSpec> specs;
  std::vector<std::string> buffers;
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
} // namespace

TEST_F(Tools, CompareMeasuresScaled) {
  add<float>("x", DType::F32, {1, 2, 4});
  std::string a = write("a");
  add<double>("x", DType::F64, {1, 2.5, 4});
  std::string b = write("b");
  EXPECT_EQ(compare(a, b, {"--tolerance=0.125"}), 0);
  EXPECT_EQ(output, "ok   x: 1.250e-01, bound 1.250e-01\n");
  EXPECT_EQ(compare(a, b, {"--tolerance=0.12"}), 1);
  EXPECT_EQ(output, "FAIL x: 1.250e-01, bound 1.200e-01\n");
  EXPECT_EQ(compare(a, b, {"--tolerance", "0.2", "--mode", "rel"}), 0);
  EXPECT_EQ(compare(a, b, {"--tolerance=0.19", "--mode=rel"}), 1);
  EXPECT_EQ(compare(a, b, {"--mode=bitwise"}), 1);
  EXPECT_CONTAINS(output, "has type F32, but F64");
}

TEST_F(Tools, CompareBitwise) {
  add<float>("x", DType::F32, {0.0f, 1});
  add<int64_t>("ids", DType::I64, {1, 2});
  std::string a = write("a");
  EXPECT_EQ(compare(a, a, {"--mode=bitwise"}), 0);
  EXPECT_EQ(output, "ok   ids: 0 bytes differ\nok   x: 0 bytes differ\n");
  add<float>("x", DType::F32, {-0.0f, 1});
  add<int64_t>("ids", DType::I64, {1, 3});
  std::string b = write("b");
  EXPECT_EQ(compare(a, b, {"--mode=bitwise"}), 1);
  EXPECT_EQ(output, "FAIL ids: 1 bytes differ\nFAIL x: 1 bytes differ\n");
  EXPECT_EQ(compare(a, b, {"--tolerance=0", "--names=x"}), 0);
  EXPECT_EQ(compare(a, b, {"--tolerance=0"}), 1);
}

TEST_F(Tools, CompareNeverPassesNaN) {
  add<double>("x", DType::F64, {1, nan, 2});
  std::string a = write("a");
  add<double>("x", DType::F64, {1, 1, 2});
  std::string b = write("b");
  for (auto [left, right] : {std::pair(a, b), std::pair(b, a), std::pair(a, a)})
    for (std::vector<std::string> options :
         {std::vector<std::string>{"--tolerance=1e300"},
          {"--tolerance=1e300", "--mode=rel"},
          {"--mode=bitwise"}}) {
      EXPECT_EQ(compare(left, right, options), 1);
      EXPECT_CONTAINS(output, "1 NaN, the first at element 1");
    }
  add<double>("x", DType::F64, {1, inf, 2});
  std::string c = write("c");
  EXPECT_EQ(compare(c, b, {"--tolerance=1e300"}), 1);
  EXPECT_EQ(compare(b, c, {"--tolerance=1e300"}), 1);
  EXPECT_EQ(compare(c, c, {"--tolerance=1e300"}), 1);
}

TEST_F(Tools, CompareZeros) {
  add<double>("x", DType::F64, {0, 0});
  std::string zero = write("zero");
  add<double>("x", DType::F64, {0, 1e-300});
  std::string tiny = write("tiny");
  EXPECT_EQ(compare(zero, zero, {"--tolerance=0"}), 0);
  EXPECT_EQ(compare(tiny, zero, {"--tolerance=1e300"}), 1);
  EXPECT_EQ(compare(tiny, zero, {"--tolerance=1e300", "--mode=rel"}), 1);
}

TEST_F(Tools, CompareNamesWhatIsMissing) {
  add<float>("x", DType::F32, {1});
  add<float>("grad.a", DType::F32, {1});
  std::string a = write("a");
  add<float>("x", DType::F32, {1});
  add<float>("grad.b", DType::F32, {1});
  std::string b = write("b");
  EXPECT_EQ(compare(a, b, {"--tolerance=1"}), 1);
  EXPECT_CONTAINS(output, "FAIL grad.a: missing in " + b);
  EXPECT_CONTAINS(output, "FAIL grad.b: missing in " + a);
  EXPECT_CONTAINS(output, "ok   x");
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--names=x"}), 0);
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--names=grad.*"}), 1);
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--names=x,y"}), 1);
  EXPECT_CONTAINS(output, "neither file has a tensor `y`");
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--rename=grad.a=grad.b"}), 0);
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--rename=grad.c=grad.b"}), 1);
  EXPECT_CONTAINS(output, "has no tensor `grad.c`");
  EXPECT_EQ(compare(a, b, {"--tolerance=1", "--rename=grad.a=x"}), 1);
  EXPECT_CONTAINS(output, "two tensors go by the name `x`");
}

TEST_F(Tools, CompareNeedsSomethingToCompare) {
  std::string none = write("none");
  EXPECT_EQ(compare(none, none, {"--tolerance=1"}), 1);
  add<float>("x", DType::F32, {}, Shape{0});
  std::string empty = write("empty");
  EXPECT_EQ(compare(empty, empty, {"--tolerance=1"}), 1);
  EXPECT_CONTAINS(output, "nothing was compared");
  EXPECT_EQ(compare(empty, empty, {"--tolerance=1", "--names="}), 1);
}

TEST_F(Tools, CompareRefusesOtherShapes) {
  add<float>("x", DType::F32, {1, 2}, Shape{1, 2});
  std::string a = write("a");
  add<float>("x", DType::F32, {1, 2}, Shape{2, 1});
  std::string b = write("b");
  EXPECT_EQ(compare(a, b, {"--tolerance=1"}), 1);
  EXPECT_CONTAINS(output, "has shape [1, 2], but [2, 1]");
  EXPECT_EQ(compare(a, b, {"--mode=bitwise"}), 1);
}

TEST_F(Tools, CompareRefusesBadUsage) {
  add<float>("x", DType::F32, {1});
  std::string a = write("a");
  EXPECT_EQ(compare(a, a), 2);
  for (std::string option :
       {"--tolerance=nan", "--tolerance=inf", "--tolerance=-1", "--tolerance=x",
        "--tolerance", "--mode=other", "--unknown=1", "third file"})
    EXPECT_EQ(compare(a, a, {option}), 2) << option;
  EXPECT_EQ(compare(a, a, {"--tolerance=1", "--tolerance=2"}), 2);
  EXPECT_EQ(compare(a, a, {"--tolerance=1", "--rename=x"}), 2);
  EXPECT_EQ(compare(a, a, {"--tolerance=1", "--mode=bitwise"}), 2);
  EXPECT_EQ(compare(a, folder.path("none"), {"--tolerance=1"}), 1);
}

TEST_F(Tools, GoldenAtFindsTheSampledLogits) {
  std::string golden = SP_TEST_DATA_DIR "/minimind3";
  auto samples = take(SafetensorsFile::open(golden + "/golden.safetensors"));
  int64_t positions[16];
  double logitsAt[8 * 32];
  EXPECT_OK(readTensor(*samples->find("positions"), DType::I64, positions));
  EXPECT_OK(readTensor(*samples->find("logits_at"), DType::F64, logitsAt));
  std::vector<double> logits(2 * 340 * 6400, 1e6); // unsampled: anything
  double largest = 0;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 32; ++j) {
      int64_t entry = j < 16 ? j : 6400 - 32 + j;
      logits[(positions[2 * i] * 340 + positions[2 * i + 1]) * 6400 + entry] =
          logitsAt[i * 32 + j];
      largest = std::max(largest, std::abs(logitsAt[i * 32 + j]));
    }
  const double loss = 10.737823722480055; // golden.json
  const Shape shape = {2, 340, 6400};
  auto run = [&](double loss, StringRef dtype) {
    add<double>("logits", DType::F64, logits, shape);
    add<double>("loss", DType::F64, {loss}, Shape{});
    return Tools::run("sp-test-golden-at",
                      {write("result"), golden, "--dtype=" + dtype.str(),
                       "--tolerance-from=manifest.json"});
  };
  EXPECT_EQ(run(loss, "f64"), 0);
  EXPECT_EQ(output, "ok   logits: 0.000e+00, bound 1.000e-11\n"
                    "ok   loss: 0.000e+00, bound 1.000e-12\n");
  EXPECT_EQ(run(loss * (1 + 1e-6), "f64"), 1);
  EXPECT_EQ(run(loss * (1 + 1e-6), "f32"), 0);
  EXPECT_EQ(run(loss * (1 + 3e-6), "f32"), 1);
  EXPECT_EQ(run(nan, "f32"), 1);
  EXPECT_CONTAINS(output, "FAIL loss: nan");
  EXPECT_EQ(run(loss, "f16"), 2);

  // The last sampled entry of the last position, just beyond the bound.
  double &last = logits[(positions[14] * 340 + positions[15]) * 6400 + 6399];
  double right = last;
  last = right + largest * 1.5e-5;
  EXPECT_EQ(run(loss, "f32"), 0);
  last = right + largest * 2.5e-5;
  EXPECT_EQ(run(loss, "f32"), 1);
  EXPECT_CONTAINS(output, "FAIL logits: 2.500e-05, bound 2.000e-05");
  last = nan;
  EXPECT_EQ(run(loss, "f32"), 1);
  EXPECT_CONTAINS(output, "FAIL logits: nan");
}

TEST_F(Tools, GoldenAtNamesWhatIsWrong) {
  std::string golden = SP_TEST_DATA_DIR "/minimind3";
  add<double>("logits", DType::F64, {1, 2}, Shape{1, 1, 2});
  EXPECT_EQ(run("sp-test-golden-at", {write("a"), golden, "--dtype=f32"}), 1);
  EXPECT_CONTAINS(output, "`logits` must be [B,S,V], but is [1, 1, 2]");
  add<float>("logits", DType::F32, std::vector<float>(64), Shape{1, 2, 32});
  EXPECT_EQ(run("sp-test-golden-at", {write("a"), golden, "--dtype=f32"}), 1);
  EXPECT_CONTAINS(output, "`logits` cannot be read: block at ");
  EXPECT_EQ(run("sp-test-golden-at", {folder.path("a"), golden, "--dtype=f32",
                                      "--tolerance-from=none.json"}),
            1);
}

TEST_F(Tools, WeightsWritesACheckpoint) {
  std::string config = SP_TEST_DATA_DIR "/tiny_untied_odd/config.json";
  std::string out = folder.path("model.safetensors");
  EXPECT_EQ(run("sp-test-weights", {"--config", config, "--out", out}), 0);
  auto file = take(SafetensorsFile::open(out));
  EXPECT_EQ(file->tensors().size(), 36u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_TRUE(file->find("lm_head.weight"));
  EXPECT_EQ(run("sp-test-weights", {"--config", config}), 2);
  EXPECT_EQ(run("sp-test-weights", {"--config", out, "--out", out}), 1);
  EXPECT_CONTAINS(output, out + " is not valid JSON");
}
