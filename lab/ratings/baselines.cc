#include "lab/ratings/baselines.h"

#include <array>
#include <limits>
#include <memory>

#include "Eigen/Cholesky"
#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/ratings/solve.h"
#include "common/threads/parallel.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using RowMatrixXd =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kItemRidge = 3;
constexpr double kPersonRidge = 2;

double MeanRating(const RatingTable& train) {
  double sum = 0;
  for (const std::int32_t units : train.units) sum += units;
  return sum * kRatingUnit / static_cast<double>(train.size());
}

// x_u of a person: the ridge solution over the own ratings.
double PersonBias(const VectorXd& base, RatedItems own) {
  double sum = 0;
  for (std::size_t k = 0; k < own.items.size(); ++k)
    sum += RatingOf(own.units[k]) - base[own.items[k]];
  return sum / (static_cast<double>(own.items.size()) + kPersonRidge);
}

// An item model base + F h, h = (x, factors): F's first column is 1, and
// penalty_k n + ridge is what stands on the diagonal of a person's system.
struct BiasedFactors {
  VectorXd base;  // D
  RowMatrixXd f;  // D x (1 + K)
  double regularisation = 0;
};

VectorXd PersonOf(const BiasedFactors& model, RatedItems own) {
  const auto count = static_cast<Index>(own.items.size());
  RowMatrixXd a(count, model.f.cols());
  VectorXd y(count);
  for (Index k = 0; k < count; ++k) {
    const auto at = static_cast<std::size_t>(k);
    a.row(k) = model.f.row(own.items[at]);
    y[k] = RatingOf(own.units[at]) - model.base[own.items[at]];
  }
  MatrixXd system = a.transpose() * a;
  system.diagonal().array() +=
      model.regularisation * static_cast<double>(count) + 1e-9;
  system(0, 0) +=
      kPersonRidge - model.regularisation * static_cast<double>(count);
  return SolvePositive(system, a.transpose() * y);
}

// One half of a round: every item's bias and factors given the people.
void SolveItems(const RatingTable& train, const ByItem& by_item, double mean,
                const RowMatrixXd& people, int threads, BiasedFactors* model) {
  ParallelFor(train.item_count, threads, [&](std::size_t i, int) {
    const auto item = static_cast<Index>(i);
    const auto begin = static_cast<std::size_t>(by_item.indptr[i]);
    const auto count =
        static_cast<Index>(by_item.indptr[i + 1]) - static_cast<Index>(begin);
    // Unknowns: b_i in the place of x, then the factors.
    RowMatrixXd a(count, people.cols());
    VectorXd y(count);
    for (Index k = 0; k < count; ++k) {
      const std::size_t place = begin + static_cast<std::size_t>(k);
      const Index person = by_item.people[place];
      a.row(k) = people.row(person);
      a(k, 0) = 1;
      y[k] =
          RatingOf(train.units[static_cast<std::size_t>(by_item.at[place])]) -
          mean - people(person, 0);
    }
    MatrixXd system = a.transpose() * a;
    system.diagonal().array() +=
        model->regularisation * static_cast<double>(count) + 1e-9;
    system(0, 0) +=
        kItemRidge - model->regularisation * static_cast<double>(count);
    const VectorXd solved = SolvePositive(system, a.transpose() * y);
    model->base[item] = mean + solved[0];
    model->f.row(item).tail(people.cols() - 1) =
        solved.tail(people.cols() - 1).transpose();
  });
}

// The l that predicts a tenth of the ratings best from the others.
absl::StatusOr<double> TunedRegularisation(const RatingTable& train,
                                           AlsOptions options,
                                           const Execution& execution) {
  constexpr std::array<double, 3> kChoices = {0.09, 0.06, 0.13};
  const absl::StatusOr<Split> inner =
      HoldOut(train, HoldOutBy::kRating, 0.1, SeedFor(options.seed, "inner"));
  if (!inner.ok()) return kChoices[0];  // too few ratings to choose by
  double best = kChoices[0], least = std::numeric_limits<double>::infinity();
  options.rounds = (options.rounds + 1) / 2;
  for (const double choice : kChoices) {
    options.regularisation = choice;
    DPNMF_ASSIGN_OR_RETURN(const Recommender als,
                           Als(inner->train, options, execution));
    DPNMF_ASSIGN_OR_RETURN(const Metrics metrics,
                           Measure(
                               *inner,
                               [&](std::size_t person, RatedItems own) {
                                 return Opinion{als(person, own).ratings, {}};
                               },
                               execution));
    if (metrics.rmse < least) {
      least = metrics.rmse;
      best = choice;
    }
  }
  return best;
}

}  // namespace

Recommender MeanOfAll(const RatingTable& train) {
  const Opinion opinion = {
      VectorXd::Constant(static_cast<Index>(train.item_count),
                         MeanRating(train)),
      {}};
  return [opinion](std::size_t, RatedItems) { return opinion; };
}

Recommender Popularity(const RatingTable& train) {
  const std::vector<std::int64_t> counts = CountsOf(train);
  Opinion opinion;
  opinion.scores.resize(static_cast<Index>(counts.size()));
  std::copy(counts.begin(), counts.end(), opinion.scores.begin());
  return [opinion](std::size_t, RatedItems) { return opinion; };
}

Recommender Biases(const RatingTable& train) {
  constexpr int kMostRounds = 500;
  constexpr double kLittle = 1e-9;  // a change of a rating
  const double mean = MeanRating(train);
  const std::vector<std::int64_t> counts = CountsOf(train);
  VectorXd base =
      VectorXd::Constant(static_cast<Index>(train.item_count), mean);
  double change = 1;
  for (int round = 0; round < kMostRounds && change > kLittle; ++round) {
    VectorXd sums = VectorXd::Zero(base.size());
    for (std::size_t person = 0; person < train.people(); ++person) {
      const RatedItems own = train.Of(person);
      const double bias = PersonBias(base, own);
      for (std::size_t k = 0; k < own.items.size(); ++k)
        sums[own.items[k]] += RatingOf(own.units[k]) - mean - bias;
    }
    VectorXd next(base.size());
    for (Index i = 0; i < base.size(); ++i) {
      next[i] =
          mean +
          sums[i] / (static_cast<double>(counts[static_cast<std::size_t>(i)]) +
                     kItemRidge);
    }
    change = (next - base).cwiseAbs().maxCoeff();
    base.swap(next);
  }
  return [base](std::size_t, RatedItems own) {
    Opinion opinion;
    opinion.ratings = base.array() + PersonBias(base, own);
    opinion.scores = base;
    return opinion;
  };
}

absl::StatusOr<Recommender> Als(const RatingTable& train,
                                const AlsOptions& options,
                                const Execution& execution) {
  double regularisation = options.regularisation;
  if (!(regularisation > 0)) {
    DPNMF_ASSIGN_OR_RETURN(regularisation,
                           TunedRegularisation(train, options, execution));
  }
  const double mean = MeanRating(train);
  const ByItem by_item = Transpose(train);
  const auto items = static_cast<Index>(train.item_count);
  auto model = std::make_shared<BiasedFactors>();
  model->regularisation = regularisation;
  model->base = VectorXd::Constant(items, mean);
  model->f = RowMatrixXd::Ones(items, 1 + options.factors);
  SeededNoise noise(SeedFor(options.seed, "als"));
  for (Index i = 0; i < items; ++i) {
    for (Index k = 1; k <= options.factors; ++k)
      model->f(i, k) = 0.1 * noise.Normal();
  }
  RowMatrixXd people(static_cast<Index>(train.people()), 1 + options.factors);
  for (int round = 0; round < options.rounds; ++round) {
    DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
    ParallelFor(train.people(), execution.threads, [&](std::size_t u, int) {
      people.row(static_cast<Index>(u)) =
          PersonOf(*model, train.Of(u)).transpose();
    });
    SolveItems(train, by_item, mean, people, execution.threads, model.get());
  }
  return Recommender([model](std::size_t, RatedItems own) {
    Opinion opinion;
    opinion.ratings = model->base + model->f * PersonOf(*model, own);
    opinion.scores = opinion.ratings;
    return opinion;
  });
}

absl::StatusOr<Recommender> Ease(const RatingTable& train,
                                 double regularisation,
                                 const Execution& execution) {
  if (train.item_count > kMostEaseItems) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "evaluate-too-many-items",
        absl::StrCat("The method `ease` works on a matrix of D x D and takes "
                     "at most ",
                     kMostEaseItems, " items: leave it out of `--methods`."));
  }
  const auto items = static_cast<Index>(train.item_count);
  // Floats hold these counts exactly (below 2^24 people); l is large beside
  // the rounding of the inverse.
  MatrixXf gram = MatrixXf::Zero(items, items);
  for (std::size_t person = 0; person < train.people(); ++person) {
    const std::span<const std::int32_t> own = train.Of(person).items;
    for (const std::int32_t j : own) {
      float* const column = gram.data() + j * items;
      for (const std::int32_t i : own) column[i] += 1;
    }
  }
  gram.diagonal().array() += static_cast<float>(regularisation);
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  auto weights = std::make_shared<MatrixXf>(MatrixXf::Identity(items, items));
  gram.llt().solveInPlace(*weights);  // P
  const Eigen::RowVectorXf diagonal = weights->diagonal().transpose();
  *weights = weights->array().rowwise() / -diagonal.array();
  weights->diagonal().setZero();
  *weights = weights->transpose().eval();  // an own item is a column
  return Recommender([weights](std::size_t, RatedItems own) {
    Eigen::VectorXf scores = Eigen::VectorXf::Zero(weights->cols());
    for (const std::int32_t item : own.items) scores += weights->col(item);
    Opinion opinion;
    opinion.scores = scores.cast<double>();
    return opinion;
  });
}

}  // namespace dpnmf::curator::lab
