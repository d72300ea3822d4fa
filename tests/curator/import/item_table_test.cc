#include "curator/import/readers/item_table.h"

#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<ItemTable> Loaded(const std::string& items,
                                 const std::string& features) {
  const Scratch scratch;
  return LoadItemTable(scratch.Write("items.txt", items),
                       scratch.Write("features.csv", features));
}

TEST(ItemTable, HasTheIdsAsNamesIfNothingElseIsDeclared) {
  const Scratch scratch;
  const auto table =
      LoadItemTable(scratch.WriteGzip("items.gz", "b\n a \n\n"), "");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->ids, ElementsAre("b", "a"));
  EXPECT_THAT(table->names, ElementsAre("b", "a"));
  EXPECT_THAT(table->feature_names, IsEmpty());
  EXPECT_THAT(table->features, IsEmpty());
}

TEST(ItemTable, AnIdMayBeAWordOfAHeaderBelowTheFirstLine) {
  const Scratch scratch;
  const auto table =
      LoadItemTable(scratch.Write("items.txt", "q\nitem\nid\n"), "");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->ids, ElementsAre("q", "item", "id"));
}

TEST(ItemTable, AHeaderAboveTheItemsIsNone) {
  for (const char* items :
       {"item\nb\na\n", " MovieID\r\nb\r\na\r\n", "\"asin\"\n\"b\"\n\"a\"\n",
        "item,name,year\nb,,1\na,A,2\n"}) {
    const auto table = Loaded(items, "item,name,year\na,A,1\nb,B,2\n");
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_THAT(table->ids, ElementsAre("b", "a")) << items;
    EXPECT_THAT(table->features, ElementsAre(2, 1)) << items;
  }
}

TEST(ItemTable, IsInTheOrderOfTheItems) {
  const auto table = Loaded("c\na\nb\n",
                            "item,name,year,length\r\na,Alien,1979,-1.5e1\n"
                            "b,\"Toy, \"\"Story\"\"\",1995,0\n\nc,,1,3\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->ids, ElementsAre("c", "a", "b"));
  EXPECT_THAT(table->names, ElementsAre("c", "Alien", "Toy, \"Story\""));
  EXPECT_THAT(table->feature_names, ElementsAre("year", "length"));
  EXPECT_THAT(table->features, ElementsAre(1, 1979, 1995, 3, -15, 0));
}

TEST(ItemTable, ACategoryIsAColumnOfZeroAndOne) {
  const auto table =
      Loaded("1\n2\n3\n4\n",
             "Item,NAME,genres,year,kind\n1,a,War|Comedy | War,1,x\n2,b,,2,\n"
             "3,c,\"Comedy|Sci-Fi, old\",3,y\n4,d,|,4,x\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->feature_names,
              ElementsAre("genres=Comedy", "genres=Sci-Fi, old", "genres=War",
                          "year", "kind=x", "kind=y"));
  EXPECT_THAT(table->features,
              ElementsAre(1, 0, 1, 0, /**/ 0, 0, 1, 0, /**/ 1, 0, 0, 0, /**/ 1,
                          2, 3, 4, /**/ 1, 0, 0, 1, /**/ 0, 0, 1, 0));
}

TEST(ItemTable, BoundsAndNumbersInBracketsAreCategories) {
  for (const char* category : {"<18", ">65", "~3", "(30)"}) {
    const auto table =
        Loaded("a\nb\n",
               absl::StrCat("item,name,age\na,A,adult\nb,B,", category, "\n"));
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_THAT(table->feature_names,
                testing::Contains(absl::StrCat("age=", category)));
  }
}

TEST(ItemTable, ANumberInAnotherNotationIsNoCategory) {
  for (const char* number : {"\"3,5\"", "\"1,234\"", "12%", "$12", "-1'234.5",
                             "1 234", "\xE2\x82\xAC 9",
                             "1\xC2\xA0"
                             "234"}) {
    const absl::Status status =
        Loaded("a\nb\n",
               absl::StrCat("item,name,price\na,A,cheap\nb,B,", number, "\n"))
            .status();
    EXPECT_EQ(ReasonCode(status), "input-not-a-number") << number;
    EXPECT_THAT(std::string(status.message()), HasSubstr("line 3, column 3:"))
        << number;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("a number in another notation"));
  }
  for (const char* word : {"18+", "PG-13", "1995-01-01", "3D", "\"a, 1\"",
                           "12 \xC3\xA9", "1.2.3"}) {
    EXPECT_TRUE(
        Loaded("a\n", absl::StrCat("item,name,x\na,A,", word, "\n")).ok())
        << word;
  }
}

TEST(ItemTable, AColumnWithoutAnEntryGivesNoFeature) {
  const auto table = Loaded("1\n2\n", "item,name,genres\n1,a,\n2,b,\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->feature_names, IsEmpty());
}

// ---- On the disk of a data set

DatasetDescription DescriptionOf(const ItemTable& table) {
  DatasetDescription description;
  description.features = table.ids.size();
  description.ratings = RatingScale{
      .low_units = 0,
      .high_units = 1,
      .item_features = static_cast<std::uint32_t>(table.feature_names.size())};
  return description;
}

TEST(ItemTable, IsReadBackAsItWas) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  ItemTable table;
  table.ids = {"\"q\"", "a,b", " blank ", "\xe2\x82\xac", "4", "#"};
  table.names = {"n", "\"", "Toy, \"Story\"", "'", " ", "|"};
  table.feature_names = {"year", "a=\"b, c\""};
  table.features = {0.1, -1e15, 1.0 / 3, tiny, -0.0, 1e15, 1, 2, 3, 4, 5, 6};
  const Scratch scratch;
  scratch.Write("items.csv", ItemTableText(table));
  const auto back = ReadItemTable(scratch.path(), DescriptionOf(table));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, table);
  EXPECT_TRUE(std::signbit(back->features[4]));
}

TEST(ItemTable, NumbersAreReadBackBitForBit) {
  std::mt19937_64 random(3);
  ItemTable table;
  table.feature_names = {"x"};
  for (int i = 0; i < 20'000; ++i) {
    table.ids.push_back(absl::StrCat(i));
    table.features.push_back(
        std::ldexp(static_cast<double>(random()) - 0x1p63,
                   -static_cast<int>(random() % 1000) - 14));
  }
  table.names = table.ids;
  const Scratch scratch;
  scratch.Write("items.csv", ItemTableText(table));
  const auto back = ReadItemTable(scratch.path(), DescriptionOf(table));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, table);
}

TEST(ItemTable, ADamagedOneIsRefused) {
  ItemTable table;
  table.ids = table.names = {"a", "b"};
  table.feature_names = {"year"};
  table.features = {1, 2};
  const std::string good = ItemTableText(table);
  EXPECT_EQ(good, "item,name,year\na,a,1\nb,b,2\n");
  for (const char* bad :
       {"", "item,name,year\na,a,1\n", "item,name,year\na,a,1\na,b,2\n",
        "item,name,year\na,a,1\nb,b,x\n", "item,name,year\na,a,x\nb,b,x\n",
        "item,name\na,a\nb,b\n", "item,name,year\na,a,1\nb,b\n",
        "item,name,year,more\na,a,1,1\nb,b,2,2\n",
        "item,name,year\na,a,1\nb,b,2\nc,c,3\n",
        "item,name,year\na,a,1\nb,\xff,2\n"}) {
    const Scratch scratch;
    scratch.Write("items.csv", bad);
    const absl::Status status =
        ReadItemTable(scratch.path(), DescriptionOf(table)).status();
    EXPECT_EQ(ReasonCode(status), "dataset-damaged") << bad;
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  }
  const Scratch scratch;
  EXPECT_EQ(
      ReasonCode(ReadItemTable(scratch.path(), DescriptionOf(table)).status()),
      "dataset-damaged");
  scratch.Write("items.csv", good);
  EXPECT_TRUE(ReadItemTable(scratch.path(), DescriptionOf(table)).ok());
  EXPECT_EQ(ReasonCode(ReadItemTable(scratch.path(), {}).status()),
            "dataset-damaged");
}

// ---- Refusals

struct TableRefusal {
  const char* name;
  const char* items;
  const char* features;
  const char* code;
  const char* place;
};

void PrintTo(const TableRefusal& refused, std::ostream* out) {
  *out << refused.name;
}

class EveryTableRefusal : public testing::TestWithParam<TableRefusal> {};

TEST_P(EveryTableRefusal, NamesTheLine) {
  const TableRefusal& refused = GetParam();
  const absl::Status status = Loaded(refused.items, refused.features).status();
  EXPECT_EQ(ReasonCode(status), refused.code) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(refused.place));
}

constexpr char kGood[] = "item,name,year\na,A,1\nb,B,2\n";

INSTANTIATE_TEST_SUITE_P(
    ItemTable, EveryTableRefusal,
    testing::Values(
        TableRefusal{"noItems", "\n", kGood, "input-empty", "no item"},
        TableRefusal{"emptyLine", "a\n\nb\n", kGood, "input-malformed",
                     "items.txt`, line 2"},
        TableRefusal{"itemTwice", "a\nb\na\n", kGood, "input-duplicate",
                     "items.txt`, line 3"},
        TableRefusal{"itemNotUtf8", "a\nb\xff\n", kGood, "input-malformed",
                     "items.txt`, line 2"},
        TableRefusal{"control", "a\nb\x1b[2J\n", kGood, "input-malformed",
                     "items.txt`, line 2"},
        TableRefusal{"headerAlone", " MovieID\r\n", kGood, "input-empty",
                     "items.txt`: the file contains no item"},
        TableRefusal{"manyFields", "a,b\nc,d\n", kGood, "input-ambiguous",
                     "items.txt`, line 1: the line has 2 fields"},
        TableRefusal{"itemMissing", "a\nb\nc\n", kGood, "features-mismatch",
                     "items.txt`: the item 'c' has no line in"},
        TableRefusal{"itemUnknown", "a\n", kGood, "item-unknown",
                     "features.csv`, line 3, column 1: the item 'b'"},
        TableRefusal{"empty", "a\n", "", "input-empty", "features.csv`"},
        TableRefusal{"featuresHeaderAlone", "a\n", "item,name\n", "input-empty",
                     ""},
        TableRefusal{"noHeader", "a\nb\n", "a,A,1\nb,B,2\n", "input-malformed",
                     "line 1, column 1"},
        TableRefusal{"noName", "a\n", "item,year\na,1\n", "input-malformed",
                     "line 1, column 1"},
        TableRefusal{"namelessFeature", "a\n", "item,name,,x\na,A,1,2\n",
                     "input-malformed", "line 1, column 3"},
        TableRefusal{"featureTwice", "a\n", "item,name,x,x\na,A,1,2\n",
                     "input-duplicate", "line 1: the feature 'x'"},
        TableRefusal{"categoryTwice", "a\n", "item,name,x,x=u\na,A,u,2\n",
                     "input-duplicate", "line 1: the feature 'x=u'"},
        TableRefusal{"twice", "a\nb\n",
                     "item,name,year\na,A,1\nb,B,2\n\na,C,3\n",
                     "input-duplicate", "line 5, column 1"},
        TableRefusal{"short", "a\nb\n", "item,name,year\na,A,1\nb,B\n",
                     "input-ragged", "line 3, column 3"},
        TableRefusal{"long", "a\nb\n", "item,name,year\na,A, B,1\nb,B,2\n",
                     "input-ragged", "line 2, column 4"},
        TableRefusal{"quote", "a\nb\n", "item,name,year\na,\"A,1\nb,B,2\n",
                     "input-malformed", "line 2, column 2"},
        TableRefusal{"noId", "a\nb\n", "item,name,year\n,A,1\nb,B,2\n",
                     "input-malformed", "line 2, column 1"},
        TableRefusal{"nameNotUtf8", "a\nb\n",
                     "item,name,year\na,Am\xe9lie,1\nb,B,2\n",
                     "input-malformed", "line 2, column 2"},
        TableRefusal{"categoryNotUtf8", "a\nb\n",
                     "item,name,g\na,A,x\nb,B,y|\xe9\n", "input-malformed",
                     "line 3, column 3"},
        TableRefusal{"notANumber", "a\nb\n", "item,name,year\na,A,1\nb,B,n/a\n",
                     "input-not-a-number", "line 3, column 3"},
        TableRefusal{"notANumberBefore", "a\nb\n",
                     "item,name,year\na,A,n/a\nb,B,1\n", "input-not-a-number",
                     "line 2, column 3"},
        TableRefusal{"emptyNumber", "a\nb\n", "item,name,year\na,A,1\nb,B,\n",
                     "input-not-a-number",
                     "line 3, column 3: the field is empty, and that of line 2 "
                     "is a number"},
        TableRefusal{"emptyNumberBefore", "a\nb\n",
                     "item,name,year\na,A,\nb,B,1\n", "input-not-a-number",
                     "line 2, column 3: the field is empty, and that of line 3 "
                     "is a number"},
        TableRefusal{"infinite", "a\nb\n", "item,name,year\na,A,1\nb,B,inf\n",
                     "input-not-finite", "line 3, column 3"},
        TableRefusal{"nan", "a\nb\n", "item,name,year\na,A,nan\nb,B,1\n",
                     "input-not-finite", "line 2, column 3"},
        TableRefusal{"huge", "a\nb\n", "item,name,year\na,A,1\nb,B,-2e15\n",
                     "input-out-of-range", "line 3, column 3"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(ItemTable, TooManyFeaturesAreRefused) {
  const auto columns = [](std::uint32_t count) {
    std::string header = "item,name", line = "a,A";
    for (std::uint32_t i = 0; i < count; ++i) {
      absl::StrAppend(&header, ",f", i);
      absl::StrAppend(&line, ",", i);
    }
    return absl::StrCat(header, "\n", line, "\n");
  };
  const auto categories = [](std::uint32_t count) {
    std::string text = "item,name,g\na,A,c0";
    for (std::uint32_t i = 1; i < count; ++i) absl::StrAppend(&text, "|c", i);
    return text + "\n";
  };
  EXPECT_TRUE(Loaded("a\n", columns(kMostItemFeatures)).ok());
  EXPECT_TRUE(Loaded("a\n", categories(kMostItemFeatures)).ok());
  for (const std::string& text :
       {columns(kMostItemFeatures + 1), categories(kMostItemFeatures + 1)})
    EXPECT_EQ(ReasonCode(Loaded("a\n", text).status()), "input-too-large");
}

TEST(ItemTable, TextsThatAreTooLongForTheWireAreRefused) {
  const auto code = [](std::size_t id, std::size_t name, std::size_t feature,
                       std::size_t category) {
    const std::string item(id, 'i');
    return ReasonCode(
        Loaded(item + "\n",
               absl::StrCat("item,name,", std::string(feature, 'f'), ",g\n",
                            item, ",", std::string(name, 'n'), ",1,x|",
                            std::string(category, 'c'), "\n"))
            .status());
  };
  EXPECT_EQ(code(256, 1024, 1024, 1022), "");  // "g=" before the category
  EXPECT_EQ(code(257, 1024, 1024, 1022), "input-too-large");
  EXPECT_EQ(code(256, 1025, 1024, 1022), "input-too-large");
  EXPECT_EQ(code(256, 1024, 1025, 1022), "input-too-large");
  EXPECT_EQ(code(256, 1024, 1024, 1023), "input-too-large");
}

TEST(ItemTable, FilesThatAreNotThereAreNamed) {
  const Scratch scratch;
  const std::string items = scratch.Write("items.txt", "a\n");
  EXPECT_EQ(ReasonCode(LoadItemTable(scratch.path() + "/no", "").status()),
            "input-not-found");
  EXPECT_EQ(ReasonCode(LoadItemTable(items, scratch.path() + "/no").status()),
            "input-not-found");
}

}  // namespace
}  // namespace dpnmf::curator
