#include "curator/federation/masks.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <string_view>

#include "common/base/error.h"
#include "curator/noise/noise_fatal.h"
#include "curator/noise/noise_keystream.h"

namespace dpnmf::curator {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
struct FreeKdf {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

constexpr std::string_view kSalt = "dpnmf federation mask 1";

absl::Status KeyRefused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kFailedPrecondition, code, sentence);
}

void AddText(std::string_view text, std::vector<std::uint8_t>* bytes) {
  for (int i = 0; i < 8; ++i)
    bytes->push_back(static_cast<std::uint8_t>(text.size() >> (8 * i)));
  bytes->insert(bytes->end(), text.begin(), text.end());
}

// Both names, each with its length in front; both keys; the transcript.
std::vector<std::uint8_t> InfoOf(std::string_view first,
                                 const ExchangePublicKey& first_key,
                                 std::string_view second,
                                 const ExchangePublicKey& second_key,
                                 const Digest& transcript) {
  std::vector<std::uint8_t> info;
  AddText(first, &info);
  AddText(second, &info);
  info.insert(info.end(), first_key.begin(), first_key.end());
  info.insert(info.end(), second_key.begin(), second_key.end());
  info.insert(info.end(), transcript.begin(), transcript.end());
  return info;
}

Secret Expand(const Secret& secret, std::vector<std::uint8_t> info) {
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(
      EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  MustHold(kdf != nullptr, "federation: OpenSSL has no HKDF");
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(
      EVP_KDF_CTX_new(kdf.get()));
  MustHold(context != nullptr, "federation: OpenSSL could not make a key");
  std::string digest = "SHA256", salt(kSalt);
  std::array<std::uint8_t, 32> input = secret.bytes();
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, input.data(),
                                        input.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(),
                                        salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(),
                                        info.size()),
      OSSL_PARAM_construct_end()};
  Secret key;
  const int ok = EVP_KDF_derive(context.get(), key.bytes().data(),
                                key.bytes().size(), parameters);
  OPENSSL_cleanse(input.data(), input.size());
  MustHold(ok == 1, "federation: OpenSSL could not derive a key");
  return key;
}

}  // namespace

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Secret::Secret(Secret&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

struct ExchangeKey::State {
  std::unique_ptr<EVP_PKEY, FreeKey> key;
};

ExchangeKey::ExchangeKey(std::unique_ptr<State> state)
    : state_(std::move(state)) {
  std::size_t size = public_key_.size();
  MustHold(EVP_PKEY_get_raw_public_key(state_->key.get(), public_key_.data(),
                                       &size) == 1 &&
               size == public_key_.size(),
           "federation: OpenSSL could not show a public key");
}
ExchangeKey::~ExchangeKey() = default;
ExchangeKey::ExchangeKey(ExchangeKey&& other) noexcept = default;

ExchangeKey ExchangeKey::Generate() {
  std::unique_ptr<EVP_PKEY, FreeKey> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  MustHold(key != nullptr, "federation: OpenSSL could not draw a key");
  return ExchangeKey(std::make_unique<State>(State{std::move(key)}));
}

std::optional<Secret> ExchangeKey::SharedWith(
    const ExchangePublicKey& other) const {
  const std::unique_ptr<EVP_PKEY, FreeKey> peer(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  const std::unique_ptr<EVP_PKEY_CTX, FreeKey> context(
      EVP_PKEY_CTX_new(state_->key.get(), nullptr));
  Secret secret;
  std::size_t size = secret.bytes().size();
  // OpenSSL refuses secrets of zeros too; that is not left to its version.
  if (peer == nullptr || context == nullptr ||
      EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
      EVP_PKEY_derive(context.get(), secret.bytes().data(), &size) != 1 ||
      size != secret.bytes().size() ||
      std::all_of(secret.bytes().begin(), secret.bytes().end(),
                  [](std::uint8_t byte) { return byte == 0; })) {
    return std::nullopt;
  }
  return secret;
}

absl::StatusOr<Masks> Masks::Create(const ExchangeKey& own, std::size_t self,
                                    std::span<const std::string> members,
                                    std::span<const ExchangePublicKey> keys,
                                    const Digest& transcript) {
  if (self >= keys.size() || members.size() != keys.size() ||
      keys[self] != own.public_key()) {
    return KeyRefused("federation-key-lost",
                      "The curator no longer has the key of this offer: ask "
                      "all curators for the round again.");
  }
  Masks masks;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == self) continue;
    if (keys[i] == own.public_key()) {
      return KeyRefused("federation-keys-equal",
                        "Another curator's offer has this curator's key, so "
                        "its masks would hide nothing.");
    }
    const std::optional<Secret> secret = own.SharedWith(keys[i]);
    if (!secret.has_value()) {
      return KeyRefused("federation-key-invalid",
                        "The key of another curator's offer cannot hide "
                        "anything: ask its operator.");
    }
    const std::size_t first = std::min(i, self), second = std::max(i, self);
    masks.pairs_.push_back(
        {self == first,
         Expand(*secret, InfoOf(members[first], keys[first], members[second],
                                keys[second], transcript))});
  }
  return masks;
}

void Masks::AddTo(std::vector<NoisedMatrix>* parts) const {
  for (const Pair& pair : pairs_) {
    KeyStream stream(pair.key.bytes(), /*stream=*/0, /*chunk=*/0);
    for (NoisedMatrix& part : *parts) {
      for (std::int64_t& entry : part.lattice) {
        const std::uint64_t mask = stream.Next();
        const auto value = static_cast<std::uint64_t>(entry);
        entry =
            static_cast<std::int64_t>(pair.adds ? value + mask : value - mask);
      }
    }
  }
}

}  // namespace dpnmf::curator
