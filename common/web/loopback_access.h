// Who may talk to the page: the browser that opened the printed address, once.
//
// Each process has an origin of its own, http://NAME.localhost:PORT/. NAME has
// 128 bits. Browsers lead every name under .localhost to this machine. What
// another program once left in the browser at this port (a service worker, a
// cookie, stored data) belongs to another origin, and does not see this one.
//
// Three secrets of 256 bits, new in each process:
//   token   in the printed address; the first request with it gets the cookie;
//   cookie  HttpOnly and SameSite=Strict; every other request needs it;
//   key     told to each POST to /api/key with the cookie until a call carries
//           it (a reply may be lost on its way), and never again; the page
//           keeps it in its tab and sends it as a header with each call under
//           /api/. It never stands in an address.
// A cookie is shared by all ports of a host and travels with requests that
// other pages cause. The key is neither: so a call needs both.
#ifndef DPNMF_COMMON_WEB_LOOPBACK_ACCESS_H_
#define DPNMF_COMMON_WEB_LOOPBACK_ACCESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/threads/mutex.h"
#include "common/web/http_server.h"

namespace dpnmf {

// Thread-safe.
class LoopbackAccess {
 public:
  // The access to the page at `port` of the loopback addresses. `program`: the
  // command that printed its address, as refusals call it.
  LoopbackAccess(std::uint32_t port, std::string program);

  // "http://NAME.localhost:PORT/?token=...".
  std::string Address() const;

  // Returns nothing if the request may be handled; else the reply: a refusal,
  // the cookie and the way to the page for the first request with the token, or
  // the key. A request that names another host is refused whatever it asks for.
  std::optional<HttpReply> Admit(const HttpRequest& request);

  // Content-Security-Policy and its like, for every reply.
  static std::map<std::string, std::string> Headers();

 private:
  HttpReply ReplyToToken(const HttpRequest& request, const std::string& token);
  HttpReply ReplyToKeyCall(const HttpRequest& request);
  HttpReply KeyRefused(const HttpRequest& request) const;
  bool HasCookie(const HttpRequest& request) const;

  const std::string host_;  // as a browser writes it into Host
  const std::string program_;
  const std::string token_, cookie_, key_;
  Mutex mutex_;
  bool token_used_ ABSL_GUARDED_BY(mutex_) = false;
  bool key_used_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_LOOPBACK_ACCESS_H_
