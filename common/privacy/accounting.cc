#include "common/privacy/accounting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/enum_names.h"
#include "common/base/error.h"

// How results are rounded up. Every library function used here (exp, expm1,
// log, log1p, sqrt) errs by at most one unit in the last place of a double,
// kUnit = 2^-52 of its value. Each formula adds a bound on what its terms can
// have lost to the result; docs/reference/accounting.md, "Rounding", has the
// argument.

namespace dpnmf {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLogTwoPi = 0.91893853320467274178;
constexpr double kLargestMuSquared = 1e15;
// Smaller ones count as this, which keeps every step clear of denormal numbers.
constexpr double kSmallestMuSquared = 1e-300;
constexpr double kLargestEpsilon = 1000;

constexpr auto kConversionNames =
    EnumNamesOf<Conversion>({{Conversion::kRdp, "rdp"},
                             {Conversion::kRdpOptimal, "rdp_optimal"},
                             {Conversion::kGaussian, "gaussian"}});
constexpr auto kAdjacencyNames =
    EnumNamesOf<Adjacency>({{Adjacency::kReplaceOne, "replace_one"},
                            {Adjacency::kAddRemoveOne, "add_remove_one"},
                            {Adjacency::kOneRating, "one_rating"}});

absl::Status CheckDelta(double delta) {
  if (delta > 0 && delta < 1) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "delta-out-of-range",
                 "`delta` must be strictly between 0 and 1; usual values are "
                 "well below 1 over the number of people.");
}

absl::Status CheckArguments(double mu_squared, double delta) {
  if (!(mu_squared >= 0 && mu_squared <= kLargestMuSquared)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "mu-out-of-range",
        "`mu^2` must be from 0 to 1e15; use more noise or fewer releases.");
  }
  return CheckDelta(delta);
}

// --- The exact curve of Gaussian differential privacy ---------------------
//
// Balle and Wang 2018, Theorem 8, with x = eps/mu - mu/2, so that
// eps = mu^2/2 + mu x:
//
//   delta = Phi(-x) - e^eps Phi(-x - mu) = phi(x) (M(x) - M(x + mu)),
//
// because e^eps phi(x + mu) = phi(x); M(x) = Phi(-x) / phi(x) is Mills' ratio,
// M(x) = integral over s > 0 of exp(-x s - s^2/2). Hence
//
//   delta     = phi(x) I(x, mu),
//   I(x, mu)  = integral over s > 0 of exp(-x s - s^2/2) (1 - exp(-mu s)),
//   1 - delta = phi(x) (M(-x) + M(x + mu)).
//
// No term is negative, so nothing cancels, however small mu or delta are.

// I(x, mu) for x >= -1; I(x, infinity) = M(x). With s = e^t the integrand is
// analytic in |Im t| < pi/4 and decays on both sides: the trapezoidal rule errs
// by about exp(-2 pi (pi/4) / step) < 1e-22, the lower end by x exp(-39).
// (Where x is so large that this counts, x^2/2 swallows it.)
double TailIntegral(double x, double mu) {
  constexpr double kStep = 3.0 / 32;
  constexpr int kFirst = -416;  // t = -39
  constexpr int kLast = 27;     // s = 12.6
  double sum = 0;
  for (int i = kFirst; i <= kLast; ++i) {
    const double s = std::exp(i * kStep);
    sum += s * std::exp(-s * (x + s / 2)) * -std::expm1(-mu * s);
  }
  return kStep * sum;
}

// log delta; x >= -1.
double LogDelta(double x, double mu) {
  return std::log(TailIntegral(x, mu)) - x * x / 2 - kHalfLogTwoPi;
}

// log (1 - delta); -mu/2 <= x <= 1/2.
double LogComplement(double x, double mu) {
  return std::log(TailIntegral(-x, kInfinity) +
                  TailIntegral(x + mu, kInfinity)) -
         x * x / 2 - kHalfLogTwoPi;
}

// Excess of delta(x) over delta: if not positive, then delta(x) <= delta. A
// difference of logarithms: of delta if delta is below 1/2, of 1 - delta
// otherwise, since 1 - delta then has the digits. Decreases in x. The margin
// bounds the error: 444 positive terms of a sum, and logarithms of the size of
// x^2 and `target`.
class GaussianExcess {
 public:
  GaussianExcess(double mu, double delta)
      : mu_(mu),
        upper_half_(delta >= 0.5),
        target_(upper_half_ ? std::log1p(-delta) : std::log(delta)) {}

  double operator()(double x) const {
    const double margin = 1.2e-13 + 2 * kUnit * (x * x + std::abs(target_));
    return margin + (upper_half_ ? target_ - LogComplement(x, mu_)
                                 : LogDelta(x, mu_) - target_);
  }
  // Point at which delta(x) is surely too large: 1 - delta(x) <= 2 Phi(x),
  // which is below 0.32 at -1 and below every 1 - delta that a double can hold
  // at -9.
  double Low() const { return std::max(-mu_ / 2, upper_half_ ? -9.0 : -1.0); }
  // Point at which delta(x) is surely small enough: delta(x) <= Phi(-x), which
  // is at most exp(-x^2/2) / 2.
  double High() const { return upper_half_ ? 0.5 : std::sqrt(-2 * target_); }

 private:
  const double mu_;
  const bool upper_half_;
  const double target_;
};

// The upper end of a bracket of the root, of relative (below 1: absolute) width
// 1e-14. False position with the Illinois rule, bisection if it is slow.
double RootFromAbove(const GaussianExcess& excess, double low, double high) {
  double at_low = excess(low), at_high = excess(high);
  int side = 0;  // the end that moved last: -1 low, 1 high
  for (int step = 0; step < 200; ++step) {
    const double width = 1e-14 * std::max(1.0, std::abs(high));
    if (high - low <= width) break;
    const double secant = (low * at_high - high * at_low) / (at_high - at_low);
    const double x = step < 40
                         ? std::clamp(secant, low + width / 2, high - width / 2)
                         : low + (high - low) / 2;
    const double at_x = excess(x);
    if (at_x > 0) {
      if (side == -1) at_high /= 2;
      low = x, at_low = at_x, side = -1;
    } else {
      if (side == 1) at_low /= 2;
      high = x, at_high = at_x, side = 1;
    }
  }
  return high;
}

// --- The best Renyi order --------------------------------------------------

// With a = alpha - 1 and l = log(1/delta), Proposition 12 reads
//   g(a) = rho (1 + a) + (l - log(1+a))/a - log(1 + 1/a),
//   g'(a) = rho - (l - log(1+a))/a^2,
// so the minimum is where rho a^2 + log(1+a) = l. The left side increases:
// there is one such a, and bisection finds it.
double BestOrderMinusOne(double rho, double l) {
  // One of the two terms is at least l/2, and neither exceeds l.
  double low = std::min(std::sqrt(l / 2) / std::sqrt(rho), std::expm1(l / 2));
  double high = std::min(std::sqrt(l) / std::sqrt(rho), std::expm1(l));
  for (int step = 0; step < 100 && high > low * (1 + 4 * kUnit); ++step) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (rho * middle * middle + std::log1p(middle) < l ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::string_view NameOf(Conversion conversion) {
  return NameIn(kConversionNames, conversion);
}
std::string_view NameOf(Adjacency adjacency) {
  return NameIn(kAdjacencyNames, adjacency);
}
std::optional<Conversion> ConversionOfName(std::string_view name) {
  return EnumOfName(kConversionNames, name);
}
std::optional<Adjacency> AdjacencyOfName(std::string_view name) {
  return EnumOfName(kAdjacencyNames, name);
}

absl::StatusOr<EpsilonAtOrder> EpsilonRdp(double mu_squared, double delta) {
  DPNMF_RETURN_IF_ERROR(CheckArguments(mu_squared, delta));
  if (mu_squared == 0) return EpsilonAtOrder{0, kInfinity};
  const double rho = std::max(mu_squared, kSmallestMuSquared) / 2;
  const double l = -std::log(delta);
  // rho + 2 sqrt(rho l) at alpha = 1 + sqrt(l / rho): Bun and Steinke 2016,
  // Proposition 1.3.
  const double epsilon = rho + 2 * std::sqrt(rho) * std::sqrt(l);
  return EpsilonAtOrder{epsilon * (1 + 8 * kUnit),
                        1 + std::sqrt(l) / std::sqrt(rho)};
}

absl::StatusOr<EpsilonAtOrder> EpsilonRdpOptimal(double mu_squared,
                                                 double delta) {
  DPNMF_RETURN_IF_ERROR(CheckArguments(mu_squared, delta));
  if (mu_squared == 0) return EpsilonAtOrder{0, kInfinity};
  const double rho = std::max(mu_squared, kSmallestMuSquared) / 2;
  const double l = -std::log(delta);
  // g(a) above: a valid epsilon at every a > 0, so an a that is slightly off
  // errs upward alone.
  const double a = BestOrderMinusOne(rho, l);
  const double log_order = std::log1p(a);
  const double drop = std::log1p(1 / a);
  const double epsilon = rho + rho * a + (l - log_order) / a - drop;
  const double error = 4 * kUnit * (rho + rho * a + (l + log_order) / a + drop);
  return EpsilonAtOrder{std::max(0.0, epsilon + error), 1 + a};
}

absl::StatusOr<double> EpsilonGaussian(double mu_squared, double delta) {
  DPNMF_RETURN_IF_ERROR(CheckArguments(mu_squared, delta));
  if (mu_squared == 0) return 0.0;
  const double rho = std::max(mu_squared, kSmallestMuSquared) / 2;
  const double mu = std::sqrt(2 * rho);
  const GaussianExcess excess(mu, delta);
  if (excess(excess.Low()) <= 0) return 0.0;
  const double x = RootFromAbove(excess, excess.Low(), excess.High());
  return std::max(0.0, rho + mu * x + 4 * kUnit * (rho + mu * std::abs(x)));
}

absl::StatusOr<double> Epsilon(Conversion conversion, double mu_squared,
                               double delta) {
  switch (conversion) {
    case Conversion::kRdp: {
      DPNMF_ASSIGN_OR_RETURN(const EpsilonAtOrder rdp,
                             EpsilonRdp(mu_squared, delta));
      return rdp.epsilon;
    }
    case Conversion::kRdpOptimal: {
      DPNMF_ASSIGN_OR_RETURN(const EpsilonAtOrder rdp,
                             EpsilonRdpOptimal(mu_squared, delta));
      return rdp.epsilon;
    }
    case Conversion::kGaussian:
      return EpsilonGaussian(mu_squared, delta);
  }
  return absl::InternalError("unknown conversion");
}

absl::StatusOr<double> Epsilon(Conversion conversion, MuSquared cost,
                               double delta) {
  return Epsilon(conversion, cost.ToDoubleUp(), delta);
}

absl::StatusOr<Epsilons> AllEpsilons(MuSquared cost, double delta) {
  const double mu_squared = cost.ToDoubleUp();
  DPNMF_ASSIGN_OR_RETURN(const EpsilonAtOrder rdp,
                         EpsilonRdp(mu_squared, delta));
  DPNMF_ASSIGN_OR_RETURN(const EpsilonAtOrder optimal,
                         EpsilonRdpOptimal(mu_squared, delta));
  DPNMF_ASSIGN_OR_RETURN(const double gaussian,
                         EpsilonGaussian(mu_squared, delta));
  return Epsilons{.delta = delta,
                  .rdp = rdp.epsilon,
                  .rdp_optimal = optimal.epsilon,
                  .gaussian = gaussian,
                  .rdp_order = rdp.order,
                  .rdp_optimal_order = optimal.order};
}

namespace {

// About the cost whose epsilon is `epsilon`: a secant through log epsilon as a
// function of log mu^2, which is nearly straight. Within a relative 2^-40, or
// 0.
double CostNear(Conversion conversion, double epsilon, double delta,
                double start) {
  const auto excess = [&](double log_cost) {
    return std::log(Epsilon(conversion, std::exp(log_cost), delta).value() /
                    epsilon);
  };
  constexpr double kLargestLogCost = 9;  // mu^2 stays below 2^13
  double x = std::log(start), slope = 0.7;
  double last_x = x, last_y = 0;
  for (int step = 0; step < 16; ++step) {
    const double y = excess(x);
    // Gives up at a cost that delta covers without any epsilon.
    if (!std::isfinite(y)) return 0;
    if (step > 0 && x != last_x) slope = (y - last_y) / (x - last_x);
    if (!(slope > 0.1 && slope < 10)) return 0;
    last_x = x;
    last_y = y;
    const double move = std::clamp(-y / slope, -2.0, 2.0);
    x = std::min(x + move, kLargestLogCost);
    if (std::abs(move) < 1e-13) return std::exp(x);
  }
  return 0;
}

}  // namespace

absl::StatusOr<MuSquared> LargestCost(Conversion conversion, double epsilon,
                                      double delta) {
  if (!(epsilon > 0 && epsilon <= kLargestEpsilon)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "epsilon-out-of-range",
                   "`epsilon` must be above 0 and at most 1000; usual values "
                   "are up to 10.");
  }
  DPNMF_RETURN_IF_ERROR(CheckDelta(delta));
  // Arguments are in range, so Epsilon cannot fail: mu^2 stays below 2^13.
  const auto fits = [&](Uint128 units) {
    return Epsilon(conversion, MuSquared::FromUnits(units), delta).value() <=
           epsilon;
  };
  // Cost for which `rdp` gives epsilon; the other conversions allow more:
  // sqrt(rho) = sqrt(l + epsilon) - sqrt(l).
  const double l = -std::log(delta);
  const double root = epsilon / (std::sqrt(l + epsilon) + std::sqrt(l));
  const double start = 2 * root * root;
  // Bisection, of which most answers are known: epsilon rises with the cost,
  // by more than it is rounded by over a relative 2^-36. The result is the one
  // of the bisection alone.
  Uint128 fitting = 0, exceeding = ~Uint128{0};
  const auto is_good = [&](Uint128 units) {
    return units <= fitting || (units < exceeding && fits(units));
  };
  if (const double near = CostNear(conversion, epsilon, delta, start);
      near > 0) {
    const Uint128 units = MuSquared::RoundUp(near).value().units();
    const Uint128 margin = (units >> 36) + 4;
    if (units > margin && fits(units - margin)) fitting = units - margin;
    if (!fits(units + margin)) exceeding = units + margin;
  }
  Uint128 good = 0;
  Uint128 bad = MuSquared::RoundUp(start).value().units() + 1;
  while (is_good(bad)) good = std::exchange(bad, 2 * bad);
  // Finer than a relative 2^-46 there is nothing but rounding.
  while (bad - good > 1 + (good >> 46)) {
    const Uint128 middle = good + (bad - good) / 2;
    (is_good(middle) ? good : bad) = middle;
  }
  // Asked itself, whatever was taken for known.
  while (good > 0 && !fits(good)) good -= 1 + (good >> 46);
  return MuSquared::FromUnits(good);
}

double RdpAtOrder(MuSquared cost, double order) {
  return order * cost.ToDoubleUp() / 2;
}

double LogDeltaGaussian(double mu, double epsilon) {
  const double x = epsilon / mu - mu / 2;
  if (x >= -1) return LogDelta(x, mu);
  return std::log1p(-std::exp(LogComplement(x, mu)));
}

}  // namespace dpnmf
