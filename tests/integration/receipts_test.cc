// Receipts from the curator's ledger to the analyst's mirror and back: they
// show a rollback to whoever holds them, also where no anchor does.
#include <filesystem>
#include <fstream>

#include "analyst/curators/curator_client.h"
#include "analyst/curators/void_marks.h"
#include "analyst/planning/budget.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "curator/commands/compare_receipts.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf {
namespace {

namespace fs = std::filesystem;
using curator::CompareReceipts;

class ReceiptsOfARun : public curator::CuratorFixture {
 protected:
  ReceiptsOfARun() {
    store_ = analyst::RunStore::Open(directory_ + "/analyst").value();
    connection_ = analyst::RememberVoidGuarantees(
        analyst::ConnectCurator(server_->InProcessChannel({}),
                                std::chrono::seconds(60)),
        store_.get(), nullptr);
    manager_ = analyst::RunManager::Create(store_.get(), connection_.get(), {})
                   .value();
  }
  ~ReceiptsOfARun() override {
    manager_.reset();
    connection_.reset();
  }

  void TrainOnce() {
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(curator::SmallRun());
    specification.mutable_learner()->set_initialisation(
        v1::INITIALISATION_RANDOM);
    const auto planned =
        analyst::PlanWithCurator(specification, connection_.get()).value();
    const auto run = manager_->Start(planned, std::nullopt, "dns:alice");
    ASSERT_TRUE(run.ok()) << run.status();
    ASSERT_TRUE(manager_
                    ->Watch(
                        run->run_id(), 0,
                        [](const v1::RunEvent&) { return true; },
                        [] { return false; })
                    .ok());
    ASSERT_EQ(manager_->Get(run->run_id())->state(), v1::RUN_STATE_COMPLETED);
  }

  std::vector<v1::Receipt> Held() {
    return store_->Receipts("planted", v1::Receipt(), 1'000).value();
  }
  std::string Write(const std::vector<v1::Receipt>& receipts) {
    const std::string file = directory_ + "/receipts.jsonl";
    std::ofstream out(file);
    for (const v1::Receipt& receipt : receipts) out << LineOf(receipt);
    return file;
  }
  std::vector<curator::LedgerRow> Rows(const std::string& ledger) {
    curator::Ledger::Options options;
    options.directory = ledger;
    return curator::Ledger::ReadRows(options).value();
  }
  std::string Compare(const std::vector<v1::Receipt>& receipts,
                      const std::string& ledger) {
    return ReasonCode(
        CompareReceipts(Write(receipts), directory_, Rows(ledger)).status());
  }

  std::unique_ptr<analyst::CuratorConnection> connection_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
};

TEST_F(ReceiptsOfARun, OneForEachReleaseStandsInTheMirrorAndInTheLedger) {
  TrainOnce();
  const std::vector<v1::Receipt> held = Held();
  ASSERT_EQ(held.size(), 4u);
  for (const v1::Receipt& receipt : held) {
    EXPECT_TRUE(CheckReceipt(receipt).ok());
    EXPECT_EQ(receipt.dataset(), "planted");
    EXPECT_EQ(receipt.identity(), "dns:analyst");
  }
  EXPECT_EQ(
      CompareReceipts(Write(held), directory_, Rows(directory_ + "/ledger"))
          .value(),
      4u);
  EXPECT_EQ(store_->Receipts("other", v1::Receipt(), 9)->size(), 0u);
  EXPECT_EQ(store_->Receipts("", held[1], 1'000)->size(), 2u);
}

TEST_F(ReceiptsOfARun, ALedgerThatWasRolledBackLacksTheirRows) {
  TrainOnce();
  fs::copy(directory_ + "/ledger", directory_ + "/old",
           fs::copy_options::recursive);
  TrainOnce();
  ASSERT_EQ(Held().size(), 8u);
  EXPECT_EQ(Compare(Held(), directory_ + "/ledger"), "");
  EXPECT_EQ(Compare(Held(), directory_ + "/old"), "receipt-not-in-ledger");
}

TEST_F(ReceiptsOfARun, AFactThatIsNotTheRowsIsNoticedThoughItIsSigned) {
  TrainOnce();
  std::vector<v1::Receipt> receipts = Held();
  std::ifstream file(directory_ + "/receipt.key");
  const std::string pem((std::istreambuf_iterator<char>(file)), {});
  const auto key = SigningKey::FromPem(pem);
  ASSERT_TRUE(key.has_value());
  receipts[0].mutable_charged()->set_units("1");
  Sign(*key, &receipts[0]);
  EXPECT_EQ(Compare(receipts, directory_ + "/ledger"), "receipt-not-in-ledger");
  receipts = Held();
  receipts[0].set_sequence(2);  // the population's row
  Sign(*key, &receipts[0]);
  EXPECT_EQ(Compare(receipts, directory_ + "/ledger"), "receipt-not-in-ledger");
}

// A run that ended before the guarantee was given up, and its receipts.
TEST_F(ReceiptsOfARun, TheyAreMarkedOnceTheGuaranteeIsVoid) {
  TrainOnce();
  const std::string run = store_->List()->at(0).run.run_id();
  const auto read = [&] {
    return analyst::ReadBudget("planted", connection_.get(), store_.get());
  };
  ASSERT_TRUE(read().ok());
  EXPECT_FALSE(store_->Get(run)->run.has_void_since());
  const std::vector<v1::Receipt> before = Held();
  ASSERT_TRUE(ledger_->VoidGuarantee({"people", Digest{1}, "Ann"}).ok());
  const std::int64_t since = *ledger_->PositionOf("people")->void_since;
  // The list of data sets is enough for the run.
  ASSERT_TRUE(connection_->ListDatasets().ok());
  EXPECT_EQ(store_->Get(run)->run.void_since(), since);
  EXPECT_FALSE(Held()[0].has_void_since());
  const auto budget = read();
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_TRUE(budget->agree()) << budget->disagreement();
  const std::vector<v1::Receipt> after = Held();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].void_since(), since);
    EXPECT_TRUE(CheckReceipt(after[i]).ok());
    EXPECT_EQ(after[i].signature(), before[i].signature());
  }
  EXPECT_EQ(Compare(after, directory_ + "/ledger"), "");
  EXPECT_EQ(Compare(before, directory_ + "/ledger"), "");
  // A mark with another time, one of another receipt, and one that is cut off.
  std::vector<v1::Receipt> changed = after;
  changed[0].set_void_since(since - 1);
  EXPECT_EQ(Compare(changed, directory_ + "/ledger"), "receipt-invalid");
  changed = after;
  changed[0].set_void_signature(after[1].void_signature());
  EXPECT_EQ(Compare(changed, directory_ + "/ledger"), "receipt-invalid");
  changed = after;
  changed[0].clear_void_since();
  EXPECT_EQ(Compare(changed, directory_ + "/ledger"), "receipt-invalid");
  // A charge after it comes with the mark.
  TrainOnce();
  EXPECT_EQ(Held().back().void_since(), since);
}

// Unsigned statements of a curator change no receipt.
TEST_F(ReceiptsOfARun, AMarkThatIsNotSignedIsNotTaken) {
  TrainOnce();
  const std::vector<v1::Receipt> before = Held();
  std::vector<analyst::VoidMark> marks;
  for (const v1::Receipt& receipt : before)
    marks.push_back({receipt.row_hash(), receipt.sequence(),
                     std::string(sizeof(Signature), 'x')});
  ASSERT_TRUE(store_->MarkReceipts(1'700'000'000, marks).ok());
  const std::vector<v1::Receipt> after = Held();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i].SerializeAsString(), before[i].SerializeAsString());
}

TEST_F(ReceiptsOfARun, TamperedOrOfAnotherKeyTheyAreRefused) {
  TrainOnce();
  std::vector<v1::Receipt> receipts = Held();
  receipts[2].set_round(9);
  EXPECT_EQ(Compare(receipts, directory_ + "/ledger"), "receipt-invalid");
  receipts = Held();
  Sign(SigningKey::Generate(), &receipts[2]);
  EXPECT_EQ(Compare(receipts, directory_ + "/ledger"), "receipt-key-differs");
}

TEST_F(ReceiptsOfARun, TheKeyIsTheOwnersAloneAndStaysTheSame) {
  const fs::path key = directory_ + "/receipt.key";
  EXPECT_EQ(fs::status(key).permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::owner_write);
  TrainOnce();
  const std::vector<v1::Receipt> before = Held();
  manager_.reset();
  connection_.reset();
  Stop();
  Start();
  Digest release{};
  ASSERT_EQ(before[0].release_sha256().size(), release.size());
  std::copy(before[0].release_sha256().begin(),
            before[0].release_sha256().end(), release.begin());
  EXPECT_EQ(
      receipts_->ReceiptOf(before[0].sequence(), release)->SerializeAsString(),
      before[0].SerializeAsString());
  Stop();
  std::ofstream(key) << "damaged";
  curator::Ledger::Options options;
  options.directory = directory_ + "/ledger";
  const auto ledger = curator::Ledger::Open(options).value();
  EXPECT_EQ(
      ReasonCode(
          curator::ReceiptSigner::Open(directory_, ledger.get()).status()),
      "receipt-key-damaged");
}

}  // namespace
}  // namespace dpnmf
