// Priors where a release has fewer rows than there are features
// (common/moments/prior.h).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/moments/empirical_bayes.h"
#include "common/moments/moments.h"
#include "common/moments/prior.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd MeanOf(const PublicPeople& people) {
  VectorXd mean = VectorXd::Zero(people.rows());
  for (Index n = 0; n < people.outerSize(); ++n)
    for (PublicPeople::InnerIterator entry(people, n); entry; ++entry)
      mean(entry.row()) += static_cast<double>(entry.value());
  return mean / static_cast<double>(std::max<Index>(people.cols(), 1));
}

// guess + what `noised` has beyond it, shrunk in groups of alike guesses.
VectorXd ShrunkTowards(const VectorXd& guess, const VectorXd& noised,
                       double stddev) {
  constexpr std::size_t kGroups = 20;
  std::vector<int> order(static_cast<std::size_t>(guess.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return guess(a) > guess(b); });
  VectorXd shrunk = guess;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::size_t first = group * order.size() / kGroups,
                      end = (group + 1) * order.size() / kGroups;
    double squares = 0;
    for (std::size_t at = first; at < end; ++at)
      squares += std::pow(noised(order[at]) - guess(order[at]), 2);
    // Two deviations of the noise's own sum of squares are not believed.
    const double noise = stddev * stddev;
    const auto size =
        static_cast<double>(std::max<std::size_t>(end - first, 1));
    const double variance =
        std::max(0.0, squares / size - noise * (1 + 2 * std::sqrt(2 / size)));
    if (!(variance > 0)) continue;
    for (std::size_t at = first; at < end; ++at)
      shrunk(order[at]) += variance / (variance + noise) *
                           (noised(order[at]) - guess(order[at]));
  }
  return shrunk;
}

// Usages H >= 0 (K x n) of w by the people, on `rows`.
MatrixXd UsagesOf(const PublicPeople& people, const MatrixXd& w,
                  const std::vector<int>& rows, int threads, const Stop& stop) {
  constexpr int kSweeps = 100;
  std::vector<Index> places(static_cast<std::size_t>(people.rows()), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    places[static_cast<std::size_t>(rows[i])] = static_cast<Index>(i);
  MatrixXd c = MatrixXd::Zero(w.cols(), people.cols());
  for (Index n = 0; n < people.outerSize() && !Stopped(stop); ++n) {
    for (PublicPeople::InnerIterator entry(people, n); entry; ++entry) {
      const Index place = places[static_cast<std::size_t>(entry.row())];
      if (place >= 0)
        c.col(n) +=
            static_cast<double>(entry.value()) * w.row(place).transpose();
    }
  }
  MatrixXd h = MatrixXd::Zero(w.cols(), people.cols());
  SweepNonNegative(TransposeProduct(w, w), c, kSweeps, threads, &h, stop);
  return h;
}

// Sums over the people n with n % 2 == half (2: all): h h' and, for every
// feature, x h (K x D).
struct UsageSums {
  MatrixXd a, b;
  double count = 0;
};

UsageSums SumsOf(const PublicPeople& people, const MatrixXd& h, int half) {
  UsageSums sums{MatrixXd::Zero(h.rows(), h.rows()),
                 MatrixXd::Zero(h.rows(), people.rows())};
  for (Index n = 0; n < people.outerSize(); ++n) {
    if (half < 2 && n % 2 != half) continue;
    ++sums.count;
    sums.a += h.col(n) * h.col(n).transpose();
    for (PublicPeople::InnerIterator entry(people, n); entry; ++entry)
      sums.b.col(entry.row()) += static_cast<double>(entry.value()) * h.col(n);
  }
  return sums;
}

// K x D: least squares with a ridge toward `fill` in every part.
MatrixXd RidgeRows(const UsageSums& sums, double ridge, const VectorXd& fill,
                   int threads, const Stop& stop) {
  constexpr int kSweeps = 15;
  const double weight =
      ridge * sums.a.trace() / static_cast<double>(sums.a.rows());
  MatrixXd a = sums.a;
  a.diagonal().array() += weight;
  const MatrixXd c = sums.b.rowwise() + weight * fill.transpose();
  MatrixXd rows = fill.transpose().replicate(a.rows(), 1).cwiseMax(0.0);
  SweepNonNegative(a, c, kSweeps, threads, &rows, stop);
  return rows;
}

// Squares that these rows leave of the features of the people of `sums`, less a
// constant.
double LeftBy(const MatrixXd& rows, const UsageSums& sums) {
  return Product(sums.a, rows).cwiseProduct(rows).sum() -
         2 * sums.b.cwiseProduct(rows).sum();
}

}  // namespace

std::vector<int> ChooseRowsWith(const PublicPeople& people,
                                const VectorXd& mean, double stddev, int most) {
  if (people.cols() == 0) return ChooseRows(mean, stddev, most);
  const VectorXd known = MeanOf(people);
  const double squares = known.squaredNorm();
  const double signal =
      mean.squaredNorm() - static_cast<double>(mean.size()) * stddev * stddev;
  const double scale = squares > 0 ? known.dot(mean) / squares : 0;
  const double explained = scale * scale * squares;
  if (!(scale > 0 && explained > signal / 2))
    return ChooseRows(mean, stddev, most);
  const VectorXd posterior = ShrunkTowards(scale * known, mean, stddev);
  std::vector<int> order(static_cast<std::size_t>(mean.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return posterior(a) > posterior(b); });
  order.resize(
      std::min(order.size(), static_cast<std::size_t>(std::max(0, most))));
  std::sort(order.begin(), order.end());
  return order;
}

MatrixXd LiftDictionaryWith(const PublicPeople& people, const MatrixXd& w,
                            const std::vector<int>& rows, const VectorXd& mean,
                            double stddev, int threads, const Stop& stop) {
  if (people.cols() == 0) return LiftDictionary(w, rows, mean, stddev);
  constexpr int kSweeps = 200;
  constexpr double kRidges[] = {1e-2, 1e-1, 1, 10};
  // The fill of LiftDictionary, and usages, for some mean.
  const auto usage_for = [&](const VectorXd& of) {
    MatrixXd usage = MatrixXd::Zero(w.cols(), 1);
    SweepNonNegative(TransposeProduct(w, w),
                     w.transpose() * of(rows).cwiseMax(0.0), kSweeps, 1,
                     &usage);
    return VectorXd(usage.col(0));
  };
  const VectorXd usage = usage_for(mean);
  const VectorXd fill =
      usage.sum() > 0 ? VectorXd(PosteriorMeans(mean, stddev) / usage.sum())
                      : VectorXd::Zero(mean.size());
  const MatrixXd h = UsagesOf(people, w, rows, threads, stop);
  const UsageSums even = SumsOf(people, h, 0), odd = SumsOf(people, h, 1);
  double least = 0, ridge = 0;
  for (const double one : kRidges) {
    const double left = LeftBy(RidgeRows(even, one, fill, threads, stop), odd) +
                        LeftBy(RidgeRows(odd, one, fill, threads, stop), even);
    if (ridge == 0 || left < least) {
      least = left;
      ridge = one;
    }
  }
  const MatrixXd fitted =
      RidgeRows(SumsOf(people, h, 2), ridge, fill, threads, stop);
  // How much of both predicts the mean on the other rows.
  MatrixXd shares = MatrixXd::Zero(2, 1);
  shares(0) = 1;
  if (stddev > 0) {
    constexpr double kThinned = 0.5;
    Draws draws(1);
    const VectorXd noise = stddev * draws.Normals(mean.size());
    const VectorXd seen = mean + kThinned * noise;
    VectorXd held_out = mean - noise / kThinned;
    MatrixXd guesses(mean.size(), 2);
    guesses << fitted.transpose() * usage_for(seen),
        PosteriorMeans(seen, stddev * std::sqrt(1 + kThinned * kThinned));
    for (const int row : rows) {
      guesses.row(row).setZero();
      held_out(row) = 0;
    }
    shares.setZero();
    SweepNonNegative(TransposeProduct(guesses, guesses),
                     TransposeProduct(guesses, held_out), 1000, 1, &shares);
    if (!(shares.sum() > 0)) shares(1) = 1;
  }
  MatrixXd lifted =
      (shares(0) * fitted.transpose()).colwise() + shares(1) * fill;
  for (std::size_t i = 0; i < rows.size(); ++i)
    lifted.row(rows[i]) = w.row(static_cast<Index>(i));
  for (auto column : lifted.colwise()) {
    const double length = column.norm();
    if (length > 0) column /= length;
  }
  return lifted;
}

}  // namespace dpnmf
