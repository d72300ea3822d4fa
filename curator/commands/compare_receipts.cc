#include "curator/commands/compare_receipts.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/read_file.h"
#include "common/wire/receipt.h"
#include "curator/serve/receipt_signer.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<PublicKey> PublicKeyIn(const std::string& data_dir) {
  const std::string path = absl::StrCat(data_dir, "/receipt.pub");
  DPNMF_ASSIGN_OR_RETURN(const std::string pem,
                         ReadFile(path, kSettingsFileLimit));
  const auto key = PublicKeyOfPem(pem);
  if (key.has_value()) return *key;
  return Refusal(absl::StatusCode::kDataLoss, "receipt-key-damaged",
                 absl::StrCat("`", path,
                              "` is not an Ed25519 public key; the curator "
                              "writes the file again when it starts."));
}

absl::Status KeyDiffers(const v1::Receipt& receipt) {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "receipt-key-differs",
      absl::StrCat("The receipt for row ", receipt.sequence(),
                   " is signed with another key than this data directory's: "
                   "name the directory that it came from, or restore its "
                   "receipt.key."));
}

absl::Status NotInLedger(const v1::Receipt& receipt, std::size_t rows) {
  return Refusal(
      absl::StatusCode::kDataLoss, "receipt-not-in-ledger",
      absl::StrCat("The ledger has ", rows, " rows, but not row ",
                   receipt.sequence(), ", which the receipt of round ",
                   receipt.round(), " of run ", receipt.run_id(),
                   " names: the ledger was rolled back, replaced or edited. "
                   "Release nothing; restore the ledger that has the row."));
}

// The receipt that would be given for the row now, but for its signature.
bool IsFor(const v1::Receipt& receipt, const std::string& ledger_id,
           const LedgerRow& row) {
  v1::Receipt expected = ReceiptOf(ledger_id, row);
  expected.set_public_key(receipt.public_key());
  expected.set_signature(receipt.signature());
  // A receipt from before the guarantee became void has no mark of it; a mark
  // that is there is signed.
  if (receipt.has_void_since()) {
    expected.set_void_since(receipt.void_since());
    expected.set_void_signature(receipt.void_signature());
  }
  // Takes over the digest of the release too, which the ledger does not have.
  expected.set_release_sha256(receipt.release_sha256());
  expected.set_release_signature(receipt.release_signature());
  return row.kind == RowKind::kCharge &&
         expected.SerializeAsString() == receipt.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::uint64_t> CompareReceipts(
    const std::string& file, const std::string& data_dir,
    const std::vector<LedgerRow>& rows) {
  DPNMF_ASSIGN_OR_RETURN(const PublicKey key, PublicKeyIn(data_dir));
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(file, kListFileLimit));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<v1::Receipt> receipts,
                         ParseReceipts(text));
  for (const v1::Receipt& receipt : receipts) {
    DPNMF_RETURN_IF_ERROR(CheckReceipt(receipt));
    if (KeyOf(receipt) != key) return KeyDiffers(receipt);
    const std::uint64_t sequence = receipt.sequence();
    if (sequence < 1 || sequence > rows.size() ||
        !IsFor(receipt, rows[0].detail, rows[sequence - 1])) {
      return NotInLedger(receipt, rows.size());
    }
  }
  return receipts.size();
}

}  // namespace dpnmf::curator
