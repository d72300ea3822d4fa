#include "common/ratings/item_effects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/ratings/solve.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kCells = 60;  // counts of the grid
constexpr int kBins = 49;   // of the density of z on [-6, 6]
constexpr double kBin = 0.25, kFirstBin = -6;
constexpr Index kMostFitted = 16'384;
// Items between two questions whether to stop: some milliseconds.
constexpr Index kItemsBetweenStops = 1024;
constexpr int kStartSteps = 60, kCountSteps = 10, kJointSteps = 12;
constexpr double kCountRidge = 5, kEffectRidge = 20, kMeanRidge = 4;

using Cells = Eigen::Array<double, kCells, 1>;

class Fit {
 public:
  Fit(const ItemEvidence& evidence, const Stop& stop)
      : evidence_(evidence),
        stop_(stop),
        counts_noise_(std::max(evidence.counts_stddev, 1e-9)),
        features_(evidence.features.cols() + 1) {
    const double top = std::max(evidence.counts.maxCoeff(), counts_noise_);
    const double low = std::max(1e-2 * counts_noise_, 1e-3 * top) / 2;
    for (int k = 0; k < kCells; ++k)
      log_grid_(k) =
          std::log(low) + k * std::log(1.3 * top / low) / (kCells - 1);
    grid_ = log_grid_.exp();
    const Index size = evidence.counts.size();
    stride_ = (size + kMostFitted - 1) / kMostFitted;
    eta_ = VectorXd::Zero(features_);
    beta_ = VectorXd::Zero(features_ + 1);
    effect_variance_ = std::pow(0.48 * evidence.unit, 2);
  }

  ItemEffects Run() {
    FitCounts();
    for (int step = 0; step < kCountSteps && !over_; ++step) Step(false);
    for (int step = 0; step < kJointSteps && !over_; ++step) Step(true);
    return Posterior();
  }

 private:
  // Asked once for each item.
  bool Over() {
    if (asked_++ % kItemsBetweenStops == 0 && Stopped(stop_)) over_ = true;
    return over_;
  }

  VectorXd Row(Index item) const {
    VectorXd row(features_);
    row(0) = 1;
    if (features_ > 1)
      row.tail(features_ - 1) = evidence_.features.row(item).transpose();
    return row;
  }

  // log of the likelihood of what was released about the count.
  Cells CountLikelihood(Index item) const {
    Cells log =
        -0.5 * ((evidence_.counts(item) - grid_) / counts_noise_).square();
    if (evidence_.second.size() == 0 ||
        !std::isfinite(evidence_.second_stddev(item))) {
      return log;
    }
    const Cells variance = std::pow(evidence_.second_stddev(item), 2) +
                           (evidence_.second_error * grid_).square() + 1e-12;
    return log - 0.5 * (evidence_.second(item) - grid_).square() / variance -
           0.5 * variance.log();
  }

  // A first density of log c: EM without covariates.
  void FitCounts() {
    std::vector<Cells> likelihoods;
    for (Index i = 0; i < evidence_.counts.size(); i += stride_) {
      const Cells log = CountLikelihood(i);
      likelihoods.push_back((log - log.maxCoeff()).exp());
    }
    Cells prior = Cells::Constant(1.0 / kCells);
    for (int step = 0; step < kStartSteps; ++step) {
      Cells next = Cells::Zero();
      for (const Cells& likelihood : likelihoods) {
        if (Over()) return;
        const Cells q = likelihood * prior;
        next += q / q.sum();
      }
      prior = next / next.sum();
    }
    center_ = (prior * log_grid_).sum();
    eta_(0) = center_;
    density_.fill(1e-4);
    for (int k = 0; k < kCells; ++k)
      density_[std::size_t(BinOf(log_grid_(k) - center_))] += prior(k);
    Smooth();
  }

  static int BinOf(double z) {
    return std::clamp(int(std::lround((z - kFirstBin) / kBin)), 0, kBins - 1);
  }

  void Smooth() {
    std::array<double, kBins> smooth;
    double sum = 0;
    for (int b = 0; b < kBins; ++b) {
      const auto at = [&](int i) {
        return i < 0 || i >= kBins ? 0.0 : density_[std::size_t(i)];
      };
      smooth[std::size_t(b)] =
          0.25 * at(b - 1) + 0.5 * at(b) + 0.25 * at(b + 1);
      sum += smooth[std::size_t(b)];
    }
    double total = 0;
    for (double& value : smooth) total += value = value / sum + 1e-3;
    for (int b = 0; b < kBins; ++b)
      density_[std::size_t(b)] = smooth[std::size_t(b)] / total;
  }

  double DensityAt(double z) const {
    const double place = (z - kFirstBin) / kBin;
    if (!(place > 0 && place < kBins - 1)) return 1e-12;
    const int b = int(place);
    const double part = place - b;
    return (1 - part) * density_[std::size_t(b)] +
           part * density_[std::size_t(b) + 1] + 1e-12;
  }

  // Posterior over the grid; with effects, the mean of b before its sum is
  // seen in *prior_mean.
  Cells CellsOf(Index item, const VectorXd& row, bool effects,
                Cells* prior_mean) const {
    const double mean = row.dot(eta_);
    Cells log = CountLikelihood(item), density;
    for (int k = 0; k < kCells; ++k)
      density(k) = DensityAt(log_grid_(k) - mean);
    log += density.log();
    if (effects) {
      *prior_mean = row.dot(beta_.head(features_)) +
                    beta_(features_) * (log_grid_ - center_);
      log -= 0.5 * (evidence_.sums(item) - *prior_mean * grid_).square() /
                 sum_variance_ +
             log_sum_variance_half_;
    }
    const Cells q = (log - log.maxCoeff()).exp();
    return q / q.sum();
  }

  void SetSumVariance() {
    sum_variance_ = effect_variance_ * grid_.square() +
                    std::pow(evidence_.sums_stddev, 2) +
                    evidence_.sampling * grid_ + 1e-12;
    log_sum_variance_half_ = 0.5 * sum_variance_.log();
  }

  void Step(bool effects) {
    SetSumVariance();
    const Cells gain = effect_variance_ * grid_ / sum_variance_;
    const Cells left = effect_variance_ * (1 - gain * grid_);
    const Cells information = grid_.square() / sum_variance_;
    const Cells centred = log_grid_ - center_;
    const Index p = features_;
    MatrixXd count_gram = MatrixXd::Zero(p, p);
    VectorXd count_right = VectorXd::Zero(p);
    MatrixXd gram = MatrixXd::Zero(p + 1, p + 1);
    VectorXd right = VectorXd::Zero(p + 1);
    std::array<double, kBins> density{};
    double squares = 0, weights = 0;
    Cells prior_mean = Cells::Zero();
    for (Index i = 0; i < evidence_.counts.size(); i += stride_) {
      if (Over()) return;
      const VectorXd row = Row(i);
      const Cells q = CellsOf(i, row, effects, &prior_mean);
      count_gram.selfadjointView<Eigen::Lower>().rankUpdate(row);
      count_right += (q * log_grid_).sum() * row;
      const double mean = row.dot(eta_);
      for (int k = 0; k < kCells; ++k)
        density[std::size_t(BinOf(log_grid_(k) - mean))] += q(k);
      if (!effects) continue;
      const Cells weight = q * information, ratio = evidence_.sums(i) / grid_;
      VectorXd wide(p + 1);
      wide.head(p) = row;
      wide(p) = 0;
      gram.selfadjointView<Eigen::Lower>().rankUpdate(wide, weight.sum());
      const double cross = (weight * centred).sum();
      gram.row(p).head(p) += cross * row.transpose();
      gram(p, p) += (weight * centred.square()).sum();
      right.head(p) += (weight * ratio).sum() * row;
      right(p) += (weight * centred * ratio).sum();
      const Cells away = gain * (evidence_.sums(i) - prior_mean * grid_);
      squares += (q * grid_ * (away.square() + left)).sum();
      weights += (q * grid_).sum();
    }
    density_ = density;
    Smooth();
    count_gram.diagonal().array() += kCountRidge;
    count_gram(0, 0) += 1e-6 - kCountRidge;
    eta_ = SolvePositive(count_gram, count_right);
    if (!effects) return;
    const double unit = std::pow(evidence_.unit, -2);
    gram.diagonal().array() += kEffectRidge * unit;
    gram(0, 0) += (kMeanRidge - kEffectRidge) * unit;
    gram(p, p) += (kMeanRidge - kEffectRidge) * unit;
    beta_ = SolvePositive(gram, right);
    effect_variance_ =
        std::max(squares / weights, 1e-5 * std::pow(evidence_.unit, 2));
  }

  ItemEffects Posterior() {
    SetSumVariance();
    const Cells gain = effect_variance_ * grid_ / sum_variance_;
    const Cells left = effect_variance_ * (1 - gain * grid_);
    const Index size = evidence_.counts.size();
    ItemEffects result{VectorXd(size), VectorXd(size), VectorXd(size),
                       VectorXd(size)};
    Cells prior_mean;
    for (Index i = 0; i < size && !Over(); ++i) {
      const Cells q = CellsOf(i, Row(i), true, &prior_mean);
      const Cells mean =
          prior_mean + gain * (evidence_.sums(i) - prior_mean * grid_);
      result.counts(i) = (q * grid_).sum();
      result.log_counts(i) = (q * log_grid_).sum();
      result.effects(i) = (q * mean).sum();
      result.variances(i) =
          (q * (left + (mean - result.effects(i)).square())).sum();
    }
    return result;
  }

  const ItemEvidence& evidence_;
  const Stop& stop_;
  Index asked_ = 0;
  bool over_ = false;
  const double counts_noise_;
  const Index features_;  // the constant among them
  Index stride_ = 1;
  Cells grid_, log_grid_;
  double center_ = 0;
  std::array<double, kBins> density_{};
  VectorXd eta_, beta_;
  double effect_variance_ = 1;
  Cells sum_variance_, log_sum_variance_half_;
};

}  // namespace

ItemEffects EstimateItems(const ItemEvidence& evidence, const Stop& stop) {
  return Fit(evidence, stop).Run();
}

}  // namespace dpnmf
