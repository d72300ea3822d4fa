// Data sets whose people are imported in parts, each on a machine of its own.
#include <filesystem>
#include <set>
#include <span>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "curator/data/shards.h"
#include "curator/import/dataset_people.h"
#include "curator/import/part.h"
#include "curator/ranks/rank_job.h"
#include "gmock/gmock.h"
#include "tests/curator/each_mechanism.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/ranks/in_shares.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PartsTest : public testing::Test {
 protected:
  PartsTest() {
    for (const std::string& machine : {curator_, other_}) GiveKey(machine, 'k');
  }

  // A machine's data directory has that key.
  static void GiveKey(const std::string& data_dir, char byte) {
    fs::create_directories(data_dir);
    std::ofstream(data_dir + "/fingerprint.key") << std::string(32, byte);
  }

  ImportOptions OptionsOf(const std::string& data_dir, const std::string& range,
                          const std::string& text) {
    ImportOptions options = RowsImport(
        data_dir,
        scratch_.Write(absl::StrCat("in", ++files_,
                                    text.starts_with("%%") ? ".mtx" : ".csv"),
                       text),
        "p", "p", 8, 1e-5);
    options.shard_of = ParsePartRange(range).value();
    return options;
  }
  void ImportRange(const std::string& data_dir, const std::string& range,
                   const std::string& text) {
    const auto part = ImportPart(OptionsOf(data_dir, range, text));
    ASSERT_TRUE(part.ok()) << part.status();
  }
  // With ids in the first field.
  void ImportRangeWithIds(const std::string& range, const std::string& text) {
    ImportOptions options = OptionsOf(curator_, range, text);
    options.label_columns = options.id_column = 1;
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
  }
  // The file that another machine's record is copied to.
  void CopyRecord(const std::string& range) {
    fs::create_directories(PartsDirectory(curator_, "p"));
    fs::copy_file(PartsDirectory(other_, "p") + "/" + range + ".part",
                  Record(range));
  }
  std::string Record(const std::string& range) const {
    return PartsDirectory(curator_, "p") + "/" + range + ".part";
  }

  // Writes `to` for `from` into a record that stays whole.
  void Rewrite(const std::string& range, const std::string& from,
               const std::string& to) {
    std::string body = ReadAll(Record(range));
    body.resize(body.size() - sizeof(Digest));
    const std::string changed = absl::StrReplaceAll(body, {{from, to}});
    ASSERT_NE(changed, body);
    const Digest check =
        Sha256().AddBytes(std::as_bytes(std::span(changed))).Finish();
    std::ofstream(Record(range), std::ios::binary)
        << changed << std::string(check.begin(), check.end());
  }

  absl::Status Join(bool accept_equal_rows = false) {
    ImportOptions options;
    options.data_dir = curator_;
    options.name = std::string("p");
    options.accept_equal_rows = accept_equal_rows;
    options.note = [this](const std::string& note) { notes_.push_back(note); };
    DPNMF_RETURN_IF_ERROR(TakeDeclarationOfParts(&options));
    return Import(options).status();
  }
  std::string JoinCode(bool accept_equal_rows = false) {
    const std::string code = ReasonCode(Join(accept_equal_rows));
    if (!code.empty() && code != "dataset-exists") {
      EXPECT_FALSE(fs::exists(DatasetDirectory(curator_, "p"))) << code;
    }
    return code;
  }

  const Scratch scratch_;
  const std::string curator_ = scratch_.path() + "/curator",
                    other_ = scratch_.path() + "/other";
  std::vector<std::string> notes_;
  int files_ = 0;
};

// Three parts of different sizes on two machines; nobody reads all people but
// the import that they are compared with.
TEST_F(PartsTest, OnTwoMachinesGiveTheBitsAndTheFingerprintOfOneImport) {
  for (const bool sparse : {false, true}) {
    SCOPED_TRACE(sparse);
    for (const std::string& machine : {curator_, other_})
      for (const char* kind : {"/parts", "/datasets"})
        fs::remove_all(machine + kind);
    const std::string one = scratch_.path() + (sparse ? "/one-s" : "/one-d"),
                      both = scratch_.path() + (sparse ? "/both-s" : "/both-d");
    GiveKey(one, 'k');
    ImportPeopleOf(scratch_, one, "p", 133, 23, sparse, std::nullopt);
    const auto text = [&](int first, int count) {
      return PartText(133, 23, sparse, first, count);
    };
    ImportRange(curator_, "1-40/133", text(0, 40));
    ImportRange(other_, "41-50/133", text(40, 10));
    ImportRange(other_, "51-133/133", text(50, 83));
    for (const char* range : {"41-50", "51-133"}) CopyRecord(range);
    ASSERT_TRUE(Join().ok()) << Join();
    const std::string joined = DatasetDirectory(curator_, "p");
    fs::create_directories(DatasetDirectory(other_, "p"));
    for (const char* file : {"/dataset.json", "/shards.json", "/digests.json"})
      fs::copy_file(joined + file, DatasetDirectory(other_, "p") + file);
    for (const std::string& machine : {curator_, other_})
      fs::copy(machine, both,
               fs::copy_options::recursive | fs::copy_options::skip_existing);

    const std::string alone = DatasetDirectory(one, "p");
    EXPECT_EQ(ReadAll(joined + "/dataset.json"),
              ReadAll(alone + "/dataset.json"));
    EXPECT_EQ(ReadPeople(joined).value(), ReadPeople(alone).value());
    const auto parts = Dataset::Open(joined), whole = Dataset::Open(alone);
    ASSERT_TRUE(parts.ok() && whole.ok()) << parts.status();
    EXPECT_EQ((*parts)->private_user_count(), 0u);
    EXPECT_EQ((*parts)->private_whole_count(), 133u);
    EXPECT_EQ(ReasonCode(CheckHasColumns(**parts)), "ranks-needed");
    EXPECT_TRUE(CheckHasColumns(**whole).ok());
    std::uint64_t nonzeros = 0;
    for (std::uint64_t n = 0; sparse && n < 133; ++n)
      nonzeros += (*whole)->SparseColumnOf(n).values.size();
    EXPECT_EQ((*parts)->private_part_nonzeros(), nonzeros);

    for (const std::uint64_t count : {1, 2, 3, 4, 6, 7, 200}) {
      // With a rank a part, or two, every rank is where its part is.
      const auto place = [&](std::uint64_t rank) {
        if (count != 3 && count != 6) return both;
        return rank < count / 3 ? curator_ : other_;
      };
      const int compared = ExpectTheBitsOfOneProcess(**whole, [&] {
        const ComputeRound compute =
            InShares(place, **parts, count, static_cast<int>(1 + count % 3));
        return compute;
      });
      EXPECT_EQ(compared, kRounds) << count;
    }
    // The other machine's people are not here.
    EXPECT_EQ(ReasonCode(Dataset::OpenShare(joined, {1, 3}).status()),
              "dataset-damaged");
    EXPECT_TRUE(Dataset::OpenShare(joined, {0, 3}).ok());
  }
}

TEST_F(PartsTest, HaveEveryPersonOnce) {
  EXPECT_EQ(JoinCode(), "parts-missing");
  ImportRange(curator_, "3-4/5", "3,4\n4,5\n");
  EXPECT_EQ(JoinCode(), "parts-missing") << "the first";
  ImportRange(curator_, "1-1/5", "1,2\n");
  EXPECT_THAT(std::string(Join().message()), HasSubstr("people 2-2 are in no"));
  EXPECT_EQ(JoinCode(), "parts-missing") << "the second";
  ImportRange(curator_, "2-2/5", "2,3\n");
  EXPECT_THAT(std::string(Join().message()), HasSubstr("people 5-5 are in no"));
  EXPECT_EQ(JoinCode(), "parts-missing") << "the last";
  ImportRange(other_, "4-5/5", "9,8\n6,7\n");
  CopyRecord("4-5");
  EXPECT_EQ(JoinCode(), "parts-overlap");
  fs::remove(Record("4-5"));
  ImportRange(curator_, "5-5/5", "5,6\n");
  EXPECT_EQ(JoinCode(), "");
  EXPECT_EQ(JoinCode(), "dataset-exists");
}

// The parts do not know that people of the population are partitioned: the data
// set is in no partition, and its runs are charged to all.
TEST_F(PartsTest, MayBeOfAPopulationWhosePeopleArePartitioned) {
  ImportRange(curator_, "1-2/3", "1,2\n2,3\n");
  ImportRange(curator_, "3-3/3", "3,4\n");
  ImportOptions options;
  options.data_dir = curator_;
  options.name = std::string("p");
  ASSERT_TRUE(TakeDeclarationOfParts(&options).ok());
  options.partitions = {"id", {"jan", "feb"}};  // as the ledger has them
  const auto joined = Import(options);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->partitions.names.size(), 2u);
  EXPECT_EQ(joined->partition, "");
  const auto share =
      Dataset::OpenShare(DatasetDirectory(curator_, "p"), {0, 1});
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ((*share)->private_user_count(), 3u);
}

TEST_F(PartsTest, HaveNobodyInTwoOfThem) {
  ImportRange(curator_, "1-2/4", "1,2\n3,4\n");
  ImportRange(curator_, "3-4/4", "1,2\n5,6\n");
  EXPECT_EQ(JoinCode(), "parts-duplicate");
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(JoinCode(true), "");
  EXPECT_EQ(absl::StrJoin(notes_, "; "),
            "Rows in two parts, taken for different people: 1");
}

TEST_F(PartsTest, OfTheSamePeopleAreNeverTaken) {
  ImportRange(curator_, "1-2/4", "1,2\n3,4\n");
  ImportRange(curator_, "3-4/4", "3,4\n1,2\n");
  EXPECT_EQ(JoinCode(true), "parts-duplicate");
}

TEST_F(PartsTest, AreToldApartByIdsWhateverTheRows) {
  ImportRangeWithIds("1-2/4", "a,1,2\nb,3,4\n");
  ImportRangeWithIds("3-4/4", "c,1,2\nd,5,6\n");
  EXPECT_EQ(JoinCode(), "");
  EXPECT_EQ(absl::StrJoin(notes_, "; "),
            "Rows in two parts, taken for different people because their ids "
            "differ: 1");
}

TEST_F(PartsTest, WithAnIdInTwoOfThemAreNeverTaken) {
  ImportRangeWithIds("1-2/4", "a,1,2\nb,3,4\n");
  ImportRangeWithIds("3-4/4", "c,7,8\na,5,6\n");
  EXPECT_EQ(JoinCode(true), "parts-duplicate");
}

TEST_F(PartsTest, MustBeDeclaredAlike) {
  ImportRange(curator_, "1-2/4", "1,2\n3,4\n");
  const auto differs = [&](const char* field, const char* range, auto change,
                           const char* text = "5,6\n7,8\n") {
    ImportOptions options = OptionsOf(other_, range, text);
    change(&options);
    fs::remove_all(PartsDirectory(other_, "p"));
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
    fs::remove(Record("3-4"));
    CopyRecord("3-4");
    const absl::Status joined = Join();
    EXPECT_EQ(ReasonCode(joined), "parts-differ") << field;
    EXPECT_THAT(std::string(joined.message()),
                HasSubstr(std::string("differ in ") + field + ":"));
  };
  using O = ImportOptions;
  const auto nothing = [](O*) {};
  const std::string names = scratch_.Write("names", "x\ny\n");
  differs("population", "3-4/4", [](O* o) { o->population = "q"; });
  differs("epsilon", "3-4/4", [](O* o) { o->epsilon = 7; });
  differs("delta", "3-4/4", [](O* o) { o->delta = 1e-6; });
  differs("conversion", "3-4/4",
          [](O* o) { o->conversion = Conversion::kGaussian; });
  differs("adjacency", "3-4/4", [](O* o) {
    o->adjacency = Adjacency::kAddRemoveOne;
    o->users_count = 4;
  });
  differs("normalisation", "3-4/4", [](O* o) {
    o->normalisation = Normalisation::kNone;
    o->column_bound = 1;
  });
  differs("public", "3-4/4", [](O* o) { o->is_public = true; });
  differs("features", "3-4/4", nothing, "5,6,7\n7,8,9\n");
  differs("sparse", "3-4/4", nothing,
          "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1\n");
  differs("users", "3-4/5", nothing);
  differs("names of the features", "3-4/4",
          [&](O* o) { o->features_file = names; });
  differs(
      "--id-column", "3-4/4", [](O* o) { o->label_columns = o->id_column = 1; },
      "a,5,6\nb,7,8\n");
}

// Options were taken from a record, then others were copied over it.
TEST_F(PartsTest, MustDeclareWhatTheOptionsDo) {
  ImportRange(curator_, "1-2/2", "1,2\n3,4\n");
  const auto differs = [&](const char* field, auto change) {
    ImportOptions joined;
    joined.data_dir = curator_;
    joined.name = std::string("p");
    ASSERT_TRUE(TakeDeclarationOfParts(&joined).ok());
    ImportOptions options = OptionsOf(other_, "1-2/2", "1,2\n3,4\n");
    change(&options);
    fs::remove_all(PartsDirectory(other_, "p"));
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
    const std::string before = ReadAll(Record("1-2"));
    fs::remove(Record("1-2"));
    CopyRecord("1-2");
    const absl::Status status = Import(joined).status();
    EXPECT_EQ(ReasonCode(status), "parts-differ") << field;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("1-2 declares ", field, " otherwise")));
    std::ofstream(Record("1-2"), std::ios::binary) << before;
  };
  using O = ImportOptions;
  differs("population", [](O* o) { o->population = "q"; });
  differs("epsilon", [](O* o) { o->epsilon = 7; });
  differs("adjacency", [](O* o) {
    o->adjacency = Adjacency::kAddRemoveOne;
    o->users_count = 2;
  });
  differs("normalisation", [](O* o) {
    o->normalisation = Normalisation::kNone;
    o->column_bound = 9;
  });
  EXPECT_EQ(JoinCode(), "");
}

TEST_F(PartsTest, WithADeclarationThatAnImportCannotTakeAreNotTaken) {
  ImportRange(curator_, "1-2/2", "1,2\n3,4\n");
  Rewrite("1-2", "\"sparse\":false",
          "\"sparse\":false,\"weighted_features\":true");
  const absl::Status status = Join();
  EXPECT_EQ(ReasonCode(status), "parts-differ");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("declares weighted_features otherwise"));
  EXPECT_FALSE(fs::exists(DatasetDirectory(curator_, "p")));
}

TEST_F(PartsTest, DeclareNothingBeforeTheirRecordIsKnownToBeWhole) {
  ImportRange(curator_, "1-2/2", "1,2\n3,4\n");
  const std::string whole = ReadAll(Record("1-2"));
  std::ofstream(Record("1-2"), std::ios::binary)
      << absl::StrReplaceAll(whole, {{"\"epsilon\":8", "\"epsilon\":9"}});
  ASSERT_NE(ReadAll(Record("1-2")), whole);
  ImportOptions options;
  options.data_dir = curator_;
  options.name = std::string("p");
  EXPECT_EQ(ReasonCode(TakeDeclarationOfParts(&options)), "part-damaged");
  EXPECT_EQ(options.epsilon, 0);
}

TEST_F(PartsTest, MustHaveTheCuratorsKey) {
  GiveKey(other_, 'x');
  ImportRange(curator_, "1-2/4", "1,2\n3,4\n");
  ImportRange(other_, "3-4/4", "5,6\n7,8\n");
  CopyRecord("3-4");
  EXPECT_EQ(JoinCode(), "people-damaged");
  fs::remove(other_ + "/fingerprint.key");
  EXPECT_EQ(
      ReasonCode(ImportPart(OptionsOf(other_, "1-2/4", "1,2\n3,4\n")).status()),
      "fingerprint-key-missing");
  EXPECT_FALSE(fs::exists(other_ + "/fingerprint.key"));
}

TEST_F(PartsTest, WithADamagedRecordAreNotTaken) {
  ImportRange(curator_, "1-2/2", "1,2\n3,4\n");
  const std::string whole = ReadAll(Record("1-2"));
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(Record("1-2"), std::ios::binary) << damaged;
    EXPECT_EQ(JoinCode(), "part-damaged") << i;
    std::ofstream(Record("1-2"), std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(JoinCode(), "part-damaged") << i;
  }
  std::ofstream(Record("1-2"), std::ios::binary) << whole;
  EXPECT_EQ(JoinCode(), "");
}

TEST_F(PartsTest, AreKnownUnderTheirPopulation) {
  ImportRange(curator_, "1-2/3", "1,2\n3,4\n");
  ImportRange(curator_, "3-3/3", "5,6\n");
  ASSERT_EQ(JoinCode(), "");
  ImportOptions again = OptionsOf(curator_, "1-3/3", "5,6\n1,2\n3,4\n");
  again.shard_of.reset();
  again.name = again.population = std::string("q");
  EXPECT_EQ(ReasonCode(Import(again).status()), "data-known");
}

TEST_F(PartsTest, MayHaveAPrivateNumberOfPeople) {
  const auto import = [&](const char* range, const char* text) {
    ImportOptions options = OptionsOf(curator_, range, text);
    options.adjacency = Adjacency::kAddRemoveOne;
    options.users_count = 10;
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
  };
  import("1-2/3", "1,2\n3,4\n");
  import("3-3/3", "5,6\n");
  ASSERT_EQ(JoinCode(), "");
  const auto data = Dataset::Open(DatasetDirectory(curator_, "p"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->description().users, 10u);
  EXPECT_EQ((*data)->private_whole_count(), 3u);
}

// Every round that ranks compute, of every mechanism, has the sums of one
// process over `whole`.
void ExpectTheSumsOfEachMechanism(const Dataset& whole, const Dataset& parts,
                                  const std::string& data_dir,
                                  std::uint64_t shares) {
  const DatasetFacts facts = FactsOf(parts.description());
  std::set<std::string_view> compared, by_ranges;
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    for (const ReleaseKind& kind : mechanism->releases)
      if (kind.by_ranges) by_ranges.insert(kind.name);
    if (DataFor(mechanism->name) != Holds::kColumns) continue;
    AskedRun run;
    run.parameters = RunOfEach(std::string(mechanism->name), facts, 2, 2);
    run.plan = PlanRun(run.parameters, facts).value();
    const ComputeRound here = InOneProcess(whole);
    const ComputeRound there = InShares([&](std::uint64_t) { return data_dir; },
                                        parts, shares, /*threads=*/1);
    for (std::uint32_t round = 1; round <= run.parameters.rounds; ++round) {
      const StagePlan& stage = run.plan.StageOf(round);
      const ReleaseKind& kind = ReleaseKindOf(stage.release);
      if (!RankJob::Computes(kind, parts.description())) continue;
      SCOPED_TRACE(kind.name);
      const AskedRound asked{
          &kind, InputOf(stage.release, run.parameters, facts), stage.parts};
      const auto sums = there(run, asked);
      ASSERT_TRUE(sums.ok()) << sums.status();
      EXPECT_EQ(sums->parts, here(run, asked)->parts);
      compared.insert(kind.name);
    }
  }
  EXPECT_EQ(compared, by_ranges);
}

// Under add_remove_one the sizes of parts are private. A share with less room
// than its part fills would refuse the round: a free answer about the sizes.
TEST_F(PartsTest, OfAnySizesAreComputedWithUnderAddRemoveOne) {
  struct Split {
    std::uint64_t private_count, shares;
    std::vector<int> sizes;
  };
  const std::vector<Split> splits = {
      {6000, 6, {3024, 600, 600, 600, 600, 600}},
      {6000, 6, {600, 600, 600, 600, 600, 3025}},
      {6000, 6, {1, 1, 13'019, 1, 1, 1}},  // 2 N0 + 1,024 people
      {6000, 6, {1, 1, 1, 1, 1, 1}},
      {6000, 4, {5'000, 2, 8'000}},
      {6000, 2, {13'024}},
      {10, 3, {1, 1'042, 1}},
      {31'000, 30, std::vector<int>(10, 6'300)},
  };
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const auto& [private_count, shares, sizes] = splits[i];
    SCOPED_TRACE(absl::StrCat("parts of ", absl::StrJoin(sizes, ", ")));
    const std::string data_dir = absl::StrCat(scratch_.path(), "/split", i);
    const int people = std::accumulate(sizes.begin(), sizes.end(), 0);
    ImportPartsOf(scratch_, data_dir, "p", sizes, 3, /*sparse=*/false,
                  private_count);
    ImportPeopleOf(scratch_, data_dir, "whole", people, 3, /*sparse=*/false,
                   std::nullopt, private_count);
    const auto parts = Dataset::Open(DatasetDirectory(data_dir, "p"));
    const auto whole = Dataset::Open(DatasetDirectory(data_dir, "whole"));
    ASSERT_TRUE(parts.ok() && whole.ok()) << parts.status() << whole.status();
    ExpectTheSumsOfEachMechanism(**whole, **parts, data_dir, shares);
  }
}

TEST_F(PartsTest, AreImportedOnceAndAfterAKillAgain) {
  const auto import = [&] {
    return ReasonCode(
        ImportPart(OptionsOf(curator_, "1-2/2", "1,2\n3,4\n")).status());
  };
  EXPECT_EQ(import(), "");
  EXPECT_EQ(import(), "part-exists");
  // Killed before it wrote the record.
  fs::remove(Record("1-2"));
  std::ofstream(PartsDirectory(curator_, "p") + "/1-2/values.npy") << "rest";
  EXPECT_EQ(JoinCode(), "parts-missing");
  EXPECT_EQ(import(), "");
  EXPECT_EQ(JoinCode(), "");
  EXPECT_TRUE(Dataset::OpenShare(DatasetDirectory(curator_, "p"), {0, 1}).ok());
}

TEST_F(PartsTest, LeaveNoDraftOfAKilledImportWhateverTheNextName) {
  const auto leave = [&](const char* name) {
    const std::string draft = PartsDirectory(curator_, name) + "/.import-7";
    fs::create_directories(draft);
    std::ofstream(draft + "/values.npy") << "people";
    return draft;
  };
  const std::string part = PartsDirectory(curator_, "gone") + "/1-2";
  fs::create_directories(part);
  std::string one = leave("gone"), other = leave("p");
  ImportRange(curator_, "1-2/2", "1,2\n3,4\n");
  EXPECT_FALSE(fs::exists(one) || fs::exists(other));
  one = leave("gone"), other = leave("p");
  ImportPeopleOf(scratch_, curator_, "q", 9, 3, false, std::nullopt);
  EXPECT_FALSE(fs::exists(one) || fs::exists(other));
  EXPECT_TRUE(fs::exists(part) && fs::exists(Record("1-2")));
}

// The raw entries are the same ones, and what is stored or promised is not.
TEST_F(PartsTest, DeclaredOtherwiseAreNotComputedWith) {
  const auto import = [&](const std::string& machine, const char* range,
                          const char* text, auto change) {
    ImportOptions options = OptionsOf(machine, range, text);
    options.normalisation = Normalisation::kNone;
    options.column_bound = 10;
    options.range = EntryRange{.low = 0, .high = 9};
    change(&options);
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
  };
  using O = ImportOptions;
  const auto nothing = [](O*) {};
  import(curator_, "1-2/3", "1,2\n3,4\n", nothing);
  import(curator_, "3-3/3", "5,6\n", nothing);
  ASSERT_EQ(JoinCode(), "");
  const std::string place = PartsDirectory(curator_, "p") + "/1-2";
  const auto code_with = [&](auto change) {
    fs::remove_all(PartsDirectory(other_, "p"));
    import(other_, "1-2/3", "1,2\n3,4\n", change);
    fs::remove_all(place);
    fs::copy(PartsDirectory(other_, "p") + "/1-2", place);
    return ReasonCode(
        Dataset::OpenShare(DatasetDirectory(curator_, "p"), {0, 1}).status());
  };
  EXPECT_EQ(code_with([](O* o) { o->range->high = 8; }), "dataset-damaged");
  EXPECT_EQ(code_with([](O* o) { o->range.reset(); }), "dataset-damaged");
  EXPECT_EQ(code_with([](O* o) { o->column_bound = 11; }), "dataset-damaged");
  EXPECT_EQ(code_with([](O* o) { o->epsilon = 7; }), "dataset-damaged");
  EXPECT_EQ(code_with([](O* o) { o->is_public = true; }), "dataset-damaged");
  EXPECT_EQ(code_with(nothing), "");
}

TEST_F(PartsTest, OfAnotherCutAreNotComputedWith) {
  ImportRange(curator_, "1-2/3", "1,2,3\n3,4,5\n");
  ImportRange(curator_, "3-3/3", "5,6,7\n");
  ASSERT_EQ(JoinCode(), "");
  const std::string directory = DatasetDirectory(curator_, "p");
  const auto data = Dataset::Open(directory);
  ASSERT_TRUE(data.ok());
  const AskedRun run = RunOf(**data, "moments", false);
  const RankCommand right =
      CommandFor(curator_, **data, run, run.rounds.front());
  EXPECT_EQ(ShareSums(curator_, {0, 1}, 1).Words(right)[0], 0u);
  RankCommand other = right;
  other.files[0] ^= 1;
  EXPECT_EQ(ShareSums(curator_, {0, 1}, 1).Words(other)[0], 1u);
  // One bit of a part.
  for (const char* file : {"values.npy", "dataset.json", "digests.json"}) {
    const std::string path =
        absl::StrCat(PartsDirectory(curator_, "p"), "/1-2/", file);
    const std::string whole = ReadAll(path);
    std::string changed = whole;
    changed.back() ^= 1;
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_EQ(ShareSums(curator_, {0, 1}, 1).Words(right)[0], 1u) << file;
    std::ofstream(path, std::ios::binary) << whole;
  }
  EXPECT_EQ(ShareSums(curator_, {0, 1}, 1).Words(right)[0], 0u);
  // Other people in the place of a part.
  ImportRange(other_, "1-2/3", "7,2,3\n3,4,5\n");
  const std::string part = PartsDirectory(curator_, "p") + "/1-2";
  fs::remove_all(part);
  fs::copy(PartsDirectory(other_, "p") + "/1-2", part);
  EXPECT_EQ(ShareSums(curator_, {0, 1}, 1).Words(right)[0], 1u);
  EXPECT_EQ(ReasonCode(Dataset::OpenShare(directory, {0, 2}).status()),
            "dataset-damaged");
}

TEST_F(PartsTest, ARankReadsWhatWasCopiedInThePlaceOfAnotherCut) {
  ImportPeopleOf(scratch_, curator_, "q", 9, 3, false, 3);
  ImportPeopleOf(scratch_, other_, "q", 9, 3, false, 2);
  const std::string right = DatasetDirectory(curator_, "q"),
                    rank = DatasetDirectory(other_, "q");
  const auto data = Dataset::Open(right);
  ASSERT_TRUE(data.ok()) << data.status();
  const AskedRun run = RunOf(**data, "moments", false);
  const RankCommand command =
      CommandFor(curator_, **data, run, run.rounds.front());
  ShareSums share(other_, {0, 1}, 1);
  EXPECT_EQ(share.Words(command)[0], 1u);
  EXPECT_EQ(share.Words(command)[0], 1u);
  fs::remove_all(rank);
  fs::copy(right, rank);
  EXPECT_EQ(share.Words(command)[0], 0u);
  EXPECT_EQ(share.Words(command)[1], 9u);
}

TEST_F(PartsTest, AreDeclaredInWholeNumbersOfPeople) {
  for (const char* text : {"", "1-2", "0-2/3", "2-1/3", "1-4/3", "1-2/3 ",
                           "-1/3", "1-2/9999999999999999999999", "a-2/3"})
    EXPECT_EQ(ReasonCode(ParsePartRange(text).status()), "shard-of-malformed")
        << text;
  const auto code = [&](auto change, const char* range = "1-2/4") {
    ImportOptions options = OptionsOf(curator_, range, "1,2\n3,4\n");
    change(&options);
    return ReasonCode(ImportPart(options).status());
  };
  using O = ImportOptions;
  EXPECT_EQ(code([](O* o) { o->shard_of.reset(); }), "shard-of-malformed");
  EXPECT_EQ(code([](O* o) { o->shards = 2; }), "shard-of-malformed");
  EXPECT_EQ(code([](O* o) { o->feature_weights_file = "weights.txt"; }),
            "shard-of-malformed");
  EXPECT_EQ(code([](O* o) { o->users_count = 2; }), "users-mismatch");
  EXPECT_EQ(code([](O*) {}, "1-3/4"), "users-mismatch");
  EXPECT_EQ(code([](O* o) {
              o->class_column = 1;
              o->classes = {"1", "3"};
            }),
            "shard-of-malformed");
  EXPECT_EQ(code([](O*) {}), "");
}

}  // namespace
}  // namespace dpnmf::curator
