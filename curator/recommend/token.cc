#include "curator/recommend/token.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/system_seconds.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "common/log/log.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::json;

constexpr char kAlgorithm[] = "EdDSA";
constexpr char kType[] = "dpnmf-recommend+jwt";
constexpr std::size_t kLeastNonce = 16, kMostNonce = 64;

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kUnauthenticated, code, sentence);
}
absl::Status Malformed() {
  return Refused(
      "token-malformed",
      "The token does not have the form that docs/reference/recommender.md "
      "describes: let the operator's system make another.");
}

std::string Encoded(std::string_view bytes) {
  std::string text;
  absl::WebSafeBase64Escape(View(bytes), &text);
  while (text.ends_with('=')) text.pop_back();
  return text;
}

// Without padding, and in the one form that its bytes have.
std::optional<std::string> Decoded(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(View(text), &bytes)) return std::nullopt;
  if (Encoded(bytes) != text) return std::nullopt;
  return bytes;
}

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A JSON object; nothing if the text is none.
std::optional<Json> ObjectOf(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

// The field as a string of `least` to `most` bytes; nothing otherwise.
std::optional<std::string> Text(const Json& object, const char* field,
                                std::size_t least, std::size_t most) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  std::string text = found->get<std::string>();
  if (text.size() < least || text.size() > most || !IsPlainText(text))
    return std::nullopt;
  return text;
}

bool IsHeader(const Json& header) {
  return header.size() == 2 && Text(header, "alg", 1, 64) == kAlgorithm &&
         Text(header, "typ", 1, 64) == kType;
}

// The field as seconds since 1970, as many as no sum takes out of range;
// nothing otherwise.
std::optional<std::int64_t> Seconds(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() >= (std::uint64_t{1} << 62))
    return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<TokenClaims> ClaimsOf(const Json& json) {
  for (const auto& [name, value] : json.items()) {
    const bool known = name == "sub" || name == "aud" || name == "exp" ||
                       name == "jti" || name == "iat" || name == "iss";
    if (!known) return std::nullopt;
  }
  std::optional<std::string> person = Text(json, "sub", 1, kLongestPerson);
  std::optional<std::string> audience = Text(json, "aud", 1, kLongestPerson);
  std::optional<std::string> nonce = Text(json, "jti", kLeastNonce, kMostNonce);
  const std::optional<std::int64_t> expires = Seconds(json, "exp");
  if (!person || !audience || !nonce || !expires) return std::nullopt;
  return TokenClaims{std::move(*person), std::move(*audience), *expires,
                     std::move(*nonce)};
}

// ---- The file of the latest expiry

constexpr std::uint64_t kExpiryFormat = 1;

std::string ExpiryText(std::int64_t expires) {
  const Json json = {{"format", kExpiryFormat}, {"latest_expiry", expires}};
  return json.dump() + "\n";
}

// 0 if there is no file.
absl::StatusOr<std::int64_t> ReadExpiry(const std::string& path) {
  const auto text = ReadFile(path, kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) return 0;
  DPNMF_RETURN_IF_ERROR(text.status());
  const std::optional<Json> json = ObjectOf(*text);
  const auto expires = json ? Seconds(*json, "latest_expiry") : std::nullopt;
  if (expires && *text == ExpiryText(*expires)) return *expires;
  return Refusal(
      absl::StatusCode::kDataLoss, "token-expiry-damaged",
      absl::StrCat("`", path,
                   "`, which tells used tokens after a restart, is damaged or "
                   "of another version: let the system that signs tokens take "
                   "a new key, and remove the file."));
}

}  // namespace

std::string SignToken(const TokenClaims& claims, const SigningKey& key) {
  const Json header = {{"alg", kAlgorithm}, {"typ", kType}};
  const Json body = {{"sub", claims.person},
                     {"aud", claims.audience},
                     {"exp", claims.expires},
                     {"jti", claims.nonce}};
  const std::string text =
      absl::StrCat(Encoded(header.dump()), ".", Encoded(body.dump()));
  const Signature signature = key.Sign(BytesOf(text));
  return absl::StrCat(
      text, ".",
      Encoded(std::string_view(reinterpret_cast<const char*>(signature.data()),
                               signature.size())));
}

absl::StatusOr<TokenClaims> ReadToken(std::string_view token,
                                      const PublicKey& key) {
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (token.size() > kLongestToken || first == std::string_view::npos ||
      first == last || std::count(token.begin(), token.end(), '.') != 2)
    return Malformed();
  const auto signature_bytes = Decoded(token.substr(last + 1));
  Signature signature{};
  if (!signature_bytes || signature_bytes->size() != signature.size())
    return Malformed();
  std::copy(signature_bytes->begin(), signature_bytes->end(),
            signature.begin());
  if (!Verify(key, BytesOf(token.substr(0, last)), signature)) {
    return Refused("token-signature",
                   "The token is not signed with the key that this service "
                   "knows: check --recommend-token-key and the key of the "
                   "system that signs.");
  }
  const auto header_text = Decoded(token.substr(0, first));
  const auto claims_text = Decoded(token.substr(first + 1, last - first - 1));
  if (!header_text || !claims_text) return Malformed();
  const auto header = ObjectOf(*header_text);
  const auto json = ObjectOf(*claims_text);
  if (!header || !json || !IsHeader(*header)) return Malformed();
  std::optional<TokenClaims> claims = ClaimsOf(*json);
  if (!claims) return Malformed();
  return *std::move(claims);
}

absl::StatusOr<std::unique_ptr<TokenGate>> TokenGate::Create(Options options) {
  if (!options.unix_seconds) options.unix_seconds = SystemSeconds;
  DPNMF_ASSIGN_OR_RETURN(const std::int64_t recorded,
                         ReadExpiry(options.expiry_file));
  // The start counts if the file is lost: a token that passed before expires
  // within 60 seconds of it.
  const std::int64_t earlier =
      std::max(recorded, options.unix_seconds() + kLongestTokenSeconds);
  return std::unique_ptr<TokenGate>(new TokenGate(std::move(options), earlier));
}

TokenGate::TokenGate(Options options, std::int64_t earlier_expiry)
    : options_(std::move(options)),
      now_(options_.unix_seconds()),
      earlier_expiry_(earlier_expiry) {}

absl::StatusOr<TokenClaims> TokenGate::Pass(std::string_view token) {
  DPNMF_ASSIGN_OR_RETURN(TokenClaims claims, ReadToken(token, options_.key));
  if (claims.audience != options_.audience) {
    return Refused("token-audience",
                   "The token is for another service: its audience must be the "
                   "one of --recommend-audience.");
  }
  MutexLock lock(&mutex_);
  now_ = std::max(now_, options_.unix_seconds());
  DPNMF_RETURN_IF_ERROR(CheckTimes(claims));
  Forget();
  DPNMF_RETURN_IF_ERROR(Remember(claims));
  return claims;
}

absl::Status TokenGate::CheckTimes(const TokenClaims& claims) {
  if (claims.expires <= now_) {
    return Refused("token-expired",
                   "The token has expired: ask for another, and compare the "
                   "clocks of the two machines.");
  }
  if (claims.expires > now_ + kLongestTokenSeconds) {
    return Refused("token-lifetime",
                   "The token expires more than 60 seconds from now: sign "
                   "shorter ones, and compare the clocks of the two machines.");
  }
  if (claims.expires <= earlier_expiry_) {
    return Refusal(absl::StatusCode::kUnavailable, "token-before-start",
                   "The service cannot know whether the token was used before "
                   "the service started: ask again in a minute with another "
                   "token, and if that is refused as well, compare the clocks "
                   "of the two machines.");
  }
  return absl::OkStatus();
}

absl::Status TokenGate::RecordExpiry(std::int64_t expires) {
  if (expires <= recorded_expiry_) return absl::OkStatus();
  const absl::Status written =
      ReplaceDurably(options_.expiry_file, ExpiryText(expires));
  if (!written.ok()) {
    LogError("{}", std::string(written.message()));
    return Refusal(absl::StatusCode::kUnavailable, "token-unrecorded",
                   "The service cannot record that the token is used, so the "
                   "call is refused; the service's operator must look at its "
                   "log.");
  }
  recorded_expiry_ = expires;
  return absl::OkStatus();
}

void TokenGate::Forget() {
  while (!expiring_.empty() && expiring_.begin()->first <= now_) {
    for (const std::string& nonce : expiring_.begin()->second)
      nonces_.erase(nonce);
    expiring_.erase(expiring_.begin());
  }
}

absl::Status TokenGate::Remember(const TokenClaims& claims) {
  if (nonces_.contains(claims.nonce)) {
    return Refused("token-reused",
                   "The token, or one with the same `jti`, was used before: "
                   "ask for another.");
  }
  if (nonces_.size() >= options_.most_tokens) {
    return Refusal(absl::StatusCode::kUnavailable, "too-many-tokens",
                   "Too many tokens were used within the last minute: ask "
                   "again in a minute.");
  }
  DPNMF_RETURN_IF_ERROR(RecordExpiry(claims.expires));
  nonces_.insert(claims.nonce);
  expiring_[claims.expires].push_back(claims.nonce);
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
