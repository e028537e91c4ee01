//===- SafetensorsTest.cpp - Reading, from files made by hand -------------===//

#include "TestFiles.h"

#include "sp/IO/Block.h"

using namespace sp;
using namespace sp::test;
using llvm::StringRef;

/// The message that opening a file with this header and data gives.
static std::string openMessage(StringRef header, StringRef data = "") {
  TempFolder folder;
  std::string path = folder.write("x.safetensors", makeFile(header, data));
  std::string text = message(SafetensorsFile::open(path));
  EXPECT_TRUE(text.empty() || StringRef(text).starts_with(path)) << text;
  return text;
}

static std::string tensor(StringRef name, StringRef dtype, StringRef shape,
                          StringRef offsets) {
  return ("\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
          ",\"data_offsets\":" + offsets + "}")
      .str();
}

TEST(Safetensors, ReadsAFileMadeByHand) {
  TempFolder folder;
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," +
                       tensor("b", "U8", "[2,2]", "[0,4]") + "," +
                       tensor("a", "U8", "[]", "[4,5]") + "," +
                       tensor("none", "F32", "[0,7]", "[4,4]") + "}   ";
  auto file = take(SafetensorsFile::open(
      folder.write("x.safetensors", makeFile(header, "wxyzA"))));
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->metadata().at("format"), "pt");
  char out[2];
  EXPECT_OK(readSlice(*file->find("b"), {0, 1}, {2, 1}, DType::U8, out));
  EXPECT_EQ(StringRef(out, 2), "xz");
  EXPECT_OK(readTensor(*file->find("a"), DType::U8, out));
  EXPECT_EQ(out[0], 'A');
  EXPECT_OK(readTensor(*file->find("none"), DType::F64, nullptr));
  EXPECT_FALSE(file->find("c"));
  EXPECT_CONTAINS(message(file->get("c")), "has no tensor `c`");
}

TEST(Safetensors, ReadsTheTestData) {
  auto file =
      take(SafetensorsFile::open(SP_TEST_DATA_DIR "/tiny/golden.safetensors"));
  Tensor logits = take(file->get("logits"));
  EXPECT_EQ(logits.dtype(), DType::F64);
  EXPECT_EQ(logits.shape(), llvm::ArrayRef<int64_t>({2, 16, 128}));
  double loss = 0;
  EXPECT_OK(readTensor(take(file->get("loss")), DType::F64, &loss));
  EXPECT_EQ(loss, 15.49340599658009); // manifest.json
}

TEST(Safetensors, RefusesFilesThatAreNone) {
  TempFolder folder;
  EXPECT_CONTAINS(message(SafetensorsFile::open(folder.path("none"))),
                  "cannot open: ");
  EXPECT_CONTAINS(message(SafetensorsFile::open(folder.path())),
                  "is not a regular file");
  EXPECT_CONTAINS(message(SafetensorsFile::open("/dev/zero")),
                  "is not a regular file");
  EXPECT_CONTAINS(message(SafetensorsFile::open(folder.write("a", ""))),
                  "has 0 bytes");
  EXPECT_CONTAINS(message(SafetensorsFile::open(folder.write("b", "1234567"))),
                  "has 7 bytes");
  EXPECT_CONTAINS(
      message(SafetensorsFile::open(folder.write("c", "not a tensor file"))),
      "exceeds the file");
  std::string beyond = makeFile("{}", "");
  beyond[0] = 3;
  EXPECT_CONTAINS(message(SafetensorsFile::open(folder.write("d", beyond))),
                  "header length 3 exceeds the file");
}

TEST(Safetensors, RefusesBadJSON) {
  EXPECT_EQ(openMessage("{}"), "");
  EXPECT_CONTAINS(openMessage(""), "not valid JSON");
  EXPECT_CONTAINS(openMessage("{"), "not valid JSON");
  EXPECT_CONTAINS(openMessage("{\"a\xff\":1}"), "not valid JSON");
  EXPECT_CONTAINS(openMessage("[]"), "header is not a JSON object");
  EXPECT_CONTAINS(openMessage("{\"a\":1}"), "tensor `a` is not described");
  EXPECT_CONTAINS(openMessage(std::string(1 << 20, '[')), "nested deeper");
  EXPECT_CONTAINS(openMessage("{\"__metadata__\":{\"a\":1}}"), "`a` is not a");
  EXPECT_CONTAINS(openMessage("{\"__metadata__\":1}"), "not a JSON object");
}

TEST(Safetensors, RefusesDuplicates) {
  std::string a = tensor("a", "U8", "[1]", "[0,1]");
  std::string same = tensor("\\u0061", "U8", "[1]", "[0,1]");
  EXPECT_CONTAINS(openMessage("{" + a + "," + a + "}", "x"),
                  "`a` appears twice");
  EXPECT_CONTAINS(openMessage("{" + a + "," + same + "}", "x"),
                  "`a` appears twice");
  EXPECT_CONTAINS(openMessage("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\"}}"),
                  "`dtype` appears twice");
}

TEST(Safetensors, RefusesBadTensors) {
  auto open = [](StringRef dtype, StringRef shape, StringRef offsets) {
    return openMessage("{" + tensor("a", dtype, shape, offsets) + "}",
                       "12345678");
  };
  EXPECT_EQ(open("F32", "[2]", "[0,8]"), "");
  EXPECT_CONTAINS(open("F33", "[2]", "[0,8]"), "`a` has dtype `F33`");
  EXPECT_CONTAINS(open("F32", "[-2]", "[0,8]"), "`a` has a dimension");
  EXPECT_CONTAINS(open("F32", "[1.5]", "[0,8]"), "`a` has a dimension");
  EXPECT_CONTAINS(open("F32", "2", "[0,8]"), "`a` has no `shape`");
  EXPECT_CONTAINS(open("F32", "[2]", "[8]"), "`a` has no valid `data_offsets`");
  EXPECT_CONTAINS(open("F32", "[2]", "[8,0]"), "no valid `data_offsets`");
  EXPECT_CONTAINS(open("F32", "[2]", "[-8,0]"), "no valid `data_offsets`");
  EXPECT_CONTAINS(open("F32", "[3]", "[0,8]"), "needs 12 bytes");
  EXPECT_CONTAINS(open("F32", "[4294967296,4294967296]", "[0,8]"),
                  "more bytes than 64 bits can count");
  EXPECT_CONTAINS(open("F32", "[4611686018427387904]", "[0,8]"),
                  "more bytes than 64 bits can count");
  EXPECT_CONTAINS(open("F32", "[4611686018427387904,4,0]", "[0,0]"),
                  "more bytes than 64 bits can count");
  EXPECT_CONTAINS(openMessage("{\"a\":{\"shape\":[],\"data_offsets\":[0,1]}}"),
                  "`a` has no `dtype`");
  EXPECT_CONTAINS(openMessage("{\"a\":{\"extra\":1}}"), "field `extra`");
}

TEST(Safetensors, RefusesBadLayouts) {
  std::string a = tensor("a", "U8", "[4]", "[0,4]");
  EXPECT_CONTAINS(openMessage("{" + a + "}", "123"),
                  "tensor `a` ends at byte 4 of the data, but the file holds "
                  "only 3; it is truncated");
  EXPECT_CONTAINS(openMessage("{" + a + "}", "12345"), "1 bytes after");
  EXPECT_CONTAINS(
      openMessage("{" + a + "," + tensor("b", "U8", "[4]", "[2,6]") + "}",
                  "123456"),
      "tensor `b` overlaps tensor `a`");
  EXPECT_CONTAINS(
      openMessage("{" + a + "," + tensor("b", "U8", "[1]", "[5,6]") + "}",
                  "123456"),
      "tensor `b` starts at byte 5");
}

TEST(Safetensors, NamesTheTensorThatATruncationHits) {
  std::string whole = readFile(SP_TEST_DATA_DIR "/tiny/model.safetensors");
  TempFolder folder;
  for (size_t keep : {whole.size() - 1, whole.size() / 2, size_t(2440)}) {
    std::string text = message(SafetensorsFile::open(
        folder.write("x", StringRef(whole).take_front(keep))));
    EXPECT_CONTAINS(text, "tensor `");
    EXPECT_CONTAINS(text, "truncated");
  }
}

TEST(Safetensors, RefusesSlicesItCannotRead) {
  TempFolder folder;
  std::string header = "{" + tensor("ids", "I64", "[1]", "[0,8]") + "," +
                       tensor("w", "F32", "[2]", "[8,16]") + "}";
  std::string path = folder.write("x", makeFile(header, "0123456789abcdef"));
  auto file = take(SafetensorsFile::open(path));
  char out[64];
  EXPECT_EQ(message(readSlice(*file->find("ids"), {0}, {1}, DType::F32, out)),
            path + ": tensor `ids` has type I64 and cannot be read as F32");
  EXPECT_EQ(message(readSlice(*file->find("w"), {0}, {1}, DType::F16, out)),
            path + ": tensor `w` has type F32 and cannot be read as F16");
  EXPECT_EQ(message(readSlice(*file->find("w"), {1}, {2}, DType::F32, out)),
            path + ": tensor `w` cannot be read: block at [1] of size [2] does "
                   "not lie inside shape [2]");
}

TEST(Safetensors, ReadsSlicesOfAnyRankAndAlignment) {
  TempFolder folder;
  // A one-byte tensor first leaves the floats misaligned.
  std::vector<float> values(2 * 3 * 4 * 5);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  std::string data = "!" + std::string(reinterpret_cast<char *>(values.data()),
                                       values.size() * sizeof(float));
  const Shape shapes[] = {{120}, {6, 20}, {6, 4, 5}, {2, 3, 4, 5}};
  for (const Shape &shape : shapes) {
    std::string header = "{" + tensor("!", "U8", "[1]", "[0,1]") + "," +
                         tensor("w", "F32", formatShape(shape), "[1,481]") +
                         "}";
    auto file =
        take(SafetensorsFile::open(folder.write("x", makeFile(header, data))));
    Shape offsets, sizes;
    int64_t count = 1;
    for (int64_t dim : shape) {
      offsets.push_back(dim / 3);
      sizes.push_back(dim - dim / 3 - (dim > 3));
      count *= sizes.back();
    }
    std::vector<double> out(count);
    ASSERT_EQ(message(readSlice(*file->find("w"), offsets, sizes, DType::F64,
                                out.data())),
              "");
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, index = 0, stride = 1;
      for (size_t dim = shape.size(); dim-- > 0;) {
        index += (offsets[dim] + rest % sizes[dim]) * stride;
        rest /= sizes[dim];
        stride *= shape[dim];
      }
      EXPECT_EQ(out[i], double(index));
    }
  }
}
