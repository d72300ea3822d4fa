#include "common/wire/receipt.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/read_file.h"
#include "common/wire/json.h"
#include "google/protobuf/util/json_util.h"

namespace dpnmf {
namespace {

constexpr std::string_view kWhatItIs = "dpnmf receipt 1";
constexpr std::size_t kLongestLine = 64 * 1024;

std::vector<std::byte> Message(std::string_view what, const Digest& digest) {
  std::vector<std::byte> bytes;
  for (const char c : what) bytes.push_back(static_cast<std::byte>(c));
  for (const std::uint8_t b : digest) bytes.push_back(std::byte{b});
  return bytes;
}

// "dpnmf receipt 1", then SHA-256 of the fields: strings with their length in
// front, integers as eight bytes, so that different receipts differ.
std::vector<std::byte> SignedBytes(const v1::Receipt& receipt) {
  const Digest digest = Sha256()
                            .AddString(receipt.ledger_id())
                            .AddInteger(receipt.sequence())
                            .AddString(receipt.row_hash())
                            .AddString(receipt.population())
                            .AddString(receipt.dataset())
                            .AddString(receipt.identity())
                            .AddString(receipt.run_id())
                            .AddInteger(receipt.round())
                            .AddString(receipt.mechanism())
                            .AddString(receipt.charged().units())
                            .Finish();
  return Message(kWhatItIs, digest);
}

// "dpnmf receipt void 1", then SHA-256 of the first signature and the time.
std::vector<std::byte> MarkBytes(const v1::Receipt& receipt) {
  return Message(
      "dpnmf receipt void 1",
      Sha256()
          .AddString(receipt.signature())
          .AddInteger(static_cast<std::uint64_t>(receipt.void_since()))
          .Finish());
}

// "dpnmf release 1", then SHA-256 of the first signature and the digest.
std::vector<std::byte> ReleaseBytes(const v1::Receipt& receipt) {
  return Message("dpnmf release 1", Sha256()
                                        .AddString(receipt.signature())
                                        .AddString(receipt.release_sha256())
                                        .Finish());
}

template <typename Array>
std::optional<Array> ArrayOf(const std::string& bytes) {
  Array array{};
  if (bytes.size() != array.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

bool MarkIsGood(const PublicKey& key, const v1::Receipt& receipt) {
  if (!receipt.has_void_since()) return receipt.void_signature().empty();
  const auto mark = ArrayOf<Signature>(receipt.void_signature());
  return mark.has_value() && Verify(key, MarkBytes(receipt), *mark);
}

bool ReleaseIsGood(const PublicKey& key, const v1::Receipt& receipt) {
  if (receipt.release_sha256().empty())
    return receipt.release_signature().empty();
  const auto signature = ArrayOf<Signature>(receipt.release_signature());
  return receipt.release_sha256().size() == sizeof(Digest) &&
         signature.has_value() &&
         Verify(key, ReleaseBytes(receipt), *signature);
}

}  // namespace

void Sign(const SigningKey& key, v1::Receipt* receipt) {
  const Signature signature = key.Sign(SignedBytes(*receipt));
  receipt->set_public_key(key.public_key().data(), key.public_key().size());
  receipt->set_signature(signature.data(), signature.size());
  if (receipt->has_void_since()) {
    const Signature mark = key.Sign(MarkBytes(*receipt));
    receipt->set_void_signature(mark.data(), mark.size());
  }
  if (!receipt->release_sha256().empty()) {
    const Signature release = key.Sign(ReleaseBytes(*receipt));
    receipt->set_release_signature(release.data(), release.size());
  }
}

absl::StatusOr<PublicKey> ReadReceiptKey(const std::string& path) {
  const auto pem = ReadFile(path, kSettingsFileLimit);
  if (!pem.ok()) {
    return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                   absl::StrCat("The file ", path, " cannot be read."));
  }
  const auto key = PublicKeyOfPem(*pem);
  if (key.has_value()) return *key;
  return Refusal(absl::StatusCode::kInvalidArgument, "receipt-key-malformed",
                 absl::StrCat(path,
                              " is not an Ed25519 public key in PEM; ask the "
                              "curator's operator for receipt.pub."));
}

std::optional<PublicKey> KeyOf(const v1::Receipt& receipt) {
  return ArrayOf<PublicKey>(receipt.public_key());
}

absl::Status CheckReceipt(const v1::Receipt& receipt) {
  const auto key = KeyOf(receipt);
  const auto signature = ArrayOf<Signature>(receipt.signature());
  if (key.has_value() && signature.has_value() &&
      receipt.row_hash().size() == sizeof(Digest) &&
      Verify(*key, SignedBytes(receipt), *signature) &&
      MarkIsGood(*key, receipt) && ReleaseIsGood(*key, receipt)) {
    return absl::OkStatus();
  }
  return Refusal(
      absl::StatusCode::kDataLoss, "receipt-invalid",
      absl::StrCat(
          "The receipt of round ", receipt.round(), " of run ",
          receipt.run_id(),
          " is not signed by the key that it names, so it proves nothing."));
}

std::string LineOf(const v1::Receipt& receipt) {
  return ToJsonLine(receipt) + "\n";
}

absl::StatusOr<std::vector<v1::Receipt>> ParseReceipts(std::string_view text) {
  std::vector<v1::Receipt> receipts;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    const std::string_view json = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (json.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    v1::Receipt receipt;
    if (json.size() > kLongestLine ||
        !google::protobuf::util::JsonStringToMessage(std::string(json),
                                                     &receipt)
             .ok()) {
      return Refusal(absl::StatusCode::kInvalidArgument, "receipt-malformed",
                     absl::StrCat("Line ", line,
                                  " is not a receipt; give a file that `dpnmf "
                                  "receipts export` wrote."));
    }
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

}  // namespace dpnmf
