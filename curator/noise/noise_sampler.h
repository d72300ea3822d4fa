// Karney's Algorithm N on fine cells, and the rounding of its deviate.
//
// An implementation header of noise.cc; tests and benchmarks use it too. The
// argument that the result is exactly round(sigma Z) stands in
// docs/reference/noise.md and, step by step, beside the code. Randomness comes
// from a Source: any type with `std::uint64_t Next()` that returns 64
// independent fair bits.
//
// kDigitBits is how many bits of a uniform deviate are drawn at a time. 64 is
// the product's; with 1 to 8 bits every tie, which 64 bits never meet in
// practice, happens all the time and can be tested. kCellBits sets the width of
// a cell, h = 2^-kCellBits; 0 is the algorithm as published, 4 the product's.
#ifndef DPNMF_CURATOR_NOISE_NOISE_SAMPLER_H_
#define DPNMF_CURATOR_NOISE_NOISE_SAMPLER_H_

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "curator/noise/noise_cells.h"
#include "curator/noise/noise_fatal.h"

namespace dpnmf::curator {

__extension__ typedef unsigned __int128 Uint128;

// No comparison looks further than this: the process stops instead, which has
// probability below 2^-1000 a value. What is reached before is below 38 sigma:
// 2^-1024 is the tail beyond 37.7, so cells end before j h = 38 (a test holds
// it).
inline constexpr int kMaxUniformBits = 1024;
inline constexpr int kMaxSigmas = 38;

// A uniform deviate in [0, 1) whose binary digits are drawn when they are
// needed and stay what they are.
template <int kDigitBits>
class LazyUniform {
 public:
  static_assert(64 % kDigitBits == 0);
  static constexpr int kMaxDigits = kMaxUniformBits / kDigitBits;

  // Forgets the old deviate; draws the first digit of a new one.
  template <typename Source>
  std::uint64_t Draw(Source& source) {
    count_ = 1;
    return digits_[0] = NewDigit(source);
  }

  std::uint64_t first() const { return digits_[0]; }

  // Digit i, most significant first; draws it if it is new.
  template <typename Source>
  std::uint64_t Digit(int i, Source& source) {
    MustHold(i < kMaxDigits,
             "noise: a uniform deviate needs more digits than kept");
    while (count_ <= i) digits_[count_++] = NewDigit(source);
    return digits_[i];
  }

  // The first 64 bits.
  template <typename Source>
  std::uint64_t Word(Source& source) {
    std::uint64_t word = 0;
    for (int i = 0; i < 64 / kDigitBits; ++i) {
      word |= Digit(i, source) << (64 - (i + 1) * kDigitBits);
    }
    return word;
  }

 private:
  template <typename Source>
  static std::uint64_t NewDigit(Source& source) {
    return source.Next() >> (64 - kDigitBits);
  }

  int count_ = 0;
  std::array<std::uint64_t, kMaxDigits> digits_;
};

// a < b, drawing as many digits of both as that takes. Both have a first digit.
template <int kDigitBits, typename Source>
bool Less(LazyUniform<kDigitBits>& a, LazyUniform<kDigitBits>& b,
          Source& source) {
  if (a.first() != b.first()) [[likely]]
    return a.first() < b.first();
  for (int i = 1;; ++i) {
    const std::uint64_t digit_a = a.Digit(i, source);
    const std::uint64_t digit_b = b.Digit(i, source);
    if (digit_a != digit_b) return digit_a < digit_b;
  }
}

// Steps N1 and N2. The paper counts successes of Bernoulli(exp(-1/2)) for k and
// accepts k with probability exp(-k (k - 1) / 2), hence P(k) ~ exp(-k^2 / 2).
// Here the cell j, with P(j) ~ exp(-(j h)^2 / 2), is found by inversion: j is
// the cell whose share [c_j, c_{j+1}) holds a uniform deviate u.
//
// The first digit U of u says u in [U, U + 1) 2^-d. With C = floor(2^d
// c_{j+1}): U < C means u < c_{j+1}, U > C means u > c_{j+1}; only U = C needs
// more digits.
template <int kDigitBits, int kCellBits>
class CellTable {
 public:
  static const CellTable& Get() {
    static const CellTable table;
    return table;
  }

  template <typename Source>
  std::uint64_t DrawCell(LazyUniform<kDigitBits>& u, Source& source) const {
    const std::uint64_t digit = u.Draw(source);
    std::uint64_t cell = guide_[digit >> (kDigitBits - kGuideBits)];
    while (digit > first_digits_[cell]) ++cell;  // ends: the last is all ones
    if (digit < first_digits_[cell]) [[likely]]
      return cell;
    return ResolveTie(cell, u, source);
  }

 private:
  static constexpr int kTableBits = 256;
  static constexpr int kGuideBits = std::min(10, kDigitBits);

  CellTable() : boundaries_(CellBoundaries(kCellBits, kTableBits)) {
    for (const BinaryFraction& boundary : boundaries_) {
      first_digits_.push_back(DigitOf(boundary, 0));
      if (first_digits_.back() == kAllOnes) break;
    }
    std::uint64_t cell = 0;
    for (std::size_t g = 0; g < guide_.size(); ++g) {
      const std::uint64_t digit = std::uint64_t{g} << (kDigitBits - kGuideBits);
      while (first_digits_[cell] < digit) ++cell;
      guide_[g] = static_cast<std::uint16_t>(cell);
    }
  }

  // Digit i of a boundary, in digits of kDigitBits.
  static std::uint64_t DigitOf(const BinaryFraction& boundary, int i) {
    const int bit = i * kDigitBits;
    return (boundary[static_cast<std::size_t>(bit / 64)] << (bit % 64)) >>
           (64 - kDigitBits);
  }

  // u is known to lie in `cell` or above it.
  template <typename Source>
  std::uint64_t ResolveTie(std::uint64_t cell, LazyUniform<kDigitBits>& u,
                           Source& source) const {
    std::vector<BinaryFraction> longer;
    const std::vector<BinaryFraction>* boundaries = &boundaries_;
    for (int bits = kTableBits;;) {
      const int order = Compare(u, (*boundaries)[cell], source);
      if (order < 0) return cell;
      if (order > 0) {
        ++cell;
        continue;
      }
      bits *= 2;  // equal in all digits of the table: probability 2^-250
      MustHold(bits <= kMaxUniformBits,
               "noise: a uniform deviate hit a cell's boundary");
      longer = CellBoundaries(kCellBits, bits);
      boundaries = &longer;
    }
  }

  // The sign of u - boundary, 0 if equal in all the boundary's digits.
  template <typename Source>
  static int Compare(LazyUniform<kDigitBits>& u, const BinaryFraction& boundary,
                     Source& source) {
    const int digits = static_cast<int>(boundary.size()) * 64 / kDigitBits;
    for (int i = 0; i < digits; ++i) {
      const std::uint64_t ours = u.Digit(i, source);
      const std::uint64_t theirs = DigitOf(boundary, i);
      if (ours != theirs) return ours < theirs ? -1 : 1;
    }
    return 0;
  }

  static constexpr std::uint64_t kAllOnes = ~std::uint64_t{0} >>
                                            (64 - kDigitBits);

  std::vector<BinaryFraction> boundaries_;  // of c_1, c_2, ...
  std::vector<std::uint64_t>
      first_digits_;  // of the same, up to the first all ones
  std::array<std::uint16_t, std::size_t{1} << kGuideBits>
      guide_;  // first cell to try
};

// round(sigma y) for a y = (j + x) h with a lazily known x.
class Rounding {
 public:
  // sigma = numerator / denominator in [2^-20, 2^50], else the process stops.
  Rounding(std::uint64_t numerator, std::uint64_t denominator)
      : numerator_(numerator), denominator_(denominator) {
    MustHold(denominator >= 1 &&
                 Uint128{numerator} <= (Uint128{denominator} << 50) &&
                 (Uint128{numerator} << 20) >= denominator,
             "noise: sigma lies outside 2^-20 to 2^50 steps");
    // Long division, binary digit by digit: scaled = floor(sigma 2^places).
    scaled_ = numerator / denominator;
    std::uint64_t remainder = numerator % denominator;
    while (scaled_ < std::uint64_t{1} << 63) {
      const Uint128 twice = Uint128{remainder} << 1;
      const bool digit = twice >= denominator;
      scaled_ = scaled_ << 1 | (digit ? 1 : 0);
      remainder = static_cast<std::uint64_t>(twice - (digit ? denominator : 0));
      ++places_;
    }
  }

  // sigma (j + x) h = T 2^-(places + kCellBits) with T = sigma 2^places (j +
  // x). From scaled <= sigma 2^places < scaled + 1 and X <= 2^d x < X + 1 (d =
  // kDigitBits):
  //
  //   low = scaled j + floor(scaled X / 2^d) <= T
  //       < low + 1 + (floor(scaled / 2^d) + 1) + (j + 1).
  //
  // If both ends round to the same integer, that is the answer. low < 2^74.
  template <int kDigitBits, int kCellBits, typename Source>
  std::uint64_t Round(std::uint64_t cell, LazyUniform<kDigitBits>& x,
                      Source& source) const {
    std::uint64_t slack = cell + 3;
    if constexpr (kDigitBits < 64) slack += scaled_ >> kDigitBits;
    const Uint128 low = Uint128{scaled_} * cell +
                        ((Uint128{scaled_} * x.first()) >> kDigitBits);
    const int shift = places_ + kCellBits;
    const Uint128 low_and_half = low + (Uint128{1} << (shift - 1));
    const auto rounded = static_cast<std::uint64_t>(low_and_half >> shift);
    if (rounded == static_cast<std::uint64_t>((low_and_half + slack) >> shift))
        [[likely]]
      return rounded;
    return RoundExactly<kDigitBits, kCellBits>(cell, x, source);
  }

 private:
  // With n = numerator, m = denominator 2^kCellBits:
  //
  //   round(sigma y) = floor(n (j + x) / m + 1/2) = floor((2 n (j + x) + m) /
  //   (2 m))
  //                  = floor((floor(2 n (j + x)) + m) / (2 m)).
  //
  // Let X be the first 64 bits of x. 2 n x lies in [2 n X, 2 n (X + 1)) 2^-64,
  // an interval shorter than 2 <= 2 m, so that at most one boundary is in
  // question: x >= t with t = (2 m r - m - 2 n j) / (2 n), r the larger
  // candidate. Every number here is below 2^80: n < 2^64, m < 2^68, j < 2^10.
  template <int kDigitBits, int kCellBits, typename Source>
  std::uint64_t RoundExactly(std::uint64_t cell, LazyUniform<kDigitBits>& x,
                             Source& source) const {
    const std::uint64_t word = x.Word(source);
    const Uint128 m = Uint128{denominator_} << kCellBits;
    const Uint128 whole = 2 * Uint128{numerator_} * cell;
    const Uint128 low = Uint128{numerator_} * word;
    const auto r_low =
        static_cast<std::uint64_t>((whole + (low >> 63) + m) / (2 * m));
    const auto r_high = static_cast<std::uint64_t>(
        (whole + ((low + numerator_) >> 63) + m) / (2 * m));
    if (r_low == r_high) return r_low;
    MustHold(r_high == r_low + 1, "noise: rounding lost its place");
    const Uint128 t_numerator = 2 * m * r_high - m - whole;
    return IsAtLeast(x, t_numerator, 2 * Uint128{numerator_}, source) ? r_high
                                                                      : r_low;
  }

  // x >= p / q, 0 < p <= q < 2^66: digits of p / q by long division against
  // x's.
  template <int kDigitBits, typename Source>
  static bool IsAtLeast(LazyUniform<kDigitBits>& x, Uint128 p, Uint128 q,
                        Source& source) {
    for (int i = 0;; ++i) {
      std::uint64_t digit = 0;
      for (int bit = 0; bit < kDigitBits; ++bit) {
        p *= 2;
        digit = digit << 1 | (p >= q ? 1 : 0);
        if (p >= q) p -= q;
      }
      const std::uint64_t ours = x.Digit(i, source);
      if (ours != digit) return ours > digit;
    }
  }

  std::uint64_t numerator_;
  std::uint64_t denominator_;
  std::uint64_t scaled_ = 0;  // floor(sigma 2^places), in [2^63, 2^64)
  int places_ = 0;            // 13 to 83
};

// Draws round(sigma Z), one after another. Wipes its deviates when destroyed.
template <int kDigitBits, int kCellBits, typename Source>
class GaussianSampler {
 public:
  using Uniform = LazyUniform<kDigitBits>;

  GaussianSampler(const Rounding& rounding, Source& source)
      : rounding_(rounding),
        cells_(CellTable<kDigitBits, kCellBits>::Get()),
        source_(source) {}
  ~GaussianSampler() {
    for (Uniform* uniform : {&x_, &u_[0], &u_[1], &v_}) {
      OPENSSL_cleanse(uniform, sizeof(*uniform));
    }
  }
  GaussianSampler(const GaussianSampler&) = delete;
  GaussianSampler& operator=(const GaussianSampler&) = delete;

  std::int64_t Next() {
    for (;;) {
      const std::uint64_t cell = cells_.DrawCell(v_, source_);  // N1, N2
      x_.Draw(source_);                                         // N3
      const std::uint64_t word = source_.Next();
      if (!AcceptOffset(cell, word)) continue;  // N4
      // N5: y = (j + x) h. N6: a random sign, the bit of `word` that N4 leaves
      // alone.
      const auto magnitude = static_cast<std::int64_t>(
          rounding_.template Round<kDigitBits, kCellBits>(cell, x_, source_));
      const auto minus = -static_cast<std::int64_t>(word & 1);
      return (magnitude ^ minus) - minus;
    }
  }

  // N4 alone, with a fresh x: what the tests look at for a cell that they
  // choose.
  bool AcceptFreshOffset(std::uint64_t cell, std::uint64_t* first_digit) {
    *first_digit = x_.Draw(source_);
    return AcceptOffset(cell, source_.Next());
  }

 private:
  // N4: true with probability exp(-x (2 j + x) h^2 / 2), which turns the
  // density exp(-(j h)^2 / 2) of the cell into exp(-((j + x) h)^2 / 2). It is
  // the product of 2^s trials with exponent x (2 j + x) / 2^b, b = 2 kCellBits
  // + 1 + s, where s is the least with 2 j + 1 <= 2^b. (The paper, h = 1: k + 1
  // trials with exponent x (2 k + x) / (2 k + 2).) `word` feeds the first
  // trial.
  bool AcceptOffset(std::uint64_t cell, std::uint64_t word) {
    constexpr int kBits = 2 * kCellBits + 1;
    const int bits =
        std::max(kBits, static_cast<int>(std::bit_width(2 * cell)));
    const int trials = 1 << (bits - kBits);
    if (!AlgorithmB(cell, bits, word)) return false;
    for (int trial = 1; trial < trials; ++trial) {
      if (!AlgorithmB(cell, bits, source_.Next())) return false;
    }
    return true;
  }

  // The paper's Algorithm B (after von Neumann and Forsythe): true with
  // probability exp(-x p), p = (2 j + x) / 2^b. Go on while p-coins succeed
  // (Algorithm C) and fresh uniforms fall: x > u_1 > u_2 > ... . At least n
  // steps are made with probability p^n x^n / n!, so the number of steps is
  // even with probability sum over n of (-1)^n (p x)^n / n! = exp(-p x).
  bool AlgorithmB(std::uint64_t cell, int bits, std::uint64_t word) {
    Uniform* least = &x_;
    for (bool even = true;; even = !even, word = source_.Next()) {
      if (!AlgorithmC(cell, bits, word)) [[likely]]
        return even;
      Uniform* const u = least == &u_[0] ? &u_[1] : &u_[0];
      u->Draw(source_);
      if (!Less(*u, *least, source_)) return even;
      least = u;
    }
  }

  // The paper's Algorithm C: true with probability (2 j + x) / 2^b. The top b
  // bits of `word` are one of 2^b equally likely cases: the first 2 j say yes,
  // the next one asks whether a fresh uniform is below x, the rest say no.
  bool AlgorithmC(std::uint64_t cell, int bits, std::uint64_t word) {
    const std::uint64_t choice = word >> (64 - bits);
    if (choice != 2 * cell) [[likely]]
      return choice < 2 * cell;
    v_.Draw(source_);
    return Less(v_, x_, source_);
  }

  const Rounding rounding_;
  const CellTable<kDigitBits, kCellBits>& cells_;
  Source& source_;
  Uniform x_, u_[2], v_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_NOISE_NOISE_SAMPLER_H_
