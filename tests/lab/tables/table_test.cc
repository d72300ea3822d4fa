#include "lab/tables/table.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Rows = std::vector<std::vector<double>>;

Rows RowsOf(const Table& table) {
  Rows rows;
  for (Eigen::Index i = 0; i < table.people(); ++i) {
    rows.emplace_back();
    for (Eigen::Index j = 0; j < table.values.cols(); ++j)
      rows.back().push_back(table.values(i, j));
  }
  return rows;
}

absl::StatusOr<Table> Read(const std::string& content,
                           const TableOptions& options = {},
                           const std::string& name = "table.csv") {
  const Scratch scratch;
  return ReadTable(scratch.Write(name, content), options);
}

TableOptions With(std::optional<int> class_column,
                  std::optional<int> id_column = std::nullopt) {
  TableOptions options;
  options.class_column = class_column;
  options.id_column = id_column;
  return options;
}

TableOptions UsersInColumns(TableOptions options = {}) {
  options.users_are_rows = false;
  return options;
}

template <typename T>
std::string NpyOf(const std::string& dtype, bool fortran_order,
                  std::vector<std::uint64_t> shape,
                  const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = fortran_order;
  header.shape = std::move(shape);
  return NpyHeaderBytes(header) +
         std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

TEST(Table, OfNumbersAloneHasNoNames) {
  const auto table = Read("1,-2.5\n3,4e-3\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1, -2.5}, {3, 4e-3}}));
  EXPECT_THAT(table->columns, IsEmpty());
  EXPECT_THAT(table->ids, IsEmpty());
  EXPECT_THAT(table->classes, IsEmpty());
}

TEST(Table, KeepsDoublePrecision) {
  const auto table = Read("0.1,16777217\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{0.1, 16777217}}));
}

TEST(Table, ClassAndIdMayBeWordsAndStandAnywhere) {
  const auto table = Read("who,a,kind,b\nann,1,x y,2\n\"b,b\",3,z,4\n",
                          With(/*class_column=*/3, /*id_column=*/1));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1, 2}, {3, 4}}));
  EXPECT_THAT(table->columns, ElementsAre("a", "b"));
  EXPECT_THAT(table->ids, ElementsAre("ann", "b,b"));
  EXPECT_THAT(table->classes, ElementsAre("x y", "z"));
}

TEST(Table, MayBeSeparatedBySemicolons) {
  const auto table = Read("who;a;kind\nann;1.5;x, y\nbob;2;z\n",
                          With(/*class_column=*/3, /*id_column=*/1));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1.5}, {2}}));
  EXPECT_THAT(table->columns, ElementsAre("a"));
  EXPECT_THAT(table->classes, ElementsAre("x, y", "z"));
}

TEST(SetFields, TakesNumbersAndNamesOfTheHeader) {
  const Scratch scratch;
  const std::string path =
      scratch.Write("t.csv", "1999;\"kind; or sort\";who;who\n1;x;a;b\n");
  TableOptions options;
  ASSERT_TRUE(SetFields(path, {"2", "3"}, &options).ok());
  EXPECT_EQ(options.class_column, 2);
  EXPECT_EQ(options.id_column, 3);
  EXPECT_FALSE(options.header.has_value());
  const absl::Status named = SetFields(path, {"kind; or sort", ""}, &options);
  ASSERT_TRUE(named.ok()) << named;
  EXPECT_EQ(options.class_column, 2);
  EXPECT_EQ(options.id_column, std::nullopt);
  EXPECT_EQ(options.header, true);
  // Below comments, in one, and in a line longer than what is peeked at.
  std::string names = "a", numbers = "1";
  for (int i = 0; i < 20'000; ++i) {
    absl::StrAppend(&names, ",b", i);
    numbers += ",2";
  }
  names += ",kind";
  numbers += ",x";
  for (const std::string& text :
       {std::string("# by hand\n#2024\na,kind\n1,x\n"),
        std::string("# a,kind\n1,x\n2,y\n"),
        std::string("a,kind\n1,grade 1\n2,grade 2\n"),
        absl::StrCat(names, "\n", numbers, "\n")}) {
    TableOptions given;
    const std::string place = scratch.Write("h.csv", text);
    const absl::Status status = SetFields(place, {"kind", ""}, &given);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(given.class_column, text.starts_with("a,b0") ? 20'002 : 2);
    given.one_class_is_refused = false;
    const auto table = ReadTable(place, given);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->values(0, 0), 1);
  }
  const auto refused = [&](const FieldFlags& fields, TableOptions given) {
    return std::string(SetFields(path, fields, &given).message());
  };
  EXPECT_THAT(refused({"sort", ""}, {}), HasSubstr("nor the name of a field"));
  EXPECT_THAT(refused({"", "who"}, {}), HasSubstr("the name of two fields"));
  TableOptions no_header;
  no_header.header = false;
  EXPECT_THAT(refused({"sort", ""}, no_header), HasSubstr("needs a header"));
  EXPECT_THAT(refused({"sort", ""}, UsersInColumns()),
              HasSubstr("people in rows"));
}

TEST(Table, OfOneClassIsTakenWhereClassesAreNotLearned) {
  TableOptions options = With(2);
  options.one_class_is_refused = false;
  const auto table = Read("1,a\n2,a\n", options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->classes, ElementsAre("a", "a"));
}

TEST(Table, FirstLineOfNumbersWithAWordAsClassIsAPerson) {
  const auto table = Read("1,2,benign\n3,4,malignant\n", With(3));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->people(), 2);
}

TEST(Table, UsersInColumnsMayHaveNamesOfBothKinds) {
  const auto table =
      Read("name,ann,bob,cy\nage,1,2,3\nkind,x,y,x\nsize,4,5,6\n",
           UsersInColumns(With(/*class_column=*/3)));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_THAT(table->columns, ElementsAre("age", "size"));
  EXPECT_THAT(table->ids, ElementsAre("ann", "bob", "cy"));
  EXPECT_THAT(table->classes, ElementsAre("x", "y", "x"));
}

// The forms of an import: another separator, decimal commas, UTF-16 and lines
// that end with CR, comments, line breaks in quotes, Matrix Market.
TEST(Table, IsReadInTheFormsOfAnImport) {
  const std::pair<const char*, std::string> files[] = {
      {"table.csv", "who;a;kind;b\nann;1,5;x;2\nbob;0;y;3\n"},
      {"table.csv", "who|a|kind|b\nann|1.5|x|2\nbob|0|y|3\n"},
      {"table.csv", "sep=;\nwho;a;kind;b\nann;1.5;x;2\nbob;0;y;3\n"},
      {"table.csv", "who,a,kind,b\rann,1.5,x,2\rbob,0,y,3\r"},
      {"table.csv", "# made by hand\nwho,a,kind,b\nann,1.5,x,2\nbob,0,y,3\n"},
      {"table.tsv", "who\ta\tkind\tb\nann\t1.5\tx\t2\nbob\t0\ty\t3\n"}};
  for (const auto& [name, content] : files) {
    const auto table = Read(content, With(3, 1), name);
    ASSERT_TRUE(table.ok()) << content << table.status();
    EXPECT_EQ(RowsOf(*table), (Rows{{1.5, 2}, {0, 3}})) << content;
    EXPECT_THAT(table->columns, ElementsAre("a", "b"));
    EXPECT_THAT(table->ids, ElementsAre("ann", "bob"));
    EXPECT_THAT(table->classes, ElementsAre("x", "y"));
  }
  const auto broken = Read("a,kind\n1,\"x\n1\"\n2,y\n", With(2));
  ASSERT_TRUE(broken.ok()) << broken.status();
  EXPECT_THAT(broken->classes, ElementsAre("x\n1", "y"));
  const auto sparse = Read(
      "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 7\n2 1 8\n"
      "2 3 -1.5\n",
      With(1), "t.mtx");
  ASSERT_TRUE(sparse.ok()) << sparse.status();
  EXPECT_EQ(RowsOf(*sparse), (Rows{{0, 0}, {0, -1.5}}));
  EXPECT_THAT(sparse->classes, ElementsAre("7", "8"));
  const absl::Status outside =
      Read("%%MatrixMarket matrix array real general\n1 2\n1\n2\n", With(3),
           "t.mtx")
          .status();
  EXPECT_EQ(ReasonCode(outside), "class-column-out-of-range");
  EXPECT_THAT(std::string(outside.message()), HasSubstr("not in 1 to 2"));
}

TEST(Table, LinesOfColumnsMayBeginWithANameWithoutAHeader) {
  const auto table = Read("kind,x,y\nage,1,2\nsize,4,5\n",
                          UsersInColumns(With(/*class_column=*/1)));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1, 4}, {2, 5}}));
  EXPECT_THAT(table->columns, ElementsAre("age", "size"));
  EXPECT_THAT(table->classes, ElementsAre("x", "y"));
}

TEST(Table, UsersInColumnsIsTheTranspose) {
  const auto table = Read("1 2 3\n4 5 6\n", UsersInColumns());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(RowsOf(*table), (Rows{{1, 4}, {2, 5}, {3, 6}}));
}

TEST(Table, MoreThanABlockOfLines) {
  std::string content;
  for (int i = 0; i < 600'000; ++i) absl::StrAppend(&content, i, ",", -i, "\n");
  const auto table = Read(content);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->people(), 600'000);
  for (int i = 0; i < 600'000; ++i) {
    ASSERT_EQ(table->values(i, 0), i);
    ASSERT_EQ(table->values(i, 1), -i);
  }
}

TEST(Table, OfNpyInBothOrdersAndBothOrientations) {
  const std::vector<double> c = {1, 2, 3, 4, 5, -6};
  const std::vector<double> f = {1, 4, 2, 5, 3, -6};
  for (const auto& content : {NpyOf<double>("<f8", false, {2, 3}, c),
                              NpyOf<double>("<f8", true, {2, 3}, f)}) {
    auto table = Read(content, With(1), "t.npy");
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(RowsOf(*table), (Rows{{2, 3}, {5, -6}}));
    EXPECT_THAT(table->classes, ElementsAre("1", "4"));
    table = Read(content, UsersInColumns(With(std::nullopt, 2)), "t.npy");
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(RowsOf(*table), (Rows{{1}, {2}, {3}}));
    EXPECT_THAT(table->ids, ElementsAre("4", "5", "-6"));
  }
}

TEST(Table, CsvReadsBackTheSame) {
  Table table;
  table.values.resize(2, 2);
  table.values << 0.1, -1e-300, 1.0 / 3, 12345678901234;
  table.columns = {"a,b", " quote\" "};
  table.ids = {"x", "7"};
  table.classes = {"yes", "no"};
  const std::string csv = TableCsv(table);
  EXPECT_EQ(csv,
            "id,\"a,b\",\" quote\"\" \",class\n"
            "x,0.1,-1e-300,yes\n"
            "7,0.3333333333333333,12345678901234,no\n");
  const auto again = Read(csv, With(4, 1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->values, table.values);
  EXPECT_EQ(again->columns, table.columns);
  EXPECT_EQ(again->ids, table.ids);
  EXPECT_EQ(again->classes, table.classes);
}

TEST(Table, WithoutNamesHasNoHeader) {
  Table table;
  table.values.resize(1, 2);
  table.values << 1, 2;
  EXPECT_EQ(TableCsv(table), "1,2\n");
}

struct Refused {
  std::string content;
  TableOptions options;
  std::string code;
  std::string sentence;  // a part of it
};

TEST(Table, IsRefusedWithASentence) {
  TableOptions whole;
  whole.refuse_negative = true;
  const std::vector<Refused> cases = {
      {"", {}, "input-empty", "file is empty"},
      {"a,b\n", {}, "input-empty", "no row of numbers"},
      {"1,2\n3\n", {}, "input-ragged", "line 2, column 2"},
      {"1,2\n\n3,4\n", {}, "input-ragged", "line 2"},
      {"1,2\n3,?\n", {}, "input-not-a-number", "line 2, column 2: '?'"},
      {"1,2\n3,\n", {}, "input-not-a-number", "field is empty"},
      {"1,nan\n", {}, "input-not-finite", "NaN"},
      {"1,-inf\n", {}, "input-not-finite", "infinite"},
      {"1,-1e300\n", {}, "input-not-finite", "3.4e38"},
      {"1,-2\n", whole, "input-negative", "column 2: the entry -2"},
      {"1,b\n3,4\n", {}, "input-ambiguous", "--header"},
      {"1,500;2\n", {}, "input-ambiguous", "could be a decimal mark"},
      {"who,a\nann,1\n",
       {},
       "input-not-a-number",
       "such as 'ann', and no numbers; remove the column, or declare it with "
       "--class-column or --id-column"},
      {"a,b\nkg,cm\n1,2\n",
       {},
       "input-not-a-number",
       "or this line if it has units or more names of columns."},
      {"kind,a\nx,3 kg\n", With(1), "input-not-a-number", "has a unit"},
      {std::string("PK\3\4\0\0", 6), {}, "input-unreadable", "as CSV"},
      {"1,\"2\n", {}, "input-malformed", "quote"},
      {"1,2\n", With(3), "class-column-out-of-range",
       "the line has 2 fields, and --class-column declares 3"},
      {"1,2\n", With(0), "class-column-out-of-range", "declares 0"},
      {"1,2\n", With({}, 3), "id-column-out-of-range",
       "--id-column declares 3; correct --id-column"},
      {"1,2\n", With(2, 2), "id-column-out-of-range", "two different"},
      {"1,2\n", With(2, 1), "input-malformed", "no field besides"},
      {"1,a\n2,a\n", With(2), "classes-one", "class 'a'"},
      {"1,a\n2,\n", With(2), "input-malformed", "empty"},
      {"1,a\n2,a\n", With({}, 2), "table-ids-repeated", "id 'a'"},
      {"1,2\n3,4\n", UsersInColumns(With(3)), "class-column-out-of-range",
       "the file has 2 lines, and --class-column declares 3"},
      {"1,2\nx,y,z\n", UsersInColumns(With(2)), "input-ragged", "3 people"},
      {"1,2\nx,\n", UsersInColumns(With(2)), "input-malformed", "empty"},
  };
  for (const Refused& refused : cases) {
    const auto table = Read(refused.content, refused.options);
    ASSERT_FALSE(table.ok()) << refused.content;
    EXPECT_EQ(ReasonCode(table.status()), refused.code) << table.status();
    EXPECT_THAT(std::string(table.status().message()),
                HasSubstr(refused.sentence));
  }
  EXPECT_EQ(ReasonCode(ReadTable("/nonexistent/t.csv", {}).status()),
            "input-not-found");
}

TEST(Table, OfNpyIsRefusedWithThePlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto table =
      Read(NpyOf<double>("<f8", true, {2, 2}, {1, nan, 3, 4}), {}, "t.npy");
  EXPECT_EQ(ReasonCode(table.status()), "input-not-finite");
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("[1, 0]"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
