#include "client/files/model_file.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
  void PutGzip(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen(Path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
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
  // Numbers that no entry of V is: below 0, of the range of doubles alone, and
  // a first line that counts from 0.
  Eigen::MatrixXd numbers(2, 2);
  numbers << 0, 1, -1e-300, 1.0 / 7;
  for (const auto& [name, text] :
       {std::pair("n.npy", NpyBytes(numbers)),
        std::pair("n.csv", CsvText(numbers)),
        std::pair("n.mtx", MatrixMarketText(numbers)),
        std::pair("names.csv", CsvText(numbers, {.columns = NamesOfParts(2),
                                                .rows = {"7", "5"}}))}) {
    Put(name, text);
    const auto read = ReadMatrixFile(Path(name));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status();
    EXPECT_EQ(*read, numbers) << name;
  }
}

TEST(ModelText, NamesStandAboveAndInFront) {
  Eigen::MatrixXd numbers(2, 2);
  numbers << 1, 2, 3, 4;
  EXPECT_EQ(CsvText(numbers, {.columns = {"a", "b, \"c\""}}),
            "a,\"b, \"\"c\"\"\"\n1,2\n3,4\n");
  EXPECT_EQ(CsvText(numbers, {.columns = NamesOfParts(2),
                              .rows = {"", "x,y"},
                              .corner = "person"}),
            "person,part_1,part_2\n,1,2\n\"x,y\",3,4\n");
}

TEST_F(ModelFile, CompressedFilesAreReadByTheNameInFrontOfGz) {
  PutGzip("w.npy.gz", NpyBytes(Sample()));
  PutGzip("w.csv.gz", CsvText(Sample()));
  PutGzip("w.mtx.GZ", MatrixMarketText(Sample()));
  // By their first bytes, as the import has it.
  PutGzip("w.csv", CsvText(Sample()));
  Put("plain.csv.gz", CsvText(Sample()));
  for (const char* name :
       {"w.npy.gz", "w.csv.gz", "w.mtx.GZ", "w.csv", "plain.csv.gz"}) {
    const auto read = ReadMatrixFile(Path(name));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status();
    EXPECT_EQ(*read, Sample()) << name;
  }
}

TEST_F(ModelFile, ACompressedFileThatIsCutOffIsRefusedAndNotShortened) {
  std::string lines, matrix = "%%MatrixMarket matrix array real general\n";
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&lines, i * i % 977, "\n");
  absl::StrAppend(&matrix, "20000 1\n", lines);
  for (const auto& [name, text] :
       {std::pair("w.csv.gz", lines), std::pair("w.mtx.gz", matrix)}) {
    PutGzip(name, text);
    const std::string whole = Get(name);
    Put(name, whole.substr(0, whole.size() * 3 / 4));
    EXPECT_EQ(ReasonCode(ReadMatrixFile(Path(name)).status()),
              "input-unreadable")
        << name;
  }
}

TEST_F(ModelFile, RefusesWhatItCannotRead) {
  const std::string npy = NpyBytes(Sample());
  Put("short.npy", npy.substr(0, npy.size() - 1));
  Put("long.npy", npy + "x");
  Put("none.npy", "");
  Put("ragged.csv", "1,2\n3\n");
  Put("word.csv", "1,two\n");
  Put("empty.csv", "\n");
  const auto code = [&](const char* name) {
    return ReasonCode(ReadMatrixFile(Path(name)).status());
  };
  EXPECT_EQ(code("short.npy"), "input-malformed");
  EXPECT_EQ(code("long.npy"), "input-malformed");
  EXPECT_EQ(code("none.npy"), "input-malformed");
  EXPECT_EQ(code("ragged.csv"), "input-ragged");
  EXPECT_EQ(code("word.csv"), "input-ambiguous");
  EXPECT_EQ(code("empty.csv"), "input-empty");
  Put("w.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n");
  EXPECT_EQ(code("w.mtx"), "input-malformed");
  EXPECT_EQ(code("absent.npy"), "input-not-found");
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
