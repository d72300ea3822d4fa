// Receipts from the curator's ledger to the analyst's mirror and back: they
// show a rollback to whoever holds them, also where no anchor does.
#include <filesystem>
#include <fstream>

#include "analyst/curator_client.h"
#include "analyst/planner.h"
#include "analyst/run_manager.h"
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
    connection_ = analyst::ConnectCurator(server_->InProcessChannel({}),
                                          std::chrono::seconds(60));
    store_ = analyst::RunStore::Open(directory_ + "/analyst").value();
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
