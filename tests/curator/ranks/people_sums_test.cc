// Sums that are made elsewhere, part by part.
#include "curator/import/people_sums.h"

#include <algorithm>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/factor/moments.h"
#include "curator/import/columns.h"
#include "curator/import/dataset_people.h"
#include "tests/curator/import/rows_import.h"
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
    facts_.max_rank = 1;
    facts_.max_rounds = 2;
  }

  std::uint64_t MomentRows() const { return rows_.empty() ? 7 : rows_.size(); }
  int Bits() const { return *BitsOfSums(facts_, MomentRows()); }

  // Makes sums as dpnmf-sums does, on rows_.
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
    sums.moment_rows = rows_;
    sums.people = matrix->users;
    sums.bits = Bits();
    sums.key_check = CheckOfKey(key_);
    sums.rows = ColumnDigests(*matrix, key_);
    for (const std::string& id : matrix->ids)
      sums.ids.push_back(FingerprintOfId(id, key_));
    NormaliseColumns(&*matrix, Normalisation::kL2, 1);
    const auto data = ToDataset(*std::move(matrix), {});
    const auto mean = ComputeMean(**data, 1, sums.bits, {});
    const auto moments = ComputeMoments(**data, rows_, 1, sums.bits, {});
    sums.sums.assign(mean->begin(), mean->end());
    sums.sums.insert(sums.sums.end(), moments->begin(), moments->end());
    SealPart(&sums);
    return sums;
  }

  // Sums of an empty file.
  PeopleSums Nobody() const {
    PeopleSums nobody;
    nobody.features = 7;
    nobody.moment_rows = rows_;
    nobody.bits = Bits();
    nobody.key_check = CheckOfKey(key_);
    nobody.sums.resize(7 + MomentRows() * (MomentRows() + 1) / 2);
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
      all = PeopleSumsText(Part(std::exchange(part, ""))) + all;
    }
    if (!part.empty()) all += PeopleSumsText(Part(part));
    return all;
  }

  ImportOptions Options(const std::string& text) const {
    ImportOptions options = RowsImport(
        data_dir_, scratch_.Write("sums.txt", text), "sums", "p", 8, 1e-5);
    options.are_sums = true;
    options.users_count = 60;
    return options;
  }

  const Scratch scratch_;
  const std::string data_dir_ = scratch_.path() + "/data";
  FingerprintKey key_{};
  DatasetFacts facts_;
  std::vector<std::uint32_t> rows_;  // of S_G; none: all
};

// Printed by `dpnmf-sums people --features 2 --users-count 2` with a key of
// zeros, of the lines "1,2" and "3,4".
constexpr char kPrinted[] =
    "dpnmf-sums 1 2 2 20 3ff0000000000000 l2 3c199be2d9e875dde5353bebf12e"
    "339f25c1755261458e185c7c2960c8c2e7f8 0 1\n"
    "sums 1098082 1776734 615725340994 967568394638 1583293739476\n"
    "row c2bc9edb54cc474e7ed383ecc4d423dab57a2079a94168530a9e2dfcc6d6ecc3"
    "\n"
    "row fa52a37618c94da02ac87df7a0465edc14b4941329eb51f86e83e68ee7869b0c"
    "\n"
    "part 9e34cc7e1e6d8d8449e70b95ee801d457099c52639dbad4145cb4bb986ebe04"
    "8\n"
    "end fddae36861821a9ec671d36acf2e3af93f63621d0199e7471b516491c572c983"
    "\n";

// The text, with the check that belongs to it.
std::string Resealed(std::string text) {
  text.resize(text.rfind("end "));
  const Digest check =
      Sha256().AddBytes(std::as_bytes(std::span(text))).Finish();
  return absl::StrCat(text, "end ", HexOf(check), "\n");
}

// Mean and second moment, with a request for these rows.
AskedRun RunOnRows(const Dataset& data, std::vector<std::uint32_t> rows,
                   std::uint32_t rounds = 2) {
  AskedRun run = RunOf(data, "moments", true);
  run.parameters.moment_rows = static_cast<std::uint32_t>(rows.size());
  run.parameters.rounds = rounds;
  const auto plan = PlanRun(run.parameters, FactsOf(data.description()));
  EXPECT_TRUE(plan.ok()) << plan.status();
  run.plan = *plan;
  for (AskedRound& round : run.rounds) {
    if (round.kind->name == "moments") round.input.rows = rows;
  }
  return run;
}

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

TEST_F(PeopleSumsTest, PartsOnRowsAddUpToTheRunOfOneProcess) {
  const auto whole = Dataset::Open(DatasetDirectory(data_dir_, "whole"));
  ASSERT_TRUE(whole.ok());
  for (const auto& [rows, lines] :
       {std::pair(std::vector<std::uint32_t>{0, 2, 3, 6}, 7),
        std::pair(std::vector<std::uint32_t>{5}, 1)}) {
    rows_ = rows;
    ImportOptions options = Options(Parts(static_cast<std::size_t>(lines)));
    options.name = absl::StrCat("on", rows.size());
    const auto imported = Import(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const std::string directory = DatasetDirectory(data_dir_, options.name);
    const auto data = Dataset::Open(directory);
    ASSERT_TRUE(data.ok()) << data.status();
    const DatasetDescription& description = (*data)->description();
    ASSERT_TRUE(description.sums.has_value());
    EXPECT_EQ(description.sums->rows, rows);
    const AskedRun run = RunOnRows(**data, rows);
    const AskedRun same = RunOnRows(**whole, rows);
    EXPECT_TRUE(CheckDataHoldsRun(description, run.parameters, run.plan).ok());
    ASSERT_EQ(run.plan.stages, same.plan.stages);
    int compared = 0;
    for (const AskedRound& round : run.rounds) {
      if (round.kind->name != "mean" && round.kind->name != "moments") continue;
      EXPECT_TRUE(
          CheckDataHoldsRound(description, round.kind->name, round.input).ok());
      const auto expected = InOneProcess(**whole)(same, round);
      const auto sums = InOneProcess(**data)(run, round);
      ASSERT_TRUE(expected.ok()) << expected.status();
      ASSERT_TRUE(sums.ok()) << sums.status();
      EXPECT_EQ(sums->parts, expected->parts) << round.kind->name;
      ++compared;
    }
    EXPECT_EQ(compared, 2);
    // Who they are does not depend on the rows.
    const std::string other = DatasetDirectory(data_dir_, "whole");
    EXPECT_EQ(ReadDescription(directory)->fingerprint,
              ReadDescription(other)->fingerprint);
    EXPECT_EQ(ReadPeople(directory)->rows, ReadPeople(other)->rows);
  }
}

TEST_F(PeopleSumsTest, OnlySumsOnRowsNameThem) {
  const std::string all = PeopleSumsText(Part(PeopleText(60, 7, false)));
  EXPECT_TRUE(absl::StartsWith(all, "dpnmf-sums 1 7 60 "));
  EXPECT_EQ(all.find("rows"), std::string::npos);
  EXPECT_TRUE(AddedSums(all)->moment_rows.empty());
  const auto printed = AddedSums(kPrinted);
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(printed->sums.size(), 5u);
  EXPECT_EQ(PeopleSumsText(*printed), kPrinted);
  rows_ = {1, 4};
  const std::string some = PeopleSumsText(Part(PeopleText(60, 7, false)));
  EXPECT_TRUE(absl::StartsWith(some, "dpnmf-sums 1 7 60 "));
  EXPECT_NE(some.find("\nrows 2 1 4\nsums "), std::string::npos);
  EXPECT_EQ(AddedSums(some)->moment_rows, rows_);
}

TEST_F(PeopleSumsTest, PartsOnOtherRowsAreNotAdded) {
  const std::string lines = PeopleText(60, 7, false);
  const std::size_t middle = lines.find('\n', lines.size() / 2) + 1;
  const auto half = [&](std::vector<std::uint32_t> rows, bool second) {
    rows_ = std::move(rows);
    return PeopleSumsText(
        Part(second ? lines.substr(middle) : lines.substr(0, middle)));
  };
  const std::string first = half({1, 4}, false);
  EXPECT_TRUE(AddedSums(first + half({1, 4}, true)).ok());
  for (const std::vector<std::uint32_t>& rows :
       {std::vector<std::uint32_t>{}, std::vector<std::uint32_t>{1, 5},
        std::vector<std::uint32_t>{1}, std::vector<std::uint32_t>{1, 4, 5}}) {
    const auto added = AddedSums(first + half(rows, true));
    EXPECT_EQ(ReasonCode(added.status()), "sums-file-malformed");
    EXPECT_NE(added.status().message().find("rows"), std::string::npos);
  }
  // Nobody is of some rows too.
  rows_ = {1, 5};
  EXPECT_EQ(ReasonCode(AddedSums(first + PeopleSumsText(Nobody())).status()),
            "sums-file-malformed");
  // The same people on other rows are the same people.
  rows_ = {1, 4};
  ASSERT_TRUE(Import(Options(Parts(60))).ok());
  rows_ = {1, 5};
  ImportOptions again = Options(Parts(60));
  again.name = "again";
  again.population = "other";
  EXPECT_EQ(ReasonCode(Import(again).status()), "data-known");
}

TEST_F(PeopleSumsTest, RowsThatAreNoneOfItsFeaturesAreRefused) {
  rows_ = {1, 4};
  const std::string text = PeopleSumsText(Part(PeopleText(60, 7, false)));
  ASSERT_EQ(Resealed(text), text);
  for (const auto& [from, to] :
       {std::pair("\nrows 2 1 4\n", "\nrows 2 4 1\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 2 4 4\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 2 1 7\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 2 1\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 2 1 4 5\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 2 1 -4\n"),
        std::pair("\nrows 2 1 4\n", "\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 3 1 4 5\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 0\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 1 4\n"),
        std::pair("\nrows 2 1 4\n", "\nrows 1025 1 4\n"),
        std::pair("\nrows 2 1 4\n", "\nrows  2 1 4\n"),
        std::pair("dpnmf-sums 1", "dpnmf-sums 2"),
        std::pair("dpnmf-sums 1", "dpnmf-sums 0"),
        std::pair("dpnmf-sums 1 7 ", "dpnmf-sums 1 4 "),
        std::pair("dpnmf-sums 1 7 ", "dpnmf-sums 1 100000001 ")}) {
    const std::string changed =
        Resealed(absl::StrReplaceAll(text, {{from, to}}));
    ASSERT_NE(changed, text) << from;
    EXPECT_EQ(ReasonCode(AddedSums(changed).status()), "sums-file-malformed")
        << from << " " << to;
  }
  // All features are not named: as many rows as features.
  PeopleSums all = Part(PeopleText(60, 7, false));
  all.moment_rows = {0, 1, 2, 3, 4, 5, 6};
  all.sums.resize(7 + 28);
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(all)).status()),
            "sums-file-malformed");
  // Each entry has the range of its kind.
  PeopleSums edge = Part(PeopleText(60, 7, false));
  const std::uint64_t largest = 60ull << edge.bits;
  edge.sums[6] = largest;
  edge.sums[7] = largest + 1;
  EXPECT_TRUE(Import(Options(PeopleSumsText(edge))).ok());
  ImportOptions beyond = Options(PeopleSumsText(edge));
  beyond.name = "beyond";
  edge.sums[6] = largest + 1;
  beyond.input = scratch_.Write("mean.txt", PeopleSumsText(edge));
  EXPECT_EQ(ReasonCode(Import(beyond).status()), "sums-file-malformed");
  edge.sums[6] = 0;
  edge.sums[7] = (largest << edge.bits) + 1;
  beyond.input = scratch_.Write("product.txt", PeopleSumsText(edge));
  EXPECT_EQ(ReasonCode(Import(beyond).status()), "sums-file-malformed");
}

TEST_F(PeopleSumsTest, TheSamePeopleHaveOneBudgetWhereverTheyWereSummed) {
  ImportOptions options = Options(Parts(13));
  options.population = "other";
  EXPECT_EQ(ReasonCode(Import(options).status()), "data-known");
}

TEST_F(PeopleSumsTest, WhatIsNotWholeOrNotOfAllPeopleIsRefused) {
  const std::string text = Parts(20);
  const std::size_t end = text.rfind("end ");
  const std::string one = PeopleSumsText(Part(PeopleText(5, 7, false)));
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
  EXPECT_EQ(ReasonCode(Import(Options(PeopleSumsText(too_much))).status()),
            "sums-file-malformed");
  PeopleSums other_key = Part(PeopleText(60, 7, false));
  other_key.key_check[0] ^= 1;
  EXPECT_EQ(ReasonCode(Import(Options(PeopleSumsText(other_key))).status()),
            "people-damaged");
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(other_key) + text).status()),
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
      return PeopleSumsText(Part(absl::StrJoin(lines, "\n") + "\n"));
    };
    const std::string a = part(0, 20), b = part(20, 20), c = part(40, 20);
    const std::string sum = PeopleSumsText(*AddedSums(a + b));
    EXPECT_EQ(code(a + a + c), "sums-duplicate") << "one for another";
    EXPECT_EQ(code(a + b + c + a), "sums-duplicate") << "retried";
    EXPECT_EQ(code(a + b + c + part(20, 20, true)), "sums-duplicate")
        << "in another order";
    EXPECT_EQ(code(a + sum + c), "sums-duplicate") << "beside its sum";
    EXPECT_EQ(code(sum + sum), "sums-duplicate");
    EXPECT_EQ(code(PeopleSumsText(*AddedSums(sum + c)) + b), "sums-duplicate")
        << "beside a sum of sums";
    EXPECT_EQ(ReasonCode(AddedSums(sum + b).status()), "sums-duplicate");
    const std::string nobody = PeopleSumsText(Nobody());
    EXPECT_TRUE(AddedSums(nobody + sum + nobody + c).ok());
  }
}

// The people in different parts: their ids tell.
TEST_F(PeopleSumsTest, NoIdIsCountedTwice) {
  const std::string a =
      PeopleSumsText(Part("p1,1,2,3,4,5,6,7\np2,1,1,1,1,1,1,1\n", true));
  const std::string same_rows =
      PeopleSumsText(Part("p3,1,2,3,4,5,6,7\np4,1,1,1,1,1,1,1\n", true));
  const std::string p2_again =
      PeopleSumsText(Part("p2,9,9,1,1,1,1,1\np5,0,0,0,0,0,0,1\n", true));
  const auto all = AddedSums(a + same_rows);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->ids.size(), 4u);
  EXPECT_EQ(ReasonCode(AddedSums(a + p2_again).status()), "sums-duplicate");
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(*all) + p2_again).status()),
            "sums-duplicate");
  // Repeated ids are refused as by import, also in one part and under another
  // digest.
  PeopleSums twice = *all;
  twice.ids[0] = twice.ids[1];
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(twice)).status()),
            "sums-duplicate");
  PeopleSums fewer = *all;
  fewer.ids.pop_back();
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(fewer)).status()),
            "sums-file-malformed");
  PeopleSums of_no_part = *all;
  of_no_part.parts.clear();
  EXPECT_EQ(ReasonCode(AddedSums(PeopleSumsText(of_no_part)).status()),
            "sums-file-malformed");
  // Without ids nothing tells whether these are the same people.
  const std::string rows = "1,2,3,4,5,6,7\n1,1,1,1,1,1,1\n";
  const auto refused =
      AddedSums(PeopleSumsText(Part(rows)) + PeopleSumsText(Part(rows)));
  EXPECT_EQ(ReasonCode(refused.status()), "sums-duplicate");
  EXPECT_NE(refused.status().message().find("--id-column"), std::string::npos);
  EXPECT_TRUE(AddedSums(PeopleSumsText(Nobody()) + a).ok());
}

TEST_F(PeopleSumsTest, OnlyMomentsOnTheirRowsCanBeMadeOfSums) {
  rows_ = {1, 4};
  ASSERT_TRUE(Import(Options(Parts(60))).ok());
  const auto data = Dataset::Open(DatasetDirectory(data_dir_, "sums"));
  ASSERT_TRUE(data.ok());
  const DatasetDescription& description = (*data)->description();
  const auto check = [&](const AskedRun& run) {
    const auto status =
        CheckDataHoldsRun(description, run.parameters, run.plan);
    EXPECT_TRUE(status.ok() || status.message().find(
                                   "2 of its 7 features (the first is 1, "
                                   "the last 4, from 0)") != std::string::npos)
        << status;
    return ReasonCode(status);
  };
  EXPECT_EQ(check(RunOnRows(**data, {1, 4})), "");
  EXPECT_EQ(check(RunOnRows(**data, {1, 4}, 3)), "sums-only");
  EXPECT_EQ(check(RunOnRows(**data, {1})), "sums-only");
  EXPECT_EQ(check(RunOnRows(**data, {1, 4, 5})), "sums-only");
  EXPECT_EQ(check(RunOf(**data, "moments", false)), "sums-only");
  EXPECT_EQ(check(RunOf(**data, "statistics", false)), "sums-only");
  // So many rows, but others: known with the round, and refused before a sum
  // is told.
  for (const std::vector<std::uint32_t>& rows :
       {std::vector<std::uint32_t>{1, 5}, std::vector<std::uint32_t>{0, 1},
        std::vector<std::uint32_t>{4}, std::vector<std::uint32_t>{}}) {
    AskedRun run = RunOnRows(**data, {1, 4});
    AskedRound& round = run.rounds[1];
    ASSERT_EQ(round.kind->name, "moments");
    round.input.rows = rows;
    EXPECT_EQ(
        ReasonCode(CheckDataHoldsRound(description, "moments", round.input)),
        "sums-only");
    EXPECT_EQ(ReasonCode(InOneProcess(**data)(run, round).status()),
              "sums-only");
  }
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
