#include "common/moments/pattern_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/moments/moment_estimates.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kHalvings = 5;
constexpr Index kFewestPatterns = 4;
constexpr Index kDampedDirections = 16, kComparedDirections = 8;
constexpr double kDampedTo = 0.25;  // of the edge of the noise
constexpr double kDeviations = 1.5;
// Splits for the number of patterns, and those for the comparison, which takes
// decompositions of M x M.
constexpr std::size_t kSplits = 6, kComparedSplits = 2;

// The leading eigenpairs of an estimate, values rising.
SymmetricEigen Leading(const SymmetricEigen& all, Index count) {
  return {all.values.tail(count), all.vectors.rightCols(count)};
}

// Estimates from one split in each number of patterns, and their errors.
struct SplitEstimates {
  std::vector<MatrixXd> in_patterns;  // d x d
  std::vector<double> errors;         // |A (Y2 - E) A|^2 off the diagonal
};

SplitEstimates EstimatesOf(const HeldOutSplit& split, const MatrixXd& patterns,
                           const std::vector<Index>& counts, double level,
                           const Stop& stop) {
  SplitEstimates result;
  for (const Index count : counts) {
    result.in_patterns.push_back(EstimateInPatterns(split.fitted,
                                                    patterns.leftCols(count),
                                                    split.stddev, stop)
                                     .g);
  }
  // A is of few patterns: their estimate has little noise.
  const std::size_t of = counts.size() / 2;
  const SymmetricEigen eigen = EigenOfSymmetric(result.in_patterns[of], stop);
  const SymmetricEigen leading = Leading(
      eigen,
      std::min((eigen.values.array() > level).count(), kDampedDirections));
  const MatrixXd q = Product(patterns.leftCols(counts[of]), leading.vectors);
  const VectorXd taken = 1 - (level / leading.values.array()).sqrt();
  for (std::size_t i = 0; i < counts.size() && !Stopped(stop); ++i) {
    MatrixXd rest = split.held_out - OnFeatures(patterns.leftCols(counts[i]),
                                                result.in_patterns[i], stop);
    rest.diagonal().setZero();
    rest -= ProductTranspose(Product(rest, q) * taken.asDiagonal(), q);
    rest -= q * (taken.asDiagonal() * TransposeProduct(q, rest));
    result.errors.push_back(rest.squaredNorm());
  }
  return result;
}

// tr Q'Y2Q of the leading directions of either estimate, and |QQ' - PP'|.
struct Comparison {
  double gain = 0, apart = 0;
};

Comparison Compared(const HeldOutSplit& split, const MatrixXd& unordered,
                    const MatrixXd& patterns, const MatrixXd& in_patterns,
                    const Stop& stop) {
  const Index most = std::min(patterns.cols(), kComparedDirections);
  const MatrixXd q = Product(
      patterns, Leading(EigenOfSymmetric(in_patterns, stop), most).vectors);
  const MatrixXd p =
      Leading(EigenOfSymmetric(unordered, stop), kComparedDirections).vectors;
  const auto energy = [&](const MatrixXd& of) {
    return of.cwiseProduct(Product(split.held_out, of, stop)).sum();
  };
  const double common = TransposeProduct(q, p).squaredNorm();
  return {energy(q) - energy(p),
          std::sqrt(std::max(
              0.0, static_cast<double>(q.cols() + p.cols()) - 2 * common))};
}

}  // namespace

Index ChoosePatterns(const PatternQuestion& question, int threads,
                     const Stop& stop) {
  const MatrixXd& patterns = question.patterns;
  std::vector<Index> counts;
  for (int halving = 1; halving <= kHalvings; ++halving) {
    const Index count = patterns.cols() >> halving;
    if (count >= kFewestPatterns) counts.push_back(count);
  }
  if (counts.empty()) return 0;
  const double level = kDampedTo * NoiseEdge(patterns, question.stddev);
  std::vector<SplitEstimates> estimates(kSplits);
  ParallelForWithStop(
      kSplits, threads, stop, [&](std::size_t i, const Stop& ask) {
        estimates[i] =
            EstimatesOf(question.split(i), patterns, counts, level, ask);
      });
  if (Stopped(stop)) return 0;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = counts.size(); i-- > 0;) {  // fewer patterns first
    double error = 0;
    for (const SplitEstimates& of : estimates) error += of.errors[i];
    if (!(error < least)) continue;
    least = error;
    best = i;
  }
  std::vector<Comparison> compared(kComparedSplits);
  ParallelForWithStop(
      kComparedSplits, threads, stop, [&](std::size_t i, const Stop& ask) {
        const HeldOutSplit split = question.split(i);
        compared[i] = Compared(split, question.unordered(split, ask),
                               patterns.leftCols(counts[best]),
                               estimates[i].in_patterns[best], ask);
      });
  if (Stopped(stop)) return 0;
  double gain = 0, apart = 0;
  for (const Comparison& of : compared) {
    gain += of.gain;
    apart += of.apart;
  }
  // The mean of Y2 over n splits has the noise of Y, and 1 / (c^2 n) times its
  // variance from the copies; <D, noise> has deviation sqrt(2) s |D|.
  const double copies = 1 / (question.thinning * question.thinning *
                             static_cast<double>(kComparedSplits));
  const double deviation = question.stddev * std::sqrt(2 * (1 + copies));
  return gain > kDeviations * deviation * apart ? counts[best] : 0;
}

}  // namespace dpnmf
