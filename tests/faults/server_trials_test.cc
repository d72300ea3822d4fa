// Trials of both servers together: runs, cancels, lost and late messages, disks
// that fail and lose power under either, processes that end. Every run must
// come to an end; then the ledger, the mirror, the receipts and the states must
// tell one story.
//
// DPNMF_FAULT_TRIALS=N, DPNMF_FAULT_SEED=S as in curator_trials_test.cc. The
// threads' interleaving is not repeated by a seed.
#include <atomic>
#include <set>
#include <thread>

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/log/log.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "common/wire/status.h"
#include "gtest/gtest.h"
#include "tests/faults/trials.h"
#include "tests/faults/two_servers.h"

namespace dpnmf::faults {
namespace {

using curator::kAlice;
using curator::UnitsText;
using failpoint::Fate;

// One in so many sends and receives fails; 0: none.
std::atomic<std::uint64_t> g_odds{0};
std::atomic<std::uint64_t> g_transfers{0}, g_failed{0};

Fate FateOf(const char* /*place*/) {
  const std::uint64_t odds = g_odds;
  const std::uint64_t n = g_transfers.fetch_add(1);
  if (odds == 0) return Fate::kPasses;
  // A fixed mixture of the number, so that threads need no common generator.
  const std::uint64_t mixed = (n + 1) * 0x9e3779b97f4a7c15;
  if ((mixed >> 33) % odds != 0) return Fate::kPasses;
  ++g_failed;
  return (mixed >> 20) % 2 == 0 ? Fate::kFailsBefore : Fate::kFailsAfter;
}

struct Counts {
  std::uint64_t runs = 0, completed = 0, cancelled = 0, failed = 0,
                curator_restarts = 0, analyst_restarts = 0, rounds = 0,
                calls = 0, calls_failed = 0;
};

class ServerTrial {
 public:
  ServerTrial(std::uint64_t seed, Counts* counts)
      : random_(seed), servers_(seed + 1), counts_(counts) {}

  void Run() {
    g_odds = Below(3) == 0 ? 0 : 5 + Below(60);
    StartRuns();
    if (Below(2) == 0) servers_.curator_disk().Arm(RandomFault());
    if (Below(2) == 0) servers_.analyst_disk().Arm(RandomFault());
    constexpr int kTroubledSteps = 60, kAllSteps = 20'000;
    for (int step = 0; step < kAllSteps && !AllEnded(); ++step) {
      if (step == kTroubledSteps) EndTheTrouble();
      if (step < kTroubledSteps) Trouble();
      Mend();
      if (testing::Test::HasFatalFailure()) return;
      // The pace of events; nothing waits for it.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EndTheTrouble();
    ASSERT_TRUE(AllEnded()) << "a run is stuck";
    ExpectOneStory();
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

  Fault RandomFault() {
    const Fault::Kind kinds[] = {Fault::kPowerCut, Fault::kFails, Fault::kShort,
                                 Fault::kFull, Fault::kReadOnly};
    Fault fault;
    fault.kind = kinds[Below(std::size(kinds))];
    fault.call = 1 + Below(250);
    return fault;
  }

  void StartRuns() {
    const std::uint64_t runs = 1 + Below(3);
    for (std::uint64_t i = 0; i < runs; ++i) {
      const auto& variants = curator::RunVariants();
      const curator::RunVariant& variant = variants[Below(variants.size())];
      v1::RunSpecification specification;
      *specification.mutable_parameters() = ToProto(variant.parameters);
      v1::LearnerOptions& learner = *specification.mutable_learner();
      learner.set_initialisation(v1::INITIALISATION_RANDOM);
      learner.set_steps_per_round(5);
      StartRun(specification);
    }
  }

  // ---- calls of a client, whose request or reply may be lost

  // False if it failed; then with a code.
  bool Answered(const grpc::Status& status) {
    ++counts_->calls;
    if (status.ok()) return true;
    ++counts_->calls_failed;
    EXPECT_NE(ReasonCode(FromGrpc(status)), "") << status.error_message();
    return false;
  }
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(5));
  }

  void StartRun(const v1::RunSpecification& specification) {
    grpc::ClientContext context;
    SetDeadline(&context);
    v1::Run run;
    const auto client = servers_.Client();
    const auto writer = client->StartRun(&context, &run);
    v1::StartRunRequest request;
    *request.mutable_specification() = specification;
    writer->Write(request);
    writer->WritesDone();
    if (Answered(writer->Finish())) started_.insert(run.run_id());
  }

  void CancelRun(const std::string& run_id) {
    grpc::ClientContext context;
    SetDeadline(&context);
    v1::CancelRunRequest request;
    request.set_run_id(run_id);
    v1::Run run;
    if (Answered(servers_.Client()->CancelRun(&context, request, &run)) &&
        run.state() == v1::RUN_STATE_CANCELLED)
      told_cancelled_.insert(run_id);
  }

  // Makes calls that only read.
  void Look() {
    const auto client = servers_.Client();
    grpc::ClientContext contexts[4];
    for (grpc::ClientContext& context : contexts) SetDeadline(&context);
    v1::ListDatasetsReply datasets;
    Answered(client->ListDatasets(&contexts[0], {}, &datasets));
    v1::ListRunsReply runs;
    if (Answered(client->ListRuns(&contexts[1], {}, &runs)) &&
        runs.runs_size() > 0) {
      v1::GetRunRequest request;
      request.set_run_id(runs.runs(0).run_id());
      v1::Run run;
      Answered(client->GetRun(&contexts[2], request, &run));
    }
    v1::GetBudgetRequest budget;
    budget.set_dataset("first");
    v1::GetBudgetReply reply;
    Answered(client->GetBudget(&contexts[3], budget, &reply));
  }

  // A run whose start was not answered may be there all the same.
  bool AllEnded() {
    const auto records = servers_.store().List();
    if (!records.ok()) return false;
    for (const analyst::RunRecord& record : *records)
      if (!IsFinal(record.run.state())) return false;
    return true;
  }

  void Trouble() {
    switch (Below(40)) {
      case 0:
        if (const auto runs = servers_.store().List();
            runs.ok() && !runs->empty())
          CancelRun((*runs)[Below(runs->size())].run.run_id());
        return;
      case 1:
        return RestartCurator(Survival::kAll);
      case 2:
        return RestartAnalyst(Survival::kAll);
      case 3:
        return Look();
      default:
        return;
    }
  }

  // Restarts a server whose disk has failed, now and then, like an operator.
  void Mend() {
    FaultyDisk& curator = servers_.curator_disk();
    FaultyDisk& analyst = servers_.analyst_disk();
    if (curator.struck() && Below(4) == 0) RestartCurator(AnySurvival());
    if (analyst.struck() && Below(4) == 0) RestartAnalyst(AnySurvival());
  }

  void EndTheTrouble() {
    g_odds = 0;
    if (servers_.curator_disk().struck()) RestartCurator(AnySurvival());
    if (servers_.analyst_disk().struck()) RestartAnalyst(AnySurvival());
    servers_.curator_disk().Disarm();
    servers_.analyst_disk().Disarm();
  }

  Survival AnySurvival() { return static_cast<Survival>(Below(3)); }
  void RestartCurator(Survival survival) {
    ++counts_->curator_restarts;
    servers_.RestartCurator(survival);
  }
  void RestartAnalyst(Survival survival) {
    ++counts_->analyst_restarts;
    servers_.RestartAnalyst(survival);
  }

  void ExpectOneStory() {
    // Once more from what is durable alone.
    servers_.RestartAnalyst(Survival::kSynced);
    servers_.RestartCurator(Survival::kSynced);
    const auto rows =
        curator::ReadLedgerFile(servers_.curator().LedgerDirectoryPath());
    ExpectChained(rows);
    ExpectLawful(rows);
    const auto records = servers_.store().List();
    ASSERT_TRUE(records.ok()) << records.status();
    std::set<std::string> known;
    for (const analyst::RunRecord& record : *records) {
      known.insert(record.run.run_id());
      ExpectStoryOf(record.run, rows);
    }
    counts_->runs += records->size();
    for (const std::string& run : started_)
      EXPECT_TRUE(known.contains(run)) << "a run that was started is lost";
    for (const curator::PopulationPolicy& policy :
         servers_.curator().policies()) {
      const auto position =
          servers_.curator().ledger().PositionOf(policy.population).value();
      EXPECT_EQ(position.reserved, MuSquared()) << "a reservation is left";
      EXPECT_LE(position.charged, position.cap);
    }
    for (const char* dataset : {"first", "third"}) {
      grpc::ClientContext context;
      SetDeadline(&context);
      v1::GetBudgetRequest request;
      request.set_dataset(dataset);
      v1::GetBudgetReply budget;
      ASSERT_TRUE(
          Answered(servers_.Client()->GetBudget(&context, request, &budget)));
      EXPECT_TRUE(budget.agree()) << budget.disagreement();
    }
    ExpectReceipts(rows);
  }

  void ExpectStoryOf(const v1::Run& run,
                     const std::vector<curator::FileRow>& rows) {
    const std::string& run_id = run.run_id();
    SCOPED_TRACE("run " + run_id);
    std::uint32_t charged = 0;
    bool opened = false, closed = false;
    curator::Units cost = 0;
    for (const curator::FileRow& row : rows) {
      if (row.run != run_id) continue;
      opened = opened || row.kind == "open";
      closed = closed || row.kind == "close";
      if (row.kind != "charge") continue;
      ++charged;
      cost += row.cost;
    }
    if (told_cancelled_.contains(run_id)) {
      EXPECT_EQ(run.state(), v1::RUN_STATE_CANCELLED);
    }
    counts_->rounds += charged;
    EXPECT_EQ(opened, closed) << v1::RunState_Name(run.state());
    EXPECT_EQ(run.rounds_done(), charged);
    EXPECT_EQ(run.charged().units(), UnitsText(cost));
    const std::uint32_t rounds = run.specification().parameters().rounds();
    switch (run.state()) {
      case v1::RUN_STATE_COMPLETED:
        ++counts_->completed;
        EXPECT_EQ(charged, rounds);
        return;
      case v1::RUN_STATE_CANCELLED:
        ++counts_->cancelled;
        EXPECT_LT(charged, rounds);
        return;
      default:
        ++counts_->failed;
        EXPECT_TRUE(run.error_code() == "release-lost" ||
                    run.error_code() == "budget-exhausted" ||
                    run.error_code() == "moments-empty")
            << run.error_code() << ": " << run.error();
    }
  }

  void ExpectReceipts(const std::vector<curator::FileRow>& rows) {
    std::uint64_t charges = 0;
    for (const curator::FileRow& row : rows) charges += row.kind == "charge";
    const auto receipts =
        servers_.store().Receipts("", v1::Receipt(), 10'000).value();
    EXPECT_EQ(receipts.size(), charges);
    for (const v1::Receipt& receipt : receipts) {
      EXPECT_TRUE(CheckReceipt(receipt).ok());
      ASSERT_LE(receipt.sequence(), rows.size());
      std::string hex;
      for (const char c : receipt.row_hash()) {
        const char* const digits = "0123456789abcdef";
        hex += digits[static_cast<unsigned char>(c) >> 4];
        hex += digits[static_cast<unsigned char>(c) & 15];
      }
      EXPECT_EQ(rows[receipt.sequence() - 1].hash, hex);
    }
  }

  std::mt19937_64 random_;
  TwoServers servers_;
  std::set<std::string> started_, told_cancelled_;  // as answered
  Counts* const counts_;
};

TEST(ServerTrials, EveryRunEndsAndBothSidesTellOneStory) {
  SetLogLevel("off");
  failpoint::on_transfer = FateOf;
  const std::uint64_t seed = TrialSeed("ServerTrials");
  const std::uint64_t trials = TrialsOr(60);
  Counts counts;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    SCOPED_TRACE("repeat with DPNMF_FAULT_SEED=" +
                 std::to_string(seed + trial) + " DPNMF_FAULT_TRIALS=1");
    ServerTrial(seed + trial, &counts).Run();
    if (HasFailure()) break;
    if ((trial + 1) % 1000 == 0) {
      std::printf("%llu trials\n", static_cast<unsigned long long>(trial + 1));
      std::fflush(stdout);
    }
  }
  failpoint::on_transfer = nullptr;
  const auto number = [](std::uint64_t n) {
    return static_cast<unsigned long long>(n);
  };
  std::printf(
      "servers: %llu trials, %llu runs (%llu completed, %llu cancelled, %llu "
      "failed), %llu rounds, %llu curator restarts, %llu analyst restarts, "
      "%llu of %llu transfers failed, %llu of %llu client calls failed\n",
      number(trials), number(counts.runs), number(counts.completed),
      number(counts.cancelled), number(counts.failed), number(counts.rounds),
      number(counts.curator_restarts), number(counts.analyst_restarts),
      number(g_failed), number(g_transfers), number(counts.calls_failed),
      number(counts.calls));
}

}  // namespace
}  // namespace dpnmf::faults
