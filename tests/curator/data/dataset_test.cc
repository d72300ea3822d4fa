#include "curator/data/dataset.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/data/json_fields.h"
#include "curator/data/rated_users.h"
#include "curator/import/import.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

DatasetDescription Description(std::uint64_t features, std::uint64_t users) {
  DatasetDescription description;
  description.name = "d";
  description.population = "p";
  description.features = features;
  description.users = users;
  description.epsilon = 1;
  description.delta = 1e-5;
  return description;
}

TEST(Dataset, HoldsDenseColumns) {
  const auto dataset =
      Dataset::FromDense(Description(2, 3), {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->private_user_count(), 3u);
  EXPECT_FALSE((*dataset)->sparse());
  const std::span<const float> column = (*dataset)->DenseColumn(1);
  EXPECT_EQ(std::vector<float>(column.begin(), column.end()),
            (std::vector<float>{3, 4}));
}

TEST(Dataset, HoldsSparseColumns) {
  const auto dataset = Dataset::FromSparse(Description(4, 3), {0, 2, 2, 3},
                                           {0, 3, 1}, {5, 6, 7});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE((*dataset)->sparse());
  const SparseColumn column = (*dataset)->SparseColumnOf(0);
  EXPECT_EQ(std::vector<std::int32_t>(column.rows.begin(), column.rows.end()),
            (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(column.values[1], 6);
  EXPECT_EQ((*dataset)->SparseColumnOf(1).rows.size(), 0u);
  EXPECT_EQ((*dataset)->SparseColumnOf(2).values[0], 7);
}

TEST(Dataset, RefusesArraysThatDoNotFitTheDescription) {
  const DatasetDescription d = Description(2, 2);
  const absl::Status statuses[] = {
      Dataset::FromDense(Description(0, 2), {}).status(),
      Dataset::FromDense(d, {1, 2, 3}).status(),
      Dataset::FromDense(d, {1, 2}).status(),
      Dataset::FromDense(d, {}).status(),
      Dataset::FromSparse(d, {}, {}, {}).status(),
      Dataset::FromSparse(d, {0}, {}, {}).status(),
      Dataset::FromSparse(d, {0, 1}, {0}, {1}).status(),
      Dataset::FromSparse(d, {0, 1, 1}, {0}, {1, 2}).status(),
      Dataset::FromSparse(d, {1, 1, 1}, {0}, {1}).status(),
      Dataset::FromSparse(d, {0, 1, 2}, {0}, {1}).status(),
      Dataset::FromSparse(d, {0, 2, 1}, {0}, {1}).status(),
      Dataset::FromSparse(d, {0, 1, 1}, {2}, {1}).status(),
      Dataset::FromSparse(d, {0, 1, 1}, {-1}, {1}).status(),
      Dataset::FromSparse(d, {0, 2, 2}, {1, 0}, {1, 1}).status(),
      Dataset::FromSparse(d, {0, 2, 2}, {1, 1}, {1, 1}).status(),
  };
  for (const absl::Status& status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonCode(status), "dataset-malformed") << status;
  }
}

DatasetDescription RatingsDescription(std::uint64_t items,
                                      std::uint64_t users) {
  DatasetDescription description = Description(items, users);
  description.normalisation = Normalisation::kNone;
  description.sparse = true;
  description.ratings = RatingScale{.low_units = -10000, .high_units = 50000};
  return description;
}

TEST(Dataset, HoldsRatings) {
  const auto dataset = Dataset::FromRatings(
      RatingsDescription(4, 3), {0, 2, 2, 3}, {0, 3, 1}, {-10000, 0, 50000});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE((*dataset)->sparse());
  EXPECT_EQ((*dataset)->RatingsOf(0).items[1], 3);
  EXPECT_EQ((*dataset)->RatingsOf(0).units[0], -10000);
  EXPECT_EQ((*dataset)->RatingsOf(1).items.size(), 0u);
  EXPECT_EQ((*dataset)->RatingsOf(2).units[0], 50000);
}

TEST(Dataset, RefusesRatingsThatDoNotFitTheDescription) {
  const DatasetDescription d = RatingsDescription(2, 2);
  std::vector<std::int32_t> many(kMostRatingsOfAPerson + 1);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<std::int32_t>(i);
  const auto count = static_cast<std::int64_t>(many.size());
  const absl::Status statuses[] = {
      Dataset::FromRatings(Description(2, 2), {0, 1, 1}, {0}, {0}).status(),
      Dataset::FromRatings(d, {}, {}, {}).status(),
      Dataset::FromRatings(d, {0, 1}, {0}, {1}).status(),
      Dataset::FromRatings(d, {0, 1, 1}, {0}, {1, 2}).status(),
      Dataset::FromRatings(d, {0, 2, 1}, {0}, {1}).status(),
      Dataset::FromRatings(d, {0, 1, 1}, {2}, {1}).status(),
      Dataset::FromRatings(d, {0, 2, 2}, {1, 1}, {1, 1}).status(),
      Dataset::FromRatings(d, {0, 1, 1}, {0}, {-10001}).status(),
      Dataset::FromRatings(d, {0, 1, 1}, {0}, {50001}).status(),
      Dataset::FromRatings(RatingsDescription(many.size(), 1), {0, count}, many,
                           std::vector<std::int32_t>(many.size()))
          .status(),
  };
  for (const absl::Status& status : statuses)
    EXPECT_EQ(ReasonCode(status), "dataset-malformed") << status;
}

TEST(Dataset, MayHoldAnotherNumberOfUsersThanDeclaredUnderAddRemoveOne) {
  DatasetDescription description = Description(1, 100);
  description.adjacency = Adjacency::kAddRemoveOne;
  const auto dataset = Dataset::FromDense(description, {1, 2, 3});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->private_user_count(), 3u);
  EXPECT_EQ((*dataset)->description().users, 100u);
  const std::uint64_t largest = LargestUserCount(FactsOf(description));
  EXPECT_TRUE(
      Dataset::FromDense(description, std::vector<float>(largest)).ok());
  EXPECT_FALSE(
      Dataset::FromDense(description, std::vector<float>(largest + 1)).ok());
}

// Whoever may be in a share fits, and its room follows from what was declared.
TEST(Dataset, ASharesRoomIsThatOfTheDeclaredBound) {
  for (const std::uint64_t declared : {1, 10, 6'000, 31'000}) {
    DatasetDescription description = Description(1, declared);
    description.adjacency = Adjacency::kAddRemoveOne;
    const std::uint64_t most = LargestUserCount(FactsOf(description));
    for (const std::uint64_t count : {1, 2, 6, 30, 5'000}) {
      const auto room = [&](bool in_parts) {
        DatasetDescription share = description;
        share.users = UsersOfShare(description, in_parts, count);
        return LargestUserCount(FactsOf(share));
      };
      EXPECT_EQ(room(/*in_parts=*/true), most);
      for (std::uint64_t i = 0; i < count; ++i) {
        const Share share{i, count};
        ASSERT_GE(room(/*in_parts=*/false),
                  share.End(most) - share.Begin(most));
      }
    }
  }
}

TEST(Dataset, FactsAreTheDeclaredOnes) {
  DatasetDescription description = Description(64, 1797);
  description.column_bound = 3;
  description.normalisation = Normalisation::kNone;
  const DatasetFacts facts = FactsOf(description);
  EXPECT_EQ(facts.name, "d");
  EXPECT_EQ(facts.population, "p");
  EXPECT_EQ(facts.features, 64u);
  EXPECT_EQ(facts.users, 1797u);
  EXPECT_EQ(facts.column_bound, 3);
  EXPECT_EQ(facts.max_rank, 64u);
  EXPECT_EQ(facts.max_rounds, kMaxRounds);
  EXPECT_EQ(FactsOf(Description(5000, 6000)).max_rank, kMaxRank);
}

TEST(Description, SurvivesTheWayThroughJson) {
  StoredDescription stored{.description = Description(64, 1797)};
  stored.description.normalisation = Normalisation::kNone;
  stored.description.column_bound = 0.1;
  stored.description.adjacency = Adjacency::kAddRemoveOne;
  stored.description.conversion = Conversion::kGaussian;
  stored.description.delta = std::nextafter(1e-5, 1);
  stored.description.is_public = true;
  stored.description.sparse = true;
  stored.fingerprint[31] = 7;
  const auto back = StoredDescriptionOfJson(ToJson(stored));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(stored));
  EXPECT_EQ(back->description.delta, stored.description.delta);
  EXPECT_EQ(back->description.column_bound, 0.1);
  EXPECT_EQ(back->fingerprint, stored.fingerprint);
}

TEST(Description, OfOtherDataIsAsItAlwaysWas) {
  StoredDescription stored{.description = Description(64, 1797)};
  EXPECT_EQ(ToJson(stored), R"({
  "format_version": 1,
  "name": "d",
  "population": "p",
  "features": 64,
  "users": 1797,
  "normalisation": "l2",
  "column_bound": 1.0,
  "adjacency": "replace_one",
  "conversion": "rdp",
  "epsilon": 1.0,
  "delta": 1e-05,
  "public": false,
  "sparse": false,
  "fingerprint": ")" + std::string(64, '0') +
                                R"("
}
)");
}

// The fields that a data set may have, in their order.
TEST(Description, WritesItsOptionalFieldsAfterTheOthers) {
  StoredDescription stored{.description = Description(64, 1797)};
  DatasetDescription& description = stored.description;
  description.normalisation = Normalisation::kNone;
  const std::string before =
      absl::StrCat("\"fingerprint\":\"", std::string(64, '0'), "\"");
  const auto optional = [&] {
    const std::string text = ToJson(stored);
    const auto back = StoredDescriptionOfJson(text);
    EXPECT_TRUE(back.ok() && ToJson(*back) == text) << back.status();
    const std::string line = FileJson::parse(text).dump();
    return line.substr(line.find(before) + before.size());
  };
  EXPECT_EQ(optional(), "}");
  description.classes = ClassFacts{.names = {"a", "b"}, .sizes = {1000, 797}};
  description.range = EntryRange{.low = 0, .high = 1};
  description.named_features = true;
  description.partitions = {.by = "id", .names = {"feb", "jan"}};
  description.partition = "jan";
  EXPECT_EQ(optional(),
            R"(,"classes":{"names":["a","b"],"sizes":[1000,797]},)"
            R"("range":{"low":0.0,"high":1.0,"integers":false},)"
            R"("named_features":true,"partitions":"by=id names=feb,jan",)"
            R"("partition":"jan","people":")" +
                std::string(64, '0') + "\"}");
  description = RatingsDescription(64, 1797);
  description.ratings =
      RatingScale{.low_units = -5, .high_units = 50000, .item_features = 19};
  EXPECT_EQ(optional(), R"(,"ratings":{"low_units":-5,"high_units":50000,)"
                        R"("item_features":19}})");
  description = Description(64, 1797);
  description.weighted_features = true;
  EXPECT_EQ(optional(), R"(,"weighted_features":true})");
}

TEST(Description, OfRatingsSurvivesTheWayThroughJson) {
  StoredDescription stored{.description = RatingsDescription(64, 1797)};
  stored.description.adjacency = Adjacency::kOneRating;
  stored.description.ratings = RatingScale{.low_units = -kLargestRatingUnits,
                                           .high_units = kLargestRatingUnits,
                                           .item_features = 19};
  const auto back = StoredDescriptionOfJson(ToJson(stored));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(stored));
  EXPECT_EQ(back->description.ratings, stored.description.ratings);
  EXPECT_EQ(back->description.adjacency, Adjacency::kOneRating);
}

TEST(Description, OfSumsSurvivesTheWayThroughJson) {
  StoredDescription stored{.description = Description(5000, 6000)};
  // Bits are below 0 where columns are long and people are many.
  for (const StoredSums& sums : {StoredSums{.bits = 20, .rows = {0, 7, 4999}},
                                 StoredSums{.bits = -9, .rows = {4999}}}) {
    stored.description.sums = sums;
    const auto back = StoredDescriptionOfJson(ToJson(stored));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(ToJson(*back), ToJson(stored));
    EXPECT_EQ(back->description.sums, sums);
  }
  // Sums of all features name no rows.
  stored.description.features = 64;
  stored.description.sums = StoredSums{.bits = 20};
  const std::string json = ToJson(stored);
  EXPECT_NE(json.find("\"sums_bits\": 20"), std::string::npos);
  EXPECT_EQ(json.find("sums_rows"), std::string::npos);
  EXPECT_EQ(StoredDescriptionOfJson(json)->description.sums,
            stored.description.sums);
}

TEST(Description, OfSumsThatCannotBeIsDamaged) {
  StoredDescription stored{.description = Description(64, 1797)};
  stored.description.sums = StoredSums{.bits = 20, .rows = {3, 9}};
  const std::string good = ToJson(stored);
  const std::string rows = "\"sums_rows\": [\n    3,\n    9\n  ]";
  ASSERT_NE(good.find(rows), std::string::npos) << good;
  for (const char* changed :
       {"[9, 3]", "[3, 3]", "[3, 64]", "[]", "[3.5]", "[-3]", "[4294967299]",
        "[true]", "3", "{\"a\": 3}", "null", "\"3\""}) {
    const std::string text = absl::StrReplaceAll(
        good, {{rows, absl::StrCat("\"sums_rows\": ", changed)}});
    EXPECT_EQ(ReasonCode(StoredDescriptionOfJson(text).status()),
              "dataset-damaged")
        << changed;
  }
  EXPECT_EQ(ReasonCode(
                StoredDescriptionOfJson(
                    absl::StrReplaceAll(good, {{"  \"sums_bits\": 20,\n", ""}}))
                    .status()),
            "dataset-damaged")
      << "rows of no sums";
  // All features, which are too many.
  stored.description.features = 1025;
  stored.description.sums = StoredSums{.bits = 20};
  EXPECT_EQ(ReasonCode(StoredDescriptionOfJson(ToJson(stored)).status()),
            "dataset-damaged");
}

TEST(Description, WhoseFieldsDoNotGoTogetherIsDamaged) {
  using Change = void (*)(DatasetDescription&);
  const struct {
    Change change;
    std::string_view problem;
  } cases[] = {
      {[](auto& d) { d.ratings = RatingScale{}, d.sparse = false; },
       "ratings are stored sparse"},
      {[](auto& d) {
         d.ratings = RatingScale{}, d.sparse = d.named_features = true;
       },
       "ratings have items instead of names"},
      {[](auto& d) {
         d.classes = ClassFacts{.names = {"a", "b"}}, d.sparse = true;
       },
       "data with classes are stored dense"},
      {[](auto& d) {
         d.classes = ClassFacts{.names = {"a", "b"}, .sizes = {1797}};
       },
       "its classes and their sizes differ"},
      {[](auto& d) { d.sums = StoredSums{.bits = 65}; },
       "sums_bits is out of range"},
      {[](auto& d) { d.sums = StoredSums{.bits = -65}; },
       "sums_bits is out of range"},
      {[](auto& d) {
         d.sums = StoredSums{.bits = std::numeric_limits<int>::min()};
       },
       "sums_bits is out of range"},
      {[](auto& d) { d.sums = StoredSums{.rows = {64}}; },
       "sums_rows are not rows of its features"},
      {[](auto& d) { d.sums = StoredSums{.bits = 20}, d.sparse = true; },
       "sums are stored alone"}};
  for (const auto& [change, problem] : cases) {
    StoredDescription stored{.description = Description(64, 1797)};
    change(stored.description);
    const absl::Status status =
        StoredDescriptionOfJson(ToJson(stored)).status();
    EXPECT_EQ(ReasonCode(status), "dataset-damaged");
    EXPECT_EQ(status.message(),
              absl::StrCat(
                  "The file `dataset.json` is damaged: ", std::string(problem),
                  "; restore the data set from a backup or import it "
                  "again."));
  }
  for (const int bits : {-64, 64}) {
    StoredDescription stored{.description = Description(64, 1797)};
    stored.description.sums = StoredSums{.bits = bits};
    EXPECT_TRUE(StoredDescriptionOfJson(ToJson(stored)).ok()) << bits;
  }
}

TEST(Description, NamesAreShortAndPlain) {
  for (const char* name : {"a", "0", "digits-2.v_1", "a..b"})
    EXPECT_TRUE(IsName(name)) << name;
  for (const char* name :
       {"", ".", "..", ".a", "-a", "A", "a b", "a/b", "\xC3\xA4"}) {
    EXPECT_FALSE(IsName(name)) << name;
  }
  EXPECT_TRUE(IsName(std::string(64, 'a')));
  EXPECT_FALSE(IsName(std::string(65, 'a')));
}

// ---- Damage on the disk

class OpenedDataset : public testing::Test {
 protected:
  std::string ImportFile(const std::string& name, const std::string& file,
                         const std::string& content) {
    ImportOptions options =
        RowsImport(scratch_.path() + "/data", scratch_.Write(file, content),
                   name, "p", 1, 1e-5);
    const auto imported = Import(options);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return DatasetDirectory(options.data_dir, name);
  }
  std::string Dense() {
    return ImportFile("dense", "m.csv", "1,0\n0,1\n3,4\n");
  }
  std::string Sparse() {
    return ImportFile(
        "sparse", "m.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 1\n"
        "2 1 1\n");
  }

  std::string Ratings() {
    ImportOptions options;
    options.data_dir = scratch_.path() + "/data";
    options.ratings = scratch_.Write("r.csv", "ann,x,1\nann,z,2\nbob,y,4.5\n");
    options.items_file = scratch_.Write("items.txt", "x\ny\nz\n");
    options.rating_range = RatingScale{.low_units = -5000, .high_units = 50000};
    options.users_count = 3;
    options.name = "ratings";
    options.population = "q";
    options.epsilon = 1;
    options.delta = 1e-5;
    const auto imported = Import(options);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return DatasetDirectory(options.data_dir, options.name);
  }

  static void Overwrite(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  Scratch scratch_;
};

TEST_F(OpenedDataset, MapsWhatWasImported) {
  const auto dense = Dataset::Open(Dense());
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ((*dense)->private_user_count(), 3u);
  EXPECT_EQ((*dense)->DenseColumn(2)[0], 0.6f);
  EXPECT_EQ((*dense)->DenseColumn(2)[1], 0.8f);
  const auto sparse = Dataset::Open(Sparse());
  ASSERT_TRUE(sparse.ok()) << sparse.status();
  EXPECT_EQ((*sparse)->SparseColumnOf(1).rows[1], 1);
  EXPECT_EQ((*sparse)->SparseColumnOf(2).rows.size(), 0u);
}

TEST_F(OpenedDataset, IsUnknownWhereThereIsNone) {
  const absl::Status status = Dataset::Open(scratch_.path() + "/none").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonCode(status), "dataset-unknown");
}

// Replaces each `from` by `to` in one file of the data set and expects that it
// is not opened.
struct Damage {
  const char* file;
  std::string from;
  std::string to;
};

void ExpectRefused(const std::string& directory,
                   const std::vector<Damage>& damages) {
  ASSERT_TRUE(Dataset::Open(directory).ok());
  for (const Damage& damage : damages) {
    const std::string path = absl::StrCat(directory, "/", damage.file);
    const std::string good = ReadAll(path);
    std::string bad =
        damage.from.empty()
            ? good + damage.to
            : absl::StrReplaceAll(good, {{damage.from, damage.to}});
    ASSERT_NE(bad, good) << damage.from;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    const absl::Status status = Dataset::Open(directory).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << damage.from;
    EXPECT_EQ(ReasonCode(status), "dataset-damaged") << status;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good;
  }
  EXPECT_TRUE(Dataset::Open(directory).ok());
  for (const Damage& damage : damages) {
    const std::string path = absl::StrCat(directory, "/", damage.file);
    if (std::string(damage.file) == "dataset.json") continue;
    std::filesystem::rename(path, path + ".away");
    EXPECT_EQ(ReasonCode(Dataset::Open(directory).status()), "dataset-damaged");
    std::filesystem::rename(path + ".away", path);
  }
}

std::string Bytes(const auto& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

TEST_F(OpenedDataset, IsRefusedIfItsDescriptionIsDamaged) {
  ExpectRefused(
      Dense(),
      {
          {"dataset.json", "\"features\": 2", "\"features\": 3"},
          {"dataset.json", "\"features\": 2", "\"features\": -2"},
          {"dataset.json", "\"features\": 2", "\"features\": \"2\""},
          {"dataset.json", "\"features\": 2", "\"features\": 2.5"},
          {"dataset.json", "\"users\": 3", "\"users\": 4"},
          {"dataset.json", "\"users\": 3", "\"users\": 3e0"},
          {"dataset.json", "\"format_version\": 1", "\"format_version\": true"},
          {"dataset.json", "\"users\": 3", "\"users\": 0"},
          {"dataset.json", "\"l2\"", "\"l1\""},
          {"dataset.json", "\"population\": \"p\"", "\"population\": \"P\""},
          {"dataset.json", "\"epsilon\": 1.0", "\"epsilon\": 0.0"},
          {"dataset.json", "\"column_bound\": 1.0", "\"column_bound\": 2.0"},
          {"dataset.json", "\"sparse\": false", "\"sparse\": true"},
          {"dataset.json", "\"sparse\"", "\"spares\""},
          {"dataset.json", "\"format_version\": 1", "\"format_version\": 2"},
          {"dataset.json", "}", ""},
          {"dataset.json", "", "x"},
      });
}

TEST_F(OpenedDataset, IsRefusedIfItsDenseArrayIsDamaged) {
  ExpectRefused(Dense(), {
                             {"values.npy", "(2, 3)", "(3, 2)"},
                             {"values.npy", "(2, 3)", "(2, 4)"},
                             {"values.npy", "<f4", "<i4"},
                             {"values.npy", "': True", "':False"},
                             {"values.npy", "NUMPY", "NUMPX"},
                             {"values.npy", "", "abcd"},
                         });
}

TEST_F(OpenedDataset, IsRefusedIfItsSparseArraysAreDamaged) {
  using Indptr = std::array<std::int64_t, 4>;
  using Indices = std::array<std::int32_t, 3>;
  const std::string indptr = Bytes(Indptr{0, 1, 3, 3}),
                    indices = Bytes(Indices{0, 0, 1});
  ExpectRefused(Sparse(),
                {
                    {"indptr.npy", indptr, Bytes(Indptr{0, 3, 1, 3})},
                    {"indptr.npy", indptr, Bytes(Indptr{0, 1, 3, 4})},
                    {"indptr.npy", indptr, Bytes(Indptr{0, 1, 3, 2})},
                    {"indptr.npy", indptr, Bytes(Indptr{1, 1, 3, 3})},
                    {"indptr.npy", indptr, Bytes(Indptr{0, 100, 3, 3})},
                    {"indptr.npy", indptr, Bytes(Indptr{0, -1, 3, 3})},
                    {"indices.npy", indices, Bytes(Indices{0, 0, 2})},
                    {"indices.npy", indices, Bytes(Indices{0, 1, 0})},
                    {"indices.npy", indices, Bytes(Indices{0, 1, 1})},
                    {"indices.npy", indices, Bytes(Indices{-1, 0, 1})},
                    {"data.npy", "(3,)", "(2,)"},
                    {"indices.npy", "<i4", "<i8"},
                });
}

TEST_F(OpenedDataset, IsRefusedIfItsRatingsAreDamaged) {
  using Indptr = std::array<std::int64_t, 4>;
  using Entries = std::array<std::int32_t, 3>;
  const std::string indptr = Bytes(Indptr{0, 2, 3, 3}),
                    indices = Bytes(Entries{0, 2, 1}),
                    ratings = Bytes(Entries{10000, 20000, 45000});
  ExpectRefused(
      Ratings(),
      {
          {"indptr.npy", indptr, Bytes(Indptr{0, 3, 2, 3})},
          {"indptr.npy", indptr, Bytes(Indptr{0, 2, 3, 4})},
          {"indptr.npy", indptr, Bytes(Indptr{1, 2, 3, 3})},
          {"indptr.npy", "(4,)", "(3,)"},
          {"indices.npy", indices, Bytes(Entries{2, 0, 1})},
          {"indices.npy", indices, Bytes(Entries{0, 0, 1})},
          {"indices.npy", indices, Bytes(Entries{0, 3, 1})},
          {"indices.npy", indices, Bytes(Entries{-1, 2, 1})},
          {"ratings.npy", ratings, Bytes(Entries{10000, 50001, 45000})},
          {"ratings.npy", ratings, Bytes(Entries{10000, -5001, 45000})},
          {"ratings.npy", "(3,)", "(2,)"},
          {"ratings.npy", "<i4", "<f4"},
          {"ratings.npy", "", "abcd"},
          {"dataset.json", "\"ratings\"", "\"rating\""},
          {"dataset.json", "\"low_units\": -5000", "\"low_units\": 50000"},
          {"dataset.json", "\"low_units\": -5000", "\"low_units\": 10001"},
          {"dataset.json", "\"low_units\": -5000", "\"low_units\": 0.5"},
          {"dataset.json", "\"low_units\": -5000", "\"low_units\": true"},
          {"dataset.json", "\"low_units\": -5000",
           "\"low_units\": -1000000001"},
          {"dataset.json", "\"low_units\": -5000",
           "\"low_units\": 18446744073709546616"},
          {"dataset.json", "\"high_units\": 50000",
           "\"high_units\": 1000000001"},
          {"dataset.json", "\"high_units\": 50000",
           "\"high_units\": 50000, \"more\": 1"},
          {"dataset.json", "\"item_features\": 0", "\"item_features\": 1001"},
          {"dataset.json", "\"item_features\": 0", "\"item_features\": -1"},
          {"dataset.json", "\"item_features\"", "\"item_feature\""},
          {"dataset.json", "\"sparse\": true", "\"sparse\": false"},
          {"dataset.json", "\"none\"", "\"l2\""},
          {"dataset.json", "\"column_bound\": 1.0", "\"column_bound\": 2.0"},
          {"dataset.json", "\"users\": 3", "\"users\": 4"},
          {"dataset.json", "\"features\": 3", "\"features\": 2"},
      });
}

TEST_F(OpenedDataset, OfCountsIsRefusedUnderOneRating) {
  ExpectRefused(Sparse(),
                {{"dataset.json", "\"replace_one\"", "\"one_rating\""}});
}

TEST_F(OpenedDataset, ItsPeopleAreRefusedIfTheirListIsDamaged) {
  const std::string directory = Ratings();
  const auto dataset = Dataset::Open(directory);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const std::string path = directory + "/users.txt";
  for (const char* good : {"ann\nbob\n", "ann\nbob\ncy\n", "a\n b\r\n\xff\n"}) {
    Overwrite(path, good);
    EXPECT_TRUE(RatedUsers::Read(directory, **dataset).ok()) << good;
  }
  for (const char* bad :
       {"ann\nbob", "\n", "ann\n\n", "ann\nann\n", "a\nb\nc\nd\n",
        // A line is lost: bob would get ann's column.
        "bob\n", "ann\n", ""}) {
    Overwrite(path, bad);
    const absl::Status status = RatedUsers::Read(directory, **dataset).status();
    EXPECT_EQ(ReasonCode(status), "dataset-damaged") << bad;
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(ReasonCode(RatedUsers::Read(directory, **dataset).status()),
            "dataset-damaged");
}

TEST_F(OpenedDataset, NamesAreSortedAndHalfWrittenOnesAreNotSeen) {
  const std::string data_dir = scratch_.path() + "/data";
  EXPECT_TRUE(DatasetNames(data_dir)->empty());
  Sparse();
  Dense();
  std::filesystem::create_directory(data_dir + "/datasets/.import-x");
  std::filesystem::create_directory(data_dir + "/datasets/empty");
  EXPECT_EQ(*DatasetNames(data_dir),
            (std::vector<std::string>{"dense", "sparse"}));
}

}  // namespace
}  // namespace dpnmf::curator
