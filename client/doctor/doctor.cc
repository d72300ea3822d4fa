#include "client/doctor/doctor.h"

#include <grpcpp/channel.h>

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/doctor/probe.h"
#include "common/base/error.h"
#include "common/doctor/doctor_checks.h"
#include "common/tls/certificate.h"
#include "common/tls/channel.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"

namespace dpnmf::cli {
namespace {

using absl::StrCat;

// ---- The server's certificate ----

Finding ServerName(const X509& server, const std::string& host) {
  if (IsForHost(server, host))
    return Good(StrCat("The certificate is for ", host, "."));
  const SubjectNames names = NamesOf(server);
  return Bad(
      StrCat("You connect to ", host, "; the server's certificate is for: ",
             absl::StrJoin(names.dns, ", "), names.ips.empty() ? "" : ", ",
             absl::StrJoin(names.ips, ", "), "."),
      "Connect to one of these names, or get a server certificate that is "
      "issued for your name (--dns, --ip).");
}

Finding Clock(const X509& server, std::int64_t now) {
  const std::string time = StrCat("This machine's clock says ", TimeText(now));
  if (now < NotBefore(server)) {
    return Bad(time + ", before the server's certificate became valid.",
               "Set the clock (timedatectl set-ntp true).");
  }
  if (now > NotAfter(server)) {
    return Doubtful(time + ", after the server's certificate expired.",
                    "Compare the clock with another machine's.");
  }
  return Good(time + "; the server's certificate is valid at that time.");
}

void AddServerCertificate(const std::vector<X509Pointer>& chain,
                          const std::string& host, const std::string& ca_file,
                          std::int64_t now, CheckList* checks) {
  const X509& server = *chain.front();
  if (const auto authorities = ReadCertificates(ca_file); authorities.ok()) {
    checks->Add(
        "server signature",
        Judged(CheckSignature(chain, *authorities, "of the server", ca_file),
               "The server's certificate is signed by your CA.",
               "Ask the server's operator which CA signed it, and to renew the "
               "certificate in time."));
  }
  checks->Add("server name", ServerName(server, host));
  checks->Add("server dates",
              CertificateDates(server, now, "of the server",
                               "If this machine's clock is right, the server's "
                               "operator must renew the certificate."));
  checks->Add("clock", Clock(server, now));
}

// Checks the TLS handshake; returns true if the server accepts this side.
bool AddHandshake(Connection connection, const std::string& host,
                  const TlsFiles& files, std::int64_t now, CheckList* checks) {
  const Handshake handshake = ShakeHands(std::move(connection), host, files);
  checks->Add("tls handshake",
              handshake.completed
                  ? Good("TLS 1.3.")
                  : Bad(StrCat("The TLS 1.3 handshake failed (",
                               handshake.failure, ")."),
                        "Check that the address belongs to dpnmf-analyst and "
                        "that no proxy is in between; it must use TLS 1.3."));
  if (!handshake.server_chain.empty()) {
    AddServerCertificate(handshake.server_chain, host, files.ca_file, now,
                         checks);
  }
  return handshake.completed &&
         checks->Add("certificate accepted",
                     handshake.accepted
                         ? Good("The server accepts your certificate.")
                         : Bad(StrCat("The server refuses your certificate (",
                                      handshake.refusal, ")."),
                               "It was revoked, has expired, has no DNS or URI "
                               "name, or is not of the CA that the server was "
                               "given with --ca: the server's log says which. "
                               "Get another one from its operator."));
}

// ---- The service ----

absl::StatusOr<v1::ListDatasetsReply> AskService(const DoctorOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(options.tls));
  DPNMF_ASSIGN_OR_RETURN(const auto proxy,
                         ProxyFor(options.server, options.use_proxy));
  const auto stub = v1::AnalystService::NewStub(
      OpenChannel(options.server, credentials, proxy));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options.timeout);
  v1::ListDatasetsReply reply;
  DPNMF_RETURN_IF_ERROR(FromGrpc(stub->ListDatasets(&context, {}, &reply)));
  return reply;
}

Finding Version(const std::string& own, const std::string& theirs) {
  const std::string text =
      StrCat("This program is version ", own, ", the curator's ",
             theirs.empty() ? "unknown" : theirs, ".");
  return own == theirs ? Good(text)
                       : Doubtful(text, "Install the same version everywhere.");
}

// ---- The way to the server: each step needs the one before ----

// Returns null if there is none.
Connection ConnectDirectly(const DoctorOptions& options, const Address& address,
                           CheckList* checks) {
  const auto names = ResolveHost(address);
  if (!checks->Add(
          "name resolution",
          Judged(names.status(),
                 StrCat(address.host, " is ",
                        absl::StrJoin(
                            names.ok() ? *names : std::vector<std::string>(),
                            ", "),
                        "."),
                 "Check the spelling of --server, /etc/hosts and the DNS "
                 "server."))) {
    return Connection(nullptr, &BIO_free_all);
  }
  auto connection = ConnectTcp(address, options.timeout);
  checks->Add("port",
              Judged(connection.status(),
                     StrCat("Port ", address.port, " accepts connections."),
                     "Start dpnmf-analyst there, or check the port "
                     "and the firewalls in between."));
  return connection.ok() ? *std::move(connection)
                         : Connection(nullptr, &BIO_free_all);
}

// Directly, or through the proxy of the environment if that is asked for.
Connection Connect(const DoctorOptions& options, const Address& address,
                   CheckList* checks) {
  const auto proxy = ProxyOfEnvironment(address.host);
  const std::string name =
      proxy.ok() && proxy->has_value() ? (*proxy)->Text() : "";
  if (!options.use_proxy) {
    if (!name.empty())
      checks->Add("proxy", Good(StrCat("Not used: ", name,
                                       " (--use-proxy goes through it).")));
    return ConnectDirectly(options, address, checks);
  }
  if (!checks->Add(
          "proxy",
          Judged(proxy.status(),
                 name.empty()
                     ? StrCat("No variable names a proxy for ", address.host,
                              "; the connection is direct.")
                     : StrCat("Used: ", name, "."))))
    return Connection(nullptr, &BIO_free_all);
  if (name.empty()) return ConnectDirectly(options, address, checks);
  auto connection = ConnectThrough(**proxy, options.server, options.timeout);
  if (connection.ok()) return *std::move(connection);
  checks->Add("proxy connection",
              Bad(StrCat("The server cannot be reached through ", name, ": ",
                         connection.status().message()),
                  StrCat("Correct ", (*proxy)->variable, ", set no_proxy=",
                         address.host, ", or leave out --use-proxy.")));
  return Connection(nullptr, &BIO_free_all);
}

void AddServer(const DoctorOptions& options, bool files_are_good,
               std::int64_t now, CheckList* checks) {
  const auto address = ParseAddress(options.server);
  if (!checks->Add("address", Judged(address.status(), options.server))) return;
  Connection connection = Connect(options, *address, checks);
  if (connection == nullptr || !files_are_good ||
      !AddHandshake(std::move(connection), address->host, options.tls, now,
                    checks)) {
    return;
  }
  const auto reply = AskService(options);
  const std::string code = ReasonCode(reply.status());
  if (checks->Add(
          "service",
          Judged(reply.status(),
                 StrCat("The analyst's server and its curator answer; data "
                        "sets: ",
                        reply.ok() ? reply->datasets_size() : 0, "."),
                 code == "certificate-refused"
                     ? "Correct what the checks of the server's certificate "
                       "above say."
                 : code.starts_with("certificate-")
                     ? ""  // the sentence says what to do
                     : "If all TLS checks above are ok, this is the server's "
                       "own answer: if it names a role or an identity, ask its "
                       "operator to add your name; if it cannot reach the "
                       "curator, read the server's log."))) {
    checks->Add("version", Version(options.version, reply->version()));
  }
}

}  // namespace

v1::DoctorReport RunDoctor(const DoctorOptions& options) {
  RequireTls13();
  CheckList checks;
  const std::int64_t now =
      options.unix_seconds ? options.unix_seconds() : std::time(nullptr);
  const bool files_are_good =
      AddTlsFiles(options.tls, Purpose::kClient, now, &checks);
  AddServer(options, files_are_good, now, &checks);
  checks.Add("disk", FreeSpace(options.data_directory));
  return checks.report();
}

}  // namespace dpnmf::cli
