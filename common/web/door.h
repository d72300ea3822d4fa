// Who may talk to the page: the browser that opened the printed address, once.
//
// Three secrets of 256 bits, new in each process:
//   token   in the printed address; the first request with it gets the others;
//   cookie  HttpOnly and SameSite=Strict; every other request needs it;
//   key     in the fragment of the reply's address, which browsers send to
//           nobody; the page sends it as a header with each call under /api/.
// A cookie is shared by all ports of a host and travels with requests that
// other pages cause. The key is neither: so a call needs both.
#ifndef DPNMF_COMMON_WEB_DOOR_H_
#define DPNMF_COMMON_WEB_DOOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/mutex.h"
#include "common/web/http_server.h"

namespace dpnmf {

// Thread-safe.
class Door {
 public:
  // Of the page on 127.0.0.1:`port`. `program`: what printed its address, as
  // refusals call it.
  Door(std::uint32_t port, std::string program);

  // "http://127.0.0.1:PORT/?token=...".
  std::string Address() const;

  // Nothing if the request may be handled; else the reply: a refusal, or the
  // cookie and the way to the page for the first request with the token.
  std::optional<HttpReply> Admit(const HttpRequest& request);

  // Content-Security-Policy and its like, for every reply.
  static std::map<std::string, std::string> Headers();

 private:
  bool TakeToken(const std::string& token);
  bool HasCookie(const HttpRequest& request) const;

  const std::string host_;  // "127.0.0.1:PORT"
  const std::string program_;
  const std::string cookie_name_;
  const std::string token_, cookie_, key_;
  Mutex mutex_;
  bool used_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_DOOR_H_
