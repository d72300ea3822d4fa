// The control socket of a serving curator: DATA_DIR/control.sock, a Unix stream
// socket of mode 0600. Only the server's own user (and root) can connect.
//
//   operator's program                     dpnmf-curator serve
//     {"request": "status"}\n       ---->
//                                   <----  {"ok": {...}}\n, and the end
//     {"request": "anything"}\n     ---->
//                                   <----  {"error": {"code": "...",
//                                            "message": "...", "status": 3}}\n
//
// One request and one answer for each connection, both of one line of JSON.
// Answers hold public facts and facts of the ledger; nothing of the data.
#ifndef DPNMF_CURATOR_CONTROL_CONTROL_H_
#define DPNMF_CURATOR_CONTROL_CONTROL_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace dpnmf::curator {

// DATA_DIR/control.sock. Its path may be longer than a socket's address allows.
std::string ControlSocket(const std::string& data_dir);

// Answers one request: an object, whose other fields the handler checks. An
// exception of the JSON library is answered as "control-request-malformed";
// every other exception, and a refusal without a code, as "internal-error".
using ControlHandler =
    std::function<absl::StatusOr<nlohmann::json>(const nlohmann::json&)>;
using ControlHandlers = std::map<std::string, ControlHandler>;  // by "request"

// Answers requests, one after the other, on a thread of its own.
class ControlServer {
 public:
  // The caller holds the ledger's lock, so that a socket that is there was left
  // by a server that has ended: it is replaced. UNAVAILABLE "storage-failed" if
  // the socket cannot be made, or if the path is no socket.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(
      const std::string& data_dir, ControlHandlers handlers);
  // Waits for the request under way, and removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

// Sends one request to the server of the data directory; returns what stands
// under "ok". FAILED_PRECONDITION "server-not-running" if none serves the
// directory, or under another user; UNAVAILABLE "control-failed" if the answer
// does not come within `timeout` or is none; else the server's refusal.
absl::StatusOr<nlohmann::json> AskControl(
    const std::string& data_dir, const nlohmann::json& request,
    std::chrono::seconds timeout = std::chrono::seconds(600));

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_CONTROL_CONTROL_H_
