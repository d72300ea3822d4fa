#include "common/rpc/machine_checks.h"

#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/audit_log.h"
#include "common/rpc/certificate.h"
#include "common/rpc/peer_check.h"

namespace dpnmf {
namespace {

constexpr std::int64_t kSecondsPerDay = 24 * 3600;
constexpr std::int64_t kRenewDays = 14;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLowDisk = 1024 * kMebibyte;
constexpr std::uint64_t kFullDisk = 64 * kMebibyte;

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

void CheckPurpose(X509* own, Purpose purpose, Findings* findings) {
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) != 1) {
    findings->Fail("certificate purpose", "It may not be used by a client.",
                   "Have one issued with extendedKeyUsage clientAuth.");
  } else if (purpose == Purpose::kServer &&
             X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    findings->Fail("certificate purpose", "It may not be used by a server.",
                   "Have one issued with extendedKeyUsage serverAuth.");
  } else {
    findings->Ok("certificate purpose",
                 purpose == Purpose::kClient
                     ? "It may be used by a client."
                     : "It may be used by a server and by a client.");
  }
}

// The list, if one is kept, and whether it names the own certificate.
void CheckRevocation(const TlsFiles& files,
                     const std::vector<X509Pointer>& chain, Purpose purpose,
                     std::int64_t now, Findings* findings) {
  constexpr char kName[] = "revocation list";
  if (files.crl_file.empty()) {
    if (purpose == Purpose::kServer) {
      findings->Warn(kName,
                     "None is kept: a certificate that was stolen stays good "
                     "until it expires.",
                     "Give --crl FILE; deploy/certs.sh crl makes it.");
    }
    return;
  }
  const TrustFiles trust{files.ca_file, files.crl_file};
  const auto lists = ReadRevocationLists(trust, now);
  if (!findings->Judge(kName, lists.status(),
                       absl::StrCat(files.crl_file,
                                    " is the CA's and in "
                                    "force."),
                       "Have it made anew (deploy/certs.sh crl) and copied "
                       "here, from a timer.")) {
    return;
  }
  findings->Judge("certificate not revoked",
                  CheckPeerCertificate(chain, PeerKind::kClient, trust, now),
                  "The list does not name it.", "Have another one issued.");
}

// Own certificate against itself, its CA and its key.
bool CheckOwnCertificate(const TlsFiles& files, Purpose purpose,
                         std::int64_t now, Findings* findings) {
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
  CheckPurpose(own, purpose, findings);
  findings->Judge("certificate key", CheckKey(*own, files.key_file),
                  "The key belongs to the certificate.",
                  "Use the key that was made with the certificate.");
  CheckRevocation(files, *chain, purpose, now, findings);
  return true;
}

}  // namespace

std::string DatesText(const X509& certificate) {
  return absl::StrCat("valid from ", TimeText(NotBefore(certificate)), " to ",
                      TimeText(NotAfter(certificate)));
}

bool CheckOwnFiles(const TlsFiles& files, Purpose purpose, std::int64_t now,
                   Findings* findings) {
  const bool ca = CheckFile("ca file", "--ca", files.ca_file, findings);
  const bool certificate =
      CheckFile("certificate file", "--cert", files.certificate_file, findings);
  const bool key = CheckFile("key file", "--key", files.key_file, findings);
  CheckKeyFile(files.key_file, findings);
  return ca && certificate && key &&
         CheckOwnCertificate(files, purpose, now, findings);
}

void CheckDisk(absl::string_view name, const std::string& directory,
               Findings* findings) {
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0) {
    findings->Fail(name,
                   absl::StrCat(directory, " cannot be looked at (",
                                std::strerror(errno), ")."),
                   "Check the path.");
    return;
  }
  const std::uint64_t free_bytes =
      std::uint64_t{disk.f_bavail} * std::uint64_t{disk.f_frsize};
  const std::string finding = absl::StrCat(
      free_bytes / kMebibyte, " MiB are free at `", directory, "`.");
  constexpr char kRemedy[] = "Make room before results are written there.";
  if (free_bytes < kFullDisk) {
    findings->Fail(name, finding, kRemedy);
  } else if (free_bytes < kLowDisk) {
    findings->Warn(name, finding, kRemedy);
  } else {
    findings->Ok(name, finding);
  }
}

void CheckPrivateDirectory(absl::string_view name, const std::string& directory,
                           Findings* findings) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    findings->Fail(name, absl::StrCat(directory, " is not there."),
                   "Check the path.");
  } else if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    findings->Fail(
        name, absl::StrCat("Others than its owner may enter ", directory, "."),
        absl::StrCat("Run: chmod 0700 ", directory));
  } else if (info.st_uid != geteuid()) {
    findings->Warn(name,
                   absl::StrCat(directory, " belongs to another user (",
                                info.st_uid, ")."),
                   "Run this as the user that the server runs as.");
  } else {
    findings->Ok(name, absl::StrCat(directory, " is its owner's alone."));
  }
}

void CheckNotWritableByOthers(absl::string_view name, const std::string& file,
                              Findings* findings) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) {
    findings->Fail(name, absl::StrCat(file, " is not there."),
                   "Check the path.");
  } else if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    findings->Fail(name,
                   absl::StrCat("Others than its owner may change ", file, "."),
                   absl::StrCat("Run: chmod go-w ", file));
  } else {
    findings->Ok(name, absl::StrCat("Its owner alone may change ", file, "."));
  }
}

void CheckUser(Findings* findings) {
  if (geteuid() == 0) {
    findings->Warn("user", "This is root.",
                   "Run the server as a user of its own, which owns its "
                   "directories and its key.");
  } else {
    findings->Ok("user", absl::StrCat("User ", geteuid(), ", not root."));
  }
}

void CheckAuditLog(const std::string& file, Findings* findings) {
  const auto log = AuditLog::Open(file);
  findings->Judge("audit log", log.status(),
                  absl::StrCat(file, " can be appended to."),
                  "Without it nothing is released; make room, or name another "
                  "--audit-log.");
}

void CheckMetricsAddress(const std::string& listen, Findings* findings) {
  if (listen.empty()) {
    findings->Warn("metrics", "No metrics are shown.",
                   "Give --metrics-listen with an address of the operator's "
                   "network, so that trouble is seen.");
  } else if (absl::StartsWith(listen, "0.0.0.0:") ||
             absl::StartsWith(listen, "[::]:")) {
    findings->Fail("metrics",
                   absl::StrCat("They are shown on every network (", listen,
                                "), without a certificate."),
                   "Name an address of the operator's network alone.");
  } else {
    findings->Ok("metrics", absl::StrCat("They are shown on ", listen, "."));
  }
}

std::string VerdictOf(const v1::DoctorReport& report) {
  if (!report.ok()) return "Mend what failed, then try again.\n";
  if (report.warnings() == 0) return "All is well.\n";
  return absl::StrFormat("No errors, %d warning%s.\n", report.warnings(),
                         report.warnings() == 1 ? "" : "s");
}

std::string TextOf(const v1::DoctorReport& report) {
  std::string text;
  for (const v1::DoctorCheck& check : report.checks()) {
    absl::StrAppendFormat(&text, "%-8s %-24s %s\n",
                          absl::AsciiStrToUpper(check.result()), check.name(),
                          check.finding());
    if (!check.remedy().empty())
      absl::StrAppendFormat(&text, "%33s -> %s\n", "", check.remedy());
  }
  return text + VerdictOf(report);
}

}  // namespace dpnmf
