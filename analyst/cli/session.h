// One call of the program: its flags, its server, what it prints, how it ends.
#ifndef DPNMF_ANALYST_CLI_SESSION_H_
#define DPNMF_ANALYST_CLI_SESSION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyst/cli/client.h"
#include "analyst/cli/environment.h"
#include "analyst/cli/options.h"
#include "common/base/exit_code.h"
#include "google/protobuf/message.h"

namespace dpnmf::cli {

// "dpnmf: SENTENCE [code]" with a line break.
std::string ErrorText(const absl::Status& status);

class Session {
 public:
  // `environment` outlives the session.
  explicit Session(const Environment& environment)
      : environment_(environment) {}

  const Environment& environment() const { return environment_; }
  GlobalOptions& options() { return options_; }
  bool json() const { return options_.format == Format::kJson; }

  // Connects with the flags as parsed.
  absl::StatusOr<AnalystClient> Client() const;

  // The message as JSON, or the text.
  void Print(const google::protobuf::Message& message,
             const std::string& text) const;

  // Keeps the exit code; prints the error if there is one.
  void Finish(const absl::StatusOr<ExitCode>& result);
  ExitCode exit_code() const { return exit_code_; }

 private:
  const Environment& environment_;
  GlobalOptions options_;
  ExitCode exit_code_ = kExitOk;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLI_SESSION_H_
