// Contents of the curator's audit log and metrics; nothing is charged or leaves
// without an entry.
#include <atomic>
#include <fstream>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "curator/serve/budget_metrics.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/common/base/failing_system.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRun[] = "0123456789abcdef0123456789abcdef";

class CuratorAudit : public CuratorFixture {
 protected:
  CuratorAudit() {
    Stop();
    path_ = directory_ + "/audit.jsonl";
    audit_ = AuditLog::Open(path_).value();
    metrics_ = Metrics::Create("dpnmf_curator", "").value();
    observers_ = {audit_.get(), metrics_.get()};
    Start();
  }
  ~CuratorAudit() override { Stop(); }

  // Opens a run and asks for its first round; the code of what came of it.
  std::string OneRound(bool* any_release = nullptr) {
    grpc::ClientContext context;
    sent_ = SendTrace(&context, kRun);
    const auto stream = stub_->Train(&context);
    v1::TrainRequest request;
    request.mutable_open()->set_run_id(kRun);
    *request.mutable_open()->mutable_parameters() = ToProto(SmallRun());
    stream->Write(request);
    v1::TrainReply reply;
    const Eigen::MatrixXd w = RandomDictionary(kFeatures, 3, 1);
    if (stream->Read(&reply)) {
      if (before_round_) before_round_();
      request.Clear();
      request.mutable_round()->set_round(1);
      request.mutable_round()->mutable_shape()->set_rows(kFeatures);
      request.mutable_round()->mutable_shape()->set_columns(3);
      stream->Write(request);
      WriteChunks(w, [&](const v1::RealChunk& chunk) {
        v1::TrainRequest part;
        *part.mutable_dictionary() = chunk;
        return stream->Write(part);
      });
      while (stream->Read(&reply) && !reply.has_end()) {
        if (any_release != nullptr) *any_release = true;
      }
    }
    stream->WritesDone();
    while (stream->Read(&reply)) {
    }
    return ReasonCode(FromGrpc(stream->Finish()));
  }

  std::vector<nlohmann::json> Entries() {
    std::ifstream file(path_);
    std::vector<nlohmann::json> entries;
    for (std::string line; std::getline(file, line);)
      entries.push_back(nlohmann::json::parse(line));
    return entries;
  }

  std::string path_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Metrics> metrics_;
  std::function<void()> before_round_;
  Trace sent_;
};

TEST_F(CuratorAudit, ARoundIsWrittenDownUnderTheAnalystsRequest) {
  ASSERT_EQ(OneRound(), "");
  std::vector<std::string> events;
  for (const auto& entry : Entries()) {
    EXPECT_EQ(entry["request"], sent_.Text());
    EXPECT_EQ(entry["identity"], "dns:analyst");
    events.push_back(entry["event"]);
  }
  EXPECT_THAT(events, ElementsAre("run-asked", "run-opened", "round-asked",
                                  "round-released", "call"));
  const auto released = Entries()[3];
  EXPECT_EQ(released["run"], kRun);
  EXPECT_EQ(released["round"], 1);
  const auto row = ledger_->ChargesOf("people", "dns:analyst", 0, 10).value();
  EXPECT_EQ(released["row"], HexOf(row.at(0).hash));
  EXPECT_EQ(released["mu_squared"], row.at(0).cost.UnitsText());
}

// Ways in which the log cannot be written.
enum class Damage { kDeviceFull, kWriteFails, kSyncFails };

class CuratorAuditDamage : public CuratorAudit,
                           public ::testing::WithParamInterface<Damage> {
 protected:
  ~CuratorAuditDamage() override { Stop(); }  // before the system goes

  void Break() {
    damaged_ = true;
    if (GetParam() != Damage::kDeviceFull) return;
    fs::rename(path_, path_ + ".kept");
    fs::create_symlink("/dev/full", path_);
  }
  void Mend() {
    damaged_ = false;
    if (GetParam() != Damage::kDeviceFull) return;
    fs::remove(path_);
    fs::rename(path_ + ".kept", path_);
  }

 private:
  std::atomic<bool> damaged_ = false;
  FailingSystem system_{
      [this](FailingSystem::Call call, const std::string& path) {
        if (!damaged_ || path != path_) return false;
        return (GetParam() == Damage::kWriteFails &&
                call == FailingSystem::Call::kWrite) ||
               (GetParam() == Damage::kSyncFails &&
                call == FailingSystem::Call::kSync);
      }};
};

// Requests are written down, releases also synced.
class CuratorAuditUnwritten : public CuratorAuditDamage {};

std::string NameOf(const ::testing::TestParamInfo<Damage>& damage) {
  constexpr const char* kNames[] = {"DeviceFull", "WriteFails", "SyncFails"};
  return kNames[static_cast<int>(damage.param)];
}
INSTANTIATE_TEST_SUITE_P(Of, CuratorAuditUnwritten,
                         ::testing::Values(Damage::kDeviceFull,
                                           Damage::kWriteFails),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Of, CuratorAuditDamage,
                         ::testing::Values(Damage::kDeviceFull,
                                           Damage::kWriteFails,
                                           Damage::kSyncFails),
                         NameOf);

TEST_P(CuratorAuditUnwritten, NothingIsReservedOrChargedWithoutAnEntry) {
  const std::uint64_t rows = ledger_->PositionOf("people")->row_count;
  Break();
  EXPECT_EQ(OneRound(), "audit-failed");
  EXPECT_EQ(ledger_->PositionOf("people")->row_count, rows);
  Mend();
  before_round_ = [this] { Break(); };
  EXPECT_EQ(OneRound(), "audit-failed");
  EXPECT_EQ(ledger_->PositionOf("people")->charged, MuSquared());
  Mend();
  before_round_ = nullptr;
  EXPECT_EQ(OneRound(), "");
}

// The log breaks between the charge and the entry of the release.
TEST_P(CuratorAuditDamage, NoReleaseLeavesWithoutItsEntryAndTheRoundIsNotLost) {
  // The ledger asks for the time as it appends the charge.
  bool armed = false;
  Stop();
  clock_ = [&] {
    if (armed) Break();
    armed = false;
    return std::int64_t{1'000'000};
  };
  Start();
  before_round_ = [&] { armed = true; };
  bool any_release = false;
  EXPECT_EQ(OneRound(&any_release), "audit-failed");
  EXPECT_FALSE(any_release);
  const Position charged = ledger_->PositionOf("people").value();
  EXPECT_GT(charged.charged, MuSquared());
  Mend();
  before_round_ = nullptr;
  EXPECT_EQ(OneRound(&any_release), "");
  EXPECT_TRUE(any_release);
  EXPECT_EQ(ledger_->PositionOf("people")->row_count, charged.row_count);
  Stop();  // before what the clock refers to goes
}

TEST_F(CuratorAudit, RefusalsAreWrittenDownWithTheirCode) {
  identities_ = {"dns:mallory"};
  EXPECT_EQ(OneRound(), "identity-unknown");
  EXPECT_EQ(Entries().back()["result"], "identity-unknown");
  EXPECT_EQ(Entries().back()["identity"], "dns:mallory");
  EXPECT_THAT(metrics_->Page(),
              HasSubstr("dpnmf_curator_refusals_total{code=\"identity-unknown\""
                        ",method=\"Train\"} 1"));
}

// A peer with a certificate that nobody has let in asks without end: it must
// not fill the volume that every release needs.
TEST_F(CuratorAudit, RefusedCallsDoNotFillTheLog) {
  identities_ = {"dns:mallory"};
  constexpr int kCalls = 300;
  for (int i = 0; i < kCalls; ++i) {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    EXPECT_EQ(ReasonCode(FromGrpc(stub_->ListDatasets(
                  &context, v1::ListDatasetsRequest(), &reply))),
              "identity-unknown");
    if (i % 10 == 0) {
      EXPECT_EQ(OneRound(), "identity-unknown");
    }
  }
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_THAT(metrics_->Page(),
              HasSubstr("code=\"identity-unknown\",method=\"ListDatasets\"} "
                        "300"));
  // Who is let in has an entry for each call, between them.
  identities_ = {"dns:analyst"};
  EXPECT_EQ(OneRound(), "");
  EXPECT_EQ(Entries().size(), 6u);
  Stop();
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[6]["event"], "calls-refused");
  EXPECT_EQ(entries[6]["identity"], "dns:mallory");
  EXPECT_EQ(entries[6]["result"], "identity-unknown");
  EXPECT_EQ(entries[6]["count"], kCalls + kCalls / 10 - 1);
}

TEST_F(CuratorAudit, MetricsFollowTheLedger) {
  ASSERT_EQ(OneRound(), "");
  const std::string page = metrics_->Page();
  EXPECT_THAT(page, HasSubstr("dpnmf_curator_round_seconds_count{dataset="
                              "\"planted\",result=\"released\"} 1"));
  const Position position = ledger_->PositionOf("people").value();
  const double spent =
      Epsilon(Conversion::kRdp, position.charged, 1e-5).value();
  const std::string line =
      "dpnmf_curator_epsilon{population=\"people\",reading=\"spent\"} ";
  const std::size_t at = page.find(line);
  ASSERT_NE(at, std::string::npos) << page;
  EXPECT_NEAR(std::stod(page.substr(at + line.size())), spent, 1e-6);
  EXPECT_THAT(page, HasSubstr("dpnmf_curator_runs{state=\"connected\"} 0"));
}

TEST_F(CuratorAudit, AnOperatorReadsTotalsAndDoesNotTrain) {
  access_ = AccessControl::FromGrants(
      {{"dns:operator", {Role::kOperator}, {}, true, {}}});
  Stop();
  Start();
  identities_ = {"dns:operator"};
  grpc::ClientContext context;
  v1::GetLedgerRequest request;
  request.set_dataset("planted");
  v1::GetLedgerReply reply;
  EXPECT_TRUE(stub_->GetLedger(&context, request, &reply).ok());
  EXPECT_EQ(OneRound(), "role-missing");
}

}  // namespace
}  // namespace dpnmf::curator
