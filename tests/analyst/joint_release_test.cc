// One release of several: sums over people of what is paid for.
#include "analyst/runs/joint_release.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analyst/runs/run_items.h"
#include "analyst/runs/sent_release.h"
#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"
#include "tests/analyst/paid_run.h"

namespace dpnmf::analyst {
namespace {

using testing::HasSubstr;

// Three months of people with the same features, each paid for at a curator of
// its own; the analyst's store has the runs of all.
class JointReleaseTest : public testing::Test {
 protected:
  static constexpr int kFeatures = 6;

  void SetUp() override {
    const Eigen::MatrixXd all = FakeData(kFeatures, 120);
    people_ = {all.leftCols(40), all.middleCols(40, 60), all.rightCols(20)};
    for (std::size_t i = 0; i < people_.size(); ++i)
      curators_.push_back(std::make_unique<FakeCurator>(people_[i]));
    runs_ = std::make_unique<PaidRuns>(curators_[0].get());
    sources_.push_back(SourceOf(runs_.get(), runs_->Train(2).run_id(), "jan"));
    Rename(sources_[0].record.run.run_id(), "jan");
    for (std::size_t i = 1; i < people_.size(); ++i) {
      PaidRuns other(curators_[i].get());
      sources_.push_back(
          SourceOf(&other, other.Train(2).run_id(), i == 1 ? "feb" : "mar"));
      AddToStore(sources_.back());
    }
  }

  static JoinedSource SourceOf(PaidRuns* runs, const std::string& run_id,
                               const std::string& dataset) {
    JoinedSource source;
    source.record = *runs->store()->Get(run_id);
    source.state = *runs->store()->ReadLearner(run_id);
    source.dataset = *runs->store()->ReadDataset(run_id);
    source.dataset->set_name(dataset);
    source.record.run.mutable_specification()
        ->mutable_parameters()
        ->set_dataset(dataset);
    source.record.population = dataset + "-people";
    return source;
  }

  // Adds a run to the store as if the analyst had trained it.
  void AddToStore(const JoinedSource& source) {
    NewRunFacts facts;
    facts.dataset = source.dataset;
    ASSERT_TRUE(runs_->store()->Add(source.record, source.state, facts).ok());
    StateChange change;
    change.state = v1::RUN_STATE_COMPLETED;
    (void)runs_->store()->ChangeState(source.record.run.run_id(), change);
  }
  // The run of the first curator under the name of its month.
  void Rename(const std::string& run_id, const std::string& dataset) {
    JoinedSource source = sources_[0];
    ASSERT_TRUE(runs_->store()->Forget(run_id, kPaidClient).ok());
    source.record.run.mutable_specification()
        ->mutable_parameters()
        ->set_dataset(dataset);
    AddToStore(source);
  }

  std::string Id(std::size_t i) const {
    return sources_[i].record.run.run_id();
  }
  v1::Refit RefitOf(const std::vector<std::size_t>& terms,
                    std::uint32_t rank = 3) const {
    v1::Refit refit;
    refit.set_run_id(Id(terms[0]));
    for (std::size_t i = 1; i < terms.size(); ++i)
      refit.add_joined_run_ids(Id(terms[i]));
    refit.set_rank(rank);
    refit.mutable_learner()->set_seed(7);
    return refit;
  }
  absl::StatusOr<v1::Run> Start(const v1::Refit& refit) {
    auto child = runs_->manager()->PrepareRefit(refit);
    if (!child.ok()) return child.status();
    return runs_->manager()->Refit(*std::move(child), std::nullopt,
                                   kPaidClient);
  }
  static PaidMoments PaidOf(const NewRun& child) {
    return PaidMomentsOf(child.record.run, child.state).value();
  }

  std::vector<Eigen::MatrixXd> people_;
  std::vector<std::unique_ptr<FakeCurator>> curators_;
  std::unique_ptr<PaidRuns> runs_;
  std::vector<JoinedSource> sources_;
};

TEST_F(JointReleaseTest, IsTheSumOverAllPeople) {
  const auto child = JointChildOf(sources_, RefitOf({0, 1, 2}));
  ASSERT_TRUE(child.ok()) << child.status();
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(kFeatures, kFeatures);
  for (const Eigen::MatrixXd& v : people_) sum += v * v.transpose();
  // The fake releases multiples of a step without noise.
  EXPECT_LT((PaidOf(*child).moments.g - sum / 120).cwiseAbs().maxCoeff(), 1e-3);
  const v1::Run& run = child->record.run;
  EXPECT_EQ(run.parent(), Id(0));
  ASSERT_EQ(run.joined_size(), 3);
  EXPECT_EQ(run.joined(1).run_id(), Id(1));
  EXPECT_EQ(run.joined(1).dataset(), "feb");
  EXPECT_EQ(run.joined(1).population(), "feb-people");
  EXPECT_EQ(run.joined(1).users(), 60u);
  EXPECT_EQ(run.specification().parameters().dataset(), "jan+feb+mar");
  EXPECT_EQ(child->facts.dataset->users(), 120u);
  EXPECT_EQ(run.plan().cost().units(), "");
}

TEST_F(JointReleaseTest, TheNoiseIsThatOfTheSum) {
  const double stddev[] = {0.1, 0.2, 0.4}, diagonal[] = {0.15, 0.3, 0.6};
  double off = 0, on = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    v1::PartPlan& part = *sources_[i]
                              .record.run.mutable_plan()
                              ->mutable_stages(0)
                              ->mutable_parts(0);
    part.set_stddev(stddev[i]);
    part.set_diagonal_stddev(diagonal[i]);
    const double users = static_cast<double>(people_[i].cols());
    off += std::pow(users * stddev[i], 2);
    on += std::pow(users * diagonal[i], 2);
  }
  const auto child = JointChildOf(sources_, RefitOf({0, 1, 2}));
  ASSERT_TRUE(child.ok()) << child.status();
  const PaidMoments paid = PaidOf(*child);
  // sqrt(4^2 + 12^2 + 8^2) / 120
  EXPECT_NEAR(paid.moments.stddev_off, std::sqrt(off) / 120, 1e-15);
  EXPECT_NEAR(paid.moments.stddev_off, std::sqrt(224.0) / 120, 1e-15);
  EXPECT_NEAR(paid.moments.stddev_diagonal, std::sqrt(on) / 120, 1e-15);
  // Figures that hold for a single sum only are 0 in the plan.
  const v1::PartPlan& part = child->record.run.plan().stages(0).parts(0);
  EXPECT_EQ(part.stddev_steps(), 0u);
  EXPECT_EQ(part.l2_sensitivity(), 0);
}

TEST_F(JointReleaseTest, IsTheSameInWhateverOrderAndHoweverOftenItIsAskedFor) {
  const auto one = Start(RefitOf({0, 1, 2}));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(Start(RefitOf({0, 1, 2}))->run_id(), one->run_id());
  EXPECT_EQ(Start(RefitOf({2, 0, 1}))->run_id(), one->run_id());
  EXPECT_NE(Start(RefitOf({0, 1}))->run_id(), one->run_id());
  EXPECT_NE(Start(RefitOf({0, 1, 2}, 2))->run_id(), one->run_id());
  EXPECT_NE(runs_->Refit(Id(0), 3)->run_id(), one->run_id());
  EXPECT_EQ(PaidOf(*JointChildOf({sources_[2], sources_[0], sources_[1]},
                                 RefitOf({2, 0, 1})))
                .moments.g,
            PaidOf(*JointChildOf(sources_, RefitOf({0, 1, 2}))).moments.g);
}

TEST_F(JointReleaseTest, CostsNothingAndOutlivesItsParents) {
  std::vector<std::size_t> charges;
  for (auto& curator : curators_) {
    charges.push_back(curator->charges());
    curator->hook = [](Moment, const std::string&, std::uint32_t) {
      ADD_FAILURE() << "the curator is asked";
      return absl::OkStatus();
    };
  }
  const std::string id = Start(RefitOf({0, 1, 2}))->run_id();
  const v1::Run run = runs_->Await(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  EXPECT_EQ(run.charged().units(), "0");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(curators_[i]->charges(), charges[i]);
  const Eigen::MatrixXd w = runs_->W(id);
  EXPECT_EQ(w.cols(), 3);
  for (std::size_t i = 0; i < 3; ++i)
    ASSERT_TRUE(runs_->manager()->Forget(Id(i), kPaidClient).ok());
  runs_->Restart();
  const v1::Run stored = *runs_->manager()->Get(id);
  ASSERT_EQ(stored.joined_size(), 3);
  EXPECT_EQ(stored.joined(2).dataset(), "mar");
  EXPECT_EQ(runs_->manager()->List()->at(0).joined_size(), 3);
  // A child of it has the same parents and the same sum.
  const auto child = runs_->Refit(id, 3, 7, "dns:bob.client");
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->joined_size(), 3);
  EXPECT_EQ(child->parent(), Id(0));
  runs_->Await(child->run_id());
  EXPECT_EQ(runs_->W(child->run_id()), w);
  // The sum as numbers, and not as a signed release.
  const auto numbers = FindRelease(id, /*matrices=*/true, runs_->store());
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->header.dataset().users(), 120u);
  EXPECT_EQ(
      ReasonCode(FindRelease(id, /*matrices=*/false, runs_->store()).status()),
      "release-unsigned");
  ASSERT_TRUE(runs_->manager()->Forget(id, kPaidClient).ok());
}

TEST_F(JointReleaseTest, ASumIsATermOfAFurtherSum) {
  const std::string two = Start(RefitOf({0, 1}))->run_id();
  runs_->Await(two);
  v1::Refit refit = RefitOf({2});
  refit.add_joined_run_ids(two);
  const auto child = runs_->manager()->PrepareRefit(refit);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->record.run.joined_size(), 3);
  EXPECT_EQ(child->record.run.specification().parameters().dataset(),
            "mar+jan+feb");
  EXPECT_LT((PaidOf(*child).moments.g -
             PaidOf(*JointChildOf(sources_, RefitOf({0, 1, 2}))).moments.g)
                .cwiseAbs()
                .maxCoeff(),
            1e-12);
  EXPECT_NEAR(
      PaidOf(*child).moments.stddev_off,
      PaidOf(*JointChildOf(sources_, RefitOf({0, 1, 2}))).moments.stddev_off,
      1e-15);
  // Nobody is counted twice.
  refit = RefitOf({1});
  refit.add_joined_run_ids(two);
  EXPECT_EQ(ReasonCode(runs_->manager()->PrepareRefit(refit).status()),
            "releases-overlap");
}

TEST_F(JointReleaseTest, IsVoidIfTheGuaranteeOfAnyTermIs) {
  const std::string id = Start(RefitOf({0, 1, 2}))->run_id();
  runs_->Await(id);
  EXPECT_FALSE(runs_->manager()->Get(id)->has_void_since());
  ASSERT_TRUE(runs_->store()->SeeVoid("mar-people", 1700).ok());
  EXPECT_EQ(runs_->manager()->Get(id)->void_since(), 1700);
  EXPECT_FALSE(runs_->manager()->Get(Id(0))->has_void_since());
  // Terms that were void before they were joined: the earliest date counts.
  sources_[2].record.guarantee.set_void_since(1600);
  sources_[1].record.guarantee.set_void_since(1500);
  const auto child = JointChildOf(sources_, RefitOf({0, 1, 2}));
  EXPECT_EQ(child->record.guarantee.void_since(), 1500);
}

TEST_F(JointReleaseTest, RefusesFeaturesWhoseWeightsAreNotWithTheRuns) {
  sources_[1].dataset->set_weighted_features(true);
  const auto child = JointChildOf(sources_, RefitOf({0, 1, 2}));
  EXPECT_EQ(ReasonCode(child.status()), "releases-differ");
  EXPECT_THAT(std::string(child.status().message()),
              HasSubstr(sources_[1].dataset->name() +
                        " lack the weights of its features"));
}

TEST_F(JointReleaseTest, RefusesWhatIsNoSumOfDifferentPeople) {
  const auto code_of = [&](const std::function<void(JoinedSource*)>& change) {
    std::vector<JoinedSource> sources = sources_;
    change(&sources[1]);
    const auto child = JointChildOf(std::move(sources), RefitOf({0, 1, 2}));
    return ReasonCode(child.status());
  };
  EXPECT_EQ(code_of([](JoinedSource*) {}), "");
  EXPECT_EQ(code_of([&](JoinedSource* s) { *s = sources_[0]; }),
            "releases-overlap");
  // Another run of the same data set has the same people.
  EXPECT_EQ(code_of([](JoinedSource* s) {
              s->record.run.mutable_specification()
                  ->mutable_parameters()
                  ->set_dataset("jan");
            }),
            "releases-overlap");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->dataset.reset(); }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->dataset->set_users(0); }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->dataset->set_column_bound(2); }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) {
              s->dataset->set_normalisation(v1::NORMALISATION_NONE);
            }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) {
              s->record.guarantee.set_adjacency(v1::ADJACENCY_ADD_REMOVE_ONE);
            }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->features.names = {"other"}; }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->features.weights = {2}; }),
            "releases-differ");
  EXPECT_EQ(
      code_of([](JoinedSource* s) { s->dataset->set_weighted_features(true); }),
      "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) { s->state.memory.erase("G"); }),
            "release-missing");
  // Two releases in one: what their sum would have for noise is not known.
  EXPECT_EQ(code_of([](JoinedSource* s) {
              s->record.run.mutable_specification()
                  ->mutable_parameters()
                  ->set_mechanism("aimed");
            }),
            "releases-differ");
  EXPECT_EQ(code_of([](JoinedSource* s) {
              s->state.memory[kAimNumbers] = Eigen::RowVector3d(1, 0, 1);
            }),
            "releases-differ");
  v1::Refit refit = RefitOf({0, 1});
  refit.add_joined_run_ids(std::string(32, '0'));
  EXPECT_EQ(ReasonCode(runs_->manager()->PrepareRefit(refit).status()),
            "run-unknown");
}

TEST_F(JointReleaseTest, HasTheLawOfTheRequestAlone) {
  std::vector<JoinedSource> sources = sources_;
  sources[0]
      .record.run.mutable_specification()
      ->mutable_learner()
      ->set_sparseness(0.6);
  v1::Refit refit = RefitOf({0, 1});
  const auto plain = JointChildOf(sources, refit);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(plain->record.run.specification().learner().has_sparseness());
  refit.mutable_learner()->set_loss(v1::LOSS_KL);
  const auto divergent = JointChildOf(sources, refit);
  ASSERT_TRUE(divergent.ok()) << divergent.status();
  EXPECT_EQ(divergent->record.run.specification().learner().loss(),
            v1::LOSS_KL);
  EXPECT_NE(RequestOf(plain->record.run, std::nullopt).digest,
            RequestOf(divergent->record.run, std::nullopt).digest);
}

TEST_F(JointReleaseTest, ReleasesOnOtherFeaturesOrRowsAreRefused) {
  FakeCurator wider(FakeData(kFeatures + 1, 40));
  PaidRuns wide(&wider);
  EXPECT_EQ(
      ReasonCode(JointChildOf({sources_[0],
                               SourceOf(&wide, wide.Train(2).run_id(), "wide")},
                              RefitOf({0, 1}))
                     .status()),
      "releases-differ");
  // Each chooses its rows; the request of the second names those of the first.
  PaidRuns narrow(curators_[1].get());
  const v1::Run first = runs_->Train(2, 4);
  ASSERT_EQ(first.state(), v1::RUN_STATE_COMPLETED) << first.error();
  const JoinedSource own = SourceOf(runs_.get(), first.run_id(), "jan");
  const PaidMoments paid = PaidMomentsOf(own.record.run, own.state).value();
  ASSERT_EQ(paid.rows.size(), 4u);
  std::vector<int> other_rows;  // those that it has not, and some of its own
  for (int row = 0; row < kFeatures; ++row)
    if (std::find(paid.rows.begin(), paid.rows.end(), row) == paid.rows.end())
      other_rows.push_back(row);
  for (std::size_t i = 0; other_rows.size() < 4; ++i)
    other_rows.push_back(paid.rows[i]);
  std::sort(other_rows.begin(), other_rows.end());
  const auto train = [&](const std::vector<int>& rows) {
    v1::RunSpecification specification = FakeSpecification(2, 2, "moments");
    specification.mutable_learner()->mutable_rows()->Assign(rows.begin(),
                                                            rows.end());
    const auto planned = PlanWithCurator(specification, curators_[1].get());
    EXPECT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(planned->reply.specification().parameters().moment_rows(), 4u);
    const auto run =
        narrow.manager()->Start(*planned, std::nullopt, kPaidClient);
    EXPECT_TRUE(run.ok()) << run.status();
    return SourceOf(&narrow, narrow.Await(run->run_id()).run_id(), "feb");
  };
  const JoinedSource same = train(paid.rows), differing = train(other_rows);
  EXPECT_EQ(PaidMomentsOf(differing.record.run, differing.state)->rows,
            other_rows)
      << "the rows are those of the request";
  EXPECT_EQ(
      ReasonCode(JointChildOf({own, differing}, RefitOf({0, 1})).status()),
      "release-rows-differ");
  const auto child = JointChildOf({own, same}, RefitOf({0, 1}));
  ASSERT_TRUE(child.ok()) << child.status();
  const PaidMoments sum = PaidOf(*child);
  EXPECT_EQ(sum.rows, paid.rows);
  Eigen::VectorXd mean = people_[0].rowwise().sum();
  mean += people_[1].rowwise().sum();
  EXPECT_LT((sum.mean - mean / 100).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_GT(sum.mean_stddev, 0);
  // Without the mean of one there is no mean of both.
  JoinedSource lost = same;
  lost.state.memory.erase(kPaidMean);
  EXPECT_EQ(PaidOf(*JointChildOf({own, lost}, RefitOf({0, 1}))).mean.size(), 0);
}

TEST_F(JointReleaseTest, RowsOfARequestAreChecked) {
  const auto code_of = [&](const std::vector<std::uint32_t>& rows,
                           std::uint32_t moment_rows,
                           const std::string& mechanism = "moments") {
    v1::RunSpecification specification = FakeSpecification(2, 2, mechanism);
    specification.mutable_parameters()->set_moment_rows(moment_rows);
    specification.mutable_learner()->mutable_rows()->Assign(rows.begin(),
                                                            rows.end());
    return ReasonCode(
        PlanWithCurator(specification, curators_[0].get()).status());
  };
  EXPECT_EQ(code_of({0, 2, 5}, 3), "");
  EXPECT_EQ(code_of({0, 2, 5}, 0), "");
  EXPECT_EQ(code_of({0, 2, 5}, 4), "moment-rows-out-of-range");
  EXPECT_EQ(code_of({0, 2, 6}, 3), "moment-rows-out-of-range");
  EXPECT_EQ(code_of({0, 2, 2}, 3), "moment-rows-out-of-range");
  EXPECT_EQ(code_of({2, 0, 5}, 3), "moment-rows-out-of-range");
  EXPECT_EQ(code_of({0, 1, 2, 3, 4, 5}, 0), "moment-rows-unused");
  EXPECT_EQ(code_of({0, 2, 5}, 3, "statistics"), "moment-rows-unused");
}

TEST(NameOfJoinedOf, NamesThreeAndCountsMore) {
  EXPECT_EQ(NameOfJoined({"jan", "feb", "mar"}), "jan+feb+mar");
  EXPECT_EQ(NameOfJoined({"jan", "feb", "mar", "apr"}), "jan+3 more");
}

}  // namespace
}  // namespace dpnmf::analyst
