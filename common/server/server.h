// Parts common to both servers: a gRPC server with health service, reflection
// and keepalive, ended in order by a signal.
#ifndef DPNMF_COMMON_SERVER_SERVER_H_
#define DPNMF_COMMON_SERVER_SERVER_H_

#include <signal.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class AuthMetadataProcessor;
class Server;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace dpnmf {

// Blocks SIGTERM and SIGINT in this thread and in those it starts later: call
// it before any thread exists. Returns the set for WaitForSignal.
sigset_t BlockTerminationSignals();
// Waits for one of them; returns its number.
int WaitForSignal(const sigset_t& signals);

class RpcServer {
 public:
  struct Options {
    std::string listen;             // HOST:PORT; port 0 takes a free one
    std::string flag = "--listen";  // that gave it, for sentences
    std::shared_ptr<grpc::ServerCredentials> credentials;
    grpc::Service* service = nullptr;  // outlives the server
    // Stands before every call, health and reflection included; null: nothing
    // does (MakePeerAuthorizer).
    std::shared_ptr<grpc::AuthMetadataProcessor> gate = {};
    // Calls under way get this long, so that a server has ended within 5 s.
    int shutdown_seconds = 3;
    // Threads for calls, one each; a call beyond them is refused ("busy").
    int most_threads = 512;
  };

  // INVALID_ARGUMENT "address-malformed"; UNAVAILABLE "listen-failed" if the
  // address is taken or not this machine's.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Options& options);
  ~RpcServer();

  // HOST:PORT really used.
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  // Health says NOT_SERVING, no new calls, those under way may finish, then
  // ends.
  void Shutdown();

 private:
  RpcServer();
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  int port_ = 0;
  int shutdown_seconds_ = 3;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_SERVER_H_
