#include "analyst/cli/session.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/rpc/address.h"
#include "common/rpc/json.h"

namespace dpnmf::cli {

std::string ErrorText(const absl::Status& status) {
  std::string code = ReasonCode(status);
  if (code.empty()) code = "internal-error";
  return absl::StrCat("dpnmf: ", status.message(), " [", code, "]\n");
}

absl::StatusOr<AnalystClient> Session::Client() const {
  DPNMF_RETURN_IF_ERROR(ParseAddress(options_.connection.server).status());
  DPNMF_ASSIGN_OR_RETURN(const auto channel,
                         environment_.connect(options_.connection));
  return AnalystClient(channel);
}

void Session::Print(const google::protobuf::Message& message,
                    const std::string& text) const {
  *environment_.out << (json() ? ToJson(message) : text) << std::flush;
}

void Session::Finish(const absl::StatusOr<ExitCode>& result) {
  if (result.ok()) {
    exit_code_ = *result;
    return;
  }
  exit_code_ = ExitCodeOf(result.status());
  *environment_.err << ErrorText(result.status());
  if (exit_code_ == kExitUnreachable) {
    *environment_.err << "dpnmf: the server is " << options_.connection.server
                      << "; 'dpnmf doctor' looks for the cause.\n";
  }
  environment_.err->flush();
}

}  // namespace dpnmf::cli
