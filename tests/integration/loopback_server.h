// A gRPC service on a free port of this machine, without TLS.
#ifndef DPNMF_TESTS_INTEGRATION_LOOPBACK_SERVER_H_
#define DPNMF_TESTS_INTEGRATION_LOOPBACK_SERVER_H_

#include <memory>
#include <string>

#include "grpcpp/grpcpp.h"

namespace dpnmf {

// A call on an in-process channel whose server is gone crashes in gRPC 1.51:
// hence a port. `address` becomes 127.0.0.1:PORT. The service outlives the
// server.
inline std::unique_ptr<grpc::Server> ServeOnLoopback(grpc::Service* service,
                                                     std::string* address) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(service);
  auto server = builder.BuildAndStart();
  *address = "127.0.0.1:" + std::to_string(port);
  return server;
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_INTEGRATION_LOOPBACK_SERVER_H_
