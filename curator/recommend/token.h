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
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/ed25519.h"
#include "common/threads/mutex.h"

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

// Lets each token pass once, also over restarts. Thread-safe.
//
// Nonces are remembered until their token expires, in memory. What goes over a
// restart is the latest time at which a token that passed expires: it is on the
// disk before the token passes, and a process lets pass no token that expires
// then or earlier. So it does not matter how the clock was set in between, or
// ahead and back while an earlier process ran. One process at a time has the
// file. (Without the file, as after a restore, tokens that expire within 60
// seconds of the start are refused, which suffices if the clock was not set
// back.)
class TokenGate {
 public:
  struct Options {
    PublicKey key{};
    std::string audience;
    // The file that goes over a restart; its directory exists.
    std::string expiry_file;
    // Tokens that may be alive at once.
    std::size_t most_tokens = 262'144;
    std::function<std::int64_t()> unix_seconds = {};  // default: the system's
  };
  // DATA_LOSS "token-expiry-damaged"; UNAVAILABLE "storage-failed".
  static absl::StatusOr<std::unique_ptr<TokenGate>> Create(Options options);

  // UNAUTHENTICATED "token-malformed", "token-signature", "token-audience",
  // "token-expired", "token-lifetime" (it expires too late), "token-reused";
  // UNAVAILABLE "token-before-start" (a later one will pass),
  // "too-many-tokens", "token-unrecorded" (the disk's fault, which is logged).
  // Only a token that passes is remembered.
  absl::StatusOr<TokenClaims> Pass(std::string_view token);

 private:
  TokenGate(Options options, std::int64_t earlier_expiry);
  absl::Status CheckTimes(const TokenClaims& claims)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts on the disk that a token which expires then may have passed.
  absl::Status RecordExpiry(std::int64_t expires)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Remember(const TokenClaims& claims)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Mutex mutex_;
  std::int64_t now_ ABSL_GUARDED_BY(mutex_);  // the latest that was read
  // Every token that an earlier process let pass expires by then.
  const std::int64_t earlier_expiry_;
  // The one in the file, and 0 while this process has written none.
  std::int64_t recorded_expiry_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::string> nonces_ ABSL_GUARDED_BY(mutex_);
  // The same by when their token expires.
  std::map<std::int64_t, std::vector<std::string>> expiring_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RECOMMEND_TOKEN_H_
