#include "common/tables/load.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/files/npy.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

using Columns = std::vector<std::vector<float>>;

constexpr bool kUsersAreRows = true;
constexpr bool kUsersAreColumns = false;

LoadOptions As(MatrixFormat format) {
  LoadOptions options;
  options.format = format;
  return options;
}

Columns Loaded(const std::string& name, const std::string& content,
               bool users_are_rows, const LoadOptions& options = {}) {
  const Scratch scratch;
  const auto matrix =
      LoadMatrix(scratch.Write(name, content), users_are_rows, options);
  EXPECT_TRUE(matrix.ok()) << matrix.status();
  return matrix.ok() ? ColumnsOf(*matrix) : Columns();
}

template <typename T>
std::string NpyFile(const std::string& dtype, bool fortran_order,
                    std::uint64_t rows, std::uint64_t columns,
                    const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = fortran_order;
  header.shape = {rows, columns};
  return NpyHeaderBytes(header) +
         std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

// ---- Formats, each as V = [1 2 3; 4 5 6]: users are the columns of V.

const Columns kThreeUsers = {{1, 4}, {2, 5}, {3, 6}};
const Columns kTwoUsers = {{1, 2, 3}, {4, 5, 6}};

struct TextCase {
  const char* name;
  const char* content;
};

void PrintTo(const TextCase& text, std::ostream* out) { *out << text.name; }

class EveryText : public testing::TestWithParam<TextCase> {};

TEST_P(EveryText, GivesOneColumnPerUserInBothOrientations) {
  const auto& [name, content] = GetParam();
  EXPECT_EQ(Loaded(name, content, kUsersAreColumns), kThreeUsers);
  EXPECT_EQ(Loaded(name, content, kUsersAreRows), kTwoUsers);
}

TEST_P(EveryText, IsReadTheSameFromGzip) {
  const auto& [name, content] = GetParam();
  const Scratch scratch;
  for (const std::string& file :
       {std::string(name), absl::StrCat(name, ".gz")}) {
    const auto matrix =
        LoadMatrix(scratch.WriteGzip(file, content), kUsersAreRows);
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_EQ(ColumnsOf(*matrix), kTwoUsers);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Load, EveryText,
    testing::Values(
        TextCase{"plain.csv", "1,2,3\n4,5,6\n"},
        TextCase{"no_end.csv", "1,2,3\n4,5,6"},
        TextCase{"crlf.csv", "1,2,3\r\n4,5,6\r\n"},
        TextCase{"mark.csv",
                 "\xEF\xBB\xBF"
                 "1,2,3\n4,5,6\n"},
        TextCase{"blank_end.csv", "1,2,3\n4,5,6\n\n  \n\r\n"},
        TextCase{"scientific.csv", "1e0,0.2E+1,+3\n400e-2,5.,6.0000\n"},
        TextCase{"quoted.csv", "\"1\", 2 ,\"3\"\n4,\" 5\" ,6\n"},
        TextCase{"header.csv", "a,b,c\n1,2,3\n4,5,6\n"},
        TextCase{"labels.csv", "who,a,b,c\nann,1,2,3\nbob,4,5,6\n"},
        TextCase{"two_labels.csv",
                 "who,where,a,b,c\nann,x,1,2,3\nbob,y,4,5,6\n"},
        TextCase{"pandas.csv", ",a,b,c\n0,1,2,3\n1,4,5,6\n"},
        TextCase{"quoted_label.csv",
                 "who,a,b,c\n\"a \"\"1\"\", b\",1,2,3\n\"x,y\",4,5,6\n"},
        TextCase{"plain.tsv", "1\t2\t3\n4\t5\t6\n"},
        TextCase{"r.tsv", "a\tb\tc\nrow1\t1\t2\t3\nrow2\t4\t5\t6\n"},
        TextCase{
            "general.mtx",
            "%%MatrixMarket matrix coordinate real general\n% words\n\n2 3 6\n"
            "1 1 1\n1 2 2\n2 3 6\n1 3 3.0\n2 1 4\n2 2 5\n\n"},
        TextCase{"integer.mtx",
                 "%%MatrixMarket MATRIX Coordinate Integer General\n2 3 6\n"
                 "1 1 1\n1 2 2\n2 3 6\n1 3 3\n2 1 4\n2 2 5\n"},
        TextCase{"array.mtx",
                 "%%MatrixMarket matrix array real general\n2 "
                 "3\n1\n4\n2\n5\n3\n6\n"},
        TextCase{"named_wrongly.csv",
                 "%%MatrixMarket matrix array real general\n2 "
                 "3\n1\n4\n2\n5\n3\n6\n"}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      name[name.find('.')] = '_';
      return name;
    });

TEST(Load, ReadsBlankSeparatedText) {
  EXPECT_EQ(Loaded("m.txt", "  1   2\t3 \n4 5 6\n", kUsersAreRows,
                   As(MatrixFormatOfName("text").value())),
            kTwoUsers);
  EXPECT_EQ(Loaded("m.data", "1 2 3 4 5\n", kUsersAreRows),
            (Columns{{1, 2, 3, 4, 5}}));
  EXPECT_EQ(Loaded("m.txt", "1,2\n", kUsersAreRows), (Columns{{1, 2}}));
  EXPECT_EQ(Loaded("m.txt", "1\t2\n", kUsersAreRows), (Columns{{1, 2}}));
  EXPECT_EQ(Loaded("m.txt", "7\n8\n", kUsersAreRows), (Columns{{7}, {8}}));
}

TEST(Load, DoesNotGuessAMatrixWhereTriplesAreAsLikely) {
  const Scratch scratch;
  for (const char* content : {"1 2 3\n", "1\t2\t3\t4\n", "1,2,3\n"}) {
    const auto matrix =
        LoadMatrix(scratch.Write("u.data", content), kUsersAreRows);
    EXPECT_EQ(ReasonCode(matrix.status()), "input-ambiguous") << content;
  }
}

TEST(Load, TakesHeaderAndLabelsAsTold) {
  LoadOptions options;
  options.header = true;
  EXPECT_EQ(Loaded("m.csv", "2001,2002\n1,2\n", kUsersAreRows, options),
            (Columns{{1, 2}}));
  options.label_columns = 1;
  EXPECT_EQ(Loaded("m.csv", "id,2001,2002\n17,1,2\n", kUsersAreRows, options),
            (Columns{{1, 2}}));
  options.header = false;
  EXPECT_EQ(Loaded("m.csv", "ann,1,2\nbob,3,4\n", kUsersAreRows, options),
            (Columns{{1, 2}, {3, 4}}));
}

TEST(Load, ReadsThePatternOfAMatrixAsOnes) {
  EXPECT_EQ(
      Loaded(
          "p.mtx",
          "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n",
          kUsersAreRows),
      (Columns{{1, 0}, {0, 1}}));
}

TEST(Load, DropsStoredZerosAndKeepsEmptyColumns) {
  const Scratch scratch;
  const auto matrix =
      LoadMatrix(scratch.Write("z.mtx",
                               "%%MatrixMarket matrix coordinate real general\n"
                               "3 3 3\n3 1 5\n2 2 0\n1 1 -0.0\n"),
                 kUsersAreColumns);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(matrix->indptr, (std::vector<std::int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(matrix->indices, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(matrix->values, (std::vector<float>{5}));
}

TEST(Load, HoldsNoNegativeZeroAndTurnsTinyNumbersIntoZero) {
  const Columns columns = Loaded("t.csv", "-0.0,1e-400,1e-60\n", kUsersAreRows);
  ASSERT_EQ(columns.size(), 1u);
  for (const float value : columns[0])
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0u);
}

// ---- .npy

template <typename T>
void ExpectNpyOfType(const std::string& dtype) {
  SCOPED_TRACE(dtype);
  const std::vector<T> by_rows = {1, 2, 3, 4, 5, 6},
                       by_columns = {1, 4, 2, 5, 3, 6};
  const std::string c_file = NpyFile<T>(dtype, false, 2, 3, by_rows);
  const std::string fortran_file = NpyFile<T>(dtype, true, 2, 3, by_columns);
  EXPECT_EQ(Loaded("m.npy", c_file, kUsersAreColumns), kThreeUsers);
  EXPECT_EQ(Loaded("m.npy", c_file, kUsersAreRows), kTwoUsers);
  EXPECT_EQ(Loaded("m.npy", fortran_file, kUsersAreColumns), kThreeUsers);
  EXPECT_EQ(Loaded("no_extension", fortran_file, kUsersAreRows), kTwoUsers);
}

TEST(LoadNpy, ReadsEveryNumericTypeInBothOrders) {
  ExpectNpyOfType<float>("<f4");
  ExpectNpyOfType<double>("<f8");
  ExpectNpyOfType<std::uint8_t>("|u1");
  ExpectNpyOfType<std::int8_t>("|i1");
  ExpectNpyOfType<std::uint16_t>("<u2");
  ExpectNpyOfType<std::int16_t>("<i2");
  ExpectNpyOfType<std::uint32_t>("<u4");
  ExpectNpyOfType<std::int32_t>("<i4");
  ExpectNpyOfType<std::uint64_t>("<u8");
  ExpectNpyOfType<std::int64_t>("<i8");
}

TEST(LoadNpy, ReadsTheOtherByteOrderAndBooleans) {
  EXPECT_EQ(Loaded("m.npy",
                   NpyFile<std::uint16_t>(">u2", false, 1, 2, {0x0100, 0x0002}),
                   kUsersAreRows),
            (Columns{{1, 512}}));
  EXPECT_EQ(Loaded("m.npy", NpyFile<std::uint8_t>("|b1", false, 1, 2, {1, 0}),
                   kUsersAreRows),
            (Columns{{1, 0}}));
}

TEST(LoadNpy, NamesTheEntryThatItRefuses) {
  const Scratch scratch;
  const std::string path = scratch.Write(
      "m.npy", NpyFile<double>("<f8", true, 2, 3, {1, 2, 3, -1, 5, 6}));
  const absl::Status status = LoadMatrix(path, kUsersAreRows).status();
  EXPECT_EQ(ReasonCode(status), "input-negative");
  EXPECT_EQ(status.message(),
            absl::StrCat("`", path,
                         "`: [1, 1]: the entry -1 is negative; entries "
                         "must be 0 or more."));
}

TEST(LoadNpy, RefusesWhatIsNoMatrixOfNumbers) {
  const Scratch scratch;
  NpyHeader vector;
  vector.dtype = "<f4";
  vector.shape = {1};
  const std::string good = NpyFile<float>("<f4", false, 1, 2, {1, 2});
  const struct {
    std::string content;
    const char* code;
  } cases[] = {
      {NpyFile<float>("<f4", false, 1, 2,
                      {1, std::numeric_limits<float>::quiet_NaN()}),
       "input-not-finite"},
      {NpyFile<float>("<f4", false, 1, 2,
                      {1, std::numeric_limits<float>::infinity()}),
       "input-not-finite"},
      {NpyFile<double>("<f8", false, 1, 2, {1, 1e300}), "input-not-finite"},
      {NpyFile<std::int8_t>("|i1", false, 1, 2, {1, -128}), "input-negative"},
      {NpyFile<float>("<c8", false, 1, 1, {1, 2}), "input-malformed"},
      {NpyFile<float>("<f16", false, 1, 4, {1, 2}), "input-malformed"},
      {NpyFile<float>("<f4", false, 0, 2, {}), "input-empty"},
      {NpyFile<float>("<f4", false, 100'000'000, 100'000'000, {1}),
       "input-malformed"},
      {NpyFile<float>("<f4", false, 200'000'000, 1, {1}), "input-too-large"},
      {NpyHeaderBytes(vector) + "abcd", "input-malformed"},
      {good.substr(0, good.size() - 1), "input-malformed"},
      {good + "x", "input-malformed"},
      {good.substr(0, 20), "input-malformed"},
  };
  for (const auto& [content, code] : cases) {
    const auto matrix =
        LoadMatrix(scratch.Write("m.npy", content), kUsersAreRows);
    EXPECT_EQ(ReasonCode(matrix.status()), code) << matrix.status();
  }
}

// A copy that was cut off: no memory is taken for the 400 GB that it announces.
TEST(LoadNpy, RefusesAFileThatIsShorterThanItsShapeBeforeItTakesMemory) {
  const Scratch scratch;
  const std::string path = scratch.Write(
      "m.npy", NpyFile<std::uint8_t>("|u1", false, 100'000'000, 1'000, {1}));
  std::filesystem::resize_file(path, 100'000'000);
  EXPECT_EQ(ReasonCode(LoadMatrix(path, kUsersAreRows).status()),
            "input-malformed");
}

// ---- Triples

LoadOptions Triples(std::vector<std::string> items,
                    std::optional<std::uint64_t> users = {}) {
  LoadOptions options = As(MatrixFormatOfName("triples").value());
  options.feature_names = std::move(items);
  options.users_count = users;
  return options;
}

TEST(LoadTriples, PutsItemsWhereTheyAreDeclared) {
  const Columns expected = {{0, 5, 0}, {2, 0, 3}};
  for (const char* content :
       {"ann y 5\nbob x 2\nbob z 3\n",
        "ann\ty\t5\t881250949\nbob\tx\t2\t881250950\nbob\tz\t3\t\n",
        "userId,movieId,rating,timestamp\r\nann,y,5,1\r\nbob,x,2,1\r\nbob,z,3,"
        "1\r\n",
        "ann;y;5\nbob;x;2\nbob;z;3\n",
        "\"ann\",\"y\",5\n\"bob\",x,2\nbob,z,3\n\n"}) {
    EXPECT_EQ(
        Loaded("t.data", content, kUsersAreRows, Triples({"x", "y", "z"})),
        expected)
        << content;
  }
}

TEST(LoadTriples, GivesUsersWithoutATripleAZeroColumnIfTheirCountIsDeclared) {
  EXPECT_EQ(Loaded("t.data", "u x 1\n", kUsersAreRows, Triples({"x"}, 3)),
            (Columns{{1}, {0}, {0}}));
}

TEST(LoadTriples, TakesItemsFromTheFileOnlyIfNoneAreDeclared) {
  EXPECT_EQ(Loaded("t.data", "u b 1\nv a 2\n", kUsersAreRows, Triples({})),
            (Columns{{1, 0}, {0, 2}}));
}

// ---- Refusals: place and code

struct Refused {
  const char* name;  // of the file
  const char* content;
  const char* place;  // after the path
  const char* code;
  MatrixFormat format = nullptr;
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name << refused.place << " " << refused.code;
}

class EveryRefusal : public testing::TestWithParam<Refused> {};

TEST_P(EveryRefusal, NamesFileLineAndColumn) {
  const Refused& refused = GetParam();
  const Scratch scratch;
  const std::string path = scratch.Write(refused.name, refused.content);
  LoadOptions options = As(refused.format);
  if (refused.format == MatrixFormatOfName("triples").value())
    options = Triples({"x", "y"}, 2);
  const absl::Status status = LoadMatrix(path, kUsersAreRows, options).status();
  EXPECT_EQ(ReasonCode(status), refused.code) << status;
  const std::string message(status.message());
  EXPECT_EQ(message.rfind(absl::StrCat("`", path, "`", refused.place, ": "), 0),
            0u)
      << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

#define COORDINATE "%%MatrixMarket matrix coordinate real general\n"

INSTANTIATE_TEST_SUITE_P(
    Text, EveryRefusal,
    testing::Values(
        Refused{"a.csv", "", "", "input-empty"},
        Refused{"a.csv", "\n\n", "", "input-empty"},
        Refused{"a.csv", "a,b\n", ", line 1", "input-empty"},
        Refused{"a.csv", "1,2\n3,-4\n", ", line 2, column 2", "input-negative"},
        Refused{"a.csv", "1,2\n-1e-400,4\n", ", line 2, column 1",
                "input-negative"},
        Refused{"a.csv", "1,2\nnan,4\n", ", line 2, column 1",
                "input-not-finite"},
        Refused{"a.csv", "1,2\n3,NaN\n", ", line 2, column 2",
                "input-not-finite"},
        Refused{"a.csv", "1,2\n3,inf\n", ", line 2, column 2",
                "input-not-finite"},
        Refused{"a.csv", "1,2\n3,1e400\n", ", line 2, column 2",
                "input-not-finite"},
        Refused{"a.csv", "1,2\n3,1e39\n", ", line 2, column 2",
                "input-not-finite"},
        Refused{"a.csv", "1,2\n3,x\n", ", line 2, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "1,2\n3,\n", ", line 2, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "1,2\n3,1 2\n", ", line 2, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "1,2\n3,0x10\n", ", line 2, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "1,2\n3,+-1\n", ", line 2, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "h,g\r\n1,2\r\n3,?\r\n", ", line 3, column 2",
                "input-not-a-number"},
        Refused{"a.csv", "1,2\n3,4,5\n", ", line 2, column 3", "input-ragged"},
        Refused{"a.csv", "1,2\n3\n", ", line 2, column 2", "input-ragged"},
        Refused{"a.csv", "a,b,c\n1,2\n", ", line 2, column 3", "input-ragged"},
        Refused{"a.csv", "1,2\n\n3,4\n", ", line 2, column 1", "input-ragged"},
        Refused{"a.csv", "1,2\n3,\"4\n", ", line 2, column 2",
                "input-malformed"},
        Refused{"a.csv", "1,2\n3,\"4\"5\n", ", line 2, column 2",
                "input-malformed"},
        Refused{"a.csv", "1,x,3\n4,5,6\n", ", line 1, column 2",
                "input-ambiguous"},
        Refused{"a.csv", "ann,1,2\nbob,3,4\n", ", line 1, column 1",
                "input-ambiguous"},
        Refused{"a.csv", "w,a\nann,1\n7,2\n", ", line 3, column 1",
                "input-ambiguous"},
        Refused{"a.csv", "w,a\nann,bob\n", ", line 2, column 1",
                "input-not-a-number"},
        Refused{"a.tsv", "1\t2\n\t\n", ", line 2, column 1",
                "input-not-a-number"},
        Refused{"a.txt", "", "", "input-empty"}));

TEST(Load, AnotherSeparatorIsProposedByItsFlag) {
  const Scratch scratch;
  const auto matrix =
      LoadMatrix(scratch.Write("a.csv", "a~b\n1~2\n3~4\n"), kUsersAreRows);
  EXPECT_THAT(std::string(matrix.status().message()),
              testing::HasSubstr("separator (--delimiter)"));
}

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, EveryRefusal,
    testing::Values(
        Refused{"a.mtx", "", "", "input-empty"},
        Refused{"a.mtx", "1 2 3\n", ", line 1, column 1", "input-malformed"},
        Refused{"a.mtx", "%%MatrixMarket matrix sparse real general\n",
                ", line 1, column 3", "input-malformed"},
        Refused{"a.mtx", "%%MatrixMarket matrix coordinate complex general\n",
                ", line 1, column 4", "input-malformed"},
        Refused{"a.mtx", "%%MatrixMarket matrix array pattern general\n",
                ", line 1, column 4", "input-malformed"},
        Refused{"a.mtx", "%%MatrixMarket matrix coordinate real hermitian\n",
                ", line 1, column 5", "input-malformed"},
        Refused{"a.mtx", COORDINATE, ", line 1, column 1", "input-malformed"},
        Refused{"a.mtx", COORDINATE "2 2\n", ", line 2, column 1",
                "input-malformed"},
        Refused{"a.mtx", COORDINATE "2 -2 1\n", ", line 2, column 2",
                "input-malformed"},
        Refused{"a.mtx", COORDINATE "0 2 0\n", ", line 2, column 1",
                "input-empty"},
        Refused{"a.mtx", COORDINATE "2 999999999 1\n1 1 1\n",
                ", line 2, column 2", "input-too-large"},
        Refused{"a.mtx", COORDINATE "2 2 1\n3 1 1\n", ", line 3, column 1",
                "input-out-of-range"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 0 1\n", ", line 3, column 2",
                "input-out-of-range"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1.5 1\n", ", line 3, column 2",
                "input-out-of-range"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1 -1\n", ", line 3, column 3",
                "input-negative"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1 nan\n", ", line 3, column 3",
                "input-not-finite"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1\n", ", line 3, column 3",
                "input-ragged"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1 1 1\n", ", line 3, column 4",
                "input-ragged"},
        Refused{"a.mtx", COORDINATE "2 2 2\n1 1 1\n", ", line 3, column 1",
                "input-malformed"},
        Refused{"a.mtx", COORDINATE "2 2 1\n1 1 1\n1 2 1\n",
                ", line 4, column 1", "input-malformed"},
        Refused{"a.mtx", COORDINATE "%c\n2 2 3\n1 1 1\n2 1 1\n\n1 1 1\n",
                ", line 7, column 1", "input-duplicate"},
        Refused{"a.mtx", COORDINATE "2 2 2\n1 1 0\n1 1 0\n",
                ", line 4, column 1", "input-duplicate"}));

INSTANTIATE_TEST_SUITE_P(
    Triples, EveryRefusal,
    testing::Values(
        Refused{"t", "", "", "input-empty",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "user item value\n", "", "input-empty",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu z 1\n", ", line 2, column 2", "item-unknown",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nv x 1\nw x 1\n", ", line 3, column 1",
                "users-mismatch", MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu y 1\nu x 2\n", ", line 3, column 1",
                "input-duplicate", MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu y\n", ", line 2, column 3", "input-ragged",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu y 1 2 3\n", ", line 2, column 5", "input-ragged",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu y -1\n", ", line 2, column 3", "input-negative",
                MatrixFormatOfName("triples").value()},
        Refused{"t", "u x 1\nu y ?\n", ", line 2, column 3",
                "input-not-a-number", MatrixFormatOfName("triples").value()},
        Refused{"t", "u,x,1\n,y,1\n", ", line 2, column 1", "input-malformed",
                MatrixFormatOfName("triples").value()}));
#undef COORDINATE

TEST(Load, RatingsAreRecognisedAndNotReadAsAMatrix) {
  const Scratch scratch;
  for (const auto& [name, text] :
       std::vector<std::pair<const char*, const char*>>{
           {"u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n"},
           {"ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n"},
           {"ratings.csv",
            "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n"},
           {"other.csv", "user,item,rating\n1,31,2.5\n"},
           {"time.csv", "id,movie,rating,timestamp\n1,31,2.5,1260759144\n"},
           {"commas.csv", "user;one,two,three;rating;day\n1;31;2,5;7\n"},
           {"day.csv", "User;Item;Rating;day\n1;31;2.5;7\n"},
           {"some.csv", "1,31,2.5,1260759144\n"}}) {
    const std::string path = scratch.Write(name, text);
    const absl::Status status = LoadMatrix(path, kUsersAreRows).status();
    EXPECT_EQ(ReasonCode(status), "input-ratings") << name;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("give --ratings instead of --input, "
                                   "with --items FILE, --rating-range LOW,HIGH "
                                   "and --users-count N"));
  }
  // Three counts of people; four, the last of them no time; and what the
  // operator says.
  EXPECT_EQ(
      Loaded("three.csv", "count,item,rating\n1,31,2\n", kUsersAreRows).size(),
      1u);
  EXPECT_EQ(Loaded("counts.csv", "1,31,2,12\n2,5,1,7\n", kUsersAreRows).size(),
            2u);
  EXPECT_EQ(Loaded("a.csv", "1,31,2,881250949\n8,2,3,881250949\n",
                   kUsersAreRows, As(MatrixFormatOfName("csv").value()))
                .size(),
            2u);
}

TEST(Load, SaysWhichDeclaredShapeDoesNotFit) {
  const Scratch scratch;
  const std::string path = scratch.Write("m.csv", "1,2,3\n4,5,6\n");
  LoadOptions options;
  options.feature_names = {"a", "b"};
  const absl::Status status = LoadMatrix(path, kUsersAreRows, options).status();
  EXPECT_EQ(ReasonCode(status), "features-mismatch");
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("if it was taken for a header"));
  EXPECT_TRUE(LoadMatrix(path, kUsersAreColumns, options).ok());
  options.feature_names.clear();
  options.users_count = 3;
  EXPECT_EQ(ReasonCode(LoadMatrix(path, kUsersAreRows, options).status()),
            "users-mismatch");
  EXPECT_TRUE(LoadMatrix(path, kUsersAreColumns, options).ok());
}

TEST(Load, RefusesMissingFilesDirectoriesAndDamagedGzip) {
  const Scratch scratch;
  const auto missing =
      LoadMatrix(scratch.path() + "/none.csv", kUsersAreRows).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonCode(missing), "input-not-found");
  EXPECT_EQ(ReasonCode(LoadMatrix(scratch.path(), kUsersAreRows).status()),
            "input-unreadable");
  std::string long_text;
  for (int i = 0; i < 5000; ++i)
    absl::StrAppend(&long_text, i * 7919 % 1000, ",", i, "\n");
  const std::string whole =
      ReadAll(scratch.WriteGzip("whole.csv.gz", long_text));
  std::string damaged = whole;
  damaged[damaged.size() / 2] =
      static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), damaged,
                                   whole.substr(0, whole.size() - 3)}) {
    const auto status =
        LoadMatrix(scratch.Write("m.csv.gz", bytes), kUsersAreRows).status();
    EXPECT_EQ(ReasonCode(status), "input-unreadable") << status;
  }
}

TEST(Load, ReadsAFileManyTimesAsLongAsItsBuffer) {
  std::string text;
  constexpr int kRows = 30'000;
  const auto entry = [](int i, int j) {
    return 1'000'001 + i % 29'000 * 40 + j;
  };
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < 40; ++j)
      absl::StrAppend(&text, j == 0 ? "" : ",", entry(i, j));
    text += '\n';
  }
  ASSERT_GT(text.size(), std::size_t{8} << 20);
  const Columns columns = Loaded("long.csv", text, kUsersAreRows);
  ASSERT_EQ(columns.size(), static_cast<std::size_t>(kRows));
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < 40; ++j)
      ASSERT_EQ(columns[i][j], static_cast<float>(entry(i, j)));
  }
}

TEST(Load, ReadsOneLineOfManyMegabytes) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i)
    absl::StrAppend(&text, i == 0 ? "" : " ", i % 100);
  const Columns columns = Loaded("wide.txt", text, kUsersAreRows);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].size(), 1'000'000u);
  EXPECT_EQ(columns[0][999'999], 99);
}

TEST(Load, TellsHowFarItIs) {
  const Scratch scratch;
  LoadOptions options;
  std::uint64_t last = 0, size = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    size = total;
  };
  ASSERT_TRUE(
      LoadMatrix(scratch.Write("m.csv", "1,2\n"), kUsersAreRows, options).ok());
  EXPECT_EQ(last, 4u);
  EXPECT_EQ(size, 4u);
}

}  // namespace
}  // namespace dpnmf
