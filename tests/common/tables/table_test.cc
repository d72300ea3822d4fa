// Tables of people, parts and moments, and names of features on two sides.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/match_names.h"
#include "common/files/npy.h"
#include "common/tables/load.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Names = std::vector<std::string>;
using Places = std::vector<std::ptrdiff_t>;

TEST(MatchNames, TakesTheSpellingThatIsNearest) {
  const struct {
    Names known, file;
    Places places;
  } cases[] = {
      {{"a", "b"}, {"b", "c", "a"}, {2, 0}},
      {{" a", "b"}, {"a ", "\tb"}, {0, 1}},
      // Capitals, unless the name itself is there or two could be meant.
      {{"age", "Size"}, {"SIZE", "AGE"}, {1, 0}},
      {{"age"}, {"AGE", "age"}, {1}},
      {{"age"}, {"AGE", "Age"}, {-1}},
      {{"age", "Age"}, {"AGE", "x"}, {-1, -1}},
      // Versions of accessions, on either side or on both.
      {{"ENSG00000141510", "NM_000546.6"},
       {"NM_000546", "ENSG00000141510.16"},
       {1, 0}},
      {{"ENSG1.4"}, {"ENSG1.7"}, {0}},
      {{"ENSG1.4"}, {"ENSG1.7", "ENSG1.4"}, {1}},
      {{"ENSG1"}, {"ENSG1.4", "ENSG1.7"}, {-1}},
      // These are other questions, days and chemicals.
      {{"q1.1", "day1", "x"}, {"q1.2", "day1.5", "x.1"}, {-1, -1, -1}},
      {{"ENSG1"}, {"ENSG1.x"}, {-1}},
      {{"", "a"}, {"", "a"}, {-1, 1}},
      // One that stands twice has the first place.
      {{"a"}, {"a", "a"}, {0}},
  };
  for (const auto& one : cases) {
    const NameMatch match = MatchNames(one.known, one.file);
    EXPECT_EQ(match.places, one.places) << one.known[0];
    EXPECT_EQ(match.found, one.known.size() -
                               static_cast<std::size_t>(std::count(
                                   one.places.begin(), one.places.end(), -1)));
  }
  EXPECT_THAT(MatchNames({"age", "b"}, {"AGE", "b"}).respelled,
              ElementsAre("age (AGE)"));
}

// The files of one table: people a and b, of the features x, y and z.
const std::vector<double> kNumbers = {1, 2, 3, 4, 5.5, 0};
const Names kXyz = {"x", "y", "z"};
constexpr bool kRows = true, kColumns = false;

TEST(LoadTable, ReadsNamesOfFeaturesAndPeople) {
  const Names none, ab = {"a", "b"};
  const struct {
    const char* file;
    std::string text;
    bool rows;
    Names names, ids, left_out = {};
  } cases[] = {
      {"p.csv", "1,2,3\n4,5.5,0\n", kRows, none, none},
      {"p.csv", "x,y,z\n1,2,3\n4,5.5,0\n", kRows, kXyz, none},
      {"p.csv", "\xEF\xBB\xBFx , y,\" z \"\r\n1, 2 ,3\r\n4,5.5,0\r\n\r\n",
       kRows, kXyz, none},
      {"p.txt", "x y z\n1 2 3\n4 5.5 0\n", kRows, kXyz, none},
      {"p.tsv", "who\tx\ty\tz\na\t1\t2\t3\nb\t4\t5.5\t0\n", kRows, kXyz, ab},
      {"p.txt", "x\ty\tz\n1\t2\t3\n4\t5.5\t0\n", kRows, kXyz, none},
      // R's write.table: nothing above the names of the rows.
      {"p.csv", "\"x\",\"y\",\"z\"\n\"a\",1,2,3\n\"b\",4,5.5,0\n", kRows, kXyz,
       ab},
      {"p.txt", "\"x\" \"y\" \"z\"\n\"a\" 1 2 3\n\"b\" 4 5.5 0\n", kRows, kXyz,
       ab},
      // R's write.csv, and pandas with an index.
      {"p.csv", "\"\",x,y,z\na,1,2,3\nb,4,5.5,0\n", kRows, kXyz, ab},
      {"p.csv", ",x,y,z\n0,1,2,3\n1,4,5.5,0\n", kRows, kXyz, {"0", "1"}},
      // Two columns of words: the one that the header calls an id is it.
      {"p.csv",
       "site,patient,x,y,z\nu,a,1,2,3\nv,b,4,5.5,0\n",
       kRows,
       kXyz,
       ab,
       {"site"}},
      {"p.csv",
       "b1,b2,x,y,z\na,u,1,2,3\nb,v,4,5.5,0\n",
       kRows,
       kXyz,
       ab,
       {"b2"}},
      // People in columns.
      {"p.csv", "1,4\n2,5.5\n3,0\n", kColumns, none, none},
      {"p.csv", "a,b\n1,4\n2,5.5\n3,0\n", kColumns, none, ab},
      {"p.csv", "feature,a,b\nx,1,4\ny,2,5.5\nz,3,0\n", kColumns, kXyz, ab},
      {"p.tsv", "a\tb\n\"x\"\t1\t4\n\"y\"\t2\t5.5\n\"z\"\t3\t0\n", kColumns,
       kXyz, ab},
      {"p.csv", "x\ty\tz\n1\t2\t3\n4\t5.5\t0\n", kRows, kXyz, none},
      {"p.csv", "sep=;\nx;y;z\n1;2;3\n4;5,5;0\n", kRows, kXyz, none},
      {"p.csv", "# by hand\nx,y,z\n1,2,3\n4,5.5,0\n", kRows, kXyz, none},
      {"p.csv",
       "feature,a,b\nx,1,4\n7,2,5.5\nz,3,0\n",
       kColumns,
       {"x", "7", "z"},
       ab},
      {"p.csv",
       "feature,a,b\n7,1,4\n8,2,5.5\n9,3,0\n",
       kColumns,
       {"7", "8", "9"},
       ab},
      {"p.csv",
       "feature,a,b\n\"x, \"\"1\"\"\",1,4\ny,2,5.5\nz,3,0\n",
       kColumns,
       {"x, \"1\"", "y", "z"},
       ab},
      // Two columns of labels: the first without repetitions, else both.
      {"p.csv", "kind,name,a,b\nk,x,1,4\nk,y,2,5.5\nl,z,3,0\n", kColumns, kXyz,
       ab},
      {"p.csv",
       "type,context,a,b\nC>A,A,1,4\nC>A,C,2,5.5\nC>G,A,3,0\n",
       kColumns,
       {"C>A A", "C>A C", "C>G A"},
       ab},
      {"p.mtx",
       "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n"
       "5.5\n0\n",
       kColumns, none, none},
      {"p.mtx",
       "%%MatrixMarket matrix coordinate real general\n3 2 5\n1 1 1\n"
       "2 1 2\n3 1 3\n2 2 5.5\n1 2 4\n",
       kColumns, none, none},
  };
  for (const auto& one : cases) {
    const Scratch scratch;
    for (const bool gzip : {false, true}) {
      const auto table = LoadTable(gzip ? scratch.WriteGzip(one.file, one.text)
                                        : scratch.Write(one.file, one.text),
                                   one.rows);
      ASSERT_TRUE(table.ok()) << one.text << table.status();
      EXPECT_EQ(table->features, 3u);
      EXPECT_EQ(table->users, 2u);
      EXPECT_EQ(table->numbers, kNumbers) << one.text;
      EXPECT_EQ(table->feature_names, one.names) << one.text;
      EXPECT_EQ(table->ids, one.ids) << one.text;
    }
    // The same features in another order, and known.
    const TableOptions known = {.feature_names = {"z", "x", "y"}};
    const auto placed =
        LoadTable(scratch.Write(one.file, one.text), one.rows, known);
    if (one.names == kXyz) {
      ASSERT_TRUE(placed.ok()) << one.text << placed.status();
      EXPECT_EQ(placed->numbers, (std::vector<double>{3, 1, 2, 0, 4, 5.5}))
          << one.text;
      EXPECT_EQ(placed->ids, one.ids) << one.text;
      EXPECT_EQ(placed->left_out, one.left_out) << one.text;
    } else if (one.names.empty()) {
      EXPECT_EQ(placed->numbers, kNumbers) << one.text;
    } else {
      EXPECT_EQ(ReasonCode(placed.status()), "features-mismatch") << one.text;
    }
  }
}

TEST(LoadTable, FindsKnownFeaturesAmongOtherColumns) {
  const struct {
    const char* text;
    bool rows;
    Names ids, left_out = {}, respelled = {};
  } cases[] = {
      {"patient,sex,z,weight,y,x\n7,f,3,70,2,1\n8,m,0,80,5.5,4\n",
       kRows,
       {"7", "8"},
       {"sex", "weight"}},
      {"Z,date,Y,X,Patient_ID\n3,2020-01-01,2,1,a\n0,n/a,5.5,4,b\n",
       kRows,
       {"a", "b"},
       {"date"},
       {"x (X)", "y (Y)", "z (Z)"}},
      {",z,y,x,total\n7,3,2,1,6\n9,0,5.5,4,9.5\n",
       kRows,
       {"7", "9"},
       {"total"}},
      {"feature,a,b\nw,7,7\nz,3,0\ny,2,5.5\nX,1,4\n",
       kColumns,
       {"a", "b"},
       {"w"},
       {"x (X)"}},
      // Names of people that are numbers.
      {"feature,0,1\nx,1,4\ny,2,5.5\nz,3,0\n", kColumns, {"0", "1"}},
      {",0,1\nx,1,4\ny,2,5.5\nz,3,0\n", kColumns, {"0", "1"}},
      {"x,1,4\ny,2,5.5\nz,3,0\n", kColumns, {}},
      // The column of labels that has the names.
      {"n,id,a,b\nu,z,3,0\nv,x,1,4\nw,y,2,5.5\n", kColumns, {"a", "b"}},
  };
  for (const auto& one : cases) {
    const Scratch scratch;
    const auto table = LoadTable(scratch.Write("p.csv", one.text), one.rows,
                                 {.feature_names = kXyz, .features = 3});
    ASSERT_TRUE(table.ok()) << one.text << table.status();
    EXPECT_EQ(table->numbers, kNumbers) << one.text;
    EXPECT_EQ(table->ids, one.ids) << one.text;
    EXPECT_EQ(table->left_out, one.left_out) << one.text;
    EXPECT_EQ(table->respelled, one.respelled) << one.text;
  }
  // Without known names their number tells a column of ids.
  const Scratch scratch;
  const auto counted =
      LoadTable(scratch.Write("p.csv", "patient,x,y,z\n7,1,2,3\n9,4,5.5,0\n"),
                kRows, {.features = 3});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(counted->numbers, kNumbers);
  EXPECT_THAT(counted->ids, ElementsAre("7", "9"));
}

TEST(LoadTable, NamesOfFeaturesMayBeMeasures) {
  const Scratch scratch;
  const auto table = LoadTable(
      scratch.Write("p.csv", "24/7,1,4\n0-9,2,5.5\n5k,3,0\n"), kColumns,
      {.feature_names = {"0-9", "24/7", "5k"}, .features = 3});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->numbers, (std::vector<double>{2, 1, 3, 5.5, 4, 0}));
}

TEST(LoadTable, PointsAreDecimalMarksWhereNoFlagSaysSo) {
  const Scratch scratch;
  const auto table =
      LoadTable(scratch.Write("p.csv", "x;y;z\n1.500;2;7.25\n4.250;5;48.600\n"),
                kRows, {.feature_names = kXyz, .features = 3});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->numbers, (std::vector<double>{1.5, 2, 7.25, 4.25, 5, 48.6}));
}

TEST(LoadTable, NeverTakesPositionsWhereBothSidesHaveNames) {
  const struct {
    const char* text;
    bool rows;
    const char* sentence;
  } cases[] = {
      {"u,v,w\n1,2,3\n", kRows,
       "none of its names ('u', 'v', 'w') is that of a feature ('x', 'y', "
       "'z')"},
      {"id,u,v\n7,1,2\n", kRows, "none of its names"},
      {"\"u\",\"v\",\"w\"\n\"a\",1,2,3\n", kRows, "none of its names ('u'"},
      {"feature,a\nu,1\nv,2\nw,3\n", kColumns, "none of its names ('u'"},
      {"type,context,a\nC>A,A,1\nC>A,C,2\nC>G,A,3\n", kColumns,
       "none of its names ('C>A A'"},
      {"x,z\n1,3\n", kRows, "it lacks 'y', and has 2 of the 3 features"},
      {"a,x,b\n1,2,3\n", kRows, "it lacks 'y', 'z', and has 1 of the 3"},
      {"x,y,z,y\n1,2,3,4\n", kRows, "it has 'y' twice"},
      {"feature,a\nx,1\ny,2\nz,3\nx,4\n", kColumns, "it has 'x' twice"},
      {"1,2,3,4\n", kRows, "it has 4 features, not 3"},
      {"x,y,z\n1,2,3\n4,5,6\n7,8,9\n", kColumns,
       "its columns have names of features; give --users rows"},
      {",a,b,c\nx,1,2,3\ny,4,5,6\nz,7,8,9\n", kRows, "none of its names"},
      {"\"x\" , y ,\t\"w\"\n1,2,3\n", kRows, "it lacks 'z'"},
      {"patient,a,b\n1,2,3\n", kRows, "none of its names"},
  };
  for (const auto& one : cases) {
    const Scratch scratch;
    const auto table = LoadTable(scratch.Write("p.csv", one.text), one.rows,
                                 {.feature_names = kXyz, .features = 3});
    EXPECT_EQ(ReasonCode(table.status()), "features-mismatch") << one.text;
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(one.sentence));
  }
}

TEST(LoadTable, AdvisesNoFlagOfAnImport) {
  const struct {
    const char* file;
    const char* text;
    const char* code;
    const char* sentence;
  } cases[] = {
      {"p.csv", "0,1,2\n3,4,5\n", "input-ambiguous",
       "the first line is 0 to 2"},
      {"p.csv", "a,1,2\nb,4,5\n", "input-ambiguous", "'a' is not a number"},
      {"p.csv", "x,y\n1,two\n", "input-not-a-number", "such as 'two'"},
      {"p.csv", "1,f,2\n3,m,4\n", "input-ambiguous", "'f' is not a number"},
      {"p.csv", "a,sex,b\n1,f,2\n3,m,4\n", "features-mismatch",
       "none of its names"},
      {"p.csv", "x,y\n1,f\n3,m\n", "input-not-a-number",
       "column 2 'y' has words, such as 'f', and no numbers; remove the "
       "column"},
      {"p.csv", "x,y\n1,2024-01-05\n", "input-not-a-number",
       "has dates, such as '2024-01-05', and a date is no count; remove"},
      {"p.csv", "x,y\n3 kg,2\n", "input-not-a-number",
       "two numbers; write one number alone."},
      {"p.csv", "x,y\n1,-2\n", "input-negative", "column 2: the entry -2"},
      {"p.csv", "x,y\n1,2\n3\n", "input-ragged", "line 3"},
      {"p.csv", "", "input-empty", "the file is empty"},
  };
  for (const auto& one : cases) {
    const Scratch scratch;
    const absl::Status status = LoadTable(scratch.Write(one.file, one.text),
                                          kRows, {.feature_names = {"x", "y"}})
                                    .status();
    EXPECT_EQ(ReasonCode(status), one.code) << one.text;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(one.sentence), Not(HasSubstr("--"))));
  }
}

// A file of `dpnmf model` comes back bit for bit, and a moment below 0.
TEST(LoadTable, KeepsDoublesAndNegativeNumbers) {
  const Scratch scratch;
  const std::vector<double> numbers = {0.1, -1e-300, 1.0 / 3, 1e30};
  std::string text, array = "%%MatrixMarket matrix array real general\n2 2\n",
                    npy = NpyHeaderBytes({.dtype = "<f8", .shape = {2, 2}});
  for (const int i : {0, 2, 1, 3}) {
    text +=
        absl::StrCat(absl::StrFormat("%.17g", numbers[i]), i < 2 ? "," : "\n");
    npy.append(reinterpret_cast<const char*>(&numbers[i]), sizeof(double));
  }
  for (const double number : numbers)
    array += absl::StrFormat("%.17g\n", number);
  for (const auto& [name, content] :
       {std::pair("w.csv", text), std::pair("w.npy", npy),
        std::pair("w.mtx", array)}) {
    const std::string path = scratch.Write(name, content);
    const auto table = LoadTable(path, kColumns, {.negative = true});
    ASSERT_TRUE(table.ok()) << name << table.status();
    EXPECT_EQ(table->numbers, numbers) << name;
    EXPECT_THAT(table->values, IsEmpty());
    EXPECT_EQ(ReasonCode(LoadTable(path, kColumns).status()), "input-negative");
  }
}

TEST(LoadTable, FillsBothTrianglesOfASymmetricMatrix) {
  const Scratch scratch;
  const std::string banner = "%%MatrixMarket matrix ";
  for (const std::string& text :
       {banner + "coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 3\n",
        banner + "array real symmetric\n2 2\n1\n2\n3\n"}) {
    const std::string path = scratch.Write("g.mtx", text);
    const auto table = LoadTable(path, kColumns);
    ASSERT_TRUE(table.ok()) << text << table.status();
    EXPECT_EQ(table->numbers, (std::vector<double>{1, 2, 2, 3})) << text;
    const auto matrix = LoadMatrix(path, kColumns);
    ASSERT_TRUE(matrix.ok()) << text << matrix.status();
    EXPECT_EQ(matrix->values, (std::vector<float>{1, 2, 2, 3})) << text;
  }
  for (const auto& [text, code] :
       {std::pair(banner + "coordinate real symmetric\n2 3 1\n1 1 1\n",
                  "input-malformed"),
        std::pair(banner + "coordinate real general\n2 2 2\n1 1 1\n1 1 2\n",
                  "input-duplicate"),
        std::pair(banner + "coordinate real general\n99999 99999 1\n1 1 1\n",
                  "input-too-large")}) {
    EXPECT_EQ(
        ReasonCode(LoadTable(scratch.Write("g.mtx", text), kColumns).status()),
        code);
  }
}

std::string NpyWith(const char* version, const std::string& dictionary,
                    const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += *version;
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size());
  bytes.append(*version == 1 ? 1 : 3, '\0');
  return bytes + dictionary + data;
}

TEST(LoadTable, ReadsHeadersOfNpyThatNumpyReads) {
  using std::string_literals::operator""s;
  const std::string bytes = "\1\2\3\4\5\6"s;
  const struct {
    const char* version;
    const char* dictionary;
    std::string data;
  } cases[] = {
      // Python 2 on Windows, and with unicode literals.
      {"\1", "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }",
       bytes},
      {"\1", "{u'descr': u'|u1', u'fortran_order': False, u'shape': (2L, 3L)}",
       bytes},
      {"\1", "{'shape':(2,3),'descr':'|u1','fortran_order':False}", bytes},
      {"\2",
       "{ 'fortran_order' : False , 'shape' : ( 2 , 3 ) ,\"descr\":'|u1'}",
       bytes},
      {"\3", "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), } \n",
       bytes},
      {"\1", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
       "\1\4\2\5\3\6"s},
      {"\1", "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }",
       "\0\1\0\2\0\3\0\4\0\5\0\6"s},
      {"\1", "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }",
       "\x3f\x80\0\0\x40\x80\0\0\x40\0\0\0\x40\xa0\0\0\x40\x40\0\0\x40\xc0\0\0"s},
      // Half precision: 1, 2, 3, 4, 5, 6.
      {"\1", "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }",
       "\0\x3c\0\x40\0\x42\0\x44\0\x45\0\x46"s},
      {"\1", "{'descr': '>f2', 'fortran_order': False, 'shape': (2, 3), }",
       "\x3c\0\x40\0\x42\0\x44\0\x45\0\x46\0"s},
  };
  for (const auto& one : cases) {
    const Scratch scratch;
    const std::string path =
        scratch.Write("p.npy", NpyWith(one.version, one.dictionary, one.data));
    const auto table = LoadTable(path, kRows);
    ASSERT_TRUE(table.ok()) << one.dictionary << table.status();
    EXPECT_EQ(table->numbers, (std::vector<double>{1, 2, 3, 4, 5, 6}))
        << one.dictionary;
    const auto matrix = LoadMatrix(path, kRows);
    ASSERT_TRUE(matrix.ok()) << one.dictionary << matrix.status();
    EXPECT_EQ(matrix->values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  // The smallest and the largest half, and what is no number.
  const Scratch scratch;
  const auto half = [&](const std::string& data) {
    return LoadTable(
        scratch.Write("h.npy",
                      NpyWith("\1",
                              "{'descr': '<f2', 'fortran_order': False, "
                              "'shape': (1, 2), }",
                              data)),
        kRows, {.negative = true});
  };
  EXPECT_EQ(half("\1\0\xff\xfb"s)->numbers,
            (std::vector<double>{0x1p-24, -65504}));
  EXPECT_EQ(half("\0\0\0\x04"s)->numbers, (std::vector<double>{0, 0x1p-14}));
  EXPECT_EQ(ReasonCode(half("\0\0\0\x7c"s).status()), "input-not-finite");
  EXPECT_EQ(ReasonCode(half("\0\0\1\x7c"s).status()), "input-not-finite");
}

}  // namespace
}  // namespace dpnmf
