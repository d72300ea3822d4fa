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
#include "common/rpc/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"

namespace dpnmf::cli {
namespace {

constexpr std::int64_t kSecondsPerDay = 24 * 3600;
constexpr std::int64_t kRenewDays = 14;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLowDisk = 1024 * kMebibyte;
constexpr std::uint64_t kFullDisk = 64 * kMebibyte;

// Adds one check to the report.
class Findings {
 public:
  explicit Findings(v1::DoctorReport* report) : report_(*report) {
    report_.set_ok(true);
  }
  void Ok(absl::string_view name, absl::string_view finding) {
    Add(name, "ok", finding, "");
  }
  void Warn(absl::string_view name, absl::string_view finding,
            absl::string_view remedy) {
    Add(name, "warning", finding, remedy);
  }
  void Fail(absl::string_view name, absl::string_view finding,
            absl::string_view remedy) {
    Add(name, "failed", finding, remedy);
    report_.set_ok(false);
  }
  // Ok with `finding`, or Fail with the status's sentence. Returns which.
  bool Judge(absl::string_view name, const absl::Status& status,
             absl::string_view finding, absl::string_view remedy) {
    if (status.ok()) {
      Ok(name, finding);
    } else {
      Fail(name, status.message(), remedy);
    }
    return status.ok();
  }

 private:
  void Add(absl::string_view name, absl::string_view result,
           absl::string_view finding, absl::string_view remedy) {
    v1::DoctorCheck& check = *report_.add_checks();
    check.set_name(std::string(name));
    check.set_result(std::string(result));
    check.set_finding(std::string(finding));
    check.set_remedy(std::string(remedy));
  }
  v1::DoctorReport& report_;
};

std::string TimeText(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  char text[32] = "";
  gmtime_r(&time, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::string DatesText(const X509& certificate) {
  return absl::StrCat("valid from ", TimeText(NotBefore(certificate)), " to ",
                      TimeText(NotAfter(certificate)));
}

// ---- This machine's files ----

bool CheckFile(absl::string_view name, const std::string& flag,
               const std::string& path, Findings* findings) {
  const std::string remedy =
      absl::StrCat("Name the file with ", flag,
                   "; deploy/certs.sh makes all three (issue DIR NAME).");
  if (path.empty()) {
    findings->Fail(name, "No file is named.", remedy);
    return false;
  }
  if (access(path.c_str(), R_OK) != 0) {
    findings->Fail(
        name,
        absl::StrCat(path, " cannot be read (", std::strerror(errno), ")."),
        remedy);
    return false;
  }
  findings->Ok(name, absl::StrCat(path, " can be read."));
  return true;
}

void CheckKeyFile(const std::string& path, Findings* findings) {
  const std::string remedy = absl::StrCat("Run: chmod 0400 ", path);
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return;  // said by CheckFile
  if ((file.st_mode & S_IROTH) != 0) {
    findings->Fail("key mode",
                   absl::StrCat("Every user of this machine may read ", path,
                                "; it is refused."),
                   remedy);
  } else if ((file.st_mode & S_IRGRP) != 0) {
    findings->Warn("key mode", absl::StrCat("A group may read ", path, "."),
                   remedy);
  } else {
    findings->Ok("key mode", "The key is its owner's alone.");
  }
}

void CheckOwnDates(const X509& certificate, std::int64_t now,
                   const std::string& path, Findings* findings) {
  constexpr char kRenew[] =
      "Have a new one issued (deploy/certs.sh issue DIR NAME); if the dates "
      "are "
      "right, set this machine's clock.";
  const absl::Status status = CheckDates(certificate, now, path);
  const std::int64_t days = (NotAfter(certificate) - now) / kSecondsPerDay;
  const std::string finding =
      absl::StrCat(DatesText(certificate), "; ", days, " days left.");
  if (status.ok() && days < kRenewDays) {
    findings->Warn("certificate dates", finding, kRenew);
  } else {
    findings->Judge("certificate dates", status, finding, kRenew);
  }
}

// Own certificate against itself, its CA and its key.
bool CheckOwnCertificate(const TlsFiles& files, std::int64_t now,
                         Findings* findings) {
  const auto authorities = ReadCertificates(files.ca_file);
  const auto chain = ReadCertificates(files.certificate_file);
  if (!authorities.ok() || !chain.ok()) {
    findings->Fail(
        "certificate",
        (authorities.ok() ? chain.status() : authorities.status()).message(),
        "Give PEM files, as deploy/certs.sh makes them.");
    return false;
  }
  X509* own = chain->front().get();
  CheckOwnDates(*own, now, files.certificate_file, findings);
  findings->Judge(
      "certificate names", CheckHasName(*own, files.certificate_file),
      absl::StrCat("You are known as ",
                   absl::StrJoin(NamesOf(*own).identities, ", "), "."),
      "Have one issued with --dns or --uri; the allow-list names you by it.");
  findings->Judge("certificate signature",
                  CheckSignature(*chain, *authorities, files.certificate_file,
                                 files.ca_file),
                  absl::StrCat("Signed by the CA in ", files.ca_file, "."),
                  "Use the CA file that came with the certificate.");
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) == 1) {
    findings->Ok("certificate purpose", "It may be used by a client.");
  } else {
    findings->Fail("certificate purpose", "It may not be used by a client.",
                   "Have one issued with extendedKeyUsage clientAuth.");
  }
  findings->Judge("certificate key", CheckKey(*own, files.key_file),
                  "The key belongs to the certificate.",
                  "Use the key that was made with the certificate.");
  return true;
}

// Whether the files are good enough to connect with.
bool CheckFiles(const TlsFiles& files, std::int64_t now, Findings* findings) {
  const bool ca = CheckFile("ca file", "--ca", files.ca_file, findings);
  const bool certificate =
      CheckFile("certificate file", "--cert", files.certificate_file, findings);
  const bool key = CheckFile("key file", "--key", files.key_file, findings);
  CheckKeyFile(files.key_file, findings);
  return ca && certificate && key && CheckOwnCertificate(files, now, findings);
}

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

void CheckDisk(const std::string& directory, Findings* findings) {
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0) {
    findings->Fail("disk",
                   absl::StrCat(directory, " cannot be looked at (",
                                std::strerror(errno), ")."),
                   "Check the path.");
    return;
  }
  const std::uint64_t free_bytes =
      std::uint64_t{disk.f_bavail} * std::uint64_t{disk.f_frsize};
  const std::string finding =
      absl::StrCat(free_bytes / kMebibyte, " MiB are free at ", directory, ".");
  constexpr char kRemedy[] = "Make room before results are written there.";
  if (free_bytes < kFullDisk) {
    findings->Fail("disk", finding, kRemedy);
  } else if (free_bytes < kLowDisk) {
    findings->Warn("disk", finding, kRemedy);
  } else {
    findings->Ok("disk", finding);
  }
}

}  // namespace

v1::DoctorReport RunDoctor(const DoctorOptions& options) {
  RequireTls13();
  v1::DoctorReport report;
  Findings findings(&report);
  const std::int64_t now =
      options.unix_seconds ? options.unix_seconds() : std::time(nullptr);
  const bool files_are_good = CheckFiles(options.tls, now, &findings);
  CheckServer(options, files_are_good, now, &findings);
  CheckDisk(options.data_directory, &findings);
  return report;
}

}  // namespace dpnmf::cli
