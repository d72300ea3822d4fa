// Backup, restore and the deletion of releases: no charge is forgotten, and
// what is gone is never drawn again.
#include <ctime>
#include <fstream>
#include <span>
#include <sstream>

#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/nmf/dictionary.h"
#include "curator/data/removed.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import.h"
#include "curator/import/part.h"
#include "curator/import/people/fingerprint.h"
#include "curator/maintenance/backup.h"
#include "curator/maintenance/close_run.h"
#include "curator/maintenance/doctor.h"
#include "curator/maintenance/grant_names.h"
#include "curator/maintenance/remove_dataset.h"
#include "curator/maintenance/retention.h"
#include "nlohmann/json.hpp"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

std::string RunId(int number) {
  return std::string(31, '0') + std::to_string(number);
}

class Keep : public CuratorFixture {
 protected:
  Session NewSession() {
    return Session({ledger_.get(), gate_.get(), &catalog_, access_.get(),
                    &locks_, 1, nullptr},
                   {"dns:analyst"});
  }
  // Opens run `number`, asks for `rounds` of its four, and closes it.
  void Train(int number, std::uint32_t rounds, bool close) {
    Session session = NewSession();
    ASSERT_TRUE(session.Open(RunId(number), SmallRun()).ok());
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      ASSERT_TRUE(session.Round(round, Input()).ok());
    }
    if (close) {
      ASSERT_TRUE(session.Close().ok());
    }
  }
  static RoundInput Input() {
    RoundInput input;
    input.w = RandomDictionary(kFeatures, 3, 1);
    return input;
  }
  LedgerAudit Audit() {
    Ledger::Options options;
    options.directory = directory_ + "/ledger";
    options.anchor_directory = Anchor();
    return Ledger::Audit(options).value();
  }
  std::string Anchor() const { return directory_ + "/anchor"; }
  std::string Releases() const { return directory_ + "/releases"; }
  // Imports a data set that the ledger has, under a key that is known.
  void PutDataset() const {
    std::ofstream(directory_ + "/fingerprint.key") << std::string(32, 'k');
    const PopulationPolicy policy = PolicyOf("people");
    std::ofstream(directory_ + "/d.csv") << "1,0\n1,2\n";
    ImportOptions options =
        RowsImport(directory_, directory_ + "/d.csv", "d", policy.population,
                   policy.epsilon, policy.delta);
    BetweenSteps between;
    between.before_publish = [this](const DatasetImport& import,
                                    const DatasetDigests& digests) {
      return ledger_->BindDataset(import.description().population,
                                  import.description().name, digests);
    };
    const auto imported = Import(options, between);
    ASSERT_TRUE(imported.ok()) << imported.status();
  }
  std::string Values(const std::string& data_dir) const {
    return Text(data_dir + "/datasets/d/values.npy");
  }
  static std::string PlainHash(const std::string& text) {
    return HexOf(Sha256().AddBytes(std::as_bytes(std::span(text))).Finish());
  }
  static std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string Place(const std::string& name) const {
    return directory_ + "." + name;
  }
  // The curator starts again on what was restored.
  void MoveTo(const std::string& data_dir) {
    Stop();
    for (const char* part : {"ledger", "releases"}) {
      fs::remove_all(directory_ + "/" + part);
      fs::copy(data_dir + "/" + part, directory_ + "/" + part,
               fs::copy_options::recursive);
    }
  }
  ~Keep() override {
    for (const char* name : {"one", "two", "restored"})
      fs::remove_all(Place(name));
  }
};

class CloseByOperator : public Keep {
 protected:
  CloseByOperator() : log_(AuditLog::Open(LogFile()).value()) {}
  std::string LogFile() const { return directory_ + "/operator.jsonl"; }
  std::string LogText() const { return Text(LogFile()); }
  Ledger::Options Places() const {
    Ledger::Options places;
    places.directory = directory_ + "/ledger";
    places.anchor_directory = Anchor();
    return places;
  }
  absl::StatusOr<AbandonedRun> Close(int number) {
    return CloseAbandonedRun(Places(), RunId(number), "operator", log_.get());
  }
  std::unique_ptr<AuditLog> log_;
};

// Removal of imports, beside a ledger whose runs are on the data set `digits`
// of the population `people`.
class RemoveByOperator : public CloseByOperator {
 protected:
  absl::StatusOr<DatasetDescription> ImportAs(
      const std::string& name, const std::string& population,
      std::optional<std::uint64_t> shards = std::nullopt) {
    std::ofstream(directory_ + "/m.csv") << "1,0\n1,2\n";
    ImportOptions options = RowsImport(directory_, directory_ + "/m.csv", name,
                                       population, 1, 1e-5);
    options.shards = shards;
    return Import(options, {.facts = {.used_populations =
                                          UsedPopulations(Audit().rows)}});
  }
  void ImportInAPartAs(const std::string& name, const std::string& population) {
    ImportOptions options = RowsImport(directory_, directory_ + "/m.csv", name,
                                       population, 1, 1e-5);
    options.shard_of = PartRange{0, 2, 2};
    ASSERT_TRUE(ImportPart(options).ok());
    ImportOptions joined;
    joined.data_dir = directory_;
    joined.name = name;
    ASSERT_TRUE(TakeDeclarationOfParts(&joined).ok());
    ASSERT_TRUE(Import(joined).ok());
  }
  absl::StatusOr<RemovedDataset> RemoveIt(const std::string& name) {
    return RemoveDataset(directory_, Places(), name, "operator", log_.get());
  }
  v1::DoctorCheck RemovedDataCheck() { return CheckOf("removed data sets"); }
  v1::DoctorCheck CheckOf(const std::string& name) {
    CuratorDoctorOptions options;
    options.data_dir = directory_;
    options.anchor_dir = Anchor();
    options.audit_log = LogFile();
    options.allow_list = directory_ + "/allow.json";
    const v1::DoctorReport report = ExamineCurator(options);
    for (const v1::DoctorCheck& check : report.checks())
      if (check.name() == name) return check;
    return {};
  }
};

TEST_F(RemoveByOperator, TakesAWrongImportAwayAndKeepsItsName) {
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  Stop();
  const auto rows = Audit().rows.size();
  const auto removed = RemoveIt("wrong");
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->population, "people");
  EXPECT_FALSE(removed->population_is_used);
  EXPECT_TRUE(DatasetNames(directory_)->empty());
  // The data are gone, and the ledger is as it was.
  for (const auto& file :
       fs::recursive_directory_iterator(directory_ + "/datasets"))
    EXPECT_NE(file.path().extension(), ".npy") << file.path();
  EXPECT_EQ(Audit().rows.size(), rows);
  EXPECT_LT(LogText().find("dataset-remove-asked"),
            LogText().find("dataset-removed"));
  EXPECT_EQ(ReasonCode(RemoveIt("wrong").status()), "dataset-unknown");
  EXPECT_EQ(ReasonCode(ImportAs("wrong", "people").status()), "dataset-exists");
  EXPECT_TRUE(ImportAs("right", "people").ok());
}

TEST_F(RemoveByOperator, DoctorNamesGrantsOfNothing) {
  ASSERT_TRUE(ImportAs("visits", "clinic").ok());
  const auto grants_of = [&](const std::string& datasets,
                             const std::string& populations) {
    std::ofstream(directory_ + "/allow.json")
        << R"({"peers": [{"identity": "dns:a", "roles": ["auditor"],)"
        << R"("datasets": [)" << datasets << R"(], "budgets": [)" << populations
        << "]}]}";
    return CheckOf("grants");
  };
  const std::string clinic = R"({"population": "clinic", "epsilon": 1})";
  EXPECT_EQ(grants_of(R"("visits")", clinic).result(), "ok");
  EXPECT_EQ(grants_of(R"("*")", "").result(), "ok");
  EXPECT_EQ(grants_of("", "").result(), "ok");
  // A population of the ledger that has no data set.
  EXPECT_EQ(grants_of("", R"({"population": "people", "epsilon": 1})").result(),
            "ok");
  const v1::DoctorCheck wrong =
      grants_of(R"("visit", "nothere")", R"({"population": "clinc",)"
                                         R"( "epsilon": 1})");
  EXPECT_EQ(wrong.result(), "warning");
  EXPECT_EQ(wrong.finding(),
            "There is no data set `nothere` (there are: visits); it is listed "
            "for dns:a. There is no data set `visit` (did you mean `visits`?); "
            "it is listed for dns:a. There is no population `clinc` (did you "
            "mean `clinic`?); it is listed for dns:a.");
  EXPECT_NE(wrong.remedy(), "");
}

TEST(GrantNames, AreSaidOnceWithAllWhoHaveThem) {
  Grant a;
  a.identity = "dns:a";
  a.datasets = {"gone", "here"};
  a.epsilon_by_population = {{"people", 1}};
  Grant b = a;
  b.identity = "uri:b";
  EXPECT_THAT(
      UnknownGrantNames({a, b}, {"here"}, {"people"}),
      ::testing::ElementsAre("There is no data set `gone` (there are: here); "
                             "it is listed for dns:a, uri:b."));
  EXPECT_THAT(
      UnknownGrantNames({a}, {}, {}),
      ::testing::ElementsAre(
          "There is no data set `gone` (there is none); it is listed for "
          "dns:a.",
          "There is no data set `here` (there is none); it is listed for "
          "dns:a.",
          "There is no population `people` (there is none); it is listed for "
          "dns:a."));
}

// shards.json says how many people there are.
TEST_F(RemoveByOperator, LeavesNothingOfShards) {
  ASSERT_TRUE(ImportAs("wrong", "people", 2).ok());
  ASSERT_TRUE(
      fs::exists(DatasetDirectory(directory_, "wrong") + "/shards.json"));
  Stop();
  ASSERT_TRUE(RemoveIt("wrong").ok());
  for (const auto& file :
       fs::recursive_directory_iterator(directory_ + "/datasets")) {
    EXPECT_NE(file.path().extension(), ".npy") << file.path();
    EXPECT_NE(file.path().filename(), "shards.json") << file.path();
  }
}

TEST_F(RemoveByOperator, LeavesNothingOfParts) {
  ASSERT_TRUE(ImportAs("first", "people").ok());  // draws the key
  ImportInAPartAs("wrong", "people");
  Stop();
  const std::string parts = PartsDirectory(directory_, "wrong");
  ASSERT_TRUE(fs::exists(parts + "/1-2/values.npy"));
  ASSERT_TRUE(RemoveIt("wrong").ok());
  EXPECT_FALSE(fs::exists(parts));
  EXPECT_EQ(RemovedDataCheck().result(), "ok");
  // A removal that was killed leaves such a directory.
  fs::create_directories(parts);
  EXPECT_NE(RemovedDataCheck().result(), "ok");
  ASSERT_TRUE(RemoveIt("first").ok());
  EXPECT_FALSE(fs::exists(parts));
}

// Deleting a link would leave the data where they are.
TEST_F(RemoveByOperator, FollowsNoLinkToParts) {
  ASSERT_TRUE(ImportAs("first", "people").ok());
  ImportInAPartAs("wrong", "people");
  Stop();
  const std::string parts = PartsDirectory(directory_, "wrong"),
                    elsewhere = directory_ + "/elsewhere";
  for (const std::string& link : {parts, parts + "/1-2"}) {
    fs::rename(link, elsewhere);
    fs::create_symlink(elsewhere, link);
    const absl::Status refused = RemoveIt("wrong").status();
    EXPECT_EQ(ReasonCode(refused), "parts-linked") << refused;
    EXPECT_NE(refused.message().find(link + " is"), std::string::npos);
    EXPECT_TRUE(fs::exists(parts + "/1-2/values.npy"));
    EXPECT_TRUE(
        fs::exists(DatasetDirectory(directory_, "wrong") + "/dataset.json"));
    EXPECT_EQ(LogText().find("dataset-remove-asked"), std::string::npos);
    fs::remove(link);
    fs::rename(elsewhere, link);
  }
  ASSERT_TRUE(RemoveIt("wrong").ok());
  // A link that was made after a removal, to a volume that is not mounted.
  fs::create_symlink(elsewhere, parts);
  EXPECT_NE(RemovedDataCheck().result(), "ok");
  EXPECT_EQ(ReasonCode(RemoveIt("first").status()), "parts-linked");
  fs::remove(parts);
  EXPECT_TRUE(RemoveIt("first").ok());
}

// The doctor says whether imports can still tell who was published.
TEST_F(RemoveByOperator, TheDoctorWantsARecordOfEachPublishedTable) {
  EXPECT_EQ(CheckOf("publications").name(), "");
  const Digest label{1};
  PublishedPeople published;
  published.label_hash = label;
  published.people.rows = {PersonFingerprint{7}};
  ASSERT_TRUE(RecordPublished(directory_, published).ok());
  ASSERT_TRUE(ledger_->VoidGuarantee({"people", label, "Ann"}).ok());
  EXPECT_EQ(CheckOf("publications").result(), "ok");
  const std::string record =
      directory_ + "/publications/" + HexOf(label) + ".people";
  const std::string whole = Text(record);
  std::string changed = whole;
  changed[changed.size() / 2] ^= 1;
  std::ofstream(record, std::ios::binary) << changed;
  EXPECT_EQ(CheckOf("publications").result(), "failed");
  fs::remove(record);
  const v1::DoctorCheck lost = CheckOf("publications");
  EXPECT_EQ(lost.result(), "failed");
  EXPECT_NE(lost.finding().find(record), std::string::npos) << lost.finding();
  EXPECT_NE(lost.remedy().find("backup"), std::string::npos);
  std::ofstream(record, std::ios::binary) << whole;
  EXPECT_EQ(CheckOf("publications").result(), "ok");
  // An accepted overlap is the word for a table, too.
  ASSERT_TRUE(ledger_->AcceptOverlap({"people", Digest{2}, "Ann"}).ok());
  EXPECT_EQ(CheckOf("publications").result(), "failed");
}

// Each month by itself is small.
TEST_F(RemoveByOperator, TheDoctorAddsUpThePeopleOfPartitions) {
  const auto take = [&](const std::string& name, const std::string& partition,
                        const std::string& text) {
    std::ofstream(directory_ + "/m.csv") << "id,a,b\n" << text;
    ImportOptions options =
        RowsImport(directory_, directory_ + "/m.csv", name, "months", 1, 0.3);
    options.partitions = {"id", {"jan", "feb"}};
    options.partition = partition;
    return Import(options).status();
  };
  const auto delta = [&] { return CheckOf("delta of months"); };
  EXPECT_EQ(delta().name(), "");
  ASSERT_TRUE(take("jan", "jan", "ann,1,2\nbob,3,4\n").ok());
  // A later version has the same people.
  ASSERT_TRUE(take("jan-2", "jan", "ann,1,3\nbob,3,5\n").ok());
  EXPECT_EQ(delta().result(), "ok") << delta().finding();
  EXPECT_NE(delta().finding().find("at least 2 people"), std::string::npos);
  // Nobody knows how many of these are in no partition.
  const absl::Status all = take("all", "", "eve,9,1\nfay,9,1\ngus,9,2\n");
  ASSERT_TRUE(all.ok()) << all;
  EXPECT_EQ(delta().result(), "warning") << delta().finding();
  EXPECT_NE(delta().finding().find("in no partition"), std::string::npos);
  ASSERT_TRUE(take("feb", "feb", "cyd,5,2\ndan,7,4\n").ok());
  EXPECT_EQ(delta().result(), "warning") << delta().finding();
  EXPECT_NE(delta().finding().find("at least 4 people"), std::string::npos);
}

TEST_F(RemoveByOperator, IsRefusedOnceARowIsAboutTheDataSet) {
  ASSERT_TRUE(ImportAs(SmallRun().dataset, "people").ok());
  // A reservation alone, without a round.
  Train(1, 0, false);
  Stop();
  EXPECT_EQ(ReasonCode(RemoveIt(SmallRun().dataset).status()), "dataset-used");
  // It stays so after the run was closed and nothing was charged.
  ASSERT_TRUE(Close(1).ok());
  EXPECT_EQ(ReasonCode(RemoveIt(SmallRun().dataset).status()), "dataset-used");
  EXPECT_EQ(DatasetNames(directory_)->size(), 1u);
  EXPECT_EQ(LogText().find("dataset-remove-asked"), std::string::npos);
}

// A federation's rows have its name, not the data set's.
TEST_F(RemoveByOperator, IsRefusedOnceAFederationMayHaveReleasedAboutIt) {
  ASSERT_TRUE(ImportAs("mine", "people").ok());
  RunOpening opening;
  opening.identity = "dns:analyst";
  opening.run_id = RunId(1);
  opening.population = "people";
  opening.dataset = "hospitals";
  opening.mechanism = "moments";
  opening.rounds = 1;
  opening.cost = MuSquared::FromUnits(1);
  ASSERT_TRUE(ledger_->OpenRun(opening).ok());
  Stop();
  EXPECT_EQ(ReasonCode(RemoveIt("mine").status()), "dataset-used");
  // Also once nothing is under way, and where the second account alone says
  // so: a data set has got the federation's name since.
  ASSERT_TRUE(Close(1).ok());
  EXPECT_EQ(ReasonCode(RemoveIt("mine").status()), "dataset-used");
  ASSERT_TRUE(ImportAs("hospitals", "people").ok());
  Start();
  ASSERT_TRUE(ledger_->DeclarePopulation(PolicyOf("people.others")).ok());
  opening.run_id = RunId(2);
  opening.population = "people.others";
  ASSERT_TRUE(ledger_->OpenRun(opening).ok());
  Stop();
  EXPECT_EQ(ReasonCode(RemoveIt("mine").status()), "dataset-used");
  EXPECT_EQ(DatasetNames(directory_)->size(), 2u);
  EXPECT_EQ(LogText().find("dataset-remove-asked"), std::string::npos);
}

TEST_F(RemoveByOperator, RowsOfOtherDataSetsDoNotKeepIt) {
  ASSERT_TRUE(ImportAs(SmallRun().dataset, "people").ok());
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  ASSERT_TRUE(ledger_->DeclarePopulation(PolicyOf("people.others")).ok());
  Train(1, 1, true);
  Stop();
  EXPECT_TRUE(RemoveIt("wrong").ok());
}

TEST_F(RemoveByOperator, IsRefusedWhileTheServerOrAnImportRuns) {
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  EXPECT_EQ(ReasonCode(RemoveIt("wrong").status()), "data-dir-in-use");
  Stop();
  {
    const auto lock = TakeImportLock(directory_);
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(ReasonCode(RemoveIt("wrong").status()), "import-running");
  }
  for (const char* name : {"nobody", "../datasets/wrong", ".removed", ""})
    EXPECT_EQ(ReasonCode(RemoveIt(name).status()), "dataset-unknown") << name;
  EXPECT_TRUE(RemoveIt("wrong").ok());
}

// Else a second version of a charged population would come back with a fresh
// budget.
TEST_F(RemoveByOperator, ItsPeopleStayBoundOnceTheirPopulationIsUsed) {
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  Stop();
  ASSERT_TRUE(RemoveIt("wrong").ok());
  // No release was made about these people yet: the population was wrong, too.
  ASSERT_TRUE(ImportAs("again", "others").ok());
  ASSERT_TRUE(RemoveIt("again").ok());
  Start();
  Train(1, 1, true);  // on another data set of `people`
  Stop();
  EXPECT_EQ(ReasonCode(ImportAs("fresh", "others").status()), "data-known");
  EXPECT_TRUE(ImportAs("version-2", "people").ok());
}

// Killed between the rename and the deletion.
TEST_F(RemoveByOperator, TheNextRemovalDeletesWhatAKilledOneLeft) {
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  ASSERT_TRUE(ImportAs("other", "people").ok());
  Stop();
  fs::create_directory(directory_ + "/datasets/.removed");
  fs::rename(directory_ + "/datasets/wrong",
             directory_ + "/datasets/.removed/wrong");
  const v1::DoctorCheck check = RemovedDataCheck();
  EXPECT_EQ(check.result(), "failed");
  EXPECT_NE(check.finding().find("wrong"), std::string::npos);
  ASSERT_TRUE(RemoveIt("other").ok());
  EXPECT_EQ(RemovedDataCheck().result(), "ok");
  for (const auto& file :
       fs::recursive_directory_iterator(directory_ + "/datasets"))
    EXPECT_NE(file.path().extension(), ".npy") << file.path();
}

// A restored backup knows them as well.
TEST_F(RemoveByOperator, ABackupKeepsWhatIsKeptOfRemovedDataSets) {
  ASSERT_TRUE(ImportAs("wrong", "people").ok());
  Stop();
  ASSERT_TRUE(RemoveIt("wrong").ok());
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  EXPECT_EQ(RemovedNames(Place("one")).value(),
            std::vector<std::string>{"wrong"});
  fs::remove(directory_ + "/fingerprint.key");
  EXPECT_EQ(ReasonCode(ImportAs("next", "people").status()),
            "fingerprint-key-damaged");
}

TEST_F(CloseByOperator, GivesBackWhatWasReservedAndNothingThatWasCharged) {
  Train(1, 2, false);
  const Position before = ledger_->PositionOf("people").value();
  ASSERT_NE(before.reserved, MuSquared());
  Stop();
  const auto closed = Close(1);
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_EQ(closed->identity, "dns:analyst");
  EXPECT_EQ(closed->charged_rounds, 2u);
  EXPECT_EQ(closed->returned, before.reserved);
  Start();
  const Position after = ledger_->PositionOf("people").value();
  EXPECT_EQ(after.charged, before.charged);
  EXPECT_EQ(after.reserved, MuSquared());
  EXPECT_EQ(after.row_count, before.row_count + 1);
  // Nobody opens it again; the anchor knows the row.
  EXPECT_EQ(ReasonCode(NewSession().Open(RunId(1), SmallRun()).status()),
            "run-closed");
  EXPECT_EQ(Audit().anchor, AnchorState::kAgrees);
}

TEST(WholeRunId, TakesTheFirstDigitsOfARun) {
  std::vector<LedgerRow> rows(3);
  rows[0].run_id = rows[1].run_id = "3f9a0123456789abcdef0123456789ab";
  rows[2].run_id = "3f9abc23456789abcdef0123456789ab";
  const auto code = [&](const std::string& digits) {
    return ReasonCode(WholeRunId(rows, digits).status());
  };
  for (const std::string& digits :
       {rows[0].run_id, std::string("3f9a0"), std::string("3F9A0")})
    EXPECT_EQ(WholeRunId(rows, digits).value(), rows[0].run_id) << digits;
  EXPECT_EQ(code("3f9a"), "run-id-ambiguous");
  EXPECT_EQ(code("ffff"), "run-unknown");
  for (const char* digits : {"", "3", "3f9"})
    EXPECT_EQ(code(digits), "run-id-malformed") << digits;
}

TEST_F(CloseByOperator, IsWrittenDownBeforeItIsDone) {
  Train(1, 1, false);
  Stop();
  ASSERT_TRUE(Close(1).ok());
  const std::size_t asked = LogText().find("run-close-asked");
  const std::size_t done = LogText().find("run-closed-by-operator");
  ASSERT_NE(asked, std::string::npos);
  ASSERT_NE(done, std::string::npos);
  EXPECT_LT(asked, done);
  EXPECT_NE(LogText().find("\"by\":\"operator\""), std::string::npos)
      << LogText();
  EXPECT_NE(LogText().find(RunId(1)), std::string::npos);
}

TEST_F(CloseByOperator, IsNotDoneIfItCannotBeWrittenDown) {
  Train(1, 1, false);
  const auto rows = Audit().rows.size();
  Stop();
  fs::remove(LogFile());
  fs::create_directory(LogFile());
  EXPECT_EQ(ReasonCode(Close(1).status()), "audit-failed");
  EXPECT_EQ(Audit().rows.size(), rows);
}

TEST_F(CloseByOperator, IsRefusedWhileTheServerRuns) {
  Train(1, 1, false);
  EXPECT_EQ(ReasonCode(Close(1).status()), "data-dir-in-use");
  EXPECT_EQ(LogText(), "");
}

TEST_F(CloseByOperator, NamesARunThatIsNotThereOrClosed) {
  Train(1, 1, true);
  Stop();
  const auto rows = Audit().rows.size();
  EXPECT_EQ(ReasonCode(Close(1).status()), "run-closed");
  EXPECT_EQ(ReasonCode(Close(2).status()), "run-unknown");
  EXPECT_EQ(Audit().rows.size(), rows);
  EXPECT_EQ(LogText(), "");
  fs::remove_all(directory_ + "/ledger");
  EXPECT_EQ(ReasonCode(Close(1).status()), "ledger-missing");
  EXPECT_FALSE(fs::exists(directory_ + "/ledger"));
}

TEST_F(Keep, ABackupOfTheLatestStateServesAgain) {
  Train(1, 2, true);
  const auto made = MakeBackup(directory_, Place("one"));  // while it is served
  ASSERT_TRUE(made.ok()) << made.status();
  const Position before = ledger_->PositionOf("people").value();
  const auto restored =
      RestoreBackup(Place("one"), Place("restored"), Anchor());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->head, before.head);
  // Analysts know the key of the receipts: it comes back, its owner's alone.
  for (const std::string key : {"/receipt.key", "/receipt.pub"})
    EXPECT_EQ(Text(Place("restored") + key), Text(directory_ + key));
  EXPECT_EQ(fs::status(Place("restored") + "/receipt.key").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  MoveTo(Place("restored"));
  Start();
  EXPECT_EQ(ledger_->PositionOf("people")->charged, before.charged);
  Train(2, 1, false);
}

// Who is in the data and in published tables, and that a guarantee is void.
TEST_F(Keep, ABackupKnowsPeopleAndVoidGuarantees) {
  ASSERT_TRUE(ledger_->VoidGuarantee({"people", Digest{1}, "Ann"}).ok());
  ASSERT_TRUE(LoadOrCreateFingerprintKey(directory_).ok());
  const std::string files[] = {"/datasets/d/people.bin",
                               "/publications/00.people"};
  for (const std::string& file : files) {
    fs::create_directories(fs::path(directory_ + file).parent_path());
    std::ofstream(directory_ + file) << "who";
  }
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  ASSERT_TRUE(RestoreBackup(Place("one"), Place("restored"), Anchor()).ok());
  for (const std::string& file : files)
    EXPECT_EQ(Text(Place("restored") + file), "who");
  Ledger::Options restored;
  restored.directory = Place("restored") + "/ledger";
  restored.anchor_directory = Anchor();
  const auto audit = Ledger::Audit(restored);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->positions.at(0).void_since,
            ledger_->PositionOf("people")->void_since);
}

TEST_F(Keep, ABackupThatLacksAChargeIsRefused) {
  Train(1, 1, false);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  Session session = NewSession();
  ASSERT_TRUE(session.Open(RunId(1), SmallRun()).ok());
  ASSERT_TRUE(session.Round(2, Input()).ok());
  Stop();
  EXPECT_EQ(
      ReasonCode(
          RestoreBackup(Place("one"), Place("restored"), Anchor()).status()),
      "ledger-behind-anchor");
  EXPECT_FALSE(fs::exists(Place("restored")));
  // Nor is it taken for the latest where the anchor is gone.
  fs::remove_all(Anchor());
  EXPECT_EQ(
      ReasonCode(
          RestoreBackup(Place("one"), Place("restored"), Anchor()).status()),
      "ledger-behind-anchor");
  EXPECT_FALSE(fs::exists(Place("restored")));
}

TEST_F(Keep, ABackupIsTakenOnlyWhole) {
  Train(1, 2, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  EXPECT_EQ(ReasonCode(MakeBackup(directory_, Place("one")).status()),
            "backup-exists");
  const auto code = [&] {
    return ReasonCode(CheckBackup(Place("one"), Anchor()).status());
  };
  ASSERT_EQ(code(), "");
  const std::string release =
      fs::directory_iterator(Place("one") + "/releases")->path();
  const std::string manifest = Place("one") + "/manifest.json";
  for (const std::string& path :
       {release, Place("one") + "/ledger/ledger.sqlite", manifest}) {
    std::ostringstream whole;
    whole << std::ifstream(path).rdbuf();
    std::string bytes = whole.str();
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(path) << bytes;
    EXPECT_EQ(code(), "backup-damaged") << path;
    std::ofstream(path) << whole.str();
    ASSERT_EQ(code(), "") << path;
  }
  fs::rename(release, release + ".away");
  EXPECT_EQ(code(), "backup-damaged");
  fs::rename(release + ".away", release);
  std::ostringstream whole;
  whole << std::ifstream(manifest).rdbuf();
  for (const char* field : {"\"format\": ", "\"rows\": ", "\"size\": "}) {
    std::string text = whole.str();
    const std::size_t end = text.find_first_of(",\n", text.find(field));
    std::ofstream(manifest) << text.insert(end, ".5");
    EXPECT_EQ(code(), "backup-damaged") << field;
  }
  fs::remove(manifest);
  EXPECT_EQ(code(), "backup-missing");
  std::ofstream(manifest) << R"({"format": 1, "rows": 1, "head": "", "files":
             {"../../etc/passwd": {"size": 1, "hmac_sha256": ""}}})";
  EXPECT_EQ(code(), "backup-damaged");
}

TEST_F(Keep, ABackupOfAnotherFormatOrOfNoneIsRefused) {
  Train(1, 1, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  const std::string manifest = Place("one") + "/manifest.json";
  const std::string good = Text(manifest);
  const std::string format = "\"format\": 1,";
  const std::size_t at = good.find(format);
  ASSERT_NE(at, std::string::npos);
  for (const auto& [other, code] :
       {std::pair{"\"format\": 2,", "backup-newer"},
        std::pair{"\"format\": 0,", "backup-damaged"},
        std::pair{"", "backup-damaged"}, std::pair{"\"format\": 1,", ""}}) {
    std::string text = good;
    std::ofstream(manifest) << text.replace(at, format.size(), other);
    EXPECT_EQ(ReasonCode(CheckBackup(Place("one"), Anchor()).status()), code)
        << other;
  }
}

// One who sees a manifest alone could test guesses about a person with it.
TEST_F(Keep, NoHashWithoutAKeyStandsInABackup) {
  PutDataset();
  Train(1, 1, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  const std::string manifest = Text(Place("one") + "/manifest.json");
  EXPECT_NE(manifest.find("datasets/d/values.npy"), std::string::npos);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Place("one"))) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(manifest.find(PlainHash(Text(entry.path()))), std::string::npos)
        << entry.path();
  }
  EXPECT_GE(files, 5u);
  // Another key, other hashes: nothing of V stands there otherwise.
  std::ofstream(directory_ + "/fingerprint.key") << std::string(32, 'l');
  ASSERT_TRUE(MakeBackup(directory_, Place("two")).ok());
  const auto hash_in = [](const std::string& backup) {
    return nlohmann::json::parse(Text(
        backup +
        "/manifest.json"))["files"]["datasets/d/values.npy"]["hmac_sha256"];
  };
  EXPECT_EQ(hash_in(Place("one")).get<std::string>().size(), 64u);
  EXPECT_NE(hash_in(Place("one")), hash_in(Place("two")));
}

// The key is in the backup: another machine needs nothing else.
TEST_F(Keep, ABackupHasTheKeyOfItsHashes) {
  PutDataset();
  Train(1, 1, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  const std::string key = Place("one") + "/fingerprint.key";
  std::ofstream(key) << std::string(32, 'x');
  EXPECT_EQ(ReasonCode(CheckBackup(Place("one"), Anchor()).status()),
            "backup-damaged");
  fs::remove(key);
  EXPECT_EQ(ReasonCode(CheckBackup(Place("one"), Anchor()).status()),
            "backup-damaged");
  std::ofstream(key) << std::string(32, 'k');
  fs::remove(directory_ + "/fingerprint.key");
  const auto restored =
      RestoreBackup(Place("one"), Place("restored"), Anchor());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(Text(Place("restored") + "/fingerprint.key"), std::string(32, 'k'));
  // Data without their key were never whole.
  EXPECT_EQ(ReasonCode(MakeBackup(directory_, Place("two")).status()),
            "fingerprint-key-damaged");
  EXPECT_FALSE(fs::exists(Place("two") + "/manifest.json"));
}

// Up to the NUL each of these names a file of the backup.
TEST_F(Keep, APathWithANulIsNoFileOfABackup) {
  Train(1, 1, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  const std::string path = Place("one") + "/manifest.json";
  nlohmann::json manifest = nlohmann::json::parse(Text(path));
  manifest["files"][std::string("receipt.pub\0x", 13)] =
      manifest["files"]["receipt.pub"];
  std::ofstream(path) << manifest.dump(1);
  EXPECT_EQ(ReasonCode(CheckBackup(Place("one"), Anchor()).status()),
            "backup-damaged");
}

TEST_F(Keep, AFileNameThatAManifestCannotHoldIsNamedBeforeAnythingIsWritten) {
  PutDataset();
  Train(1, 1, true);
  const std::string file = directory_ + "/releases/caf\xe9.txt";
  std::ofstream(file) << "x";
  const absl::Status refused = MakeBackup(directory_, Place("one")).status();
  EXPECT_EQ(ReasonCode(refused), "backup-name-malformed");
  EXPECT_NE(refused.message().find("`releases/caf\\xe9.txt`"),
            std::string::npos)
      << refused;
  EXPECT_FALSE(fs::exists(Place("one")));
  fs::rename(file, directory_ + "/releases/caf\xc3\xa9.txt");
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  EXPECT_TRUE(CheckBackup(Place("one"), Anchor()).ok());
}

TEST_F(Keep, ABackupHoldsWhatLinksLeadTo) {
  PutDataset();
  Train(1, 2, true);
  const auto plain = MakeBackup(directory_, Place("one"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  for (const std::string name : {"releases", "datasets", "receipt.key"}) {
    const std::string target = directory_ + "/elsewhere." + name;
    fs::rename(directory_ + "/" + name, target);
    fs::create_symlink(target, directory_ + "/" + name);
  }
  const auto linked = MakeBackup(directory_ + "/", Place("two"));
  ASSERT_TRUE(linked.ok()) << linked.status();
  EXPECT_EQ(linked->files, plain->files);
  const auto restored =
      RestoreBackup(Place("two"), Place("restored"), Anchor());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(Values(Place("restored")), Values(directory_));
  // The link leads nowhere if the other volume is not mounted.
  fs::rename(directory_ + "/elsewhere.releases", directory_ + "/unmounted");
  fs::remove_all(Place("two"));
  EXPECT_EQ(ReasonCode(MakeBackup(directory_, Place("two")).status()),
            "storage-failed");
  EXPECT_FALSE(fs::exists(Place("two")));
}

// Its manifest is right: the data were exchanged before it was made.
TEST_F(Keep, ABackupOfOtherFilesThanTheImportsIsRefused) {
  PutDataset();
  Train(1, 1, true);
  const std::string file = directory_ + "/datasets/d/values.npy";
  std::string values = Text(file);
  values.back() ^= 1;
  std::ofstream(file, std::ios::binary) << values;
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  EXPECT_EQ(ReasonCode(CheckBackup(Place("one"), Anchor()).status()),
            "dataset-damaged");
  EXPECT_EQ(
      ReasonCode(
          RestoreBackup(Place("one"), Place("restored"), Anchor()).status()),
      "dataset-damaged");
  EXPECT_FALSE(fs::exists(Place("restored")));
  EXPECT_TRUE(CheckBackup(Place("one"), Anchor(), CheckDepth::kQuick).ok());
}

TEST_F(Keep, APathThatCannotBeLookedUpIsNoBackup) {
  EXPECT_EQ(ReasonCode(CheckBackup(std::string(5000, 'x'), Anchor()).status()),
            "backup-missing");
}

TEST_F(Keep, ARestoreWritesOverNothing) {
  Train(1, 1, true);
  ASSERT_TRUE(MakeBackup(directory_, Place("one")).ok());
  fs::create_directory(Place("restored"));
  std::ofstream(Place("restored") + "/x") << "x";
  EXPECT_EQ(
      ReasonCode(
          RestoreBackup(Place("one"), Place("restored"), Anchor()).status()),
      "data-dir-exists");
  fs::remove(Place("restored") + "/x");
  EXPECT_TRUE(RestoreBackup(Place("one"), Place("restored"), Anchor()).ok());
}

TEST_F(Keep, TheReleasesOfAClosedRunGoAndItsChargesStay) {
  Train(1, 2, true);
  Train(2, 2, false);
  const Position before = ledger_->PositionOf("people").value();
  RetentionRequest request;
  request.runs = {RunId(1)};
  request.dry_run = true;
  auto forgotten = ForgetReleases(Audit().rows, Releases(), request);
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  ASSERT_EQ(forgotten->size(), 1u);
  EXPECT_EQ(forgotten->at(0).releases, 2u);
  request.dry_run = false;
  EXPECT_EQ(ForgetReleases(Audit().rows, Releases(), request)->size(), 1u);
  EXPECT_EQ(ForgetReleases(Audit().rows, Releases(), request)->size(), 0u);
  EXPECT_EQ(std::distance(fs::directory_iterator(Releases()), {}), 2);
  EXPECT_EQ(ledger_->PositionOf("people")->charged, before.charged);
  EXPECT_EQ(ledger_->PositionOf("people")->head, before.head);
  // The other run's rounds are still to be had.
  Session session = NewSession();
  ASSERT_TRUE(session.Open(RunId(2), SmallRun()).ok());
  EXPECT_FALSE(session.Round(1, Input())->value().lost);
}

TEST_F(Keep, OpenAndUnknownRunsAreNotTaken) {
  Train(1, 2, true);
  Train(2, 2, false);
  RetentionRequest request;
  request.runs = {RunId(1), RunId(2)};
  EXPECT_EQ(
      ReasonCode(ForgetReleases(Audit().rows, Releases(), request).status()),
      "run-not-ended");
  request.runs = {RunId(1), RunId(3)};
  EXPECT_EQ(
      ReasonCode(ForgetReleases(Audit().rows, Releases(), request).status()),
      "run-unknown");
  EXPECT_EQ(std::distance(fs::directory_iterator(Releases()), {}), 4);
  // By age: closed runs alone, also of those.
  request.runs.clear();
  request.closed_before = std::time(nullptr) + 10;
  const auto forgotten = ForgetReleases(Audit().rows, Releases(), request);
  ASSERT_EQ(forgotten->size(), 1u);
  EXPECT_EQ(forgotten->at(0).run_id, RunId(1));
  request.closed_before = std::time(nullptr) - 1000;
  EXPECT_TRUE(ForgetReleases(Audit().rows, Releases(), request)->empty());
}

// A backup from before the bytes were stored, or a deletion by hand: the row is
// dead.
TEST_F(Keep, ARowWithoutBytesIsNeverDrawnAgain) {
  Train(1, 1, false);
  for (const auto& file : fs::directory_iterator(Releases()))
    fs::remove(file.path());
  const Position before = ledger_->PositionOf("people").value();
  Stop();
  Start();
  Session session = NewSession();
  ASSERT_TRUE(session.Open(RunId(1), SmallRun()).ok());
  for (int i = 0; i < 3; ++i) {
    const auto round = session.Round(1, Input());
    ASSERT_TRUE(round.ok()) << round.status();
    EXPECT_TRUE(round->value().lost);
    EXPECT_TRUE(round->value().parts.empty());
  }
  EXPECT_EQ(ledger_->PositionOf("people")->charged, before.charged);
  EXPECT_TRUE(fs::is_empty(Releases()));
}

}  // namespace
}  // namespace dpnmf::curator
