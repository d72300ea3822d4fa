#include "analyst/curators/receipt_check.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/wire/receipt.h"

namespace dpnmf::analyst {
namespace {

absl::Status KeyChanged(const std::string& dataset) {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "receipt-key-changed",
      absl::StrCat("The curator signs receipts for data set `", dataset,
                   "` with a different key than the one recorded here; ask its "
                   "operator, and if the change is intended, start this server "
                   "with --receipt-key and the new receipt.pub."));
}

absl::Status Missing(std::uint32_t round) {
  return Refusal(
      absl::StatusCode::kDataLoss, "receipt-missing",
      absl::StrCat(
          "The curator gave no receipt for round ", round,
          "; its release is not used. Contact the curator's operator."));
}

std::string BytesOf(const Digest& digest) {
  return std::string(digest.begin(), digest.end());
}

bool IsFor(const v1::Receipt& receipt, const ReceiptedRound& round,
           const RoundResult& result) {
  return receipt.run_id() == round.run_id &&
         receipt.dataset() == round.dataset && receipt.round() == round.round &&
         receipt.row_hash() == result.row_hash &&
         receipt.charged().units() == result.cost.UnitsText() &&
         receipt.population() == result.ledger.population();
}

}  // namespace

absl::Status CheckAnnouncedKey(const std::string& dataset,
                               const OpenedRun& opened, RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> known,
                         store->ReceiptKeyOf(dataset));
  if (known.has_value() && opened.receipt_key != *known)
    return KeyChanged(dataset);
  return absl::OkStatus();
}

absl::Status ReleaseDiffers() {
  return Refusal(absl::StatusCode::kDataLoss, "release-differs",
                 "The released numbers are not those that the curator has "
                 "signed, so they are not used; get them again, or contact the "
                 "curator's operator.");
}

absl::Status CheckRoundReceipt(const ReceiptedRound& round,
                               const RoundResult& result, RunStore* store) {
  if (!result.receipt.has_value()) return Missing(round.round);
  const v1::Receipt& receipt = *result.receipt;
  DPNMF_RETURN_IF_ERROR(CheckReceipt(receipt));
  if (!IsFor(receipt, round, result)) {
    return Refusal(absl::StatusCode::kDataLoss, "receipt-invalid",
                   "The curator's receipt is for a different round than its "
                   "release. Contact the curator's operator.");
  }
  if (round.release.has_value() && !receipt.release_sha256().empty() &&
      receipt.release_sha256() != BytesOf(*round.release)) {
    return ReleaseDiffers();
  }
  DPNMF_ASSIGN_OR_RETURN(
      const std::string known,
      store->RecordReceiptKey(round.dataset, receipt.public_key()));
  return receipt.public_key() == known ? absl::OkStatus()
                                       : KeyChanged(round.dataset);
}

}  // namespace dpnmf::analyst
