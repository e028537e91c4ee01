//===- FormulaWeightsTest.cpp - Against the examples of the manifest ------===//

#include "FormulaWeights.h"

#include "TestFiles.h"

#include "sp/IO/Hash.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace sp;
using namespace sp::test;
using llvm::StringRef;

static llvm::json::Value readJSON(StringRef path) {
  return take(llvm::json::parse(readFile(path)));
}

TEST(FormulaWeights, ReproduceTheExamplesExactly) {
  llvm::json::Value manifest =
      readJSON(SP_TEST_DATA_DIR "/minimind3/manifest.json");
  llvm::json::Value config =
      readJSON(SP_TEST_DATA_DIR "/minimind3/config.json");
  auto parameters = take(listMiniMindParameters(*config.getAsObject()));
  const llvm::json::Object *examples =
      manifest.getAsObject()->getObject("weights")->getObject("examples");
  ASSERT_TRUE(examples);
  size_t found = 0;
  for (const TensorSpec &parameter : parameters) {
    const llvm::json::Object *example = examples->getObject(parameter.name);
    if (!example)
      continue;
    ++found;
    EXPECT_EQ("0x" + llvm::utohexstr(fnv1a64(parameter.name)),
              example->getString("fnv1a64"));
    EXPECT_EQ(int64_t(splitmix64(fnv1a64(parameter.name)) >> 40),
              example->getInteger("u24_at_0"));
    EXPECT_EQ(llvm::json::Value(llvm::json::Array(parameter.shape)),
              *example->get("shape"));

    int64_t count =
        std::accumulate(parameter.shape.begin(), parameter.shape.end(),
                        int64_t(1), std::multiplies<>());
    std::vector<float> values(count);
    EXPECT_OK(fillFormulaWeights(parameter, values));
    const llvm::json::Array &index = *example->getArray("index");
    const llvm::json::Array &expected = *example->getArray("value");
    ASSERT_EQ(index.size(), expected.size());
    for (size_t i = 0; i < index.size(); ++i)
      EXPECT_EQ(double(values[*index[i].getAsInteger()]),
                *expected[i].getAsNumber());
    // All values are multiples of one power of two: their f64 sum is exact.
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0),
              *example->getNumber("sum_f64"));
  }
  EXPECT_EQ(found, examples->size());
}

TEST(FormulaWeights, ListsEveryParameterOfTheTestData) {
  for (StringRef model : {"tiny", "tiny_untied_odd"}) {
    std::string folder = (SP_TEST_DATA_DIR "/" + model).str();
    llvm::json::Value config = readJSON(folder + "/config.json");
    auto parameters = take(listMiniMindParameters(*config.getAsObject()));
    auto file = take(SafetensorsFile::open(folder + "/model.safetensors"));
    EXPECT_EQ(parameters.size(), file->tensors().size());
    for (const TensorSpec &parameter : parameters) {
      Tensor tensor = take(file->get(parameter.name));
      EXPECT_EQ(tensor.shape(), llvm::ArrayRef<int64_t>(parameter.shape));
      std::vector<float> values(tensor.numElements());
      EXPECT_OK(fillFormulaWeights(parameter, values));
    }
  }
}

TEST(FormulaWeights, CountsTheParametersOfMiniMind3) {
  llvm::json::Value config =
      readJSON(SP_TEST_DATA_DIR "/minimind3/config.json");
  int64_t total = 0;
  for (const TensorSpec &parameter :
       take(listMiniMindParameters(*config.getAsObject())))
    total += std::accumulate(parameter.shape.begin(), parameter.shape.end(),
                             int64_t(1), std::multiplies<>());
  EXPECT_EQ(total, 63912192);
}

TEST(FormulaWeights, RefusesOtherModels) {
  llvm::json::Value config = readJSON(SP_TEST_DATA_DIR "/tiny/config.json");
  llvm::json::Object moe = *config.getAsObject();
  moe["use_moe"] = true;
  EXPECT_CONTAINS(message(listMiniMindParameters(moe)), "`use_moe`");
  llvm::json::Object lacking = *config.getAsObject();
  lacking.erase("head_dim");
  EXPECT_CONTAINS(message(listMiniMindParameters(lacking)), "`head_dim`");
  EXPECT_CONTAINS(
      message(fillFormulaWeights({"x.weight", DType::F32, {1, 1}}, {})),
      "no formula for weight `x.weight`");
}
