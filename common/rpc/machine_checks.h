// What the doctors look at on the machine that they run on: files, their
// modes, certificates, disks. Each finding comes with what to do.
#ifndef DPNMF_COMMON_RPC_MACHINE_CHECKS_H_
#define DPNMF_COMMON_RPC_MACHINE_CHECKS_H_

#include <openssl/x509.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/rpc/certificate.h"
#include "common/rpc/tls.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf {

// Adds checks to a report, which is ok until one fails.
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
    report_.set_warnings(report_.warnings() + 1);
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

// The last line for people: whether all is well.
std::string VerdictOf(const v1::DoctorReport& report);
// The report as lines for people.
std::string TextOf(const v1::DoctorReport& report);

// "valid from ... to ...".
std::string DatesText(const X509& certificate);

// What a certificate is for. A server dials, too (its own health check, the
// curator): it must serve both ways.
enum class Purpose { kClient, kServer };

// ca file, certificate file, key file, key mode, certificate dates, names,
// signature, purpose, key, revocation list. Whether they are good enough to
// connect with.
bool CheckOwnFiles(const TlsFiles& files, Purpose purpose, std::int64_t now,
                   Findings* findings);

// The free space at a directory.
void CheckDisk(absl::string_view name, const std::string& directory,
               Findings* findings);
// A directory that its owner alone may enter, and that is this user's.
void CheckPrivateDirectory(absl::string_view name, const std::string& directory,
                           Findings* findings);
// A file that nobody else may write.
void CheckNotWritableByOthers(absl::string_view name, const std::string& file,
                              Findings* findings);
// That this is not root, who may do more than the program needs.
void CheckUser(Findings* findings);
// That the audit log can be appended to (it is made if missing).
void CheckAuditLog(const std::string& file, Findings* findings);
// That metrics are not shown on all of the machine's addresses.
void CheckMetricsAddress(const std::string& listen, Findings* findings);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RPC_MACHINE_CHECKS_H_
