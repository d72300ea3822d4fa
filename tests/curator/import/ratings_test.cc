#include "curator/import/readers/ratings.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ItemTable Items(std::vector<std::string> ids) {
  ItemTable items;
  items.names = ids;
  items.ids = std::move(ids);
  return items;
}

RatingsOptions OneToFive() {
  RatingsOptions options;
  options.scale = {.low_units = 10000, .high_units = 50000};
  return options;
}

absl::StatusOr<LoadedRatings> Loaded(
    const std::string& content, const RatingsOptions& options = OneToFive(),
    const ItemTable& items = Items({"x", "y", "z"})) {
  const Scratch scratch;
  return LoadRatings(scratch.Write("r.csv", content), items, options);
}

// By user and item, in units.
using Ratings = std::map<std::pair<std::string, std::string>, int>;

Ratings RatingsIn(const LoadedRatings& loaded, const ItemTable& items) {
  Ratings ratings;
  for (std::size_t n = 0; n < loaded.people(); ++n) {
    for (auto i = static_cast<std::size_t>(loaded.indptr[n]);
         i < static_cast<std::size_t>(loaded.indptr[n + 1]); ++i) {
      ratings[{loaded.users[n],
               items.ids[static_cast<std::size_t>(loaded.indices[i])]}] =
          loaded.units[i];
    }
  }
  return ratings;
}

// ---- Accepted files

struct RatingsTextCase {
  const char* name;
  const char* content;
};

void PrintTo(const RatingsTextCase& text, std::ostream* out) {
  *out << text.name;
}

class EveryRatingsText : public testing::TestWithParam<RatingsTextCase> {};

const Ratings kThree = {
    {{"ann", "x"}, 35000}, {{"ann", "z"}, 10000}, {{"bob", "y"}, 50000}};

TEST_P(EveryRatingsText, GivesTheSameRatings) {
  const ItemTable items = Items({"x", "y", "z"});
  const Scratch scratch;
  const std::string content = GetParam().content;
  for (const std::string& path :
       {scratch.Write("r", content), scratch.WriteGzip("r.gz", content)}) {
    const auto loaded = LoadRatings(path, items, OneToFive());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->items, 3u);
    EXPECT_THAT(loaded->users, ElementsAre("ann", "bob"));
    EXPECT_THAT(loaded->indptr, ElementsAre(0, 2, 3));
    EXPECT_EQ(RatingsIn(*loaded, items), kThree);
    EXPECT_THAT(loaded->times, IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ratings, EveryRatingsText,
    testing::Values(
        RatingsTextCase{"comma", "ann,z,1\nbob,y,5\nann,x,3.5\n"},
        RatingsTextCase{"tab",
                        "ann\tz\t1\t878887116\nbob\ty\t5\t878887117\n"
                        "ann\tx\t3.5\t878887118\n"},
        RatingsTextCase{"colons",
                        "ann::z::1::978300760\nbob::y::5::978300761\n"
                        "ann::x::3.5::978300762\n"},
        RatingsTextCase{"semicolon", "ann;z;1\nbob;y;5\nann;x;3.5\n"},
        RatingsTextCase{"blanks", " ann z  1\nbob y 5\nann x 3.5"},
        RatingsTextCase{"header",
                        "user,item,rating,time\nann,z,1,8\nbob,y,5,8\n"
                        "ann,x,3.5,8\n"},
        RatingsTextCase{"colonsWithHeader",
                        "user::item::rating\nann::z::1\n"
                        "bob::y::5\nann::x::3.5\n"},
        RatingsTextCase{"windows",
                        "\xEF\xBB\xBF\r\nann,z,1\r\nbob,y,5\r\n\r\n"
                        "ann,x,3.5\r\n"},
        RatingsTextCase{"quotes",
                        "\"user\",\"item\",\"rating\"\n\"ann\",\"z\",\"1\"\n"
                        "\"bob\",y,5\nann,\"x\",3.5\n"},
        RatingsTextCase{"bars", "ann|z|1\nbob|y|5\nann|x|3.5\n"},
        RatingsTextCase{"decimalCommas", "ann;z;1\nbob;y;5,0\nann;x;3,5\n"},
        RatingsTextCase{"decimalCommaFirst",
                        "ann\tx\t3,50\nann\tz\t1\nbob\ty\t5\n"},
        RatingsTextCase{"decimalCommasInQuotes",
                        "ann,z,\"1,0\"\nbob,y,5\nann,x,\"3,5\"\n"},
        RatingsTextCase{"headerOfBookCrossing",
                        "\"User-ID\";\"ISBN\";\"Book-Rating\"\n"
                        "\"ann\";\"z\";\"1\"\n\"bob\";\"y\";\"5\"\n"
                        "\"ann\";\"x\";\"3.5\"\n"},
        RatingsTextCase{"headerAfterAComment",
                        "# of 2024\nreviewer,asin,overall,unixReviewTime\n"
                        "ann,z,1,8\nbob,y,5,9\nann,x,3.5,9\n"},
        // The list has an item with the header's name: the header is one.
        RatingsTextCase{"headerNamesAnItem",
                        "user,x,rating\nann,z,1\nbob,y,5\nann,x,3.5\n"},
        RatingsTextCase{"dates",
                        "ann,z,1,2005-09-06\nbob,y,5,2005-09-07 "
                        "10:11:12\nann,x,3.5,20050908\n"},
        RatingsTextCase{"separatorAtTheEnd",
                        "ann,z,1,\nbob,y,5,\nann,x,3.5,\n"},
        RatingsTextCase{"decimals", "ann,z,+1.00000\nbob,y,5.\nann,x,03.50\n"}),
    [](const auto& text) { return std::string(text.param.name); });

TEST(Ratings, ARatingOfZeroIsARatingAndOneThatIsMissingIsNot) {
  RatingsOptions options;
  options.scale = {.low_units = -10000, .high_units = 10000};
  const auto loaded = Loaded("a,x,0\na,z,-0.5\nb,y,-0\n", options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->indptr, ElementsAre(0, 2, 3));
  EXPECT_THAT(loaded->indices, ElementsAre(0, 2, 1));
  EXPECT_THAT(loaded->units, ElementsAre(0, -5000, 0));
}

TEST(Ratings, AreExactToFourDecimals) {
  RatingsOptions options;
  options.scale = {.low_units = -kLargestRatingUnits,
                   .high_units = kLargestRatingUnits};
  const auto loaded = Loaded(
      "a,x,0.0001\na,y,99999.9999\na,z,-100000.00000\n"
      "b,x,1.2300000000000000000000\nb,y,.5\n",
      options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->units,
              ElementsAre(1, 999999999, -1000000000, 12300, 5000));
}

TEST(Ratings, TheLastOfSeveralCountsAndTheOthersAreCounted) {
  const auto loaded =
      Loaded("a,x,1\nb,x,2\na,x,3\na,y,4\nb,x,5\na,x,2\n", OneToFive());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->indptr, ElementsAre(0, 2, 3));
  EXPECT_THAT(loaded->units, ElementsAre(20000, 40000, 50000));
  EXPECT_EQ(loaded->replaced, 3u);
  EXPECT_EQ(loaded->unlisted, 0u);
}

TEST(Ratings, OfUnlistedItemsAreLeftOutIfAskedForAndTheirPeopleStay) {
  RatingsOptions options = OneToFive();
  options.drop_unlisted = true;
  const auto loaded = Loaded("a,q,1\nb,x,2\nb,r,3\nc,q,3\n", options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->users, ElementsAre("a", "b", "c"));
  EXPECT_THAT(loaded->indptr, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(loaded->unlisted, 3u);
  // They are looked at all the same.
  EXPECT_EQ(ReasonCode(Loaded("a,q,6\nb,x,2\n", options).status()),
            "input-out-of-range");
  EXPECT_EQ(ReasonCode(Loaded("a,q,1\n", options).status()), "input-empty");
}

TEST(Ratings, PeopleWithoutARatingAreEmptyColumnsIfTheirNumberIsDeclared) {
  RatingsOptions options = OneToFive();
  options.users_count = 4;
  const auto loaded = Loaded("a,x,1\nb,y,2\n", options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->indptr, ElementsAre(0, 1, 2, 2, 2));
  EXPECT_THAT(loaded->users, ElementsAre("a", "b"));
}

TEST(Ratings, UsersAndItemsAreAnyWords) {
  const ItemTable items = Items({"Toy, \"Story\"", "b", "\xff"});
  const auto loaded = Loaded(
      "\"a \"\"x\"\"\",\"Toy, \"\"Story\"\"\",1\n"
      "a \"x\",b,2\na \"\"x\"\",b,3\n \xc3\xbf ,b,4\n",
      OneToFive(), items);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->users, ElementsAre("a \"x\"", "a \"\"x\"\"", "\xc3\xbf"));
  EXPECT_THAT(loaded->indices, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(loaded->units, ElementsAre(10000, 20000, 30000, 40000));
}

TEST(Ratings, TimesAreKeptIfAskedFor) {
  RatingsOptions options = OneToFive();
  options.keep_times = true;
  const auto loaded = Loaded(
      "user,item,rating,time\na,y,1,100.9\na,x,2,-7\nb,x,3\n"
      "a,y,4,300\n",
      options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->units, ElementsAre(20000, 40000, 30000));
  EXPECT_THAT(loaded->times, ElementsAre(-7, 300, 0));
  EXPECT_THAT(Loaded("a,y,1\n", options)->times, IsEmpty());
  EXPECT_THAT(Loaded("a,y,1,978300760\n", options)->times,
              ElementsAre(978300760));
  constexpr char kNoon[] = "user,item,rating,time\na,y,1,noon\n";
  EXPECT_EQ(ReasonCode(Loaded(kNoon, options).status()), "input-not-a-number");
  EXPECT_TRUE(Loaded(kNoon).ok());
}

// Against a map, with duplicates, people in any order and several blocks.
TEST(Ratings, AreThoseOfATrivialReader) {
  std::mt19937 random(7);
  std::vector<std::string> ids;
  for (int i = 0; i < 300; ++i) ids.push_back(absl::StrCat("i", i));
  std::shuffle(ids.begin(), ids.end(), random);
  const ItemTable items = Items(ids);
  Ratings expected;
  std::string text;
  std::uint64_t lines = 0;
  for (; lines < 150'000; ++lines) {
    const std::string user = absl::StrCat("u", random() % 900);
    const std::string& item = ids[random() % ids.size()];
    const int rating = 1 + static_cast<int>(random() % 5);
    absl::StrAppend(&text, user, "\t", item, "\t", rating, "\n");
    expected[{user, item}] = 10000 * rating;
  }
  const auto loaded = Loaded(text, OneToFive(), items);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(RatingsIn(*loaded, items), expected);
  EXPECT_EQ(loaded->replaced, lines - expected.size());
  EXPECT_TRUE(ToDataset(*loaded, items, OneToFive().scale, {}).ok());
}

// ---- Refusals

struct RefusalCase {
  const char* name;
  const char* content;
  const char* code;
  const char* place;
};

void PrintTo(const RefusalCase& refused, std::ostream* out) {
  *out << refused.name;
}

class EveryRatingsRefusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(EveryRatingsRefusal, NamesLineAndColumn) {
  const RefusalCase& refused = GetParam();
  RatingsOptions options = OneToFive();
  options.users_count = 2;
  options.refused = [](const absl::Status&) { FAIL() << "one line alone"; };
  const absl::Status status = Loaded(refused.content, options).status();
  EXPECT_EQ(ReasonCode(status), refused.code) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(refused.place));
}

INSTANTIATE_TEST_SUITE_P(
    Ratings, EveryRatingsRefusal,
    testing::Values(
        RefusalCase{"empty", "", "input-empty", "no rating"},
        RefusalCase{"headerAlone", "user,item,rating\n", "input-empty", ""},
        RefusalCase{"noTriple", "just words here too many\n", "input-ragged",
                    "line 1: the line is not a triple"},
        RefusalCase{"utf16",
                    "\xff\xfe"
                    "a",
                    "input-unreadable", "begins as UTF-16 and is damaged"},
        RefusalCase{"zip", "PK\x03\x04\x14", "input-unreadable", "unpack it"},
        RefusalCase{"xz",
                    "\xfd"
                    "7zXZ",
                    "input-unreadable", "with xz; decompress it"},
        RefusalCase{"twoFields", "a,x\n", "input-ragged", "line 1"},
        RefusalCase{"fiveFields", "a,x,1\na,y,1,2,3\n", "input-ragged",
                    "line 2, column 5"},
        RefusalCase{"secondLineShort", "a,x,1\na,y\n", "input-ragged",
                    "line 2, column 3"},
        RefusalCase{"openQuote", "a,x,1\n\"a,y,1\n", "input-malformed",
                    "line 2, column 1"},
        RefusalCase{"emptyUser", "a,x,1\n,y,1\n", "input-malformed",
                    "line 2, column 1"},
        RefusalCase{"emptyUserInQuotes", "a,x,1\n\"\",y,1\n", "input-malformed",
                    "line 2, column 1"},
        RefusalCase{"controlInUser", "a,x,1\na\x1b[2J,y,1\n", "input-malformed",
                    "line 2, column 1"},
        RefusalCase{"userNotUtf8", "a,x,1\nAm\xe9lie,y,1\n", "input-malformed",
                    "line 2, column 1"},
        RefusalCase{"emptyItem", "a,x,1\na,,1\n", "input-malformed",
                    "line 2, column 2"},
        RefusalCase{"emptyRating", "a,x,1\na,y,\n", "input-not-a-number",
                    "line 2, column 3"},
        RefusalCase{"firstLineThatIsNoHeader", "ann,nosuch,five\na,x,1\n",
                    "input-not-a-number",
                    "line 1, column 3: the rating 'five' is not a number"},
        RefusalCase{"secondHeader", "u,i,r\na,x,1\nu,i,r\n",
                    "input-not-a-number", "line 3, column 3"},
        RefusalCase{"nan", "a,x,nan\n", "input-not-finite", "line 1, column 3"},
        RefusalCase{"infinite", "a,x,1\na,y,inf\n", "input-not-finite",
                    "line 2, column 3"},
        RefusalCase{"fiveDecimals", "a,x,1.00001\n", "input-malformed",
                    "line 1, column 3"},
        RefusalCase{"exponent", "a,x,1e0\n", "input-malformed",
                    "line 1, column 3"},
        RefusalCase{"decimalCommaAfterPoint", "a;x;1.5\na;y;3,5\n",
                    "input-ambiguous",
                    "line 2, column 3: the rating '3,5' has a comma, and that "
                    "of line 1 a point"},
        RefusalCase{"thousands", "a;x;1,000\n", "input-ambiguous",
                    "line 1, column 3: the rating '1,000' is a thousand"},
        RefusalCase{
            "fourthIsNoTime", "a,x,2,5\n", "input-malformed",
            "line 1, column 4: the fourth field '5' is no time (seconds "
            "since 1970 or a date): if 2,5 is one rating with a "
            "decimal comma, write a point"},
        RefusalCase{"fourthIsNoTimeOnce", "a,x,2\na,y,4,5\n", "input-malformed",
                    "line 2, column 4"},
        RefusalCase{"fourthIsAWord", "a,x,2,good\n", "input-malformed",
                    "the fourth field 'good' is no time"},
        RefusalCase{"fourthIsNoTimeByHeader",
                    "user,item,rating,helpful\na,x,2,978300760\n",
                    "input-malformed",
                    "line 1, column 4: the fourth column is called 'helpful'"},
        RefusalCase{"fourthNotInHeader", "user,item,rating\na,x,2,5\n",
                    "input-malformed",
                    "line 2, column 4: the fourth field '5' is not in the "
                    "header"},
        RefusalCase{"itemBeforeUser", "item_id,user_id,rating\nx,a,2\n",
                    "input-malformed",
                    "the header names 'item_id' before 'user_id'"},
        RefusalCase{"fiveFieldsByDecimalComma", "a,x,2,5,978300760\n",
                    "input-ragged", "a point in decimal numbers"},
        RefusalCase{"lineBreakInAnId", "a,x,1\n\"a\nb\",y,1\n",
                    "input-malformed", "line 2"},
        RefusalCase{"emptyRatingFirst", "a,\"x\",\na,y,1\n",
                    "input-not-a-number", "line 1, column 3"},
        RefusalCase{"below", "a,x,1\na,y,0.9999\n", "input-out-of-range",
                    "line 2, column 3: the rating '0.9999' is out of the "
                    "declared range from 1 to 5"},
        RefusalCase{"above", "a,x,5.0001\n", "input-out-of-range",
                    "line 1, column 3"},
        RefusalCase{"huge", "a,x,99999999999999999999999\n",
                    "input-out-of-range", "line 1, column 3"},
        RefusalCase{"negative", "a,x,1\na,y,-3\n", "input-out-of-range",
                    "line 2, column 3"},
        RefusalCase{"unknownItem", "a,x,1\na,q,1\n", "item-unknown",
                    "line 2, column 2: the item 'q'"},
        RefusalCase{"itemInQuotes", "a,x,1\na,\"\"\"x\"\"\",1\n",
                    "item-unknown", "line 2, column 2"},
        RefusalCase{"thirdUser", "a,x,1\nb,x,1\na,y,1\nc,x,1\n",
                    "users-mismatch",
                    "line 4, column 1: the user 'c' is one more than the 2"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(Ratings, AListThatMostOfThemDoNotKnowIsRefusedInOneSentence) {
  RatingsOptions options = OneToFive();
  options.refused = [](const absl::Status& status) { ADD_FAILURE() << status; };
  std::string text = "user,item,rating\na,x,1\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "a,q", i % 7, ",1\n");
  const absl::Status status = Loaded(text, options).status();
  EXPECT_EQ(ReasonCode(status), "item-unknown");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("r.csv`: 1000 of 1001 ratings are of items that are "
                        "not in the list of items, so it is the list of other "
                        "ratings: it has 'x', 'y', 'z', and the ratings have "
                        "'q0', 'q1', 'q2'"));
  options.drop_unlisted = true;
  EXPECT_EQ(Loaded(text, options)->unlisted, 1000u);
}

TEST(Ratings, AFourthFieldThatIsNoTimeIsToldOnce) {
  std::vector<std::string> told;
  RatingsOptions options = OneToFive();
  options.refused = [&](const absl::Status& s) {
    told.emplace_back(s.message());
  };
  std::string text = "a,x,9\n";
  for (int i = 0; i < 30; ++i) text += "a,y,2,5\n";
  const absl::Status status = Loaded(text, options).status();
  EXPECT_THAT(told, ElementsAre(HasSubstr("line 1"), HasSubstr("line 2")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("first of 31 lines"));
}

TEST(Ratings, SayHowTheyWereUnderstood) {
  const struct {
    const char *content, *said;
  } cases[] = {
      {"a,x,1\n", ""},
      {"user;item;rating;date\na;x;1,5;1.2.2024\n",
       "Fields are separated by semicolons; the first line is a header (user, "
       "item, rating, date); decimal commas are read (line 2: 1,5); the fourth "
       "field, a time, is not read"},
      {"a::x::1::978300760\n",
       "Fields are separated by `::`; the fourth field, a time, is not read"}};
  for (const auto& one : cases) {
    std::vector<std::string> said;
    RatingsOptions options = OneToFive();
    options.note = [&](const std::string& sentence) {
      said.push_back(sentence);
    };
    ASSERT_TRUE(Loaded(one.content, options).ok()) << one.content;
    if (*one.said == '\0') {
      EXPECT_THAT(said, IsEmpty());
    } else {
      EXPECT_THAT(said, ElementsAre(one.said));
    }
  }
}

TEST(Ratings, TheNameOfTheirItemsIsThatOfTheHeader) {
  const Scratch scratch;
  const auto header = [&](const char* content) {
    return ItemHeaderOf(scratch.Write("r", content));
  };
  EXPECT_EQ(header("user,ISBN,rating\n7,1,4\n"), "ISBN");
  EXPECT_EQ(header("\n\"u\";\"my \"\"item\"\"\";\"stars\"\n"), "my \"item\"");
  EXPECT_EQ(header("7,ISBN,4\n"), "");
  EXPECT_EQ(header(""), "");
  EXPECT_EQ(ItemHeaderOf(scratch.path() + "/none"), "");
}

// Tokens can name ids of this length.
TEST(Ratings, AUsersIdHasAtMost1024Bytes) {
  const std::string longest(1024, 'u');
  EXPECT_TRUE(Loaded(absl::StrCat(longest, ",x,1\n")).ok());
  const absl::Status status =
      Loaded(absl::StrCat("a,x,1\nu", longest, ",x,1\n")).status();
  EXPECT_EQ(ReasonCode(status), "input-malformed");
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 2"));
}

TEST(Ratings, TheFirstTwentyRefusedLinesAreToldWithTheirNumber) {
  std::string text = "u,i,r\n";
  for (int i = 0; i < 30; ++i) absl::StrAppend(&text, "a,q", i, ",1\na,x,1\n");
  std::vector<std::string> told;
  RatingsOptions options = OneToFive();
  options.refused = [&](const absl::Status& status) {
    EXPECT_EQ(ReasonCode(status), "item-unknown");
    told.emplace_back(status.message());
  };
  const absl::Status status = Loaded(text, options).status();
  EXPECT_EQ(ReasonCode(status), "item-unknown");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("line 2, column 2: the item 'q0'"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("; this is the first of 30 lines that are refused."));
  ASSERT_EQ(told.size(), 20u);
  EXPECT_THAT(told[0], HasSubstr("line 2, column 2"));
  EXPECT_THAT(told[19], HasSubstr("line 40, column 2"));
}

TEST(Ratings, ANameThatIsRefusedIsToldOnceWithAllItsLines) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "a,x,1\na,q,1\nb,x,1\nc,x,1\n";
  text += "d,y,1\na,r,1\n";
  std::vector<std::string> told;
  RatingsOptions options = OneToFive();
  options.users_count = 2;
  options.refused = [&](const absl::Status& status) {
    told.emplace_back(status.message());
  };
  const absl::Status status = Loaded(text, options).status();
  EXPECT_THAT(told, ElementsAre(HasSubstr("line 2, column 2: the item 'q'"),
                                HasSubstr("line 4, column 1: the user 'c'"),
                                HasSubstr("line 121, column 1: the user 'd'"),
                                HasSubstr("line 122, column 2: the item 'r'")));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("; this is the first of 62 lines that are refused."));
}

TEST(Ratings, OfOnePersonAreAMillionAtMost) {
  ItemTable items;
  std::string text;
  for (std::uint64_t i = 0; i <= kMostRatingsOfAPerson; ++i) {
    items.ids.push_back(absl::StrCat(i));
    absl::StrAppend(&text, "a,", i, ",1\n");
  }
  items.names = items.ids;
  const absl::Status status =
      Loaded("b,1,1\n" + text, OneToFive(), items).status();
  EXPECT_EQ(ReasonCode(status), "input-too-large") << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("line 1000002, column 1: the user 'a'"));
  // The person has as many lines, and one rating fewer.
  text.erase(text.rfind("a,"));
  const auto loaded = Loaded("a,5,1\n" + text, OneToFive(), items);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->indices.size(), kMostRatingsOfAPerson);
  EXPECT_EQ(loaded->replaced, 1u);
}

TEST(Ratings, MoreColumnsThanCanBeMadeAreRefused) {
  RatingsOptions options = OneToFive();
  options.users_count = 100'000'001;
  EXPECT_EQ(ReasonCode(Loaded("a,x,1\n", options).status()),
            "users-count-out-of-range");
}

TEST(Ratings, ReadingEndsWhenItIsInterrupted) {
  RatingsOptions options = OneToFive();
  options.interrupted = [] { return true; };
  EXPECT_EQ(ReasonCode(Loaded("a,x,1\n", options).status()), "cancelled");
}

// ---- The range

TEST(RatingRange, IsLowAndHigh) {
  const struct {
    const char* text;
    int low, high;
  } cases[] = {{"1,5", 10000, 50000},
               {"0.5,5", 5000, 50000},
               {" -10 , 10.0 ", -100000, 100000},
               {"0,0.0001", 0, 1},
               {"-100000,100000", -kLargestRatingUnits, kLargestRatingUnits}};
  for (const auto& c : cases) {
    const auto scale = ParseRatingRange(c.text);
    ASSERT_TRUE(scale.ok()) << c.text;
    EXPECT_EQ(scale->low_units, c.low) << c.text;
    EXPECT_EQ(scale->high_units, c.high) << c.text;
  }
  for (const char* text :
       {"", "1", "1,", ",5", "5,1", "1,1", "1;5", "1,5,9", "a,b", "nan,5",
        "0,inf", "1e0,5", "0,0.00001", "-100000.0001,0", "0,100000.0001",
        "0,99999999999999999999"}) {
    EXPECT_EQ(ReasonCode(ParseRatingRange(text).status()),
              "rating-range-out-of-range")
        << text;
  }
}

TEST(RatingText, IsWhatPeopleWrite) {
  EXPECT_EQ(RatingText(0), "0");
  EXPECT_EQ(RatingText(50000), "5");
  EXPECT_EQ(RatingText(35000), "3.5");
  EXPECT_EQ(RatingText(-1), "-0.0001");
  EXPECT_EQ(RatingText(-12005), "-1.2005");
}

}  // namespace
}  // namespace dpnmf::curator
