// SHA-256, HMAC-SHA-256 and hexadecimal text, by OpenSSL.
#ifndef DPNMF_COMMON_CRYPTO_SHA256_H_
#define DPNMF_COMMON_CRYPTO_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dpnmf {

using Digest = std::array<std::uint8_t, 32>;

// Incremental SHA-256. Integers are added as eight little-endian bytes; strings
// with their length before them, so that distinct sequences of calls hash
// distinct byte strings. Not thread-safe. Stops the process if OpenSSL fails.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& AddBytes(std::span<const std::byte> bytes);  // without a length
  Sha256& AddString(std::string_view text);            // length, then bytes
  Sha256& AddInteger(std::uint64_t value);
  // The bits of the double; -0 and 0 differ.
  Sha256& AddDouble(double value);
  // Once only.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest HmacSha256(std::span<const std::byte> key,
                  std::span<const std::byte> data);

std::string HexOf(std::span<const std::uint8_t> bytes);
// 64 lower-case hexadecimal digits, or nothing.
std::optional<Digest> DigestOfHex(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CRYPTO_SHA256_H_
