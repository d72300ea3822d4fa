#include "common/ratings/learner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "common/privacy/ratings_bounds.h"
#include "common/ratings/co_ratings.h"
#include "common/ratings/item_effects.h"
#include "common/ratings/item_features.h"
#include "common/ratings/parts.h"
#include "common/ratings/profiles.h"
#include "common/ratings/solve.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Eigen::VectorXi;

enum Share { kItems, kCoRatings, kProfiles, kResiduals, kCorrections };

// Prior deviations of what a person's profile multiplies, in quarters of the
// range; `profiles` corrects them.
constexpr double kBias = 0.45, kFeatures = 0.35, kPopularity = 0.3,
                 kEffect = 0.15, kTaste = 0.3;
// Columns of taste (from C) and of hidden factors (from S).
constexpr Index kMostTaste = 16, kMostFactors = 6;
// Deviation of a rating about the person's mean before anything is known, in
// quarters of the range, and how uncertain its square is.
constexpr double kSpreadUncertainty = 0.25;
// Least share of the variance about a person's mean that is never predicted.
constexpr double kLeastResidual = 0.3;
constexpr double kSampling = 0.8;
// Items of `residuals` for each person and quarter of the range squared, over
// the noise of an entry.
constexpr double kSeenRows = 1.0 / 16, kLeastSeenRows = 32;
// Prior deviation of products of features, in quarters of the range; they join
// after the last release. The items that they are turned by, and the fewest
// that tell of one.
constexpr double kProduct = 0.2;
constexpr Index kMostProducts = 12, kMostProductItems = 2048,
                kLeastItemsOfProduct = 5;
// Noise adds to what loadings seem to predict: of a loading this part is kept.
constexpr double kKeptLoading = 0.9;
// Usual E(n) / E(sqrt(n))^2 of the numbers n of people's ratings.
constexpr double kSpreadOfNumbers = 1.25;
// Co-ratings are damped by this at most, and so little that the first direction
// stays above the edge of the noise by this factor: it tells of counts as well.
constexpr double kMostDamping = 0.75, kAboveNoise = 2;
// Cap on the share of |m|^2 attributed to the direction of the counts.
constexpr double kMostAlong = 0.8;

Index FeatureColumns(std::uint32_t declared) {
  return declared == 0 ? 0 : std::min<Index>(32, Index(declared) + 10);
}

std::vector<MatrixXd> BlocksOf(const RatingsFacts& facts) {
  return FeatureBlocks(facts.item_features,
                       FeatureColumns(facts.dataset.ratings->item_features),
                       facts.stopped);
}

double QuarterOfRange(const DatasetFacts& facts) {
  return (facts.ratings->high_units - double(facts.ratings->low_units)) *
         kRatingUnit / 4;
}

double MiddleOfRange(const DatasetFacts& facts) {
  return (facts.ratings->high_units + double(facts.ratings->low_units)) *
         kRatingUnit / 2;
}

// ------------------------------------------------------------------ memory

// Knowledge between releases. loadings in units of ratings.
struct Learned {
  double own_means = 0;      // sum of (own mean - middle)
  double within = 0;         // variance of a rating about its person's mean
  double people = 0;         // with ratings
  double co_scale = 0;       // CoRatingModel::scale; 0: none
  double own_variances = 0;  // sum of own variance
  double own_stddev = 0;     // of its noise
  double counts_stddev = 0;
  double sums_stddev = 0;
  bool has_items = false;
  MatrixXd sums;      // D x 2: of `items`: counts and sums, noised
  MatrixXd items;     // D x 4: counts, log counts, effects, variances
  MatrixXd loadings;  // D x q
  MatrixXd group;     // q x 1
  MatrixXd y;         // D x k
  auto counts() const { return items.col(0); }
};

constexpr Index kScalars = 9;

void Save(const Learned& learned, RatingsMemory* memory) {
  VectorXd scalars(kScalars);
  scalars << learned.own_means, learned.within, learned.people,
      learned.co_scale, learned.counts_stddev, learned.sums_stddev,
      learned.has_items ? 1 : 0, learned.own_variances, learned.own_stddev;
  (*memory)["scalars"] = scalars;
  (*memory)["sums"] = learned.sums;
  (*memory)["items"] = learned.items;
  (*memory)["loadings"] = learned.loadings;
  (*memory)["group"] = learned.group;
  (*memory)["taste"] = learned.y;
}

absl::Status Damaged() {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "The stored state of the run is not one of a run of "
                 "`ratings` on this data set.");
}

absl::StatusOr<Learned> Load(const RatingsFacts& facts,
                             const RatingsMemory& memory) {
  const auto size = Index(facts.dataset.features);
  const auto find = [&](const char* name, MatrixXd* value) {
    const auto found = memory.find(name);
    if (found == memory.end() || !found->second.allFinite()) return false;
    *value = found->second;
    return true;
  };
  Learned learned;
  MatrixXd scalars;
  if (!find("scalars", &scalars) || !find("sums", &learned.sums) ||
      !find("items", &learned.items) || !find("loadings", &learned.loadings) ||
      !find("group", &learned.group) || !find("taste", &learned.y) ||
      scalars.size() != kScalars || scalars.cols() != 1 ||
      learned.items.rows() != size || learned.items.cols() != 4 ||
      learned.loadings.rows() != size || learned.loadings.cols() < 1 ||
      learned.loadings.cols() > Index(facts.parameters.rank) ||
      learned.group.rows() != learned.loadings.cols() ||
      learned.group.cols() != 1 || learned.group.minCoeff() < 0 ||
      learned.group.maxCoeff() > kMaxRank || learned.y.rows() != size ||
      !(learned.items.col(0).minCoeff() > 0) ||
      !(learned.items.col(3).minCoeff() > 0)) {
    return Damaged();
  }
  learned.own_means = scalars(0);
  learned.within = scalars(1);
  learned.people = scalars(2);
  learned.co_scale = scalars(3);
  learned.counts_stddev = scalars(4);
  learned.sums_stddev = scalars(5);
  learned.has_items = scalars(6) != 0;
  learned.own_variances = scalars(7);
  learned.own_stddev = scalars(8);
  if (learned.has_items &&
      (learned.sums.rows() != size || learned.sums.cols() != 2)) {
    return Damaged();
  }
  if (!(learned.within > 0) || !(learned.people > 0)) return Damaged();
  return learned;
}

// ------------------------------------------------------------------- model

double GlobalMean(const RatingsFacts& facts, const Learned& learned) {
  const double half = 2 * QuarterOfRange(facts.dataset);
  return MiddleOfRange(facts.dataset) +
         std::clamp(learned.own_means / learned.people, -half, half);
}

// Mean of sqrt(n) over people; under one_rating of n, and its root.
double RootOfRatings(const RatingsFacts& facts, const Learned& learned) {
  if (!learned.has_items) return std::sqrt(10.0);
  const double noise =
      learned.counts_stddev * std::sqrt(double(facts.dataset.features));
  const double sum = noise < 0.5 * learned.people ? learned.sums.col(0).sum()
                                                  : learned.counts().sum();
  const double mean = std::max(1.0, sum / learned.people);
  return facts.dataset.adjacency == Adjacency::kOneRating ? std::sqrt(mean)
                                                          : mean;
}

// Counts of the items' ratings with the weight w of the later releases.
VectorXd WeightedCounts(const RatingsFacts& facts, const Learned& learned) {
  if (facts.dataset.adjacency != Adjacency::kOneRating) return learned.counts();
  return learned.counts() / RootOfRatings(facts, learned);
}

double WeightedVariance(const VectorXd& values, const VectorXd& weights) {
  const double mean = weights.dot(values) / weights.sum();
  return weights.dot((values.array() - mean).square().matrix()) / weights.sum();
}

// Standard deviation of a person's ratings that items and profile cannot
// predict.
double ResidualStddev(const RatingsFacts& facts, const Learned& learned) {
  const double n = std::pow(RootOfRatings(facts, learned), 2);
  const double within =
      learned.within * std::min(2.0, n / std::max(n - 1, 1.0));
  const VectorXd weights = learned.counts();
  double known = WeightedVariance(learned.items.col(2), weights) +
                 weights.dot(learned.items.col(3)) / weights.sum();
  for (Index k = 1; k < learned.loadings.cols(); ++k)
    known += WeightedVariance(learned.loadings.col(k), weights);
  return std::sqrt(std::max(kLeastResidual * within, within - known));
}

VectorXd Base(const RatingsFacts& facts, const Learned& learned) {
  return learned.items.col(2).array() + GlobalMean(facts, learned);
}

// Loadings after the bias turned to their principal directions, the most
// important first; a person's prior is the same in any. Keeps those that make
// up all but `left_out` of their variance, at most `most`.
MatrixXd Turned(const MatrixXd& loadings, const VectorXd& counts,
                double left_out, Index most, const Stop& stop = {}) {
  const Index rest = loadings.cols() - 1;
  if (rest < 1) return loadings;
  const MatrixXd x = loadings.rightCols(rest);
  const VectorXd p = counts / counts.sum();
  const VectorXd mean = x.transpose() * p;
  const MatrixXd moment = TransposeProduct(x, p.asDiagonal() * x, stop) -
                          ProductTranspose(mean, mean);
  const SymmetricEigen eigen = EigenOfSymmetric(moment, stop);
  const double total = std::max(eigen.values.cwiseMax(0.0).sum(), 1e-300);
  Index kept = rest;
  double dropped = 0;
  while (kept > 0 &&
         (kept > most || dropped + std::max(0.0, eigen.values(rest - kept)) <=
                             left_out * total)) {
    dropped += std::max(0.0, eigen.values(rest - kept));
    --kept;
  }
  MatrixXd turned(loadings.rows(), 1 + kept);
  turned.col(0) = loadings.col(0);
  turned.rightCols(kept) =
      Product(x, eigen.vectors.rightCols(kept).rowwise().reverse(), stop);
  return turned;
}

// The most counted items, ascending.
std::vector<Index> MostCounted(const VectorXd& counts, Index most) {
  std::vector<Index> rows(std::size_t(counts.size()));
  std::iota(rows.begin(), rows.end(), Index{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](Index a, Index b) { return counts(a) > counts(b); });
  rows.resize(std::size_t(std::min(most, counts.size())));
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Products of two columns of features, of which one is in the first block of
// features, turned to at most kMostProducts leading directions over the most
// counted items. D x k.
MatrixXd FeatureProducts(const RatingsFacts& facts, const VectorXd& counts) {
  const std::vector<MatrixXd> blocks = BlocksOf(facts);
  const MatrixXd all = SideBySide(blocks, counts.size());
  std::vector<std::pair<Index, Index>> pairs;
  for (Index a = 0; !blocks.empty() && a < blocks[0].cols(); ++a) {
    for (Index b = a + 1; b < all.cols(); ++b) {
      const auto met = all.col(a).array() * all.col(b).array() != 0;
      if (met.count() >= kLeastItemsOfProduct) pairs.emplace_back(a, b);
    }
  }
  const auto width = Index(pairs.size());
  if (width == 0) return MatrixXd(counts.size(), 0);
  const auto products = [&](const std::vector<Index>& items) {
    MatrixXd result(Index(items.size()), width);
    for (Index k = 0; k < width; ++k) {
      const auto& [a, b] = pairs[std::size_t(k)];
      result.col(k) = all.col(a)(items).cwiseProduct(all.col(b)(items));
    }
    return result;
  };
  const std::vector<Index> fitted = MostCounted(counts, kMostProductItems);
  MatrixXd sample = products(fitted);
  const VectorXd p = counts(fitted) / counts(fitted).sum();
  const Eigen::RowVectorXd mean = p.transpose() * sample;
  sample.rowwise() -= mean;
  sample = p.cwiseSqrt().asDiagonal() * sample;
  const SymmetricEigen eigen = EigenOfSymmetric(
      TransposeProduct(sample, sample, facts.stopped), facts.stopped);
  const MatrixXd turn = eigen.vectors.rightCols(std::min(kMostProducts, width));
  MatrixXd result(counts.size(), turn.cols());
  std::vector<Index> items;
  for (Index begin = 0; begin < counts.size(); begin += kMostProductItems) {
    items.resize(
        std::size_t(std::min(kMostProductItems, counts.size() - begin)));
    std::iota(items.begin(), items.end(), begin);
    result.middleRows(begin, Index(items.size())) =
        Product(products(items).rowwise() - mean, turn, facts.stopped);
  }
  return result;
}

VectorXd Standardised(const VectorXd& values, const VectorXd& weights) {
  const double deviation = std::sqrt(WeightedVariance(values, weights));
  const double mean = weights.dot(values) / weights.sum();
  return (values.array() - mean) / std::max(deviation, 1e-9);
}

// Columns that are known before anything of people's profiles is: the person's
// own bias, public features, how popular and how liked an item is, taste.
void Assemble(const RatingsFacts& facts, Learned* learned) {
  const auto size = Index(facts.dataset.features);
  const double unit = QuarterOfRange(facts.dataset);
  const VectorXd counts = learned->counts();
  std::vector<MatrixXd> blocks = BlocksOf(facts);
  const double feature =
      kFeatures * unit *
      std::sqrt(2.0 / std::max<double>(2, double(blocks.size())));
  for (MatrixXd& block : blocks) block *= feature;
  blocks.insert(blocks.begin(), MatrixXd::Constant(size, 1, kBias * unit));
  if (learned->has_items) {
    blocks.push_back(kPopularity * unit *
                     Standardised(learned->items.col(1), counts));
    blocks.push_back(kEffect * unit *
                     Standardised(learned->items.col(2), counts));
  }
  if (learned->y.cols() > 0) {
    const double total =
        counts.dot(learned->y.rowwise().squaredNorm()) / counts.sum();
    MatrixXd taste = learned->y / std::sqrt(std::max(total, 1e-12));
    for (Index i = 0; i < size; ++i)
      taste.row(i) *= std::min(1.0, 3 / std::max(taste.row(i).norm(), 1e-12));
    blocks.push_back(kTaste * unit * taste);
  }
  const Index reserved =
      facts.parameters.shares[kResiduals] > 0 ? kMostFactors : 0;
  const Index most =
      std::max<Index>(1, Index(facts.parameters.rank) - reserved);
  learned->loadings = SideBySide(blocks, size);
  learned->group = MatrixXd::Zero(learned->loadings.cols(), 1);
  Index column = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    learned->group.middleRows(column, blocks[k].cols()).setConstant(double(k));
    column += blocks[k].cols();
  }
  if (learned->loadings.cols() > most) {
    learned->loadings =
        Turned(learned->loadings, counts, 0, most - 1, facts.stopped);
    learned->group = MatrixXd::Ones(learned->loadings.cols(), 1);
    learned->group(0) = 0;
  }
}

// Before any release.
Learned Unknown(const RatingsFacts& facts) {
  const auto size = Index(facts.dataset.features);
  const double unit = QuarterOfRange(facts.dataset);
  Learned learned;
  learned.within = unit * unit;
  learned.people = std::max(1.0, double(facts.dataset.users));
  learned.sums = MatrixXd::Zero(0, 0);
  learned.items = MatrixXd::Zero(size, 4);
  learned.items.col(0).setOnes();
  learned.items.col(3).setConstant(std::pow(0.48 * unit, 2));
  learned.y = MatrixXd::Zero(size, 0);
  Assemble(facts, &learned);
  return learned;
}

absl::StatusOr<Learned> LoadOrUnknown(const RatingsFacts& facts,
                                      const RatingsMemory& memory) {
  if (memory.empty()) return Unknown(facts);
  return Load(facts, memory);
}

std::vector<Index> Rows(const RatingsFacts& facts, const Learned& learned) {
  return MostCounted(learned.counts(), Index(facts.parameters.moment_rows));
}

double Stddev(const PartPlan& part) {
  return std::ldexp(double(part.stddev_steps), part.step_exponent);
}

// Rows of `residuals`: fewer than planned where noise is strong. A hidden
// factor's eigenvalue in S grows with N and falls with M, and the noise's edge
// grows with sqrt(M). From public numbers and the plan.
std::vector<Index> ResidualRows(const RatingsFacts& facts,
                                const Learned& learned) {
  double rows = double(facts.parameters.moment_rows);
  for (const StagePlan& stage : facts.plan.stages) {
    if (stage.release != "residuals") continue;
    const double unit = QuarterOfRange(facts.dataset);
    const double seen = kSeenRows * double(facts.dataset.users) * unit * unit /
                        Stddev(stage.parts[0]);
    rows = std::clamp(seen, std::min(kLeastSeenRows, rows), rows);
  }
  return MostCounted(learned.counts(), Index(rows));
}

// Request for `co-ratings`. Ratings m of any person lie along the counts c of
// the items, the more so the more ratings there are. Damping by g along c
// (docs/reference/privacy.md, theorem 13) multiplies C's first eigenvalue by
// (1 - g)^2 / d and all others by 1 / d, d = 1 - (2g - g^2) f with f the part
// of |m|^2 along c.
struct CoRatingsRequest {
  std::vector<Index> rows;
  VectorXd weights = {};  // M whole numbers; empty: no damping
  int part = 0;           // g, in parts of kDampingParts
  double left = 1;        // d
  double kept() const { return 1 - double(part) / kDampingParts; }
};

CoRatingsRequest CoRatingsRequestOf(const RatingsFacts& facts,
                                    const Learned& learned,
                                    const StagePlan& stage) {
  CoRatingsRequest request{.rows = Rows(facts, learned)};
  if (!learned.has_items) return request;
  const VectorXd counts = learned.counts()(request.rows);
  // E(n) |c|^2 / (sum of c)^2 for each person, n the ratings of the rows.
  const double first = facts.dataset.adjacency == Adjacency::kOneRating
                           ? counts.squaredNorm() / counts.sum()
                           : kSpreadOfNumbers * counts.squaredNorm() *
                                 learned.counts().sum() /
                                 (learned.people * counts.sum());
  const double f = std::min(kMostAlong, first / learned.people);
  const double least = kAboveNoise * 2 * Stddev(stage.parts[0]) *
                       std::sqrt(double(counts.size()));
  const auto kept_square = [](int part) {
    return std::pow(1 - double(part) / kDampingParts, 2);
  };
  const auto left = [&](int part) { return 1 - (1 - kept_square(part)) * f; };
  constexpr int kMostParts = int(kMostDamping * kDampingParts);
  while (request.part < kMostParts &&
         kept_square(request.part + 1) / left(request.part + 1) * first >=
             least)
    ++request.part;
  request.left = left(request.part);
  if (request.part > 0) {
    request.weights = (counts * (kMostRowWeight / counts.maxCoeff()))
                          .array()
                          .round()
                          .matrix();
  }
  return request;
}

void AddModel(const RatingsFacts& facts, const Learned& learned,
              const MatrixXd& loadings, RoundInput* input) {
  const double stddev = ResidualStddev(facts, learned);
  input->w.resize(loadings.rows(), 1 + loadings.cols());
  input->w.col(0) = Base(facts, learned);
  input->w.rightCols(loadings.cols()) = loadings / stddev;
  input->numbers = {stddev};
}

MatrixXd LoadingsForCorrections(const Learned& learned, const Stop& stop = {}) {
  return Turned(learned.loadings, learned.counts(), 1e-6,
                learned.loadings.cols(), stop);
}

// ------------------------------------------------------------------ updates

absl::Status Malformed(const char* what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "release-malformed",
      absl::StrCat("The release does not match the run's plan: ", what, "."));
}

// The sums of a part, rows x columns.
absl::StatusOr<MatrixXd> SumsOf(const std::vector<NoisedMatrix>& parts,
                                std::size_t index, const StagePlan& stage,
                                Index rows, Index columns) {
  if (index >= parts.size() || index >= stage.parts.size() ||
      parts.size() != stage.parts.size()) {
    return Malformed("its number of parts is another");
  }
  const NoisedMatrix& part = parts[index];
  const PartPlan& plan = stage.parts[index];
  if (part.name != plan.name || part.symmetric != plan.symmetric ||
      part.rows != std::uint64_t(rows) ||
      part.columns != std::uint64_t(columns)) {
    return Malformed("a part has another name or shape");
  }
  return ToMean(part, 1);
}

absl::Status CheckNotStopped(const RatingsFacts& facts) {
  if (!Stopped(facts.stopped)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The fit was stopped.");
}

// Effect of clipping on column 1 of `items`, with the square root of `part`:
// people's own solves take up what is common to all effects, and the whole
// `part` makes corrections worse (measured).
ClippedRatings SeenOf(const RatingsFacts& facts, double within) {
  ClippedRatings seen = ClippedOf(
      RatingsBoundsOf(*facts.dataset.ratings, facts.dataset.adjacency),
      facts.dataset.adjacency, within);
  seen.part = std::max(1e-3, std::sqrt(seen.part));
  return seen;
}

absl::Status LearnItems(const RatingsFacts& facts, const VectorXd& second,
                        const VectorXd& second_stddev, Learned* learned) {
  ItemEvidence evidence;
  evidence.counts = learned->sums.col(0);
  const ClippedRatings seen = SeenOf(facts, learned->within);
  evidence.sums = learned->sums.col(1) / seen.part;
  evidence.counts_stddev = learned->counts_stddev;
  evidence.sums_stddev = learned->sums_stddev / seen.part;
  evidence.unit = QuarterOfRange(facts.dataset);
  evidence.second = second;
  evidence.second_stddev = second_stddev;
  const double weight = facts.dataset.adjacency == Adjacency::kOneRating
                            ? 1.0
                            : 1 / RootOfRatings(facts, *learned);
  evidence.sampling =
      kSampling * seen.variance / (seen.part * seen.part) * weight;
  std::vector<MatrixXd> covariates = BlocksOf(facts);
  if (learned->y.cols() > 0) {
    const VectorXd counts = learned->counts();
    const double total =
        counts.dot(learned->y.rowwise().squaredNorm()) / counts.sum();
    MatrixXd taste = learned->y / std::sqrt(std::max(total, 1e-12));
    for (Index i = 0; i < taste.rows(); ++i)
      taste.row(i) *= std::min(1.0, 3 / std::max(taste.row(i).norm(), 1e-12));
    covariates.push_back(kTaste * taste);
  }
  evidence.features = SideBySide(covariates, learned->items.rows());
  const ItemEffects effects = EstimateItems(evidence, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  learned->items.col(0) = effects.counts;
  learned->items.col(1) = effects.log_counts;
  learned->items.col(2) = effects.effects;
  learned->items.col(3) = effects.variances.cwiseMax(1e-12);
  return absl::OkStatus();
}

// The variance about the person's mean, weighed with what is known before.
void SetWithin(const RatingsFacts& facts, Learned* learned) {
  const double before = std::pow(QuarterOfRange(facts.dataset), 2);
  const double noise = learned->own_stddev / learned->people;
  const double prior = std::pow(kSpreadUncertainty * before, 2);
  learned->within =
      std::max(0.1 * before,
               before + (learned->own_variances / learned->people - before) *
                            prior / (prior + noise * noise));
}

absl::Status UpdateItems(const RatingsFacts& facts, const StagePlan& stage,
                         const std::vector<NoisedMatrix>& parts,
                         Learned* learned) {
  const auto size = Index(facts.dataset.features);
  const RatingsBounds bounds =
      RatingsBoundsOf(*facts.dataset.ratings, facts.dataset.adjacency);
  DPNMF_ASSIGN_OR_RETURN(const MatrixXd own, SumsOf(parts, 0, stage, 2, 1));
  DPNMF_ASSIGN_OR_RETURN(const MatrixXd sums, SumsOf(parts, 1, stage, size, 2));
  learned->own_means = own(0);
  learned->own_variances = bounds.tau * own(1);
  learned->own_stddev = bounds.tau * Stddev(stage.parts[0]);
  SetWithin(facts, learned);
  learned->counts_stddev = Stddev(stage.parts[1]) / bounds.a;
  learned->sums_stddev = Stddev(stage.parts[1]);
  learned->sums = sums;
  learned->sums.col(0) /= bounds.a;
  learned->has_items = true;
  DPNMF_RETURN_IF_ERROR(LearnItems(facts, {}, {}, learned));
  Assemble(facts, learned);
  return absl::OkStatus();
}

absl::Status UpdateCoRatings(const RatingsFacts& facts, const StagePlan& stage,
                             const std::vector<NoisedMatrix>& parts,
                             Learned* learned) {
  const CoRatingsRequest request = CoRatingsRequestOf(facts, *learned, stage);
  NoisedCoRatings co_ratings;
  co_ratings.rows = request.rows;
  co_ratings.kept = request.kept();
  if (request.part > 0) co_ratings.direction = request.weights.normalized();
  const auto size = Index(co_ratings.rows.size());
  DPNMF_ASSIGN_OR_RETURN(co_ratings.c, SumsOf(parts, 0, stage, size, size));
  co_ratings.stddev = Stddev(stage.parts[0]);
  // trace(C): how many people have ratings of these items. N unless it says
  // otherwise.
  const double trace = co_ratings.c.trace(),
               noise = co_ratings.stddev * std::sqrt(2.0 * double(size));
  if (std::abs(trace - learned->people) > 3 * noise) {
    learned->people = std::max(trace, 0.1 * learned->people);
    if (learned->has_items) SetWithin(facts, learned);
  }
  // Which people there are is chance as well: Var C_ij ~ C_ij / n.
  const double mean = std::max(
      0.0,
      request.left *
          co_ratings.Undamped(co_ratings.Undamped(co_ratings.c).transpose())
              .mean());
  co_ratings.stddev = std::hypot(
      co_ratings.stddev,
      std::sqrt(mean) / RootOfRatings(facts, *learned) / request.left);
  VectorXd second, second_stddev;
  if (learned->has_items &&
      CountsFromCoRatings(co_ratings, learned->counts(), &second,
                          &second_stddev, facts.stopped)) {
    DPNMF_RETURN_IF_ERROR(LearnItems(facts, second, second_stddev, learned));
  }
  const MatrixXd features = SideBySide(BlocksOf(facts), learned->items.rows());
  CoRatingModel model = FitCoRatings(co_ratings, learned->counts(), features,
                                     kMostTaste, facts.stopped);
  learned->co_scale = request.left * model.scale;
  learned->y = std::move(model.y);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  if (learned->has_items && learned->y.cols() > 0)
    DPNMF_RETURN_IF_ERROR(LearnItems(facts, second, second_stddev, learned));
  Assemble(facts, learned);
  return absl::OkStatus();
}

absl::Status UpdateProfiles(const RatingsFacts& facts, const StagePlan& stage,
                            const std::vector<NoisedMatrix>& parts,
                            Learned* learned) {
  const Index size = learned->loadings.cols();
  DPNMF_ASSIGN_OR_RETURN(const MatrixXd sums,
                         SumsOf(parts, 0, stage, size, size));
  const MatrixXd covariance = PriorCovariance(
      sums / learned->people, Stddev(stage.parts[0]) / learned->people,
      learned->group.col(0).cast<int>(), facts.stopped);
  learned->loadings = Product(learned->loadings, UpperFactor(covariance));
  return absl::OkStatus();
}

// Posterior covariance of the profile of a person with n ratings of the usual
// items: (n X'PX / s^2 + I)^-1.
MatrixXd UsualCovariance(const RatingsFacts& facts, const Learned& learned,
                         const MatrixXd& loadings) {
  const double n = std::pow(RootOfRatings(facts, learned), 2);
  const VectorXd p = learned.counts() / learned.counts().sum();
  MatrixXd information = n *
                         TransposeProduct(loadings, p.asDiagonal() * loadings) /
                         std::pow(ResidualStddev(facts, learned), 2);
  information.diagonal().array() += 1;
  return InverseOfPositive(information);
}

// How much of `expected` there is in `seen`, from 0 to 1: what is cut off long
// residuals makes it less than all.
double PartAlong(const MatrixXd& seen, const MatrixXd& expected) {
  const double length = expected.squaredNorm();
  if (!(length > 0)) return 0;
  return std::clamp(seen.cwiseProduct(expected).sum() / length, 0.0, 1.0);
}

absl::Status UpdateResiduals(const RatingsFacts& facts, const StagePlan& stage,
                             const std::vector<NoisedMatrix>& parts,
                             Learned* learned) {
  const std::vector<Index> rows = ResidualRows(facts, *learned);
  const auto size = Index(rows.size());
  DPNMF_ASSIGN_OR_RETURN(MatrixXd s, SumsOf(parts, 0, stage, size, size));
  const VectorXd all = WeightedCounts(facts, *learned);
  const VectorXd counts = all(rows);
  MatrixXd c = ProductTranspose(counts, counts) / learned->people;
  if (learned->co_scale > 0) {
    const VectorXd raw = learned->counts()(rows);
    const MatrixXd y = learned->y(rows, Eigen::all);
    c = learned->co_scale *
        ProductTranspose(raw, raw).cwiseProduct(
            (ProductTranspose(y, y).array() + 1).cwiseMax(0.0).matrix());
  }
  // Residuals of a true model: E(z_i z_j) = -w^2 x_i' covariance x_j.
  const MatrixXd x = learned->loadings(rows, Eigen::all);
  MatrixXd own = c.cwiseProduct(ProductTranspose(
      Product(x, UsualCovariance(facts, *learned, learned->loadings)), x));
  own.diagonal().setZero();
  s += PartAlong(-s, own) * own;
  const double sampling = std::pow(ResidualStddev(facts, *learned), 4) /
                          std::pow(RootOfRatings(facts, *learned), 2);
  const Index room = std::min<Index>(
      kMostFactors, Index(facts.parameters.rank) - learned->loadings.cols());
  if (room < 1) return absl::OkStatus();
  const MatrixXd factors = ResidualFactors(s, Stddev(stage.parts[0]), c,
                                           sampling, room, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  if (factors.cols() == 0) return absl::OkStatus();
  const Index before = learned->loadings.cols();
  MatrixXd loadings =
      MatrixXd::Zero(learned->loadings.rows(), before + factors.cols());
  loadings.leftCols(before) = learned->loadings;
  for (Index k = 0; k < size; ++k)
    loadings.row(rows[std::size_t(k)]).tail(factors.cols()) = factors.row(k);
  MatrixXd group(loadings.cols(), 1);
  group << learned->group,
      MatrixXd::Constant(factors.cols(), 1, learned->group.maxCoeff() + 1);
  learned->loadings = std::move(loadings);
  learned->group = std::move(group);
  return absl::OkStatus();
}

absl::Status UpdateCorrections(const RatingsFacts& facts,
                               const StagePlan& stage,
                               const std::vector<NoisedMatrix>& parts,
                               Learned* learned) {
  MatrixXd loadings = LoadingsForCorrections(*learned, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  const Index r =
      std::min<Index>(facts.parameters.profile_directions, loadings.cols() - 1);
  DPNMF_ASSIGN_OR_RETURN(MatrixXd b,
                         SumsOf(parts, 0, stage, loadings.rows(), r + 1));
  DPNMF_ASSIGN_OR_RETURN(const MatrixXd a,
                         SumsOf(parts, 1, stage, r + 1, r + 1));
  // Residuals are made with the person's own profile: where the model is true,
  // E(z_i h') = w x_i' covariance, not 0 (the step of EM for loadings).
  // Profiles are cut to length 1: `cut` is E(h~ h~') / E(h h~').
  const MatrixXd covariance = UsualCovariance(facts, *learned, loadings);
  const double length =
      std::sqrt(double(r) - covariance.diagonal().segment(1, r).sum());
  const double cut = kProfileLength / std::max(kProfileLength, length);
  const VectorXd counts = WeightedCounts(facts, *learned);
  const MatrixXd own = cut * (counts.asDiagonal() *
                              Product(loadings, covariance.middleCols(1, r)));
  b.rightCols(r) -= PartAlong(b.rightCols(r), own) * own;
  const double people =
      std::clamp(a(0, 0) / (kProfileConstant * kProfileConstant),
                 0.5 * learned->people, 1.5 * learned->people);
  const double stddev = ResidualStddev(facts, *learned);
  const Corrections corrections = EstimateCorrections(
      b, Stddev(stage.parts[0]), a / people, Stddev(stage.parts[1]) / people,
      WeightedCounts(facts, *learned),
      learned->items.col(3) / (kProfileConstant * kProfileConstant),
      stddev * stddev / RootOfRatings(facts, *learned), facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  learned->items.col(2) += kProfileConstant * corrections.mean.col(0);
  learned->items.col(3) =
      (kProfileConstant * kProfileConstant * corrections.first_variance)
          .cwiseMax(1e-12);
  loadings.middleCols(1, r) += cut * corrections.mean.rightCols(r);
  learned->loadings = std::move(loadings);
  learned->group = MatrixXd::Ones(learned->loadings.cols(), 1);
  learned->group(0) = 0;
  return absl::OkStatus();
}

MatrixXd FinalLoadings(const RatingsFacts& facts, const Learned& learned) {
  const MatrixXd products = FeatureProducts(facts, learned.counts());
  MatrixXd loadings(learned.loadings.rows(),
                    learned.loadings.cols() + products.cols());
  loadings << learned.loadings,
      kProduct * QuarterOfRange(facts.dataset) * products;
  loadings.middleCols(1, learned.loadings.cols() - 1) *= kKeptLoading;
  return loadings;
}

}  // namespace

absl::StatusOr<RoundInput> RatingsInput(std::uint32_t round,
                                        const RatingsFacts& facts,
                                        const RatingsMemory& memory) {
  const std::string& release = facts.plan.StageOf(round).release;
  RoundInput input;
  if (release == "items") return input;
  DPNMF_ASSIGN_OR_RETURN(const Learned learned, LoadOrUnknown(facts, memory));
  std::vector<Index> rows;
  if (release == "residuals") rows = ResidualRows(facts, learned);
  if (release == "co-ratings") {
    CoRatingsRequest request =
        CoRatingsRequestOf(facts, learned, facts.plan.StageOf(round));
    rows = std::move(request.rows);
    if (request.part > 0) {
      input.w = std::move(request.weights);
      input.numbers = {double(request.part)};
    }
  }
  for (const Index row : rows) input.rows.push_back(std::uint32_t(row));
  if (release == "profiles" || release == "residuals")
    AddModel(facts, learned, learned.loadings, &input);
  if (release == "corrections")
    AddModel(facts, learned, LoadingsForCorrections(learned), &input);
  return input;
}

absl::Status RatingsUpdate(std::uint32_t round, const RatingsFacts& facts,
                           const std::vector<NoisedMatrix>& parts,
                           RatingsMemory* memory) {
  const StagePlan& stage = facts.plan.StageOf(round);
  DPNMF_ASSIGN_OR_RETURN(Learned learned, LoadOrUnknown(facts, *memory));
  if (stage.release == "items") {
    DPNMF_RETURN_IF_ERROR(UpdateItems(facts, stage, parts, &learned));
  } else if (stage.release == "co-ratings") {
    DPNMF_RETURN_IF_ERROR(UpdateCoRatings(facts, stage, parts, &learned));
  } else if (stage.release == "profiles") {
    DPNMF_RETURN_IF_ERROR(UpdateProfiles(facts, stage, parts, &learned));
  } else if (stage.release == "residuals") {
    DPNMF_RETURN_IF_ERROR(UpdateResiduals(facts, stage, parts, &learned));
  } else {
    DPNMF_RETURN_IF_ERROR(UpdateCorrections(facts, stage, parts, &learned));
  }
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  Save(learned, memory);
  return absl::OkStatus();
}

absl::StatusOr<ItemModel> RatingsModel(const RatingsFacts& facts,
                                       const RatingsMemory& memory) {
  if (memory.empty()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "model-not-ready",
                   "The run has no release yet; ask again after its first "
                   "round.");
  }
  DPNMF_ASSIGN_OR_RETURN(const Learned learned, Load(facts, memory));
  ItemModel model;
  model.low = facts.dataset.ratings->low_units * kRatingUnit;
  model.high = facts.dataset.ratings->high_units * kRatingUnit;
  model.residual_stddev = ResidualStddev(facts, learned);
  model.base = Base(facts, learned);
  model.base_stddev = learned.items.col(3).cwiseSqrt();
  model.loadings =
      Turned(FinalLoadings(facts, learned), learned.counts(), 0.005,
             Index(facts.parameters.rank) - 1, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  model.ranking = learned.y;
  model.popularity = learned.counts();
  model.counts = learned.has_items
                     ? VectorXd(learned.sums.col(0))
                     : VectorXd(VectorXd::Zero(learned.items.rows()));
  model.counts_stddev = VectorXd::Constant(
      learned.items.rows(), learned.has_items ? learned.counts_stddev : 0);
  if (!facts.non_negative) return model;
  model = NonNegativeModel(model, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(facts));
  return model;
}

}  // namespace dpnmf
