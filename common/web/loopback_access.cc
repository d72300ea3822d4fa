#include "common/web/loopback_access.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/crypto/sha256.h"
#include "common/web/assets.h"

namespace dpnmf {
namespace {

constexpr char kCookieName[] = "dpnmf_web";
constexpr char kKeyCall[] = "/api/key";
constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kSecretBytes = 32;

// Random bytes of the operating system, in hexadecimal digits, lower case.
std::string NewSecret(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  // Up to 256 bytes come whole.
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size))
    std::abort();
  return HexOf(bytes);
}

// Browsers leave out the port that is HTTP's own.
std::string NewHost(std::uint32_t port) {
  const std::string name = NewSecret(kNameBytes) + ".localhost";
  return port == 80 ? name : absl::StrCat(name, ":", port);
}

// In a time that does not depend on where they differ.
bool IsEqual(const std::string& one, const std::string& other) {
  return one.size() == other.size() &&
         CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

bool IsCall(const HttpRequest& request) {
  return absl::StartsWith(request.path, "/api/");
}

// A refusal for a person who opens an address; a program reads the code.
HttpReply Refused(const HttpRequest& request, int status, const char* code,
                  const std::string& sentence) {
  if (IsCall(request)) {
    return {.status = status,
            .body = absl::StrCat(R"({"error":{"code":")", code,
                                 R"(","message":")", sentence, R"("}})")};
  }
  std::string page(kClosedPage);
  constexpr std::string_view kPlace = "@SENTENCE@";
  page.replace(page.find(kPlace), kPlace.size(), sentence);
  return {.status = status,
          .content_type = "text/html; charset=utf-8",
          .body = std::move(page)};
}

}  // namespace

LoopbackAccess::LoopbackAccess(std::uint32_t port, std::string program)
    : host_(NewHost(port)),
      program_(std::move(program)),
      token_(NewSecret(kSecretBytes)),
      cookie_(NewSecret(kSecretBytes)),
      key_(NewSecret(kSecretBytes)) {}

std::string LoopbackAccess::Address() const {
  return absl::StrCat("http://", host_, "/?token=", token_);
}

std::optional<HttpReply> LoopbackAccess::Admit(const HttpRequest& request) {
  // Another origin of this port gets one sentence and no file: a page elsewhere
  // whose name was made to lead here, an address without NAME, a request
  // without Host, a page of an earlier process.
  if (request.hosts.size() != 1 || request.hosts[0] != host_) {
    const std::string sentence =
        absl::StrCat("This page answers at the address that ", program_,
                     " printed, and at no other name.");
    HttpReply refused = Refused(request, 421, "web-host", sentence);
    if (IsCall(request)) return refused;
    refused.content_type = "text/plain; charset=utf-8";
    refused.body = sentence + "\n";
    return refused;
  }
  if (!request.origin.empty() && request.origin != "http://" + host_)
    return Refused(request, 403, "web-origin",
                   "Another page may not call this one.");
  if (request.method != "GET" && request.method != "HEAD" &&
      !(request.method == "POST" && IsCall(request)))
    return Refused(request, 405, "web-method",
                   "This address does not take that method.");
  if (request.path == "/closed.css" || request.path == "/icon.svg")
    return std::nullopt;  // of the page that refuses
  const auto token = request.query.find("token");
  if (request.path == "/" && token != request.query.end())
    return ReplyToToken(request, token->second);
  if (!HasCookie(request))
    return Refused(request, 401, "web-session",
                   absl::StrCat("Open the whole address that ", program_,
                                " printed. It works once, in one browser."));
  const bool asks_for_key =
      request.method == "POST" && request.path == kKeyCall;
  if (IsCall(request) && !asks_for_key) {
    if (!IsEqual(request.key, key_)) return KeyRefused(request);
    MutexLock lock(&mutex_);
    key_used_ = true;
  }
  if (request.method == "POST" && request.content_type != "application/json")
    return Refused(request, 415, "web-content-type",
                   "A call carries application/json.");
  if (asks_for_key) return ReplyToKeyCall(request);
  return std::nullopt;
}

std::map<std::string, std::string> LoopbackAccess::Headers() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
       "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
       "frame-ancestors 'none'; require-trusted-types-for 'script'; "
       "trusted-types 'none'"},
      {"Cache-Control", "no-store"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
  };
}

HttpReply LoopbackAccess::ReplyToToken(const HttpRequest& request,
                                       const std::string& token) {
  if (HasCookie(request))
    return {.status = 303, .headers = {{"Location", "/"}}};
  bool opens = request.method == "GET" && IsEqual(token, token_);
  if (opens) {
    MutexLock lock(&mutex_);
    opens = !std::exchange(token_used_, true);
  }
  if (!opens)
    return Refused(request, 403, "web-token",
                   absl::StrCat("The address is wrong or was used before: it "
                                "opens the page once. Start ",
                                program_, " again for a new one."));
  // Without Domain: the cookie goes to this name and to no other.
  return {.status = 303,
          .headers = {{"Location", "/"},
                      {"Set-Cookie",
                       absl::StrCat(kCookieName, "=", cookie_,
                                    "; Path=/; HttpOnly; SameSite=Strict")}}};
}

HttpReply LoopbackAccess::ReplyToKeyCall(const HttpRequest& request) {
  {
    MutexLock lock(&mutex_);
    if (key_used_) return KeyRefused(request);
  }
  return {.body = absl::StrCat(R"({"key":")", key_, R"("})")};
}

HttpReply LoopbackAccess::KeyRefused(const HttpRequest& request) const {
  return Refused(request, 403, "web-key",
                 absl::StrCat("The address opens the page in one tab, and "
                              "another tab has it. Go on there, or start ",
                              program_,
                              " again and open the new address that it "
                              "prints."));
}

bool LoopbackAccess::HasCookie(const HttpRequest& request) const {
  const std::string wanted = absl::StrCat(kCookieName, "=", cookie_);
  for (const absl::string_view pair : absl::StrSplit(request.cookie, ';'))
    if (IsEqual(std::string(absl::StripAsciiWhitespace(pair)), wanted))
      return true;
  return false;
}

}  // namespace dpnmf
