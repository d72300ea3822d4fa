#include "curator/session/redact_for_peer.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/log/log.h"

namespace dpnmf::curator {
namespace {

// In order.
constexpr std::string_view kForPeers[] = {
    "adjacency-mismatch",
    "budget-exhausted",
    "busy",
    "cancelled",
    "certificate-expired",
    "certificate-missing",
    "certificate-nameless",
    "certificate-not-yet-valid",
    "certificate-refused",
    "certificate-revoked",
    "certificate-unknown-ca",
    "certificate-wrong-purpose",
    "classes-none",
    "classes-too-large",
    "conversion-mismatch",
    "cost-malformed",
    "dataset-facts-invalid",
    "dataset-not-ready",
    "dataset-unknown",
    "delta-out-of-range",
    "epsilon-out-of-range",
    "federation-key-invalid",
    "federation-key-lost",
    "federation-keys-equal",
    "federation-mechanism",
    "federation-offer-differs",
    "federation-offer-malformed",
    "federation-offers-incomplete",
    "federation-signature-invalid",
    "identity-budget-exhausted",
    "identity-unknown",
    "inner-iterations-out-of-range",
    "item-out-of-range",
    "items-none",
    "lambda-out-of-range",
    "matrix-chunk",
    "matrix-shape",
    "mechanism-mismatch",
    "mechanism-unknown",
    "message-out-of-order",
    "model-out-of-range",
    "moment-rows-out-of-range",
    "mu-out-of-range",
    "noise-out-of-range",
    "numbers-malformed",
    "order-unknown",
    "outlier-bound-out-of-range",
    "overruns-exhausted",
    "partition-differs",
    "plan-invalid",
    "population-differs",
    "population-unknown",
    "profile-directions-out-of-range",
    "rank-out-of-range",
    "ranks-failed",
    "ranks-needed",
    "release-damaged",
    "revocation-list-expired",
    "revocation-list-missing",
    "role-missing",
    "round-differs",
    "round-out-of-order",
    "round-out-of-range",
    "round-overran",
    "rounds-out-of-range",
    "row-weights-malformed",
    "rows-malformed",
    "run-closed",
    "run-differs",
    "run-id-malformed",
    "run-taken-over",
    "run-too-large",
    "run-unknown",
    "session-not-opened",
    "session-opened",
    "share-out-of-range",
    "shutting-down",
    "sums-malformed",
    "sums-only",
    "sums-overflow",
    "token-audience",
    "token-before-start",
    "token-expired",
    "token-lifetime",
    "token-malformed",
    "token-reused",
    "token-signature",
    "token-unrecorded",
    "too-many-calls",
    "too-many-messages",
    "too-many-tokens",
    "too-many-uncharged-runs",
    "too-much-memory",
    "top-out-of-range",
};
static_assert(std::is_sorted(std::begin(kForPeers), std::end(kForPeers)));

}  // namespace

absl::Status RedactForPeer(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  if (code.empty() ||
      std::binary_search(std::begin(kForPeers), std::end(kForPeers), code))
    return status;
  LogError("{}: {}", code, std::string(status.message()));
  return Refusal(status.code(), code,
                 "The curator could not do this: its operator finds the reason "
                 "in the curator's log.");
}

}  // namespace dpnmf::curator
