// One call of the program: its flags, its server, what it prints.
#ifndef DPNMF_CLIENT_SESSION_SESSION_H_
#define DPNMF_CLIENT_SESSION_SESSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/session/client.h"
#include "client/session/environment.h"
#include "client/session/options.h"
#include "common/base/exit_code.h"
#include "google/protobuf/message.h"

namespace dpnmf::cli {

class Session {
 public:
  // `environment` outlives the session.
  explicit Session(const Environment& environment)
      : environment_(environment) {}

  const Environment& environment() const { return environment_; }
  const GlobalOptions& options() const { return options_; }
  GlobalOptions& options() { return options_; }
  bool json() const { return options_.format == "json"; }

  // Connects with the flags as parsed.
  absl::StatusOr<AnalystClient> Client() const;

  // The message as JSON, or the text.
  void Print(const google::protobuf::Message& message,
             const std::string& text) const;

 private:
  const Environment& environment_;
  GlobalOptions options_;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_SESSION_H_
