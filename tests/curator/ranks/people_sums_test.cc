// Sums that are made elsewhere, part by part.
#include "curator/import/people_sums.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/factor/moments.h"
#include "curator/import/dataset_people.h"
#include "tests/curator/ranks/rank_fixtures.h"

namespace dpnmf::curator {
namespace {

class PeopleSumsTest : public testing::Test {
 protected:
  void SetUp() override {
    ImportPeopleOf(scratch_, data_dir_, "whole", 60, 7, false, std::nullopt);
    key_ = *LoadOrCreateFingerprintKey(data_dir_);
    facts_.features = 7;
    facts_.users = 60;
    facts_.max_rank = facts_.max_rounds = 1;
  }

  // As dpnmf-sums makes them.
  PeopleSums Part(const std::string& lines, bool ids = false) const {
    const auto path = scratch_.Write("part.csv", lines);
    LoadOptions load;
    load.header = false;
    load.label_columns = ids ? 1 : 0;
    if (ids) load.id_column = 1;
    auto matrix = LoadMatrix(path, true, load);
    EXPECT_TRUE(matrix.ok()) << matrix.status();
    PeopleSums sums;
    sums.features = 7;
    sums.people = matrix->users;
    sums.bits = *BitsOfSums(facts_);
    sums.key_check = CheckOfKey(key_);
    sums.rows = ColumnDigests(*matrix, key_);
    for (const std::string& id : matrix->ids)
      sums.ids.push_back(FingerprintOfId(id, key_));
    NormaliseColumns(&*matrix, Normalisation::kL2, 1);
    const auto data = ToDataset(*std::move(matrix), {});
    const auto mean = ComputeMean(**data, 1, sums.bits, {});
    const auto moments = ComputeMoments(**data, {}, 1, sums.bits, {});
    sums.sums.assign(mean->begin(), mean->end());
    sums.sums.insert(sums.sums.end(), moments->begin(), moments->end());
    SealPart(&sums);
    return sums;
  }

  // Of an empty file.
  PeopleSums Nobody() const {
    PeopleSums nobody;
    nobody.features = 7;
    nobody.bits = *BitsOfSums(facts_);
    nobody.key_check = CheckOfKey(key_);
    nobody.sums.resize(7 + 28);
    SealPart(&nobody);
    return nobody;
  }

  // The people in parts of so many lines.
  std::string Parts(std::size_t lines_of_a_part) const {
    const std::string text = PeopleText(60, 7, false);
    std::string all, part;
    std::size_t lines = 0;
    for (const char c : text) {
      part += c;
      if (c != '\n' || ++lines % lines_of_a_part != 0) continue;
      all = TextOf(Part(std::exchange(part, ""))) + all;
    }
    if (!part.empty()) all += TextOf(Part(part));
    return all;
  }

  ImportOptions Options(const std::string& text) const {
    ImportOptions options;
    options.data_dir = data_dir_;
    options.input = scratch_.Write("sums.txt", text);
    options.are_sums = true;
    options.users_are_rows = true;
    options.name = "sums";
    options.population = "p";
    options.users_count = 60;
    options.epsilon = 8;
    options.delta = 1e-5;
    return options;
  }

  const Scratch scratch_;
  const std::string data_dir_ = scratch_.path() + "/data";
  FingerprintKey key_{};
  DatasetFacts facts_;
};

TEST_F(PeopleSumsTest, PartsAddUpToTheRunOfOneProcess) {
  const auto whole = Dataset::Open(DatasetDirectory(data_dir_, "whole"));
  ASSERT_TRUE(whole.ok());
  AskedRun run = RunOf(**whole, "moments", false);
  const auto expected = InOneProcess(**whole)(run, run.rounds[0]);
  ASSERT_TRUE(expected.ok());
  for (const std::size_t lines : {1, 7, 60}) {
    ImportOptions options = Options(Parts(lines));
    options.name = absl::StrCat("sums", lines);
    const auto imported = Import(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const std::string directory = DatasetDirectory(data_dir_, options.name);
    const auto data = Dataset::Open(directory);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ((*data)->private_user_count(), 0u);  // no columns
    EXPECT_EQ((*data)->private_whole_count(), 60u);
    const auto sums = InOneProcess(**data)(run, run.rounds[0]);
    ASSERT_TRUE(sums.ok()) << sums.status();
    EXPECT_EQ(sums->parts, expected->parts);
    const auto mean = ComputeMean(**whole, 1, run.plan.data_bits, {});
    const auto stored = (*data)->stored_sums().first(7);
    EXPECT_EQ(std::vector<std::int64_t>(stored.begin(), stored.end()), *mean);
    // The same people as far as anybody can tell: fingerprints of both kinds.
    const std::string other = DatasetDirectory(data_dir_, "whole");
    EXPECT_EQ(ReadDescription(directory)->fingerprint,
              ReadDescription(other)->fingerprint);
    EXPECT_EQ(ReadPeople(directory)->rows, ReadPeople(other)->rows);
  }
}

TEST_F(PeopleSumsTest, TheSamePeopleHaveOneBudgetWhereverTheyWereSummed) {
  ImportOptions options = Options(Parts(13));
  options.population = "other";
  EXPECT_EQ(ReasonCode(Import(options).status()), "data-known");
}

TEST_F(PeopleSumsTest, WhatIsNotWholeOrNotOfAllPeopleIsRefused) {
  const std::string text = Parts(20);
  const std::size_t end = text.rfind("end ");
  const std::string one = TextOf(Part(PeopleText(5, 7, false)));
  for (const auto& [changed, code] :
       {std::pair(std::string(), "sums-empty"),
        std::pair(text.substr(0, end), "sums-file-malformed"),
        std::pair(text.substr(0, text.size() - 2), "sums-file-malformed"),
        std::pair(absl::StrReplaceAll(text, {{"sums ", "sums 1"}}),
                  "sums-file-malformed"),
        std::pair(text + "x", "sums-file-malformed"),
        std::pair(text + one, "users-mismatch"),
        std::pair(text + text, "sums-duplicate"),
        std::pair(one, "users-mismatch")}) {
    EXPECT_EQ(ReasonCode(Import(Options(changed)).status()), code);
  }
  ImportOptions other_bound = Options(text);
  other_bound.normalisation = Normalisation::kNone;
  other_bound.column_bound = 2;
  EXPECT_EQ(ReasonCode(Import(other_bound).status()), "sums-differ");
  PeopleSums too_much = Part(PeopleText(60, 7, false));
  too_much.sums[0] = (60ull << too_much.bits) + 1;
  EXPECT_EQ(ReasonCode(Import(Options(TextOf(too_much))).status()),
            "sums-file-malformed");
  PeopleSums other_key = Part(PeopleText(60, 7, false));
  other_key.key_check[0] ^= 1;
  EXPECT_EQ(ReasonCode(Import(Options(TextOf(other_key))).status()),
            "people-damaged");
  EXPECT_EQ(ReasonCode(AddedSums(TextOf(other_key) + text).status()),
            "sums-file-malformed");
  EXPECT_FALSE(std::filesystem::exists(DatasetDirectory(data_dir_, "sums")));
}

// Under both notions of neighbours: the number of people alone would tell of
// few of these, and under add_remove_one of none.
TEST_F(PeopleSumsTest, NoPartIsCountedTwice) {
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    facts_.adjacency = adjacency;
    const auto code = [&](const std::string& text) {
      ImportOptions options = Options(text);
      options.adjacency = adjacency;
      return ReasonCode(Import(options).status());
    };
    const auto part = [this](int first, int count, bool backwards = false) {
      std::vector<std::string> lines =
          absl::StrSplit(PeopleText(60, 7, false), '\n', absl::SkipEmpty());
      lines = {lines.begin() + first, lines.begin() + first + count};
      if (backwards) std::reverse(lines.begin(), lines.end());
      return TextOf(Part(absl::StrJoin(lines, "\n") + "\n"));
    };
    const std::string a = part(0, 20), b = part(20, 20), c = part(40, 20);
    const std::string sum = TextOf(*AddedSums(a + b));
    EXPECT_EQ(code(a + a + c), "sums-duplicate") << "one for another";
    EXPECT_EQ(code(a + b + c + a), "sums-duplicate") << "retried";
    EXPECT_EQ(code(a + b + c + part(20, 20, true)), "sums-duplicate")
        << "in another order";
    EXPECT_EQ(code(a + sum + c), "sums-duplicate") << "beside its sum";
    EXPECT_EQ(code(sum + sum), "sums-duplicate");
    EXPECT_EQ(code(TextOf(*AddedSums(sum + c)) + b), "sums-duplicate")
        << "beside a sum of sums";
    EXPECT_EQ(ReasonCode(AddedSums(sum + b).status()), "sums-duplicate");
    const std::string nobody = TextOf(Nobody());
    EXPECT_TRUE(AddedSums(nobody + sum + nobody + c).ok());
  }
}

// The people in different parts: their ids tell.
TEST_F(PeopleSumsTest, NoIdIsCountedTwice) {
  const std::string a =
      TextOf(Part("p1,1,2,3,4,5,6,7\np2,1,1,1,1,1,1,1\n", true));
  const std::string same_rows =
      TextOf(Part("p3,1,2,3,4,5,6,7\np4,1,1,1,1,1,1,1\n", true));
  const std::string p2_again =
      TextOf(Part("p2,9,9,1,1,1,1,1\np5,0,0,0,0,0,0,1\n", true));
  const auto all = AddedSums(a + same_rows);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->ids.size(), 4u);
  EXPECT_EQ(ReasonCode(AddedSums(a + p2_again).status()), "sums-duplicate");
  EXPECT_EQ(ReasonCode(AddedSums(TextOf(*all) + p2_again).status()),
            "sums-duplicate");
  // As import does, also within one part, and under another digest.
  PeopleSums twice = *all;
  twice.ids[0] = twice.ids[1];
  EXPECT_EQ(ReasonCode(AddedSums(TextOf(twice)).status()), "sums-duplicate");
  PeopleSums fewer = *all;
  fewer.ids.pop_back();
  EXPECT_EQ(ReasonCode(AddedSums(TextOf(fewer)).status()),
            "sums-file-malformed");
  PeopleSums of_no_part = *all;
  of_no_part.parts.clear();
  EXPECT_EQ(ReasonCode(AddedSums(TextOf(of_no_part)).status()),
            "sums-file-malformed");
  // Without ids nothing tells whether these are the same people.
  const std::string rows = "1,2,3,4,5,6,7\n1,1,1,1,1,1,1\n";
  const auto refused = AddedSums(TextOf(Part(rows)) + TextOf(Part(rows)));
  EXPECT_EQ(ReasonCode(refused.status()), "sums-duplicate");
  EXPECT_NE(refused.status().message().find("--id-column"), std::string::npos);
  EXPECT_TRUE(AddedSums(TextOf(Nobody()) + a).ok());
}

TEST_F(PeopleSumsTest, OnlyMomentsOfAllFeaturesCanBeMadeOfSums) {
  ASSERT_TRUE(Import(Options(Parts(60))).ok());
  const auto data = Dataset::Open(DatasetDirectory(data_dir_, "sums"));
  ASSERT_TRUE(data.ok());
  const DatasetDescription& description = (*data)->description();
  const auto check = [&](const std::string& mechanism, std::uint32_t rounds,
                         bool some_rows) {
    AskedRun run = RunOf(**data, mechanism, some_rows);
    run.parameters.rounds = rounds;
    const auto plan = PlanRun(run.parameters, FactsOf(description));
    EXPECT_TRUE(plan.ok()) << plan.status();
    return ReasonCode(CheckDataHoldsRun(description, run.parameters, *plan));
  };
  EXPECT_EQ(check("moments", 1, false), "");
  EXPECT_EQ(check("moments", 2, false), "sums-only");
  EXPECT_EQ(check("moments", 2, true), "sums-only");
  EXPECT_EQ(check("statistics", 3, false), "sums-only");
  EXPECT_EQ(check("objective", 1, false), "sums-only");
  EXPECT_EQ(check("gradient", 3, false), "sums-only");
}

}  // namespace
}  // namespace dpnmf::curator
