//===- TokenDataTest.cpp --------------------------------------------------===//

#include "sp/Training/TokenData.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <set>

using namespace sp;

namespace {

/// A file of tokens (or bytes) that is gone at the end.
class TokenFile {
public:
  explicit TokenFile(llvm::ArrayRef<uint16_t> tokens, bool cut = false) {
    int fd;
    llvm::sys::fs::createTemporaryFile("tokens", "bin", fd, path);
    llvm::raw_fd_ostream os(fd, /*shouldClose=*/true);
    for (uint16_t token : tokens)
      os << char(token & 0xff) << char(token >> 8);
    if (cut)
      os << 'x';
  }
  ~TokenFile() { llvm::sys::fs::remove(path); }
  llvm::SmallString<64> path;
};

std::string getError(const TokenFile &file, TokenData::Options options) {
  auto data = TokenData::open(file.path, options);
  return data ? "" : llvm::toString(data.takeError());
}

TEST(TokenData, DocumentsArePaddedUnderIgnoredLabels) {
  TokenFile file({1, 5, 300, 2, 1, 7, 1, 8, 9, 9, 9, 9, 2});
  TokenData data =
      llvm::cantFail(TokenData::open(file.path, {5, 400, int64_t(1)}));
  ASSERT_EQ(data.numRows(), 3);
  int64_t ids[5], labels[5];
  auto expect = [&](int64_t row, std::vector<int64_t> wantIds,
                    std::vector<int64_t> wantLabels) {
    data.read(row, ids, labels);
    EXPECT_EQ(std::vector<int64_t>(ids, ids + 5), wantIds);
    EXPECT_EQ(std::vector<int64_t>(labels, labels + 5), wantLabels);
  };
  expect(0, {1, 5, 300, 2, 0}, {1, 5, 300, 2, -100});
  expect(1, {1, 7, 0, 0, 0}, {1, 7, -100, -100, -100});
  expect(2, {1, 8, 9, 9, 9}, {1, 8, 9, 9, 9}); // cut
}

TEST(TokenData, PackedRowsFollowEachOther) {
  TokenFile file({3, 1, 4, 1, 5, 9, 2});
  TokenData data =
      llvm::cantFail(TokenData::open(file.path, {3, 10, std::nullopt}));
  ASSERT_EQ(data.numRows(), 2);
  int64_t ids[3], labels[3];
  data.read(1, ids, labels);
  EXPECT_EQ(std::vector<int64_t>(ids, ids + 3),
            (std::vector<int64_t>{1, 5, 9}));
  EXPECT_EQ(std::vector<int64_t>(labels, labels + 3),
            (std::vector<int64_t>{1, 5, 9}));
}

TEST(TokenData, TheTestTokensAreTheirDocuments) {
  TokenData data = llvm::cantFail(TokenData::open(
      SP_TEST_DATA_DIR "/tokens/tokens.bin", {340, 6400, int64_t(1)}));
  EXPECT_EQ(data.numRows(), 669);
  std::vector<int64_t> ids(340), labels(340);
  int64_t tokens = 0;
  for (int64_t row = 0; row < data.numRows(); ++row) {
    data.read(row, ids.data(), labels.data());
    EXPECT_EQ(ids[0], 1);
    for (int64_t label : labels)
      tokens += label != -100;
  }
  EXPECT_EQ(tokens, 60059);
}

TEST(TokenData, BadFilesAreErrorsThatNameThem) {
  TokenFile odd(std::vector<uint16_t>{1, 2}, /*cut=*/true),
      outside(std::vector<uint16_t>{1, 2, 77}),
      headless(std::vector<uint16_t>{2, 1}), empty(std::vector<uint16_t>{});
  EXPECT_NE(getError(odd, {2, 10, std::nullopt})
                .find("5 bytes are not whole tokens of two bytes"),
            std::string::npos);
  EXPECT_NE(getError(outside, {2, 70, std::nullopt})
                .find("token 77 at position 2 is outside the vocabulary of 70"),
            std::string::npos);
  EXPECT_NE(getError(headless, {2, 70, int64_t(1)})
                .find("does not begin with a document's first token, 1"),
            std::string::npos);
  EXPECT_NE(getError(headless, {3, 70, std::nullopt})
                .find("2 tokens are less than one row of 3"),
            std::string::npos);
  EXPECT_NE(getError(empty, {3, 70, int64_t(1)}).find("does not begin with"),
            std::string::npos);
  auto missing = TokenData::open("/nonexistent/tokens.bin", {1, 1, {}});
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError()).find("/nonexistent/tokens.bin"),
            std::string::npos);
}

TEST(RowOrder, EachEpochHasEveryRowOnceInAnotherOrder) {
  RowOrder order(50, 3);
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < 50; ++i)
    first.push_back(order.at(i));
  for (int64_t i = 50; i < 100; ++i)
    second.push_back(order.at(i));
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 50u);
  EXPECT_EQ(std::set<int64_t>(second.begin(), second.end()).size(), 50u);
  EXPECT_NE(first, second);
}

TEST(RowOrder, AnyPositionCanBeComputedDirectly) {
  RowOrder whole(50, 3), other(50, 4);
  bool differs = false;
  for (int64_t i = 0; i < 170; ++i) {
    int64_t row = whole.at(i);
    EXPECT_EQ(RowOrder(50, 3).at(i), row);
    differs |= other.at(i) != row;
  }
  EXPECT_TRUE(differs);
}

} // namespace
