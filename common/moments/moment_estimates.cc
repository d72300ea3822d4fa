#include "common/moments/moment_estimates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "common/moments/empirical_bayes.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Eigenpairs, largest first.
struct Spectrum {
  VectorXd values;
  MatrixXd vectors;
};

Spectrum SpectrumOf(const MatrixXd& symmetric, const Stop& stop) {
  const SymmetricEigen solver = EigenOfSymmetric(symmetric, stop);
  return {solver.values.reverse(), solver.vectors.rowwise().reverse()};
}

// Y's eigenvalues above the edge, shrunk: y = l + s^2 M / l solved for l, then
// l (1 - s^2 M / l^2), the weight times the squared cosine.
VectorXd ShrunkSpikes(const VectorXd& values, double edge) {
  std::vector<double> spikes;
  for (const double y : values) {
    if (!(y > edge)) break;
    const double l = (y + std::sqrt(y * y - edge * edge)) / 2;
    spikes.push_back(l - edge * edge / (4 * l));
  }
  return Eigen::Map<VectorXd>(spikes.data(), spikes.size());
}

// A pair of features i < j: how far apart their loadings are, the rest of Y
// that the base leaves, and the unit sqrt(p_i p_j) in which it is measured.
struct FeaturePair {
  double distance, rest, unit;
  int i, j;
};

// By |F_i - F_j|^2, falling likeness of features i < j.
std::vector<FeaturePair> PairsOf(const MatrixXd& loadings, const MatrixXd& rest,
                                 const VectorXd& unit, const Stop& stop) {
  const MatrixXd rows = loadings.transpose();
  const int count = static_cast<int>(rest.rows());
  std::vector<FeaturePair> pairs;
  pairs.reserve(static_cast<std::size_t>(count) * (count - 1) / 2);
  for (int j = 0; j < count && !Stopped(stop); ++j) {
    for (int i = 0; i < j; ++i) {
      pairs.push_back({(rows.col(i) - rows.col(j)).squaredNorm(), rest(i, j),
                       unit(i) * unit(j), i, j});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.distance, a.j, a.i) < std::tie(b.distance, b.j, b.i);
  });
  return pairs;
}

// A level of the falling function: weighted mean `rest / unit` at a distance.
struct Level {
  double distance, weight, value;
};

// Least squares of rest = unit * value over pairs, by bins of equal count;
// pairs of one distance are in one bin.
std::vector<Level> BinnedLevels(const std::vector<FeaturePair>& pairs) {
  constexpr std::size_t kPairsPerBin = 20, kMostBins = 400;
  const std::size_t bins =
      std::clamp(pairs.size() / kPairsPerBin, std::size_t{1}, kMostBins);
  std::vector<Level> levels;
  std::size_t end = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = end;
    end = std::max(first, (bin + 1) * pairs.size() / bins);
    if (end == first) continue;
    while (end < pairs.size() &&
           pairs[end].distance == pairs[end - 1].distance) {
      ++end;
    }
    Level level{0, 0, 0};
    for (std::size_t at = first; at < end; ++at) {
      level.distance += pairs[at].distance;
      level.weight += pairs[at].unit * pairs[at].unit;
      level.value += pairs[at].unit * pairs[at].rest;
    }
    if (!(level.weight > 0)) continue;
    level.distance /= static_cast<double>(end - first);
    level.value /= level.weight;
    levels.push_back(level);
  }
  return levels;
}

// Pool adjacent violators: the nearest falling values in weighted least squares
// (Barlow et al. 1972).
void MakeFalling(std::vector<Level>* levels) {
  struct Pool {
    double weight, value;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const Level& level : *levels) {
    pools.push_back({level.weight, level.value, 1});
    while (pools.size() > 1 &&
           pools[pools.size() - 2].value < pools.back().value) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& into = pools.back();
      const double weight = into.weight + last.weight;
      into.value =
          (into.weight * into.value + last.weight * last.value) / weight;
      into.weight = weight;
      into.count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) {
      (*levels)[at++].value = pool.value;
    }
  }
}

// The rest that a falling function of |F_i - F_j|^2 explains, off the diagonal
// (M x M).
MatrixXd ExplainedByLikeness(const MatrixXd& loadings, const MatrixXd& rest,
                             const VectorXd& unit, const Stop& stop) {
  MatrixXd explained = MatrixXd::Zero(rest.rows(), rest.cols());
  const std::vector<FeaturePair> pairs = PairsOf(loadings, rest, unit, stop);
  if (Stopped(stop)) return explained;
  std::vector<Level> levels = BinnedLevels(pairs);
  if (levels.empty()) return explained;
  MakeFalling(&levels);
  std::size_t right = 0;  // first level at or past the pair's distance
  for (const FeaturePair& pair : pairs) {
    while (right < levels.size() && levels[right].distance < pair.distance) {
      ++right;
    }
    double value;
    if (right == 0) {
      value = levels.front().value;
    } else if (right == levels.size()) {
      value = levels.back().value;
    } else {
      const Level &a = levels[right - 1], &b = levels[right];
      const double share =
          (pair.distance - a.distance) / (b.distance - a.distance);
      value = a.value + share * (b.value - a.value);
    }
    explained(pair.i, pair.j) = explained(pair.j, pair.i) = value * pair.unit;
  }
  return explained;
}

// Each eigenvalue x of `noised` to x - 2 s^2 M h(x), h(x) = 1/M sum_j (x - x_j)
// / ((x - x_j)^2 + (2 s)^2): one noise eigenvalue spacing smooths the sum.
MatrixXd RotationInvariantShrinkage(const MatrixXd& noised, double stddev,
                                    const Stop& stop) {
  if (stddev == 0) return noised;
  const Spectrum spectrum = SpectrumOf(noised, stop);
  const Eigen::Index count = spectrum.values.size();
  VectorXd shrunk(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::ArrayXd gap = spectrum.values(i) - spectrum.values.array();
    const double sum =
        (gap / (gap.square() + 4 * stddev * stddev)).sum();  // M h(x)
    shrunk(i) = spectrum.values(i) - 2 * stddev * stddev * sum;
  }
  return Conjugated(spectrum.vectors, shrunk, stop);
}

// The signal's variance in groups of entries whose l_i l_j are alike, falling;
// the first groups are small, since few entries are large.
struct VarianceGroups {
  std::vector<std::pair<Index, Index>> entries;  // i <= j, falling l_i l_j
  std::vector<std::size_t> ends;                 // of each group in `entries`
  std::vector<double> variances;                 // of each group
};

VarianceGroups GroupsOf(const MatrixXd& rest, const VectorXd& values,
                        double stddev) {
  constexpr std::size_t kFirstGroup = 8;
  constexpr double kGrowth = 1.5;
  VarianceGroups groups;
  const Index count = values.size();
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i <= j; ++i) groups.entries.emplace_back(i, j);
  const VectorXd level = values.cwiseMax(0.0);
  std::sort(groups.entries.begin(), groups.entries.end(),
            [&](const auto& a, const auto& b) {
              const double of_a = level(a.first) * level(a.second);
              const double of_b = level(b.first) * level(b.second);
              return of_a != of_b ? of_a > of_b
                                  : std::tie(a.second, a.first) <
                                        std::tie(b.second, b.first);
            });
  std::vector<Level> levels;
  auto size = static_cast<double>(kFirstGroup);
  for (std::size_t first = 0; first < groups.entries.size();) {
    std::size_t end =
        std::min(groups.entries.size(), first + static_cast<std::size_t>(size));
    if (groups.entries.size() - end < end - first) end = groups.entries.size();
    Level group{0, static_cast<double>(end - first), 0};
    for (std::size_t at = first; at < end; ++at) {
      const auto [i, j] = groups.entries[at];
      group.value += rest(i, j) * rest(i, j) / (i == j ? 2 : 1);
    }
    group.value = group.value / group.weight - stddev * stddev;
    levels.push_back(group);
    groups.ends.push_back(end);
    first = end;
    size *= kGrowth;
  }
  MakeFalling(&levels);
  for (const Level& group : levels)
    groups.variances.push_back(std::max(0.0, group.value));
  return groups;
}

}  // namespace

ResidualEstimate EstimateResidual(const MatrixXd& y, const MatrixXd& base,
                                  double stddev, const Stop& stop) {
  const Spectrum spectrum = SpectrumOf(base, stop);
  const MatrixXd& q = spectrum.vectors;
  const MatrixXd difference = y - base;
  MatrixXd rest = TransposeProduct(q, Product(difference, q, stop), stop);
  const VarianceGroups groups = GroupsOf(rest, spectrum.values, stddev);
  const double noise = stddev * stddev;
  std::size_t at = 0;
  for (std::size_t group = 0; group < groups.ends.size(); ++group) {
    const double variance = groups.variances[group];
    const double factor = noise > 0 ? variance / (variance + noise) : 1;
    for (; at < groups.ends[group]; ++at) {
      const auto [i, j] = groups.entries[at];
      const double mean = (rest(i, j) + rest(j, i)) / 2;
      rest(i, j) = rest(j, i) = factor * mean;
    }
  }
  ResidualEstimate result;
  result.within = ProductTranspose(Product(q, rest, stop), q, stop);
  result.within = ((result.within + result.within.transpose()) / 2).eval();
  result.beside =
      RotationInvariantShrinkage(difference - result.within, stddev, stop);
  result.beside = ((result.beside + result.beside.transpose()) / 2).eval();
  return result;
}

double NoiseEdge(const MatrixXd& y, double stddev) {
  return 2 * stddev * std::sqrt(static_cast<double>(y.rows()));
}

SpectralEstimate EstimateBySpectrum(const MatrixXd& y, double stddev,
                                    const Stop& stop) {
  SpectralEstimate result;
  const Spectrum spectrum = SpectrumOf(y, stop);
  result.spikes = ShrunkSpikes(spectrum.values, NoiseEdge(y, stddev));
  const MatrixXd loadings =  // F: M x directions
      spectrum.vectors.leftCols(result.spikes.size()) *
      result.spikes.cwiseSqrt().asDiagonal();
  const MatrixXd base = ProductTranspose(loadings, loadings, stop);

  // p: what the base leaves of the diagonal, not below 1/1000 of its mean.
  const VectorXd p =
      (y.diagonal() - base.diagonal()).cwiseMax(1e-3 * base.diagonal().mean());
  MatrixXd prior =
      base + ExplainedByLikeness(loadings, y - base, p.cwiseSqrt(), stop);
  prior.diagonal() += p;

  const MatrixXd estimate =
      prior + RotationInvariantShrinkage(y - prior, stddev, stop);
  result.g = (estimate + estimate.transpose()) / 2;
  return result;
}

MatrixXd EstimateByDirection(const MatrixXd& y, const VectorXd& start,
                             double stddev) {
  constexpr int kSteps = 2;
  VectorXd q = start.size() > 0 ? start : VectorXd::Ones(y.rows());
  VectorXd image = VectorXd::Zero(y.rows());
  for (int step = 0; step < kSteps; ++step) {
    // Y q has noise of deviation s in each entry, |q| = 1.
    q.normalize();
    image = PosteriorMeans(Applied(y, q), stddev);
    if (!(image.norm() > 0)) return MatrixXd::Zero(y.rows(), y.cols());
    q = image;
  }
  return image * (image / image.norm()).transpose();  // image = l q
}

SpectralEstimate EstimateInPatterns(const MatrixXd& y, const MatrixXd& patterns,
                                    double stddev, const Stop& stop) {
  const MatrixXd inner =
      TransposeProduct(patterns, Product(y, patterns, stop), stop);
  return EstimateBySpectrum((inner + inner.transpose()) / 2, stddev, stop);
}

MatrixXd OnFeatures(const MatrixXd& patterns, const MatrixXd& g,
                    const Stop& stop) {
  const MatrixXd lifted =
      ProductTranspose(Product(patterns, g, stop), patterns, stop);
  return (lifted + lifted.transpose()) / 2;
}

MatrixXd EstimateByEntries(const MatrixXd& y, double stddev, const Stop& stop) {
  constexpr std::size_t kMostGroups = 10, kPairsPerGroup = 200;
  struct Pair {
    double size;
    Index i, j;
  };
  std::vector<Pair> pairs;
  const VectorXd level = y.diagonal().cwiseMax(0.0);
  if (Stopped(stop)) return y;
  for (Index j = 0; j < y.cols(); ++j) {
    for (Index i = 0; i < j; ++i) pairs.push_back({level(i) * level(j), i, j});
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.size, a.j, a.i) < std::tie(b.size, b.j, b.i);
  });
  MatrixXd estimate = y;
  const std::size_t groups =
      std::clamp(pairs.size() / kPairsPerGroup, std::size_t{1}, kMostGroups);
  for (std::size_t group = 0; group < groups && !Stopped(stop); ++group) {
    const std::size_t first = group * pairs.size() / groups,
                      end = (group + 1) * pairs.size() / groups;
    VectorXd values(static_cast<Index>(end - first));
    for (std::size_t at = first; at < end; ++at)
      values(static_cast<Index>(at - first)) = y(pairs[at].i, pairs[at].j);
    values = PosteriorMeans(values, stddev);
    for (std::size_t at = first; at < end; ++at) {
      const Pair& pair = pairs[at];
      estimate(pair.i, pair.j) = estimate(pair.j, pair.i) =
          values(static_cast<Index>(at - first));
    }
  }
  return estimate;
}

}  // namespace dpnmf
