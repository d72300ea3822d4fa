// From mu^2 to (epsilon, delta) and back: Gaussian accounting.
//
// A composition of Gaussian mechanisms with parameters mu_t is sqrt(sum mu_t^2)
// Gaussian DP; it is rho-zCDP with rho = mu^2 / 2, and its Renyi divergence of
// order alpha is alpha mu^2 / 2. Three conversions to (epsilon, delta):
//
//   rdp          rho + 2 sqrt(rho log(1/delta))
//                Bun and Steinke 2016, Prop. 1.3; the paper's.
//   rdp_optimal  min over alpha > 1 of
//                rho alpha + (log(1/delta) + (alpha-1) log(1-1/alpha) - log
//                alpha)/(alpha-1) Canonne, Kamath and Steinke 2020, arXiv
//                2004.00010, Prop. 12.
//   gaussian     the epsilon with
//                Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2) = delta
//                Balle and Wang 2018, Theorem 8: exact.
//
// Every epsilon is max(0, .), 0 for mu = 0, and rounded up: never below the
// true value, and above it by at most 1e-12 * max(epsilon, mu), which is a
// relative 1e-12 wherever epsilon is not close to 0. (mu^2 below 1e-300 counts
// as 1e-300.) docs/reference/accounting.md has the argument. All functions are
// pure and thread-safe.
#ifndef DPNMF_COMMON_PRIVACY_ACCOUNTING_H_
#define DPNMF_COMMON_PRIVACY_ACCOUNTING_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/privacy/mu_squared.h"

namespace dpnmf {

enum class Conversion { kRdp, kRdpOptimal, kGaussian };
// The relation between neighbouring data sets. kOneRating: one rating of one
// person is added, removed or given another value; for ratings alone.
enum class Adjacency { kReplaceOne, kAddRemoveOne, kOneRating };

// "rdp", "rdp_optimal", "gaussian"; "replace_one", "add_remove_one",
// "one_rating".
std::string_view NameOf(Conversion conversion);
std::string_view NameOf(Adjacency adjacency);
std::optional<Conversion> ConversionOfName(std::string_view name);
std::optional<Adjacency> AdjacencyOfName(std::string_view name);

struct EpsilonAtOrder {
  double epsilon;
  double order;  // the Renyi order at which it is attained; infinity for mu = 0
};

// mu_squared in [0, 1e15], delta in (0, 1), else INVALID_ARGUMENT
// ("mu-out-of-range", "delta-out-of-range"). NaN is refused.
absl::StatusOr<EpsilonAtOrder> EpsilonRdp(double mu_squared, double delta);
absl::StatusOr<EpsilonAtOrder> EpsilonRdpOptimal(double mu_squared,
                                                 double delta);
absl::StatusOr<double> EpsilonGaussian(double mu_squared, double delta);

absl::StatusOr<double> Epsilon(Conversion conversion, double mu_squared,
                               double delta);
// The same for a ledger cost (read with MuSquared::ToDoubleUp).
absl::StatusOr<double> Epsilon(Conversion conversion, MuSquared cost,
                               double delta);

// All three together, as every reading shows them.
struct Epsilons {
  double delta;
  double rdp;
  double rdp_optimal;
  double gaussian;
  double rdp_order;
  double rdp_optimal_order;
};
absl::StatusOr<Epsilons> AllEpsilons(MuSquared cost, double delta);

// The largest cost whose epsilon at `delta` does not exceed `epsilon`, rounded
// down: Epsilon(conversion, result, delta) <= epsilon, and the result is at
// most a relative 1e-10 below the true one. epsilon in (0, 1000], delta in (0,
// 1), else INVALID_ARGUMENT ("epsilon-out-of-range", "delta-out-of-range").
absl::StatusOr<MuSquared> LargestCost(Conversion conversion, double epsilon,
                                      double delta);

// Renyi divergence of the given order (> 1) of a cost: order * mu^2 / 2.
double RdpAtOrder(MuSquared cost, double order);

// log of the delta at which mu-Gaussian DP gives epsilon (exact curve), for
// tests and tables. Not rounded to a side. mu > 0, epsilon >= 0.
double LogDeltaGaussian(double mu, double epsilon);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_ACCOUNTING_H_
