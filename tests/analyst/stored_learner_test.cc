#include "analyst/store/stored_learner.h"

#include <limits>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

using Eigen::MatrixXd;

constexpr int kStoredFeatures = 6;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

KeptPrior StoredColumns(const MatrixXd& columns) {
  KeptPrior prior;
  prior.columns = columns.sparseView();
  return prior;
}

// A state that has all of its fields: full columns, sparse ones, a dictionary,
// a moment and a graph.
LearnerState WholeState() {
  LearnerState state;
  state.w = MatrixXd::Constant(kStoredFeatures, 2, 0.5);
  MatrixXd sparse = MatrixXd::Zero(kStoredFeatures, 5);
  sparse(4, 3) = 2;
  sparse(1, 1) = 3;
  state.priors = {StoredColumns(MatrixXd::Ones(kStoredFeatures, 3)),
                  StoredColumns(sparse)};
  state.priors.emplace_back().dictionary =
      MatrixXd::Constant(kStoredFeatures, 4, 0.1);
  KeptPrior& moment = state.priors.emplace_back();
  moment.rows = {1, 3, 5};
  moment.moment = MatrixXd::Identity(3, 3);
  state.order.kind = FeatureOrder::Kind::kGraph;
  state.order.edges = {{0, 1}, {1, 5}};
  state.figures = {.prior_share = 0.25, .explained = 0.75};
  state.unlearned = true;
  state.memory["A"] = MatrixXd::Ones(2, 2);
  return state;
}

NamedMatrices Written(const LearnerState& state) {
  NamedMatrices matrices;
  WriteMatrices(state, [&](const std::string& name, const MatrixXd& matrix) {
    EXPECT_TRUE(matrices.emplace(name, matrix).second) << name;
  });
  return matrices;
}

std::string CodeOf(const NamedMatrices& matrices) {
  return ReasonCode(LearnerOf(WholeState().w, matrices).status());
}

TEST(StoredLearner, IsReadAsItWasWritten) {
  const LearnerState state = WholeState();
  const NamedMatrices written = Written(state);
  const auto read = LearnerOf(state.w, written);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->w, state.w);
  ASSERT_EQ(read->priors.size(), 4u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(MatrixXd(read->priors[i].columns),
              MatrixXd(state.priors[i].columns));
  }
  EXPECT_EQ(read->priors[2].dictionary, state.priors[2].dictionary);
  EXPECT_EQ(read->priors[3].moment, state.priors[3].moment);
  EXPECT_EQ(read->priors[3].rows, state.priors[3].rows);
  EXPECT_EQ(read->order.kind, state.order.kind);
  ASSERT_EQ(read->order.edges.size(), 2u);
  EXPECT_EQ(read->order.edges[1].to, 5u);
  EXPECT_EQ(read->figures.prior_share, 0.25);
  EXPECT_EQ(read->figures.explained, 0.75);
  EXPECT_TRUE(read->unlearned);
  EXPECT_EQ(read->memory, state.memory);
  EXPECT_EQ(Written(*read), written);
}

TEST(StoredLearner, IsEmptyWhereNothingWasWritten) {
  const auto read = LearnerOf(WholeState().w, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->priors.empty());
  EXPECT_EQ(read->order.kind, FeatureOrder::Kind::kNone);
  EXPECT_FALSE(read->figures.prior_share.has_value());
  EXPECT_FALSE(read->unlearned);
  EXPECT_TRUE(Written(*read).empty());
}

TEST(StoredLearner, KeepsColumnsInTheSmallerForm) {
  const NamedMatrices written = Written(WholeState());
  EXPECT_EQ(written.at("prior 00 columns").size(), 3 * kStoredFeatures);
  EXPECT_EQ(written.at("prior 01 triples"),
            (MatrixXd(3, 3) << 6, 5, 0, 1, 1, 3, 4, 3, 2).finished());
}

TEST(StoredLearner, RefusesADamagedPrior) {
  const NamedMatrices whole = Written(WholeState());
  EXPECT_EQ(CodeOf(whole), "");
  const auto code_with = [&](const std::string& name, int row, int column,
                             double number) {
    NamedMatrices damaged = whole;
    damaged.at(name)(row, column) = number;
    return CodeOf(damaged);
  };
  for (const double bad : {-1.0, 0.5, 6.0, 1e300, kNotANumber}) {
    EXPECT_EQ(code_with("prior 01 triples", 1, 0, bad), "state-damaged") << bad;
    EXPECT_EQ(code_with("prior 01 triples", 1, 1, bad), "state-damaged") << bad;
    EXPECT_EQ(code_with("prior 03 rows", 1, 0, bad), "state-damaged") << bad;
  }
  EXPECT_EQ(code_with("prior 01 triples", 0, 0, 7), "state-damaged");
  EXPECT_EQ(code_with("prior 01 triples", 0, 1, 1e9), "state-damaged");
  EXPECT_EQ(code_with("prior 03 rows", 1, 0, 1), "state-damaged");
  const auto code_as = [&](const std::string& name, const MatrixXd& matrix) {
    NamedMatrices damaged = whole;
    damaged[name] = matrix;
    return CodeOf(damaged);
  };
  EXPECT_EQ(code_as("prior 00 columns", MatrixXd::Ones(5, 3)), "state-damaged");
  EXPECT_EQ(code_as("prior 01 triples", MatrixXd::Ones(3, 2)), "state-damaged");
  EXPECT_EQ(code_as("prior 02 dictionary", MatrixXd::Ones(7, 4)),
            "state-damaged");
  EXPECT_EQ(code_as("prior 03 moment", MatrixXd::Ones(3, 2)), "state-damaged");
  NamedMatrices no_rows = whole;
  no_rows.erase("prior 03 rows");
  EXPECT_EQ(CodeOf(no_rows), "state-damaged");
}

TEST(StoredLearner, RefusesADamagedOrder) {
  const NamedMatrices whole = Written(WholeState());
  for (const double bad : {-1.0, 0.5, 6.0, 1e300, kNotANumber}) {
    NamedMatrices damaged = whole;
    damaged.at("feature order")(2, 1) = bad;
    EXPECT_EQ(CodeOf(damaged), "state-damaged") << bad;
    damaged = whole;
    damaged.at("feature order")(0, 0) = bad;
    EXPECT_EQ(CodeOf(damaged), "state-damaged") << bad;
  }
  NamedMatrices damaged = whole;
  damaged.at("feature order")(0, 0) = 2;  // a line has no edges
  EXPECT_EQ(CodeOf(damaged), "state-damaged");
}

}  // namespace
}  // namespace dpnmf::analyst
