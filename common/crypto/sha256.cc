#include "common/crypto/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace dpnmf {
namespace {

// Hashing only fails for want of memory or a broken OpenSSL: nothing that runs
// on could be trusted.
void RequireHash(bool ok) {
  if (ok) return;
  std::fputs("dpnmf: OpenSSL cannot compute SHA-256; stopping\n", stderr);
  std::abort();
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  RequireHash(state_->context != nullptr &&
              EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

Sha256& Sha256::AddBytes(std::span<const std::byte> bytes) {
  RequireHash(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) ==
              1);
  return *this;
}

Sha256& Sha256::AddString(std::string_view text) {
  AddInteger(text.size());
  return AddBytes(std::as_bytes(std::span(text.data(), text.size())));
}

Sha256& Sha256::AddInteger(std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes;
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  return AddBytes(std::as_bytes(std::span(bytes)));
}

Sha256& Sha256::AddDouble(double value) {
  return AddInteger(std::bit_cast<std::uint64_t>(value));
}

Digest Sha256::Finish() {
  Digest digest;
  unsigned int size = 0;
  RequireHash(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1 &&
              size == digest.size());
  return digest;
}

Digest HmacSha256(std::span<const std::byte> key,
                  std::span<const std::byte> data) {
  Digest digest;
  unsigned int size = 0;
  RequireHash(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                   reinterpret_cast<const unsigned char*>(data.data()),
                   data.size(), digest.data(), &size) != nullptr &&
              size == digest.size());
  return digest;
}

std::string HexOf(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::optional<Digest> DigestOfHex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = value(text[2 * i]), low = value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace dpnmf
