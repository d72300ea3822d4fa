#include "tests/attacks/curator_process.h"

#include <stdlib.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/tls/tls.h"
#include "grpcpp/grpcpp.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

// Directories in which the program might leave files without being told to.
constexpr const char* kOutside[] = {"anchor", "home", "cwd", "tmp"};

[[noreturn]] void Abort(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void MustRun(const std::string& command) {
  std::string output;
  if (RunShell(command, &output) != 0) Abort(command + "\n" + output);
}

// The port that the server says it listens on; waits for it.
std::string PortIn(const std::string& log, const char* pattern) {
  const std::regex kPort(pattern);
  for (int tries = 0; tries < 600; ++tries) {
    const std::string text = ReadAll(log);
    std::smatch match;
    if (std::regex_search(text, match, kPort)) return match[1];
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Abort("the curator does not serve:\n" + ReadAll(log));
}

std::string TlsFlags(const TlsFiles& files) {
  return absl::StrCat(" --ca ", files.ca_file, " --cert ",
                      files.certificate_file, " --key ", files.key_file);
}

}  // namespace

CuratorProcess::CuratorProcess(TestCertificates* certificates,
                               const std::vector<ImportedFile>& files)
    : certificates_(certificates) {
  std::string pattern =
      (fs::temp_directory_path() / "dpnmf-curator-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) Abort("mkdtemp");
  directory_ = pattern;
  for (const char* outside : kOutside)
    fs::create_directory(fs::path(directory_) / outside);
  for (const ImportedFile& file : files) Import(file);
  Serve();
}

CuratorProcess::~CuratorProcess() {
  if (!pid_.empty()) RunShell("kill -KILL " + pid_);
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::string CuratorProcess::Sandboxed(const std::string& arguments) const {
  return absl::StrCat("cd ", directory_, "/cwd && exec env HOME=", directory_,
                      "/home TMPDIR=", directory_, "/tmp ", DPNMF_CURATOR, " ",
                      arguments, " --data-dir ", directory_,
                      "/data --anchor-dir ", directory_, "/anchor");
}

void CuratorProcess::Import(const ImportedFile& file) {
  const std::string path = absl::StrCat(directory_, "/", file.name, ".input");
  WriteAll(path, file.content);
  std::string options = file.options;
  if (!file.items.empty()) {
    WriteAll(path + ".items", file.items);
    absl::StrAppend(&options, " --items ", path, ".items");
  }
  MustRun(Sandboxed(absl::StrCat("import --name ", file.name, " --population ",
                                 file.name, "-people ", file.flag, " ", path,
                                 " --epsilon 20 --delta 1e-6 --conversion rdp ",
                                 options)));
}

void CuratorProcess::Serve() {
  const std::string allow = directory_ + "/allow.json",
                    log = directory_ + "/serve.log";
  WriteAll(allow,
           R"({"peers": [{"identity": "dns:analyst", "roles": ["analyst"],)"
           R"( "datasets": ["*"]}]})");
  const TlsFiles server = certificates_->Issue("curator", "--dns localhost"),
                 analyst = certificates_->Issue("analyst", "--dns analyst");
  MustRun(absl::StrCat(
      Sandboxed("serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 "
                "--log-level info --audit-log " +
                directory_ + "/home/audit.jsonl --allow " + allow +
                TlsFlags(server)),
      " > ", log, " 2>&1 & echo $! > ", directory_, "/pid"));
  const std::string port = PortIn(log, "on 127\\.0\\.0\\.1:([0-9]+)");
  metrics_port_ = PortIn(log, "http://127\\.0\\.0\\.1:([0-9]+)/metrics");
  pid_ = ReadAll(directory_ + "/pid");
  pid_.resize(pid_.find('\n'));
  stub_ = v1::CuratorService::NewStub(
      grpc::CreateChannel("localhost:" + port, ChannelTls(analyst).value()));
}

std::map<std::string, std::string> CuratorProcess::Stop() {
  stub_.reset();
  std::string metrics;
  RunShell(absl::StrCat("bash -c 'exec 3<>/dev/tcp/127.0.0.1/", metrics_port_,
                        " && printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3 "
                        "&& cat <&3'"),
           &metrics);
  // `timeout` and `tail` wait for a process that is not a child.
  MustRun(absl::StrCat("kill -TERM ", pid_,
                       " && timeout 60 tail -s 0.05 --pid=", pid_,
                       " -f /dev/null"));
  pid_.clear();
  std::map<std::string, std::string> left = {
      {"metrics", metrics}, {"serve.log", ReadAll(directory_ + "/serve.log")}};
  for (const char* outside : kOutside) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(directory_) / outside)) {
      if (!entry.is_regular_file()) continue;
      left[fs::relative(entry.path(), directory_).string()] =
          ReadAll(entry.path().string());
    }
  }
  return left;
}

}  // namespace dpnmf::curator
