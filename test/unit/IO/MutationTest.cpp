//===- MutationTest.cpp - Damaged files never crash the reader ------------===//
//
// Meant for a build with SP_SANITIZE as well, where reading outside the file's
// mapping or the target is found.
//
//===----------------------------------------------------------------------===//

#include "sp/IO/Checkpoint.h"

#include "TestFiles.h"

#include "llvm/Support/Endian.h"

#include <random>

using namespace sp;
using namespace sp::test;

/// Reads everything that the file says it has. The mapping ends on a page, so
/// that the ranges end inside the file is checked by hand.
static void readAll(const SafetensorsFile &file, llvm::StringRef contents) {
  uint64_t header = llvm::support::endian::read64le(contents.data());
  for (const TensorInfo &info : file.tensors()) {
    ASSERT_LE(8 + header + info.end, contents.size());
    std::vector<char> out(info.end - info.begin);
    Tensor tensor = take(file.get(info.name));
    EXPECT_OK(readTensor(tensor, info.dtype, out.data()));
  }
}

static std::string makeSmallFile(const TempFolder &folder) {
  std::vector<char> data(256);
  EXPECT_OK(
      writeSafetensors(folder.path("seed"),
                       {{{"model.norm.weight", DType::F32, {6}}, data.data()},
                        {{"w\"x", DType::BF16, {2, 3}}, data.data()},
                        {{"ids", DType::I64, {1, 2}}, data.data()},
                        {{"none", DType::F64, {0}}, data.data()}},
                       {{"format", "pt"}}));
  return readFile(folder.path("seed"));
}

TEST(Mutation, DamagedFilesAreErrorsOrRead) {
  TempFolder folder;
  const std::string seed = makeSmallFile(folder);
  std::mt19937 random(4);
  int opened = 0, refused = 0;
  for (int trial = 0; trial < 8000; ++trial) {
    std::string damaged = seed;
    for (int edit = 1 + random() % 3; edit > 0; --edit) {
      size_t at = random() % damaged.size();
      switch (random() % 5) {
      case 0: // any byte
        damaged[at] = char(random());
        break;
      case 1: // one bit
        damaged[at] ^= 1 << (random() % 8);
        break;
      case 2: // another digit, where there is one
        at = damaged.find_first_of("0123456789", at);
        if (at != std::string::npos)
          damaged[at] = char('0' + random() % 10);
        break;
      case 3: // a byte less, the header length corrected half the time
        damaged.erase(at, 1);
        if (random() % 2)
          --damaged[0];
        break;
      case 4: // a piece from elsewhere in the file
        damaged.replace(at, 8, seed, random() % seed.size(), 8);
        break;
      }
      if (damaged.empty())
        break;
    }
    std::string path = folder.write("damaged", damaged);
    auto file = SafetensorsFile::open(path);
    if (!file) {
      std::string text = message(file.takeError());
      EXPECT_EQ(text.rfind(path, 0), 0u) << text;
      ++refused;
      continue;
    }
    readAll(**file, damaged);
    ++opened;
  }
  // Damage to the data alone is not an error; to the header it mostly is.
  EXPECT_GT(opened, 100);
  EXPECT_GT(refused, 4000);
}

TEST(Mutation, EveryTruncationIsAnError) {
  TempFolder folder;
  const std::string seed = makeSmallFile(folder);
  for (size_t size = 0; size < seed.size(); ++size) {
    std::string path =
        folder.write("damaged", llvm::StringRef(seed).take_front(size));
    EXPECT_NE(message(SafetensorsFile::open(path)), "") << size;
  }
}

TEST(Mutation, DamagedIndexesAreErrorsOrRead) {
  TempFolder folder;
  char byte = 0;
  EXPECT_OK(writeSafetensors(
      folder.path("one.safetensors"),
      {{{"a", DType::U8, {1}}, &byte}, {{"b", DType::U8, {1}}, &byte}}));
  const std::string seed = R"({"metadata":{"total_size":2},"weight_map":{)"
                           R"("a":"one.safetensors","b":"one.safetensors"}})";
  std::mt19937 random(5);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string damaged = seed;
    for (int edit = 1 + random() % 3; edit > 0; --edit)
      damaged[random() % damaged.size()] = char(random());
    folder.write("model.safetensors.index.json", damaged);
    auto checkpoint = Checkpoint::open(folder.path());
    if (!checkpoint) {
      EXPECT_NE(message(checkpoint.takeError()), "");
      continue;
    }
    for (llvm::StringRef name : checkpoint->names())
      EXPECT_OK(readTensor(take(checkpoint->get(name)), DType::U8, &byte));
  }
}
