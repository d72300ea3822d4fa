// Certificates for tests, made by deploy/certs.sh in a folder of their own.
#ifndef DPNMF_TESTS_COMMON_TLS_TEST_CERTIFICATES_H_
#define DPNMF_TESTS_COMMON_TLS_TEST_CERTIFICATES_H_

#include <string>

#include "common/tls/tls.h"

namespace dpnmf {

// A CA and what it signs; the folder goes with the object.
class TestCertificates {
 public:
  // Makes the CA. Stops the test program if the script fails.
  TestCertificates();
  ~TestCertificates();
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  // Runs `deploy/certs.sh issue` for NAME with options such as "--dns a.b".
  TlsFiles Issue(const std::string& name, const std::string& options = "");
  // Signs an odd certificate that the script would not: `extensions` are lines
  // of an OpenSSL configuration, `days` may be negative (expired).
  TlsFiles IssueOdd(const std::string& name, const std::string& extensions,
                    int days = 30);
  // A certificate that becomes valid in ten years.
  TlsFiles IssueForTheFuture(const std::string& name);

  std::string directory() const { return directory_; }
  std::string ca_file() const { return directory_ + "/ca/ca.crt"; }
  TlsFiles FilesOf(const std::string& name) const;

 private:
  std::string directory_;
};

// Runs a shell command; returns its exit code. Output is appended to *output.
int RunShell(const std::string& command, std::string* output = nullptr);
// The path of deploy/certs.sh.
std::string CertsScript();
std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& content);

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_TLS_TEST_CERTIFICATES_H_
