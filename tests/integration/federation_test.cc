// The analyst's side of a federation against three real curators over gRPC in
// one process: the sum, the receipts, a round that is lost, and a curator that
// sends something else.
#include <atomic>
#include <fstream>

#include "analyst/curators/curator_client.h"
#include "analyst/curators/federated_curator.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "curator/serve/service.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "tests/curator/federation/hospitals.h"

namespace dpnmf {
namespace {

using curator::Hospital;
using curator::HospitalsTest;
using curator::kRunId;

// A hospital's service on a channel within the process.
class ServedHospital {
 public:
  explicit ServedHospital(Hospital* hospital) : hospital_(hospital) {}
  ~ServedHospital() { Stop(); }

  void Serve() {
    Stop();
    // The key of the hospital's offers signs its receipts.
    std::ofstream(keys_ / "receipt.key") << hospital_->key().Pem();
    receipts_.emplace(
        curator::ReceiptSigner::Open(keys_.path(), &hospital_->ledger())
            .value());
    curator::ServiceOptions options;
    options.context = hospital_->Context();
    options.identify = [](const grpc::ServerContextBase&) {
      return std::vector<std::string>{"dns:analyst"};
    };
    options.receipts = &*receipts_;
    options.version = "test";
    service_ = std::make_unique<curator::CuratorServiceImpl>(options);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
  }
  void Stop() {
    if (server_ != nullptr) server_->Shutdown();
    server_.reset();
    service_.reset();
    receipts_.reset();
  }
  std::unique_ptr<analyst::CuratorConnection> Connect() {
    return analyst::ConnectCurator(server_->InProcessChannel({}),
                                   std::chrono::seconds(30));
  }

 private:
  Hospital* const hospital_;
  const curator::TempDirectory keys_;
  std::optional<curator::ReceiptSigner> receipts_;
  std::unique_ptr<curator::CuratorServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
};

// A connection whose next contribution never leaves.
class BreakingStream final : public analyst::RunStream {
 public:
  BreakingStream(std::unique_ptr<RunStream> stream, std::atomic<bool>* breaks)
      : stream_(std::move(stream)), breaks_(breaks) {}
  absl::StatusOr<analyst::OpenedRun> Open(
      const std::string& run_id, const v1::RunParameters& run) override {
    return stream_->Open(run_id, run);
  }
  absl::StatusOr<analyst::RoundResult> Round(std::uint32_t round,
                                             const RoundInput& w) override {
    return stream_->Round(round, w);
  }
  absl::StatusOr<FederationOffer> Offer(std::uint32_t round,
                                        const RoundInput& w) override {
    return stream_->Offer(round, w);
  }
  absl::StatusOr<analyst::RoundResult> Contribute(
      std::uint32_t round,
      const std::vector<FederationOffer>& offers) override {
    if (breaks_->exchange(false)) {
      return Refusal(absl::StatusCode::kUnavailable, "unreachable",
                     "The connection broke.");
    }
    return stream_->Contribute(round, offers);
  }
  absl::StatusOr<analyst::ClosedRun> Close() override {
    return stream_->Close();
  }
  void Cancel() override { stream_->Cancel(); }

 private:
  const std::unique_ptr<RunStream> stream_;
  std::atomic<bool>* const breaks_;
};

class BreakingCurator final : public analyst::CuratorConnection {
 public:
  BreakingCurator(std::unique_ptr<CuratorConnection> curator,
                  std::atomic<bool>* breaks)
      : curator_(std::move(curator)), breaks_(breaks) {}
  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    return curator_->ListDatasets();
  }
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override {
    return curator_->ListItems(dataset, first);
  }
  absl::StatusOr<v1::GetLedgerReply> GetLedger(const std::string& dataset,
                                               std::uint64_t after) override {
    return curator_->GetLedger(dataset, after);
  }
  std::unique_ptr<analyst::RunStream> NewStream() override {
    return std::make_unique<BreakingStream>(curator_->NewStream(), breaks_);
  }

 private:
  const std::unique_ptr<CuratorConnection> curator_;
  std::atomic<bool>* const breaks_;
};

class RefusingCurator final : public analyst::CuratorConnection {
 public:
  explicit RefusingCurator(absl::Status status) : status_(std::move(status)) {}
  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    return status_;
  }
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string&,
                                               std::uint64_t) override {
    return status_;
  }
  absl::StatusOr<v1::GetLedgerReply> GetLedger(const std::string&,
                                               std::uint64_t) override {
    return status_;
  }
  std::unique_ptr<analyst::RunStream> NewStream() override { return nullptr; }

 private:
  const absl::Status status_;
};

class FederatedCuratorTest : public HospitalsTest {
 protected:
  FederatedCuratorTest() {
    for (const auto& hospital : hospitals_) {
      served_.push_back(std::make_unique<ServedHospital>(hospital.get()));
      served_.back()->Serve();
    }
  }
  std::unique_ptr<analyst::CuratorConnection> Connect(
      const Federation& federation) {
    std::vector<std::unique_ptr<analyst::CuratorConnection>> members;
    for (const auto& served : served_)
      members.push_back(
          std::make_unique<BreakingCurator>(served->Connect(), &breaks_));
    return analyst::FederateCurators(nullptr, federation, std::move(members));
  }
  std::unique_ptr<analyst::CuratorConnection> Connect() {
    return Connect(federation_);
  }
  static v1::RunParameters Run(const std::string& mechanism) {
    return ToProto(curator::FederatedRun(mechanism));
  }
  double Charged(std::size_t i) { return at(i).Charged().ToDouble(); }

  std::atomic<bool> breaks_{false};
  std::vector<std::unique_ptr<ServedHospital>> served_;
  const RoundInput w_{RandomDictionary(curator::kRows, 3, 1)};
};

TEST_F(FederatedCuratorTest, TheSumOfARunIsThatOfAllPeople) {
  const auto curators = Connect();
  const auto stream = curators->NewStreamFor("hospitals");
  const auto opened = stream->Open(kRunId, Run("moments"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->users, curator::kPeople);
  EXPECT_TRUE(opened->keys_checked);
  const auto round = stream->Round(1, {});
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_FALSE(round->lost);
  ASSERT_EQ(round->parts.size(), 1u);
  EXPECT_EQ(round->parts[0].name, "G");
  EXPECT_TRUE(round->receipts_checked);
  EXPECT_EQ(round->other_receipts.size(), 2u);
  // The trace of G is the sum of |v|^2, in steps of 4^-q: with the noise of the
  // pattern, below 2^23 an entry and curator.
  double trace = 0, squares = 0;
  for (std::uint64_t d = 0; d < curator::kRows; ++d)
    trace += static_cast<double>(
        round->parts[0].lattice[static_cast<std::size_t>(d * (d + 3) / 2)]);
  for (const float v : curator::PlantedColumns()) squares += double{v} * v;
  EXPECT_NEAR(std::ldexp(trace, round->parts[0].step_exponent), squares,
              0.01 * squares);
  // The plan that learning goes by has the noise of the sum: sqrt(3/2) sigma.
  const auto whole =
      PlanRun(curator::FederatedRun("moments"), FactsOf(federation_)).value();
  EXPECT_NEAR(
      static_cast<double>(opened->plan.stages(0).parts(0).stddev_steps()),
      std::sqrt(1.5) *
          static_cast<double>(whole.stages[0].parts[0].stddev_steps),
      2);
  EXPECT_EQ(round->ledger.population(), "hospitals");
  ASSERT_TRUE(stream->Close().ok());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(at(i).ReservedOfBoth(), MuSquared());
}

// b is gone after a and c have charged, and comes back without its key.
TEST_F(FederatedCuratorTest, ALostKeyMakesTheRoundLostAndTheRunGoesOn) {
  const auto curators = Connect();
  auto stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("statistics")).ok());
  breaks_ = true;  // at one of the three
  EXPECT_TRUE(absl::IsUnavailable(stream->Round(1, w_).status()));
  stream.reset();
  std::size_t silent = 0;
  int charged = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (Charged(i) > 0)
      ++charged;
    else
      silent = i;
  }
  ASSERT_EQ(charged, 2);
  served_[silent]->Stop();
  at(silent).Start(federation_);
  served_[silent]->Serve();
  const auto again = Connect();
  stream = again->NewStreamFor("hospitals");
  EXPECT_EQ(stream->Open(kRunId, Run("statistics"))->next_round, 1u);
  const auto lost = stream->Round(1, w_);
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_TRUE(lost->lost);
  EXPECT_EQ(lost->other_receipts.size(), 2u);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(Charged(i), Charged(0));
  const double once = Charged(0);
  const auto next = stream->Round(2, w_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(next->lost);
  EXPECT_DOUBLE_EQ(Charged(0), 2 * once);
}

// The same, and b still has its key: nothing is lost, and a and c send what
// they have stored.
TEST_F(FederatedCuratorTest, ABrokenConnectionLosesNothing) {
  const auto curators = Connect();
  auto stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("statistics")).ok());
  breaks_ = true;
  EXPECT_FALSE(stream->Round(1, w_).ok());
  stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("statistics")).ok());
  const auto round = stream->Round(1, w_);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_FALSE(round->lost);
  EXPECT_EQ(stream->Round(1, w_)->parts, round->parts);
}

TEST_F(FederatedCuratorTest, ARunThatOneCuratorClosedIsClosedAtAll) {
  const auto curators = Connect();
  auto stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("statistics")).ok());
  ASSERT_TRUE(at(1).ledger().CloseRun("dns:analyst", kRunId).ok());
  stream = curators->NewStreamFor("hospitals");
  EXPECT_EQ(ReasonCode(stream->Open(kRunId, Run("statistics")).status()),
            "run-closed");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(at(i).ReservedOfBoth(), MuSquared());
}

// b adds 2^61 to every entry: no sum of 200 people.
TEST_F(FederatedCuratorTest, ASumThatNoPlanAllowsIsNotUsed) {
  served_[1]->Stop();
  at(1).SetNoise([](const std::vector<PartPlan>& parts, int) {
    std::vector<std::vector<std::int64_t>> noise;
    for (const PartPlan& part : parts)
      noise.emplace_back(EntryCount(part.rows, part.columns, part.symmetric),
                         std::int64_t{1} << 61);
    return noise;
  });
  at(1).Start(federation_);
  served_[1]->Serve();
  const auto curators = Connect();
  const auto stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("moments")).ok());
  EXPECT_EQ(ReasonCode(stream->Round(1, {}).status()),
            "federation-sum-malformed");
}

TEST_F(FederatedCuratorTest, CuratorsWithAnotherFileAreRefusedBeforeACharge) {
  Federation other = federation_;
  other.colluders = 2;
  EXPECT_EQ(ReasonCode(Connect(other)
                           ->NewStreamFor("hospitals")
                           ->Open(kRunId, Run("moments"))
                           .status()),
            "plan-differs");
  other = federation_;
  other.members[2].receipt_key = SigningKey::Generate().public_key();
  EXPECT_EQ(ReasonCode(Connect(other)
                           ->NewStreamFor("hospitals")
                           ->Open(kRunId, Run("moments"))
                           .status()),
            "receipt-key-changed");
  other = federation_;
  other.sha256[0] ^= 1;
  const auto curators = Connect(other);
  const auto stream = curators->NewStreamFor("hospitals");
  ASSERT_TRUE(stream->Open(kRunId, Run("moments")).ok());
  EXPECT_EQ(ReasonCode(stream->Round(1, {}).status()),
            "federation-offer-differs");
  EXPECT_EQ(Charged(0), 0);
}

// Else a run that one curator has refused for good waits for ever.
TEST_F(FederatedCuratorTest, ARefusedCertificateDoesNotHideAnotherRefusal) {
  std::vector<std::unique_ptr<analyst::CuratorConnection>> members;
  for (const auto& [kind, code] :
       {std::pair(absl::StatusCode::kUnauthenticated, "certificate-wrong-name"),
        std::pair(absl::StatusCode::kResourceExhausted, "budget-exhausted"),
        std::pair(absl::StatusCode::kUnavailable, "curator-unreachable")})
    members.push_back(
        std::make_unique<RefusingCurator>(Refusal(kind, code, "No.")));
  const auto curators =
      analyst::FederateCurators(nullptr, federation_, std::move(members));
  EXPECT_EQ(ReasonCode(curators->GetLedger("hospitals", 0).status()),
            "budget-exhausted");
}

TEST_F(FederatedCuratorTest, TheDataSetIsThatOfTheFileAndTheLeastBudgetCounts) {
  ASSERT_TRUE(at(2)
                  .NewSession()
                  .Open(std::string(32, 'c'), curator::FederatedRun("moments"))
                  .ok());
  const auto curators = Connect();
  const auto list = curators->ListDatasets();
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->datasets_size(), 1);
  const v1::Dataset& dataset = list->datasets(0);
  EXPECT_EQ(dataset.users(), curator::kPeople);
  EXPECT_EQ(dataset.federation().members(), 3u);
  EXPECT_EQ(dataset.federation().colluders(), 1u);
  const auto ledger = curators->GetLedger("hospitals", 0).value();
  EXPECT_GT(ledger.position().reserved().value(), 0);
  EXPECT_EQ(ledger.position().population(), "hospitals");
  const auto budgets = curators->MemberBudgets("hospitals").value();
  ASSERT_EQ(budgets.size(), 3u);
  EXPECT_EQ(budgets[0].position().reserved().value(), 0);
  EXPECT_GT(budgets[2].position().reserved().value(), 0);
  EXPECT_TRUE(curators->MemberBudgets("other")->empty());
  EXPECT_EQ(ReasonCode(curators->GetLedger("other", 0).status()),
            "dataset-unknown");
}

}  // namespace
}  // namespace dpnmf
