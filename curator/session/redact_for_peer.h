// Refusals as peers are told them.
#ifndef DPNMF_CURATOR_SESSION_REDACT_FOR_PEER_H_
#define DPNMF_CURATOR_SESSION_REDACT_FOR_PEER_H_

#include "absl/status/status.h"

namespace dpnmf::curator {

// Refusals that are listed are made of the request and of declared facts alone:
// they pass. All others may name the operator's files: a peer gets the code and
// one fixed sentence, the log the rest. What has no code passes too; the wire
// makes it "internal-error".
absl::Status RedactForPeer(const absl::Status& status);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_REDACT_FOR_PEER_H_
