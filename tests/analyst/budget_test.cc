#include "analyst/planning/budget.h"

#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/wire/convert.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

class BudgetTest : public testing::Test {
 protected:
  void SetUp() override { store_ = *RunStore::Open(directory_.path()); }

  // A whole run of `rounds` rounds.
  v1::Run Train(std::uint32_t rounds) {
    RunManager::Settings settings;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    const auto manager = *RunManager::Create(store_.get(), &curator_, settings);
    const auto planned =
        PlanWithCurator(FakeSpecification(2, rounds), &curator_);
    const auto run = manager->Start(*planned, std::nullopt, "dns:alice.client");
    const auto all = [](const v1::RunEvent&) { return true; };
    EXPECT_TRUE(
        manager->Watch(run->run_id(), 0, all, [] { return false; }).ok());
    return *manager->Get(run->run_id());
  }

  v1::GetBudgetReply Budget() {
    const auto reply = ReadBudget("toy", &curator_, store_.get());
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or(v1::GetBudgetReply());
  }

  TemporaryDirectory directory_;
  FakeCurator curator_{FakeData(6, 40)};
  std::unique_ptr<RunStore> store_;
};

TEST_F(BudgetTest, NothingSpentAgrees) {
  const v1::GetBudgetReply reply = Budget();
  EXPECT_TRUE(reply.agree()) << reply.disagreement();
  EXPECT_EQ(reply.own_charge_count(), 0u);
  EXPECT_EQ(reply.charged_epsilons().rdp(), 0);
  EXPECT_EQ(reply.largest_run(), 10);
}

TEST_F(BudgetTest, MirrorAndRecordAgreeAfterARunOverManyPages) {
  curator_.page = 3;
  const v1::Run run = Train(8);
  const v1::GetBudgetReply reply = Budget();
  EXPECT_TRUE(reply.agree()) << reply.disagreement();
  EXPECT_EQ(reply.own_charge_count(), 8u);
  EXPECT_EQ(reply.mirror().charge_count(), 8u);
  EXPECT_EQ(reply.mirror().charged().units(), run.charged().units());
  EXPECT_EQ(reply.mirror().charged().units(), reply.own_charged().units());
  EXPECT_EQ(reply.mirror().head(), reply.record().head());
}

TEST_F(BudgetTest, ShowsTheCurveTheThreeEpsilonsAndTheLargestRun) {
  Train(4);
  const v1::GetBudgetReply reply = Budget();
  ASSERT_EQ(reply.rdp_curve_size(), 20);
  EXPECT_EQ(reply.rdp_curve(0).order(), 1.25);
  EXPECT_EQ(reply.rdp_curve(19).order(), 1024);
  const double mu_squared = reply.record().charged().value();
  for (const v1::RdpPoint& point : reply.rdp_curve()) {
    // Renyi divergence of the Gaussian mechanism: order * mu^2 / 2.
    EXPECT_NEAR(point.epsilon(), point.order() * mu_squared / 2,
                1e-12 * point.order());
  }
  EXPECT_GT(reply.own_epsilons().rdp(), reply.own_epsilons().rdp_optimal());
  EXPECT_GT(reply.own_epsilons().rdp_optimal(),
            reply.own_epsilons().gaussian());
  EXPECT_NEAR(reply.cap_epsilons().rdp(), 10, 1e-9);
  // The one number for what may still be asked for: it fits, a little more does
  // not, and it is no difference of epsilons.
  const MuSquared room = FromProto(reply.record().left()).value();
  const double delta = reply.guarantee().delta();
  const double largest = reply.largest_run();
  EXPECT_LE(LargestCost(Conversion::kRdp, largest, delta).value(), room);
  EXPECT_GT(LargestCost(Conversion::kRdp, largest * 1.0001, delta).value(),
            room);
  EXPECT_GT(largest,
            reply.cap_epsilons().rdp() - reply.charged_epsilons().rdp() + 0.1);
}

TEST_F(BudgetTest, TheLargestRunFitsTheAnalystsOwnLimitToo) {
  const double of_all = Budget().largest_run();
  const double delta = Budget().guarantee().delta();
  curator_.own_cap = LargestCost(Conversion::kRdp, 2.5, delta).value();
  EXPECT_EQ(Budget().largest_run(), 2.5);
  curator_.own_cap = LargestCost(Conversion::kRdp, 20, delta).value();
  EXPECT_EQ(Budget().largest_run(), of_all);
}

TEST_F(BudgetTest, NoticesAChargeThatTheRecordLacks) {
  Train(3);
  curator_.DropLastCharge();
  const v1::GetBudgetReply reply = Budget();
  EXPECT_FALSE(reply.agree());
  EXPECT_NE(reply.disagreement().find("lacks the charge of round 3"),
            std::string::npos)
      << reply.disagreement();
}

TEST_F(BudgetTest, NoticesAChargeThatTheMirrorLacks) {
  Train(3);
  curator_.AddForeignCharge();
  const v1::GetBudgetReply reply = Budget();
  EXPECT_FALSE(reply.agree());
  EXPECT_NE(
      reply.disagreement().find("1 charge that this analyst has not recorded"),
      std::string::npos)
      << reply.disagreement();
}

TEST_F(BudgetTest, NoticesALedgerThatWasRolledBack) {
  Train(3);
  curator_.TruncateChain(2);
  EXPECT_NE(Budget().disagreement().find("rolled back"), std::string::npos);
}

TEST_F(BudgetTest, ARoundUnderWayIsNoDisagreement) {
  MirrorView mirror;
  Record record;
  v1::LedgerCharge charge;
  charge.set_sequence(2);
  charge.set_run_id("run");
  charge.set_round(4);
  charge.set_row_hash(std::string(32, 'x'));
  *charge.mutable_charged() = ToProto(MuSquared::FromUnits(7));
  record.charges = {charge};
  record.totals.set_own_charge_count(1);
  *record.totals.mutable_own_charged() = ToProto(MuSquared::FromUnits(7));
  record.totals.mutable_position()->set_row_count(2);
  EXPECT_EQ(Disagreement(mirror, record, mirror, {{"run", 4}}), "");
  EXPECT_EQ(ExplainedCharges(record, mirror, {{"run", 4}}).under_way.size(),
            1u);
  EXPECT_NE(Disagreement(mirror, record, mirror, {{"run", 5}}), "");
  EXPECT_NE(Disagreement(mirror, record, mirror, {}), "");
}

// A round is charged; its reply is lost; then the curator's operator closes the
// run. The charge stays, and nothing is wrong with either ledger.
TEST_F(BudgetTest, ExplainsAChargeOfARunThatWasClosedBeforeItsRelease) {
  bool closed = false;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2) {
      closed = true;
      return absl::UnavailableError("gone");
    }
    return moment == Moment::kOpen && closed
               ? Refusal(absl::StatusCode::kFailedPrecondition, "run-closed",
                         "Closed.")
               : absl::OkStatus();
  };
  const v1::Run run = Train(3);
  ASSERT_EQ(run.state(), v1::RUN_STATE_FAILED);
  for (const bool forgotten : {false, true}) {
    if (forgotten) {
      ASSERT_TRUE(store_->Forget(run.run_id(), "dns:alice.client").ok());
    }
    const v1::GetBudgetReply reply = Budget();
    EXPECT_TRUE(reply.agree()) << reply.disagreement();
    EXPECT_EQ(reply.own_charge_count(), 2u);
    EXPECT_EQ(reply.mirror().charge_count(), 1u);
    EXPECT_EQ(reply.under_way_size(), 0);
    ASSERT_EQ(reply.never_fetched_size(), 1);
    EXPECT_EQ(reply.never_fetched(0).run_id(), run.run_id());
    EXPECT_EQ(reply.never_fetched(0).round(), 2u);
  }
  // Another round of that run is no such thing.
  curator_.AddForeignCharge();
  EXPECT_FALSE(Budget().agree());
}

TEST_F(BudgetTest, SaysWhichChargeIsUnderWay) {
  v1::GetBudgetReply meanwhile;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2) meanwhile = Budget();
    return absl::OkStatus();
  };
  const v1::Run run = Train(3);
  EXPECT_TRUE(meanwhile.agree()) << meanwhile.disagreement();
  ASSERT_EQ(meanwhile.under_way_size(), 1);
  EXPECT_EQ(meanwhile.under_way(0).run_id(), run.run_id());
  EXPECT_EQ(meanwhile.under_way(0).round(), 2u);
  EXPECT_EQ(Budget().under_way_size(), 0);
}

TEST_F(BudgetTest, NoticesAnotherCostAnotherHeadAndTotalsThatDoNotAddUp) {
  MirrorView mirror;
  mirror.charges = {{"run", 1, MuSquared::FromUnits(7), std::string(32, 'x')}};
  mirror.row_count = 2;
  mirror.head = "head";
  Record record;
  v1::LedgerCharge charge;
  charge.set_run_id("run");
  charge.set_round(1);
  charge.set_row_hash(std::string(32, 'x'));
  *charge.mutable_charged() = ToProto(MuSquared::FromUnits(7));
  record.charges = {charge};
  record.totals.set_own_charge_count(1);
  *record.totals.mutable_own_charged() = ToProto(MuSquared::FromUnits(7));
  record.totals.mutable_position()->set_row_count(2);
  record.totals.mutable_position()->set_head("head");
  EXPECT_EQ(Disagreement(mirror, record, mirror, {}), "");

  Record other_head = record;
  other_head.totals.mutable_position()->set_head("HEAD");
  EXPECT_NE(Disagreement(mirror, other_head, mirror, {}).find("replaced"),
            std::string::npos);

  Record other_total = record;
  other_total.totals.mutable_own_charged()->set_units("8");
  EXPECT_NE(Disagreement(mirror, other_total, mirror, {}).find("add up"),
            std::string::npos);

  Record other_cost = record;
  other_cost.charges[0].mutable_charged()->set_units("6");
  other_cost.totals.mutable_own_charged()->set_units("6");
  EXPECT_NE(
      Disagreement(mirror, other_cost, mirror, {}).find("a different cost"),
      std::string::npos);
}

}  // namespace
}  // namespace dpnmf::analyst
