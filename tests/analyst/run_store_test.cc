#include "analyst/store/run_store.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "SQLiteCpp/SQLiteCpp.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

class RunStoreTest : public testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    store_.reset();
    auto opened =
        RunStore::Open(directory_.path(), [this] { return ++clock_; });
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  void Add(const std::string& run_id,
           const std::string& population = "people") {
    RunRecord record;
    record.run.set_run_id(run_id);
    *record.run.mutable_specification() = FakeSpecification(2, 3);
    record.run.set_state(v1::RUN_STATE_QUEUED);
    record.run.set_started_by("dns:alice.client");
    record.population = population;
    LearnerState state;
    state.w = Eigen::MatrixXd::Constant(4, 2, 0.5);
    ASSERT_TRUE(store_->Add(record, state).ok());
  }

  FinishedRound Round(const std::string& run_id, std::uint32_t round) {
    FinishedRound finished;
    finished.round = round;
    finished.charge = {run_id, round, MuSquared::FromUnits(100),
                       std::string(32, 'a')};
    finished.state.w = Eigen::MatrixXd::Constant(4, 2, 0.1 * round);
    finished.state.memory["A"] = Eigen::MatrixXd::Constant(2, 2, round);
    finished.event.set_round(round);
    finished.event.mutable_position()->set_population("people");
    finished.event.mutable_position()->set_row_count(10 + round);
    finished.event.mutable_position()->set_head("head");
    return finished;
  }

  absl::Status SetState(const std::string& run_id, v1::RunState state) {
    StateChange change;
    change.state = state;
    return store_->ChangeState(run_id, change);
  }

  TemporaryDirectory directory_;
  std::int64_t clock_ = 1000;
  std::unique_ptr<RunStore> store_;
};

TEST_F(RunStoreTest, KeepsMatricesWithoutEntries) {
  Add("one");
  FinishedRound round = Round("one", 1);
  round.state.memory["none"] = Eigen::MatrixXd(4, 0);
  round.state.memory["nothing"] = Eigen::MatrixXd(0, 0);
  const absl::Status stored = store_->FinishRound("one", round);
  ASSERT_TRUE(stored.ok()) << stored;
  Reopen();
  const LearnerState state = store_->ReadLearner("one").value();
  EXPECT_EQ(state.memory.at("none").rows(), 4);
  EXPECT_EQ(state.memory.at("none").cols(), 0);
  EXPECT_EQ(state.memory.at("nothing").rows(), 0);
}

TEST_F(RunStoreTest, ARunWhoseDatasetCannotBeStoredIsNotStored) {
  store_.reset();
  SQLite::Database(directory_.path() + "/analyst.sqlite",
                   SQLite::OPEN_READWRITE)
      .exec(
          "CREATE TRIGGER full BEFORE INSERT ON run_datasets BEGIN SELECT "
          "RAISE(ABORT, 'full'); END");
  Reopen();
  FakeCurator curator(FakeData(6, 40));
  curator.named_features = true;
  RunManager::Settings settings;
  settings.max_running = 0;
  const auto manager = *RunManager::Create(store_.get(), &curator, settings);
  const auto planned = PlanWithCurator(FakeSpecification(2, 3), &curator);
  EXPECT_EQ(
      ReasonCode(manager->Start(*planned, std::nullopt, "dns:alice").status()),
      "storage-failed");
  EXPECT_TRUE(store_->List()->empty());
}

TEST_F(RunStoreTest, KeepsTheItemsOfARunInOrderAndForgetsThemWithIt) {
  Add("one");
  Add("two");
  EXPECT_FALSE(store_->ReadDataset("one")->has_value());
  v1::Dataset dataset;
  dataset.set_name("films");
  ASSERT_TRUE(store_->PutDataset("one", dataset).ok());
  for (const std::uint64_t first : {2, 0, 10}) {
    v1::ListItemsReply page;
    page.set_first(first);
    page.add_items()->set_id(std::string("x\0y", 3));
    ASSERT_TRUE(store_->PutItemPage("one", page).ok());
    ASSERT_TRUE(store_->PutItemPage("two", page).ok());
  }
  Reopen();
  EXPECT_EQ((*store_->ReadDataset("one"))->name(), "films");
  std::vector<std::uint64_t> pages;
  const auto take = [&](const v1::ListItemsReply& page) {
    EXPECT_EQ(page.items(0).id().size(), 3u);
    pages.push_back(page.first());
    return true;
  };
  ASSERT_TRUE(store_->ReadItemPages("one", take).ok());
  EXPECT_EQ(pages, (std::vector<std::uint64_t>{0, 2, 10}));
  EXPECT_EQ(ReasonCode(store_->ReadItemPages(
                "one", [](const v1::ListItemsReply&) { return false; })),
            "state-damaged");
  ASSERT_TRUE(SetState("one", v1::RUN_STATE_COMPLETED).ok());
  ASSERT_TRUE(store_->Forget("one", "dns:alice.client").ok());
  for (const absl::Status& status :
       {store_->ReadDataset("one").status(), store_->ReadItemPages("one", take),
        store_->PutDataset("one", dataset),
        store_->PutItemPage("one", v1::ListItemsReply())}) {
    EXPECT_EQ(ReasonCode(status), "run-unknown");
  }
  Add("one");
  EXPECT_FALSE(store_->ReadDataset("one")->has_value());
  pages.clear();
  ASSERT_TRUE(store_->ReadItemPages("one", take).ok());
  EXPECT_TRUE(pages.empty());
  ASSERT_TRUE(store_->ReadItemPages("two", take).ok());
  EXPECT_EQ(pages.size(), 3u);
}

TEST_F(RunStoreTest, KeepsEverythingOverAReopening) {
  Add("one");
  ASSERT_TRUE(store_->FinishRound("one", Round("one", 1)).ok());
  Reopen();
  const RunRecord record = *store_->Get("one");
  EXPECT_EQ(record.run.rounds_done(), 1u);
  EXPECT_EQ(record.run.state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(record.run.charged().units(), "100");
  EXPECT_EQ(record.run.started_by(), "dns:alice.client");
  EXPECT_EQ(record.run.created_unix_seconds(), 1001);
  EXPECT_EQ(record.population, "people");
  const LearnerState state = *store_->ReadLearner("one");
  EXPECT_EQ(state.w, Eigen::MatrixXd::Constant(4, 2, 0.1));
  EXPECT_EQ(state.memory.at("A"), Eigen::MatrixXd::Constant(2, 2, 1.0));
  EXPECT_EQ(store_->Events("one", 0, 10)->size(), 2u);
  const MirrorView mirror = *store_->Mirror("people");
  EXPECT_EQ(mirror.charges.size(), 1u);
  EXPECT_EQ(mirror.row_count, 11u);
  EXPECT_EQ(mirror.head, "head");
}

// The guarantee may be given up while a run is under way.
TEST_F(RunStoreTest, ARunSaysThatItsGuaranteeHasBecomeVoid) {
  for (const bool at_its_end : {false, true}) {
    SCOPED_TRACE(at_its_end);
    const std::string id = at_its_end ? "ended" : "one";
    Add(id);
    ASSERT_TRUE(store_->FinishRound(id, Round(id, 1)).ok());
    EXPECT_FALSE(store_->Get(id)->run.has_void_since());
    FinishedRound voided = Round(id, 2);
    voided.event.mutable_position()->set_void_since(1'700'000'000);
    if (at_its_end) {
      StateChange change;
      change.state = v1::RUN_STATE_COMPLETED;
      change.event = voided.event;
      ASSERT_TRUE(store_->ChangeState(id, change).ok());
    } else {
      ASSERT_TRUE(store_->FinishRound(id, voided).ok());
      // A later reply changes nothing of it.
      ASSERT_TRUE(store_->FinishRound(id, Round(id, 3)).ok());
    }
    Reopen();
    const RunRecord record = *store_->Get(id);
    EXPECT_EQ(record.run.void_since(), 1'700'000'000);
    EXPECT_EQ(record.guarantee.void_since(), 1'700'000'000);
  }
}

// One reply is enough for all runs of the population, those too that ended.
TEST_F(RunStoreTest, EveryRunOfAVoidPopulationSaysSo) {
  Add("ended");
  ASSERT_TRUE(SetState("ended", v1::RUN_STATE_COMPLETED).ok());
  Add("one");
  Add("two");
  Add("other", "strangers");
  FinishedRound voided = Round("one", 1);
  voided.event.mutable_position()->set_void_since(1'700'000'000);
  ASSERT_TRUE(store_->FinishRound("one", voided).ok());
  Reopen();
  for (const char* id : {"ended", "one", "two"}) {
    EXPECT_EQ(store_->Get(id)->run.void_since(), 1'700'000'000) << id;
  }
  EXPECT_FALSE(store_->Get("other")->run.has_void_since());
  ASSERT_TRUE(store_->SeeVoid("strangers", 1'700'000'005).ok());
  ASSERT_TRUE(store_->SeeVoid("people", 1'700'000'005).ok());
  EXPECT_EQ(store_->Get("other")->run.void_since(), 1'700'000'005);
  EXPECT_EQ(store_->Get("ended")->run.void_since(), 1'700'000'000);
  EXPECT_EQ(store_->Get("ended")->run.state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(RunStoreTest, ListsNewestFirst) {
  Add("one");
  Add("two");
  Reopen();
  Add("three");
  const auto records = *store_->List();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].run.run_id(), "three");
  EXPECT_EQ(records[2].run.run_id(), "one");
}

TEST_F(RunStoreTest, RefusesARoundOutOfOrderAndChangesNothing) {
  Add("one");
  EXPECT_EQ(ReasonCode(store_->FinishRound("one", Round("one", 2))),
            "round-out-of-order");
  EXPECT_EQ(store_->Get("one")->run.rounds_done(), 0u);
  EXPECT_TRUE(store_->Mirror("people")->charges.empty());
  EXPECT_EQ(store_->Events("one", 0, 10)->size(), 1u);
}

TEST_F(RunStoreTest, ALostRoundKeepsTheLearner) {
  Add("one");
  FinishedRound finished = Round("one", 1);
  finished.lost = true;
  ASSERT_TRUE(store_->FinishRound("one", finished).ok());
  EXPECT_EQ(store_->ReadLearner("one")->w,
            Eigen::MatrixXd::Constant(4, 2, 0.5));
  EXPECT_EQ(store_->Get("one")->run.rounds_done(), 1u);
}

TEST_F(RunStoreTest, ACancellingRunStaysSoUntilItEnds) {
  Add("one");
  ASSERT_TRUE(SetState("one", v1::RUN_STATE_CANCELLING).ok());
  ASSERT_TRUE(SetState("one", v1::RUN_STATE_RUNNING).ok());
  ASSERT_TRUE(store_->FinishRound("one", Round("one", 1)).ok());
  EXPECT_EQ(store_->Get("one")->run.state(), v1::RUN_STATE_CANCELLING);
  EXPECT_EQ(store_->Events("one", 2, 10)->front().state(),
            v1::RUN_STATE_CANCELLING);
  ASSERT_TRUE(SetState("one", v1::RUN_STATE_CANCELLED).ok());
  EXPECT_EQ(ReasonCode(SetState("one", v1::RUN_STATE_RUNNING)), "run-ended");
  EXPECT_EQ(store_->Get("one")->run.state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(RunStoreTest, KeepsTheLongestChainSeen) {
  Add("one");
  Add("two");
  FinishedRound newer = Round("one", 1);
  newer.event.mutable_position()->set_row_count(50);
  newer.event.mutable_position()->set_head("newer");
  ASSERT_TRUE(store_->FinishRound("one", newer).ok());
  ASSERT_TRUE(store_->FinishRound("two", Round("two", 1)).ok());
  EXPECT_EQ(store_->Mirror("people")->head, "newer");
}

TEST_F(RunStoreTest, EventsComeAfterTheCursorUpToTheLimit) {
  Add("one");
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(store_->FinishRound("one", Round("one", round)).ok());
  }
  const auto events = *store_->Events("one", 1, 2);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].cursor(), 2u);
  EXPECT_EQ(events[1].cursor(), 3u);
  EXPECT_TRUE(store_->Events("one", UINT64_MAX, 2)->empty());
}

TEST_F(RunStoreTest, NamesAnUnknownRun) {
  EXPECT_EQ(ReasonCode(store_->Get("none").status()), "run-unknown");
  EXPECT_EQ(ReasonCode(store_->ReadModel("none").status()), "run-unknown");
  EXPECT_EQ(ReasonCode(store_->ReadLearner("none").status()), "run-unknown");
  EXPECT_EQ(ReasonCode(SetState("none", v1::RUN_STATE_RUNNING)), "run-unknown");
}

TEST_F(RunStoreTest, RefusesASecondUser) {
  EXPECT_EQ(ReasonCode(RunStore::Open(directory_.path()).status()),
            "state-dir-in-use");
}

TEST_F(RunStoreTest, RefusesAFileThatIsNoDatabase) {
  store_.reset();
  std::ofstream(directory_.path() + "/analyst.sqlite", std::ios::trunc)
      << std::string(5000, 'x');
  EXPECT_EQ(ReasonCode(RunStore::Open(directory_.path()).status()),
            "state-damaged");
}

TEST_F(RunStoreTest, RefusesADamagedPage) {
  for (int i = 0; i < 40; ++i) Add("run" + std::to_string(i));
  store_.reset();
  const std::string file = directory_.path() + "/analyst.sqlite";
  const auto size = std::filesystem::file_size(file);
  ASSERT_GT(size, 3 * 4096u);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(4096);  // every page but the first
  stream << std::string(size - 4096, '\x5a');
  stream.close();
  EXPECT_EQ(ReasonCode(RunStore::Open(directory_.path()).status()),
            "state-damaged");
}

TEST_F(RunStoreTest, RefusesAMatrixOfAnUnknownName) {
  Add("a");
  store_.reset();
  SQLite::Database(directory_.path() + "/analyst.sqlite",
                   SQLite::OPEN_READWRITE)
      .exec("UPDATE matrices SET name = 'x'");
  Reopen();
  EXPECT_EQ(ReasonCode(store_->ReadLearner("a").status()), "state-damaged");
}

TEST_F(RunStoreTest, RefusesADirectoryThatCannotBe) {
  const std::string file = directory_.path() + "/plain";
  std::ofstream(file) << "x";
  EXPECT_EQ(ReasonCode(RunStore::Open(file + "/state").status()),
            "storage-failed");
}

TEST_F(RunStoreTest, ForgetsWhatHasEndedAndKeepsTheMirror) {
  Add("one");
  Add("two");
  for (const char* run : {"one", "two"})
    ASSERT_TRUE(store_->FinishRound(run, Round(run, 1)).ok());
  EXPECT_EQ(ReasonCode(store_->Forget("one", "dns:alice").status()),
            "run-not-ended");
  ASSERT_TRUE(SetState("one", v1::RUN_STATE_COMPLETED).ok());
  const auto charges = store_->Forget("one", "dns:alice");
  ASSERT_TRUE(charges.ok()) << charges.status();
  EXPECT_EQ(*charges, 1u);
  Reopen();
  EXPECT_EQ(ReasonCode(store_->Get("one").status()), "run-unknown");
  EXPECT_EQ(ReasonCode(store_->ReadModel("one").status()), "run-unknown");
  EXPECT_EQ(ReasonCode(store_->ReadLearner("one").status()), "run-unknown");
  EXPECT_TRUE(store_->Events("one", 0, 10)->empty());
  EXPECT_TRUE(store_->ReadModel("two").ok());
  EXPECT_EQ(store_->Mirror("people")->charges.size(), 2u);
  EXPECT_EQ(ReasonCode(store_->Forget("one", "dns:alice").status()),
            "run-unknown");
}

TEST_F(RunStoreTest, FindsTheRunsThatEndedLongAgo) {
  Add("ended");
  Add("running");
  ASSERT_TRUE(SetState("ended", v1::RUN_STATE_CANCELLED).ok());
  EXPECT_EQ(*store_->EndedBefore(clock_ + 1),
            std::vector<std::string>{"ended"});
  EXPECT_TRUE(store_->EndedBefore(1000)->empty());
}

TEST_F(RunStoreTest, AStateOfAnotherVersionOrOfNoneIsRefused) {
  Add("one");
  store_.reset();
  for (const auto& [version, code] :
       {std::pair{2, "state-newer"}, std::pair{0, "state-damaged"},
        std::pair{-1, "state-damaged"}, std::pair{1, ""}}) {
    SCOPED_TRACE(version);
    {
      SQLite::Database db(directory_.path() + "/analyst.sqlite",
                          SQLite::OPEN_READWRITE);
      db.exec("PRAGMA user_version = " + std::to_string(version));
    }
    EXPECT_EQ(ReasonCode(RunStore::Open(directory_.path()).status()), code);
  }
}

TEST_F(RunStoreTest, AStateWithOtherTablesIsRefused) {
  Add("one");
  store_.reset();
  for (const char* change :
       {"CREATE TABLE more (number INTEGER)", "DROP TABLE more",
        "ALTER TABLE runs ADD COLUMN more INTEGER"}) {
    SCOPED_TRACE(change);
    {
      SQLite::Database db(directory_.path() + "/analyst.sqlite",
                          SQLite::OPEN_READWRITE);
      db.exec(change);
    }
    EXPECT_EQ(ReasonCode(RunStore::Open(directory_.path()).status()),
              change[0] == 'D' ? "" : "state-damaged");
  }
}

}  // namespace
}  // namespace dpnmf::analyst
