#include "curator/factor/ratings_person.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/privacy/mu_squared.h"

namespace dpnmf::curator {
namespace {

__extension__ typedef __int128 Int128;

// Under one_rating a data set in which the gate dropped a person would have a
// neighbour in which it does not.
static_assert(kMostGatedRatings == kMostRatingsOfAPerson);

constexpr double kUnitsPerRating = 10'000;
// Scaling stays this far below a bound, so that rounding errors do not fail
// the gate.
constexpr double kScaleMargin = 1 - 0x1p-30;
// The margin of a moment's scale at the first attempt; 16 times as much at each
// further one, since the rounding of a factor matters more on a coarse lattice.
constexpr double kMomentMargin = 0x1p-16;
constexpr int kMomentAttempts = 4;
// Cap on a factor's entries: products of 1,025 pairs stay below 2^61.
constexpr double kLargestFactorEntry = 0x1p25;
constexpr std::int64_t kLargestMomentEntry = std::int64_t{1} << 50;

Uint128 Square(std::int64_t x) { return static_cast<Uint128>(Int128{x} * x); }

// l <- trunc(2^bits clip(numerators / (10^4 n))), as integers.
template <typename Integer>
void CentreWith(std::span<const std::int32_t> units, std::int64_t low,
                std::int64_t sum, int bits, std::int64_t largest,
                std::int64_t* centred) {
  const auto n = static_cast<std::int64_t>(units.size());
  const Integer denominator = Integer{10'000} * n << std::max(-bits, 0);
  const int shift = std::max(bits, 0);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Integer numerator =
        (Integer{units[i] - low} * n - sum) * (Integer{1} << shift);
    const auto t = static_cast<std::int64_t>(numerator / denominator);
    centred[i] = std::clamp(t, -largest, largest);
  }
}

// Exact rational numbers, cut to the lattice.
void OwnMean(std::span<const std::int32_t> ratings, std::int64_t low,
             const ItemsLattice& lattice, ItemShare* share) {
  const auto n = static_cast<std::int64_t>(ratings.size());
  const std::int64_t range = lattice.range_units;
  std::int64_t sum = 0;
  Uint128 squares = 0;
  for (const std::int32_t units : ratings) {
    const std::int64_t above = units - low;
    sum += above;
    squares += Square(above);
  }
  const int up = std::max(lattice.bits, 0), down = std::max(-lattice.bits, 0);
  const Int128 mean = (Int128{2} * sum - Int128{n} * range) << up;
  const Int128 over_mean = (Int128{20'000} * n) << down;
  const Int128 variance =
      (Int128{n} * static_cast<Int128>(squares) - Int128{sum} * sum)
      << (up + 1);
  const Int128 over_variance = (Int128{n} * n * range * 10'000) << down;
  const auto x = static_cast<std::int64_t>(mean / over_mean);
  const auto y = static_cast<std::int64_t>(variance / over_variance);
  // The gate: |x| <= most, 0 <= y, x^2 + y most <= most^2.
  const std::int64_t most = lattice.most;
  if (x < -most || x > most || y < 0 || y > most) return;
  if (Square(x) + Uint128(y) * Uint128(most) > Square(most)) return;
  share->mean = x;
  share->variance = y;
}

// integers <- t of each rating, clipped to +-clip.
void Centre(std::span<const std::int32_t> units, std::int64_t low,
            const ItemsLattice& lattice, std::int64_t clip,
            std::span<std::int64_t> integers) {
  const auto n = static_cast<std::int64_t>(units.size());
  std::int64_t sum = 0;
  for (const std::int32_t one : units) sum += one - low;
  const Int128 largest = Int128{n} * lattice.range_units
                         << std::max(lattice.bits, 0);
  const Int128 denominator = Int128{10'000} * n << std::max(-lattice.bits, 0);
  constexpr Int128 kFits = Int128{1} << 62;
  if (largest < kFits && denominator < kFits) {
    CentreWith<std::int64_t>(units, low, sum, lattice.bits, clip,
                             integers.data());
  } else {
    CentreWith<Int128>(units, low, sum, lattice.bits, clip, integers.data());
  }
}

// k = floor(sqrt(Q_a / n)); l = trunc(t min(w, c / |t|)), clamped to T k / a.
void Weigh(const ItemsLattice& lattice, std::span<std::int64_t> l,
           ItemShare* share) {
  const std::size_t count = l.size();
  const std::int64_t k = RootDown(lattice.mask_norm / count);
  double squares = 0;
  for (const std::int64_t t : l) {
    const auto real = static_cast<double>(t);
    squares += real * real;
  }
  const double length = std::sqrt(squares);
  const double bound = std::sqrt(static_cast<double>(lattice.rating_norm));
  const double weight = 1 / std::sqrt(static_cast<double>(count));
  const double scale =
      length * weight > bound ? bound / length * kScaleMargin : weight;
  const auto numerator = std::int64_t{lattice.ratio.numerator};
  const auto denominator = std::int64_t{lattice.ratio.denominator};
  const std::int64_t limit = k * denominator / numerator;
  Uint128 sum = 0;
  bool passes = Square(k) * count <= lattice.mask_norm;
  for (std::int64_t& entry : l) {
    entry = std::clamp(
        static_cast<std::int64_t>(static_cast<double>(entry) * scale), -limit,
        limit);
    sum += Square(entry);
    passes = passes && std::abs(entry) * numerator <= k * denominator;
  }
  if (!passes || sum > lattice.rating_norm) return;  // the gate
  share->mask = k;
  share->ratings = l;
}

}  // namespace

std::int64_t RootDown(std::uint64_t x) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(x)));
  while (Uint128{root} * root > x) --root;
  while (Uint128{root + 1} * (root + 1) <= x) ++root;
  return static_cast<std::int64_t>(root);
}

CoRatingGate::CoRatingGate(const Damping& damping, std::uint64_t norm)
    : norm_(norm) {
  for (const std::uint64_t weight : damping.weights) length_ += weight * weight;
  // Rounding b adds up to |p|^2 to |l|^2.
  if (length_ > 0 && length_ < norm) part_ = damping.part;
}

CoRatingShare CoRatingGate::ShareOf(std::uint64_t n,
                                    std::uint64_t along) const {
  if (!damps()) return {.k = RootDown(norm_ / n)};
  // With g = part/64 and b = ceil(g k (m.p)/|p|^2),
  //   |l|^2 <= k^2 (n - (2g - g^2) (m.p)^2/|p|^2) + |p|^2.
  constexpr Uint128 kWhole = Uint128{kDampingParts} * kDampingParts;
  const Uint128 rest =
      kWhole * n * length_ -
      Uint128{along} * along * (Uint128{2} * kDampingParts - part_) * part_;
  if (rest == 0) return {};
  constexpr Uint128 kMostSquare = Uint128{1} << 62;
  CoRatingShare share;
  share.k = RootDown(static_cast<std::uint64_t>(std::min(
      kMostSquare, Uint128{norm_ - length_} * length_ * kWhole / rest)));
  const Uint128 over = Uint128{kDampingParts} * length_;
  share.b = static_cast<std::int64_t>(
      (static_cast<Uint128>(share.k) * along * part_ + over - 1) / over);
  const Int128 k = share.k, b = share.b;
  const Int128 squares = k * k * static_cast<Int128>(n) -
                         2 * k * b * static_cast<Int128>(along) +
                         b * b * static_cast<Int128>(length_);
  if (squares > static_cast<Int128>(norm_)) return {};  // the gate
  return share;
}

PackedModel::PackedModel(const RatingsRequest& request)
    : rank_(static_cast<int>(request.model->cols()) - 1),
      padded_(Padded(rank_)),
      residual_stddev_(request.residual_stddev) {
  const Eigen::MatrixXd& model = *request.model;
  const auto features = static_cast<std::size_t>(model.rows());
  base_.assign(model.data(), model.data() + features);
  loadings_.resize(features * static_cast<std::size_t>(padded_));
  for (int k = 0; k < rank_; ++k) {
    for (std::size_t d = 0; d < features; ++d) {
      loadings_[d * static_cast<std::size_t>(padded_) +
                static_cast<std::size_t>(k)] =
          model(static_cast<Eigen::Index>(d), k + 1);
    }
  }
}

PersonSolver::PersonSolver(const PackedModel* model)
    : model_(model),
      zeros_(static_cast<std::size_t>(model->padded())),
      directions_(zeros_.size()),
      gram_(static_cast<std::size_t>(model->padded() * model->rank())),
      profile_(static_cast<std::size_t>(model->padded())),
      inverse_(gram_.size()),
      factor_(zeros_.size()),
      moment_(gram_.size()),
      triangle_(static_cast<std::size_t>(model->rank()) *
                static_cast<std::size_t>(model->rank() + 1) / 2) {}

double PersonSolver::Residual(std::int32_t item, std::int32_t units) const {
  const double* const x = model_->row(item);
  double lanes[PackedModel::kLanes] = {};
  for (int i = 0; i < model_->padded(); i += PackedModel::kLanes) {
    for (int lane = 0; lane < PackedModel::kLanes; ++lane)
      lanes[lane] += x[i + lane] * profile_[static_cast<std::size_t>(i + lane)];
  }
  const double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  return units / kUnitsPerRating - model_->base(item) - sum;
}

// Four ratings at a time, zeros where there are no more: each entry is added up
// in one order, whatever the alignment and the compiler's vectors.
bool PersonSolver::Solve(const RatedItems& ratings) {
  constexpr std::size_t kAtOnce = 4;
  const int rank = model_->rank(), padded = model_->padded();
  std::fill(gram_.begin(), gram_.end(), 0.0);
  std::fill(profile_.begin(), profile_.end(), 0.0);
  for (int j = 0; j < rank; ++j)
    gram_[static_cast<std::size_t>(j * padded + j)] = 1;
  const std::size_t count = ratings.items.size();
  for (std::size_t first = 0; first < count; first += kAtOnce) {
    const double* x[kAtOnce];
    double y[kAtOnce];
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      const bool there = first + i < count;
      const std::int32_t item = there ? ratings.items[first + i] : 0;
      x[i] = there ? model_->row(item) : zeros_.data();
      y[i] = there ? ratings.units[first + i] / kUnitsPerRating -
                         model_->base(item)
                   : 0;
    }
    const double* __restrict const x0 = x[0];
    const double* __restrict const x1 = x[1];
    const double* __restrict const x2 = x[2];
    const double* __restrict const x3 = x[3];
    double* __restrict const right = profile_.data();
    for (int i = 0; i < padded; ++i) {
      right[i] += (x0[i] * y[0] + x1[i] * y[1]) + (x2[i] * y[2] + x3[i] * y[3]);
    }
    for (int j = 0; j < rank; ++j) {
      double* __restrict const column = gram_.data() + j * padded;
      const double a0 = x0[j], a1 = x1[j], a2 = x2[j], a3 = x3[j];
      for (int i = j / PackedModel::kLanes * PackedModel::kLanes; i < padded;
           ++i) {
        column[i] += (x0[i] * a0 + x1[i] * a1) + (x2[i] * a2 + x3[i] * a3);
      }
    }
  }
  return Factorise();
}

// Cholesky: gram_ = L L', then profile_ = (L L')^-1 profile_.
bool PersonSolver::Factorise() {
  const int rank = model_->rank(), padded = model_->padded();
  double* __restrict const right = profile_.data();
  for (int j = 0; j < rank; ++j) {
    double* __restrict const column = gram_.data() + j * padded;
    const double pivot = column[j];
    if (!(pivot > 0 && std::isfinite(pivot))) return false;
    const double root = std::sqrt(pivot);
    column[j] = root;
    for (int i = j + 1; i < rank; ++i) column[i] /= root;
    right[j] /= root;
    for (int i = j + 1; i < rank; ++i) right[i] -= column[i] * right[j];
    for (int k = j + 1; k < rank; ++k) {
      double* __restrict const other = gram_.data() + k * padded;
      const double by = column[k];
      for (int i = k / PackedModel::kLanes * PackedModel::kLanes; i < padded;
           ++i) {
        other[i] -= column[i] * by;
      }
    }
  }
  double squares = 0;
  for (int j = rank - 1; j >= 0; --j) {
    const double* const column = gram_.data() + j * padded;
    double sum = right[j];
    for (int i = j + 1; i < rank; ++i) sum -= column[i] * right[i];
    right[j] = sum / column[j];
    squares += right[j] * right[j];
  }
  return std::isfinite(squares);
}

void PersonSolver::InvertFactor() {
  const int rank = model_->rank(), padded = model_->padded();
  std::fill(inverse_.begin(), inverse_.end(), 0.0);
  for (int k = 0; k < rank; ++k) {
    double* __restrict const row = inverse_.data() + k * padded;
    row[k] = 1;
    for (int m = 0; m < k; ++m) {
      const double by = gram_[static_cast<std::size_t>(m * padded + k)];
      const double* __restrict const other = inverse_.data() + m * padded;
      for (int i = 0; i <= m; ++i) row[i] -= by * other[i];
    }
    const double diagonal = gram_[static_cast<std::size_t>(k * padded + k)];
    for (int i = 0; i <= k; ++i) row[i] /= diagonal;
  }
}

bool PersonSolver::Directions(std::uint64_t norm, int bits,
                              std::span<std::int64_t> g) {
  const std::size_t count = g.size() - 1;
  for (std::size_t i = 0; i < count; ++i)
    directions_[i] = profile_[i + 1] / model_->residual_stddev();
  g[0] = static_cast<std::int64_t>(std::ldexp(kProfileConstant, bits));
  const std::uint64_t constant = static_cast<std::uint64_t>(g[0] * g[0]);
  return constant <= norm &&
         QuantiseSigned(std::span(directions_).first(count), kProfileLength,
                        bits, norm - constant, g.subspan(1));
}

// moment_ += v v' for the integers v of `count` values.
bool PersonSolver::AddSquare(const double* values, int count, double scale) {
  std::int32_t* __restrict const v = factor_.data();
  for (int i = 0; i < count; ++i) {
    const double x = values[i] * scale;
    if (!(std::fabs(x) <= kLargestFactorEntry)) return false;
    v[i] = static_cast<std::int32_t>(x);
  }
  for (int j = 0; j < count; ++j) {
    std::int64_t* __restrict const row = moment_.data() + j * model_->padded();
    const std::int64_t by = v[j];
    for (int i = 0; i <= j; ++i) row[i] += by * v[i];
  }
  return true;
}

const std::int64_t* PersonSolver::Moment(std::uint64_t norm, int bits) {
  const int rank = model_->rank(), padded = model_->padded();
  // h in units of the prior, |h|^2 at most the bound.
  double squares = 0;
  for (int i = 0; i < rank; ++i) squares += profile_[i] * profile_[i];
  const double length = std::sqrt(squares) / model_->residual_stddev();
  const double bound = std::ldexp(std::sqrt(static_cast<double>(norm)), -bits);
  if (!std::isfinite(length)) return nullptr;
  const double of_profile =
      std::min(1.0, length > bound ? bound / length : 1.0) /
      model_->residual_stddev();
  InvertFactor();

  double scale = std::ldexp(1.0, bits), margin = kMomentMargin;
  for (int attempt = 0; attempt < kMomentAttempts; ++attempt) {
    std::fill(moment_.begin(), moment_.end(), 0);
    if (!AddSquare(profile_.data(), rank, scale * of_profile)) return nullptr;
    for (int k = 0; k < rank; ++k) {
      if (!AddSquare(inverse_.data() + k * padded, k + 1, scale))
        return nullptr;
    }
    Uint128 length_squared = 0;
    std::size_t at = 0;
    for (int j = 0; j < rank; ++j) {
      for (int i = 0; i <= j; ++i, ++at) {
        const std::int64_t entry =
            moment_[static_cast<std::size_t>(j * padded + i)];
        if (std::abs(entry) > kLargestMomentEntry) return nullptr;
        length_squared += (i < j ? 2 : 1) * Square(entry);
        triangle_[at] = entry;
      }
    }
    // The gate.
    if (length_squared <= Uint128{norm} * norm) return triangle_.data();
    scale *= std::sqrt(static_cast<double>(norm) /
                       std::sqrt(static_cast<double>(length_squared))) *
             (1 - margin);
    margin *= 16;
  }
  return nullptr;
}

bool QuantiseSigned(std::span<const double> values, double bound, int bits,
                    std::uint64_t norm, std::span<std::int64_t> integers) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  if (!std::isfinite(squares)) return false;
  const double length = std::sqrt(squares);
  const double scale =
      std::ldexp(length > bound ? bound / length * kScaleMargin : 1.0, bits);
  Uint128 sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i] * scale;
    if (!(std::fabs(x) < 0x1p40)) return false;
    integers[i] = static_cast<std::int64_t>(x);
    sum += Square(integers[i]);
  }
  return sum <= norm;  // the gate
}

ItemShare ItemShareOf(const RatedItems& ratings, const RatingScale& scale,
                      const ItemsLattice& lattice, Adjacency adjacency,
                      std::span<std::int64_t> integers) {
  ItemShare share;
  const std::size_t count = ratings.items.size();
  if (count == 0 || count > kMostGatedRatings || count > integers.size())
    return share;
  integers = integers.first(count);
  OwnMean(ratings.units, scale.low_units, lattice, &share);
  const bool one_rating = adjacency == Adjacency::kOneRating;
  Centre(ratings.units, scale.low_units, lattice,
         one_rating ? lattice.largest_rating : lattice.clip, integers);
  if (!one_rating) {
    Weigh(lattice, integers, &share);
    return share;
  }
  share.mask = lattice.mask_step;
  share.ratings = integers;
  return share;
}

}  // namespace dpnmf::curator
