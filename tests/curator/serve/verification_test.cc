// Answers of a server before, while and after it verifies the files of a data
// set.
#include "curator/session/verification.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/status.h"
#include "curator/import/import.h"
#include "curator/import/people/fingerprint.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/serve/curator_fixture.h"
#include "tests/curator/serve/fake_pace_clock.h"
#include "tests/curator/serve/run_ids.h"

namespace dpnmf::curator {
namespace {

// The data set "planted" is on the disk, and nothing is verified.
class VerificationTest : public CuratorFixture {
 protected:
  VerificationTest() {
    const PopulationPolicy policy = PolicyOf("people");
    ImportOptions options = RowsImport(
        directory_, scratch_.Write("v.csv", "1,2,3\n3,4,1\n5,7,2\n2,2,1\n"),
        "planted", policy.population, policy.epsilon, policy.delta);
    options.label_columns = 0;
    options.features_file = scratch_.Write("names", "left\nright\ntop\n");
    BetweenSteps between;
    between.before_publish = [this](const DatasetImport& import,
                                    const DatasetDigests& digests) {
      return ledger_->BindDataset(import.description().population,
                                  import.description().name, digests);
    };
    const auto imported = Import(options, between);
    EXPECT_TRUE(imported.ok()) << imported.status();
    catalog_ = Catalog::Open(directory_).value();
    options_.catalog = &catalog_;
    options_.ledger = ledger_.get();
    options_.file_key =
        KeyOfFiles(LoadOrCreateFingerprintKey(directory_).value());
  }
  // In the background.
  std::unique_ptr<Verification> StartBehind() {
    options_.at_once = 0;
    return Verification::Start(options_).value();
  }
  void Damage(const std::string& name) const {
    const std::string path =
        DatasetDirectory(directory_, "planted") + "/" + name;
    std::string bytes = ReadAll(path);
    bytes.back() ^= 1;
    std::ofstream(path, std::ios::binary) << bytes;
  }

  absl::Status OpenRun() {
    RunParameters run = SmallRun();
    run.rank = 2;
    Session session({ledger_.get(), gate_.get(), &catalog_, access_.get(),
                     &locks_, 1, pacer_},
                    identities_);
    return session.Open(kRun, run).status();
  }
  absl::Status AskItems() {
    grpc::ClientContext context;
    v1::ListItemsRequest request;
    request.set_dataset("planted");
    v1::ListItemsReply reply;
    return FromGrpc(stub_->ListItems(&context, request, &reply));
  }
  absl::Status AskLedger() {
    grpc::ClientContext context;
    v1::GetLedgerRequest request;
    request.set_dataset("planted");
    v1::GetLedgerReply reply;
    return FromGrpc(stub_->GetLedger(&context, request, &reply));
  }
  int Listed() {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    EXPECT_TRUE(stub_->ListDatasets(&context, {}, &reply).ok());
    return reply.datasets_size();
  }
  // One refusal, whoever asks for what, and no row.
  void ExpectNotReady() {
    const auto rows = ledger_->PositionOf("people")->row_count;
    const absl::Status refused = OpenRun();
    EXPECT_EQ(ReasonCode(refused), "dataset-not-ready");
    EXPECT_EQ(AskItems(), refused);
    EXPECT_EQ(AskLedger(), refused);
    EXPECT_EQ(refused, catalog_.Served("planted").status());
    EXPECT_EQ(Listed(), 0);
    EXPECT_EQ(ledger_->PositionOf("people")->row_count, rows);
  }
  void ExpectReady() {
    EXPECT_TRUE(OpenRun().ok()) << OpenRun();
    EXPECT_TRUE(AskItems().ok());
    EXPECT_TRUE(AskLedger().ok());
    EXPECT_EQ(Listed(), 1);
  }
  void AwaitServed(const Verification& verification) const {
    while (!catalog_.Served("planted").ok() && verification.status().ok())
      std::this_thread::yield();
  }

  const Scratch scratch_;
  Verification::Options options_;
};

TEST_F(VerificationTest, SmallDataSetsAreVerifiedAtOnce) {
  ExpectNotReady();
  const auto verification = Verification::Start(options_);
  ASSERT_TRUE(verification.ok()) << verification.status();
  ExpectReady();
}

TEST_F(VerificationTest, UntilADataSetIsVerifiedEveryRequestHasOneRefusal) {
  FakeClock clock;
  const Pacer pace(std::chrono::seconds(1), &clock);
  std::promise<void> read, go_on;
  clock.before_sleep = [&] {
    read.set_value();
    go_on.get_future().wait();
  };
  options_.pacer = &pace;
  ExpectNotReady();
  const auto verification = StartBehind();
  read.get_future().wait();  // all files
  ExpectNotReady();
  go_on.set_value();
  AwaitServed(*verification);
  ExpectReady();
  EXPECT_TRUE(verification->status().ok());
}

TEST_F(VerificationTest, InPacedModeADataSetAppearsAtATick) {
  constexpr std::chrono::nanoseconds kPeriod = std::chrono::milliseconds(10);
  FakeClock clock;
  Pacer pace(kPeriod, &clock);
  clock.Pass(kPeriod / 2);
  bool slept = false;
  clock.before_sleep = [&] {
    slept = true;
    EXPECT_EQ(ReasonCode(catalog_.Served("planted").status()),
              "dataset-not-ready");
  };
  options_.pacer = &pace;
  {
    const auto verification = StartBehind();
    AwaitServed(*verification);
  }
  EXPECT_TRUE(slept);
  EXPECT_EQ(clock.now(), kPeriod);
}

TEST_F(VerificationTest, OtherFilesThanTheImportsAreNeverServed) {
  for (const char* name : {"values.npy", "features.txt", "people.bin"}) {
    SCOPED_TRACE(name);
    Damage(name);
    options_.at_once = kVerifiedAtOnce;
    EXPECT_EQ(ReasonCode(Verification::Start(options_).status()),
              "dataset-damaged");
    std::promise<void> failed;
    options_.failed = [&] { failed.set_value(); };
    {
      const auto verification = StartBehind();
      failed.get_future().wait();
      EXPECT_EQ(ReasonCode(verification->status()), "dataset-damaged");
    }
    ExpectNotReady();
    Damage(name);
  }
}

// A server that stops does not read to the end.
TEST_F(VerificationTest, ItsEndIsNoFailure) {
  options_.failed = [] { ADD_FAILURE(); };
  for (int time = 0; time < 20; ++time) StartBehind().reset();
}

TEST_F(VerificationTest, ADataSetWithoutDigestsInTheLedgerIsRefused) {
  Stop();
  std::filesystem::remove_all(directory_ + "/ledger");
  std::filesystem::remove_all(directory_ + "/anchor");
  Start();
  options_.ledger = ledger_.get();
  EXPECT_EQ(ReasonCode(Verification::Start(options_).status()),
            "dataset-not-in-ledger");
  ExpectNotReady();
}

// Between the mapping of its files and their check.
TEST_F(VerificationTest, ADataSetThatIsExchangedMeanwhileIsRefused) {
  const std::string directory = DatasetDirectory(directory_, "planted");
  Damage("digests.json");
  const Catalog changed = Catalog::Open(directory_).value();
  Damage("digests.json");
  EXPECT_EQ(ReasonCode(VerifyDataset(*changed.Find("planted"), *ledger_,
                                     options_.file_key)),
            "dataset-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
