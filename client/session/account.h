// The privacy calculator: the epsilons of repeated Gaussian releases.
#ifndef DPNMF_CLIENT_SESSION_ACCOUNT_H_
#define DPNMF_CLIENT_SESSION_ACCOUNT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

// `releases` Gaussian releases, each with a standard deviation of
// noise_multiplier times its L2 sensitivity: mu^2 = T / Z^2, rho = mu^2 / 2.
// INVALID_ARGUMENT "releases-out-of-range" (1 or more),
// "noise-multiplier-out-of-range" (finite and above 0), and the errors of
// common/privacy/accounting.h.
absl::StatusOr<v1::AccountReport> Account(std::uint32_t releases,
                                          double noise_multiplier,
                                          double delta);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_ACCOUNT_H_
