#include "analyst/client/model_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A directory of its own for each test.
class ModelFile : public ::testing::Test {
 protected:
  ModelFile() {
    std::string name = ::testing::TempDir() + "dpnmf_model_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~ModelFile() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const {
    return (directory_ / name).string();
  }
  void Put(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  std::string Get(const std::string& name) const {
    std::stringstream bytes;
    bytes << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }
  int FileCount() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::filesystem::path directory_;
};

Eigen::MatrixXd Sample() {
  Eigen::MatrixXd w(3, 2);
  w << 0, 0.1, 1.0 / 3, 2, 1e-300, 0.25;
  return w;
}

TEST(ModelText, CsvHasSeventeenDigitsAndARowALine) {
  EXPECT_EQ(CsvText(Sample()),
            "0,0.10000000000000001\n0.33333333333333331,2\n"
            "1e-300,0.25\n");
}

TEST(ModelText, MatrixMarketIsColumnMajorUnderItsHeader) {
  EXPECT_EQ(MatrixMarketText(Sample()),
            "%%MatrixMarket matrix array real general\n3 2\n0\n"
            "0.33333333333333331\n1e-300\n"
            "0.10000000000000001\n2\n0.25\n");
}

TEST(ModelText, NpyBeginsWithItsMagicAndIsAsLongAsItsShape) {
  const std::string bytes = NpyBytes(Sample());
  EXPECT_THAT(bytes, StartsWith("\x93NUMPY"));
  EXPECT_THAT(bytes, HasSubstr("(3, 2)"));
  EXPECT_EQ(bytes.size() % 64, 3 * 2 * 8u);
}

TEST_F(ModelFile, NpyAndCsvComeBackBitForBit) {
  Put("w.npy", NpyBytes(Sample()));
  Put("w.csv", CsvText(Sample()));
  const auto npy = ReadMatrixFile(Path("w.npy"));
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ(*npy, Sample());
  const auto csv = ReadMatrixFile(Path("w.csv"));
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(*csv, Sample());
}

TEST_F(ModelFile, RefusesWhatItCannotRead) {
  const std::string npy = NpyBytes(Sample());
  Put("short.npy", npy.substr(0, npy.size() - 1));
  Put("long.npy", npy + "x");
  Put("none.npy", "");
  Put("ragged.csv", "1,2\n3\n");
  Put("word.csv", "1,two\n");
  Put("empty.csv", "\n");
  Put("w.txt", "1");
  const auto code = [&](const char* name) {
    return ReasonCode(ReadMatrixFile(Path(name)).status());
  };
  EXPECT_EQ(code("short.npy"), "npy-malformed");
  EXPECT_EQ(code("long.npy"), "npy-malformed");
  EXPECT_EQ(code("none.npy"), "npy-malformed");
  EXPECT_EQ(code("ragged.csv"), "csv-malformed");
  EXPECT_EQ(code("word.csv"), "csv-malformed");
  EXPECT_EQ(code("empty.csv"), "csv-malformed");
  EXPECT_EQ(code("w.txt"), "file-type-unknown");
  EXPECT_EQ(code("absent.npy"), "file-not-found");
}

TEST_F(ModelFile, WritesAllAndLeavesNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(Path("w.bin"), "first").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("w.bin"), "second").ok());
  EXPECT_EQ(Get("w.bin"), "second");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ModelFile, AFailedWriteLeavesNothing) {
  EXPECT_EQ(ReasonCode(WriteFileAtomically(Path("no/w.bin"), "bytes")),
            "directory-not-found");
  // A directory stands where the file should go.
  std::filesystem::create_directory(Path("taken"));
  EXPECT_EQ(ReasonCode(WriteFileAtomically(Path("taken"), "bytes")),
            "file-not-written");
  EXPECT_EQ(FileCount(), 1);
}

TEST(ModelText, ExtensionsAreLowerCase) {
  EXPECT_EQ(ExtensionOf("a/b.c/W.NPY"), ".npy");
  EXPECT_EQ(ExtensionOf("W"), "");
}

}  // namespace
}  // namespace dpnmf::cli
