// Environment of a command: streams and connection, which tests can replace.
#ifndef DPNMF_CLIENT_SESSION_ENVIRONMENT_H_
#define DPNMF_CLIENT_SESSION_ENVIRONMENT_H_

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "client/session/connection.h"
#include "client/session/watcher.h"

namespace dpnmf::cli {

struct Environment {
  std::ostream* out = nullptr;  // results and progress
  std::ostream* err = nullptr;  // errors and remarks
  // Answers to questions on `err`; null if no person is there to be asked.
  std::istream* answers = nullptr;
  // Columns of the terminal that `out` is; 0 if it is none.
  int terminal_width = 0;
  std::string version;
  std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>(
      const ConnectionOptions&)>
      connect;
  RetryPolicy retry;
};

// Standard streams, and mutual TLS.
Environment SystemEnvironment(const std::string& version);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_ENVIRONMENT_H_
