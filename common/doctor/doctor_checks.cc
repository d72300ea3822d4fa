#include "common/doctor/doctor_checks.h"

#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/log/audit_log.h"
#include "common/tls/peer_check.h"

namespace dpnmf {
namespace {

using absl::StrCat;

constexpr std::int64_t kSecondsPerDay = 24 * 3600;
constexpr std::int64_t kRenewDays = 14;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLowDisk = 1024 * kMebibyte;
constexpr std::uint64_t kFullDisk = 64 * kMebibyte;

Finding NamedFile(absl::string_view flag, const std::string& path,
                  const absl::Status& status) {
  if (!path.empty()) return Judged(status, path + " can be read.");
  return Bad("No file is named.",
             StrCat("Name the file with ", flag,
                    "; deploy/certs.sh makes all three (issue DIR NAME)."));
}

absl::Status CheckReadable(const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat(path, " cannot be read (", std::strerror(errno),
             "); check the path and the permissions."));
}

Finding KeyMode(const std::string& path) {
  const std::string remedy = StrCat("Run: chmod 0400 ", path);
  struct stat file {};
  stat(path.c_str(), &file);
  if ((file.st_mode & S_IROTH) != 0) {
    return Bad(StrCat("Every user of this machine may read ", path,
                      "; the programs refuse such a key."),
               remedy);
  }
  if ((file.st_mode & S_IRGRP) != 0)
    return Doubtful(StrCat("A group may read ", path, "."), remedy);
  return Good("Only its owner may read the key.");
}

Finding UsableFor(X509* own, Purpose purpose) {
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) != 1) {
    return Bad("A client may not use it.",
               "Get one that is issued with extendedKeyUsage clientAuth.");
  }
  if (purpose == Purpose::kClient) return Good("A client may use it.");
  if (X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Bad("A server may not use it.",
               "Get one that is issued with extendedKeyUsage serverAuth.");
  }
  return Good("A server and a client may use it.");
}

// The list, if one is kept, and whether it names the own certificate.
void AddRevocation(const TlsFiles& files, const std::vector<X509Pointer>& chain,
                   Purpose purpose, std::int64_t now, CheckList* checks) {
  constexpr char kName[] = "revocation list";
  const TrustFiles trust{files.ca_file, files.crl_file};
  if (files.crl_file.empty()) {
    if (purpose == Purpose::kClient) return;
    checks->Add(
        kName,
        Doubtful(
            "There is none: a stolen certificate stays valid until it expires.",
            "Give --crl FILE; deploy/certs.sh crl makes the file."));
  } else if (checks->Add(
                 kName,
                 Judged(ReadRevocationLists(trust, now).status(),
                        files.crl_file + " belongs to the CA and is valid."))) {
    checks->Add(
        "certificate not revoked",
        Judged(CheckPeerCertificate(chain, PeerKind::kClient, trust, now),
               "The list does not contain it."));
  }
}

}  // namespace

Finding Good(absl::string_view text) {
  return {Finding::kOk, std::string(text), ""};
}
Finding Doubtful(absl::string_view text, absl::string_view remedy) {
  return {Finding::kWarning, std::string(text), std::string(remedy)};
}
Finding Bad(absl::string_view text, absl::string_view remedy) {
  return {Finding::kFailed, std::string(text), std::string(remedy)};
}
Finding Judged(const absl::Status& status, absl::string_view text,
               absl::string_view remedy) {
  if (status.ok()) return Good(text);
  const absl::string_view sentence = status.message();
  const std::size_t end = sentence.rfind("; ");
  if (!remedy.empty()) return Bad(sentence, remedy);
  if (end == absl::string_view::npos)
    return Bad(sentence, "See docs/reference/errors.md.");
  std::string what_to_do(sentence.substr(end + 2));
  what_to_do[0] = absl::ascii_toupper(what_to_do[0]);
  return Bad(StrCat(sentence.substr(0, end), "."), what_to_do);
}

bool CheckList::Add(absl::string_view name, const Finding& finding) {
  constexpr const char* kResults[] = {"ok", "warning", "failed"};
  v1::DoctorCheck& check = *report_.add_checks();
  check.set_name(std::string(name));
  check.set_result(kResults[finding.result]);
  check.set_finding(finding.text);
  check.set_remedy(finding.remedy);
  if (finding.result == Finding::kWarning)
    report_.set_warnings(report_.warnings() + 1);
  if (finding.result == Finding::kFailed) report_.set_ok(false);
  return finding.result != Finding::kFailed;
}

std::string DoctorReportText(const v1::DoctorReport& report) {
  std::string text;
  for (const v1::DoctorCheck& check : report.checks()) {
    absl::StrAppendFormat(&text, "%-8s %-24s %s\n",
                          absl::AsciiStrToUpper(check.result()), check.name(),
                          check.finding());
    if (!check.remedy().empty())
      absl::StrAppendFormat(&text, "%33s -> %s\n", "", check.remedy());
  }
  if (!report.ok()) return text + "Correct what failed, then try again.\n";
  if (report.warnings() == 0) return text + "All checks passed.\n";
  return absl::StrFormat("%sNo errors, %d warning%s.\n", text,
                         report.warnings(), report.warnings() == 1 ? "" : "s");
}

bool AddTlsFiles(const TlsFiles& files, Purpose purpose, std::int64_t now,
                 CheckList* checks) {
  const std::string& path = files.certificate_file;
  const auto authorities = ReadCertificates(files.ca_file);
  const auto chain = ReadOwnCertificates(path);
  const bool ca = checks->Add(
      "ca file", NamedFile("--ca", files.ca_file, authorities.status()));
  const bool certificate = checks->Add(
      "certificate file", NamedFile("--cert", path, chain.status()));
  const bool key = checks->Add(
      "key file",
      NamedFile("--key", files.key_file, CheckReadable(files.key_file)));
  if (key) checks->Add("key mode", KeyMode(files.key_file));
  if (!ca || !certificate || !key) return false;
  X509& own = *chain->front();
  checks->Add(
      "certificate dates",
      CertificateDates(own, now, path,
                       "Get a new one (deploy/certs.sh issue DIR NAME); if the "
                       "dates are right, set this machine's clock."));
  checks->Add(
      "certificate names",
      Judged(CheckHasName(own, path),
             StrCat("You are known as ",
                    absl::StrJoin(NamesOf(own).identities, ", "), ".")));
  checks->Add("certificate signature",
              Judged(CheckSignature(*chain, *authorities, path, files.ca_file),
                     StrCat("Signed by the CA in ", files.ca_file, ".")));
  checks->Add("certificate purpose", UsableFor(&own, purpose));
  checks->Add("certificate key", Judged(CheckKey(own, path, files.key_file),
                                        "The key belongs to the certificate."));
  AddRevocation(files, *chain, purpose, now, checks);
  return true;
}

Finding CertificateDates(const X509& certificate, std::int64_t now,
                         const std::string& path, absl::string_view remedy) {
  const std::int64_t days = (NotAfter(certificate) - now) / kSecondsPerDay;
  const std::string text =
      StrCat("Valid from ", TimeText(NotBefore(certificate)), " to ",
             TimeText(NotAfter(certificate)), "; ", days, " days left.");
  const absl::Status status = CheckDates(certificate, now, path);
  if (status.ok() && days < kRenewDays) return Doubtful(text, remedy);
  return Judged(status, text, remedy);
}

Finding FreeSpace(const std::string& directory) {
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0) {
    return Bad(
        StrCat(directory, " cannot be examined (", std::strerror(errno), ")."),
        "Check the path.");
  }
  const std::uint64_t free_bytes =
      std::uint64_t{disk.f_bavail} * std::uint64_t{disk.f_frsize};
  const std::string text =
      StrCat(free_bytes / kMebibyte, " MiB are free at `", directory, "`.");
  constexpr char kRemedy[] = "Free space before results are written there.";
  if (free_bytes < kFullDisk) return Bad(text, kRemedy);
  return free_bytes < kLowDisk ? Doubtful(text, kRemedy) : Good(text);
}

Finding PrivateDirectory(const std::string& directory) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return Bad(directory + " does not exist.", "Check the path.");
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Bad(StrCat("Other users than its owner may enter ", directory, "."),
               StrCat("Run: chmod 0700 ", directory));
  }
  if (info.st_uid == geteuid())
    return Good(directory + " is accessible only to its owner.");
  return Doubtful(
      StrCat(directory, " belongs to another user (", info.st_uid, ")."),
      "Run this as the user that the server runs as.");
}

Finding NotWritableByOthers(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0)
    return Bad(file + " does not exist.", "Check the path.");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return Good(StrCat("Only its owner may change ", file, "."));
  return Bad(StrCat("Other users than its owner may change ", file, "."),
             StrCat("Run: chmod go-w ", file));
}

Finding NotRoot() {
  if (geteuid() != 0) return Good(StrCat("User ", geteuid(), ", not root."));
  return Doubtful("This user is root.",
                  "Run the server as a separate user, who owns its directories "
                  "and its key.");
}

Finding AuditLogFile(const std::string& file) {
  return Judged(AuditLog::Open(file).status(), file + " can be appended to.",
                "Nothing is released without it; free space, or choose another "
                "--audit-log.");
}

Finding MetricsAddress(const std::string& listen) {
  if (listen.empty()) {
    return Doubtful("Metrics are off.",
                    "Give --metrics-listen with an address of the operator's "
                    "network, to see problems early.");
  }
  if (absl::StartsWith(listen, "0.0.0.0:") ||
      absl::StartsWith(listen, "[::]:")) {
    return Bad(StrCat("Every network can read them (", listen,
                      "), without a certificate."),
               "Choose an address of the operator's network.");
  }
  return Good(StrCat("They are served on ", listen, "."));
}

}  // namespace dpnmf
