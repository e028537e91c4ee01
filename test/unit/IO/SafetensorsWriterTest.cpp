//===- SafetensorsWriterTest.cpp ------------------------------------------===//

#include "TestFiles.h"

#include <cstring>
#include <thread>

using namespace sp;
using namespace sp::test;

TEST(SafetensorsWriter, RoundTripsEveryType) {
  TempFolder folder;
  std::string bytes;
  for (int i = 0; i < 3 * 5 * 8; ++i)
    bytes += char(i * 37);
  std::vector<TensorData> tensors;
  for (unsigned i = 0; i <= unsigned(DType::Bool); ++i)
    tensors.push_back(
        {{"t." + dtypeName(DType(i)).str(), DType(i), {3, 5}}, bytes.data()});
  tensors.push_back({{"scalar", DType::F64, {}}, bytes.data()});
  tensors.push_back({{"empty", DType::F32, {0, 4}}, nullptr});
  tensors.push_back({{"quoted \"\\\n", DType::U8, {1}}, bytes.data()});
  std::string path = folder.path("x.safetensors");
  EXPECT_OK(writeSafetensors(path, tensors, {{"format", "pt"}}));

  auto file = take(SafetensorsFile::open(path));
  EXPECT_EQ(file->tensors().size(), tensors.size());
  EXPECT_EQ(file->metadata().at("format"), "pt");
  for (const TensorData &data : tensors) {
    Tensor tensor = take(file->get(data.spec.name));
    EXPECT_EQ(tensor.dtype(), data.spec.dtype);
    EXPECT_EQ(tensor.shape(), llvm::ArrayRef<int64_t>(data.spec.shape));
    size_t size = tensor.numElements() * byteSize(tensor.dtype());
    EXPECT_TRUE(size == 0 || !std::memcmp(tensor.data, data.data, size));
    // Aligned, whatever the other tensors are.
    EXPECT_EQ(uintptr_t(tensor.data) % byteSize(tensor.dtype()), 0u);
  }
  EXPECT_EQ(folder.list().size(), 1u);
}

TEST(SafetensorsWriter, SortsNamesAndPadsTheHeader) {
  TempFolder folder;
  char byte = 1;
  EXPECT_OK(
      writeSafetensors(folder.path("x"), {{{"b", DType::U8, {1}}, &byte},
                                          {{"a", DType::U8, {1}}, &byte}}));
  std::string header =
      R"({"a":{"data_offsets":[0,1],"dtype":"U8","shape":[1]},)"
      R"("b":{"data_offsets":[1,2],"dtype":"U8","shape":[1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(readFile(folder.path("x")), makeFile(header, "\x01\x01"));
}

TEST(SafetensorsWriter, ThreadsFillTheirShards) {
  TempFolder folder;
  std::string path = folder.path("x");
  auto writer = take(SafetensorsWriter::create(
      path, {{"w", DType::BF16, {8, 6}}, {"n", DType::F32, {4}}}));
  std::vector<std::thread> ranks;
  for (int64_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      float shard[8 * 3];
      for (int64_t i = 0; i < 24; ++i)
        shard[i] = float(i / 3 * 6 + rank * 3 + i % 3);
      EXPECT_OK(
          writer->writeSlice("w", {0, rank * 3}, {8, 3}, DType::F32, shard));
    });
  for (std::thread &rank : ranks)
    rank.join();
  llvm::MutableArrayRef<char> bytes = take(writer->bytes("n"));
  ASSERT_EQ(bytes.size(), 16u);
  float ones[] = {1, 1, 1, 1};
  std::memcpy(bytes.data(), ones, sizeof(ones));
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  EXPECT_OK(writer->commit());

  auto file = take(SafetensorsFile::open(path));
  float values[48];
  EXPECT_OK(readTensor(*file->find("w"), DType::F32, values));
  for (int i = 0; i < 48; ++i)
    EXPECT_EQ(values[i], float(i));
}

TEST(SafetensorsWriter, RefusesToCommitAPart) {
  TempFolder folder;
  folder.write("x", "old");
  {
    auto writer = take(
        SafetensorsWriter::create(folder.path("x"), {{"w", DType::F32, {4}}}));
    float half[2] = {};
    EXPECT_OK(writer->writeSlice("w", {0}, {2}, DType::F32, half));
    EXPECT_CONTAINS(message(writer->commit()),
                    "tensor `w` was filled only in part: 2 of 4 elements");
  }
  EXPECT_EQ(readFile(folder.path("x")), "old");
  EXPECT_EQ(folder.list().size(), 1u);
}

TEST(SafetensorsWriter, RefusesWhatTheFormatCannotHold) {
  TempFolder folder;
  std::string path = folder.path("x");
  auto create = [&](TensorSpec spec) {
    return message(SafetensorsWriter::create(path, {spec}));
  };
  constexpr int64_t huge = int64_t(1) << 62;
  EXPECT_CONTAINS(create({"__metadata__", DType::F32, {}}), "a name that");
  EXPECT_CONTAINS(create({"\xff", DType::F32, {}}), "a name that");
  EXPECT_CONTAINS(create({"w", DType::F32, {-1}}),
                  "cannot write " + path + ": tensor `w` has the impossible");
  EXPECT_CONTAINS(create({"w", DType::F32, {huge}}), "impossible shape");
  EXPECT_CONTAINS(create({"w", DType::U8, {huge}}), "cannot write " + path);
  EXPECT_CONTAINS(message(SafetensorsWriter::create(
                      path, {{"w", DType::U8, {1}}, {"w", DType::U8, {1}}})),
                  "tensor `w` is declared twice");
  EXPECT_CONTAINS(
      message(SafetensorsWriter::create(
          path, {{"v", DType::U8, {huge}}, {"w", DType::U8, {huge}}})),
      "tensor `w` makes the file larger");
  EXPECT_CONTAINS(message(SafetensorsWriter::create(path, {}, {{"\xff", ""}})),
                  "metadata");
  EXPECT_CONTAINS(message(SafetensorsWriter::create(folder.path("no/x"), {})),
                  "cannot write " + folder.path("no/x"));

  auto writer = take(SafetensorsWriter::create(path, {{"w", DType::F16, {4}}}));
  float values[4] = {};
  EXPECT_CONTAINS(
      message(writer->writeSlice("w", {0}, {4}, DType::F32, values)),
      "has type F16 and cannot store F32");
  EXPECT_CONTAINS(
      message(writer->writeSlice("w", {1}, {4}, DType::F16, values)),
      "does not lie inside shape [4]");
  EXPECT_CONTAINS(
      message(writer->writeSlice("v", {0}, {4}, DType::F16, values)),
      "tensor `v` was not declared");
}
