#include "common/moments/class_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "common/privacy/class_bounds.h"

namespace dpnmf {
namespace {

// Means stay so far from the ends of the range, as a share of its width: a
// class whose noised mean lies outside still varies.
constexpr double kLeastMargin = 0.005;
constexpr double kLeastKappa = 0.02;
constexpr double kLeastBetween = 1e-6;

// A class as it was released, both triangles as one, less the centre.
struct RawClass {
  double size = 0;
  Eigen::VectorXd noised_mean;
  double mean_noise = 0;             // variance of an entry of noised_mean
  Eigen::VectorXd mean;              // within the range
  Eigen::VectorXd largest_variance;  // b
  Eigen::MatrixXd second;            // noised: E v v'
  Eigen::MatrixXd covariance;        // noised
};

// The range less the centre, without its margins.
struct MeanRange {
  explicit MeanRange(const NoisedClasses& noised)
      : low(noised.low - noised.centre),
        high(noised.high - noised.centre),
        margin(kLeastMargin * (high - low)) {}
  Eigen::VectorXd Cut(const Eigen::VectorXd& mean) const {
    return mean.cwiseMax(low + margin).cwiseMin(high - margin);
  }
  Eigen::VectorXd LargestVariance(const Eigen::VectorXd& mean) const {
    return ((mean.array() - low) * (high - mean.array())).matrix();
  }
  double low, high, margin;
};

// `size_hint`: the public size, or 0.
RawClass RawClassOf(const NoisedClasses& noised, Eigen::Index index,
                    double public_size) {
  const Eigen::Index side = noised.sums.rows();
  const Eigen::Index features = side - 1;
  Eigen::MatrixXd block = noised.sums.middleCols(index * side, side);
  block = (block + block.transpose()).eval() / 2;
  RawClass raw;
  const double a = noised.constant;
  // A covariance needs more people than features.
  raw.size = std::max(public_size > 0 ? public_size : block(0, 0) / (a * a),
                      static_cast<double>(features) + 2);
  const MeanRange range(noised);
  raw.noised_mean = block.col(0).tail(features) / (a * raw.size);
  // Variance of the mean of two noised numbers.
  raw.mean_noise =
      noised.stddev * noised.stddev / (2 * a * a * raw.size * raw.size);
  raw.mean = range.Cut(raw.noised_mean);
  raw.largest_variance = range.LargestVariance(raw.mean);
  raw.second = block.bottomRightCorner(features, features) / raw.size;
  raw.covariance = raw.second - raw.mean * raw.mean.transpose();
  // The square of the mean has the mean's variance too much.
  raw.covariance.diagonal().array() += raw.mean_noise;
  return raw;
}

// Posterior means of numbers y with normal noise of variance `noise` under a
// normal prior whose centre and variance are those of y.
Eigen::VectorXd DrawnToCentre(const Eigen::VectorXd& y, double noise) {
  const double centre = y.mean();
  const Eigen::ArrayXd rest = y.array() - centre;
  const double prior = std::max(
      rest.square().sum() / static_cast<double>(y.size()) - noise, 0.0);
  const double share = prior + noise > 0 ? prior / (prior + noise) : 1;
  return (centre + share * rest).matrix();
}

// The means of FitClasses in the place of those of single classes, with their
// largest variances.
void ShrinkMeans(const NoisedClasses& noised, std::vector<RawClass>* classes) {
  double people = 0;
  for (const RawClass& one : *classes) people += one.size;
  Eigen::VectorXd overall = Eigen::VectorXd::Zero(classes->front().mean.size());
  double noise = 0;  // of an entry of `overall`
  for (const RawClass& one : *classes) {
    const double share = one.size / people;
    overall += share * one.noised_mean;
    noise += share * share * one.mean_noise;
  }
  const MeanRange range(noised);
  const Eigen::VectorXd g = range.Cut(DrawnToCentre(range.Cut(overall), noise));
  const Eigen::VectorXd b = range.LargestVariance(g);

  // Noise of a class's mean less the overall mean, which shares the noise.
  const auto noise_beyond = [&](const RawClass& one) {
    return one.mean_noise * (1 - 2 * one.size / people) + noise;
  };
  double product = 0;
  for (const RawClass& one : *classes) {
    const Eigen::ArrayXd beyond = (one.noised_mean - overall).array();
    product += ((beyond.square() - noise_beyond(one)) * b.array()).sum();
  }
  const double k = std::max(
      product / (b.squaredNorm() * static_cast<double>(classes->size())),
      kLeastBetween);
  for (RawClass& one : *classes) {
    const Eigen::ArrayXd prior = k * b.array();
    const Eigen::ArrayXd share =
        prior / (prior + std::max(noise_beyond(one), 0.0));
    one.mean =
        range.Cut(g + (share * (one.noised_mean - overall).array()).matrix());
    one.largest_variance = range.LargestVariance(one.mean);
  }
}

// The least-squares share of b that the variances have, over all classes.
double KappaOf(const std::vector<RawClass>& classes) {
  double product = 0, square = 0;
  for (const RawClass& one : classes) {
    const Eigen::VectorXd target = one.size * one.largest_variance;
    product += one.size * one.covariance.diagonal().dot(target);
    square += target.squaredNorm();
  }
  return std::clamp(product / square, kLeastKappa, 1.0);
}

Eigen::MatrixXd TargetOf(const RawClass& raw, double kappa) {
  return (kappa * raw.largest_variance).asDiagonal().toDenseMatrix();
}

// |C - target|^2 that the noise makes in the mean, and what is beyond it: below
// 0 by chance.
struct TargetDistance {
  double noise = 0, beyond = 0;
};

TargetDistance DistanceOf(const RawClass& raw, const Eigen::MatrixXd& target,
                          double stddev) {
  // Entries off the diagonal are means of two: half the variance.
  const auto d = static_cast<double>(raw.mean.size());
  const double of_entry = stddev / raw.size;
  const double noise = of_entry * of_entry * (d + d * (d - 1) / 2);
  return {noise, (raw.covariance - target).squaredNorm() - noise};
}

// A second reading of each mean. S = C + m m' has been released as well, with
// noise of its own: where m_0, the mean of ShrinkMeans, is near m and T near C,
//   (S - T) m_0 / |m_0|^2  ~  m + noise / |m_0|,
// which is worth |m_0|^2 / a^2 times what the sum of the class is worth. C - T
// counts as noise with independent entries. The two are averaged by their
// variances. m_0 comes from sizes and sums, so the noise of S is independent of
// it; a second step of the same kind would not have that.
void ReadSecondMoments(double kappa, double stddev,
                       std::vector<RawClass>* classes) {
  double beyond = 0, squares = 0;  // of all classes
  for (const RawClass& one : *classes) {
    beyond += one.size * one.size *
              DistanceOf(one, TargetOf(one, kappa), stddev).beyond;
    squares += one.size * one.size;
  }
  const double distance = std::max(beyond / squares, 0.0);
  for (RawClass& one : *classes) {
    const auto features = static_cast<double>(one.mean.size());
    const double length = one.mean.squaredNorm();
    const double noise = stddev * stddev / (2 * one.size * one.size);
    const double variance = (noise + distance / (features * features)) / length;
    const double whole = one.mean_noise + variance;
    if (!(length > 0 && whole > 0)) continue;
    const double share = one.mean_noise / whole;
    const Eigen::VectorXd read =
        (one.second * one.mean -
         kappa * one.largest_variance.cwiseProduct(one.mean)) /
        length;
    one.noised_mean += share * (read - one.noised_mean);
    one.mean_noise *= 1 - share;
  }
}

Eigen::MatrixXd RootOf(const RawClass& raw, double kappa, double stddev) {
  const Eigen::Index features = raw.mean.size();
  const Eigen::MatrixXd target = TargetOf(raw, kappa);
  const auto [noise, beyond] = DistanceOf(raw, target, stddev);
  const double signal = std::max(beyond, 0.0);
  const double share = signal + noise > 0 ? signal / (signal + noise) : 0;
  const SymmetricEigen eigen =
      EigenOfSymmetric(share * raw.covariance + (1 - share) * target);
  Eigen::MatrixXd root =
      eigen.vectors * eigen.values.cwiseMax(0).cwiseSqrt().asDiagonal();
  for (Eigen::Index i = 0; i < features; ++i) {
    const double variance = root.row(i).squaredNorm();
    if (variance > raw.largest_variance(i))
      root.row(i) *= std::sqrt(raw.largest_variance(i) / variance);
  }
  return root;
}

// count shared by size; adds up to it.
std::vector<std::uint64_t> SharesOf(const std::vector<ClassGaussian>& classes,
                                    std::uint64_t count) {
  double whole = 0;
  for (const ClassGaussian& one : classes) whole += one.size;
  std::vector<std::uint64_t> shares;
  std::vector<double> remainders;
  std::uint64_t given = 0;
  for (const ClassGaussian& one : classes) {
    const double share = static_cast<double>(count) * (one.size / whole);
    shares.push_back(
        std::min(static_cast<std::uint64_t>(share), count - given));
    remainders.push_back(share - std::floor(share));
    given += shares.back();
  }
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto left, auto right) {
    return remainders[left] > remainders[right];
  });
  for (std::size_t i = 0; given < count; i = (i + 1) % order.size(), ++given)
    ++shares[order[i]];
  return shares;
}

}  // namespace

absl::StatusOr<NoisedClasses> NoisedClassesOf(
    const DatasetFacts& facts, int data_bits, std::uint64_t stddev_steps,
    const std::vector<std::int64_t>& sums) {
  const auto side = static_cast<Eigen::Index>(facts.features) + 1;
  const auto count = static_cast<Eigen::Index>(sums.size());
  Eigen::MatrixXd real(count % side == 0 ? side : count,
                       count % side == 0 ? count / side : 1);
  std::transform(sums.begin(), sums.end(), real.data(), [&](std::int64_t sum) {
    return std::ldexp(static_cast<double>(sum), -2 * data_bits);
  });
  return NoisedClassesOf(
      facts, data_bits,
      std::ldexp(static_cast<double>(stddev_steps), -2 * data_bits),
      std::move(real));
}

absl::StatusOr<NoisedClasses> NoisedClassesOf(const DatasetFacts& facts,
                                              int data_bits, double stddev,
                                              Eigen::MatrixXd sums) {
  const auto side = static_cast<Eigen::Index>(facts.features) + 1;
  if (!facts.classes.has_value() || sums.rows() != side ||
      static_cast<std::uint64_t>(sums.size()) != ClassEntriesOf(facts)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                   "The release of class moments does not have the shape that "
                   "follows from the data set's declared facts.");
  }
  const ClassBounds bounds = ClassBoundsOf(facts, data_bits);
  NoisedClasses noised;
  noised.sums = std::move(sums);
  noised.stddev = stddev;
  noised.constant =
      std::ldexp(static_cast<double>(bounds.constant), -data_bits);
  noised.centre = bounds.centre;
  noised.low = facts.range.has_value() ? facts.range->low : 0;
  noised.high =
      facts.range.has_value() ? facts.range->high : facts.column_bound;
  noised.sizes = facts.classes->sizes;
  return noised;
}

std::vector<ClassGaussian> FitClasses(const NoisedClasses& noised) {
  std::vector<RawClass> raw;
  const Eigen::Index count = noised.sums.cols() / noised.sums.rows();
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(i);
    raw.push_back(RawClassOf(
        noised, i,
        noised.sizes.empty() ? 0 : static_cast<double>(noised.sizes[place])));
  }
  // Covariances are about the means that they were released with.
  ShrinkMeans(noised, &raw);
  ReadSecondMoments(KappaOf(raw), noised.stddev, &raw);
  ShrinkMeans(noised, &raw);
  const double kappa = KappaOf(raw);
  std::vector<ClassGaussian> classes;
  for (const RawClass& one : raw) {
    classes.push_back({.size = one.size,
                       .mean = (one.mean.array() + noised.centre).matrix(),
                       .root = RootOf(one, kappa, noised.stddev)});
  }
  return classes;
}

DrawnPeople DrawPeople(const std::vector<ClassGaussian>& classes,
                       const DatasetFacts& facts, std::uint64_t count,
                       const std::function<double()>& normal) {
  const std::vector<std::uint64_t> shares = SharesOf(classes, count);
  const auto features = static_cast<Eigen::Index>(facts.features);
  DrawnPeople people;
  people.values.resize(static_cast<Eigen::Index>(count), features);
  Eigen::Index at = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (std::uint64_t n = 0; n < shares[c]; ++n, ++at) {
      Eigen::VectorXd draws(features);
      for (double& draw : draws) draw = normal();
      Eigen::VectorXd person = classes[c].mean + classes[c].root * draws;
      if (facts.range.has_value()) {
        person = person.cwiseMax(facts.range->low).cwiseMin(facts.range->high);
        if (facts.range->integers) person = person.array().round().matrix();
      } else {
        person = person.cwiseMax(0);
        const double length = person.norm();
        if (length > facts.column_bound) person *= facts.column_bound / length;
      }
      people.values.row(at) = person.transpose();
      people.labels.push_back(static_cast<std::int32_t>(c));
    }
  }
  return people;
}

}  // namespace dpnmf
