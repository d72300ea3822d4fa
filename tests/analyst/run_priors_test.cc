// Priors of runs: how they come, are kept, and stay away from the curator.
#include "common/learning/run_priors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyst/runs/sent_priors.h"
#include "common/base/error.h"
#include "common/wire/prior.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"
#include "tests/analyst/paid_run.h"

namespace dpnmf::analyst {
namespace {

using Eigen::MatrixXd;

// So many that the release alone says little: the public people are wanted.
constexpr int kFakeFeatures = 24;

SentPrior SentOf(v1::PriorKind kind, MatrixXd entries,
                 std::vector<std::string> names = {}) {
  SentPrior prior;
  prior.header.set_kind(kind);
  prior.header.set_source("public.npy");
  prior.header.mutable_shape()->set_rows(
      static_cast<std::uint64_t>(entries.rows()));
  prior.header.mutable_shape()->set_columns(
      static_cast<std::uint64_t>(entries.cols()));
  prior.header.set_named(!names.empty());
  prior.header.set_sha256(HashOfPrior(names, entries));
  prior.names = std::move(names);
  prior.entries = std::move(entries);
  return prior;
}

SentPrior ColumnsSent() {
  return SentOf(v1::PRIOR_KIND_COLUMNS, FakeData(kFakeFeatures, 15));
}

// Returns the priors as a server reads them.
absl::StatusOr<std::vector<SentPrior>> ReadBack(
    const std::vector<SentPrior>& sent) {
  PriorHeaders headers;
  for (const SentPrior& prior : sent) *headers.Add() = prior.header;
  DPNMF_ASSIGN_OR_RETURN(PriorReader reader, PriorReader::Create(headers));
  for (const SentPrior& prior : sent) {
    if (!prior.names.empty()) {
      v1::PriorFeatures features;
      features.mutable_names()->Add(prior.names.begin(), prior.names.end());
      DPNMF_RETURN_IF_ERROR(reader.Add(features));
    }
    if (prior.entries.size() == 0) continue;
    absl::Status added;
    WriteChunks(prior.entries, [&](const v1::RealChunk& chunk) {
      added = reader.Add(chunk);
      return added.ok();
    });
    DPNMF_RETURN_IF_ERROR(added);
  }
  return reader.Finish();
}

std::string CodeOfSent(const SentPrior& prior) {
  return ReasonCode(ReadBack({prior}).status());
}

LearnerState StateOf(int features) {
  LearnerState state;
  state.w.resize(features, 0);
  return state;
}

// Returns the columns that are kept, of unit length, on all rows.
MatrixXd KeptColumns(SentPrior sent, const std::vector<std::string>& names,
                     int features) {
  LearnerState state = StateOf(features);
  std::vector<SentPrior> all;
  all.push_back(std::move(sent));
  const absl::Status kept =
      KeepPriors(all, {.names = names}, std::nullopt, nullptr, &state);
  EXPECT_TRUE(kept.ok()) << kept;
  std::vector<int> rows;
  for (int i = 0; i < features; ++i) rows.push_back(i);
  return PriorsOf(state, rows)->front().columns;
}

class RunPriorsTest : public testing::Test {
 protected:
  v1::Run TrainWith(std::vector<SentPrior> priors) {
    v1::RunSpecification specification = FakeSpecification(2, 1, "moments");
    for (const SentPrior& prior : priors)
      *specification.add_priors() = prior.header;
    const auto planned = PlanWithCurator(specification, &curator_);
    EXPECT_TRUE(planned.ok()) << planned.status();
    const auto run =
        runs_.manager()->Start(*planned, std::nullopt, kPaidClient,
                               std::nullopt, {std::move(priors), {}});
    EXPECT_TRUE(run.ok()) << run.status();
    return runs_.Await(run->run_id());
  }

  absl::StatusOr<v1::Run> RefitWith(const std::string& run_id,
                                    std::vector<SentPrior> priors,
                                    std::uint64_t seed = 7,
                                    bool without = false) {
    v1::Refit refit;
    refit.set_run_id(run_id);
    refit.mutable_learner()->set_seed(seed);
    refit.set_without_priors(without);
    for (const SentPrior& prior : priors) *refit.add_priors() = prior.header;
    DPNMF_ASSIGN_OR_RETURN(NewRun child, runs_.manager()->PrepareRefit(refit));
    return runs_.manager()->Refit(std::move(child), std::nullopt, kPaidClient,
                                  std::move(priors));
  }

  MatrixXd AwaitW(const absl::StatusOr<v1::Run>& run) {
    EXPECT_TRUE(run.ok()) << run.status();
    const v1::Run ended = runs_.Await(run->run_id());
    EXPECT_EQ(ended.state(), v1::RUN_STATE_COMPLETED) << ended.error();
    return runs_.W(run->run_id());
  }

  FakeCurator curator_{FakeData(kFakeFeatures, 40)};
  PaidRuns runs_{&curator_};
};

TEST_F(RunPriorsTest, ChangeWAndNothingThatTheCuratorSees) {
  const v1::Run plain = TrainWith({});
  const v1::Run with = TrainWith({ColumnsSent()});
  ASSERT_EQ(with.state(), v1::RUN_STATE_COMPLETED) << with.error();
  EXPECT_NE(runs_.W(with.run_id()), runs_.W(plain.run_id()));
  EXPECT_EQ(with.charged().units(), plain.charged().units());
  EXPECT_EQ(with.plan().SerializeAsString(), plain.plan().SerializeAsString());
  EXPECT_EQ(with.specification().parameters().SerializeAsString(),
            plain.specification().parameters().SerializeAsString());
  const auto requests = curator_.Requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0], requests[1]);
  EXPECT_EQ(curator_.charges(), 2u);
  // How much of it W has from the prior is known of one of them.
  EXPECT_FALSE(
      runs_.store()->ReadModel(plain.run_id())->prior_share.has_value());
  const auto model = runs_.store()->ReadModel(with.run_id());
  ASSERT_TRUE(model->prior_share.has_value());
  EXPECT_GE(*model->prior_share, 0);
  EXPECT_LE(*model->prior_share, 1);
}

TEST_F(RunPriorsTest, OfARefitAreThoseOfARunFromTheStart) {
  const v1::Run plain = TrainWith({});
  const v1::Run with = TrainWith({ColumnsSent()});
  const std::uint64_t seed = with.specification().learner().seed();
  EXPECT_EQ(AwaitW(RefitWith(plain.run_id(), {ColumnsSent()}, seed)),
            runs_.W(with.run_id()));
  // A child has its parent's, unless it is told otherwise.
  EXPECT_EQ(AwaitW(RefitWith(with.run_id(), {}, seed)), runs_.W(with.run_id()));
  EXPECT_EQ(AwaitW(RefitWith(with.run_id(), {}, seed, /*without=*/true)),
            runs_.W(plain.run_id()));
}

TEST_F(RunPriorsTest, OutliveAServerThatWasKilled) {
  const std::string parent = TrainWith({}).run_id();
  const MatrixXd w = AwaitW(RefitWith(parent, {ColumnsSent()}, 3));
  runs_.Restart(/*max_running=*/0);
  SentPrior other = ColumnsSent();
  other.header.set_source("copy.npy");  // another request, the same bits
  const auto queued = RefitWith(parent, {other}, 3);
  ASSERT_TRUE(queued.ok()) << queued.status();
  runs_.Restart();
  EXPECT_EQ(AwaitW(queued), w);
}

TEST_F(RunPriorsTest, ARequestWithOtherPriorsIsAnotherRun) {
  const std::string parent = TrainWith({}).run_id();
  const std::string first = RefitWith(parent, {ColumnsSent()})->run_id();
  EXPECT_EQ(RefitWith(parent, {ColumnsSent()})->run_id(), first);
  EXPECT_NE(RefitWith(parent, {})->run_id(), first);
  const SentPrior other =
      SentOf(v1::PRIOR_KIND_COLUMNS, FakeData(kFakeFeatures, 14));
  EXPECT_NE(RefitWith(parent, {other})->run_id(), first);
}

TEST_F(RunPriorsTest, MayBeAnEarlierRun) {
  const std::string parent = TrainWith({}).run_id();
  SentPrior run;
  run.header.set_kind(v1::PRIOR_KIND_RUN);
  run.header.set_run_id(parent);
  EXPECT_NE(AwaitW(RefitWith(parent, {run})), AwaitW(RefitWith(parent, {})));
  run.header.set_run_id("00000000000000000000000000000000");
  EXPECT_EQ(ReasonCode(RefitWith(parent, {run}).status()), "run-unknown");
}

TEST_F(RunPriorsTest, AreOfRunsOfMomentsAlone) {
  v1::RunSpecification specification = FakeSpecification(2, 3, "statistics");
  *specification.add_priors() = ColumnsSent().header;
  EXPECT_EQ(ReasonCode(PlanWithCurator(specification, &curator_).status()),
            "prior-unused");
}

TEST(PriorReader, GathersWhatWasAnnounced) {
  const SentPrior columns = ColumnsSent();
  const SentPrior parts =
      SentOf(v1::PRIOR_KIND_DICTIONARY, MatrixXd::Ones(2, 3), {"a", "b"});
  SentPrior run;
  run.header.set_kind(v1::PRIOR_KIND_RUN);
  const auto read = ReadBack({run, columns, parts, run});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 4u);
  EXPECT_EQ((*read)[1].entries, columns.entries);
  EXPECT_EQ((*read)[2].entries, parts.entries);
  EXPECT_EQ((*read)[2].names, parts.names);
}

TEST(PriorReader, RefusesWhatDoesNotFitItsHeader) {
  EXPECT_EQ(CodeOfSent(ColumnsSent()), "");
  SentPrior prior = ColumnsSent();
  prior.header.set_kind(v1::PRIOR_KIND_UNSPECIFIED);
  EXPECT_EQ(CodeOfSent(prior), "prior-kind-unknown");
  prior = ColumnsSent();
  prior.header.mutable_shape()->set_columns(16);
  EXPECT_EQ(CodeOfSent(prior), "prior-shape-invalid");  // a column is missing
  prior = ColumnsSent();
  prior.header.mutable_shape()->set_columns(0);
  EXPECT_EQ(CodeOfSent(prior), "prior-shape-invalid");
  prior = ColumnsSent();
  prior.header.set_kind(v1::PRIOR_KIND_MOMENT);  // not square
  EXPECT_EQ(CodeOfSent(prior), "prior-shape-invalid");
  prior = ColumnsSent();
  prior.header.set_named(true);  // and no name comes
  EXPECT_EQ(CodeOfSent(prior), "prior-shape-invalid");
  prior = ColumnsSent();
  prior.entries(2, 3) += 1;
  EXPECT_EQ(CodeOfSent(prior), "prior-differs");
  prior = ColumnsSent();
  prior.header.mutable_shape()->set_rows(kMostPriorEntries);
  prior.header.mutable_shape()->set_columns(2);
  EXPECT_EQ(CodeOfSent(prior), "prior-too-large");
  PriorHeaders many;
  for (std::size_t i = 0; i <= kMostPriors; ++i)
    *many.Add() = ColumnsSent().header;
  EXPECT_EQ(ReasonCode(PriorReader::Create(many).status()), "prior-too-many");
}

TEST(KeepPriors, MatchesFeaturesByName) {
  MatrixXd columns(3, 2);
  columns << 3, 0,  // c
      4, 0,         // a
      0, 7;         // elsewhere
  const MatrixXd kept =
      KeptColumns(SentOf(v1::PRIOR_KIND_COLUMNS, columns, {"c", "a", "x"}),
                  {"a", "b", "c"}, 3);
  MatrixXd expected(3, 2);
  expected << 0.8, 0, 0, 0, 0.6, 0;
  EXPECT_LT((kept - expected).norm(), 1e-15);
  EXPECT_EQ(
      KeptColumns(SentOf(v1::PRIOR_KIND_COLUMNS, columns, {"C", "A", "x"}),
                  {"a", "b", "c"}, 3),
      kept);
  LearnerState state = StateOf(3);
  const absl::Status refused =
      KeepPriors({SentOf(v1::PRIOR_KIND_COLUMNS, columns, {"x", "y", "z"})},
                 {.names = {"a", "b", "c"}}, std::nullopt, nullptr, &state);
  EXPECT_EQ(ReasonCode(refused), "prior-features-differ");
  EXPECT_NE(refused.message().find("('x', 'y', 'z') is that of a feature "
                                   "('a', 'b', 'c')"),
            std::string::npos)
      << refused;
  // Without names on both sides the numbers of features must agree.
  LearnerState larger = StateOf(4);
  EXPECT_EQ(ReasonCode(KeepPriors({SentOf(v1::PRIOR_KIND_COLUMNS, columns)},
                                  {.names = {"a", "b", "c", "d"}}, std::nullopt,
                                  nullptr, &larger)),
            "prior-features-differ");
}

TEST(KeepPriors, KeepsSparseColumnsAsFullOnes) {
  MatrixXd columns = MatrixXd::Zero(30, 4);
  columns(2, 0) = 3;
  columns(5, 0) = 4;
  columns(29, 3) = 2;
  MatrixXd expected = columns;
  for (auto column : expected.colwise())
    if (column.norm() > 0) column.normalize();
  EXPECT_TRUE(KeptColumns(SentOf(v1::PRIOR_KIND_COLUMNS, columns), {}, 30)
                  .isApprox(expected, 1e-15));
  SentPrior sparse = SentOf(v1::PRIOR_KIND_COLUMNS, columns);
  sparse.entries.resize(3, 3);
  sparse.entries << 2, 0, 3, 5, 0, 4, 29, 3, 2;
  sparse.header.set_sparse(true);
  sparse.header.set_nonzeros(3);
  sparse.header.set_sha256(HashOfPrior({}, sparse.entries));
  EXPECT_EQ(CodeOfSent(sparse), "");
  EXPECT_TRUE(KeptColumns(sparse, {}, 30).isApprox(expected, 1e-15));
  sparse.entries(2, 0) = 30;  // a row that is not there
  LearnerState state = StateOf(30);
  EXPECT_EQ(ReasonCode(KeepPriors({sparse}, {}, std::nullopt, nullptr, &state)),
            "prior-shape-invalid");
  sparse.entries.row(2) << 5, 0, 2;  // a place that is there already
  EXPECT_EQ(ReasonCode(KeepPriors({sparse}, {}, std::nullopt, nullptr, &state)),
            "prior-shape-invalid");
}

TEST(KeepPriors, RefusesWhatIsNotFiniteOnceItIsWeighted) {
  v1::Dataset dataset;
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_weighted_features(true);
  FeatureFacts features;
  features.weights.assign(30, 1e300);
  const MatrixXd columns = MatrixXd::Constant(30, 1, 1e300);
  SentPrior sparse = SentOf(v1::PRIOR_KIND_COLUMNS, columns);
  sparse.entries.resize(2, 3);
  sparse.entries << 0, 0, 1e300, 1, 0, 1e300;
  sparse.header.set_sparse(true);
  sparse.header.set_nonzeros(2);
  for (const SentPrior& sent :
       {SentOf(v1::PRIOR_KIND_COLUMNS, columns), sparse}) {
    LearnerState state = StateOf(30);
    EXPECT_EQ(
        ReasonCode(KeepPriors({sent}, features, dataset, nullptr, &state)),
        "prior-not-finite");
    EXPECT_TRUE(state.priors.empty());
  }
}

TEST(KeepPriors, PutsAMomentWhereItsNamesAre) {
  MatrixXd moment(2, 2);
  moment << 2, 1, 1, 3;
  LearnerState state = StateOf(3);
  ASSERT_TRUE(KeepPriors({SentOf(v1::PRIOR_KIND_MOMENT, moment, {"c", "a"})},
                         {.names = {"a", "b", "c"}}, std::nullopt, nullptr,
                         &state)
                  .ok());
  MatrixXd expected(3, 3);
  expected << 3, 0, 1, 0, 0, 0, 1, 0, 2;
  EXPECT_EQ(PriorsOf(state, {0, 1, 2})->front().moment, expected);
  EXPECT_EQ(PriorsOf(state, {1, 2})->front().moment,
            MatrixXd(expected.bottomRightCorner(2, 2)));
}

TEST(KeepPriors, ScalesColumnsAsTheDataSetDoes) {
  v1::Dataset dataset;
  dataset.set_normalisation(v1::NORMALISATION_NONE);
  dataset.set_column_bound(2);
  LearnerState state = StateOf(2);
  MatrixXd columns(2, 2);
  columns << 3, 1, 4, 0;
  ASSERT_TRUE(KeepPriors({SentOf(v1::PRIOR_KIND_COLUMNS, columns)}, {}, dataset,
                         nullptr, &state)
                  .ok());
  MatrixXd expected(2, 2);
  expected << 1.2, 1, 1.6, 0;
  EXPECT_LT((PriorsOf(state, {0, 1})->front().columns - expected).norm(),
            1e-15);
}

// Weighs columns in the same way as import weighs those of the data set.
TEST(KeepPriors, WeighsColumnsAsTheDataSetDoes) {
  v1::Dataset dataset;
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_weighted_features(true);
  MatrixXd columns = MatrixXd::Zero(30, 2);
  columns(0, 0) = 3;
  columns(1, 0) = 2;
  columns(2, 1) = 7;
  FeatureFacts features;
  features.weights.assign(30, 1);
  features.weights[1] = 2;
  features.weights[2] = 0;
  SentPrior sparse = SentOf(v1::PRIOR_KIND_COLUMNS, columns);
  sparse.entries.resize(3, 3);
  sparse.entries << 0, 0, 3, 1, 0, 2, 2, 1, 7;
  sparse.header.set_sparse(true);
  sparse.header.set_nonzeros(3);
  MatrixXd expected = MatrixXd::Zero(3, 2);
  expected(0, 0) = 0.6;
  expected(1, 0) = 0.8;
  for (const SentPrior& sent :
       {SentOf(v1::PRIOR_KIND_COLUMNS, columns), sparse}) {
    LearnerState state = StateOf(30);
    ASSERT_TRUE(KeepPriors({sent}, features, dataset, nullptr, &state).ok());
    const auto kept = PriorsOf(state, {0, 1, 2});
    EXPECT_LT((kept->front().columns - expected).norm(), 1e-15);
    EXPECT_EQ(ReasonCode(KeepPriors({sent}, {}, dataset, nullptr, &state)),
              "weights-missing");
  }
}

}  // namespace
}  // namespace dpnmf::analyst
