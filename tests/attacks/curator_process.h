// A real dpnmf-curator in a sandbox of its own: it imports, serves over mutual
// TLS on loopback, and at its end shows all that it printed, logged, measured
// or wrote outside its data directory.
#ifndef DPNMF_TESTS_ATTACKS_CURATOR_PROCESS_H_
#define DPNMF_TESTS_ATTACKS_CURATOR_PROCESS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dpnmf/v1/curator.grpc.pb.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf::curator {

// A file for `dpnmf-curator import`.
struct ImportedFile {
  std::string name;     // of the data set; its population is NAME-people
  std::string content;  // of the file
  std::string options;  // of `import`, beside what every data set needs
  std::string flag = "--input";  // which the file is for
  std::string items = {};        // content of the file for --items, if any
};

class CuratorProcess {
 public:
  // Imports the files and serves. Stops the test program if that fails.
  CuratorProcess(TestCertificates* certificates,
                 const std::vector<ImportedFile>& files);
  ~CuratorProcess();
  CuratorProcess(const CuratorProcess&) = delete;
  CuratorProcess& operator=(const CuratorProcess&) = delete;

  // Stub of dns:analyst, who may see every data set; others have no grant.
  v1::CuratorService::Stub& stub() { return *stub_; }

  // Ends the server with SIGTERM. What it left outside its data directory, by
  // name: "serve.log" (stdout and stderr), "metrics" (the last page), and every
  // file in its anchor, home (the audit log), working and temporary
  // directories.
  std::map<std::string, std::string> Stop();

 private:
  void Import(const ImportedFile& file);
  void Serve();
  std::string Sandboxed(const std::string& arguments) const;

  TestCertificates* const certificates_;
  std::string directory_;
  std::string pid_;
  std::string metrics_port_;
  std::unique_ptr<v1::CuratorService::Stub> stub_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_CURATOR_PROCESS_H_
