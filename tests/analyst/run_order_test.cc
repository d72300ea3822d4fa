// The order of a run's features: how it is kept, and that the curator never
// hears of it.
#include "common/learning/run_order.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"
#include "tests/analyst/paid_run.h"

namespace dpnmf::analyst {
namespace {

using Eigen::MatrixXd;

constexpr int kOrderedFeatures = 96;

v1::FeatureOrder Sent(v1::FeatureOrderKind kind, std::uint64_t width = 0,
                      std::vector<std::uint32_t> edges = {}) {
  v1::FeatureOrder order;
  order.set_kind(kind);
  order.set_width(width);
  order.mutable_edges()->Add(edges.begin(), edges.end());
  return order;
}

v1::FeatureOrder Linear() { return Sent(v1::FEATURE_ORDER_KIND_LINEAR); }
v1::FeatureOrder Chain() {
  std::vector<std::uint32_t> edges;
  for (std::uint32_t i = 0; i + 1 < kOrderedFeatures; ++i)
    edges.insert(edges.end(), {i, i + 1});
  return Sent(v1::FEATURE_ORDER_KIND_GRAPH, 0, edges);
}

// Smooth people with bumps anywhere on a line: their order predicts what no few
// directions of the release do.
MatrixXd SmoothData() {
  MatrixXd data = MatrixXd::Zero(kOrderedFeatures, 4'320);
  for (Eigen::Index n = 0; n < data.cols(); ++n) {
    for (const Eigen::Index centre : {37 * n % 96, (53 * n + 11) % 96}) {
      for (Eigen::Index i = 0; i < data.rows(); ++i) {
        const auto apart = static_cast<double>(i - centre) / 5;
        data(i, n) += std::exp(-apart * apart / 2);
      }
    }
    data.col(n) *= 0.9 / data.col(n).norm();
  }
  return data;
}

class RunOrderTest : public testing::Test {
 protected:
  absl::StatusOr<PlannedRun> PlanWith(const v1::FeatureOrder* order,
                                      const std::string& mechanism) {
    v1::RunSpecification specification =
        FakeSpecification(2,
                          mechanism == "moments" ? 1
                          : mechanism == "aimed" ? 2
                                                 : 3,
                          mechanism);
    if (order != nullptr) *specification.mutable_feature_order() = *order;
    return PlanWithCurator(specification, &curator_);
  }

  v1::Run TrainWith(const v1::FeatureOrder* order) {
    const auto planned = PlanWith(order, "moments");
    EXPECT_TRUE(planned.ok()) << planned.status();
    const auto run =
        runs_.manager()->Start(*planned, std::nullopt, kPaidClient);
    EXPECT_TRUE(run.ok()) << run.status();
    return runs_.Await(run->run_id());
  }

  absl::StatusOr<v1::Run> RefitWith(const std::string& run_id,
                                    const v1::FeatureOrder* order,
                                    std::uint64_t seed,
                                    v1::Loss loss = v1::LOSS_UNSPECIFIED) {
    v1::Refit refit;
    refit.mutable_learner()->set_loss(loss);
    refit.set_run_id(run_id);
    refit.mutable_learner()->set_seed(seed);
    if (order != nullptr) *refit.mutable_feature_order() = *order;
    DPNMF_ASSIGN_OR_RETURN(NewRun child, runs_.manager()->PrepareRefit(refit));
    return runs_.manager()->Refit(std::move(child), std::nullopt, kPaidClient,
                                  {});
  }

  MatrixXd AwaitW(const absl::StatusOr<v1::Run>& run) {
    EXPECT_TRUE(run.ok()) << run.status();
    const v1::Run ended = runs_.Await(run->run_id());
    EXPECT_EQ(ended.state(), v1::RUN_STATE_COMPLETED) << ended.error();
    return runs_.W(run->run_id());
  }

  std::string PlanCode(const v1::FeatureOrder& order,
                       const std::string& mechanism = "moments") {
    return ReasonCode(PlanWith(&order, mechanism).status());
  }

  FakeCurator curator_{SmoothData()};
  PaidRuns runs_{&curator_};
};

TEST_F(RunOrderTest, ChangesWAndNothingThatTheCuratorSees) {
  const v1::FeatureOrder linear = Linear();
  const v1::Run plain = TrainWith(nullptr);
  const v1::Run with = TrainWith(&linear);
  ASSERT_EQ(with.state(), v1::RUN_STATE_COMPLETED) << with.error();
  EXPECT_NE(runs_.W(with.run_id()), runs_.W(plain.run_id()));
  EXPECT_EQ(with.charged().units(), plain.charged().units());
  EXPECT_EQ(with.plan().SerializeAsString(), plain.plan().SerializeAsString());
  const auto requests = curator_.Requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0], requests[1]);
}

TEST_F(RunOrderTest, OfARefitIsThatOfARunFromTheStart) {
  const v1::FeatureOrder linear = Linear(),
                         none = Sent(v1::FEATURE_ORDER_KIND_NONE);
  const v1::Run plain = TrainWith(nullptr);
  const v1::Run with = TrainWith(&linear);
  const std::uint64_t seed = with.specification().learner().seed();
  EXPECT_EQ(AwaitW(RefitWith(plain.run_id(), &linear, seed)),
            runs_.W(with.run_id()));
  // A child has its parent's, unless it is told otherwise.
  EXPECT_EQ(AwaitW(RefitWith(with.run_id(), nullptr, seed)),
            runs_.W(with.run_id()));
  EXPECT_EQ(AwaitW(RefitWith(with.run_id(), &none, seed)),
            runs_.W(plain.run_id()));
}

TEST_F(RunOrderTest, AGraphIsKeptAndItsDigestShown) {
  const v1::FeatureOrder chain = Chain(), linear = Linear();
  const v1::Run run = TrainWith(&chain);
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  EXPECT_EQ(run.specification().feature_order().edges_size(), 0);
  EXPECT_EQ(run.specification().feature_order().edges_sha256().size(), 32u);
  // A chain is a line.
  EXPECT_EQ(runs_.W(run.run_id()),
            AwaitW(RefitWith(run.run_id(), &linear,
                             run.specification().learner().seed())));
  v1::FeatureOrder other = chain;
  other.add_edges(0);
  other.add_edges(5);
  EXPECT_NE(RefitWith(run.run_id(), &chain, 9)->run_id(),
            RefitWith(run.run_id(), &other, 9)->run_id());
}

TEST_F(RunOrderTest, OrderAndLawAreBothOfTheRequest) {
  const v1::FeatureOrder linear = Linear();
  const std::string parent = TrainWith(nullptr).run_id();
  const auto id = [&](const v1::FeatureOrder* order, v1::Loss loss) {
    const auto run = RefitWith(parent, order, 3, loss);
    EXPECT_TRUE(run.ok()) << run.status();
    return run->run_id();
  };
  const std::set<std::string> different = {
      id(nullptr, v1::LOSS_SQUARED), id(nullptr, v1::LOSS_KL),
      id(&linear, v1::LOSS_SQUARED), id(&linear, v1::LOSS_KL)};
  EXPECT_EQ(different.size(), 4u);
  EXPECT_NE(AwaitW(RefitWith(parent, &linear, 3, v1::LOSS_KL)),
            AwaitW(RefitWith(parent, nullptr, 3, v1::LOSS_KL)));
}

TEST_F(RunOrderTest, OutlivesAServerThatWasKilled) {
  const v1::FeatureOrder linear = Linear();
  const std::string parent = TrainWith(nullptr).run_id();
  const MatrixXd w = AwaitW(RefitWith(parent, &linear, 3));
  runs_.Restart(/*max_running=*/0);
  const v1::FeatureOrder chain = Chain();  // another request, the same bits
  const auto queued = RefitWith(parent, &chain, 3);
  ASSERT_TRUE(queued.ok()) << queued.status();
  runs_.Restart();
  EXPECT_EQ(AwaitW(queued), w);
}

TEST_F(RunOrderTest, IsRefusedIfItDoesNotFit) {
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_GRID, 6)), "");
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_GRID, 7)),
            "image-width-invalid");
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_GRID, 0)),
            "image-width-invalid");
  EXPECT_EQ(PlanCode(v1::FeatureOrder()), "feature-order-unknown");
  EXPECT_EQ(PlanCode(Sent(static_cast<v1::FeatureOrderKind>(77))),
            "feature-order-unknown");
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_LINEAR, 0, {0, 1})),
            "feature-order-unknown");
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_GRAPH, 0, {0, 1, 2})),
            "feature-order-unknown");
  EXPECT_EQ(PlanCode(Sent(v1::FEATURE_ORDER_KIND_GRAPH, 0, {0, 96})),
            "feature-graph-invalid");
  EXPECT_EQ(PlanCode(Linear(), "aimed"), "");
  EXPECT_EQ(PlanCode(Linear(), "statistics"), "feature-order-unused");
  const std::string run = TrainWith(nullptr).run_id();
  const v1::FeatureOrder wide = Sent(v1::FEATURE_ORDER_KIND_GRID, 7);
  EXPECT_EQ(ReasonCode(RefitWith(run, &wide, 1).status()),
            "image-width-invalid");
}

}  // namespace
}  // namespace dpnmf::analyst
