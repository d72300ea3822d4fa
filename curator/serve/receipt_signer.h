// The curator's word for each charge: receipts signed with a key that lies with
// the data.
//
// DATA_DIR/receipt.key (PKCS#8, readable by its owner alone) is drawn at the
// first start; DATA_DIR/receipt.pub is its public part, for the operator to
// hand to whoever shall check receipts.
#ifndef DPNMF_CURATOR_SERVE_RECEIPT_SIGNER_H_
#define DPNMF_CURATOR_SERVE_RECEIPT_SIGNER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/crypto/ed25519.h"
#include "common/crypto/sha256.h"
#include "curator/ledger/ledger.h"
#include "dpnmf/v1/receipt.pb.h"

namespace dpnmf::curator {

// Thread-safe. The ledger must outlive it.
class ReceiptSigner {
 public:
  // One process at a time (the ledger's lock sees to it). DATA_LOSS
  // "receipt-key-damaged"; UNAVAILABLE "storage-failed".
  static absl::StatusOr<ReceiptSigner> Open(const std::string& data_dir,
                                            const Ledger* ledger);

  // Receipt of a charge: a function of its row, the key and the digest of the
  // release (common/wire/release.h; none if the release is lost), the same at
  // every call. Errors of Ledger::RowAt.
  absl::StatusOr<v1::Receipt> ReceiptOf(
      std::uint64_t sequence,
      const std::optional<Digest>& release = std::nullopt) const;
  // `void_signature` of the row's receipt with `void_since` in it, which the
  // population's guarantee has.
  std::string MarkOf(const LedgerRow& row, std::int64_t void_since) const;
  // Signs bytes that begin with a domain of their own, other than a receipt's.
  Signature SignBytes(std::span<const std::byte> bytes) const {
    return key_.Sign(bytes);
  }
  const PublicKey& public_key() const { return key_.public_key(); }

 private:
  ReceiptSigner(SigningKey key, const Ledger* ledger)
      : key_(std::move(key)), ledger_(ledger) {}
  SigningKey key_;
  const Ledger* ledger_;
};

// Receipt of a row, unsigned and without the mark of a void guarantee.
v1::Receipt ReceiptOf(const std::string& ledger_id, const LedgerRow& row);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_RECEIPT_SIGNER_H_
