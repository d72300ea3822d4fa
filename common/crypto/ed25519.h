// Ed25519 signatures (RFC 8032), by OpenSSL.
#ifndef DPNMF_COMMON_CRYPTO_ED25519_H_
#define DPNMF_COMMON_CRYPTO_ED25519_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dpnmf {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

// A private key. Signing the same bytes gives the same signature. Thread-safe.
// The process stops if OpenSSL cannot draw a key or sign.
class SigningKey {
 public:
  static SigningKey Generate();
  // Returns no key unless `pem` is an unencrypted Ed25519 key (PKCS#8).
  static std::optional<SigningKey> FromPem(std::string_view pem);

  ~SigningKey();
  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&&) = delete;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  std::string Pem() const;
  const PublicKey& public_key() const { return public_key_; }
  Signature Sign(std::span<const std::byte> message) const;

 private:
  struct State;
  explicit SigningKey(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  PublicKey public_key_{};
};

bool Verify(const PublicKey& key, std::span<const std::byte> message,
            const Signature& signature);

// "-----BEGIN PUBLIC KEY-----", as `openssl pkey -pubin` reads it.
std::string PemOf(const PublicKey& key);
// Returns no key unless `pem` is an Ed25519 public key.
std::optional<PublicKey> PublicKeyOfPem(std::string_view pem);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CRYPTO_ED25519_H_
