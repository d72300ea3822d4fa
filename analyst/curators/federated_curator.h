// Several curators as one: a federation is a data set to everything above.
//
// A round asks every curator for its offer, carries all offers to every
// curator, adds the masked releases modulo 2^64 and checks what comes out. The
// sum is that of all people with the noise of all shares; no single release can
// be read. A curator that cannot be reached makes the call UNAVAILABLE, and the
// same round is asked for again; a curator that has lost its key or its bytes
// makes the round lost, charged at all of them.
#ifndef DPNMF_ANALYST_CURATORS_FEDERATED_CURATOR_H_
#define DPNMF_ANALYST_CURATORS_FEDERATED_CURATOR_H_

#include <memory>
#include <vector>

#include "analyst/curators/curator_connection.h"
#include "common/federation/federation.h"

namespace dpnmf::analyst {

// `plain` serves all other data sets; null: there are none. `members`: one
// connection for each member of the federation, in its order. Thread-safe.
//
// The federation's data set: its population has its name; its position is that
// of the curator with the least left, with the chain of the first one, which
// the mirror follows.
//
// Besides the errors of the connections: INVALID_ARGUMENT "plan-differs" (a
// curator plans another run than federation.json says); FAILED_PRECONDITION
// "receipt-key-changed" (a curator announces another key than the pinned one)
// and those of CheckOffers; DATA_LOSS "receipt-missing", "receipt-invalid",
// "release-differs", "federation-sum-malformed" (the sum is not one that the
// plan allows: a curator sent something else).
std::unique_ptr<CuratorConnection> FederateCurators(
    std::unique_ptr<CuratorConnection> plain, Federation federation,
    std::vector<std::unique_ptr<CuratorConnection>> members);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CURATORS_FEDERATED_CURATOR_H_
