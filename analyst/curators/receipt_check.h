// The curator's word for a charge, held to what this analyst knows, before
// anything of the release is used.
//
// The key of a data set's receipts is recorded at the first good one, unless
// the operator has given it (RunStore::GiveReceiptKey); from then on no other
// key counts.
#ifndef DPNMF_ANALYST_CURATORS_RECEIPT_CHECK_H_
#define DPNMF_ANALYST_CURATORS_RECEIPT_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "analyst/curators/curator_connection.h"
#include "analyst/store/run_store.h"
#include "common/crypto/sha256.h"

namespace dpnmf::analyst {

// Before a round is asked for, and so before it is charged: the key that the
// curator announces is the one that is recorded, if one is. FAILED_PRECONDITION
// "receipt-key-changed".
absl::Status CheckAnnouncedKey(const std::string& dataset,
                               const OpenedRun& opened, RunStore* store);

// Round that a receipt is for.
struct ReceiptedRound {
  std::string run_id;
  std::string dataset;
  std::uint32_t round = 0;
  // DigestOfRelease of what came; nothing if the bytes are lost.
  std::optional<Digest> release = std::nullopt;
};

// The receipt is there, signed, for this very charge and what was released for
// it (by curators that sign that), and by the recorded key; records the key if
// none is, durably. DATA_LOSS "receipt-missing", "receipt-invalid",
// "release-differs"; FAILED_PRECONDITION "receipt-key-changed".
absl::Status ReleaseDiffers();
absl::Status CheckRoundReceipt(const ReceiptedRound& round,
                               const RoundResult& result, RunStore* store);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CURATORS_RECEIPT_CHECK_H_
