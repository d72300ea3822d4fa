#include "curator/serve/receipt_signer.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"

namespace dpnmf::curator {
namespace {

constexpr char kKeyName[] = "receipt.key";
constexpr char kPublicName[] = "receipt.pub";

absl::Status WriteFile(const std::string& directory, const std::string& name,
                       const std::string& content) {
  DPNMF_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(directory, name));
  DPNMF_RETURN_IF_ERROR(file.Write(content));
  return file.PublishAs(name);
}

absl::StatusOr<SigningKey> ReadOrMakeKey(const std::string& data_dir) {
  const absl::StatusOr<std::string> pem =
      ReadFile(absl::StrCat(data_dir, "/", kKeyName), kSettingsFileLimit);
  if (absl::IsNotFound(pem.status())) {
    SigningKey key = SigningKey::Generate();
    DPNMF_RETURN_IF_ERROR(WriteFile(data_dir, kKeyName, key.Pem()));
    return key;
  }
  if (!pem.ok()) return pem.status();
  std::optional<SigningKey> key = SigningKey::FromPem(*pem);
  if (key.has_value()) return *std::move(key);
  return Refusal(absl::StatusCode::kDataLoss, "receipt-key-damaged",
                 absl::StrCat("`", data_dir, "/", kKeyName,
                              "` is not an Ed25519 key: restore it from a "
                              "backup, so that earlier receipts stay valid."));
}

}  // namespace

absl::StatusOr<ReceiptSigner> ReceiptSigner::Open(const std::string& data_dir,
                                                  const Ledger* ledger) {
  DPNMF_ASSIGN_OR_RETURN(SigningKey key, ReadOrMakeKey(data_dir));
  const std::string pem = PemOf(key.public_key());
  const auto known =
      ReadFile(absl::StrCat(data_dir, "/", kPublicName), kSettingsFileLimit);
  if (!known.ok() || *known != pem)
    DPNMF_RETURN_IF_ERROR(WriteFile(data_dir, kPublicName, pem));
  return ReceiptSigner(std::move(key), ledger);
}

absl::StatusOr<v1::Receipt> ReceiptSigner::ReceiptOf(
    std::uint64_t sequence, const std::optional<Digest>& release) const {
  DPNMF_ASSIGN_OR_RETURN(const LedgerRow row, ledger_->RowAt(sequence));
  v1::Receipt receipt = curator::ReceiptOf(ledger_->id(), row);
  if (const auto since = ledger_->VoidBefore(row.population, row.sequence);
      since.has_value()) {
    receipt.set_void_since(*since);
  }
  if (release.has_value())
    receipt.set_release_sha256(release->data(), release->size());
  Sign(key_, &receipt);
  return receipt;
}

std::string ReceiptSigner::MarkOf(const LedgerRow& row,
                                  std::int64_t void_since) const {
  v1::Receipt receipt = curator::ReceiptOf(ledger_->id(), row);
  receipt.set_void_since(void_since);
  Sign(key_, &receipt);
  return receipt.void_signature();
}

v1::Receipt ReceiptOf(const std::string& ledger_id, const LedgerRow& row) {
  v1::Receipt receipt;
  receipt.set_ledger_id(ledger_id);
  receipt.set_sequence(row.sequence);
  receipt.set_row_hash(row.hash.data(), row.hash.size());
  receipt.set_population(row.population);
  receipt.set_dataset(row.dataset);
  receipt.set_identity(row.identity);
  receipt.set_run_id(row.run_id);
  receipt.set_round(row.round);
  receipt.set_mechanism(row.mechanism);
  *receipt.mutable_charged() = ToProto(row.cost);
  return receipt;
}

}  // namespace dpnmf::curator
