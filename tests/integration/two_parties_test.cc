// Both parties in one process: the analyst's runs against the curator's
// service.
#include <cmath>
#include <thread>

#include "analyst/curators/curator_client.h"
#include "analyst/planning/budget.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/learning/standard_errors.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf {
namespace {

using curator::CuratorFixture;
using curator::kFeatures;
using curator::kUsers;
using curator::Noise;

class TwoParties : public CuratorFixture {
 protected:
  explicit TwoParties(Noise noise = Noise::kOn) : CuratorFixture(noise) {
    Connect();
    store_ = analyst::RunStore::Open(directory_ + "/analyst").value();
  }
  ~TwoParties() override {
    manager_.reset();
    connection_.reset();
  }

  void Connect() {
    connection_ = analyst::ConnectCurator(server_->InProcessChannel({}),
                                          std::chrono::seconds(60));
  }

  void Begin(bool average = true) {
    analyst::RunManager::Settings settings;
    settings.max_running = 4;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    settings.learner.average = average;
    manager_ =
        analyst::RunManager::Create(store_.get(), connection_.get(), settings)
            .value();
  }

  std::string Start(const RunParameters& parameters,
                    std::uint32_t steps_per_round = 0) {
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(parameters);
    v1::LearnerOptions& learner = *specification.mutable_learner();
    learner.set_initialisation(v1::INITIALISATION_RANDOM);
    learner.set_seed(5);
    learner.set_steps_per_round(steps_per_round);
    const auto planned =
        analyst::PlanWithCurator(specification, connection_.get()).value();
    return manager_->Start(planned, std::nullopt, "dns:alice")->run_id();
  }

  v1::Run Await(const std::string& run_id) {
    EXPECT_TRUE(manager_
                    ->Watch(
                        run_id, 0, [](const v1::RunEvent&) { return true; },
                        [] { return false; })
                    .ok());
    return manager_->Get(run_id).value();
  }

  Eigen::MatrixXd ModelOf(const std::string& run_id) {
    return store_->ReadLearner(run_id).value().w;
  }

  std::unique_ptr<analyst::CuratorConnection> connection_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
};

class TwoPartiesWithoutNoise : public TwoParties {
 protected:
  TwoPartiesWithoutNoise() : TwoParties(Noise::kOff) {}
};

TEST_F(TwoParties, ARunIsPaidForOnceAndBothLedgersAgree) {
  Begin();
  const v1::Run run = Await(Start(curator::SmallRun()));
  EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  EXPECT_EQ(run.rounds_done(), 4u);
  const curator::Position position = ledger_->PositionOf("people").value();
  EXPECT_EQ(position.charged.UnitsText(), run.charged().units());
  EXPECT_EQ(position.reserved, MuSquared());
  const v1::GetBudgetReply budget =
      analyst::ReadBudget("planted", connection_.get(), store_.get()).value();
  EXPECT_TRUE(budget.agree()) << budget.disagreement();
  EXPECT_EQ(budget.mirror().charge_count(), 4u);
}

TEST_F(TwoParties, RunsAtOnceNeverExceedTheCap) {
  Begin();
  RunParameters parameters = curator::SmallRun();
  parameters.epsilon = 2;
  std::vector<std::string> runs;
  for (int i = 0; i < 8; ++i) {
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(parameters);
    specification.mutable_learner()->set_initialisation(
        v1::INITIALISATION_RANDOM);
    const auto planned =
        analyst::PlanWithCurator(specification, connection_.get());
    if (!planned.ok()) continue;
    const auto run = manager_->Start(*planned, std::nullopt, "dns:alice");
    if (run.ok()) runs.push_back(run->run_id());
  }
  int completed = 0;
  for (const std::string& run_id : runs) {
    const v1::Run run = Await(run_id);
    completed += run.state() == v1::RUN_STATE_COMPLETED;
    if (run.state() != v1::RUN_STATE_COMPLETED) {
      EXPECT_EQ(run.error_code(), "budget-exhausted");
    }
  }
  EXPECT_GE(completed, 1);
  EXPECT_LT(completed, 8);
  const curator::Position position = ledger_->PositionOf("people").value();
  EXPECT_LE(position.charged, position.cap);
  EXPECT_EQ(position.reserved, MuSquared());
}

TEST_F(TwoParties, ACuratorThatRestartsInMidRunChargesNothingTwice) {
  Begin();
  RunParameters parameters = curator::SmallRun();
  parameters.rounds = 60;
  const std::string run_id = Start(parameters);
  // Let some rounds pass, then take the connection away and bring it back.
  ASSERT_TRUE(
      manager_
          ->Watch(
              run_id, 0,
              [](const v1::RunEvent& event) { return event.round() < 5; },
              [] { return false; })
          .ok());
  manager_.reset();
  connection_.reset();
  Stop();
  CuratorFixture::Start();
  Connect();
  Begin();
  const v1::Run run = Await(run_id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  const curator::Position position = ledger_->PositionOf("people").value();
  EXPECT_EQ(position.charged.UnitsText(), run.plan().cost().units());
}

// Plain projected gradient NMF in loops: cyclic coordinate-wise projected
// gradient for H (gensim's solve_h), then gensim's _solve_w step
// W <- Project(W - (W A - B) / |A|_F), everything in doubles.
Eigen::MatrixXd PlainNmf(const curator::Dataset& data, const RunParameters& p,
                         std::uint64_t seed, bool gradient_scale) {
  const auto features = static_cast<Eigen::Index>(kFeatures);
  const auto users = static_cast<Eigen::Index>(kUsers);
  const auto rank = static_cast<Eigen::Index>(p.rank);
  Eigen::MatrixXd v(features, users);
  for (Eigen::Index n = 0; n < users; ++n) {
    const auto column = data.DenseColumn(static_cast<std::uint64_t>(n));
    for (Eigen::Index d = 0; d < features; ++d) {
      v(d, n) = column[static_cast<std::size_t>(d)];
    }
  }
  Eigen::MatrixXd w = RandomDictionary(kFeatures, p.rank, seed);
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(rank, users);
  for (std::uint32_t round = 0; round < p.rounds; ++round) {
    for (Eigen::Index n = 0; n < users; ++n) {
      for (std::uint32_t sweep = 0; sweep < p.inner_iterations; ++sweep) {
        for (Eigen::Index k = 0; k < rank; ++k) {
          const double gradient = w.col(k).dot(w * h.col(n) - v.col(n));
          h(k, n) = std::max(0.0, h(k, n) - gradient / w.col(k).squaredNorm());
        }
      }
    }
    Eigen::MatrixXd clipped = h;
    for (Eigen::Index n = 0; n < users; ++n) {
      if (h.col(n).norm() > 1) clipped.col(n) /= h.col(n).norm();
    }
    const Eigen::MatrixXd a = clipped * clipped.transpose() / kUsers;
    const Eigen::MatrixXd b = v * clipped.transpose() / kUsers;
    w -= (w * a - b) / (gradient_scale ? 1.0 : a.norm());
    w = w.cwiseMax(0);
    for (Eigen::Index k = 0; k < rank; ++k)
      w.col(k) /= std::max(1.0, w.col(k).norm());
  }
  return w;
}

// Error that remains: the rounding of h and v to 2^-20, magnified by 25 rounds.
constexpr double kLatticeError = 1e-3;

TEST_F(TwoPartiesWithoutNoise, StatisticsTrainingIsPlainProjectedGradientNmf) {
  Begin(/*average=*/false);
  RunParameters parameters = curator::SmallRun();
  parameters.rounds = 25;
  const std::string run_id = Start(parameters, /*steps_per_round=*/1);
  ASSERT_EQ(Await(run_id).state(), v1::RUN_STATE_COMPLETED);
  const Eigen::MatrixXd plain =
      PlainNmf(*catalog_.Find("planted"), parameters, 5, false);
  EXPECT_LT((ModelOf(run_id) - plain).cwiseAbs().maxCoeff(), kLatticeError);
}

TEST_F(TwoPartiesWithoutNoise, GradientTrainingIsPlainProjectedGradientNmf) {
  Begin(/*average=*/false);
  RunParameters parameters = curator::SmallRun();
  parameters.rounds = 25;
  parameters.mechanism = "gradient";
  const std::string run_id = Start(parameters, /*steps_per_round=*/1);
  ASSERT_EQ(Await(run_id).state(), v1::RUN_STATE_COMPLETED);
  const Eigen::MatrixXd plain =
      PlainNmf(*catalog_.Find("planted"), parameters, 5, true);
  EXPECT_LT((ModelOf(run_id) - plain).cwiseAbs().maxCoeff(), kLatticeError);
}

TEST_F(TwoPartiesWithoutNoise, MomentsFindThePlantedParts) {
  Begin(/*average=*/false);
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "moments";
  parameters.rounds = 1;
  parameters.moment_rows = kFeatures;
  const v1::Run run = Await(Start(parameters));
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  const Eigen::MatrixXd w = ModelOf(run.run_id());
  // Each planted part is four features alike.
  for (Eigen::Index part = 0; part < 3; ++part) {
    Eigen::VectorXd planted = Eigen::VectorXd::Zero(kFeatures);
    planted.segment(4 * part, 4).setConstant(0.5);
    EXPECT_GT((w.transpose() * planted).maxCoeff(), 0.99) << part;
  }
}

TEST_F(TwoParties, MomentsOnChosenRowsThenStatisticsArePaidForOnce) {
  Begin();
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "moments";
  parameters.rounds = 4;  // the mean, G, two of statistics
  parameters.moment_rows = 6;
  const v1::Run run = Await(Start(parameters));
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  EXPECT_EQ(run.rounds_done(), 4u);
  const curator::Position position = ledger_->PositionOf("people").value();
  EXPECT_EQ(position.charged.UnitsText(), run.plan().cost().units());
  EXPECT_EQ(position.reserved, MuSquared());
  EXPECT_TRUE(
      analyst::ReadBudget("planted", connection_.get(), store_.get())->agree());
}

TEST_F(TwoParties, RunsOfMomentsAndOfStatisticsHaveStandardErrors) {
  Begin();
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "moments";
  parameters.moment_rows = 6;
  const auto errors_after = [&](std::uint32_t rounds, bool stopped) {
    parameters.rounds = rounds;
    const v1::Run run = Await(Start(parameters));
    EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
    return analyst::StandardErrors(run,
                                   store_->ReadLearner(run.run_id()).value(),
                                   [stopped] { return stopped; });
  };
  const auto errors = errors_after(2, false);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->rows(), kFeatures);
  EXPECT_EQ(errors->cols(), 3);
  EXPECT_TRUE(errors->allFinite());
  EXPECT_GE(errors->minCoeff(), 0);
  // No entry of a column of length 1 can stray further.
  EXPECT_GT(errors->maxCoeff(), 1e-4);
  EXPECT_LE(errors->maxCoeff(), 1);
  EXPECT_EQ(ReasonCode(errors_after(2, true).status()), "cancelled");
  // Damaged memory is refused, and never read past its end.
  const v1::Run run = store_->List().value().front().run;
  const analyst::LearnerState whole = store_->ReadLearner(run.run_id()).value();
  const auto code_with = [&](const std::string& name,
                             const Eigen::MatrixXd& kept) {
    analyst::LearnerState damaged = whole;
    damaged.memory[name] = kept;
    return ReasonCode(
        analyst::StandardErrors(run, damaged, [] { return false; }).status());
  };
  EXPECT_EQ(code_with("rows", Eigen::VectorXd::Constant(6, 1e9)),
            "state-damaged");
  EXPECT_EQ(code_with("rows", Eigen::VectorXd::LinSpaced(5, 0, 4)),
            "state-damaged");
  EXPECT_EQ(code_with("mean", Eigen::VectorXd::Zero(3)), "state-damaged");
  EXPECT_EQ(code_with("G", Eigen::MatrixXd::Zero(2, 3)), "state-damaged");
  // Rounds of statistics after the second moment.
  const auto errors_of_rounds = errors_after(4, false);
  ASSERT_TRUE(errors_of_rounds.ok()) << errors_of_rounds.status();
  EXPECT_EQ(errors_of_rounds->rows(), kFeatures);
  EXPECT_EQ(errors_of_rounds->cols(), 3);
  EXPECT_GT(errors_of_rounds->maxCoeff(), 1e-4);
  EXPECT_LE(errors_of_rounds->maxCoeff(), 1);
  EXPECT_EQ(ReasonCode(errors_after(4, true).status()), "cancelled");
  parameters.mechanism = "gradient";
  EXPECT_EQ(ReasonCode(errors_after(2, false).status()), "errors-unavailable");
}

TEST_F(TwoPartiesWithoutNoise, ARunOfObjectiveReleasesTheLossOfItsDictionary) {
  Begin(/*average=*/false);
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "objective";
  parameters.rounds = 1;
  parameters.inner_iterations = 100;
  const v1::Run run = Await(Start(parameters));
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  const Eigen::MatrixXd w = ModelOf(run.run_id());
  double expected = 0;
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    const auto column = catalog_.Find("planted")->DenseColumn(n);
    Eigen::VectorXd v(kFeatures), h = Eigen::VectorXd::Zero(w.cols());
    std::copy(column.begin(), column.end(), v.data());
    for (int sweep = 0; sweep < 100; ++sweep) {
      for (Eigen::Index k = 0; k < w.cols(); ++k) {
        h(k) = std::max(
            0.0, h(k) - w.col(k).dot(w * h - v) / w.col(k).squaredNorm());
      }
    }
    expected += std::min(0.5, (v - w * h).squaredNorm() / 2) / kUsers;
  }
  EXPECT_NEAR(run.objective().value(), expected, 1e-6);
}

TEST_F(TwoParties, AutoIsTwoMomentsUnlessRoundsAreAskedFor) {
  v1::RunSpecification specification;
  *specification.mutable_parameters() = ToProto(curator::SmallRun());
  specification.mutable_parameters()->set_mechanism("auto");
  specification.mutable_parameters()->set_rounds(0);
  const auto chosen = [&] {
    return analyst::PlanWithCurator(specification, connection_.get())
        ->reply.specification()
        .parameters();
  };
  EXPECT_EQ(chosen().mechanism(), "aimed");
  EXPECT_EQ(chosen().moment_rows(), kFeatures);
  EXPECT_EQ(chosen().rounds(), 2u);
  specification.mutable_parameters()->set_rounds(7);
  EXPECT_EQ(chosen().mechanism(), "statistics");
  specification.mutable_parameters()->set_rounds(0);
  specification.mutable_parameters()->set_outliers(true);
  specification.mutable_parameters()->set_outlier_bound(1);
  EXPECT_EQ(chosen().mechanism(), "statistics");
  EXPECT_EQ(chosen().rounds(), 30u);
}

}  // namespace
}  // namespace dpnmf
