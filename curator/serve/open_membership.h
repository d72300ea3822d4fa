// `serve --federation FILE`: this curator's part in a federation, checked
// against its data set and its ledger before anything is served.
#ifndef DPNMF_CURATOR_SERVE_OPEN_MEMBERSHIP_H_
#define DPNMF_CURATOR_SERVE_OPEN_MEMBERSHIP_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "curator/federation/membership.h"
#include "curator/ledger/ledger.h"
#include "curator/serve/receipt_signer.h"
#include "curator/session/catalog.h"

namespace dpnmf::curator {

// Reads the file, finds this curator in it by its receipt key, declares the
// population's second account, and makes the federation's name an alias of the
// data set in `catalog`. The signer outlives the result. Errors of
// ReadFederation, Membership::Create and CheckData; NOT_FOUND
// "dataset-unknown"; FAILED_PRECONDITION "federation-name-taken",
// "population-differs" (the second account was declared with another cap);
// those of the ledger.
absl::StatusOr<std::unique_ptr<Membership>> OpenMembership(
    const std::string& file, Ledger* ledger, const ReceiptSigner& signer,
    Catalog* catalog);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_OPEN_MEMBERSHIP_H_
