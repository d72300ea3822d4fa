#include "common/moments/feature_order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/moments/moment_estimates.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNoWay = std::numeric_limits<double>::infinity();

// Neighbours of every node, one list after another.
struct Neighbours {
  std::vector<std::size_t> first;    // D + 1
  std::vector<std::uint32_t> nodes;  // two for each edge
};

Neighbours NeighboursOf(const FeatureOrder& order, std::uint64_t features) {
  Neighbours result;
  result.first.assign(features + 1, 0);
  for (const FeatureOrder::Edge& edge : order.edges) {
    ++result.first[edge.from + 1];
    ++result.first[edge.to + 1];
  }
  for (std::size_t i = 0; i < features; ++i)
    result.first[i + 1] += result.first[i];
  result.nodes.resize(2 * order.edges.size());
  std::vector<std::size_t> at(result.first.begin(), result.first.end() - 1);
  for (const FeatureOrder::Edge& edge : order.edges) {
    result.nodes[at[edge.from]++] = edge.to;
    result.nodes[at[edge.to]++] = edge.from;
  }
  return result;
}

// Breadth first from each of `rows`.
MatrixXd DistancesOnGraph(const FeatureOrder& order, std::uint64_t features,
                          const std::vector<int>& rows, const Stop& stop) {
  const Neighbours neighbours = NeighboursOf(order, features);
  const auto count = static_cast<Index>(rows.size());
  MatrixXd distances(count, count);
  std::vector<std::uint32_t> queue;
  for (Index from = 0; from < count && !Stopped(stop); ++from) {
    std::vector<double> steps(features, kNoWay);
    queue.assign(
        1, static_cast<std::uint32_t>(rows[static_cast<std::size_t>(from)]));
    steps[queue[0]] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::uint32_t node = queue[at];
      for (std::size_t i = neighbours.first[node];
           i < neighbours.first[node + 1]; ++i) {
        const std::uint32_t next = neighbours.nodes[i];
        if (steps[next] != kNoWay) continue;
        steps[next] = steps[node] + 1;
        queue.push_back(next);
      }
    }
    for (Index to = 0; to < count; ++to)
      distances(to, from) =
          steps[static_cast<std::size_t>(rows[static_cast<std::size_t>(to)])];
  }
  return distances;
}

double DistanceOf(const FeatureOrder& order, std::uint64_t features,
                  std::uint64_t a, std::uint64_t b) {
  const std::uint64_t apart = a > b ? a - b : b - a;
  switch (order.kind) {
    case FeatureOrder::Kind::kGrid: {
      const auto difference = [](std::uint64_t x, std::uint64_t y) {
        return static_cast<double>(x > y ? x - y : y - x);
      };
      return std::hypot(difference(a / order.width, b / order.width),
                        difference(a % order.width, b % order.width));
    }
    case FeatureOrder::Kind::kCircular:
      return static_cast<double>(std::min(apart, features - apart));
    default:
      return static_cast<double>(apart);
  }
}

constexpr int kHalvings = 5;
constexpr Index kFewestPatterns = 4;
constexpr Index kDampedDirections = 16;
constexpr Index kFewestCompared = 8, kMostCompared = 16;
constexpr double kDampedTo = 0.25;  // of the edge of the noise
constexpr double kDeviations = 1.5;
// Splits for the number of patterns, and those for the comparison, which takes
// decompositions of M x M.
constexpr std::size_t kSplits = 6, kComparedSplits = 2;
constexpr int kMostAtOnce = 2;

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
  // Damping by few patterns: their estimate has little noise.
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

// The leading directions of either estimate: tr Q'Y2Q - tr P'Y2P, and
// QQ' - PP'.
struct Comparison {
  double gain = 0;
  MatrixXd apart;  // M x M
};

Comparison Compared(const HeldOutSplit& split, const MatrixXd& unordered,
                    const MatrixXd& patterns, const MatrixXd& in_patterns,
                    const Stop& stop) {
  const SymmetricEigen eigen = EigenOfSymmetric(unordered, stop);
  const double edge = NoiseEdge(unordered, split.stddev);
  const Index seen = (eigen.values.array() > edge).count();
  const Index compared = std::min(
      eigen.values.size(), std::clamp(seen, kFewestCompared, kMostCompared));
  const MatrixXd p = Leading(eigen, compared).vectors;
  const MatrixXd q =
      Product(patterns, Leading(EigenOfSymmetric(in_patterns, stop),
                                std::min(patterns.cols(), compared))
                            .vectors);
  const auto energy = [&](const MatrixXd& of) {
    return of.cwiseProduct(Product(split.held_out, of, stop)).sum();
  };
  return {energy(q) - energy(p),
          ProductTranspose(q, q, stop) - ProductTranspose(p, p, stop)};
}

// Roughness of each column of `u` on a circle or a graph (PatternsOf).
VectorXd RoughnessOf(const MatrixXd& u, const MatrixXd& distances,
                     const Stop& stop) {
  const Index count = u.rows();
  if (count < 2) return VectorXd::Zero(count);
  MatrixXd others = distances;
  others.diagonal().setConstant(kNoWay);
  const double nearest = others.colwise().minCoeff().mean();
  const MatrixXd near = (-others.array() / nearest).exp();
  const VectorXd sums = near.rowwise().sum();
  return u.cwiseAbs2().transpose() * sums -
         u.cwiseProduct(Product(near, u, stop)).colwise().sum().transpose();
}

// The number of patterns up to `count` that cuts none of one roughness.
Index WithoutACut(const VectorXd& roughness, Index count) {
  constexpr double kSame = 1e-9;
  const double same = kSame * roughness(roughness.size() - 1);
  while (count > 0 && count < roughness.size() &&
         roughness(count) - roughness(count - 1) <= same)
    --count;
  return count;
}

}  // namespace

absl::Status CheckFeatureOrder(const FeatureOrder& order,
                               std::uint64_t features) {
  if (order.kind == FeatureOrder::Kind::kGrid &&
      !(order.width >= 1 && order.width <= features &&
        features % order.width == 0)) {
    return BadInput(
        "image-width-invalid",
        absl::StrCat("`image_width` must divide the number of features, ",
                     features, "; ", order.width, " does not."));
  }
  if (order.kind != FeatureOrder::Kind::kGraph) return absl::OkStatus();
  if (order.edges.empty() || order.edges.size() > kMostFeatureEdges) {
    return BadInput("feature-graph-invalid",
                    absl::StrCat("A graph of features must have from 1 to ",
                                 kMostFeatureEdges, " edges."));
  }
  for (const FeatureOrder::Edge& edge : order.edges) {
    if (edge.from >= features || edge.to >= features) {
      return BadInput("feature-graph-invalid",
                      absl::StrCat("An edge of the graph ends at feature ",
                                   std::max(edge.from, edge.to),
                                   "; features are numbered from 0 to ",
                                   features - 1, "."));
    }
  }
  return absl::OkStatus();
}

Patterns PatternsOf(const OrderOnRows& on, const Stop& stop, int threads) {
  const FeatureOrder& order = on.order;
  const std::vector<int>& rows = on.rows;
  MatrixXd distances;
  if (order.kind == FeatureOrder::Kind::kGraph) {
    distances = DistancesOnGraph(order, on.features, rows, stop);
  } else {
    const auto count = static_cast<Index>(rows.size());
    distances.resize(count, count);
    for (Index j = 0; j < count; ++j) {
      for (Index i = 0; i < count; ++i) {
        distances(i, j) = DistanceOf(
            order, on.features,
            static_cast<std::uint64_t>(rows[static_cast<std::size_t>(i)]),
            static_cast<std::uint64_t>(rows[static_cast<std::size_t>(j)]));
      }
    }
  }
  const double largest = distances.maxCoeff();
  if (largest == kNoWay || Stopped(stop))
    return {MatrixXd(distances.rows(), 0), VectorXd()};
  const double range = std::max(largest / 2, 1.0);
  const MatrixXd kernel = (-distances.array() / range).exp().matrix();
  const SymmetricEigen eigen = EigenOfSymmetric(kernel, stop, threads);
  const MatrixXd columns = eigen.vectors.rowwise().reverse();
  const bool is_flat = order.kind == FeatureOrder::Kind::kGrid ||
                       order.kind == FeatureOrder::Kind::kLinear;
  const VectorXd roughness =
      is_flat
          ? VectorXd(eigen.values.maxCoeff() - eigen.values.reverse().array())
          : RoughnessOf(columns, distances, stop);
  std::vector<Index> from(static_cast<std::size_t>(columns.cols()));
  std::iota(from.begin(), from.end(), 0);
  std::stable_sort(from.begin(), from.end(), [&](Index a, Index b) {
    return roughness(a) < roughness(b);
  });
  return {columns(Eigen::all, from), roughness(from)};
}

Index ChoosePatterns(const PatternQuestion& question, int threads,
                     const Stop& stop) {
  const MatrixXd& patterns = question.patterns->columns;
  if (patterns.cols() == 0) return 0;
  std::vector<Index> counts;
  for (int halving = 1; halving <= kHalvings; ++halving) {
    const Index count =
        WithoutACut(question.patterns->roughness, patterns.cols() >> halving);
    if (count >= kFewestPatterns) counts.push_back(count);
  }
  if (counts.empty() || Stopped(stop)) return 0;
  // Each split holds several M x M.
  threads = std::min(threads, kMostAtOnce);
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
  double gain = 0, deviation = 0;
  for (const Comparison& of : compared) {
    gain += of.gain;
    deviation += question.deviation(of.apart);
  }
  // The mean of Y2 over n splits has the noise of Y, and 1 / (c^2 n) times its
  // variance from the copies.
  const double copies = 1 / (question.thinning * question.thinning *
                             static_cast<double>(kComparedSplits));
  deviation *= std::sqrt(1 + copies);
  return gain > kDeviations * deviation ? counts[best] : 0;
}

}  // namespace dpnmf
