#include "curator/publish/publish.h"

#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/failpoint.h"
#include "curator/data/removed.h"
#include "curator/draft/class_release.h"
#include "curator/draft/draft.h"
#include "curator/gate/release_store.h"
#include "curator/import/dataset_people.h"
#include "curator/ledger/data_paths.h"
#include "curator/publish/label.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Rows = std::vector<std::vector<float>>;

class PublishTest : public testing::Test {
 protected:
  PublishTest() {
    home_.Open();
    Import("visits", "patients", "1,2,0\n3,4,5\n0,0,0\n6,7,8\n");
  }

  std::string data_dir() const { return home_.directory.path(); }
  std::string output() const { return home_.directory / "out"; }
  std::string Written(const std::string& name) const {
    return output() + "/" + name;
  }

  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }

  ImportOptions ImportOf(const std::string& name, const std::string& population,
                         const std::string& csv) const {
    const std::string input = home_.directory / (name + ".in.csv");
    Write(input, csv);
    return RowsImport(data_dir(), input, name, population, 1, 1e-5);
  }
  void Import(const ImportOptions& options) const {
    ASSERT_TRUE(
        home_.Open()->DeclarePopulation(PolicyFor(options.population)).ok());
    const auto imported = curator::Import(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
  }
  void Import(const std::string& name, const std::string& population,
              const std::string& csv) const {
    Import(ImportOf(name, population, csv));
  }

  FingerprintKey Key() const {
    return LoadOrCreateFingerprintKey(data_dir()).value();
  }
  Draft DraftOf(const Rows& rows,
                const std::vector<std::string>& ids = {}) const {
    Draft draft;
    draft.method = "nmf";
    draft.parameters = {{"rank", 7}};
    draft.attacks = {{"linked", 0.031}};
    draft.largest_linkage = 0.05;
    PeopleCollector people(Key());
    for (const auto& row : rows) people.AddRow(row);
    for (const auto& id : ids) people.AddId(id);
    draft.people = people.Finish();
    return draft;
  }
  std::string Stored(const Draft& draft, const std::string& table = "9,9\n") {
    const std::string directory =
        home_.directory / ("draft" + std::to_string(++drafts_));
    EXPECT_TRUE(WriteDraft(directory, draft, table).ok());
    return directory;
  }
  PublishOptions OptionsFor(const std::string& draft) const {
    PublishOptions options;
    options.data_dir = data_dir();
    options.ledger = home_.options;
    options.draft = draft;
    options.output = output();
    options.name = "table";
    options.approver = "Ann Operator";
    options.accepted_linkage = 0.05;
    return options;
  }

  std::size_t RowCount() const {
    return Ledger::ReadRows(home_.options)->size();
  }
  std::vector<LedgerRow> RowsOf(RowKind kind) const {
    std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
    std::erase_if(rows, [&](const LedgerRow& row) { return row.kind != kind; });
    return rows;
  }
  bool NothingThere() const {
    return !fs::exists(output()) || fs::is_empty(output());
  }
  // Refused, and nothing is written or recorded.
  void ExpectRefused(const PublishOptions& options, const std::string& code) {
    const std::size_t rows = RowCount();
    EXPECT_CODE(Publish(options), code);
    EXPECT_TRUE(NothingThere());
    EXPECT_EQ(RowCount(), rows);
  }

  const Rows strangers_ = {{9, 9, 9}, {8, 8, 8}};
  const LedgerHome home_;
  int drafts_ = 0;
};

TEST_F(PublishTest, ATableOfPeopleWithoutAGuaranteeGetsItsLabel) {
  const std::size_t rows = RowCount();
  const auto published = Publish(OptionsFor(Stored(DraftOf(strangers_))));
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_EQ(published->table, Written("table.not-dp.csv"));
  EXPECT_FALSE(published->is_private);
  EXPECT_EQ(ReadAll(published->table), "9,9\n");
  const ordered_json label = ordered_json::parse(ReadAll(published->label));
  EXPECT_EQ(label["differentially_private"], false);
  EXPECT_EQ(label["method"], "nmf");
  EXPECT_EQ(label["parameters"]["rank"], 7);
  EXPECT_EQ(label["attacks"]["linked"], 0.031);
  EXPECT_EQ(label["largest_linkage"], 0.05);
  EXPECT_EQ(label["accepted_linkage"], 0.05);
  EXPECT_EQ(label["approved_by"], "Ann Operator");
  EXPECT_EQ(label["table_hmac_sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(RowCount(), rows);
  struct stat facts {};
  ASSERT_EQ(stat(published->table.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(PublishTest, NeedsFiguresOfAnAttackAndAPersonsWord) {
  const std::string draft = Stored(DraftOf(strangers_));
  PublishOptions options = OptionsFor(draft);
  options.approver = "";
  ExpectRefused(options, "approval-missing");
  options = OptionsFor(draft);
  options.accepted_linkage.reset();
  ExpectRefused(options, "approval-missing");
  Draft without = DraftOf(strangers_);
  without.largest_linkage.reset();
  ExpectRefused(OptionsFor(Stored(without)), "approval-missing");
  without.attacks = nullptr;
  ExpectRefused(OptionsFor(Stored(without)), "approval-missing");
  without.attacks = {{"linked", 0}};
  without.largest_linkage = std::nan("");
  ExpectRefused(OptionsFor(Stored(without)), "approval-missing");
}

TEST_F(PublishTest, RefusesALinkageAboveTheAcceptedOne) {
  Draft draft = DraftOf(strangers_);
  draft.largest_linkage = std::nextafter(0.05, 1.0);
  ExpectRefused(OptionsFor(Stored(draft)), "linkage-too-high");
}

TEST_F(PublishTest, RefusesWhatIsMalformed) {
  const std::string draft = Stored(DraftOf(strangers_));
  for (const double accepted : {0.0, -1.0, 1.1, std::nan("")}) {
    PublishOptions options = OptionsFor(draft);
    options.accepted_linkage = accepted;
    ExpectRefused(options, "linkage-out-of-range");
  }
  PublishOptions options = OptionsFor(draft);
  options.name = "../table";
  ExpectRefused(options, "name-malformed");
  options = OptionsFor(draft);
  options.approver = "two\nlines";
  ExpectRefused(options, "approver-malformed");
  options = OptionsFor(draft);
  options.void_guarantees = {"nobody"};
  ExpectRefused(options, "population-unknown");
  ExpectRefused(OptionsFor(home_.directory / "nothing"), "draft-missing");
}

TEST_F(PublishTest, RefusesADraftThatDoesNotSayWhoIsInIt) {
  Draft draft = DraftOf(strangers_);
  draft.people.reset();
  ExpectRefused(OptionsFor(Stored(draft)), "draft-people-missing");
  ExpectRefused(OptionsFor(Stored(DraftOf({{0, 0, 0}}))),
                "draft-people-missing");
  draft = DraftOf(strangers_);
  PeopleCollector others(FingerprintKey{1});
  others.AddRow(std::vector<float>{1, 2, 0});
  draft.people = others.Finish();
  ExpectRefused(OptionsFor(Stored(draft)), "draft-key-differs");
}

// The data set holds columns of length 1; people are recognised by the numbers
// of the file.
TEST_F(PublishTest, RefusesPeopleOfAPopulationWithACap) {
  ExpectRefused(OptionsFor(Stored(DraftOf({{9, 9, 9}, {3, 4, 5}}))),
                "population-capped");
}

TEST_F(PublishTest, AChangedBitHidesOnePersonAlone) {
  const float changed = std::nextafter(2.0f, 3.0f);
  ExpectRefused(
      OptionsFor(Stored(DraftOf({{1, changed, 0}, {3, 4, 5}, {6, 7, 8}}))),
      "population-capped");
}

TEST_F(PublishTest, PeopleWithoutAnEntryAreNobody) {
  EXPECT_TRUE(
      Publish(OptionsFor(Stored(DraftOf({{0, 0, 0}, {9, 9, 9}})))).ok());
}

TEST_F(PublishTest, RecognisesPeopleByTheirIdsWhateverTheirRows) {
  ImportOptions options = ImportOf("named", "members", "ann,1,2\nbob,3,4\n");
  options.id_column = 1;
  Import(options);
  ExpectRefused(OptionsFor(Stored(DraftOf(strangers_, {"bob"}))),
                "population-capped");
  EXPECT_TRUE(Publish(OptionsFor(Stored(DraftOf(strangers_, {"eve"})))).ok());
}

TEST_F(PublishTest, AGuaranteeIsGivenUpByName) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  const auto published = Publish(options);
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_THAT(published->voided, ElementsAre("patients"));
  const std::vector<LedgerRow> rows = RowsOf(RowKind::kVoid);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].population, "patients");
  EXPECT_EQ(rows[0].detail, "Ann Operator");
  EXPECT_EQ(home_.Open()->PositionOf("patients")->void_since, 1'700'000'000);
  EXPECT_TRUE(fs::exists(Written("table.not-dp.csv")));
}

// A second table is a decision of its own.
TEST_F(PublishTest, AVoidGuaranteeIsNamedForEachTable) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  ASSERT_TRUE(Publish(options).ok());
  PublishOptions second = OptionsFor(Stored(DraftOf({{3, 4, 5}, {9, 9, 9}})));
  second.output = output() + "2";
  const absl::Status refused = Publish(second).status();
  EXPECT_CODE(refused, "population-capped");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("void already"));
  second.void_guarantees = {"patients"};
  ASSERT_TRUE(Publish(second).ok());
  EXPECT_EQ(RowsOf(RowKind::kVoid).size(), 2u);
}

// Releases of a federation about the same people have their own account.
TEST_F(PublishTest, AGuaranteeIsGivenUpInBothAccounts) {
  ASSERT_TRUE(
      home_.Open()->DeclarePopulation(PolicyFor("patients.others")).ok());
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  const auto published = Publish(options);
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_THAT(published->voided, ElementsAre("patients", "patients.others"));
  EXPECT_NE(home_.Open()->PositionOf("patients")->void_since, std::nullopt);
  EXPECT_NE(home_.Open()->PositionOf("patients.others")->void_since,
            std::nullopt);
  EXPECT_THAT(ReadAll(published->label), HasSubstr("\"patients.others\""));
  const std::size_t rows = RowCount();
  EXPECT_TRUE(Publish(options).ok()) << "the same again";
  EXPECT_EQ(RowCount(), rows);
}

// The ledger has a keyed hash of the label, and no figure.
TEST_F(PublishTest, TheLedgerKnowsTheLabelByItsKeyedHash) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  ASSERT_TRUE(Publish(options).ok());
  const std::string label = ReadAll(Written("LABEL.json"));
  const LedgerRow row = RowsOf(RowKind::kVoid).at(0);
  EXPECT_EQ(row.request_hash, LabelHash(label, Key()));
  EXPECT_NE(row.request_hash,
            Sha256().AddBytes(std::as_bytes(std::span(label))).Finish());
  EXPECT_NE(LabelHash(label, Key()), LabelHash(label, FingerprintKey{1}));
}

TEST_F(PublishTest, EachPopulationThatSharesPeopleMustBeNamed) {
  Import("more", "members", "3,4,5\n2,2,2\n");
  const std::string draft = Stored(DraftOf({{3, 4, 5}}));
  PublishOptions options = OptionsFor(draft);
  options.void_guarantees = {"patients"};
  ExpectRefused(options, "population-capped");
  options.void_guarantees = {"patients", "members", "patients"};
  ASSERT_TRUE(Publish(options).ok());
  EXPECT_EQ(RowsOf(RowKind::kVoid).size(), 2u);
}

TEST_F(PublishTest, AnAcceptedOverlapIsRecordedAndTheGuaranteeStands) {
  Import("more", "members", "3,4,5\n2,2,2\n");
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"members"};
  options.accept_overlaps = {"patients"};
  const auto published = Publish(options);
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_THAT(published->voided, ElementsAre("members"));
  EXPECT_THAT(published->accepted, ElementsAre("patients"));
  ASSERT_EQ(RowsOf(RowKind::kOverlap).size(), 1u);
  EXPECT_EQ(RowsOf(RowKind::kOverlap)[0].population, "patients");
  EXPECT_EQ(home_.Open()->PositionOf("patients")->void_since, std::nullopt);
  EXPECT_NE(home_.Open()->PositionOf("members")->void_since, std::nullopt);
}

TEST_F(PublishTest, RefusesWhileThePeopleOfADataSetAreNotKnown) {
  fs::remove(data_dir() + "/datasets/visits/people.bin");
  const std::string draft = Stored(DraftOf(strangers_));
  ExpectRefused(OptionsFor(draft), "people-missing");
  // Brought up to date with the file that it was imported from.
  ImportOptions options;
  options.data_dir = data_dir();
  options.name = "visits";
  options.users_are_rows = true;
  options.input = home_.directory / "other.csv";
  Write(options.input, "1,2,0\n3,4,5\n0,0,0\n6,7,9\n");
  EXPECT_CODE(ImportPeople(options), "people-differ");
  ExpectRefused(OptionsFor(draft), "people-missing");
  options.input = home_.directory / "visits.in.csv";
  const auto people = ImportPeople(options);
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_EQ(people->rows.size(), 3u);
  ExpectRefused(OptionsFor(Stored(DraftOf({{3, 4, 5}}))), "population-capped");
  EXPECT_TRUE(Publish(OptionsFor(draft)).ok());
}

TEST_F(PublishTest, DamagedFingerprintsAreNotTakenForNone) {
  Write(data_dir() + "/datasets/visits/people.bin", "nobody");
  ExpectRefused(OptionsFor(Stored(DraftOf(strangers_))), "people-damaged");
}

// Who was in it is not known any more, and something may have been released.
TEST_F(PublishTest, RefusesWhileADataSetWithRunsIsNotThere) {
  RunOpening opening = OpeningFor("run");
  opening.population = "patients";
  opening.dataset = "visits";
  ASSERT_TRUE(home_.Open()->OpenRun(opening).ok());
  PublishOptions options = OptionsFor(Stored(DraftOf(strangers_)));
  fs::rename(data_dir() + "/datasets/visits", home_.directory / "away");
  ExpectRefused(options, "people-missing");
  options.void_guarantees = {"patients"};
  EXPECT_TRUE(Publish(options).ok());
}

// The row has the federation's name, and there is nothing to restore.
TEST_F(PublishTest, RefusesAfterRunsOfAFederationAndNamesNoDataSet) {
  ASSERT_TRUE(
      home_.Open()->DeclarePopulation(PolicyFor("patients.others")).ok());
  for (const char* population : {"patients", "patients.others"}) {
    RunOpening opening = OpeningFor(population);
    opening.population = population;
    opening.dataset = "hospitals";
    ASSERT_TRUE(home_.Open()->OpenRun(opening).ok());
  }
  PublishOptions options = OptionsFor(Stored(DraftOf(strangers_)));
  ExpectRefused(options, "people-missing");
  const std::string sentence(Publish(options).status().message());
  EXPECT_THAT(sentence, HasSubstr("the federation hospitals on population "
                                  "patients and"));
  EXPECT_THAT(sentence, HasSubstr("--void-guarantee patients."));
  EXPECT_THAT(sentence, Not(HasSubstr("restore")));
  EXPECT_THAT(sentence, Not(HasSubstr(".others")));
  options.void_guarantees = {"patients"};
  EXPECT_TRUE(Publish(options).ok());
}

TEST_F(PublishTest, TheSamePublicationAgainChangesNothing) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  ASSERT_TRUE(Publish(options).ok());
  const std::size_t rows = RowCount();
  EXPECT_TRUE(Publish(options).ok());
  EXPECT_EQ(RowCount(), rows);
}

TEST_F(PublishTest, DoesNotReplaceAnotherTable) {
  ASSERT_TRUE(Publish(OptionsFor(Stored(DraftOf(strangers_)))).ok());
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}}), "7,7\n"));
  options.void_guarantees = {"patients"};
  const std::size_t rows = RowCount();
  EXPECT_CODE(Publish(options), "publication-exists");
  EXPECT_EQ(RowCount(), rows);
  EXPECT_EQ(ReadAll(Written("table.not-dp.csv")), "9,9\n");
}

TEST_F(PublishTest, WaitsForNobody) {
  const PublishOptions options = OptionsFor(Stored(DraftOf(strangers_)));
  {
    const auto server = home_.Open();
    EXPECT_CODE(Publish(options), "data-dir-in-use");
  }
  {
    const auto import = TakeImportLock(data_dir());
    EXPECT_CODE(Publish(options), "import-running");
  }
  EXPECT_TRUE(NothingThere());
}

// A guarantee cannot begin after everything was published.
TEST_F(PublishTest, WhoWasPublishedIsNotImportedUnderAGuaranteeLater) {
  ASSERT_TRUE(Publish(OptionsFor(Stored(DraftOf(strangers_)))).ok());
  const Digest label_hash = LabelHash(ReadAll(Written("LABEL.json")), Key());
  ImportOptions options = ImportOf("late", "members", "9,9,9\n5,5,5\n");
  EXPECT_CODE(curator::Import(options), "people-published");
  EXPECT_FALSE(fs::exists(data_dir() + "/datasets/late"));
  std::vector<SharedTable> tables;
  BetweenSteps between = {.accepts_tables = true};
  between.before_publish = [&](const DatasetImport& import,
                               const DatasetDigests&) {
    tables = import.shared_tables();
    return absl::OkStatus();
  };
  EXPECT_TRUE(curator::Import(options, between).ok());
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].label_hash, label_hash);
  EXPECT_EQ(tables[0].ids, 0u);
  EXPECT_EQ(tables[0].rows, 1u);
  options = ImportOf("others", "members", "4,4,4\n5,5,5\n");
  EXPECT_TRUE(curator::Import(options).ok());
}

// One word does not stand for every population, and ids are no chance.
TEST_F(PublishTest, AnOverlapIsAcceptedByNameAndOfRowsAlone) {
  Import("more", "members", "3,4,5\n2,2,2\n");
  const std::string draft = Stored(DraftOf({{3, 4, 5}}));
  PublishOptions options = OptionsFor(draft);
  options.accept_overlaps = {"patients"};
  ExpectRefused(options, "population-capped");
  options.accept_overlaps = {"patients", "members", "nobody"};
  ExpectRefused(options, "population-unknown");
  options = OptionsFor(Stored(DraftOf(strangers_)));
  options.accept_overlaps = {"patients"};
  ExpectRefused(options, "flag-unused");
  ImportOptions named = ImportOf("named", "known", "ann,1,2\nbob,3,4\n");
  named.id_column = 1;
  Import(named);
  options = OptionsFor(Stored(DraftOf(strangers_, {"bob"})));
  options.accept_overlaps = {"known"};
  ExpectRefused(options, "population-capped");
  options = OptionsFor(draft);
  options.accept_overlaps = {"patients", "members"};
  EXPECT_TRUE(Publish(options).ok());
}

TEST_F(PublishTest, WhoWasPublishedIsNotDeclaredByIdLater) {
  Import("named", "members", "name,x,y\nann,1,2\nbob,3,4\n");
  ASSERT_TRUE(Publish(OptionsFor(Stored(DraftOf(strangers_, {"bob"})))).ok());
  ImportOptions options;
  options.data_dir = data_dir();
  options.name = "named";
  options.users_are_rows = true;
  options.input = home_.directory / "named.in.csv";
  EXPECT_TRUE(ImportPeople(options).ok());
  const std::string file = data_dir() + "/datasets/named/people.bin";
  const std::string before = ReadAll(file);
  options.id_column = 1;
  EXPECT_CODE(ImportPeople(options), "people-published");
  EXPECT_EQ(ReadAll(file), before);
  EXPECT_EQ(RecognisePeople(options)->tables.at(0).ids, 1u);
  EXPECT_TRUE(ImportPeople(options, /*accepts_tables=*/true).ok());
}

TEST_F(PublishTest, RecordsOfAnotherKeyAreNotTakenForNobody) {
  PeopleCollector others(FingerprintKey{1});
  others.AddRow(std::vector<float>{5, 5, 5});
  ASSERT_TRUE(
      RecordPublished(data_dir(), {DigestOfNumber(7), others.Finish()}).ok());
  EXPECT_CODE(curator::Import(ImportOf("late", "members", "5,5,5\n1,9,1\n")),
              "people-damaged");
  fs::remove_all(data_dir() + "/datasets");
  fs::remove(data_dir() + "/fingerprint.key");
  EXPECT_CODE(LoadOrCreateFingerprintKey(data_dir()),
              "fingerprint-key-damaged");
}

TEST_F(PublishTest, EveryTableThatTheLedgerKnowsHasARecord) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  ASSERT_TRUE(Publish(options).ok());
  const Digest label = RowsOf(RowKind::kVoid).at(0).request_hash;
  EXPECT_TRUE(CheckRecords(data_dir(), {label}).ok());
  EXPECT_EQ(ReasonCode(CheckRecords(data_dir(), {DigestOfNumber(7)})),
            "publications-missing");
  fs::remove_all(data_dir() + "/publications");
  EXPECT_EQ(ReasonCode(CheckRecords(data_dir(), {label})),
            "publications-missing");
}

TEST_F(PublishTest, PeopleOfARemovedDataSetAreNoted) {
  fs::create_directories(data_dir() + "/datasets/.removed");
  fs::rename(data_dir() + "/datasets/visits",
             RemovedDirectory(data_dir(), "visits"));
  std::vector<std::string> notes;
  ImportOptions options = ImportOf("late", "members", "3,4,5\n1,9,1\n7,7,7\n");
  options.note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(curator::Import(options).ok());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("Data set visits of population patients"));
}

TEST_F(PublishTest, NeedsALedger) {
  PublishOptions options = OptionsFor(Stored(DraftOf(strangers_)));
  options.ledger.directory = home_.directory / "elsewhere";
  EXPECT_CODE(Publish(options), "ledger-missing");
  EXPECT_FALSE(fs::exists(options.ledger.directory));
}

// ---- A table drawn from a charged release

class PublishSyntheticTest : public PublishTest {
 protected:
  PublishSyntheticTest() {
    opening_ = OpeningFor("run", 1);
    opening_.population = "patients";
    opening_.dataset = "visits";
    opening_.mechanism = "class_moments";
    draft_.kind = DraftKind::kSynthetic;
    draft_.method = "gaussian-classes";
    draft_.charge = ChargeAndStore(opening_, {5, -6, 7});
  }

  // Charges and stores the one round of a run; returns the charge that a draft
  // states.
  ordered_json ChargeAndStore(const RunOpening& opening,
                              const std::vector<std::int64_t>& sums) {
    const auto ledger = home_.Open();
    EXPECT_TRUE(ledger->OpenRun(opening).ok());
    const ChargedRow row = ledger->ChargeRound(ChargeFor(opening, 1)).value();
    const ReleaseStore store =
        ReleaseStore::Open(ReleaseDirectory(data_dir())).value();
    StoredRelease release;
    release.row_hash = row.hash;
    release.round = 1;
    release.cost = row.cost;
    NoisedMatrix part;
    part.name = "Z";
    part.rows = sums.size();
    part.columns = 1;
    part.lattice = sums;
    release.parts = {part};
    EXPECT_TRUE(
        store.Write(store.Reserve(opening.run_id, 1000).value(), release).ok());
    return {{"ledger", ledger->id()},
            {"sequence", row.sequence},
            {"row_hash", HexOf(row.hash)},
            {"population", opening.population},
            {"dataset", opening.dataset},
            {"run_id", opening.run_id},
            {"mechanism", opening.mechanism},
            {"round", 1},
            {"cost_units", row.cost.UnitsText()},
            {"sums_sha256", HexOf(HashOfSums(sums))}};
  }

  RunOpening opening_;
  Draft draft_;
};

TEST_F(PublishSyntheticTest, HasItsChargeAndItsGuaranteeAndNothingElse) {
  draft_.attacks = {{"linked", 0.777}};
  draft_.largest_linkage = 0.999;  // decides nothing
  draft_.parameters = {{"accuracy", 0.888}};
  const auto published = Publish(OptionsFor(Stored(draft_)));
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_TRUE(published->is_private);
  EXPECT_EQ(published->table, Written("table.csv"));
  EXPECT_EQ(ReadAll(Written("table.csv")), "9,9\n");
  const std::string text = ReadAll(Written("LABEL.json"));
  for (const char* figure : {"777", "888", "999", "linked", "accuracy", "0.05"})
    EXPECT_THAT(text, Not(HasSubstr(figure)));
  const ordered_json label = ordered_json::parse(text);
  std::vector<std::string> fields;
  for (const auto& [field, value] : label.items()) fields.push_back(field);
  EXPECT_THAT(fields, ElementsAre("format", "table", "charge", "guarantee"));
  EXPECT_EQ(label["charge"]["run_id"], "run");
  EXPECT_EQ(label["charge"]["mu_squared_units"], opening_.cost.UnitsText());
  EXPECT_EQ(label["guarantee"]["epsilon"], 1);
  EXPECT_EQ(label["guarantee"]["adjacency"], "replace_one");
  EXPECT_FALSE(label["guarantee"].contains("void_since_unix_seconds"));
}

// The label is the same whatever the attacks found.
TEST_F(PublishSyntheticTest, NoFigureOfTheOriginalChangesAByte) {
  PublishOptions options = OptionsFor(Stored(draft_));
  options.accepted_linkage.reset();
  ASSERT_TRUE(Publish(options).ok());
  const std::string before = ReadAll(Written("LABEL.json"));
  draft_.attacks = {{"linked", 1}};
  draft_.largest_linkage = 1;
  options = OptionsFor(Stored(draft_));
  options.output = home_.directory / "out2";
  options.accepted_linkage = 0.001;
  ASSERT_TRUE(Publish(options).ok());
  EXPECT_EQ(ReadAll(options.output + "/LABEL.json"), before);
}

TEST_F(PublishSyntheticTest, MustComeFromAChargeOfThisLedger) {
  const std::vector<std::pair<const char*, ordered_json>> wrong = {
      {"ledger", "0123456789abcdef0123456789abcdef"},
      {"sequence", 1},
      {"sequence", 100},
      {"sequence", "4"},
      {"row_hash", std::string(64, '0')},
      {"population", "others"},
      {"dataset", "other"},
      {"run_id", "another"},
      {"mechanism", "moments"},
      {"round", 2},
      {"cost_units", "1"},
      {"cost_units", nullptr},
      {"sums_sha256", HexOf(HashOfSums({5, -6, 8}))}};
  for (const auto& [field, value] : wrong) {
    SCOPED_TRACE(field);
    Draft draft = draft_;
    draft.charge[field] = value;
    ExpectRefused(OptionsFor(Stored(draft)), "charge-not-in-ledger");
    draft.charge.erase(field);
    ExpectRefused(OptionsFor(Stored(draft)), "charge-not-in-ledger");
  }
  for (const ordered_json& charge :
       {ordered_json(nullptr), ordered_json("paid"), ordered_json::array()}) {
    Draft draft = draft_;
    draft.charge = charge;
    ExpectRefused(OptionsFor(Stored(draft)), "charge-not-in-ledger");
  }
}

// People are drawn only from class moments.
TEST_F(PublishSyntheticTest, MustComeFromClassMoments) {
  RunOpening other = OpeningFor("other", 1, 4);
  other.population = "patients";
  other.dataset = "visits";
  draft_.charge = ChargeAndStore(other, {5, -6, 7});
  ExpectRefused(OptionsFor(Stored(draft_)), "charge-not-in-ledger");
}

// Whose sums are gone, nobody can say that they are the draft's.
TEST_F(PublishSyntheticTest, NeedsTheStoredRelease) {
  const std::string releases = ReleaseDirectory(data_dir());
  fs::rename(releases, releases + ".away");
  ExpectRefused(OptionsFor(Stored(draft_)), "charge-not-in-ledger");
  fs::remove_all(releases);
  fs::rename(releases + ".away", releases);
  EXPECT_TRUE(Publish(OptionsFor(Stored(draft_))).ok());
}

TEST_F(PublishSyntheticTest, SaysWhetherTheLabelsWerePublic) {
  for (const bool is_public : {false, true}) {
    const std::string name = is_public ? "public" : "private";
    ImportOptions options = ImportOf(
        name, name,
        absl::StrCat("1,2,yes\n3,4,no\n2,1,yes\n7,", name.size(), ",no\n"));
    options.class_column = 3;
    options.classes = {"yes", "no"};
    options.labels_public = is_public;
    Import(options);
    RunOpening opening = opening_;
    opening.run_id = opening.population = opening.dataset = name;
    draft_.charge = ChargeAndStore(opening, {1, 2});
    PublishOptions publish = OptionsFor(Stored(draft_));
    publish.output = home_.directory / ("out-" + name);
    const auto published = Publish(publish);
    ASSERT_TRUE(published.ok()) << published.status();
    const ordered_json label =
        ordered_json::parse(ReadAll(publish.output + "/LABEL.json"));
    EXPECT_EQ(label["charge"]["labels_public"], is_public);
  }
}

TEST_F(PublishSyntheticTest, GivesNoGuaranteeUp) {
  PublishOptions options = OptionsFor(Stored(draft_));
  options.void_guarantees = {"patients"};
  ExpectRefused(options, "flag-unused");
  options.void_guarantees.clear();
  options.accept_overlaps = {"patients"};
  ExpectRefused(options, "flag-unused");
}

TEST_F(PublishSyntheticTest, SaysThatTheGuaranteeWasGivenUpBefore) {
  ASSERT_TRUE(
      home_.Open()->VoidGuarantee({"patients", DigestOfNumber(1), "Ann"}).ok());
  const auto published = Publish(OptionsFor(Stored(draft_)));
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_EQ(published->void_since, 1'700'000'000);
  EXPECT_THAT(ReadAll(Written("LABEL.json")),
              HasSubstr("\"void_since_unix_seconds\": 1700000000"));
}

// ---- A process that ends

constexpr int kStopped = 77;

// Ends the process at the n-th place or call of the system.
int g_left = 0;
void CountDown() {
  if (--g_left == 0) ::_exit(kStopped);
}
void StopAtPlace(const char*) { CountDown(); }

class StoppingSystem : public failpoint::System {
 public:
  int Open(const char* path, int flags, mode_t mode) override {
    CountDown();
    return System::Open(path, flags, mode);
  }
  ssize_t Write(int file, const void* data, std::size_t size) override {
    CountDown();
    if (size > 1) size /= 2;  // and in the middle of a write
    return System::Write(file, data, size);
  }
  int Sync(int file) override {
    CountDown();
    return System::Sync(file);
  }
  int Rename(const char* from, const char* to) override {
    CountDown();
    return System::Rename(from, to);
  }
  int RenameNew(const char* from, const char* to) override {
    CountDown();
    return System::RenameNew(from, to);
  }
};

// Returns true if any file of the output has a byte of the table.
bool SomethingIsOut(const std::string& output) {
  if (!fs::exists(output)) return false;
  for (const auto& entry : fs::directory_iterator(output)) {
    if (ReadAll(entry.path()).find('9') != std::string::npos &&
        entry.path().filename().string().starts_with("table"))
      return true;
  }
  return false;
}

TEST_F(PublishTest, StoppedAnywhereTheTableIsNeverOutWithoutItsRow) {
  PublishOptions options = OptionsFor(Stored(DraftOf({{3, 4, 5}})));
  options.void_guarantees = {"patients"};
  int stopped = 0, with_row_alone = 0, out = 0;
  for (int n = 1;; ++n) {
    SCOPED_TRACE(n);
    // Each from the same beginning.
    const std::string copy = home_.directory / "copy";
    fs::create_directory(copy);
    for (const char* part : {"/ledger", "/anchor"})
      fs::copy(data_dir() + part, copy + part, fs::copy_options::recursive);
    PublishOptions here = options;
    here.ledger.directory = copy + "/ledger";
    here.ledger.anchor_directory = copy + "/anchor";
    here.output = copy + "/out";
    const int status = InChild([&] {
      StoppingSystem system;
      failpoint::in_place_of_the_system = &system;
      failpoint::on_reach = StopAtPlace;
      g_left = n;
      return Publish(here).ok() ? 0 : 1;
    });
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == kStopped) ++stopped;
    const auto rows = Ledger::ReadRows(here.ledger);
    ASSERT_TRUE(rows.ok()) << rows.status();
    const bool has_row = rows->back().kind == RowKind::kVoid;
    const bool is_out = SomethingIsOut(here.output);
    EXPECT_TRUE(has_row || !is_out);
    if (is_out) {
      EXPECT_TRUE(fs::exists(here.output + "/LABEL.json"));
      ++out;
    }
    if (has_row && !is_out) ++with_row_alone;
    // The same call completes it, with one row.
    ASSERT_TRUE(Publish(here).ok());
    EXPECT_EQ(Ledger::ReadRows(here.ledger)->size(), 3u);
    EXPECT_EQ(ReadAll(here.output + "/table.not-dp.csv"), "9,9\n");
    EXPECT_EQ(std::distance(fs::directory_iterator(here.output), {}), 2);
    fs::remove_all(copy);
    if (WEXITSTATUS(status) == 0) break;
    ASSERT_EQ(WEXITSTATUS(status), kStopped);
  }
  std::printf("%d stops, %d with a row alone, %d with a table\n", stopped,
              with_row_alone, out);
  EXPECT_GT(stopped, 20);
  EXPECT_GT(with_row_alone, 3);
  EXPECT_GT(out, 1);
}

}  // namespace
}  // namespace dpnmf::curator
