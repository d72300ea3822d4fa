#include "common/learning/paid_release.h"

#include <limits>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

constexpr double kOff = 0.01, kDiagonal = 0.015, kOfMean = 0.02;

NoisedMatrix PaidPart(const std::string& name, const Eigen::MatrixXd& sum) {
  NoisedMatrix part;
  part.name = name;
  part.rows = static_cast<std::uint64_t>(sum.rows());
  part.columns = static_cast<std::uint64_t>(sum.cols());
  part.is_lattice = false;
  part.reals.assign(sum.data(), sum.data() + sum.size());
  return part;
}

// A plan of moments on `rows` of `features` features, after a mean if fewer.
v1::Run RunOfMoments(int rows, int features) {
  v1::Run run;
  run.mutable_specification()->mutable_parameters()->set_moment_rows(
      static_cast<std::uint32_t>(rows));
  if (rows < features) {
    v1::StagePlan& stage = *run.mutable_plan()->add_stages();
    stage.set_release("mean");
    stage.add_parts()->set_name("mean");
    stage.mutable_parts(0)->set_stddev(kOfMean);
  }
  v1::StagePlan& stage = *run.mutable_plan()->add_stages();
  stage.set_release("moments");
  v1::PartPlan& part = *stage.add_parts();
  part.set_name("G");
  part.set_stddev(kOff);
  part.set_diagonal_stddev(kDiagonal);
  return run;
}

Eigen::MatrixXd SecondMoment(int rows) {
  const Eigen::MatrixXd v = RandomDictionary(rows, 30, 5);
  const Eigen::MatrixXd g = v * v.transpose() / 30;
  return (g + g.transpose()) / 2;
}

// State that the run's own learner keeps, with the W that it finds.
LearnerState Learned(int rows, int features, bool mean_is_lost) {
  LearnerState state;
  state.w = RandomDictionary(features, 2, 1);
  RoundFacts facts;
  facts.moment_rows = static_cast<std::uint32_t>(rows);
  facts.seed = 7;
  facts.noise["mean"] = {kOfMean, 0};
  facts.stddev_of_mean = rows < features ? kOfMean : 0;
  if (rows < features && !mean_is_lost) {
    const Eigen::VectorXd mean =
        Eigen::VectorXd::LinSpaced(features, 0.05, 0.9);
    EXPECT_TRUE(UpdateFromMean({PaidPart("mean", mean)}, facts, &state).ok());
  }
  facts.noise = {{"G", {kOff, kDiagonal}}};
  const auto chosen = *RowsOfMoments(facts.moment_rows, state);
  const Eigen::MatrixXd g = SecondMoment(static_cast<int>(chosen.size()));
  EXPECT_TRUE(UpdateFromMoments({PaidPart("G", g)}, facts, &state).ok());
  return state;
}

TEST(PaidRelease, IsWhatTheRunWasFittedTo) {
  struct Case {
    int rows, features;
    bool mean_is_lost;
  };
  for (const Case& one :
       {Case{6, 6, false}, Case{4, 9, false}, Case{4, 9, true}}) {
    SCOPED_TRACE(one.rows);
    SCOPED_TRACE(one.mean_is_lost);
    const v1::Run run = RunOfMoments(one.rows, one.features);
    const LearnerState state =
        Learned(one.rows, one.features, one.mean_is_lost);
    const auto paid = PaidMomentsOf(run, state);
    ASSERT_TRUE(paid.ok()) << paid.status();
    EXPECT_EQ(paid->features, static_cast<std::uint64_t>(one.features));
    EXPECT_EQ(paid->covers_all(), one.rows == one.features);
    EXPECT_EQ(paid->moments.stddev_off, kOff);
    EXPECT_EQ(paid->moments.stddev_diagonal, kDiagonal);
    EXPECT_EQ(paid->moments.g.rows(),
              static_cast<Eigen::Index>(paid->rows.size()));
    const bool has_mean = one.rows < one.features && !one.mean_is_lost;
    EXPECT_EQ(paid->mean.size(), has_mean ? one.features : 0);
    EXPECT_EQ(paid->mean_stddev, one.rows < one.features ? kOfMean : 0);
    FitOptions options;
    options.rank = 2;
    options.seed = 7;
    for (options.threads = 1; options.threads <= 3; ++options.threads) {
      const auto w = FitPaidMoments(*paid, options);
      ASSERT_TRUE(w.ok()) << w.status();
      EXPECT_EQ(*w, state.w);
    }
  }
}

TEST(PaidRelease, IsMissingWhereNoSecondMomentCame) {
  LearnerState state;
  state.w = RandomDictionary(6, 2, 1);
  EXPECT_EQ(ReasonCode(PaidMomentsOf(RunOfMoments(6, 6), state).status()),
            "release-missing");
  state.memory["G"] = SecondMoment(6);
  EXPECT_TRUE(PaidMomentsOf(RunOfMoments(6, 6), state).ok());
  EXPECT_EQ(ReasonCode(PaidMomentsOf(v1::Run(), state).status()),
            "release-missing");
}

TEST(PaidRelease, IsRefusedWhereItIsDamaged) {
  const v1::Run run = RunOfMoments(4, 9);
  const LearnerState whole = Learned(4, 9, false);
  ASSERT_TRUE(PaidMomentsOf(run, whole).ok());
  const auto refused_with = [&](const std::string& name,
                                const Eigen::MatrixXd& value) {
    LearnerState state = whole;
    state.memory[name] = value;
    return ReasonCode(PaidMomentsOf(run, state).status());
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused_with("G", Eigen::MatrixXd::Constant(4, 4, nan)),
            "state-damaged");
  EXPECT_EQ(refused_with("G", Eigen::MatrixXd::Ones(4, 3)), "state-damaged");
  EXPECT_EQ(refused_with("G", Eigen::MatrixXd::Ones(3, 3)), "state-damaged");
  EXPECT_EQ(refused_with("G", Eigen::MatrixXd::Ones(20, 20)), "state-damaged");
  EXPECT_EQ(refused_with("mean", Eigen::MatrixXd::Ones(8, 1)), "state-damaged");
  EXPECT_EQ(refused_with("rows", Eigen::MatrixXd::Ones(4, 1)), "state-damaged");
  LearnerState no_rows = whole;
  no_rows.memory.erase("rows");
  no_rows.w = RandomDictionary(3, 2, 1);
  EXPECT_EQ(ReasonCode(PaidMomentsOf(run, no_rows).status()), "state-damaged");
}

}  // namespace
}  // namespace dpnmf::analyst
