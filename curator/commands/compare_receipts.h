// Receipts that others hold, against the ledger.
#ifndef DPNMF_CURATOR_COMMANDS_COMPARE_RECEIPTS_H_
#define DPNMF_CURATOR_COMMANDS_COMPARE_RECEIPTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

// How many receipts the file holds, if each is signed with the key of
// `data_dir` and is for a row of the ledger as it says. DATA_LOSS
// "receipt-not-in-ledger" names the first row that the ledger lacks or has
// otherwise; DATA_LOSS "receipt-invalid" (signature), FAILED_PRECONDITION
// "receipt-key-differs" (signed with another key), INVALID_ARGUMENT
// "receipt-malformed", NOT_FOUND "file-missing", DATA_LOSS
// "receipt-key-damaged".
absl::StatusOr<std::uint64_t> CompareReceipts(
    const std::string& file, const std::string& data_dir,
    const std::vector<LedgerRow>& rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_COMPARE_RECEIPTS_H_
