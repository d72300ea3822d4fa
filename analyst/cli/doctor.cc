#include "analyst/cli/doctor.h"

#include <grpcpp/create_channel.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyst/cli/probe.h"
#include "common/base/error.h"
#include "common/rpc/certificate.h"
#include "common/rpc/machine_checks.h"
#include "common/rpc/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"

namespace dpnmf::cli {
namespace {

// ---- The way to the server ----

bool CheckName(const Address& address, Findings* findings) {
  const auto addresses = ResolveHost(address);
  return findings->Judge(
      "name resolution", addresses.status(),
      addresses.ok() ? absl::StrCat(address.host, " is ",
                                    absl::StrJoin(*addresses, ", "), ".")
                     : "",
      "Check the spelling of --server, /etc/hosts and the DNS server.");
}

void CheckServerCertificate(const Handshake& handshake, const Address& address,
                            const DoctorOptions& options, std::int64_t now,
                            Findings* findings) {
  const X509& server = *handshake.server_chain.front();
  const auto authorities = ReadCertificates(options.tls.ca_file);
  if (authorities.ok()) {
    findings->Judge("server signature",
                    CheckSignature(handshake.server_chain, *authorities,
                                   "of the server", options.tls.ca_file),
                    "The server's certificate is signed by your CA.",
                    "Ask the server's operator which CA signed it, and that "
                    "its certificate is renewed in time.");
  }
  const SubjectNames names = NamesOf(server);
  const std::string stated = absl::StrCat(absl::StrJoin(names.dns, ", "),
                                          names.ips.empty() ? "" : ", ",
                                          absl::StrJoin(names.ips, ", "));
  if (IsForHost(server, address.host)) {
    findings->Ok("server name",
                 absl::StrCat("The certificate is for ", address.host, "."));
  } else {
    findings->Fail(
        "server name",
        absl::StrCat("You dial ", address.host,
                     "; the server's certificate is for: ", stated, "."),
        "Dial one of these names, or have the server's certificate "
        "issued for the one you dial (--dns, --ip).");
  }
  findings->Judge("server dates", CheckDates(server, now, "of the server"),
                  DatesText(server) + ".",
                  "If this machine's clock is right, the server's operator "
                  "must renew the certificate.");
}

void CheckClock(const X509& server, std::int64_t now, Findings* findings) {
  const std::string time =
      absl::StrCat("This machine's clock says ", TimeText(now));
  if (now < NotBefore(server)) {
    findings->Fail("clock",
                   absl::StrCat(time,
                                ", before the server's certificate was "
                                "made."),
                   "Set the clock (timedatectl set-ntp true).");
  } else if (now > NotAfter(server)) {
    findings->Warn("clock",
                   absl::StrCat(time,
                                ", after the server's certificate "
                                "expired."),
                   "Compare the clock with another machine's.");
  } else {
    findings->Ok("clock", absl::StrCat(time,
                                       "; the server's certificate is "
                                       "valid at that time."));
  }
}

bool CheckHandshake(const Descriptor& connection, const Address& address,
                    const DoctorOptions& options, std::int64_t now,
                    Findings* findings) {
  const Handshake handshake = ShakeHands(connection, address.host, options.tls);
  if (!handshake.completed) {
    findings->Fail(
        "tls handshake",
        absl::StrCat("The TLS 1.3 handshake failed (", handshake.failure, ")."),
        "Check that the address is dpnmf-analyst's own and that no "
        "proxy stands between; it must speak TLS 1.3.");
  } else {
    findings->Ok("tls handshake", "TLS 1.3.");
  }
  if (!handshake.server_chain.empty()) {
    CheckServerCertificate(handshake, address, options, now, findings);
    CheckClock(*handshake.server_chain.front(), now, findings);
  }
  if (handshake.completed && !handshake.accepted) {
    findings->Fail("certificate accepted",
                   absl::StrCat("The server refuses your certificate (",
                                handshake.refusal, ")."),
                   "Have one issued by the CA that the server was given with "
                   "--ca, with a DNS or URI name, and not expired.");
  } else if (handshake.accepted) {
    findings->Ok("certificate accepted", "The server takes your certificate.");
  }
  return handshake.accepted;
}

// ---- The service ----

absl::StatusOr<v1::ListDatasetsReply> AskService(const DoctorOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(options.tls));
  const auto stub = v1::AnalystService::NewStub(
      grpc::CreateChannel(options.server, credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options.timeout);
  v1::ListDatasetsReply reply;
  DPNMF_RETURN_IF_ERROR(FromGrpc(stub->ListDatasets(&context, {}, &reply)));
  return reply;
}

void CheckVersion(const std::string& own, const std::string& theirs,
                  Findings* findings) {
  const std::string finding =
      absl::StrCat("This program is version ", own, ", the curator's ",
                   theirs.empty() ? "unknown" : theirs, ".");
  if (own == theirs) {
    findings->Ok("version", finding);
  } else {
    findings->Warn("version", finding, "Install the same version everywhere.");
  }
}

void CheckService(const DoctorOptions& options, Findings* findings) {
  const auto reply = AskService(options);
  if (!findings->Judge(
          "service", reply.status(),
          reply.ok() ? absl::StrCat("The analyst's server and its curator "
                                    "answer; data sets: ",
                                    reply->datasets_size(), ".")
                     : "",
          "If all TLS checks above are ok, the server answered this itself: if "
          "it speaks of a role or an identity, ask its operator to add your "
          "name; if it cannot reach the curator, its log says why.")) {
    return;
  }
  CheckVersion(options.version, reply->version(), findings);
}

void CheckServer(const DoctorOptions& options, bool files_are_good,
                 std::int64_t now, Findings* findings) {
  const auto address = ParseAddress(options.server);
  if (!findings->Judge("address", address.status(), options.server,
                       "Give --server HOST:PORT.")) {
    return;
  }
  if (!CheckName(*address, findings)) return;
  const auto connection = ConnectTcp(*address, options.timeout);
  if (!findings->Judge(
          "port", connection.status(),
          absl::StrCat("Port ", address->port, " accepts connections."),
          "Start dpnmf-analyst there, or check the port and the "
          "firewalls between.")) {
    return;
  }
  if (!files_are_good) return;
  if (CheckHandshake(*connection, *address, options, now, findings)) {
    CheckService(options, findings);
  }
}

}  // namespace

v1::DoctorReport RunDoctor(const DoctorOptions& options) {
  RequireTls13();
  v1::DoctorReport report;
  Findings findings(&report);
  const std::int64_t now =
      options.unix_seconds ? options.unix_seconds() : std::time(nullptr);
  const bool files_are_good =
      CheckOwnFiles(options.tls, Purpose::kClient, now, &findings);
  CheckServer(options, files_are_good, now, &findings);
  CheckDisk("disk", options.data_directory, &findings);
  return report;
}

}  // namespace dpnmf::cli
