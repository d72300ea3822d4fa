// `dpnmf-curator import --ratings` as an operator types it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ImportRatingsCommand : public Terminal {
 protected:
  ImportRatingsCommand() {
    scratch_.Write("items.txt", "x\ny\nz\n");
    scratch_.Write(
        "features.csv",
        "item,name,genres\nz,Zed,a|b\nx,\"Ex, the film\",b\ny,Why,\n");
    scratch_.WriteGzip("r.gz",
                       "ann::x::3.5::978300761\nbob::y::5::978300762\n"
                       "ann::x::0.5::978300763\n");
  }

  int ImportRatings(const std::string& more) {
    return Run(
        "import --name films --population people --epsilon 1 --delta 1e-6 "
        "--data-dir z " +
        more);
  }
  static constexpr char kAll[] =
      "--ratings r.gz --items items.txt --item-features features.csv "
      "--rating-range 0.5,5 --users-count 4 ";

  void ExpectNothing() {
    EXPECT_FALSE(Exists("z/datasets/films"));
    EXPECT_FALSE(Exists("z/ledger/ledger.sqlite"));
  }
};

TEST_F(ImportRatingsCommand, SaysWhatItStored) {
  ASSERT_EQ(ImportRatings(kAll), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("3 items (D) x 4 users (N), ratings from 0.5 to "
                              "5, 2 item features"));
  EXPECT_THAT(err_,
              HasSubstr("note: Ratings replaced by a later one of the same "
                        "person and item: 1."));
  EXPECT_EQ(ReadAll(scratch_.path() + "/z/datasets/films/users.txt"),
            "ann\nbob\n");
}

TEST_F(ImportRatingsCommand, ReportsItInJson) {
  ASSERT_EQ(
      ImportRatings(std::string(kAll) + "--adjacency one_rating --format json"),
      kExitOk)
      << err_;
  const Json report = Json::parse(out_);
  EXPECT_EQ(report["dataset"]["ratings"]["low_units"], 5000);
  EXPECT_EQ(report["dataset"]["ratings"]["high_units"], 50000);
  EXPECT_EQ(report["dataset"]["ratings"]["item_features"], 2);
  EXPECT_EQ(report["notes"].size(), 3u);
  EXPECT_THAT(report["notes"].dump(),
              HasSubstr("protects one rating and not a person"));
}

// Command of examples/ratings/README.md.
TEST_F(ImportRatingsCommand, TakesTheExample) {
  const std::string example = DPNMF_SOURCE_DIR "/examples/ratings/";
  ASSERT_EQ(ImportRatings("--ratings " + example + "ratings.csv.gz --items " +
                          example + "items.txt --item-features " + example +
                          "item_features.csv --rating-range 1,5 --users-count "
                          "600"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("300 items (D) x 600 users (N), ratings from 1 "
                              "to 5, 11 item features"));
  EXPECT_EQ(err_,
            "dpnmf-curator: note: Fields are separated by commas; the first "
            "line is a header (user, item, rating, day); the fourth field, a "
            "time, is not read.\n");
}

TEST_F(ImportRatingsCommand, ARangeMayBeginBelowZero) {
  scratch_.Write("signed.csv", "ann,x,-10\nbob,y,10\n");
  EXPECT_EQ(ImportRatings("--ratings signed.csv --items items.txt "
                          "--rating-range -10,10 --users-count 4"),
            kExitOk)
      << err_;
}

TEST_F(ImportRatingsCommand, NamesTheFirstTwentyLinesThatAreRefused) {
  std::string text;
  for (int i = 1; i <= 25; ++i)
    absl::StrAppend(&text, "ann,q", i, ",1\nann,x,1\n");
  scratch_.Write("bad.csv", text);
  const std::string bad =
      "--ratings bad.csv --items items.txt --rating-range 1,5 --users-count 4 ";
  EXPECT_EQ(ImportRatings(bad), kExitUsage);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 21) << err_;
  EXPECT_THAT(err_, HasSubstr("`bad.csv`, line 39, column 2: the item 'q20'"));
  EXPECT_THAT(err_, Not(HasSubstr("line 41")));
  EXPECT_THAT(err_, HasSubstr("this is the first of 25 lines that are refused. "
                              "[item-unknown]"));
  ExpectNothing();
}

TEST_F(ImportRatingsCommand, RefusesTheListOfOtherRatingsInOneSentence) {
  std::string text;
  for (int i = 1; i <= 25; ++i) absl::StrAppend(&text, "ann,q", i, ",1\n");
  scratch_.Write("bad.csv", text);
  const std::string bad =
      "--ratings bad.csv --items items.txt --rating-range 1,5 --users-count 4 ";
  EXPECT_EQ(ImportRatings(bad), kExitUsage);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  EXPECT_THAT(err_, HasSubstr("25 of 25 ratings are of items that are not in "
                              "the list of items"));
  ExpectNothing();
  EXPECT_EQ(ImportRatings(bad + "--unlisted drop"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-empty]"));
  ExpectNothing();
}

TEST_F(ImportRatingsCommand, SaysWhichFieldOfATableHasTheItems) {
  scratch_.Write("movies.csv",
                 "movieId,title\nx,\"Ex, the film\"\ny,Why\nz,Zed\n");
  scratch_.Write("headed.csv", "userId,movieId,rating\nann,x,3,5\n");
  scratch_.Write("good.csv", "userId,movieId,rating\nann,x,3\n");
  const std::string more =
      " --items movies.csv --rating-range 1,5 --users-count 4";
  EXPECT_EQ(ImportRatings("--ratings headed.csv" + more), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("`headed.csv`, line 2, column 4"));
  ExpectNothing();
  EXPECT_EQ(ImportRatings("--ratings good.csv" + more), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("3 items (D)"));
  EXPECT_THAT(err_,
              HasSubstr("note: `movies.csv`: the items are field 1 of 2 "
                        "(x, y, z); line 1 is a header (movieId, title)"));
}

TEST_F(ImportRatingsCommand, RefusesFlagsOfCounts) {
  const struct {
    const char *more, *code;
  } cases[] = {
      {"--input v.csv", "ratings-mixed"},
      {"--users rows", "ratings-mixed"},
      {"--normalise l2", "ratings-mixed"},
      {"--normalise none", "ratings-mixed"},
      {"--column-bound 2", "ratings-mixed"},
      {"--features items.txt", "ratings-mixed"},
      {"--format-in triples", "ratings-mixed"},
      {"--adjacency one_person", "usage"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ImportRatings(std::string(kAll) + c.more), kExitUsage) << c.more;
    EXPECT_THAT(err_, HasSubstr(std::string("[") + c.code + "]")) << c.more;
    ExpectNothing();
  }
  EXPECT_EQ(ImportRatings("--input v.csv --users rows --rating-range 1,5"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[ratings-mixed]"));
  EXPECT_EQ(ImportRatings(""), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-missing]"));
  EXPECT_EQ(ImportRatings("--ratings r.gz --items items.txt --users-count 4 "
                          "--rating-range 5,1"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[rating-range-out-of-range]"));
  ExpectNothing();
}

TEST_F(ImportRatingsCommand, ABackupTakesItemsAndPeopleAlong) {
  ASSERT_EQ(ImportRatings(kAll), kExitOk) << err_;
  ASSERT_EQ(Run("backup --data-dir z --output b"), kExitOk) << err_;
  ASSERT_EQ(Run("restore --from b --data-dir y --anchor-dir z.anchor"), kExitOk)
      << err_;
  for (const char* name : {"dataset.json", "indices.npy", "indptr.npy",
                           "items.csv", "ratings.npy", "users.txt"}) {
    const std::string file = std::string("/datasets/films/") + name;
    EXPECT_EQ(ReadAll(scratch_.path() + "/y" + file),
              ReadAll(scratch_.path() + "/z" + file))
        << name;
    EXPECT_THAT(ReadAll(scratch_.path() + "/b/manifest.json"),
                HasSubstr("datasets/films/" + std::string(name)));
  }
  // Files in the manifest are also checked.
  scratch_.Write("b/datasets/films/users.txt", "ann\ncid\n");
  EXPECT_EQ(Run("restore --from b --data-dir x --anchor-dir z.anchor"),
            kExitDataLoss);
  EXPECT_THAT(err_, HasSubstr("users.txt has changed"));
}

TEST_F(ImportRatingsCommand, TheDoctorReadsTheListOfPeople) {
  ASSERT_EQ(ImportRatings(kAll), kExitOk) << err_;
  Run("doctor --data-dir z --allow no --ca no --cert no --key no");
  EXPECT_THAT(out_ + err_, HasSubstr("The list of their ids can be read."));
  scratch_.Write("z/datasets/films/users.txt", "ann\nann\n");
  Run("doctor --data-dir z --allow no --ca no --cert no --key no");
  EXPECT_THAT(out_ + err_, HasSubstr("users.txt names a person twice"));
}

}  // namespace
}  // namespace dpnmf::curator
