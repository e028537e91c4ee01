//===- CheckpointTest.cpp -------------------------------------------------===//

#include "sp/IO/Checkpoint.h"

#include "TestFiles.h"

using namespace sp;
using namespace sp::test;
using llvm::StringRef;

namespace {
/// A folder with two shards: `a` and `b` in one, `c` in two.
class ShardedCheckpoint : public ::testing::Test {
protected:
  ShardedCheckpoint() {
    write("one.safetensors", {"a", "b"});
    write("two.safetensors", {"c"});
  }

  /// Every tensor holds its own name's first letter.
  void write(StringRef file, std::vector<std::string> names) {
    std::vector<TensorData> tensors;
    for (const std::string &name : names)
      tensors.push_back({{name, DType::U8, {1}}, name.data()});
    EXPECT_OK(writeSafetensors(folder.path(file), tensors));
  }

  std::string openWithIndex(StringRef index) {
    folder.write("model.safetensors.index.json", index);
    std::string text = message(Checkpoint::open(folder.path()));
    EXPECT_TRUE(text.empty() || StringRef(text).starts_with(folder.path(
                                    "model.safetensors.index.json")))
        << text;
    return text;
  }

  TempFolder folder;
};
} // namespace

static char readByte(const Checkpoint &checkpoint, StringRef name) {
  char byte = 0;
  EXPECT_OK(readTensor(take(checkpoint.get(name)), DType::U8, &byte));
  return byte;
}

TEST_F(ShardedCheckpoint, FindsTensorsInTheirShards) {
  EXPECT_EQ(openWithIndex(R"({"metadata":{"total_size":3},"weight_map":{
    "a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})"),
            "");
  Checkpoint first = take(Checkpoint::open(folder.path()));
  Checkpoint checkpoint = std::move(first);
  EXPECT_EQ(checkpoint.names(), llvm::ArrayRef<StringRef>({"a", "b", "c"}));
  for (char name : {'a', 'b', 'c'})
    EXPECT_EQ(readByte(checkpoint, StringRef(&name, 1)), name);
  EXPECT_EQ(message(checkpoint.get("d")),
            "missing weight `d` in " +
                folder.path("model.safetensors.index.json"));
}

TEST_F(ShardedCheckpoint, PrefersTheSingleFile) {
  write("model.safetensors", {"s"});
  folder.write("model.safetensors.index.json", "not even JSON");
  Checkpoint checkpoint = take(Checkpoint::open(folder.path()));
  EXPECT_EQ(checkpoint.path(), folder.path("model.safetensors"));
  EXPECT_EQ(readByte(checkpoint, "s"), 's');
}

TEST_F(ShardedCheckpoint, OpensAFileByItself) {
  Checkpoint checkpoint =
      take(Checkpoint::open(folder.path("one.safetensors")));
  EXPECT_EQ(checkpoint.names(), llvm::ArrayRef<StringRef>({"a", "b"}));
}

TEST_F(ShardedCheckpoint, RefusesABadIndex) {
  EXPECT_CONTAINS(openWithIndex("{"), "not valid JSON");
  EXPECT_CONTAINS(openWithIndex("[]"), "has no `weight_map`");
  EXPECT_CONTAINS(openWithIndex(R"({"weight_map":[]})"), "no `weight_map`");
  EXPECT_CONTAINS(openWithIndex(R"({"weight_map":{"a":1}})"),
                  "tensor `a` is assigned to something that is no file name");
  EXPECT_CONTAINS(openWithIndex(R"({"weight_map":{"a":"one.safetensors",
                                      "a":"two.safetensors"}})"),
                  "`a` appears twice");
  EXPECT_CONTAINS(openWithIndex(std::string(1 << 20, '[')), "nested deeper");
}

TEST_F(ShardedCheckpoint, RefusesBadShards) {
  std::string text = openWithIndex(R"({"weight_map":{"a":"no.safetensors"}})");
  EXPECT_CONTAINS(text, "the shard of tensor `a`");
  EXPECT_CONTAINS(text, "no.safetensors");
  EXPECT_CONTAINS(openWithIndex(R"({"weight_map":{"c":"one.safetensors"}})"),
                  "tensor `c` is not in its shard " +
                      folder.path("one.safetensors"));
  folder.write("bad.safetensors", "short");
  EXPECT_CONTAINS(openWithIndex(R"({"weight_map":{"a":"bad.safetensors"}})"),
                  "too few");
}

TEST_F(ShardedCheckpoint, ShardsStayInTheFolder) {
  TempFolder outside;
  std::string path = outside.path("one.safetensors");
  write("one.safetensors", {"a"});
  for (std::string shard : {path, std::string("../one.safetensors"),
                            std::string("x/../../one.safetensors"),
                            std::string(""), std::string("..")})
    EXPECT_CONTAINS(openWithIndex("{\"weight_map\":{\"a\":\"" + shard + "\"}}"),
                    "not a file name inside the folder");
  EXPECT_CONTAINS(
      openWithIndex(R"({"weight_map":{"a":"one.safetensors\u0000.txt"}})"),
      "not a file name inside the folder");
}

TEST(Checkpoint, NamesWhatAFolderLacks) {
  TempFolder folder;
  EXPECT_CONTAINS(message(Checkpoint::open(folder.path())),
                  "has neither `model.safetensors` nor");
  EXPECT_CONTAINS(message(Checkpoint::open(folder.path("none"))),
                  folder.path("none") + ": cannot open");
}
