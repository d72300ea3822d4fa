#include "client/session/account.h"

#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/privacy/accounting.h"

namespace dpnmf::cli {
namespace {

// T / Z^2, rounded up: formed in long double, whose error is far below a
// double's, and moved up to the next double unless it is one.
double MuSquaredOf(std::uint32_t releases, double noise_multiplier) {
  const long double z = noise_multiplier;
  const long double exact = releases / (z * z);
  const auto nearest = static_cast<double>(exact);
  return nearest >= exact
             ? nearest
             : std::nextafter(nearest, std::numeric_limits<double>::infinity());
}

}  // namespace

absl::StatusOr<v1::AccountReport> Account(std::uint32_t releases,
                                          double noise_multiplier,
                                          double delta) {
  if (releases < 1) {
    return Refusal(absl::StatusCode::kInvalidArgument, "releases-out-of-range",
                   "`--releases` must be 1 or more.");
  }
  if (!(noise_multiplier > 0 && std::isfinite(noise_multiplier))) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "noise-multiplier-out-of-range",
                   "`--noise-multiplier` must be finite and above 0.");
  }
  const double mu_squared = MuSquaredOf(releases, noise_multiplier);
  DPNMF_ASSIGN_OR_RETURN(const auto rdp, EpsilonRdp(mu_squared, delta));
  DPNMF_ASSIGN_OR_RETURN(const auto optimal,
                         EpsilonRdpOptimal(mu_squared, delta));
  DPNMF_ASSIGN_OR_RETURN(const double gaussian,
                         EpsilonGaussian(mu_squared, delta));
  v1::AccountReport report;
  report.set_releases(releases);
  report.set_noise_multiplier(noise_multiplier);
  // To the nearest: no bound hangs on them.
  const long double z = noise_multiplier;
  const auto nearest = static_cast<double>(releases / (z * z));
  report.set_mu(std::sqrt(nearest));
  report.set_rho(nearest / 2);
  v1::Epsilons* epsilon = report.mutable_epsilon();
  epsilon->set_delta(delta);
  epsilon->set_rdp(rdp.epsilon);
  epsilon->set_rdp_optimal(optimal.epsilon);
  epsilon->set_gaussian(gaussian);
  epsilon->set_rdp_order(rdp.order);
  epsilon->set_rdp_optimal_order(optimal.order);
  return report;
}

}  // namespace dpnmf::cli
