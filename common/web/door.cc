#include "common/web/door.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/sha256.h"
#include "common/web/assets.h"

namespace dpnmf {
namespace {

std::string NewSecret() {
  std::array<std::uint8_t, 32> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    std::abort();
  return HexOf(bytes);
}

// In a time that does not depend on where they differ.
bool IsEqual(const std::string& one, const std::string& other) {
  return one.size() == other.size() &&
         CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

bool IsCall(const HttpRequest& request) {
  return absl::StartsWith(request.path, "/api/");
}

// For a person who opens an address; a program reads the code.
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

Door::Door(std::uint32_t port, std::string program)
    : host_(absl::StrCat("127.0.0.1:", port)),
      program_(std::move(program)),
      cookie_name_(absl::StrCat("dpnmf_web_", port)),
      token_(NewSecret()),
      cookie_(NewSecret()),
      key_(NewSecret()) {}

std::string Door::Address() const {
  return absl::StrCat("http://", host_, "/?token=", token_);
}

std::optional<HttpReply> Door::Admit(const HttpRequest& request) {
  // A page elsewhere whose name was made to lead here sends another Host.
  if (request.hosts.size() != 1 || request.hosts[0] != host_)
    return Refused(request, 421, "web-host",
                   absl::StrCat("This page answers at the address that ",
                                program_, " printed, and at no other name."));
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
  if (request.path == "/" && token != request.query.end()) {
    if (HasCookie(request))
      return HttpReply{.status = 303, .headers = {{"Location", "/"}}};
    if (request.method != "GET" || !TakeToken(token->second))
      return Refused(request, 403, "web-token",
                     absl::StrCat("The address is wrong or was used before: it "
                                  "opens the page once. Start ",
                                  program_, " again for a new one."));
    return HttpReply{
        .status = 303,
        .headers = {{"Location", absl::StrCat("/#key=", key_)},
                    {"Set-Cookie",
                     absl::StrCat(cookie_name_, "=", cookie_,
                                  "; Path=/; HttpOnly; SameSite=Strict")}}};
  }
  if (!HasCookie(request))
    return Refused(request, 401, "web-session",
                   absl::StrCat("Open the whole address that ", program_,
                                " printed. It works once, in one browser."));
  if (IsCall(request) && !IsEqual(request.key, key_))
    return Refused(
        request, 403, "web-key",
        absl::StrCat("The page does not hold the key of this session. "
                     "Start ",
                     program_, " again and open the address that it prints."));
  if (request.method == "POST" && request.content_type != "application/json")
    return Refused(request, 415, "web-content-type",
                   "A call carries application/json.");
  return std::nullopt;
}

std::map<std::string, std::string> Door::Headers() {
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

bool Door::TakeToken(const std::string& token) {
  if (!IsEqual(token, token_)) return false;
  MutexLock lock(&mutex_);
  const bool first = !used_;
  used_ = true;
  return first;
}

bool Door::HasCookie(const HttpRequest& request) const {
  const std::string wanted = absl::StrCat(cookie_name_, "=", cookie_);
  for (const absl::string_view pair : absl::StrSplit(request.cookie, ';'))
    if (IsEqual(std::string(absl::StripAsciiWhitespace(pair)), wanted))
      return true;
  return false;
}

}  // namespace dpnmf
