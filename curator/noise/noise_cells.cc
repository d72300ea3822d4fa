// Fixed-point arithmetic with F = bits + guard binary places; "ulp" is 2^-F.
//
// With r = exp(-2^-a), a = 2 cell_bits + 1, the weight is w_j = r^(j^2), so
// w_{j+1} = w_j p_j with p_j = r^(2j+1), p_{j+1} = p_j r^2. All lie in [0, 1],
// and a truncated product has error at most err(x) + err(y) + 1 ulp.
//
// Errors in ulp, for at most 1024 cells and at most 1024 terms of the series:
//   r: 2^12 (two a term: see below), r^2: 2^13 + 1, p_j: (j + 1) (2^13 + 2) <=
//   2^24, w_j: j (2^24 + 1) <= 2^35, sums of w: 2^45.
// The sum stops at the first w_J that is computed as 0, so the true w_J is at
// most 2^35 ulp. From there on each weight is below half of the one before,
// since p_J < 1/2: w_J < 2^(35-F) and F >= 192 give J h > sqrt(2 * 157 ln 2) >
// 14 and p_J < exp(-J h^2) <= exp(-14/16) < 1/2. So the rest is below 2^36 ulp.
// In all: below 2^46 ulp. kError = 2^48 leaves room.
#include "curator/noise/noise_cells.h"

#include <openssl/bn.h>

#include <array>
#include <memory>

#include "curator/noise/noise_fatal.h"

namespace dpnmf::curator {
namespace {

constexpr int kErrorBits = 48;
constexpr std::size_t kMaxCells = 1024;

void Must(int ok) {
  MustHold(ok == 1, "noise: OpenSSL's integers ran out of memory");
}

// A non-negative integer without a bound (OpenSSL's), with the few operations
// needed here.
class Integer {
 public:
  explicit Integer(std::uint64_t value = 0) { Must(BN_set_word(get(), value)); }
  Integer(const Integer& other) {
    Must(BN_copy(get(), other.get()) != nullptr);
  }
  Integer(Integer&& other) noexcept = default;
  Integer& operator=(const Integer& other) {
    Must(BN_copy(get(), other.get()) != nullptr);
    return *this;
  }
  Integer& operator=(Integer&& other) noexcept = default;

  BIGNUM* get() const { return number_.get(); }
  bool is_zero() const { return BN_is_zero(get()); }

  friend bool operator==(const Integer& a, const Integer& b) {
    return BN_cmp(a.get(), b.get()) == 0;
  }
  friend Integer operator+(const Integer& a, const Integer& b) {
    Integer sum;
    Must(BN_add(sum.get(), a.get(), b.get()));
    return sum;
  }
  friend Integer operator-(const Integer& a, const Integer& b) {
    Integer difference;
    Must(BN_sub(difference.get(), a.get(), b.get()));
    return difference;
  }
  friend Integer operator<<(const Integer& a, int places) {
    Integer shifted;
    Must(BN_lshift(shifted.get(), a.get(), places));
    return shifted;
  }
  friend Integer operator>>(const Integer& a, int places) {
    Integer shifted;
    Must(BN_rshift(shifted.get(), a.get(), places));
    return shifted;
  }
  friend Integer operator*(const Integer& a, const Integer& b) {
    Integer product;
    Must(BN_mul(product.get(), a.get(), b.get(), Context()));
    return product;
  }
  friend Integer operator/(const Integer& a, const Integer& b) {
    Integer quotient;
    Must(BN_div(quotient.get(), nullptr, a.get(), b.get(), Context()));
    return quotient;
  }

 private:
  struct Free {
    void operator()(BIGNUM* number) const { BN_free(number); }
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
  };
  static BN_CTX* Context() {
    thread_local const std::unique_ptr<BN_CTX, Free> context(BN_CTX_new());
    Must(context != nullptr);
    return context.get();
  }
  static BIGNUM* New() {
    BIGNUM* const number = BN_new();
    Must(number != nullptr);
    return number;
  }

  std::unique_ptr<BIGNUM, Free> number_{New()};
};

// exp(-2^-a) = sum over n of (-1)^n t_n, t_n = 2^(-a n) / n!, in `places`
// places. t_n = floor(floor(t_{n-1} / 2^a) / n) is at most 2 ulp off, since 2^a
// n >= 2; what follows the first t_n that is computed as 0 adds less than 4
// ulp.
Integer ExpOfMinusPowerOfTwo(int a, int places) {
  Integer term = Integer(1) << places;
  Integer sum = term;
  for (std::uint64_t n = 1; !term.is_zero(); ++n) {
    MustHold(n < 1024, "noise: the series of exp has too many terms");
    term = (term >> a) / Integer(n);
    sum = n % 2 == 1 ? sum - term : sum + term;
  }
  return sum;
}

// w_0, w_1, ... while not 0.
std::vector<Integer> Weights(int cell_bits, int places) {
  const Integer r = ExpOfMinusPowerOfTwo(2 * cell_bits + 1, places);
  const Integer r_squared = (r * r) >> places;
  Integer weight = Integer(1) << places;
  Integer power = r;
  std::vector<Integer> weights;
  while (!weight.is_zero()) {
    MustHold(weights.size() < kMaxCells, "noise: more cells than foreseen");
    weights.push_back(weight);
    weight = (weight * power) >> places;
    power = (power * r_squared) >> places;
  }
  return weights;
}

BinaryFraction ToWords(const Integer& number, int bits) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bits / 8));
  Must(BN_bn2binpad(number.get(), bytes.data(), bits / 8) == bits / 8);
  BinaryFraction words(static_cast<std::size_t>(bits / 64));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    words[i / 8] = (words[i / 8] << 8) | bytes[i];
  }
  return words;
}

}  // namespace

std::vector<BinaryFraction> CellBoundaries(int cell_bits, int bits) {
  MustHold(0 <= cell_bits && cell_bits <= 4 && 64 <= bits && bits <= 1024 &&
               bits % 64 == 0,
           "noise: no such table of cells");
  constexpr int kGuard = 128;
  const std::vector<Integer> weights = Weights(cell_bits, bits + kGuard);
  const Integer error = Integer(1) << kErrorBits;
  Integer total;
  for (const Integer& weight : weights) total = total + weight;
  const Integer all_ones = (Integer(1) << bits) - Integer(1);

  std::vector<BinaryFraction> boundaries;
  Integer sum;
  for (const Integer& weight : weights) {
    sum = sum + weight;
    // The true quotient lies between these two; equal floors are its floor.
    // Where the upper one reaches 1, the truth (below 1) has the lower floor.
    const Integer low = ((sum - error) << bits) / (total + error);
    const Integer high = ((sum + error) << bits) / (total - error);
    const bool last = low == all_ones;
    MustHold(last || low == high,
             "noise: a cell's boundary needs more guard digits");
    boundaries.push_back(ToWords(low, bits));
    if (last) return boundaries;
  }
  MustHold(false, "noise: the cells do not add up to 1");
  return {};
}

}  // namespace dpnmf::curator
