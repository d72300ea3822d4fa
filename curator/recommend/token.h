// Tokens: the word of the operator's system that one person asks for a list.
//
// A token is a JSON Web Token (RFC 7519) in the compact form, signed with
// Ed25519 (RFC 8037): BASE64URL(header).BASE64URL(claims).BASE64URL(signature)
//
//   header  {"alg":"EdDSA","typ":"dpnmf-recommend+jwt"}
//   claims  {"sub": the person's id, 1 to 1,024 bytes
//            "aud": the service (serve --recommend-audience)
//            "exp": seconds since 1970, at most 60 after now
//            "jti": 16 to 64 bytes, another one for each token}
//
// "iat" and "iss" may be there and are not read; any other claim is refused.
// The type keeps apart what the same key signs for other services (RFC 8725,
// 3.11).
#ifndef DPNMF_CURATOR_RECOMMEND_TOKEN_H_
#define DPNMF_CURATOR_RECOMMEND_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ed25519.h"
#include "common/base/mutex.h"

namespace dpnmf::curator {

inline constexpr std::int64_t kLongestTokenSeconds = 60;
inline constexpr std::size_t kLongestToken = 4096;
inline constexpr std::size_t kLongestPerson = 1024;  // and audience

struct TokenClaims {
  std::string person;    // sub
  std::string audience;  // aud
  std::int64_t expires = 0;
  std::string nonce;  // jti
};

std::string SignToken(const TokenClaims& claims, const SigningKey& key);

// The claims of a token that the key has signed: the signature first, what it
// covers after that. UNAUTHENTICATED "token-malformed", "token-signature".
absl::StatusOr<TokenClaims> ReadToken(std::string_view token,
                                      const PublicKey& key);

// Lets each token pass once. Thread-safe.
//
// Nonces are remembered until their token expires, in memory. A process that
// starts at time s knows none of an earlier one; but whatever an earlier one
// let pass at some t <= s expires at t + 60 or before, so tokens that expire at
// s + 60 or before are refused. The clock of the machine must not have been set
// back in between; within a process it never goes back.
class TokenGate {
 public:
  struct Options {
    PublicKey key{};
    std::string audience;
    // Tokens that may be alive at once.
    std::size_t most_tokens = 262'144;
    std::function<std::int64_t()> unix_seconds = {};  // default: the system's
  };
  explicit TokenGate(Options options);

  // UNAUTHENTICATED "token-malformed", "token-signature", "token-audience",
  // "token-expired", "token-lifetime" (it expires too late), "token-reused";
  // UNAVAILABLE "token-before-start" (a later one will pass),
  // "too-many-tokens". Only a token that passes is remembered.
  absl::StatusOr<TokenClaims> Pass(std::string_view token);

 private:
  absl::Status CheckTimes(const TokenClaims& claims)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Remember(const TokenClaims& claims)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Mutex mutex_;
  std::int64_t now_ ABSL_GUARDED_BY(mutex_);  // the latest that was read
  const std::int64_t start_;
  std::unordered_set<std::string> nonces_ ABSL_GUARDED_BY(mutex_);
  // The same by when their token expires.
  std::map<std::int64_t, std::vector<std::string>> expiring_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RECOMMEND_TOKEN_H_
