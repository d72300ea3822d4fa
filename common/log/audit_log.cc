#include "common/log/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/trace.h"
#include "common/files/durable_file.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

absl::Status Failed(const std::string& path) {
  return Refusal(
      absl::StatusCode::kUnavailable, "audit-failed",
      absl::StrCat("The audit log ", path, " cannot be written (",
                   std::strerror(errno),
                   "): free space on its volume, or repair the volume."));
}

std::string TimeNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  char text[32] = "";
  gmtime_r(&seconds, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  return absl::StrFormat("%s.%03dZ", text, milliseconds % 1000);
}

std::string LineOf(std::string_view event, const AuditFields& fields) {
  nlohmann::ordered_json entry;
  entry["time"] = TimeNow();
  entry["event"] = std::string(event);
  if (const Trace* const trace = TraceScope::Current(); trace != nullptr)
    entry["request"] = trace->Text();
  for (const auto& [name, value] : fields) {
    std::visit([&, key = std::string(name)](const auto& v) { entry[key] = v; },
               value);
  }
  return entry.dump(-1, ' ', true,
                    nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

// A new file's name lasts only when its directory is synced. One that may be
// written and not read cannot be.
bool NameIsDurable(const std::string& path) {
  const std::string parent =
      std::filesystem::absolute(path).parent_path().string();
  const absl::Status synced = SyncDirectory(parent);
  const int error = errno;
  const bool durable = synced.ok() || access(parent.c_str(), R_OK) != 0;
  errno = error;
  return durable;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(std::string path) {
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(path)));
  MutexLock lock(&log->mutex_);
  DPNMF_RETURN_IF_ERROR(log->OpenFile());
  return log;
}

absl::Status AuditLog::OpenFile() {
  file_.Close();
  file_ = Descriptor(DPNMF_SYSTEM(open)(
      path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.ok()) return Failed(path_);
  struct stat file {};
  if (fstat(file_.get(), &file) != 0 || !S_ISREG(file.st_mode))
    return absl::OkStatus();
  // A line that a crash cut short stays as it is; the next starts again.
  char last = '\n';
  const bool cut_short = file.st_size > 0 &&
                         pread(file_.get(), &last, 1, file.st_size - 1) == 1 &&
                         last != '\n';
  if (NameIsDurable(path_) && (!cut_short || WriteWhole(file_.get(), "\n")))
    return absl::OkStatus();
  absl::Status failed = Failed(path_);
  file_.Close();  // the next entry opens it again
  return failed;
}

bool AuditLog::Moved() const {
  struct stat open_file {
  }, named_file{};
  return fstat(file_.get(), &open_file) != 0 ||
         stat(path_.c_str(), &named_file) != 0 ||
         open_file.st_ino != named_file.st_ino ||
         open_file.st_dev != named_file.st_dev;
}

absl::Status AuditLog::Write(std::string_view event, const AuditFields& fields,
                             AuditSync sync) {
  const std::string line = LineOf(event, fields);
  MutexLock lock(&mutex_);
  if (!file_.ok() || Moved()) DPNMF_RETURN_IF_ERROR(OpenFile());
  return Append(line, sync);
}

absl::Status AuditLog::Append(const std::string& line, AuditSync sync) {
  struct stat before {};
  const bool regular =
      fstat(file_.get(), &before) == 0 && S_ISREG(before.st_mode);
  if (!WriteWhole(file_.get(), line)) {
    absl::Status failed = Failed(path_);
    // Half a line is taken back; where that fails, opening again sees to it.
    if (!regular || DPNMF_SYSTEM(ftruncate)(file_.get(), before.st_size) != 0) {
      file_.Close();
    }
    return failed;
  }
  if (sync == AuditSync::kDurable && DPNMF_SYSTEM(fdatasync)(file_.get()) != 0)
    return Failed(path_);
  return absl::OkStatus();
}

absl::Status WriteAudit(AuditLog* log, std::string_view event,
                        const AuditFields& fields, AuditSync sync) {
  return log == nullptr ? absl::OkStatus() : log->Write(event, fields, sync);
}

}  // namespace dpnmf
