// Lists of names as programs and people write them.
#include "common/tables/names/name_list.h"

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/tables/names/header_words.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

struct ListText {
  const char* name;
  const char* what;
  const char* content;
  Names names;
  const char* said = "";  // of the note; empty: none is given
  const char* header = "";
};

void PrintTo(const ListText& text, std::ostream* out) { *out << text.name; }

class EveryListText : public testing::TestWithParam<ListText> {};

TEST_P(EveryListText, HasTheNamesThatItsProgramMeant) {
  const ListText& text = GetParam();
  const Scratch scratch;
  for (const std::string& path : {scratch.Write("l", text.content),
                                  scratch.WriteGzip("l.gz", text.content)}) {
    Names said;
    const auto names = LoadNameList(
        path, {.what = text.what,
               .header = text.header,
               .note = [&](const std::string& s) { said.push_back(s); }});
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_EQ(*names, text.names);
    if (*text.said == '\0') {
      EXPECT_THAT(said, IsEmpty());
    } else {
      EXPECT_THAT(said, ElementsAre(HasSubstr(text.said)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, EveryListText,
    testing::Values(
        ListText{"plain",
                 "feature",
                 "Toy Story (1995)\r\n b \nc\n\n \n",
                 {"Toy Story (1995)", "b", "c"}},
        ListText{"utf8",
                 "feature",
                 "\xEF\xBB\xBF\xC3\xA9t\xC3\xA9\n"
                 "\xE8\xA1\x80\xE5\x8E\x8B",
                 {"\xC3\xA9t\xC3\xA9", "\xE8\xA1\x80\xE5\x8E\x8B"}},
        ListText{"blankEnds",
                 "feature",
                 "a\t\n\xC2\xA0 b\xC2\xA0\nc \r\n",
                 {"a", "b", "c"}},
        ListText{"oneName", "feature", "visits\n", {"visits"}},
        ListText{"commasInSomeNames",
                 "feature",
                 "days\npain, lower back\nsleep\n",
                 {"days", "pain, lower back", "sleep"}},
        ListText{
            "commaAtTheEndOfTheList", "feature", "a\nb, c\n", {"a", "b, c"}},
        ListText{"barsInGenes",
                 "feature",
                 "A1BG|1\nA2M|2\nNAT1|9\n",
                 {"A1BG|1", "A2M|2", "NAT1|9"}},
        ListText{"aQuoteInside",
                 "feature",
                 "5\" nail\n\"Weird Al\" Yankovic\n",
                 {"5\" nail", "\"Weird Al\" Yankovic"}},
        // write.table(names, row.names = FALSE, col.names = FALSE)
        ListText{"quotedByR",
                 "feature",
                 "\"sleep\"\n\"falls\"\n\"a \"\"b\"\"\"",
                 {"sleep", "falls", "a \"b\""}},
        // csv.QUOTE_MINIMAL
        ListText{"quotedWhereNeeded",
                 "feature",
                 "days\n\"pain, back\"\n",
                 {"days", "pain, back"}},
        ListText{"quotedCommas",
                 "item",
                 "\"Berlin, DE\"\n\"Paris, FR\"\n",
                 {"Berlin, DE", "Paris, FR"}},
        ListText{"comments",
                 "feature",
                 "# names of V\n# 2 of them\na\n#b\n",
                 {"a", "#b"},
                 "comments: 2"},
        ListText{"commaBehindEveryName",
                 "feature",
                 "days,\npain,\nsleep,\n",
                 {"days", "pain", "sleep"},
                 "field 1 of 2 (days, pain, sleep)"},
        // ---- Headers
        ListText{"headerByWord",
                 "feature",
                 "gene_symbol\nTP53\nEGFR\n",
                 {"TP53", "EGFR"},
                 "line 1 (gene_symbol) is a header"},
        ListText{"headerFeature",
                 "feature",
                 "Feature\nname\nage\n",
                 {"name", "age"},
                 "line 1 (Feature)"},
        ListText{"headerById",
                 "item",
                 "restaurant_id\nab1\nab2\n",
                 {"ab1", "ab2"},
                 "line 1 (restaurant_id)"},
        ListText{"headerAsin",
                 "item",
                 "asin\nB00A\nB00B\n",
                 {"B00A", "B00B"},
                 "line 1 (asin) is a header, no item"},
        ListText{"headerInQuotes",
                 "item",
                 "\"bookId\"\n\"17\"\n\"4\"\n",
                 {"17", "4"},
                 "bookId"},
        ListText{"headerOfTheRatings",
                 "item",
                 "Titel\nAlien\nHeat\n",
                 {"Alien", "Heat"},
                 "line 1 (Titel)",
                 "titel"},
        ListText{"wordAboveNumbers",
                 "item",
                 "Spielfilm\n31\n1029\n",
                 {"31", "1029"},
                 "line 1 (Spielfilm)"},
        ListText{"headerOfPandas",
                 "feature",
                 "0\nvisits\ndays\n",
                 {"visits", "days"},
                 "line 1 (0)"},
        ListText{"headerOfR",
                 "feature",
                 "\"x\"\n\"visits\"\n\"days\"\n",
                 {"visits", "days"},
                 "line 1 (x)"},
        ListText{"noHeaderXYZ", "feature", "x\ny\nz\n", {"x", "y", "z"}},
        ListText{"noHeaderV",
                 "feature",
                 "\"V1\"\n\"V2\"\n\"V3\"\n",
                 {"V1", "V2", "V3"}},
        ListText{
            "aHeadersWordBelow", "item", "q\nitem\nid\n", {"q", "item", "id"}},
        ListText{"wordsThatEndInId",
                 "feature",
                 "paid\nfluid\nacid\n",
                 {"paid", "fluid", "acid"}},
        ListText{"wordsOfNumbers",
                 "feature",
                 "nan\ninf\ninfinity\n",
                 {"nan", "inf", "infinity"}},
        // ---- Tables
        ListText{"rowNumbersOfR",
                 "feature",
                 "\"\",\"x\"\n\"1\",\"visits\"\n\"2\",\"pain, back\"\n",
                 {"visits", "pain, back"},
                 "field 2 of 2 (visits, pain, back)"},
        ListText{"rowNamesOfWriteTable",
                 "feature",
                 "\"x\"\n\"1\" \"visits\"\n\"2\" \"lost days\"\n",
                 {"visits", "lost days"},
                 "field 2 of 2"},
        ListText{"rowNumbersOfPandas",
                 "feature",
                 ",0\n0,visits\n1,days\n",
                 {"visits", "days"},
                 "line 1 is a header (, 0)"},
        ListText{"rowNumbersWithoutHeader",
                 "feature",
                 "0,visits\n1,days\n",
                 {"visits", "days"},
                 "field 2 of 2"},
        ListText{"genesOf10x",
                 "feature",
                 "ENSG01\tTP53\tGene Expression\nENSG02\tTP53\tGene "
                 "Expression\nENSG03\tCD3\tGene Expression\n",
                 {"ENSG01", "ENSG02", "ENSG03"},
                 "field 1 of 3 (ENSG01"},
        ListText{"antibodiesOf10x",
                 "feature",
                 "CD3\tCD3_TotalC\tAntibody Capture\r\nCD4\tCD4_TotalC\t"
                 "Antibody Capture\r\n",
                 {"CD3", "CD4"},
                 "field 1 of 3"},
        ListText{"symbolsWhereIdsRepeat",
                 "feature",
                 "ENSG01\tTP53\nENSG01\tEGFR\n",
                 {"TP53", "EGFR"},
                 "field 2 of 2"},
        ListText{"namedField",
                 "feature",
                 "index,chromosome,gene_name\n0,1,TP53\n1,7,EGFR\n",
                 {"TP53", "EGFR"},
                 "field 3 of 3"},
        ListText{"semicolons",
                 "feature",
                 "name;unit\nheight;cm\nweight;kg\n",
                 {"height", "weight"},
                 "field 1 of 2"},
        ListText{"movies",
                 "item",
                 "movieId,title,genres\n1,Toy Story (1995),A|B\n"
                 "11,\"American President, The (1995)\",C\n",
                 {"1", "11"},
                 "field 1 of 3 (1, 11); line 1 is a header"},
        ListText{"raggedMovies",
                 "item",
                 "movieId,title,genres\n1,Toy Story,A\n11,American President, "
                 "The,C\n12,Dracula\n",
                 {"1", "11", "12"},
                 "field 1 of 3"},
        ListText{"lineBreakInATitle",
                 "item",
                 "isbn;title\r\n0345;\"The\r\nHours\"\r\n0346;Emma\r\n",
                 {"0345", "0346"},
                 "field 1 of 2"},
        ListText{"indexAndMovies",
                 "item",
                 ",title,movieId\n0,Heat,6\n1,Heat,7\n",
                 {"6", "7"},
                 "field 3 of 3",
                 "movieid"},
        ListText{"fieldOfTheRatings",
                 "item",
                 "imdbId,movieId\n111,6\n222,7\n",
                 {"6", "7"},
                 "field 2 of 2",
                 "movieId"},
        ListText{"moviesDat",
                 "item",
                 "1::Toy Story (1995)::Animation|Children's\n"
                 "3::Grumpier Old Men (1995)::Comedy\n",
                 {"1", "3"},
                 "field 1 of 3"},
        ListText{"uItem",
                 "item",
                 "1|Toy Story|01-Jan-1995||0\n2|Caf\xe9 \"x|02-Jan-1995||1\n",
                 {"1", "2"},
                 "field 1 of 5"}),
    [](const auto& text) { return std::string(text.param.name); });

struct ListRefusal {
  const char* name;
  const char* what;
  const char* content;
  const char* code;
  const char* sentence;
};

void PrintTo(const ListRefusal& refused, std::ostream* out) {
  *out << refused.name;
}

class EveryListRefusal : public testing::TestWithParam<ListRefusal> {};

TEST_P(EveryListRefusal, SaysWhatToChange) {
  const ListRefusal& refused = GetParam();
  const Scratch scratch;
  const absl::Status status =
      LoadNameList(scratch.Write("l", refused.content), {.what = refused.what})
          .status();
  EXPECT_EQ(ReasonCode(status), refused.code) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(refused.sentence));
}

INSTANTIATE_TEST_SUITE_P(
    Names, EveryListRefusal,
    testing::Values(
        ListRefusal{"empty", "feature", "\n", "input-empty", "no feature"},
        ListRefusal{"headerAlone", "item", "movieId\n", "input-empty",
                    "no item"},
        ListRefusal{"emptyLine", "feature", "a\n\nb\n", "input-malformed",
                    "line 2, column 1: the line is empty"},
        ListRefusal{"twice", "feature", "name\na\n\"b\"\nb\n",
                    "input-duplicate", "line 4, column 1: the name 'b'"},
        ListRefusal{"notUtf8", "feature", "a\nb\xff\n", "input-malformed",
                    "line 2, column 1"},
        ListRefusal{"control", "feature", "a\nb\x1b[2J\n", "input-malformed",
                    "line 2"},
        ListRefusal{"lineBreakInAName", "feature", "a\n\"b\nc\"\nd\n",
                    "input-malformed", "line 2, column 1: the name"},
        ListRefusal{"openQuote", "feature", "a\n\"b\nc\n", "input-malformed",
                    "line 2, column 1: a quote is not closed"},
        ListRefusal{"emptyName", "feature", "\"a\"\n\"\"\n", "input-malformed",
                    "line 2, column 1: the feature has no name"},
        ListRefusal{"tabs", "feature", "a\tb\tc\nd\te\tf\n", "input-ambiguous",
                    "line 1: the line has 3 fields separated by tabs; a list "
                    "of names has one name on each line: take one field with "
                    "cut -f1"},
        ListRefusal{"tabsInOneLine", "feature", "a\nb\nd\te\n",
                    "input-ambiguous",
                    "line 3: the line has 2 fields separated by tabs"},
        ListRefusal{
            "namesInOneLine", "feature", "visits,days,pain\n",
            "input-ambiguous",
            "line 1: the line has 3 fields separated by commas; write each "
            "name on a line of its own"},
        ListRefusal{"commasEverywhere", "item", "Berlin, DE\nParis, FR\n",
                    "input-ambiguous",
                    "2 fields separated by commas, or is one name that has "
                    "them; a list of names has one name on each line: take one "
                    "field with cut -d',' -f1, or put quotes around each name"},
        ListRefusal{"numbersAndNames", "item", "1,Heat\n2,Alien\n",
                    "input-ambiguous", "2 fields separated by commas"},
        ListRefusal{"symbolsTwice", "feature", "ENSG1\tA\nENSG1\tA\n",
                    "input-ambiguous", "2 fields separated by tabs"},
        ListRefusal{"zeroAboveNumbers", "item", "0\n1\n2\n3\n",
                    "input-ambiguous",
                    "line 1: the line (0) is a header, as pandas writes it, or "
                    "the first item; remove it, or write `item` on a line "
                    "above it"},
        ListRefusal{"xAboveWords", "feature", "x\nvisits\ndays\n",
                    "input-ambiguous", "as R writes it, or the first feature"},
        ListRefusal{"quotesInATable", "item", "movieId,title\n1,\"The \"x\n",
                    "input-malformed", "line 2"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(NameList, UsualHeadersAreRecognised) {
  const Scratch scratch;
  for (const char* header :
       {"feature", "feature_name", "Gene Symbol", "GENE_ID", "geneid",
        "hgnc_symbol", "Hugo_Symbol", "external_gene_name", "ensembl_gene_id",
        "Name", "probe_id", "variable", "term", "word", "title", "symbol",
        "item_id", "sampleID", "\"user.id\""}) {
    EXPECT_EQ(LoadNameList(
                  scratch.Write("l", std::string(header) + "\nvisits\ndays\n"))
                  .value(),
              (Names{"visits", "days"}))
        << header;
  }
  for (const char* header :
       {"ISBN", "asin", "business_id", "book_id", "track_id", "movieId",
        "bookid", "MOVIE_NAME", "product", "sku", "Item", "Artikel", "Produkt",
        "film", "movie_title", "Artikel-Nr", "Product Code", "livre",
        "Titel"}) {
    EXPECT_EQ(
        LoadNameList(scratch.Write("l", std::string(header) + "\n1\nx2\n"),
                     {.what = "item"})
            .value(),
        (Names{"1", "x2"}))
        << header;
  }
  for (const char* name : {"paid", "visits", "age", "book", "plasmid", "id2",
                           "gene expression", "ENSG0001", "nickname"}) {
    EXPECT_EQ(LoadNameList(scratch.Write("l", std::string(name) + "\ndays\n"))
                  .value(),
              (Names{name, "days"}));
  }
}

TEST(NameList, AWordWithoutDigitsAboveIdsOfItemsIsAHeader) {
  const Scratch scratch;
  const auto read = [&](const char* text, const char* what) {
    return LoadNameList(scratch.Write("l", text), {.what = what}).value();
  };
  EXPECT_EQ(read("Ware\nW-7\nW-11\n", "item"), (Names{"W-7", "W-11"}));
  // Features may be called so, and so may titles.
  EXPECT_EQ(read("age\nv1\nv2\n", "feature"), (Names{"age", "v1", "v2"}));
  EXPECT_EQ(read("Heat\nAlien 3\nCasino\n", "item"),
            (Names{"Heat", "Alien 3", "Casino"}));
}

TEST(HeaderWords, ACodeForAMissingValueOrATruthIsNoWord) {
  for (const char* word :
       {"rating", "_x", "R\xC3\xA9sum\xC3\xA9", "p12", "no", "Nr"})
    EXPECT_TRUE(IsWord(word)) << word;
  for (const char* text :
       {"", "NA", "n/a", "nan", "Inf", "None", "unknown", "<LOD", "TRUE",
        "falsch", "3,5", "EUR 3", "7up", "2024-01-05", "#N/A", "1.#QNAN"})
    EXPECT_FALSE(IsWord(text)) << text;
}

TEST(NameList, NamesHaveTheLengthThatIsAskedFor) {
  const Scratch scratch;
  const std::string path = scratch.Write("l", "abc\nabcd\n");
  EXPECT_TRUE(LoadNameList(path).ok());
  const absl::Status status = LoadNameList(path, {.longest = 3}).status();
  EXPECT_EQ(ReasonCode(status), "input-too-large");
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 2, column 1"));
}

// Names from a matrix's header may look like headers and quotes.
TEST(NameList, LinesThatThisProgramWroteAreReadAsTheyStand) {
  const Scratch scratch;
  EXPECT_EQ(ReadNameLines(scratch.Write("l", "name\n\"q\"\na,b\n")).value(),
            (Names{"name", "\"q\"", "a,b"}));
}

}  // namespace
}  // namespace dpnmf
