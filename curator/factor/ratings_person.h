// One person's share of the sums of `ratings`: the solve, the quantisation and
// the gate. A function of that person's ratings and of public numbers alone.
#ifndef DPNMF_CURATOR_FACTOR_RATINGS_PERSON_H_
#define DPNMF_CURATOR_FACTOR_RATINGS_PERSON_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/privacy/ratings_bounds.h"
#include "curator/data/dataset.h"
#include "curator/factor/kernels/aligned_vector.h"
#include "curator/factor/ratings_request.h"

namespace dpnmf::curator {

// The request in the order of the loops; shared by all people.
class PackedModel {
 public:
  explicit PackedModel(const RatingsRequest& request);

  int rank() const { return rank_; }
  int padded() const { return padded_; }  // a multiple of kLanes
  double base(std::int32_t item) const {
    return base_[static_cast<std::size_t>(item)];
  }
  // padded() loadings, zeros behind the last.
  const double* row(std::int32_t item) const {
    return loadings_.data() +
           static_cast<std::size_t>(item) * static_cast<std::size_t>(padded_);
  }
  double residual_stddev() const { return residual_stddev_; }

  static constexpr int kLanes = 4;
  static constexpr int Padded(int columns) {
    return (columns + kLanes - 1) / kLanes * kLanes;
  }

 private:
  int rank_ = 0, padded_ = 0;
  double residual_stddev_ = 1;
  AlignedVector<double> base_, loadings_;
};

// Buffers of one thread for the solves of people, one after another.
class PersonSolver {
 public:
  explicit PersonSolver(const PackedModel* model);

  // h~ and the factor of X'X + I. False if a number on the way is not finite.
  bool Solve(const RatedItems& ratings);
  // rank() entries.
  const double* profile() const { return profile_.data(); }
  // y - X h~ of one own rating.
  double Residual(std::int32_t item, std::int32_t units) const;

  // g = (h_0, h_1 ... h_r) of the last Solve, h in units of the prior and
  // |(h_1 ... h_r)| at most kProfileLength, on multiples of 2^-bits; r + 1
  // entries. False: |g|^2 <= norm does not hold or a number is not finite, and
  // nothing is to be added.
  bool Directions(std::uint64_t norm, int bits, std::span<std::int64_t> g);

  // hh' + (X'X + I)^-1 of the last Solve, h in units of the prior, as L L' of
  // integers with |L L'|^2 <= norm^2, h and L on multiples of 2^-bits: the
  // upper triangle by columns, rank() (rank() + 1) / 2 entries. Null: nothing
  // is added.
  const std::int64_t* Moment(std::uint64_t norm, int bits);

 private:
  bool Factorise();
  void InvertFactor();
  bool AddSquare(const double* values, int count, double scale);

  const PackedModel* const model_;
  AlignedVector<double> zeros_, directions_;
  AlignedVector<double> gram_;  // lower triangle by columns, then its factor
  AlignedVector<double> profile_;
  AlignedVector<double> inverse_;       // of the factor, by rows
  AlignedVector<std::int32_t> factor_;  // one row of L'
  AlignedVector<std::int64_t> moment_;  // rank x padded, lower by rows
  std::vector<std::int64_t> triangle_;
};

// values <- integers: trunc(2^bits s value) with s <= 1 such that the length is
// at most `bound`. False, and nothing is to be added, if a value is not finite
// or the integers' squares add up to more than `norm`.
bool QuantiseSigned(std::span<const double> values, double bound, int bits,
                    std::uint64_t norm, std::span<std::int64_t> integers);

// The integers of `items` of one person.
struct ItemShare {
  std::int64_t mean = 0;                  // x of `mean`
  std::int64_t variance = 0;              // y
  std::int64_t mask = 0;                  // k of each own item
  std::span<const std::int64_t> ratings;  // l of each own item, in their order
};

// `integers`: room for as many as there are ratings; the share's are there. A
// person with more than that or than kMostGatedRatings adds zero.
ItemShare ItemShareOf(const RatedItems& ratings, const RatingScale& scale,
                      const ItemsLattice& lattice, Adjacency adjacency,
                      std::span<std::int64_t> integers);

// floor(sqrt(x)).
std::int64_t RootDown(std::uint64_t x);

// Share of a person in `co-ratings`: l l' for l = k m - b p, |l|^2 <= norm in
// integers. If k and b are 0, the person adds nothing.
struct CoRatingShare {
  std::int64_t k = 0;
  std::int64_t b = 0;
};
// The gate of `co-ratings`, in integers from the first step on.
class CoRatingGate {
 public:
  CoRatingGate(const Damping& damping, std::uint64_t norm);

  // False: b is 0 for everybody.
  bool damps() const { return part_ > 0; }
  // Share of a person with n > 0 ratings among the rows; the weights of the
  // rated rows add up to `along`, which is m.p.
  CoRatingShare ShareOf(std::uint64_t n, std::uint64_t along) const;

 private:
  std::uint64_t norm_, length_ = 0, part_ = 0;  // length: |p|^2
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_RATINGS_PERSON_H_
