#include "lab/complete/aux_nmf.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr AuxWeights kWeights[] = {{1, 0, 0},    {.5, .5, 0}, {.5, 0, .5},
                                   {0, .5, .5},  {.2, 0, .8}, {.4, .6, 0},
                                   {.3, .3, .4}, {0, 1, 0}};

Labels SomeLabels(Index rows, int clusters, Draws* draws) {
  Labels labels;
  for (Index i = 0; i < rows; ++i) {
    const auto label =
        static_cast<int>(draws->Below(static_cast<std::size_t>(clusters) + 1));
    labels.push_back(label == clusters ? kNoLabel : label);
  }
  return labels;
}

AuxFactors Start(Index people, Index items, int k, int l, Draws* draws) {
  return {UniformMatrix(people, k, draws), UniformMatrix(k, l, draws),
          UniformMatrix(items, l, draws)};
}

// The formulas of the publication with full matrices, written out.
struct Dense {
  MatrixXd r, w, c_u, c_i, labelled_u, labelled_i;
  AuxWeights weights;

  Dense(const SparseRatings& ratings, const Labels& people, const Labels& items,
        Index k, Index l, const AuxWeights& all)
      : r(MatrixXd::Zero(ratings.rows(), ratings.columns)),
        w(r),
        c_u(MatrixXd::Zero(ratings.rows(), k)),
        c_i(MatrixXd::Zero(ratings.columns, l)),
        labelled_u(c_u),
        labelled_i(c_i),
        weights(all) {
    for (Index i = 0; i < ratings.rows(); ++i) {
      for (std::size_t at = ratings.Begin(i); at < ratings.Begin(i + 1); ++at) {
        r(i, ratings.indices[at]) = ratings.values[at];
        w(i, ratings.indices[at]) = 1;
      }
    }
    Mark(people, &c_u, &labelled_u);
    Mark(items, &c_i, &labelled_i);
  }
  static void Mark(const Labels& labels, MatrixXd* c, MatrixXd* labelled) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoLabel) continue;
      (*c)(static_cast<Index>(i), labels[i]) = 1;
      labelled->row(static_cast<Index>(i)).setOnes();
    }
  }

  double Loss(const MatrixXd& u, const MatrixXd& s, const MatrixXd& v) const {
    return weights.ratings *
               w.cwiseProduct(r - u * s * v.transpose()).squaredNorm() +
           weights.people * labelled_u.cwiseProduct(u - c_u).squaredNorm() +
           weights.items * labelled_i.cwiseProduct(v - c_i).squaredNorm();
  }
  void Round(MatrixXd* u, MatrixXd* s, MatrixXd* v) const {
    const auto seen = [&] {
      return w.cwiseProduct(*u * *s * v->transpose()).eval();
    };
    const auto step = [](const MatrixXd& x, const MatrixXd& up,
                         const MatrixXd& down) {
      MatrixXd next = x;
      for (Index i = 0; i < x.size(); ++i)
        if (down.data()[i] > 0) next.data()[i] *= up.data()[i] / down.data()[i];
      return next;
    };
    const MatrixXd vs = *v * s->transpose();
    *u = step(*u, weights.ratings * r * vs + weights.people * c_u,
              weights.ratings * seen() * vs +
                  weights.people * labelled_u.cwiseProduct(*u));
    const MatrixXd us = *u * *s;
    *v = step(*v, weights.ratings * r.transpose() * us + weights.items * c_i,
              weights.ratings * seen().transpose() * us +
                  weights.items * labelled_i.cwiseProduct(*v));
    *s = step(*s, u->transpose() * r * *v, u->transpose() * seen() * *v);
  }
};

TEST(AuxNmf, SparseUpdatesAreTheDenseOnes) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const AuxWeights& weights : kWeights) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", alpha ", weights.ratings,
                                ", beta ", weights.people));
      const SparseRatings ratings = GeneratedInput(23, 17, 0.3, seed).ratings;
      Draws draws(seed);
      const int k = seed == 3 ? 13 : 5, l = seed == 2 ? 9 : 3;
      const Labels people = SomeLabels(23, k, &draws);
      const Labels items = SomeLabels(17, l, &draws);
      const AuxFactors start = Start(23, 17, k, l, &draws);
      const Dense dense(ratings, people, items, k, l, weights);
      MatrixXd u = start.u, s = start.s, v = start.v;
      std::vector<double> objective = {dense.Loss(u, s, v)};
      for (int round = 0; round < 6; ++round) {
        dense.Round(&u, &s, &v);
        objective.push_back(dense.Loss(u, s, v));
      }
      const AuxRun run = FitAuxNmf(ratings, Transposed(ratings), people, items,
                                   weights, 6, start);
      ASSERT_FALSE(run.undone);
      EXPECT_LT((run.factors.u - u).cwiseAbs().maxCoeff(), 1e-9);
      EXPECT_LT((run.factors.s - s).cwiseAbs().maxCoeff(), 1e-9);
      EXPECT_LT((run.factors.v - v).cwiseAbs().maxCoeff(), 1e-9);
      ASSERT_EQ(run.objective.size(), objective.size());
      for (std::size_t i = 0; i < objective.size(); ++i)
        EXPECT_NEAR(run.objective[i], objective[i], 1e-9 * objective[0]);
    }
  }
}

// A step of rows for a fixed basis, as that of U above: with S' = 1 and V = B.
TEST(AuxNmf, RowsForAFixedBasisAreTheDenseOnes) {
  for (const int k : {3, 7, 13, 20}) {
    for (const AuxWeights& weights : kWeights) {
      SCOPED_TRACE(absl::StrCat("k ", k, ", alpha ", weights.ratings, ", beta ",
                                weights.people));
      SparseRatings ratings = GeneratedInput(23, 17, 0.3, 4).ratings;
      ratings.EndRow();  // a person without a rating
      Draws draws(static_cast<std::uint64_t>(k));
      const Labels people = SomeLabels(24, k, &draws);
      const RowMatrix basis = UniformMatrix(17, k, &draws);
      const RowMatrix start = UniformMatrix(24, k, &draws);
      AuxWeights of_rows = weights;
      of_rows.items = 0;
      const Dense dense(ratings, people, Labels(17, kNoLabel), k, k, of_rows);
      MatrixXd u = start;
      const MatrixXd one = MatrixXd::Identity(k, k), b = basis;
      std::vector<double> objective = {dense.Loss(u, one, b)};
      for (int round = 0; round < 6; ++round) {
        MatrixXd s = one, v = b;
        dense.Round(&u, &s, &v);
        objective.push_back(dense.Loss(u, one, b));
      }
      const RowsRun run = FitRows(ratings, basis, weights.ratings,
                                  weights.people, people, 6, start);
      EXPECT_LT((run.x - u).cwiseAbs().maxCoeff(), 1e-9);
      ASSERT_EQ(run.objective.size(), objective.size());
      for (std::size_t i = 0; i < objective.size(); ++i)
        EXPECT_NEAR(run.objective[i], objective[i], 1e-9 * objective[0]);
    }
  }
}

TEST(AuxNmf, TheObjectiveNeverRises) {
  for (const std::uint64_t seed : {4, 5}) {
    const SparseRatings ratings = GeneratedInput(40, 30, 0.2, seed).ratings;
    for (const AuxWeights& weights : kWeights) {
      Draws draws(seed);
      const Labels people = SomeLabels(40, 4, &draws);
      const Labels items = SomeLabels(30, 6, &draws);
      const AuxRun run = FitAuxNmf(ratings, Transposed(ratings), people, items,
                                   weights, 300, Start(40, 30, 4, 6, &draws));
      ASSERT_GT(run.objective.size(), 10u);
      for (std::size_t i = 1; i < run.objective.size(); ++i)
        EXPECT_LE(run.objective[i], run.objective[i - 1]);
      EXPECT_TRUE(run.factors.u.allFinite() && run.factors.v.allFinite() &&
                  run.factors.s.allFinite());
      // The reported objective is that of the factors.
      const Dense dense(ratings, people, items, 4, 6, weights);
      EXPECT_NEAR(dense.Loss(run.factors.u, run.factors.s, run.factors.v),
                  run.objective.back(), 1e-9 * run.objective.front());
    }
  }
}

// The updates hold for ratings from 0 alone; below 0 a round may raise L.
TEST(AuxNmf, ARoundThatRaisesTheObjectiveIsUndoneAndEndsIt) {
  SparseRatings ratings = GeneratedInput(20, 20, 0.4, 6).ratings;
  for (double& value : ratings.values) value -= 2.3;
  Draws draws(6);
  const AuxRun run = FitAuxNmf(ratings, Transposed(ratings), {}, {}, {1, 0, 0},
                               100, Start(20, 20, 3, 3, &draws));
  EXPECT_TRUE(run.undone);
  EXPECT_LT(run.objective.size(), 101u);
  const Dense dense(ratings, {}, {}, 3, 3, {1, 0, 0});
  EXPECT_NEAR(dense.Loss(run.factors.u, run.factors.s, run.factors.v),
              run.objective.back(), 1e-9 * run.objective.front());
}

TEST(AuxNmf, ARatingOfZeroIsARating) {
  SparseRatings rated;  // one person, who rates the second item 0
  rated.columns = 2;
  rated.indices = {0, 1, 0};
  rated.values = {4, 0, 4};
  rated.indptr = {0, 2, 3};
  SparseRatings missing = rated;
  missing.indices = {0, 0};
  missing.values = {4, 4};
  missing.indptr = {0, 1, 2};
  const auto second = [](const SparseRatings& ratings) {
    Draws draws(7);
    const AuxFactors f = FitAuxNmf(ratings, Transposed(ratings), {}, {},
                                   {1, 0, 0}, 200, Start(2, 2, 2, 2, &draws))
                             .factors;
    return (f.u * f.s * f.v.transpose())(0, 1);
  };
  EXPECT_LT(second(rated), 0.01);
  EXPECT_GT(second(missing), 0.1);
}

TEST(AuxNmf, RowsWithoutRatingsGetTheMeanOfTheirClusterOrOfAll) {
  SparseRatings ratings;
  ratings.columns = 1;
  ratings.indices = {0, 0, 0};
  ratings.values = {1, 2, 3};
  ratings.indptr = {0, 1, 2, 3, 3, 3, 3};
  RowMatrix x(6, 1);
  x << 1, 2, 6, 0, 0, 0;
  const ColdRows cold =
      FillColdRows(ratings, {0, 0, 1, 0, 2, kNoLabel}, 0, 0, &x);
  EXPECT_EQ(cold.by_cluster, 1);
  EXPECT_EQ(cold.by_prior, 2);
  RowMatrix expected(6, 1);
  expected << 1, 2, 6, 1.5, 3, 3;
  EXPECT_EQ(x, expected);
}

TEST(AuxNmf, WeightsThatDoNotAddUpToOneAreRefused) {
  for (const AuxWeights& good : kWeights)
    EXPECT_TRUE(CheckAuxWeights(good).ok());
  EXPECT_TRUE(CheckAuxWeights({.1, .7, .2}).ok());
  for (const AuxWeights& bad :
       {AuxWeights{.2, 0, .7}, AuxWeights{-.2, .4, .8}, AuxWeights{1, 1, -1},
        AuxWeights{std::nan(""), 0, 1}})
    EXPECT_EQ(ReasonCode(CheckAuxWeights(bad)), "complete-weights");
}

}  // namespace
}  // namespace dpnmf::curator::lab
