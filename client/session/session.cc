#include "client/session/session.h"

#include "common/base/error.h"
#include "common/tls/address.h"
#include "common/wire/json.h"

namespace dpnmf::cli {

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

}  // namespace dpnmf::cli
