// Files as programs and people write them, class by class: read right, or
// refused by the real cause. The values are written by hand.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/tables/load.h"
#include "common/tables/sum_rows.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"
#include "tests/common/tables/zip_bytes.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;
using Columns = std::vector<std::vector<float>>;
using Names = std::vector<std::string>;
using Set = void (*)(LoadOptions*);

void AsItIs(LoadOptions*) {}
void SumRows(LoadOptions* options) { options->sum_rows = true; }
void DecimalComma(LoadOptions* options) { options->decimal = ','; }
void DecimalPoint(LoadOptions* options) { options->decimal = '.'; }
void NoLabels(LoadOptions* options) { options->label_columns = 0; }
void OneLabel(LoadOptions* options) { options->label_columns = 1; }
void IdFirst(LoadOptions* options) { options->id_column = 1; }
void AsCsv(LoadOptions* options) {
  options->format = MatrixFormatOfName("csv").value();
}

// ---- Files that are read: people in rows.

struct Readable {
  const char* name;
  const char* file;
  std::string content;
  Columns people;
  Names features = {};  // of the header
  Names labels = {};
  Set set = AsItIs;
  const char* note = "";
  std::uint64_t comments = 0;
};
void PrintTo(const Readable& file, std::ostream* out) { *out << file.name; }

class EveryReadable : public testing::TestWithParam<Readable> {};

TEST_P(EveryReadable, HasTheseEntriesAndNames) {
  const Readable& file = GetParam();
  const Scratch scratch;
  LoadOptions options;
  file.set(&options);
  Names notes;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const auto matrix =
      LoadMatrix(scratch.Write(file.file, file.content), true, options);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(ColumnsOf(*matrix), file.people);
  EXPECT_EQ(matrix->reading.names, file.features);
  EXPECT_EQ(matrix->reading.labels, file.labels);
  EXPECT_EQ(matrix->reading.comment_lines, file.comments);
  EXPECT_THAT(absl::StrJoin(notes, "\n"), HasSubstr(file.note));
}

std::string NameOfReadable(const testing::TestParamInfo<Readable>& info) {
  return info.param.name;
}

// "ab" -> a, 0, b, 0 with the mark of that order.
std::string Utf16(const std::u16string& text, bool big) {
  std::string bytes = big ? "\xFE\xFF" : "\xFF\xFE";
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xFF);
    const char high = static_cast<char>(unit >> 8);
    bytes += big ? high : low;
    bytes += big ? low : high;
  }
  return bytes;
}

const Columns kTwo = {{1.5, 20}, {0, 3}};

INSTANTIATE_TEST_SUITE_P(
    HeaderOneShort, EveryReadable,
    testing::Values(Readable{"words",
                             "r.csv",
                             "beds,days\nkim,1.5,20\nlee,0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1"}},
                    Readable{"counted",
                             "r.csv",
                             "beds,days\n\"1\",1.5,20\n\"2\",0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1"}},
                    Readable{"counted_tabs",
                             "r.tsv",
                             "beds\tdays\n1\t1.5\t20\n2\t0\t3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1"}},
                    Readable{"declared",
                             "r.csv",
                             "beds,days\n70,1.5,20\n9,0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1"},
                             OneLabel}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    SemicolonsAndCommas, EveryReadable,
    testing::Values(Readable{"guessed",
                             "a.csv",
                             "beds;days\n1,5;20\n0;3\n",
                             kTwo,
                             {"beds", "days"},
                             {},
                             AsItIs,
                             "--decimal comma"},
                    Readable{"no_header_no_end",
                             "a.csv",
                             "1,5;20\n0;3",
                             kTwo,
                             {},
                             {},
                             AsItIs,
                             "--delimiter semicolon"},
                    Readable{"points",
                             "a.csv",
                             "beds;days\n1.5;20\n0;3\n",
                             kTwo,
                             {"beds", "days"},
                             {},
                             AsItIs,
                             "--delimiter semicolon"},
                    Readable{"labelled",
                             "a.csv",
                             "who;beds;days\nkim;1,5;20\nlee;0;3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1 'who'"}},
                    Readable{"one_feature",
                             "a.csv",
                             "who;beds\nkim;1,5\nlee;2,25\n",
                             {{1.5}, {2.25}},
                             {"beds"},
                             {"1 'who'"}},
                    Readable{"tabs", "a.tsv", "1,5\t20\n0\t3\n", kTwo},
                    Readable{"blanks",
                             "a.txt",
                             "1,5 20 7 1 2\n0 3 4,5 1 2\n",
                             {{1.5, 20, 7, 1, 2}, {0, 3, 4.5, 1, 2}}},
                    Readable{"bars",
                             "a.csv",
                             "beds|days\n1.5|20\n0|3\n",
                             kTwo,
                             {"beds", "days"}},
                    Readable{"tabs_named_csv",
                             "a.csv",
                             "beds\tdays\n1.5\t20\n0\t3\n",
                             kTwo,
                             {"beds", "days"}},
                    Readable{"declared_in_quotes",
                             "a.csv",
                             "\"1,5\",20\n0,3\n",
                             kTwo,
                             {},
                             {},
                             DecimalComma},
                    Readable{"three_decimals",
                             "a.csv",
                             "1,500;20\n0;3\n",
                             kTwo,
                             {},
                             {},
                             DecimalComma},
                    Readable{"three_decimals_among_others",
                             "a.csv",
                             "1,125;20\n0,5;3\n",
                             {{1.125, 20}, {0.5, 3}}},
                    Readable{"three_decimals_throughout",
                             "a.csv",
                             "1,500;20\n0,250;3\n",
                             {{1.5, 20}, {0.25, 3}}},
                    Readable{"three_decimals_behind_points",
                             "a.csv",
                             "1.500;20\n0.250;3\n",
                             {{1.5, 20}, {0.25, 3}}},
                    Readable{"three_decimals_beside_two",
                             "a.csv",
                             "1.500;20.25\n0.250;3.75\n",
                             {{1.5, 20.25}, {0.25, 3.75}}},
                    Readable{"points_declared",
                             "a.csv",
                             "1.500;20\n2.250;3\n",
                             {{1.5, 20}, {2.25, 3}},
                             {},
                             {},
                             DecimalPoint},
                    Readable{"points_between_tabs",
                             "a.tsv",
                             "1.500\t20\n2.250\t3\n",
                             {{1.5, 20}, {2.25, 3}}},
                    Readable{"comma_in_label",
                             "a.csv",
                             "who;beds;days\nKim, B.;1.5;20\nLee, C.;0;3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1 'who'"}},
                    Readable{"semicolon_in_label",
                             "a.csv",
                             "go,beds,days\nGO:1;GO:2,1.5,20\nGO:3,0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1 'go'"}},
                    Readable{"sep_line", "a.csv", "sep=;\r\n1,5;20\r\n0;3\r\n",
                             kTwo},
                    Readable{"sep_line_upper",
                             "a.csv",
                             "SEP=|\nbeds|days\n1.5|20\n0|3\n",
                             kTwo,
                             {"beds", "days"}},
                    Readable{"sep_line_of_a_comma",
                             "a.txt",
                             "sep=,\nbeds,days\n1.5,20\n"
                             "0,3\n",
                             kTwo,
                             {"beds", "days"}},
                    Readable{"sep_line_tab",
                             "a.csv",
                             "\"sep=\t\"\nbeds\tdays\n1.5\t20\n"
                             "0\t3\n",
                             kTwo,
                             {"beds", "days"}}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    WordsInHeaders, EveryReadable,
    testing::Values(
        Readable{
            "nan", "a.csv", "Nan,bread\n1.5,20\n0,3\n", kTwo, {"Nan", "bread"}},
        Readable{"infinity",
                 "a.csv",
                 "loop,Infinity\n1.5,20\n0,3\n",
                 kTwo,
                 {"loop", "Infinity"}},
        Readable{"sodium", "a.csv", "NA,K\n1.5,20\n0,3\n", kTwo, {"NA", "K"}},
        Readable{"labelled",
                 "a.csv",
                 "who,inf,no\nkim,1.5,20\nnan,0,3\n",
                 kTwo,
                 {"inf", "no"},
                 {"1 'who'"}}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    Encodings, EveryReadable,
    testing::Values(
        Readable{"little",
                 "a.csv",
                 Utf16(u"bäds,días\n1.5,20\n0,3\n", false),
                 kTwo,
                 {"bäds", "días"}},
        Readable{"big",
                 "a.csv",
                 Utf16(u"床,😀\r\n1.5,20\r\n0,3", true),
                 kTwo,
                 {"床", "😀"}},
        Readable{"tabs",
                 "a.tsv",
                 Utf16(u"beds\tdays\r\n1.5\t20\r\n0\t3\r\n", false),
                 kTwo,
                 {"beds", "days"}},
        Readable{"carriage_returns",
                 "a.csv",
                 "beds,days\r1.5,20\r0,3\r",
                 kTwo,
                 {"beds", "days"}},
        Readable{"carriage_returns_no_end", "a.tsv", "1.5\t20\r0\t3", kTwo},
        Readable{"carriage_returns_quoted_break",
                 "a.csv",
                 "who,\"beds\n(a)\",days\rkim,1.5,20\rlee,0,3\r",
                 kTwo,
                 {"beds (a)", "days"},
                 {"1 'who'"}},
        Readable{"windows_quoted_break",
                 "a.csv",
                 "who,\"beds\r(a)\",days\r\nkim,1.5,20\r\nlee,0,3\r\n",
                 kTwo,
                 {"beds\r(a)", "days"},
                 {"1 'who'"}}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    Comments, EveryReadable,
    testing::Values(Readable{"savetxt",
                             "a.txt",
                             "# beds days x y z\n1.5 20 1 1 1\n"
                             "0 3 1 1 1\n",
                             {{1.5, 20, 1, 1, 1}, {0, 3, 1, 1, 1}},
                             {"beds", "days", "x", "y", "z"}},
                    Readable{"block",
                             "a.csv",
                             "# made by hand\n#\n# 2024\nbeds,days\n"
                             "1.5,20\n0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {},
                             AsItIs,
                             "",
                             3},
                    Readable{"block_above_numbers",
                             "a.csv",
                             "# of 2024, by hand, twice\n"
                             "1.5,20\n0,3\n",
                             kTwo,
                             {},
                             {},
                             AsItIs,
                             "",
                             1},
                    Readable{"attached",
                             "a.tsv",
                             "#OTU ID\tbeds\tdays\nkim\t1.5\t20\n"
                             "lee\t0\t3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1 'OTU ID'"}},
                    Readable{"footer",
                             "a.csv",
                             "beds,days\n1.5,20\n0,3\n# end\n",
                             kTwo,
                             {"beds", "days"},
                             {},
                             AsItIs,
                             "",
                             1},
                    Readable{"hashtags_are_people",
                             "a.csv",
                             "tag,beds,days\n#sun,1.5,20\n#moon,0,3\n",
                             kTwo,
                             {"beds", "days"},
                             {"1 'tag'"}}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    LineBreaksInQuotes, EveryReadable,
    testing::Values(
        Readable{
            "label",
            "a.csv",
            "who,beds,days\n\"Kim\nB.\",1.5,20\n\"Lee\n\n\"\"C\"\"\",0,3\n",
            kTwo,
            {"beds", "days"},
            {"1 'who'"}},
        Readable{"header",
                 "a.csv",
                 "\"beds\nused\",\"days\"\n1.5,20\n0,3\n",
                 kTwo,
                 {"beds used", "days"}},
        Readable{"windows",
                 "a.csv",
                 "who,beds,days\r\n\"Kim\r\nB.\",1.5,20\r\nLee,0,3\r\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'who'"}}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    RowsOfPeople, EveryReadable,
    testing::Values(
        Readable{"added_up",
                 "a.csv",
                 "donor,beds,days\nb,1,2\na,4,5\nb,0.5,18\n",
                 {{1.5, 20}, {4, 5}},
                 {"beds", "days"},
                 {"1 'donor'"},
                 SumRows},
        Readable{"added_up_by_numbers",
                 "a.csv",
                 "donor_id,beds,days\n7,1,2\n9,4,5\n7,0.5,18\n",
                 {{1.5, 20}, {4, 5}},
                 {"beds", "days"},
                 {"1 'donor_id'"},
                 SumRows},
        Readable{"label_with_a_hash",
                 "a.csv",
                 "name;beds;days\nx;1,5;20\n#y;0;3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'name'"},
                 AsItIs,
                 "Commas are read as decimal marks"},
        Readable{"added_up_by_a_declared_id",
                 "a.csv",
                 "ward,beds,days\n7,1,2\n7,0.5,18\n9,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'ward'"},
                 [](LoadOptions* options) {
                   options->sum_rows = true;
                   options->id_column = 1;
                 }},
        Readable{"distinct",
                 "a.csv",
                 "donor,beds,days\na,1.5,20\nb,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'donor'"}},
        Readable{"no_people",
                 "a.csv",
                 "ward,beds,days\neast,1.5,20\neast,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'ward'"},
                 AsItIs,
                 "Column 1 'ward' of labels has 1 different values in 2 rows"},
        Readable{"a_name_and_a_sex",
                 "a.csv",
                 "kim,f,1.5,20\nlee,f,0,3\n",
                 kTwo,
                 {},
                 {"1", "2"},
                 [](LoadOptions* options) { options->header = false; }},
        Readable{"one_feature_declared",
                 "a.csv",
                 "ward,unit,beds\neast,a,1.5\nwest,b,0\n",
                 {{1.5}, {0}},
                 {"beds"},
                 {"1 'ward'", "2 'unit'"},
                 AsCsv}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    Labels, EveryReadable,
    testing::Values(
        Readable{"dates",
                 "a.csv",
                 "day,beds,days\n2024-03-09,1.5,20\n2024-03-10,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'day'"}},
        Readable{"ids_of_numbers_and_hyphens",
                 "a.csv",
                 "tube,beds,days\n2024-001,1.5,20\n24-7,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'tube'"}},
        Readable{"names_that_begin_with_digits",
                 "a.csv",
                 "probe,beds,days\n1007_s_at,1.5,20\n16S,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'probe'"}},
        Readable{"ages_declared",
                 "a.csv",
                 "age,beds,days\n18-24,1.5,20\n85+,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'age'"},
                 OneLabel},
        Readable{"total_declared",
                 "a.csv",
                 "who,beds,days\nkim,1.5,20\nTotal,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'who'"},
                 OneLabel,
                 "The line called 'Total' counts as a person; if it adds up "
                 "others, remove it"},
        Readable{"total_of_ids",
                 "a.csv",
                 "who,beds,days\nkim,1.5,20\nGesamtergebnis,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'who'"},
                 IdFirst,
                 "The line called 'Gesamtergebnis' counts"},
        Readable{"total_beside_columns",
                 "a.csv",
                 "no,who,beds,days\n1,kim,1.5,20\n2,All,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {},
                 [](LoadOptions* options) { options->columns = "beds,days"; },
                 "The line called 'All' counts"},
        Readable{"ids_that_differ_in_capitals_added_up",
                 "a.csv",
                 "donor,beds,days\naB1,1,2\nAb1,0,3\naB1,0.5,18\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'donor'"},
                 [](LoadOptions* options) {
                   options->sum_rows = true;
                   options->id_column = 1;
                 },
                 "and count as two people"},
        Readable{"spellings_declared",
                 "a.csv",
                 "donor,beds,days\nd7,1.5,20\nD7 ,0,3\n",
                 kTwo,
                 {"beds", "days"},
                 {"1 'donor'"},
                 IdFirst,
                 "The ids 'd7' and 'D7' differ only in capitals, blanks or "
                 "zeros, and count as two people"}),
    NameOfReadable);

INSTANTIATE_TEST_SUITE_P(
    Headers, EveryReadable,
    testing::Values(
        Readable{"years_in_quotes",
                 "a.csv",
                 "\"1999\",\"2004\"\n1.5,20\n0,3\n",
                 kTwo,
                 {"1999", "2004"}},
        Readable{"years_by_R",
                 "a.csv",
                 "\"\",\"1999\",\"2004\"\n\"1\",1.5,20\n\"2\",0,3\n",
                 kTwo,
                 {"1999", "2004"},
                 {"1"}},
        Readable{"years_above_names_of_rows",
                 "a.csv",
                 "\"1999\",\"2004\"\n\"kim\",1.5,20\n\"lee\",0,3\n",
                 kTwo,
                 {"1999", "2004"},
                 {"1"}},
        Readable{"years_by_R_before_a_class",
                 "a.csv",
                 "\"1999\",\"2004\",\"kind\"\n1.5,20,\"x\"\n0,3,\"x\"\n",
                 kTwo,
                 {"1999", "2004"},
                 {},
                 [](LoadOptions* options) {
                   options->class_column = 3;
                   options->classes = {"x"};
                 }},
        Readable{"classes_with_blanks_and_numbers",
                 "a.csv",
                 "beds,days,kind\n1.5,20,grade 1\n0,3,grade 1\n",
                 kTwo,
                 {"beds", "days"},
                 {},
                 [](LoadOptions* options) {
                   options->class_column = 3;
                   options->classes = {"grade 1"};
                 }},
        Readable{"row_in_quotes", "a.csv", "\"1.5\",\"20\"\n\"0\",\"3\"\n",
                 kTwo},
        Readable{"row_partly_in_quotes", "a.csv", "\"1.5\",20\n\"0\",3\n",
                 kTwo},
        Readable{"ages",
                 "a.csv",
                 "0-9,10-19\n1.5,20\n0,3\n",
                 kTwo,
                 {"0-9", "10-19"}},
        Readable{"a_name_twice",
                 "a.csv",
                 "beds,beds\n1.5,20\n0,3\n",
                 kTwo,
                 {"beds", "beds"},
                 {},
                 AsItIs,
                 "Two columns are called 'beds', and count as two features"},
        Readable{"a_name_that_pandas_made_different",
                 "a.csv",
                 "beds,beds.1\n1.5,20\n0,3\n",
                 kTwo,
                 {"beds", "beds.1"},
                 {},
                 AsItIs,
                 "The columns 'beds' and 'beds.1' may be one, whose name a "
                 "program made different, and count as two features"},
        Readable{"a_total",
                 "a.csv",
                 "beds,Total\n1.5,20\n0,3\n",
                 kTwo,
                 {"beds", "Total"},
                 {},
                 AsItIs,
                 "The column 'Total' is read as a feature"}),
    NameOfReadable);

// ---- People in columns

TEST(PeopleInColumns, AreOneColumnEachUnlessTheyAreAddedUp) {
  const Scratch scratch;
  const auto read = [&](const char* text, LoadOptions options = {}) {
    return LoadMatrix(scratch.Write("a.csv", text), false, options);
  };
  const std::string twice = "gene,d1,d2,d1\nA,1,2,30\nB,4,5,60\n";
  const absl::Status refused = read(twice.c_str()).status();
  EXPECT_EQ(ReasonCode(refused), "input-duplicate");
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the id 'd1' is in two columns; give every person one "
                        "column, --person-rows sum"));
  LoadOptions sum;
  sum.sum_rows = true;
  const auto added = read(twice.c_str(), sum);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(ColumnsOf(*added), (Columns{{31, 64}, {2, 5}}));
  EXPECT_EQ(added->ids, (Names{"d1", "d2"}));

  const std::pair<const char*, const char*> others[] = {
      {"gene,d1,D1\nA,1,2\nB,4,5\n",
       "the ids 'd1' and 'D1' differ only in capitals"},
      {"gene,7,07\nA,1,2\nB,4,5\n", "give --columns all"},
      {"gene,d1,d2,Total\nA,1,2,3\nB,4,5,9\n", "a column is called 'Total'"}};
  for (const auto& [text, part] : others) {
    LoadOptions options;
    options.header = true;
    EXPECT_THAT(std::string(read(text, options).status().message()),
                HasSubstr(part));
  }
  EXPECT_EQ(ReasonCode(read("1,2\n3,4\n", sum).status()), "id-column-missing");
  for (const char* nobody :
       {"gene,d1,,\nA,1,2,3\n", "gene,d1,NA,NA\nA,1,2,3\n"}) {
    LoadOptions options = sum;
    options.header = true;
    options.label_columns = 1;
    const absl::Status status = read(nobody, options).status();
    EXPECT_EQ(ReasonCode(status), "input-malformed") << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("does not say whose column 3 is"));
  }
  LoadOptions all;
  all.columns = "all";
  all.label_columns = 1;
  const auto two = read("gene,d1,D1\nA,1,2\nB,4,5\n", all);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(ColumnsOf(*two), (Columns{{1, 4}, {2, 5}}));
  LoadOptions chosen;
  chosen.columns = "2,Total";
  EXPECT_EQ(ColumnsOf(read(others[2].first, chosen).value()),
            (Columns{{1, 4}, {3, 9}}));
}

// ---- Files that are refused

struct Refusable {
  const char* name;
  const char* file;
  std::string content;
  const char* code;
  const char* part;  // of the sentence
  Set set = AsItIs;
};
void PrintTo(const Refusable& file, std::ostream* out) { *out << file.name; }

class EveryRefusable : public testing::TestWithParam<Refusable> {};

TEST_P(EveryRefusable, IsNamedByItsCause) {
  const Refusable& file = GetParam();
  const Scratch scratch;
  LoadOptions options;
  file.set(&options);
  std::vector<std::string> told;
  options.refused = [&](const absl::Status& status) {
    told.emplace_back(status.message());
  };
  const absl::Status status =
      LoadMatrix(scratch.Write(file.file, file.content), true, options)
          .status();
  EXPECT_EQ(ReasonCode(status), file.code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file.part));
  EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
  EXPECT_TRUE(told.empty()) << "one cause has one sentence: " << told[0];
}

std::string NameOfRefusable(const testing::TestParamInfo<Refusable>& info) {
  return info.param.name;
}

Refusable InFront(const char* name, const char* field, const char* part) {
  return {name, "a.csv",
          absl::StrCat("pay,beds\n", field, ",2\n", field, ",3\n"),
          "input-not-a-number", part};
}

INSTANTIATE_TEST_SUITE_P(
    NumbersInFront, EveryRefusable,
    testing::Values(
        InFront("thousands", "\"12,345,678\"", "separators of thousands"),
        InFront("comma", "\"7,250\"", "written with a comma"),
        InFront("labels_flag", "\"7,250\"",
                "or give --label-columns 1 if column 1 has labels"),
        InFront("german", "\"7.250,5\"", "decimal comma"),
        InFront("decimal", "\"3,25\"", "or give --decimal comma"),
        InFront("percent", "30 %", "'30 %' is a percentage"),
        InFront("dollar", "$30", "'$30' has a sign of currency"),
        InFront("euro", "30 \xE2\x82\xAC", "sign of currency"),
        InFront("code", "USD 30", "sign of currency"),
        InFront("blank", "7 250", "has a blank inside"),
        InFront("no_break",
                "7\xC2\xA0"
                "250",
                "a no-break space"),
        InFront("narrow",
                "7\xE2\x80\xAF"
                "250",
                "a no-break space"),
        InFront("swiss", "7'250", "separators of thousands"),
        InFront("bound", "<0.05", "is a bound and not a value"),
        InFront("brackets", "(30)", "quotes or brackets"),
        InFront("excel_text", "'30", "quotes or brackets"),
        InFront("truth", "FALSE", "'FALSE' is a truth value; write 1 or 0"),
        InFront("yes", "yes", "truth value; write 1 or 0, or give --label"),
        InFront("missing", "n/a", "'n/a' stands for a missing value; write 0"),
        InFront("null", "NULL", "missing value"),
        InFront("point", ".", "missing value"),
        InFront("dash", "-", "missing value"),
        InFront("question", "?", "missing value"),
        InFront("excel_error", "#DIV/0!", "missing value"),
        InFront("unit", "70 kg", "'70 kg' has a unit"),
        InFront("unit_glued", "250mg",
                "write one number alone, or give --label-columns 1"),
        InFront("unit_of_two", "4 mg/dl", "has a unit"),
        InFront("duration", "2 h 30 min", "has a unit"),
        InFront("duration_of_pandas", "1 days 02:30:00", "has a unit"),
        InFront("crowns", "300 kr", "has a unit"),
        InFront("range", "18-24", "or is a range"),
        InFront("range_with_a_dash", "18 \xE2\x80\x93 24", "or is a range"),
        InFront("open_range", "85+", "or is a range"),
        InFront("ratio", "3/8", "a ratio"),
        InFront("pressure", "120/80", "a ratio"),
        InFront("time", "7:45", "a time"),
        InFront("time_with_seconds", "7:45:30.5", "a time"),
        InFront("error",
                "7\xC2\xB1"
                "2",
                "two numbers"),
        InFront("count_and_share", "7 (30 %)", "two numbers"),
        InFront("footnote", "7*", "has a unit"),
        InFront("interval", "\"[0, 10)\"", "or is a range"),
        InFront("interval_of_pandas", "\"(0.5, 10.0]\"", "or is a range"),
        InFront("half", "2\xC2\xBD", "has a unit"),
        InFront("complex", "7-2i", "has a unit"),
        InFront("arabic_digits", "\xD9\xA7\xD9\xA2", "another notation"),
        InFront("full_width", "\xEF\xBC\x97", "another notation"),
        InFront("hexadecimal", "0x2A", "another notation"),
        Refusable{"later_row", "a.csv", "who,beds\nkim,2\n\"1,5\",3\n",
                  "input-ambiguous", "in a column of labels"},
        Refusable{"later_measure", "a.csv", "who,beds\nkim,2\n5-9,3\n",
                  "input-not-a-number", "'5-9' is in a column of labels"},
        Refusable{"in_a_first_line", "a.csv", "$30,2\n$31,3\n",
                  "input-not-a-number", "currency"},
        Refusable{"a_first_line_of_codes", "a.csv", "NA,NA\n2,3\n",
                  "input-ambiguous", "--header"}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    Elsewhere, EveryRefusable,
    testing::Values(
        Refusable{"missing", "a.csv", "beds,days\n1,NaN\n2,nan\n",
                  "input-not-finite", "line 2, column 2"},
        Refusable{"none", "a.csv", "beds,days\n1,None\n2,None\n",
                  "input-not-a-number", "'None' stands for a missing value"},
        Refusable{"unknown_to_r", "a.tsv", "beds\tdays\n1\tNA\n2\tNA\n",
                  "input-not-a-number", "first of 2"},
        Refusable{"backslash_n", "a.csv", "beds,days\n1,\\N\n",
                  "input-not-a-number", "missing value"},
        Refusable{"lines_of_separators", "a.csv", "beds,days\n1,2\n,\n,\n",
                  "input-not-a-number",
                  "line 3, column 1: the line has separators alone"},
        Refusable{"empty_in_front", "a.csv", "beds,days\n1,2\n,3\n4,\n",
                  "input-not-a-number", "the field is empty; write 0"},
        Refusable{"percent", "a.csv", "beds,days\n1,12%\n",
                  "input-not-a-number", "percentage"},
        Refusable{"thousands", "a.csv", "beds,days\n1,\"2,000\"\n",
                  "input-not-a-number", "written with a comma"},
        Refusable{"text_column", "a.csv",
                  "beds,sex,days,age\n1,f,2,8\n2,m,3,7\n3,f,4,6\n",
                  "input-not-a-number",
                  "column 2 'sex' has words, such as 'f', and no numbers; name "
                  "the columns of numbers with --columns, or give "
                  "--class-column 2"},
        Refusable{"dates", "a.csv", "beds,from\n1,2024-03-09\n2,2024-03-10\n",
                  "input-not-a-number",
                  "column 2 'from' has dates, such as '2024-03-09', and a date "
                  "is no count; name the columns of numbers with --columns"},
        Refusable{"german_dates", "a.csv",
                  "beds;from\n1;09.03.2024\n2;10.03.2024 07:00\n",
                  "input-not-a-number", "has dates"},
        Refusable{"measures_with_decimal_commas", "a.csv",
                  "who;height;n\nkim;1,80 m;2\nlee;1,75 m;1\n",
                  "input-not-a-number",
                  "line 2, column 2: '1,80 m' has a unit"},
        Refusable{"measures_alone", "a.csv",
                  "who;height;weight\nkim;1,80 m;80 kg\nlee;1,75 m;70 kg\n",
                  "input-not-a-number",
                  "line 2, column 2: '1,80 m' has a unit"},
        Refusable{"measures", "a.csv", "beds,dose,n\n1,3 mg,2\n2,5 mg,1\n",
                  "input-not-a-number", "line 2, column 2: '3 mg' has a unit"},
        Refusable{"total", "a.csv", "who,beds\nkim,2\nlee,3\nTotal,5\n",
                  "input-malformed",
                  "line 4, column 1: the line is called 'Total', and a sum"},
        Refusable{"total_in_capitals_with_accents", "a.csv",
                  "who;beds\nkim;2\nlee;3\nTOTAL G\xC3\x89N\xC3\x89RAL;5\n",
                  "input-malformed", "a sum of people is no person"},
        Refusable{"one_date", "a.csv", "beds,days\n1,2\n3,2024-03-09\n",
                  "input-not-a-number", "line 3, column 2: '2024-03-09' "},
        Refusable{"summe", "a.csv", "who;beds\nkim;2\nlee;3\nSUMME:;5\n",
                  "input-malformed", "a sum of people is no person"},
        Refusable{"header_again", "a.csv",
                  "who,beds,days\nkim,2,3\nwho,beds,days\nlee,4,5\n"
                  "who,beds,days\n",
                  "input-malformed",
                  "line 3, column 1: the line is the header again; remove it"},
        Refusable{"remark", "a.csv", "who,beds,days\nkim,2,3\n(provisional)\n",
                  "input-ragged", "remove the line if it is a remark"},
        Refusable{"triples", "a.csv", "patient,code,n\n17,x9,3\n18,x7,1\n",
                  "input-ambiguous", "--format-in triples"},
        Refusable{"two_words_and_a_number", "a.csv",
                  "who,what,n\nkim,tea,2\nlee,rye,1\n", "input-ambiguous",
                  "--format-in triples"}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    FirstLines, EveryRefusable,
    testing::Values(
        Refusable{"row_with_a_code", "a.csv", "1,NA,3\n4,5,6\n",
                  "input-not-a-number", "line 1, column 2: 'NA' stands for"},
        Refusable{"row_with_nan", "a.csv", "1,nan\n4,5\n", "input-not-finite",
                  "line 1, column 2"},
        Refusable{"three_columns_and_a_text", "a.csv",
                  "beds,sex,days\n1,f,2\n2,m,3\n", "input-ambiguous",
                  "column 2 'sex' has a word, with one number behind it"},
        Refusable{"units", "a.csv", "who,beds,days\n,no.,h\nkim,2,3\n",
                  "input-not-a-number",
                  "line 2, column 1: the line has no number after its labels "
                  "(first field ''); remove the line above it if that is a "
                  "title, or this line if it has units or more names"},
        Refusable{"header_of_two_lines", "a.csv",
                  "who,visits,,stays\n,in,out,in\nkim,1,2,3\n",
                  "input-not-a-number", "or more names of columns"},
        Refusable{"numbers_all_in_quotes", "a.csv",
                  "\"\",\"0\",\"1\"\n\"0\",\"4\",\"5\"\n", "input-ambiguous",
                  "--header"},
        Refusable{"quotes_where_a_comma_stands", "a.csv",
                  "ann,\"1,234\"\nbob,999\n", "input-ambiguous", "--header"},
        Refusable{"decimals_in_quotes", "a.csv", "ann,\"1.5\"\nbob,999\n",
                  "input-ambiguous", "--header"},
        Refusable{"numbers_in_quotes_for_their_commas", "a.csv", "\"1,5\"\n3\n",
                  "input-not-a-number",
                  "line 1, column 1: '1,5' has a decimal comma"},
        Refusable{"pandas", "a.csv", ",0,1\n0,4,5\n1,6,7\n", "input-ambiguous",
                  "--header"}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    HeaderOneShort, EveryRefusable,
    testing::Values(
        Refusable{"number", "a.csv", "beds,days\n70,1,2\n71,3,4\n",
                  "input-ambiguous", "one field fewer than the lines: R"},
        Refusable{"one_name_above_decimal_commas", "a.csv", "beds\n1,5\n2,7\n",
                  "input-ambiguous", "'1' could be an entry"},
        Refusable{"from_zero", "a.csv", "beds,days\n0,1,2\n1,3,4\n",
                  "input-ambiguous", "--label-columns 1"},
        Refusable{"counts_not_on", "a.csv", "beds,days\n1,1,2\n2,3,4\n4,5,6\n",
                  "input-ambiguous", "line 4"},
        Refusable{"no_labels", "a.csv", "beds,days\n1,1,2\n2,3,4\n",
                  "input-ragged", "write a name for each", NoLabels},
        Refusable{"columns_do_not_help", "a.csv", "beds,days\n70,1,2\n71,3,4\n",
                  "input-ambiguous", "one field fewer",
                  [](LoadOptions* options) { options->columns = "beds"; }},
        Refusable{"rows_end_so", "a.csv", "beds,days\n1,2,\n3,4,\n",
                  "input-ragged", "with a separator"},
        Refusable{"all_end_so", "a.csv", "beds;days;\n1;2;\n3;4;\n",
                  "input-ragged", "header and line end with a separator"},
        Refusable{"header_ends_so", "a.csv", "beds,days,\n1,2\n3,4\n",
                  "input-ragged", "the header ends"},
        Refusable{"no_header", "a.csv", "1,2,\n3,4,\n", "input-ragged",
                  "the line ends with a separator"},
        Refusable{"title", "a.csv", "Beds of 2024\nbeds,days\n1,2\n3,4\n",
                  "input-not-a-number",
                  "remove the line above it if that is a title"},
        Refusable{"title_above_three", "a.csv",
                  "Beds of 2024\na,b,c\n1,2,3\n3,4,5\n", "input-ragged",
                  "remove the header if it is a title"}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    DecimalMarks, EveryRefusable,
    testing::Values(
        Refusable{"either", "a.csv", "beds;days\n1,500;2\n3,250;4\n",
                  "input-ambiguous", "could be a decimal mark or separate"},
        Refusable{"either_beside_two_decimals", "a.csv",
                  "beds;days\n7,25;2\n48,600;3\n", "input-ambiguous",
                  "line 3: the comma of '48,600' could be a decimal mark or "
                  "separate thousands; give --decimal comma"},
        Refusable{"points_of_thousands", "a.csv",
                  "beds;days\n4.000;2\n17.250;3\n", "input-ambiguous",
                  "line 2: the point of '4.000' could be a decimal mark or "
                  "separate thousands; give --decimal point"},
        Refusable{"points_of_thousands_beside_two_decimals", "a.csv",
                  "beds;days\n7.25;2\n48.600;3\n", "input-ambiguous",
                  "line 3: the point of '48.600'"},
        Refusable{"blanks_of_thousands", "a.txt", "4 250,5 17\n11 600,25 903\n",
                  "input-ambiguous", "give --delimiter blank"},
        Refusable{"mixed", "a.csv", "beds;days\n1,5;2.5\n3;4\n",
                  "input-not-a-number", "other entries have a decimal point"},
        Refusable{"mixed_far", "a.csv", "beds;days\n1;2.5\n3;4\n1,5;2\n",
                  "input-not-a-number", "line 4"},
        Refusable{"both", "a.csv", "beds;days\n1.234,5;2\n3;4\n",
                  "input-not-a-number", "separators of thousands"},
        Refusable{"both_declared", "a.csv", "beds;days\n1.234,5;2\n3;4\n",
                  "input-not-a-number", "separators of thousands",
                  DecimalComma},
        Refusable{"point_declared", "a.csv", "beds;days\n1,5;2\n",
                  "input-not-a-number", "decimal comma", DecimalPoint},
        Refusable{"comma_declared", "a.csv", "beds;days\n1.5;2\n",
                  "input-not-a-number", "--decimal comma declares",
                  DecimalComma}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    RowsOfPeople, EveryRefusable,
    testing::Values(
        Refusable{
            "donor", "a.csv", "donor,beds,days\na,1,2\nb,4,5\na,0,8\n",
            "input-duplicate",
            "column 1 'donor' has 2 different values in 3 rows (capitals, "
            "blanks and zeros apart): if they are people, give "
            "--id-column 1 --person-rows sum"},
        Refusable{"another_spelling", "a.csv",
                  "donor,beds,days\nd7,1,2\ne,4,5\nD7,0,8\n", "input-duplicate",
                  "has 2 different values in 3 rows"},
        Refusable{"a_blank_that_nobody_sees", "a.csv",
                  "donor,beds,days\nd7,1,2\ne,4,5\nd7\xE2\x80\x8B,0,8\n",
                  "input-duplicate", "has 2 different values in 3 rows"},
        Refusable{"sum_of_two_spellings", "a.csv",
                  "donor,beds,days\nd07,1,2\ne,4,5\nD07,0,8\n",
                  "input-duplicate",
                  "the ids 'd07' and 'D07' differ only in capitals, blanks or "
                  "zeros; write the id of a person in one way, or, if they are "
                  "two people, give --id-column 1",
                  SumRows},
        Refusable{"mrn", "a.csv", "MRN,beds,days\n7,1,2\n7,4,5\n",
                  "input-duplicate", "1 different values in 2 rows", OneLabel},
        Refusable{"second_label", "a.csv",
                  "visit,Subject ID,beds,days\nv1,s,1,2\nv2,s,4,5\n",
                  "input-duplicate", "column 2 'Subject ID'"},
        Refusable{"no_header", "a.csv", "kim,1,2\nkim,3,4\n", "input-duplicate",
                  "column 1 has 1 different values",
                  [](LoadOptions* options) { options->header = false; }},
        Refusable{"declared_id", "a.csv", "x,beds,days\n5,1,2\n5,3,4\n",
                  "input-duplicate", "--person-rows sum", IdFirst},
        Refusable{"sum_without_id", "a.csv", "ward,beds,days\na,1,2\na,3,4\n",
                  "id-column-missing", "--id-column C", SumRows},
        Refusable{"hash_below_the_first_row", "a.csv",
                  "name,beds,days\nx,1,2\n#y,1,NA\nz,3,4\n",
                  "input-not-a-number", "stands for a missing value"},
        Refusable{"quote_that_nobody_closed", "a.csv",
                  "item,x\nann,1\n\"bob,2\nTV 5\",7\nzed,3\n",
                  "input-malformed", "quote"},
        Refusable{"sum_of_one_person", "a.csv",
                  "patient,g,x,y\np1,a,1,2\np1,b,2,3\n", "input-ambiguous",
                  "only one person", SumRows},
        Refusable{"ids_of_nobody", "a.csv",
                  "donor,beds,days\nNA,1,2\nNA,3,4\nb,5,6\n", "input-malformed",
                  "stands for a missing one", SumRows},
        Refusable{"numbers_of_people", "a.csv",
                  "patientid,beds,days\n90211,1,2\n90417,3,4\n90211,5,6\n",
                  "input-ambiguous", "patientid"},
        Refusable{"glued_words", "a.csv",
                  "USUBJID,beds,days\na,1,2\nb,3,4\na,5,6\n", "input-duplicate",
                  "--person-rows sum"},
        Refusable{"sum_of_two_classes", "a.csv",
                  "donor,sex,beds,days\na,f,1,2\na,m,3,4\nb,f,5,6\n",
                  "input-duplicate", "different classes",
                  [](LoadOptions* options) {
                    options->sum_rows = true;
                    options->class_column = 2;
                    options->classes = {"f", "m"};
                  }}),
    NameOfRefusable);

INSTANTIATE_TEST_SUITE_P(
    LineBreaksInQuotes, EveryRefusable,
    testing::Values(Refusable{"line_is_right", "a.csv",
                              "who,beds,days\n\"Kim\nB.\",1,2\nlee,x,3\n",
                              "input-not-a-number", "line 4, column 2"},
                    Refusable{"line_of_the_row", "a.csv",
                              "who,beds,days\n\"Kim\n\nB.\",1,-2\n",
                              "input-negative", "line 2, column 3"},
                    Refusable{"never_closed", "a.csv",
                              "who,beds,days\nkim,1,2\n\"lee,3,4\n",
                              "input-malformed",
                              "line 3, column 1: a quoted field"}),
    NameOfRefusable);

std::string Kind(std::string_view begin) {
  return std::string(begin) + std::string(600, '\1');
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryRefusable,
    testing::Values(
        Refusable{"xlsx", "a.csv", ZipOf({{"xl/workbook.xml", "<x/>"}}),
                  "input-unreadable", "Excel workbook"},
        Refusable{"ods", "a.ods", ZipOf({{"mimetype", "application/x"}}),
                  "input-unreadable", "OpenDocument"},
        Refusable{"zip", "a.tsv", ZipOf({{"t.tsv", "1\t2\n"}}),
                  "input-unreadable", "a ZIP archive with 't.tsv'; unpack it"},
        Refusable{"bz2", "a.bz2", Kind("BZh91AY&SY"), "input-unreadable",
                  "bzip2"},
        Refusable{"xz", "a.csv.xz",
                  Kind(std::string_view("\xFD"
                                        "7zXZ\0",
                                        6)),
                  "input-unreadable", "unxz"},
        Refusable{"zst", "a.csv.zst", Kind("\x28\xB5\x2F\xFD"),
                  "input-unreadable", "unzstd"},
        Refusable{"h5ad", "a.h5ad", Kind("\x89HDF\r\n\x1A\n"),
                  "input-unreadable", "dpnmf.prepare.h5ad"},
        Refusable{"parquet", "a.parquet", Kind("PAR1\x15"), "input-unreadable",
                  "Parquet"},
        Refusable{"json", "a.csv", " [{\"beds\": 1}]", "input-unreadable",
                  "JSON"},
        Refusable{"json_of_columns", "a.json", "{\n \"beds\": [1]}",
                  "input-unreadable", "JSON"},
        Refusable{"lfs", "a.csv",
                  "version https://git-lfs.github.com/spec/v1\n",
                  "input-unreadable", "git lfs pull"},
        Refusable{"html", "a.csv", "\n<!DOCTYPE html><p>Sign in</p>",
                  "input-unreadable", "HTML page"},
        Refusable{"sqlite", "a.db",
                  Kind(std::string_view("SQLite format 3\0", 16)),
                  "input-unreadable", "SQLite"},
        Refusable{"pdf", "a.pdf", "%PDF-1.7\n", "input-unreadable", "PDF"},
        Refusable{"pickle", "a.pkl", Kind("\x80\x04\x95"), "input-unreadable",
                  "pickle"},
        Refusable{"rds", "a.rds", Kind(std::string_view("X\n\0\0\0\2", 6)),
                  "input-unreadable", ".rds file of R"},
        Refusable{"xls", "a.xls", Kind("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"),
                  "input-unreadable", "save the sheet as CSV"},
        Refusable{"utf16_without_mark", "a.csv",
                  std::string("1\0,\0"
                              "2\0\n\0",
                              8),
                  "input-unreadable", "UTF-16 without a byte order mark"},
        Refusable{"utf16_half_a_character", "a.csv",
                  Utf16(u"1,2\n", false) + "3", "input-unreadable", "damaged"},
        Refusable{"utf16_half_a_pair", "a.csv",
                  Utf16(std::u16string(u"a") + char16_t{0xDC00}, true),
                  "input-unreadable", "damaged"}),
    NameOfRefusable);

// A table in gzip, and text that begins like a kind.
TEST(ForeignFile, LeavesTextAlone) {
  const Scratch scratch;
  for (const char* text :
       {"PAR1,beds\n1,2\n", "BZh,beds\n1,2\n", "X,beds\n1,2\n",
        "RDX,RDA\n1,2\n", "[a],{b}\n1,2\n", "<5,>5\n1,2\n"}) {
    LoadOptions options;
    options.header = true;
    EXPECT_TRUE(LoadMatrix(scratch.Write("a.csv", text), true, options).ok())
        << text;
  }
  const absl::Status status =
      LoadMatrix(scratch.WriteGzip("a.csv.gz", "{\"a\": 1}"), true).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("JSON"));
}

TEST(Ids, AreTheSameInAnotherSpelling) {
  for (const char* id : {"p07", " P07", "p07\t", "\xE2\x80\x8BP07\xC2\xA0"})
    EXPECT_TRUE(FindSameId({id, "p07x", "P07"}, false).has_value() ||
                FindSameId({id, "P07"}, true).has_value())
        << id;
  const auto seven = FindSameId({"7.0", "x", "007"}, false);
  ASSERT_TRUE(seven.has_value());
  EXPECT_EQ(seven->second, "007");
  EXPECT_FALSE(FindSameId({"p7", "p07"}, false).has_value());
  EXPECT_FALSE(FindSameId({"a", "", "b", ""}, true).has_value());
  EXPECT_FALSE(FindSameId({"a", "b", "A"}, true).has_value());
  EXPECT_FALSE(FindSameId({"a", "b", "a"}, false).has_value());
  EXPECT_EQ(FindSameId({"a", "b", "a"}, true)->second, "a");
  EXPECT_EQ(FindSameId({"a", "b", "A"}, false)->second, "A");
}

TEST(Names, ThatAProgramMadeDifferentAreFound) {
  EXPECT_EQ(FindRenamed({"x", "TP53-1", "TP53"})->second, "TP53-1");
  EXPECT_EQ(FindRenamed({"d1", "d1.1"})->first, "d1");
  EXPECT_FALSE(FindRenamed({"NKX2-1", "NKX2-2", "1", "1.1"}).has_value());
  EXPECT_FALSE(FindRenamed({"a", "a.2"}).has_value());
}

// 1 + 2^-24 is half-way between two floats, and 2^-55 is lost behind it, even
// in double precision: eight of them are not if they come first.
TEST(Sums, DoNotDependOnTheOrderOfTheRows) {
  const std::string large = "a,1,100000000\na,5.9604644775390625e-08,1\n";
  std::string small;
  for (int i = 0; i < 8; ++i) small += "a,2.7755575615628914e-17,1\n";
  const Scratch scratch;
  LoadOptions options;
  options.sum_rows = true;
  for (const std::string& rows : {large + small, small + large}) {
    const auto matrix = LoadMatrix(
        scratch.Write("a.csv", "donor,beds,days\n" + rows + "b,1,1\n"), true,
        options);
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_EQ(matrix->values,
              (std::vector<float>{1.00000012f, 100000008.0f, 1, 1}));
    EXPECT_EQ(matrix->ids, (Names{"a", "b"}));
  }
}

// The same people are recognised under a point and a comma.
TEST(LinesOfPeople, HaveTheNumbersWithDecimalCommas) {
  const Scratch scratch;
  LoadOptions options;
  options.id_column = 1;
  const auto commas = LoadMatrix(
      scratch.Write("a.csv", "id;a;b\n17;1,5;3\n18;2,5;4\n"), true, options);
  const auto points = LoadMatrix(
      scratch.Write("b.csv", "id,a,b\n17,1.5,3\n18,2.5,4\n"), true, options);
  ASSERT_TRUE(commas.ok() && points.ok()) << commas.status();
  EXPECT_EQ(commas->lines.values, (std::vector<float>{17, 1.5, 3, 18, 2.5, 4}));
  EXPECT_EQ(commas->lines.values, points->lines.values);
}

TEST(InputFile, AFileOfThreeBytesIsNoArchive) {
  const Scratch scratch;
  EXPECT_TRUE(InputFile::Open(scratch.Write("a.csv", "BZh")).ok());
}

// ---- Notations

TEST(Notation, SaysWhatAFieldLooksLike) {
  const std::pair<const char*, Notation> cases[] = {
      {" 12 ", Notation::kNumber},
      {"1e999", Notation::kNumber},
      {"Inf", Notation::kNotFinite},
      {"", Notation::kEmpty},
      {"\xC2\xA0", Notation::kEmpty},
      {"N/A", Notation::kMissing},
      {"\xE2\x80\x94", Notation::kMissing},
      {"True", Notation::kTruth},
      {"2,5", Notation::kDecimalComma},
      {"-0,125", Notation::kDecimalComma},
      {"1,5E+03", Notation::kDecimalComma},
      {"1.234.567", Notation::kThousands},
      {"9\xE2\x80\x99"
       "000",
       Notation::kThousands},
      {"9,000", Notation::kComma},
      {"9 000", Notation::kBlanks},
      {"5\xE2\x80\xB0", Notation::kPercent},
      {"-\xC2\xA3"
       "5",
       Notation::kWord},
      {"\xC2\xA3"
       "5",
       Notation::kCurrency},
      {"> 5", Notation::kBound},
      {"\xE2\x88\x92"
       "5",
       Notation::kQuoted},
      {"2024-01-05", Notation::kDate},
      {"05.01.2024", Notation::kDate},
      {"1/5/2024 7:30 PM", Notation::kDate},
      {"12:30", Notation::kMeasure},
      {"1:12345", Notation::kWord},
      {"GO:12", Notation::kWord},
      {"5 Main St", Notation::kWord},
      {"7S", Notation::kWord},
      {"24h", Notation::kWord},
      {"10-1", Notation::kWord},
      {"123-45-6789", Notation::kWord},
      {"1/2/3", Notation::kWord},
      {"2 (control)", Notation::kWord},
      {"0 - 4 years", Notation::kMeasure},
      {"1.5+/-0.2 mm", Notation::kMeasure},
      {"5 [1, 9]", Notation::kMeasure},
      {"7\xC2\xA0km", Notation::kMeasure},
      {"vrai", Notation::kTruth},
      {"7up", Notation::kWord},
      {"p12", Notation::kWord},
      {"EUR", Notation::kWord},
      {"\xE9", Notation::kWord},
      {"Na", Notation::kMissing},
      {"BDL", Notation::kMissing},
      {"<LOD", Notation::kMissing},
      {"-1.#IND", Notation::kMissing},
      {"1_234", Notation::kQuoted},
      {"0x1F", Notation::kQuoted},
      {"1234-", Notation::kQuoted},
      {"1.5D+03", Notation::kQuoted},
      {"=\"12\"", Notation::kQuoted},
      {"12d3", Notation::kWord},
      {"1_2", Notation::kWord},
      {"\xE2\x80\x8B"
       "7",
       Notation::kBlanks},
      {"7\n", Notation::kBlanks},
  };
  for (const auto& [text, notation] : cases)
    EXPECT_EQ(NotationOf(text), notation) << text;
}

TEST(Quoted, ShowsNamesAsTheyAre) {
  EXPECT_EQ(Quoted("\xE9\x9C\xB8\xE7\x8E\x8B"), "'\xE9\x9C\xB8\xE7\x8E\x8B'");
  EXPECT_EQ(Quoted("Am\xC3\xA9lie"), "'Am\xC3\xA9lie'");
  // Another encoding, a control character, one that turns text round.
  EXPECT_EQ(Quoted("Am\xE9lie"), "'Am\\xe9lie'");
  EXPECT_EQ(Quoted("a\x1b[2J"), "'a\\x1b[2J'");
  EXPECT_EQ(Quoted("a\xE2\x80\xAE"
                   "b"),
            "'a\\xe2\\x80\\xaeb'");
  // No character is cut.
  const std::string name = std::string(39, 'a') + "\xC3\xA9z";
  EXPECT_EQ(Quoted(name), "'" + std::string(39, 'a') + "\xC3\xA9...'");
}

}  // namespace
}  // namespace dpnmf
