#include "tests/common/tls/test_certificates.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dpnmf {
namespace {

void MustRun(const std::string& command) {
  std::string output;
  if (RunShell(command, &output) == 0) return;
  std::fprintf(stderr, "%s\n%s\n", command.c_str(), output.c_str());
  std::abort();
}

std::string NewDirectory() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "dpnmf-certs-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  return pattern;
}

}  // namespace

int RunShell(const std::string& command, std::string* output) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[4096];
  while (const std::size_t size = fread(buffer, 1, sizeof(buffer), pipe)) {
    if (output != nullptr) output->append(buffer, size);
  }
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string CertsScript() { return DPNMF_CERTS_SCRIPT; }

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void WriteAll(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TestCertificates::TestCertificates() : directory_(NewDirectory()) {
  MustRun(CertsScript() + " init " + directory_);
}

TestCertificates::~TestCertificates() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

TlsFiles TestCertificates::FilesOf(const std::string& name) const {
  const std::string own = directory_ + "/" + name;
  return {.ca_file = own + "/ca.crt",
          .certificate_file = own + "/tls.crt",
          .key_file = own + "/tls.key"};
}

TlsFiles TestCertificates::Issue(const std::string& name,
                                 const std::string& options) {
  MustRun(CertsScript() + " issue " + directory_ + " " + name + " " + options);
  return FilesOf(name);
}

TlsFiles TestCertificates::IssueOdd(const std::string& name,
                                    const std::string& extensions, int days) {
  const TlsFiles files = Issue(name);  // for the key
  const std::string own = directory_ + "/" + name;
  WriteAll(own + "/extensions", "keyUsage=digitalSignature\n" + extensions);
  MustRun("openssl req -new -key " + files.key_file + " -subj /CN=localhost" +
          " -out " + own + "/odd.csr && rm -f " + files.certificate_file +
          " && openssl x509 -req -in " + own + "/odd.csr -CA " + ca_file() +
          " -CAkey " + directory_ + "/ca/ca.key -set_serial 77 -days " +
          std::to_string(days) + " -extfile " + own + "/extensions -out " +
          files.certificate_file);
  return files;
}

TlsFiles TestCertificates::IssueForTheFuture(const std::string& name) {
  const TlsFiles files = Issue(name);
  const std::string own = directory_ + "/" + name;
  // `openssl x509` cannot set the first day; `openssl ca` can.
  WriteAll(own + "/ca.cnf",
           "[ca]\ndefault_ca=d\n[d]\npolicy=p\nrand_serial=yes\n"
           "default_md=sha256\nunique_subject=no\nnew_certs_dir=" +
               own + "\ndatabase=" + own + "/index\nx509_extensions=x\n" +
               "[p]\ncommonName=supplied\n[x]\nsubjectAltName=DNS:" + name +
               "\n");
  WriteAll(own + "/index", "");
  MustRun("openssl req -new -key " + files.key_file + " -subj /CN=" + name +
          " -out " + own + "/odd.csr && rm -f " + files.certificate_file +
          " && openssl ca -batch -notext -config " + own + "/ca.cnf -cert " +
          ca_file() + " -keyfile " + directory_ + "/ca/ca.key -in " + own +
          "/odd.csr -out " + files.certificate_file +
          " -startdate $(($(date +%Y) + 5))0101000000Z -enddate " +
          "$(($(date +%Y) + 6))0101000000Z");
  return files;
}

}  // namespace dpnmf
