#include "common/moments/empirical_bayes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dpnmf {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::VectorXd;

// All in units of the deviation of the noise.
constexpr double kBin = 0.125;     // y is rounded to multiples of it
constexpr double kLargest = 10;    // y above it is not shrunk
constexpr double kSmallest = -40;  // y below it counts as this
constexpr int kSteps = 500;        // of EM

// Points with mass of the prior: 0, a fine geometric part, then even steps.
ArrayXd PriorGrid() {
  constexpr double kFirst = 0.05, kRatio = 1.25, kStep = 0.3;
  std::vector<double> points = {0};
  double at = kFirst;
  for (; at * (kRatio - 1) < kStep; at *= kRatio) points.push_back(at);
  for (; at < kLargest + 3; at += kStep) points.push_back(at);
  return Eigen::Map<ArrayXd>(points.data(), static_cast<Index>(points.size()));
}

int BinOf(double y) {
  return static_cast<int>(
      std::lround((std::max(y, kSmallest) - kSmallest) / kBin));
}

constexpr int kBins = static_cast<int>((kLargest - kSmallest) / kBin) + 1;

// The bins that hold a y, and how many each.
struct Histogram {
  std::vector<int> bins;
  ArrayXd counts;
};

Histogram HistogramOf(const VectorXd& y) {
  ArrayXd counts = ArrayXd::Zero(kBins);
  for (const double value : y) {
    if (value <= kLargest) counts(BinOf(value)) += 1;
  }
  Histogram histogram;
  for (int bin = 0; bin < kBins; ++bin) {
    if (counts(bin) > 0) histogram.bins.push_back(bin);
  }
  histogram.counts = counts(histogram.bins);
  return histogram;
}

// N(y - theta), bins x grid, each row up to a factor.
ArrayXXd Likelihood(const Histogram& histogram, const ArrayXd& grid) {
  ArrayXXd likelihood(histogram.counts.size(), grid.size());
  for (Index row = 0; row < likelihood.rows(); ++row) {
    const double y =
        kSmallest + kBin * histogram.bins[static_cast<std::size_t>(row)];
    const ArrayXd exponent = -(grid - y).square() / 2;
    likelihood.row(row) = (exponent - exponent.maxCoeff()).exp().transpose();
  }
  return likelihood;
}

ArrayXd FitPrior(const ArrayXXd& likelihood, const ArrayXd& counts) {
  const Index points = likelihood.cols();
  VectorXd prior = VectorXd::Constant(points, 1 / static_cast<double>(points));
  for (int step = 0; step < kSteps; ++step) {
    const VectorXd evidence = likelihood.matrix() * prior;
    const VectorXd weight = counts / evidence.array();
    prior = prior.array() * (likelihood.matrix().transpose() * weight).array() /
            counts.sum();
  }
  return prior;
}

}  // namespace

VectorXd PosteriorMeans(const VectorXd& y, double stddev) {
  if (!(stddev > 0)) return y.cwiseMax(0.0);
  const VectorXd scaled = y / stddev;
  const Histogram histogram = HistogramOf(scaled);
  if (histogram.bins.empty()) return y.cwiseMax(0.0);
  const ArrayXd grid = PriorGrid();
  const ArrayXXd likelihood = Likelihood(histogram, grid);
  const VectorXd prior = FitPrior(likelihood, histogram.counts);
  const ArrayXd means =
      (likelihood.matrix() * (grid * prior.array()).matrix()).array() /
      (likelihood.matrix() * prior).array();
  ArrayXd mean_of_bin = ArrayXd::Zero(kBins);
  for (Index at = 0; at < means.size(); ++at)
    mean_of_bin(histogram.bins[static_cast<std::size_t>(at)]) = means(at);
  VectorXd result(y.size());
  for (Index i = 0; i < y.size(); ++i) {
    result(i) =
        scaled(i) > kLargest ? y(i) : stddev * mean_of_bin(BinOf(scaled(i)));
  }
  return result;
}

}  // namespace dpnmf
