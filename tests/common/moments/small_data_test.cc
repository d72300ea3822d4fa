// Checks dictionaries under strong noise: they are never much worse than a
// noised mean for the same price. Fits of many settings, five seeds each, which
// no sanitizer repeats.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/moments/empirical_bayes.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

enum class Law { kDense, kParts, kSparse };

// Smooth parts on a level; sparse parts; or few features of many.
MatrixXd PeopleOf(Law law, Index features) {
  constexpr Index kPeople = 400, kPartsOfLaw = 8;
  Draws draws(3);
  MatrixXd w = MatrixXd::Zero(features, kPartsOfLaw);
  for (Index k = 0; k < kPartsOfLaw; ++k) {
    for (Index i = 0; i < features; ++i) {
      const double apart =
          (static_cast<double>(i) / static_cast<double>(features) -
           (static_cast<double>(k) + 0.5) / kPartsOfLaw) /
          0.1;
      if (law == Law::kDense) {
        w(i, k) = std::exp(-apart * apart / 2) + 0.3;
      } else if (draws.Uniform() < (law == Law::kParts ? 0.3 : 0.05)) {
        w(i, k) = draws.Exponential();
      }
    }
  }
  MatrixXd people = MatrixXd::Zero(features, kPeople);
  for (Index n = 0; n < kPeople; ++n) {
    for (int part = 0; part < 3; ++part)
      people.col(n) += draws.Exponential() * w.col(draws.Index(kPartsOfLaw));
    for (double& entry : people.col(n)) entry += 0.01 * draws.Exponential();
    people.col(n).normalize();
  }
  return people;
}

double ObjectiveWith(const MatrixXd& people, const MatrixXd& w) {
  MatrixXd h = MatrixXd::Zero(w.cols(), people.cols());
  SweepNonNegative(w.transpose() * w, w.transpose() * people, 300, 1, &h);
  return (people - w * h).squaredNorm() /
         (2.0 * static_cast<double>(people.cols()));
}

// W of a release whose noise is that of `users` people at `mu`; on `most` rows
// after a noised mean if there are more features.
MatrixXd DictionaryFrom(const MatrixXd& people, double users, double mu,
                        Index most, std::uint64_t seed) {
  constexpr int kRank = 6;
  Draws draws(seed);
  std::vector<int> rows(static_cast<std::size_t>(people.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  NoisedMoments release;
  VectorXd mean;
  double of_mean = 0, left = mu * mu;
  if (most < people.rows()) {
    const double share = DefaultShareOfMean(users, mu * mu);
    of_mean = std::sqrt(2 / (share * mu * mu)) / users;
    mean = people.rowwise().mean() + of_mean * draws.Normals(people.rows());
    rows = ChooseRows(mean, of_mean, static_cast<int>(most));
    release.mean = MeanOnRows(mean, of_mean, rows);
    left *= 1 - share;
  }
  const MatrixXd on_rows = people(rows, Eigen::all);
  release.stddev_off = 1 / (users * std::sqrt(left));
  release.stddev_diagonal = std::sqrt(2.0) * release.stddev_off;
  release.g =
      on_rows * on_rows.transpose() / static_cast<double>(people.cols()) +
      SymmetricNoise(on_rows.rows(), release.stddev_off,
                     release.stddev_diagonal, &draws);
  release.g = ((release.g + release.g.transpose()) / 2).eval();
  release.largest_trace = 1;
  FitOptions options;
  options.rank = kRank;
  options.seed = seed;
  const MatrixXd w = FitDictionary(*DenoiseMoments(release), options).value();
  return most < people.rows() ? LiftDictionary(w, rows, mean, of_mean) : w;
}

VectorXd NoisedMeanAlone(const MatrixXd& people, double users, double mu,
                         std::uint64_t seed) {
  Draws draws(1000 + seed);
  const double stddev = std::sqrt(2.0) / (users * mu);
  const VectorXd mean = PosteriorMeans(
      people.rowwise().mean() + stddev * draws.Normals(people.rows()), stddev);
  return mean.norm() > 0 ? mean.normalized() : mean;
}

template <typename Make>
double MedianOfFive(const MatrixXd& people, const Make& make) {
  std::array<double, 5> values;
  for (std::size_t seed = 0; seed < values.size(); ++seed)
    values[seed] = ObjectiveWith(people, make(seed + 1));
  std::sort(values.begin(), values.end());
  return values[2];
}

void ExpectNoWorseThanTheMean(Law law, Index features, Index most) {
  constexpr double kLargestLoss = 1.02;
  const MatrixXd people = PeopleOf(law, features);
  // mu of about .03, .27, .9 and 2.7: epsilon .1, 1, 4 and 16 at delta 1e-5.
  for (const double mu : {0.03, 0.27, 0.9, 2.7}) {
    for (const double users : {100.0, 1000.0}) {
      const double fitted =
          MedianOfFive(people, [&](std::uint64_t seed) -> MatrixXd {
            return DictionaryFrom(people, users, mu, most, seed);
          });
      const double mean =
          MedianOfFive(people, [&](std::uint64_t seed) -> MatrixXd {
            return NoisedMeanAlone(people, users, mu, seed);
          });
      EXPECT_LE(fitted, kLargestLoss * mean)
          << features << " features, " << most << " rows, " << users
          << " people, mu " << mu;
    }
  }
}

TEST(SmallData, IsNeverMuchWorseThanANoisedMeanOfSmoothPeople) {
  ExpectNoWorseThanTheMean(Law::kDense, 48, 48);
}
TEST(SmallData, IsNeverMuchWorseThanANoisedMeanOfSparseParts) {
  ExpectNoWorseThanTheMean(Law::kParts, 48, 48);
}
TEST(SmallData, IsNeverMuchWorseThanANoisedMeanOfFewFeaturesOfMany) {
  ExpectNoWorseThanTheMean(Law::kSparse, 48, 48);
}
TEST(SmallData, IsNeverMuchWorseThanANoisedMeanWhereRowsAreChosen) {
  ExpectNoWorseThanTheMean(Law::kSparse, 400, 200);
}

}  // namespace
}  // namespace dpnmf
