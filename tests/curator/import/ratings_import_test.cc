// Ratings from their files to a data set and back.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/data/rated_users.h"
#include "curator/import/import.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/child_process.h"
#include "tests/curator/import/import_all.h"

namespace dpnmf::curator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RatingsImport : public testing::Test {
 protected:
  ImportOptions OptionsFor(const std::string& content) const {
    ImportOptions options;
    options.data_dir = data_dir();
    options.ratings = scratch_.Write("r.csv", content);
    options.items_file = scratch_.Write("items.txt", "x\ny\nz\n");
    options.rating_range = RatingScale{.low_units = 0, .high_units = 50000};
    options.users_count = 3;
    options.name = "d";
    options.population = "p";
    options.epsilon = 2;
    options.delta = 1e-5;
    return options;
  }

  std::string data_dir() const { return scratch_.path() + "/data"; }
  std::string directory() const { return DatasetDirectory(data_dir(), "d"); }

  std::vector<std::string> Left() const { return LeftBelow(data_dir()); }

  Scratch scratch_;
};

const char kRatings[] = "ann,z,0\nbob,y,5\nann,x,3.5\n";

TEST_F(RatingsImport, AreReadBackWithItemsAndPeople) {
  ImportOptions options = OptionsFor(kRatings);
  options.item_features_file =
      scratch_.Write("f.csv", "item,name,g\nz,Zed,a|b\nx,Ex,b\ny,Why,\n");
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->features, 3u);
  EXPECT_EQ(imported->users, 3u);
  const auto dataset = Dataset::Open(directory());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const DatasetDescription& description = (*dataset)->description();
  EXPECT_TRUE(description.sparse);
  EXPECT_EQ(description.normalisation, Normalisation::kNone);
  EXPECT_EQ(description.column_bound, 1);
  const RatingScale scale = {
      .low_units = 0, .high_units = 50000, .item_features = 2};
  EXPECT_EQ(description.ratings, scale);
  EXPECT_EQ(FactsOf(description).ratings, scale);
  EXPECT_EQ((*dataset)->private_user_count(), 3u);
  EXPECT_THAT((*dataset)->RatingsOf(0).items, ElementsAre(0, 2));
  EXPECT_THAT((*dataset)->RatingsOf(0).units, ElementsAre(35000, 0));
  EXPECT_THAT((*dataset)->RatingsOf(1).items, ElementsAre(1));
  EXPECT_THAT((*dataset)->RatingsOf(1).units, ElementsAre(50000));
  EXPECT_THAT((*dataset)->RatingsOf(2).items, IsEmpty());

  const auto items = ReadItemTable(directory(), description);
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_THAT(items->ids, ElementsAre("x", "y", "z"));
  EXPECT_THAT(items->names, ElementsAre("Ex", "Why", "Zed"));
  EXPECT_THAT(items->feature_names, ElementsAre("g=a", "g=b"));
  EXPECT_THAT(items->features, ElementsAre(0, 0, 1, 1, 0, 1));

  const auto users = RatedUsers::Read(directory(), **dataset);
  ASSERT_TRUE(users.ok()) << users.status();
  EXPECT_EQ(users->size(), 2u);
  EXPECT_EQ(users->Find("ann"), 0u);
  EXPECT_EQ(users->Find("bob"), 1u);
  EXPECT_EQ(users->Find("cid"), std::nullopt);
  EXPECT_EQ(users->IdOf(1), "bob");
}

TEST_F(RatingsImport, FilesAreOfTheOperatorAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(Import(OptionsFor(kRatings)).ok());
  umask(before);
  EXPECT_EQ(Left(), (std::vector<std::string>{
                        "datasets/d", "datasets/d/dataset.json",
                        "datasets/d/digests.json", "datasets/d/indices.npy",
                        "datasets/d/indptr.npy", "datasets/d/items.csv",
                        "datasets/d/people.bin", "datasets/d/ratings.npy",
                        "datasets/d/users.txt"}));
  for (const std::string& file : Left()) {
    struct stat facts;
    ASSERT_EQ(stat((data_dir() + "/" + file).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, S_ISDIR(facts.st_mode) ? 0700u : 0600u);
  }
  EXPECT_EQ(ReadAll(directory() + "/items.csv"), "item,name\nx,x\ny,y\nz,z\n");
  EXPECT_EQ(ReadAll(directory() + "/users.txt"), "ann\nbob\n");
  EXPECT_THAT(ReadAll(directory() + "/indptr.npy"), HasSubstr("'<i8'"));
  EXPECT_THAT(ReadAll(directory() + "/ratings.npy"), HasSubstr("'<i4'"));
}

TEST_F(RatingsImport, PeopleOfOneRatingAreDeclaredAsOfReplaceOne) {
  ImportOptions options = OptionsFor(kRatings);
  options.adjacency = Adjacency::kOneRating;
  ASSERT_TRUE(Import(options).ok());
  const auto dataset = Dataset::Open(directory());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->description().adjacency, Adjacency::kOneRating);
  EXPECT_EQ((*dataset)->description().users, 3u);
  EXPECT_EQ((*dataset)->private_user_count(), 3u);
  options.name = "e";
  options.users_count = 1;
  EXPECT_EQ(ReasonCode(Import(options).status()), "users-mismatch");
}

TEST_F(RatingsImport, TheirNumberStaysPrivateUnderAddRemoveOne) {
  ImportOptions options = OptionsFor(kRatings);
  options.adjacency = Adjacency::kAddRemoveOne;
  options.users_count = 100;
  ASSERT_TRUE(Import(options).ok());
  const auto dataset = Dataset::Open(directory());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->description().users, 100u);
  EXPECT_EQ((*dataset)->private_user_count(), 2u);
  // Room is for 2 N0 + 1024 people, as with any data.
  std::string many;
  for (int n = 0; n < 1027; ++n) absl::StrAppend(&many, "u", n, ",x,1\n");
  options = OptionsFor(many);
  options.name = "e";
  options.adjacency = Adjacency::kAddRemoveOne;
  options.users_count = 1;
  EXPECT_EQ(ReasonCode(Import(options).status()), "users-too-many");
}

TEST_F(RatingsImport, SaysWhatIsReplacedAndLeftOut) {
  ImportOptions options =
      OptionsFor("ann,z,0\nann,z,1\nann,z,2\nbob,q,1\nbob,x,1\n");
  options.drop_unlisted = true;
  std::vector<std::string> notes;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(Import(options).ok());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("later one of the same person and item: 2"));
  EXPECT_THAT(notes[1], HasSubstr("their item is not listed: 1"));
  notes.clear();
  options = OptionsFor("ann,z,0\n");
  options.name = "e";
  options.note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(Import(options).ok());
  EXPECT_THAT(notes, IsEmpty());
}

// ---- Refusals

TEST_F(RatingsImport, OptionsAreCheckedBeforeAnyFile) {
  const struct {
    const char* code;
    std::function<void(ImportOptions*)> change;
  } cases[] = {
      {"items-missing", [](auto* o) { o->items_file.clear(); }},
      {"rating-range-missing", [](auto* o) { o->rating_range.reset(); }},
      {"users-count-missing", [](auto* o) { o->users_count.reset(); }},
      {"users-count-out-of-range", [](auto* o) { o->users_count = 0; }},
      {"users-count-out-of-range",
       [](auto* o) { o->users_count = 100'000'001; }},
      {"rating-range-out-of-range",
       [](auto* o) { o->rating_range->low_units = 50000; }},
      {"ratings-mixed", [](auto* o) { o->input = "m.csv"; }},
      {"ratings-mixed", [](auto* o) { o->users_are_rows = true; }},
      {"ratings-mixed", [](auto* o) { o->header = true; }},
      {"ratings-mixed", [](auto* o) { o->label_columns = 1; }},
      {"ratings-mixed", [](auto* o) { o->features_file += 'f'; }},
      {"ratings-mixed",
       [](auto* o) { o->format = *MatrixFormatOfName("triples"); }},
      {"ratings-mixed",
       [](auto* o) { o->normalisation = Normalisation::kNone; }},
      {"ratings-mixed", [](auto* o) { o->normalisation = Normalisation::kL2; }},
      {"ratings-mixed", [](auto* o) { o->column_bound = 1; }},
      // Without ratings.
      {"input-missing", [](auto* o) { o->ratings.clear(); }},
      {"ratings-mixed",
       [](auto* o) { o->input = std::exchange(o->ratings, ""); }},
      {"ratings-mixed",
       [](auto* o) {
         o->input = std::exchange(o->ratings, "");
         o->items_file.clear();
       }},
      {"adjacency-mismatch",
       [](auto* o) {
         o->input = std::exchange(o->ratings, "");
         o->items_file.clear();
         o->rating_range.reset();
         o->users_are_rows = true;
         o->adjacency = Adjacency::kOneRating;
       }},
  };
  for (const auto& [code, change] : cases) {
    ImportOptions options = OptionsFor(kRatings);
    options.ratings = scratch_.path() + "/missing.csv";
    options.items_file = scratch_.path() + "/missing.txt";
    change(&options);
    const absl::Status status = Import(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << code;
    EXPECT_EQ(ReasonCode(status), code) << status;
  }
  EXPECT_FALSE(std::filesystem::exists(data_dir()));
}

TEST_F(RatingsImport, OfWhatIsRefusedNotEvenTheDataDirectoryStays) {
  for (const char* content : {"", "ann,x,6\n", "ann,q,1\n", "ann,x,nan\n",
                              "ann,x\n", "a,x,1\nb,x,1\nc,x,1\nd,x,1\n"}) {
    const absl::Status status = Import(OptionsFor(content)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << content;
    EXPECT_FALSE(std::filesystem::exists(data_dir())) << content;
  }
  ImportOptions options = OptionsFor(kRatings);
  options.item_features_file =
      scratch_.Write("f.csv", "item,name,g\nz,Zed,a|b\nx,Ex,b\n");
  EXPECT_EQ(ReasonCode(Import(options).status()), "features-mismatch");
  EXPECT_FALSE(std::filesystem::exists(data_dir()));
}

TEST_F(RatingsImport, AreKnownUnderAnotherPopulation) {
  ASSERT_TRUE(Import(OptionsFor(kRatings)).ok());
  // The same people in another order, with other names and another mark.
  ImportOptions options = OptionsFor("b::y::5\na::x::3.50\na::z::0.0\n");
  options.name = "e";
  options.population = "q";
  const absl::Status status = Import(options).status();
  EXPECT_EQ(ReasonCode(status), "data-known");
  EXPECT_THAT(std::string(status.message()), HasSubstr("population p"));
  // A rating of 0 is not a missing one.
  options = OptionsFor("b,y,5\na,x,3.5\n");
  options.name = "e";
  options.population = "q";
  EXPECT_TRUE(Import(options).ok());
}

TEST_F(RatingsImport, AreKnownIfTheyWereImportedAsCounts) {
  const char kOneDecimal[] = "ann,z,4.1\nbob,y,5\nann,x,3.7\n";
  ImportOptions counts = OptionsFor(kOneDecimal);
  counts.input = std::exchange(counts.ratings, "");
  counts.features_file = std::exchange(counts.items_file, "");
  counts.rating_range.reset();
  counts.format = *MatrixFormatOfName("triples");
  ASSERT_TRUE(Import(counts).ok());
  ImportOptions options = OptionsFor(kOneDecimal);
  options.name = "e";
  options.population = "q";
  EXPECT_EQ(ReasonCode(Import(options).status()), "data-known");
  options.adjacency = Adjacency::kOneRating;
  EXPECT_EQ(ReasonCode(Import(options).status()), "data-known");
}

// ---- The fingerprint

LoadedRatings Loaded() {
  LoadedRatings ratings;
  ratings.items = 3;
  ratings.indptr = {0, 2, 3};
  ratings.indices = {0, 2, 1};
  ratings.units = {35000, 0, 50000};
  return ratings;
}

TEST(RatingsFingerprint, SeesTheSetOfColumnsAndTheKey) {
  const FingerprintKey key{1}, other_key{2};
  const Digest original = FingerprintOf(Loaded(), key);
  LoadedRatings other = Loaded();
  other.indptr = {0, 1, 3};
  other.indices = {1, 0, 2};
  other.units = {50000, 35000, 0};
  other.users = {"somebody", "else"};
  EXPECT_EQ(FingerprintOf(other, key), original);
  EXPECT_NE(FingerprintOf(Loaded(), other_key), original);
  const auto changed = [&](const std::function<void(LoadedRatings*)>& change) {
    LoadedRatings ratings = Loaded();
    change(&ratings);
    return FingerprintOf(ratings, key);
  };
  EXPECT_NE(changed([](auto* r) { r->items = 4; }), original);
  EXPECT_NE(changed([](auto* r) { r->indptr = {0, 1, 3}; }), original);
  // N counts people without ratings, and is declared: not who the people are.
  EXPECT_EQ(changed([](auto* r) { r->indptr = {0, 2, 3, 3}; }), original);
  EXPECT_NE(changed([](auto* r) { r->indices[2] = 0; }), original);
  EXPECT_NE(changed([](auto* r) { r->units[0] = 35001; }), original);
  EXPECT_NE(changed([](auto* r) { r->units[1] = 1; }), original);
  EXPECT_NE(changed([](auto* r) {
              r->indptr = {0, 1, 2};
              r->indices = {0, 1};
              r->units = {35000, 50000};
            }),
            original);
}

// ---- The machine fails

TEST_F(RatingsImport, AnInterruptedOneLeavesNothingWhereverItIs) {
  ImportOptions options = OptionsFor(kRatings);
  int refused = 0;
  for (;; ++refused) {
    ASSERT_LT(refused, 20);
    int calls = 0;
    options.interrupted = [&] { return ++calls > refused; };
    const auto imported = Import(options);
    if (imported.ok()) break;
    EXPECT_EQ(ReasonCode(imported.status()), "cancelled");
    EXPECT_THAT(Left(), IsEmpty());
  }
  EXPECT_GE(refused, 3);
}

TEST_F(RatingsImport, AKilledOneLeavesNoDataSetAndTheNextOneCleansUp) {
  ImportOptions options = OptionsFor(kRatings);
  const int status = ExitStatusOf([&] {
    BetweenSteps between;
    between.before_publish = [](const DatasetImport&,
                                const DatasetDigests&) -> absl::Status {
      kill(getpid(), SIGKILL);
      return absl::OkStatus();
    };
    return Import(options, between).ok() ? 0 : 1;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(Left().size(), 9u);  // the draft and its files
  EXPECT_THAT(*DatasetNames(data_dir()), IsEmpty());
  EXPECT_TRUE(Import(options).ok());
  EXPECT_EQ(Left().size(), 9u);
}

TEST_F(RatingsImport, AFullDiskLeavesNothing) {
  std::string text;
  for (int n = 0; n < 5000; ++n) absl::StrAppend(&text, n, ",x,1\n");
  ImportOptions options = OptionsFor(text);  // ratings.npy: 20 kB
  options.users_count = 5000;
  const int status = ExitStatusOf([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    return ReasonCode(Import(options).status()) == "storage-failed" ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Left(), IsEmpty());
}

}  // namespace
}  // namespace dpnmf::curator
