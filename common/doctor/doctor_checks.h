// One vocabulary for the doctors, and the checks that more than one of them
// runs: files, their modes, certificates, disks of this machine. A doctor is a
// table: names, each with a check and its parameters.
#ifndef DPNMF_COMMON_DOCTOR_DOCTOR_CHECKS_H_
#define DPNMF_COMMON_DOCTOR_DOCTOR_CHECKS_H_

#include <openssl/x509.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/tls/certificate.h"
#include "common/tls/tls.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf {

// Result of a check, in a sentence, and what to do (empty if all is well).
struct Finding {
  enum Result { kOk, kWarning, kFailed };
  Result result;
  std::string text;
  std::string remedy;
};
Finding Good(absl::string_view text);
Finding Doubtful(absl::string_view text, absl::string_view remedy);
Finding Bad(absl::string_view text, absl::string_view remedy);
// Good, or Bad with the status's sentence. Without a remedy of the caller's,
// the sentence is split where it says what to do: "... expired; issue a new
// one."
Finding Judged(const absl::Status& status, absl::string_view text,
               absl::string_view remedy = "");

// The findings of a doctor, in the order in which they were added.
class CheckList {
 public:
  CheckList() { report_.set_ok(true); }
  // Returns false if the finding is a failure; the report is then not ok.
  bool Add(absl::string_view name, const Finding& finding);
  const v1::DoctorReport& report() const { return report_; }

 private:
  v1::DoctorReport report_;
};

// The report as lines for people; the last line says whether all is well.
std::string DoctorReportText(const v1::DoctorReport& report);

// Purpose of a certificate. A server also dials (its own health check, the
// curator), so its certificate must serve both ways.
enum class Purpose { kClient, kServer };

// ca file, certificate file, key file, key mode, certificate dates, names,
// signature, purpose, key, revocation list. Whether they are good enough to
// connect with.
bool AddTlsFiles(const TlsFiles& files, Purpose purpose, std::int64_t now,
                 CheckList* checks);
// `path` names the certificate in the sentence. Doubtful in its last 14 days.
Finding CertificateDates(const X509& certificate, std::int64_t now,
                         const std::string& path, absl::string_view remedy);

// The free space at a directory.
Finding FreeSpace(const std::string& directory);
// A directory that its owner alone may enter, and that is this user's.
Finding PrivateDirectory(const std::string& directory);
// A file that nobody else may write.
Finding NotWritableByOthers(const std::string& file);
// Checks that this is not root, who may do more than the program needs.
Finding NotRoot();
// Checks that the audit log can be appended to (creates a missing file).
Finding AuditLogFile(const std::string& file);
// Checks that metrics are not shown on all of the machine's addresses.
Finding MetricsAddress(const std::string& listen);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_DOCTOR_DOCTOR_CHECKS_H_
