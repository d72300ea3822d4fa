// dpnmf-curator token: a token for RecommendService, by hand.
#include <openssl/rand.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/read_file.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/person_flags.h"
#include "curator/recommend/token.h"

namespace dpnmf::curator {
namespace {

struct TokenFlags {
  std::string key, audience;
  PersonFlags person;
  int seconds = 60;
};

absl::StatusOr<ExitCode> Make(const TokenFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const std::string pem,
                         ReadFile(flags.key, kSettingsFileLimit));
  const std::optional<SigningKey> key = SigningKey::FromPem(pem);
  if (!key.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "token-key-invalid",
                   absl::StrCat("`", flags.key,
                                "` is not an Ed25519 private key without a "
                                "passphrase: make one with `openssl genpkey "
                                "-algorithm ed25519`."));
  }
  DPNMF_ASSIGN_OR_RETURN(const std::string person, PersonOf(flags.person));
  const std::string& audience = flags.audience;
  if (audience.empty() || audience.size() > kLongestPerson ||
      !IsPlainText(audience)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "token-text-invalid",
                   "`--audience` must be 1 to 1,024 bytes of UTF-8 without "
                   "control characters.");
  }
  unsigned char nonce[16];
  if (RAND_bytes(nonce, sizeof nonce) != 1) {
    return Refusal(absl::StatusCode::kInternal, "random-failed",
                   "OpenSSL gives no random bytes.");
  }
  const TokenClaims claims = {
      .person = person,
      .audience = audience,
      .expires = static_cast<std::int64_t>(std::time(nullptr)) + flags.seconds,
      .nonce = absl::BytesToHexString(
          {reinterpret_cast<const char*>(nonce), sizeof nonce})};
  std::fputs((SignToken(claims, *key) + "\n").c_str(), stdout);
  return kExitOk;
}

}  // namespace

Command TokenCommand() {
  const auto flags = std::make_shared<TokenFlags>();
  return {
      .name = "token",
      .summary = "Sign a token for one person's list (for tests and repairs)",
      .footer =
          "The system that knows who is logged in signs its own tokens; "
          "docs/reference/recommender.md\ndescribes the tokens. Do not keep "
          "the private key on the curator's machine.\nExample:\n  openssl "
          "genpkey "
          "-algorithm ed25519 -out token.key\n  openssl pkey -in token.key "
          "-pubout -out token.pub\n  dpnmf-curator token --key token.key "
          "--audience films --user-file - <who",
      .flags = {Flag("--key", &flags->key, "PEM file of the private key",
                     {.value = "FILE", .required = true}),
                UserFlag(&flags->person), UserFileFlag(&flags->person),
                Flag("--audience", &flags->audience,
                     "The value of --recommend-audience of serve",
                     {.required = true}),
                Flag("--seconds", &flags->seconds,
                     "Time until the token expires",
                     {.range = {1, kLongestTokenSeconds}, .shown = true})},
      .run = [flags] { return Make(*flags); }};
}

}  // namespace dpnmf::curator
