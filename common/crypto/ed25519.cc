#include "common/crypto/ed25519.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dpnmf {
namespace {

void RequireSignature(bool ok) {
  if (ok) return;
  std::fputs("dpnmf: OpenSSL cannot make an Ed25519 signature; stopping\n",
             stderr);
  std::abort();
}

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyDeleter>;
struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;
struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

const unsigned char* Data(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Bio Reader(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string Written(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

bool IsEd25519(const Key& key) {
  return key != nullptr && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519;
}

std::optional<PublicKey> PublicPartOf(const Key& key) {
  PublicKey part{};
  std::size_t size = part.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), part.data(), &size) != 1 ||
      size != part.size()) {
    return std::nullopt;
  }
  return part;
}

Key KeyOf(const PublicKey& key) {
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(),
                                         key.size()));
}

// No file asks a terminal for a password.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

struct SigningKey::State {
  Key key;
};

SigningKey::SigningKey(std::unique_ptr<State> state)
    : state_(std::move(state)) {
  const auto part = PublicPartOf(state_->key);
  RequireSignature(part.has_value());
  public_key_ = *part;
}
SigningKey::~SigningKey() = default;
SigningKey::SigningKey(SigningKey&& other) noexcept = default;

SigningKey SigningKey::Generate() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  RequireSignature(key != nullptr);
  return SigningKey(std::make_unique<State>(State{std::move(key)}));
}

std::optional<SigningKey> SigningKey::FromPem(std::string_view pem) {
  const Bio bio = Reader(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!IsEd25519(key)) return std::nullopt;
  return SigningKey(std::make_unique<State>(State{std::move(key)}));
}

std::string SigningKey::Pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  RequireSignature(PEM_write_bio_PrivateKey(bio.get(), state_->key.get(),
                                            nullptr, nullptr, 0, nullptr,
                                            nullptr) == 1);
  return Written(bio);
}

Signature SigningKey::Sign(std::span<const std::byte> message) const {
  const Context context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t size = signature.size();
  RequireSignature(context != nullptr &&
                   EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr,
                                      state_->key.get()) == 1 &&
                   EVP_DigestSign(context.get(), signature.data(), &size,
                                  Data(message), message.size()) == 1 &&
                   size == signature.size());
  return signature;
}

bool Verify(const PublicKey& key, std::span<const std::byte> message,
            const Signature& signature) {
  const Key public_key = KeyOf(key);
  const Context context(EVP_MD_CTX_new());
  return public_key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr,
                              public_key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                          Data(message), message.size()) == 1;
}

std::string PemOf(const PublicKey& key) {
  const Key public_key = KeyOf(key);
  const Bio bio(BIO_new(BIO_s_mem()));
  RequireSignature(public_key != nullptr &&
                   PEM_write_bio_PUBKEY(bio.get(), public_key.get()) == 1);
  return Written(bio);
}

std::optional<PublicKey> PublicKeyOfPem(std::string_view pem) {
  const Bio bio = Reader(pem);
  const Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, NoPassword, nullptr));
  if (!IsEd25519(key)) return std::nullopt;
  return PublicPartOf(key);
}

}  // namespace dpnmf
