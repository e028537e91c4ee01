//===- LearningRateTest.cpp -----------------------------------------------===//

#include "sp/Training/LearningRate.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace sp;

TEST(LearningRate, CosineIsMiniMinds) {
  auto file = llvm::MemoryBuffer::getFile(SP_TEST_DATA_DIR "/tiny/train.json");
  ASSERT_TRUE(bool(file));
  auto json = llvm::cantFail(llvm::json::parse((*file)->getBuffer()));
  const llvm::json::Array *expected =
      json.getAsObject()->getObject("cosine")->getArray("lr");
  LearningRate rate =
      llvm::cantFail(LearningRate::parse("cosine", 5e-4, expected->size()));
  ASSERT_EQ(expected->size(), 20u);
  for (auto [i, value] : llvm::enumerate(*expected))
    EXPECT_NEAR(rate.at(i + 1), *value.getAsNumber(), 1e-18) << i;
}

TEST(LearningRate, ConstantStays) {
  LearningRate rate = llvm::cantFail(LearningRate::parse("constant", 3e-4, 10));
  EXPECT_EQ(rate.at(1), 3e-4);
  EXPECT_EQ(rate.at(10), 3e-4);
}

TEST(LearningRate, AnUnknownScheduleNamesTheKnownOnes) {
  auto rate = LearningRate::parse("linear", 1, 10);
  ASSERT_FALSE(bool(rate));
  EXPECT_EQ(llvm::toString(rate.takeError()),
            "unknown schedule `linear`; use cosine or constant");
}
