// A data directory as `dpnmf-curator serve`, `doctor` and `restore --check` see
// it.
#ifndef DPNMF_TESTS_CURATOR_COMMANDS_SERVABLE_H_
#define DPNMF_TESTS_CURATOR_COMMANDS_SERVABLE_H_

#include <set>
#include <sstream>
#include <string>

#include "tests/common/tls/test_certificates.h"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {

class Servable : public Terminal {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    certificates_->Issue("curator", "--dns localhost");
  }
  static void TearDownTestSuite() { delete certificates_; }

  Servable() { scratch_.Write("allow.json", R"({"peers": []})"); }

  std::string Path(const std::string& name) const {
    return scratch_.path() + "/" + name;
  }
  // Flags of serve and of doctor.
  static std::string ServeFlags() {
    const TlsFiles tls = certificates_->FilesOf("curator");
    return " --data-dir z --allow allow.json --listen 127.0.0.1:0 --ca " +
           tls.ca_file + " --cert " + tls.certificate_file + " --key " +
           tls.key_file + " ";
  }
  // `serve` until it serves or ends; then it is stopped.
  std::string Served() {
    // The file of an earlier call must not be read before it is replaced.
    RunShell("cd '" + scratch_.path() +
             "' && : >said && { '" DPNMF_PROGRAM "' serve" + ServeFlags() +
             ">said 2>&1 & } && server=$! && while kill -0 $server "
             "2>/dev/null && ! grep -q ' serves ' said; do sleep 0.05; done; "
             "kill $server 2>/dev/null; wait $server");
    return ReadAll(Path("said"));
  }
  std::string Examined(const std::string& more = "") {
    Run("doctor" + ServeFlags() + more);
    return out_ + err_;
  }
  // Names of the checks that failed.
  std::set<std::string> FailedChecks(const std::string& more = "") {
    std::istringstream report(Examined(more));
    std::set<std::string> failed;
    for (std::string line; std::getline(report, line);)
      if (line.starts_with("FAILED")) failed.insert(line.substr(9, 24));
    return failed;
  }
  // Makes a backup of the data directory as it is, and checks it.
  int CheckBackupOfIt(const std::string& more = "") {
    std::filesystem::remove_all(Path("backup"));
    EXPECT_EQ(Run("backup --data-dir z --output backup"), 0) << err_;
    return Run("restore --check --from backup --data-dir z " + more);
  }

  static inline TestCertificates* certificates_ = nullptr;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_COMMANDS_SERVABLE_H_
