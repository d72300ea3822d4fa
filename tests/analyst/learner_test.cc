// One run from start to end, whatever happens on the way.
#include "analyst/runs/learner.h"

#include <atomic>
#include <string>
#include <vector>

#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

constexpr int kFeatures = 6;
constexpr int kUsers = 40;

absl::Status Gone() {
  return Refusal(absl::StatusCode::kUnavailable, "unreachable",
                 "The curator is gone.");
}

absl::Status Refused() {
  return Refusal(absl::StatusCode::kPermissionDenied, "identity-unknown",
                 "Not you.");
}

// A run in a store of its own, driven on the test's thread.
class LearnerTest : public testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    store_.reset();
    store_ = *RunStore::Open(directory_.path(), [this] { return ++clock_; });
  }

  void Add(const v1::RunSpecification& specification) {
    const PlannedRun planned = *PlanWithCurator(specification, &curator_);
    RunRecord record;
    record.run.set_run_id(run_id_);
    *record.run.mutable_specification() = planned.reply.specification();
    record.run.set_state(v1::RUN_STATE_QUEUED);
    record.guarantee = planned.reply.guarantee();
    record.population = "people";
    LearnerState state;
    state.w = RandomDictionary(kFeatures, specification.parameters().rank(), 7);
    ASSERT_TRUE(store_->Add(record, state).ok());
  }

  void Learn() {
    LearnerSettings settings;
    settings.first_pause = settings.longest_pause =
        std::chrono::milliseconds(0);
    settings.jitter = [] { return 0.0; };
    settings.average = average_;
    Learner(run_id_, store_.get(), &curator_, &control_, settings, [] {}).Run();
  }

  void Cancel() {
    StateChange change;
    change.state = v1::RUN_STATE_CANCELLING;
    ASSERT_TRUE(store_->ChangeState(run_id_, change).ok());
    control_.Cancel();
  }

  v1::Run Run() { return store_->Get(run_id_)->run; }
  Eigen::MatrixXd W() { return store_->ReadModel(run_id_)->w; }
  std::vector<v1::RunEvent> Events() {
    return *store_->Events(run_id_, 0, 10'000);
  }

  TemporaryDirectory directory_;
  std::int64_t clock_ = 1000;
  FakeCurator curator_{FakeData(kFeatures, kUsers)};
  std::unique_ptr<RunStore> store_;
  RunControl control_;
  const std::string run_id_ = "0123456789abcdef0123456789abcdef";
  bool average_ = true;
};

// W after an undisturbed run of the same specification, in a store of its own.
Eigen::MatrixXd UndisturbedW(const v1::RunSpecification& specification) {
  TemporaryDirectory directory;
  FakeCurator curator(FakeData(kFeatures, kUsers));
  const auto store = *RunStore::Open(directory.path());
  RunRecord record;
  record.run.set_run_id("undisturbed");
  *record.run.mutable_specification() =
      PlanWithCurator(specification, &curator)->reply.specification();
  record.run.set_state(v1::RUN_STATE_QUEUED);
  record.population = "people";
  LearnerState state;
  state.w = RandomDictionary(kFeatures, specification.parameters().rank(), 7);
  EXPECT_TRUE(store->Add(record, state).ok());
  RunControl control;
  Learner("undisturbed", store.get(), &curator, &control, {}, [] {}).Run();
  return store->ReadModel("undisturbed")->w;
}

// Plain projected gradient NMF with loops, `steps` steps a round; the step is
// step_size / |A|_F, or step_size / c_h^2 with c_h = 1 where by_norm is false.
Eigen::MatrixXd PlainNmf(const Eigen::MatrixXd& v, Eigen::MatrixXd w,
                         int rounds, int steps, bool by_norm) {
  for (int t = 0; t < rounds; ++t) {
    const Eigen::MatrixXd h = FakeCurator::Coefficients(v, w);
    const Eigen::MatrixXd a = h * h.transpose() / v.cols();
    const Eigen::MatrixXd b = v * h.transpose() / v.cols();
    for (int s = 0; s < steps; ++s) {
      Eigen::MatrixXd next = w;
      for (Eigen::Index i = 0; i < w.rows(); ++i) {
        for (Eigen::Index k = 0; k < w.cols(); ++k) {
          double gradient = -b(i, k);
          for (Eigen::Index j = 0; j < w.cols(); ++j)
            gradient += w(i, j) * a(j, k);
          next(i, k) =
              std::max(0.0, w(i, k) - gradient / (by_norm ? a.norm() : 1.0));
        }
      }
      for (Eigen::Index k = 0; k < w.cols(); ++k)
        next.col(k) /= std::max(1.0, next.col(k).norm());
      w = next;
    }
  }
  return w;
}

TEST_F(LearnerTest,
       StatisticsWithoutNoiseAndAveragingIsPlainProjectedGradientNmf) {
  average_ = false;
  v1::RunSpecification specification = FakeSpecification(3, 8);
  specification.mutable_learner()->set_steps_per_round(5);
  Add(specification);
  Learn();
  ASSERT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  const Eigen::MatrixXd plain =
      PlainNmf(FakeData(kFeatures, kUsers), RandomDictionary(kFeatures, 3, 7),
               8, 5, true);
  EXPECT_LT((W() - plain).cwiseAbs().maxCoeff(), 1e-12);
}

TEST_F(LearnerTest, GradientWithoutNoiseIsPlainProjectedGradientNmf) {
  average_ = false;
  Add(FakeSpecification(3, 8, "gradient"));
  Learn();
  ASSERT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  const Eigen::MatrixXd plain =
      PlainNmf(FakeData(kFeatures, kUsers), RandomDictionary(kFeatures, 3, 7),
               8, 1, false);
  EXPECT_LT((W() - plain).cwiseAbs().maxCoeff(), 1e-7);
}

TEST_F(LearnerTest, CompletesAndReturnsNothingHeld) {
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Run().rounds_done(), 5u);
  EXPECT_EQ(Run().charged().units(), Run().plan().cost().units());
  EXPECT_EQ(curator_.charges(), 5u);
  EXPECT_EQ(curator_.reserved(), MuSquared());
  EXPECT_EQ(store_->Mirror("people")->charges.size(), 5u);
}

TEST_F(LearnerTest, EventsGrowByOneAndTellRoundsCostAndTheLargestRun) {
  Add(FakeSpecification(3, 4));
  Learn();
  const std::vector<v1::RunEvent> events = Events();
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i].cursor(), i + 1);
  const v1::RunEvent& last_round = events[events.size() - 2];
  EXPECT_EQ(last_round.round(), 4u);
  EXPECT_EQ(last_round.rounds(), 4u);
  EXPECT_GT(last_round.spent().rdp(), 0);
  EXPECT_LE(last_round.spent().rdp(), 1);
  // The cap is epsilon 10, the run took epsilon 1: costs add, so a run of more
  // than 9 is still possible.
  EXPECT_GT(last_round.largest_run(), 9);
  EXPECT_LT(last_round.largest_run(), 10);
  EXPECT_FALSE(events.front().has_largest_run());
  EXPECT_GT(last_round.relative_change(), 0);
  EXPECT_EQ(events.back().state(), v1::RUN_STATE_COMPLETED);
}

// Whichever moment the connection breaks at, and however often, the run ends
// with the bits of an undisturbed one and is charged as much.
class BrokenConnection : public LearnerTest,
                         public testing::WithParamInterface<Moment> {};

TEST_P(BrokenConnection, EndsWithTheSameBitsAndTheSameCharge) {
  const v1::RunSpecification specification = FakeSpecification(3, 6);
  int strikes = 0;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    const bool strike =
        moment == GetParam() && (round == 0 || round == 3) && strikes < 3;
    if (strike) ++strikes;
    return strike ? Gone() : absl::OkStatus();
  };
  Add(specification);
  Learn();
  EXPECT_EQ(strikes, GetParam() == Moment::kAfterClose ? 1 : 3);
  EXPECT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(W(), UndisturbedW(specification));
  EXPECT_EQ(curator_.charges(), 6u);
  EXPECT_EQ(store_->Mirror("people")->charges.size(), 6u);
  EXPECT_EQ(Run().charged().units(), Run().plan().cost().units());
}

INSTANTIATE_TEST_SUITE_P(AtEveryMoment, BrokenConnection,
                         testing::Values(Moment::kOpen, Moment::kBeforeCharge,
                                         Moment::kAfterCharge, Moment::kClose,
                                         Moment::kAfterClose));

TEST_F(LearnerTest, AnOutageIsOneEventHoweverManyAttempts) {
  int strikes = 0;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    return moment == Moment::kOpen && ++strikes <= 5 ? Gone()
                                                     : absl::OkStatus();
  };
  Add(FakeSpecification(3, 2));
  Learn();
  int waiting = 0;
  for (const v1::RunEvent& event : Events())
    waiting += event.state() == v1::RUN_STATE_WAITING;
  EXPECT_EQ(waiting, 1);
}

// The process dies in each round, before or after the curator has charged it.
class KilledInMidRun : public LearnerTest,
                       public testing::WithParamInterface<Moment> {};

TEST_P(KilledInMidRun, GoesOnFromTheStoreWithTheSameBits) {
  const v1::RunSpecification specification = FakeSpecification(3, 6);
  Add(specification);
  for (std::uint32_t killed = 1; killed <= 6; ++killed) {
    RunControl* control = nullptr;
    RunControl own;
    control = &own;
    curator_.hook = [&](Moment moment, const std::string&,
                        std::uint32_t round) {
      if (moment != GetParam() || round != killed) return absl::OkStatus();
      control->Stop();
      return Gone();
    };
    LearnerSettings settings;
    Learner(run_id_, store_.get(), &curator_, &own, settings, [] {}).Run();
    EXPECT_EQ(Run().rounds_done(), killed - 1);
    Reopen();
  }
  curator_.hook = nullptr;
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(W(), UndisturbedW(specification));
  EXPECT_EQ(curator_.charges(), 6u);
  // Requests of one round carry the same bits each time (the fake refuses
  // others).
  for (const auto& [round, w] : curator_.Requests()) {
    for (const auto& [other_round, other] : curator_.Requests()) {
      EXPECT_TRUE(round != other_round || w == other) << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AtEveryMoment, KilledInMidRun,
                         testing::Values(Moment::kBeforeCharge,
                                         Moment::kAfterCharge));

TEST_F(LearnerTest, ALostRoundKeepsWAndCounts) {
  curator_.lost_rounds = {2};
  Add(FakeSpecification(3, 3));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Run().rounds_done(), 3u);
  const auto requests = curator_.Requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_NE(requests[0].second, requests[1].second);
  EXPECT_EQ(requests[1].second, requests[2].second);
  EXPECT_EQ(store_->Mirror("people")->charges.size(), 3u);
}

TEST_F(LearnerTest, ACancelBetweenRoundsClosesAndReturnsTheRest) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2) Cancel();
    return absl::OkStatus();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Run().rounds_done(), 2u);  // the round under way finished
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

// The release is charged and on its way when the run is cancelled: it is kept,
// nothing is learned from it, and no random W passes for a model.
TEST_F(LearnerTest, ACancelBeforeTheLastRoundIsLearnedEndsCancelled) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    if (moment == Moment::kAfterCharge) Cancel();
    return absl::OkStatus();
  };
  Add(FakeSpecification(3, 1));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Run().rounds_done(), 1u);  // fetched, and in the mirror
  EXPECT_EQ(store_->Mirror("people")->charges.size(), curator_.charges());
  EXPECT_EQ(curator_.reserved(), MuSquared());
  const Model model = *store_->ReadModel(run_id_);
  EXPECT_EQ(model.rounds_done, 0u);
  EXPECT_EQ(model.w, RandomDictionary(kFeatures, 3, 7));
  EXPECT_TRUE(store_->ReadLearner(run_id_)->memory.contains("A"));
  EXPECT_NE(Events()[Events().size() - 2].message().find("had learned"),
            std::string::npos);
}

// It ends there and then: the store is left as it was before the round.
TEST_F(LearnerTest, AStopBreaksLearningOffAndTheRoundIsAskedForAgain) {
  v1::RunSpecification specification = FakeSpecification(3, 2);
  const Eigen::MatrixXd undisturbed = UndisturbedW(specification);
  int answers = 0;
  curator_.forge = [&](RoundResult*) {
    if (++answers == 2) control_.Stop();
  };
  Add(specification);
  Learn();
  EXPECT_EQ(Run().rounds_done(), 1u);
  EXPECT_EQ(Run().state(), v1::RUN_STATE_RUNNING);
  curator_.forge = nullptr;
  RunControl again;
  Learner(run_id_, store_.get(), &curator_, &again, {}, [] {}).Run();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(curator_.charges(), 2u);
  EXPECT_EQ(W(), undisturbed);
}

TEST_F(LearnerTest, ACancelInAnOutageStaysCancellingUntilTheCuratorConfirms) {
  int closes = 0;
  std::vector<v1::RunState> states;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2 &&
        Run().state() != v1::RUN_STATE_CANCELLING) {
      Cancel();
      return Gone();
    }
    if (moment == Moment::kClose) {
      states.push_back(Run().state());
      if (++closes < 4) return Gone();
    }
    return absl::OkStatus();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(states, std::vector<v1::RunState>(4, v1::RUN_STATE_CANCELLING));
  EXPECT_EQ(Run().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(curator_.reserved(), MuSquared());
  // Round 2 was charged before the cancel: it is fetched, so that the mirror
  // knows of it.
  EXPECT_EQ(Run().rounds_done(), 2u);
  EXPECT_EQ(store_->Mirror("people")->charges.size(), curator_.charges());
}

TEST_F(LearnerTest, ACancelWhoseConfirmationWasLostEndsCancelled) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2) Cancel();
    return moment == Moment::kAfterClose ? Gone() : absl::OkStatus();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(LearnerTest, ARefusalToOpenFailsWithItsSentenceAndCode) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    return moment == Moment::kOpen ? Refused() : absl::OkStatus();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(Run().error(), "Not you.");
  EXPECT_EQ(Run().error_code(), "identity-unknown");
  EXPECT_EQ(Events().back().message(), "Not you.");
}

TEST_F(LearnerTest, ARefusedRoundFailsAfterTheReservationIsReturned) {
  int closes = 0;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kBeforeCharge && round == 3) return Refused();
    return moment == Moment::kClose && ++closes < 3 ? Gone() : absl::OkStatus();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(Run().error_code(), "identity-unknown");
  EXPECT_EQ(curator_.reserved(), MuSquared());
  EXPECT_EQ(curator_.charges(), 2u);
}

TEST_F(LearnerTest, ARefusedCloseFailsAndDoesNotLoop) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    return moment == Moment::kClose ? Refused() : absl::OkStatus();
  };
  Add(FakeSpecification(3, 2));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_FAILED);
}

TEST_F(LearnerTest, ACancelledRunWhosePaidRoundIsRefusedStillCloses) {
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment != Moment::kAfterCharge || round != 2) return absl::OkStatus();
    if (Run().state() == v1::RUN_STATE_CANCELLING) return Refused();
    Cancel();
    return Gone();
  };
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_TRUE(IsFinal(Run().state()));
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

TEST_F(LearnerTest, StoppingLeavesTheRunAsItIs) {
  control_.Stop();
  Add(FakeSpecification(3, 5));
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(curator_.charges(), 0u);
}

TEST_F(LearnerTest, ALedgerThatForgotRoundsFailsTheRun) {
  Add(FakeSpecification(3, 5));
  FinishedRound finished;
  finished.round = 1;
  finished.charge = {run_id_, 1, MuSquared::FromUnits(5), std::string(32, 'x')};
  finished.lost = true;
  ASSERT_TRUE(store_->FinishRound(run_id_, finished).ok());
  Learn();
  EXPECT_EQ(Run().state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(Run().error_code(), "ledger-behind-mirror");
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

TEST_F(LearnerTest, AveragingIsRecencyWeightedAndResumesExactly) {
  // The memory is part of what is stored: without it the bits of the test
  // above would differ. Here: it is there, by name.
  Add(FakeSpecification(3, 3));
  Learn();
  const LearnerState state = *store_->ReadLearner(run_id_);
  EXPECT_TRUE(state.memory.contains("A"));
  EXPECT_TRUE(state.memory.contains("B"));
  EXPECT_EQ(state.memory.at("B").rows(), kFeatures);
}

}  // namespace
}  // namespace dpnmf::analyst
