#include "common/tls/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"

namespace dpnmf {
namespace {

struct Variable {
  std::string name;
  std::string value;
};

// The first that is set and not empty.
std::optional<Variable> FirstOf(const std::vector<const char*>& names) {
  for (const char* name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return Variable{name, value};
  }
  return std::nullopt;
}

bool IsExempt(const std::string& host) {
  const auto list = FirstOf({"no_grpc_proxy", "no_proxy", "NO_PROXY"});
  if (!list.has_value()) return false;
  for (absl::string_view entry : absl::StrSplit(list->value, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry == "*") return true;
    if (!entry.empty() && absl::EndsWithIgnoreCase(host, entry)) return true;
  }
  return false;
}

std::string HostAndPort(const Address& address) {
  const bool brackets = absl::StrContains(address.host, ":");
  return absl::StrCat(brackets ? "[" : "", address.host, brackets ? "]" : "",
                      ":", address.port);
}

// Appends to the error of a call without an answer which way it went.
class ProxyNamer : public grpc::experimental::Interceptor {
 public:
  explicit ProxyNamer(std::string way) : way_(std::move(way)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (call->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::POST_RECV_STATUS)) {
      grpc::Status* const status = call->GetRecvStatus();
      if (status->error_code() == grpc::StatusCode::UNAVAILABLE &&
          status->error_details().empty())
        *status = grpc::Status(
            status->error_code(),
            absl::StrCat(status->error_message(), "; through ", way_));
    }
    call->Proceed();
  }

 private:
  const std::string way_;
};

class ProxyNamers
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ProxyNamers(std::string way) : way_(std::move(way)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new ProxyNamer(way_);
  }

 private:
  const std::string way_;
};

}  // namespace

std::string Proxy::Text() const {
  return absl::StrCat("the proxy http://", HostAndPort(address), " that ",
                      variable, " names");
}

absl::StatusOr<std::optional<Proxy>> ProxyOfEnvironment(
    const std::string& host) {
  const auto found = FirstOf({"grpc_proxy", "https_proxy", "HTTPS_PROXY",
                              "http_proxy", "all_proxy", "ALL_PROXY"});
  if (!found.has_value() || IsExempt(host)) return std::nullopt;
  std::string text = found->value;
  if (absl::StartsWithIgnoreCase(text, "http://")) text = text.substr(7);
  if (absl::EndsWith(text, "/")) text.pop_back();
  const std::size_t at = text.rfind('@') + 1;  // 0: there is none
  const absl::StatusOr<Address> address = ParseAddress(text.substr(at));
  const std::string user_info = at == 0 ? "" : text.substr(0, at - 1);
  // "/": of another scheme. gRPC takes the others for parts of a URI, and then
  // goes without the proxy, or prints the password.
  const bool clean = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isgraph(c) && !absl::StrContains("/%#?", c);
  });
  if (!address.ok() || !clean || absl::StrContains(user_info, "@")) {
    // The value may hold a password.
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "proxy-unusable",
        absl::StrCat("The variable ", found->name,
                     " names no HTTP proxy that can be used; set it to "
                     "http://[USER:PASSWORD@]HOST:PORT, without blanks and "
                     "@ / % # ? in the password, or do not ask for a proxy "
                     "(--use-proxy)."));
  }
  return Proxy{found->name, *address, user_info};
}

absl::StatusOr<std::optional<Proxy>> ProxyFor(const std::string& address,
                                              bool use_proxy) {
  if (!use_proxy) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  return ProxyOfEnvironment(parsed.host);
}

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::optional<Proxy>& proxy, grpc::ChannelArguments arguments) {
  if (!proxy.has_value()) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }
  arguments.SetString(GRPC_ARG_HTTP_PROXY,
                      absl::StrCat("http://", proxy->user_info,
                                   proxy->user_info.empty() ? "" : "@",
                                   HostAndPort(proxy->address)));
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      namers;
  namers.push_back(std::make_unique<ProxyNamers>(proxy->Text()));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, credentials, arguments, std::move(namers));
}

}  // namespace dpnmf
