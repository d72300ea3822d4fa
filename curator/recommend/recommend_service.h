// RecommendService: one person's list for the operator's front end, on a port
// of its own. Neither the session nor the ledger nor the release gate is
// reached from here: no budget is touched.
//
// A caller needs a certificate of the CA, the role front_end for the data set
// (curator/session/access.h), and a token of the operator's system for exactly
// one person (curator/recommend/token.h). An analyst's identity is refused
// whatever token it has.
#ifndef DPNMF_CURATOR_RECOMMEND_RECOMMEND_SERVICE_H_
#define DPNMF_CURATOR_RECOMMEND_RECOMMEND_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/server/observers.h"
#include "common/server/quota.h"
#include "curator/data/dataset.h"
#include "curator/recommend/recommender.h"
#include "curator/recommend/token.h"
#include "curator/session/access.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace dpnmf::curator {

// The column of a person; nothing if nobody with this id has rated.
using FindPerson =
    std::function<std::optional<std::uint64_t>(std::string_view person)>;

// All pointers outlive the service; observers' may be null.
struct RecommendServiceOptions {
  const Dataset* dataset = nullptr;  // of ratings
  // The refusal of every request while the data set is not verified; may be
  // empty.
  std::function<absl::Status()> check_ready;
  const Recommender* recommender = nullptr;
  FindPerson find;
  TokenGate* tokens = nullptr;
  AccessControl* access = nullptr;
  IdentifyPeer identify;
  // The entry of a call names the front end and the token's `jti`, neither the
  // person nor the list. A list leaves only if its entry could be written.
  // Calls without a token that passes share entries (RefusedCalls).
  Observers observers = {};
  Quota::Limits limits = {};  // of one front end
};

// Thread-safe, as gRPC asks. Refusals: "identity-unknown", "role-missing",
// "dataset-unknown", "dataset-not-ready", "too-many-calls",
// "top-out-of-range", "order-unknown",
// those of TokenGate::Pass and of Recommender::Recommend, "audit-failed". What
// else goes wrong is "internal-error".
std::shared_ptr<grpc::Service> MakeRecommendService(
    RecommendServiceOptions options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RECOMMEND_RECOMMEND_SERVICE_H_
