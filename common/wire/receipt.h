// Receipts: what is signed, and whether a signature is good.
#ifndef DPNMF_COMMON_WIRE_RECEIPT_H_
#define DPNMF_COMMON_WIRE_RECEIPT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/ed25519.h"
#include "dpnmf/v1/receipt.pb.h"

namespace dpnmf {

// Puts the key's public part and its signature over all other fields.
void Sign(const SigningKey& key, v1::Receipt* receipt);

// Checks that the receipt is well formed and signed by the key that it names:
// DATA_LOSS "receipt-invalid". Does not check whose key that is.
absl::Status CheckReceipt(const v1::Receipt& receipt);

// The public key in a file (PEM, as the curator writes receipt.pub). NOT_FOUND
// "file-not-found", INVALID_ARGUMENT "receipt-key-malformed".
absl::StatusOr<PublicKey> ReadReceiptKey(const std::string& path);

// The key that the receipt names. Nothing if it is none.
std::optional<PublicKey> KeyOf(const v1::Receipt& receipt);

// One receipt a line, as JSON.
std::string LineOf(const v1::Receipt& receipt);
// The receipts of a file that LineOf made, empty lines aside. INVALID_ARGUMENT
// "receipt-malformed" with the number of the first line that is no receipt.
// Signatures are not looked at.
absl::StatusOr<std::vector<v1::Receipt>> ParseReceipts(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_RECEIPT_H_
