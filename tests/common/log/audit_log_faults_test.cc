// Each call of the system that the audit log makes, failing.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/error.h"
#include "common/log/audit_log.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/base/failing_system.h"

namespace dpnmf {
namespace {

namespace fs = std::filesystem;
using Call = FailingSystem::Call;

class AuditLogFaults : public ::testing::Test {
 protected:
  AuditLogFaults() {
    std::string pattern = ::testing::TempDir() + "auditXXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/audit.jsonl";
  }
  ~AuditLogFaults() override { fs::remove_all(directory_); }

  static std::string Write(AuditLog* log, const char* event,
                           AuditSync sync = AuditSync::kDurable) {
    return ReasonCode(log->Write(event, {}, sync));
  }

  // The events of the whole lines; "?" for a line that is none.
  std::string Events() const {
    std::ifstream file(path_);
    std::string events;
    for (std::string line; std::getline(file, line);) {
      const auto entry = nlohmann::json::parse(line, nullptr, false);
      events += entry.is_object() ? entry["event"].get<std::string>() : "?";
      events += " ";
    }
    return events;
  }

  std::string directory_, path_;
};

TEST_F(AuditLogFaults, AnEntryThatIsNotWrittenIsRefusedAndLeavesNoHalfLine) {
  const auto log = AuditLog::Open(path_).value();
  bool failing = true;
  const FailingSystem system([&](Call call, const std::string&) {
    return failing && call == Call::kWrite;
  });
  EXPECT_EQ(Write(log.get(), "refused", AuditSync::kWritten), "audit-failed");
  failing = false;
  EXPECT_EQ(Write(log.get(), "written"), "");
  EXPECT_EQ(Events(), "written ");
}

TEST_F(AuditLogFaults, AHalfLineThatStaysIsEndedBeforeTheNextEntry) {
  const auto log = AuditLog::Open(path_).value();
  bool failing = true;
  const FailingSystem system([&](Call call, const std::string&) {
    return failing && (call == Call::kWrite || call == Call::kChange);
  });
  EXPECT_EQ(Write(log.get(), "refused"), "audit-failed");
  EXPECT_EQ(Write(log.get(), "refused"), "audit-failed");
  failing = false;
  EXPECT_EQ(Write(log.get(), "written"), "");
  const std::string events = Events();
  EXPECT_TRUE(events.starts_with("? ")) << events;
  EXPECT_TRUE(events.ends_with(" written ")) << events;
}

TEST_F(AuditLogFaults, ADurableEntryNeedsItsSync) {
  const auto log = AuditLog::Open(path_).value();
  bool failing = true;
  const FailingSystem system([&](Call call, const std::string&) {
    return failing && call == Call::kSync;
  });
  EXPECT_EQ(Write(log.get(), "refused"), "audit-failed");
  EXPECT_EQ(Write(log.get(), "kept", AuditSync::kWritten), "");
  failing = false;
  EXPECT_EQ(Write(log.get(), "kept"), "");
}

TEST_F(AuditLogFaults, ADurableEntryNeedsTheSyncOfANewFilesName) {
  const auto log = AuditLog::Open(path_).value();
  fs::rename(path_, path_ + ".1");  // rotation: the next entry makes a new file
  bool failing = true;
  const FailingSystem system([&](Call call, const std::string&) {
    return failing && call == Call::kSyncDirectory;
  });
  EXPECT_EQ(Write(log.get(), "refused"), "audit-failed");
  // Also when the file is there by now.
  EXPECT_EQ(Write(log.get(), "refused"), "audit-failed");
  EXPECT_EQ(ReasonCode(AuditLog::Open(path_).status()), "audit-failed");
  failing = false;
  EXPECT_EQ(Write(log.get(), "kept"), "");
  EXPECT_EQ(Events(), "kept ");
}

TEST_F(AuditLogFaults, ALogThatCannotBeOpenedIsRefused) {
  const FailingSystem system(
      [](Call call, const std::string&) { return call == Call::kOpen; });
  EXPECT_EQ(ReasonCode(AuditLog::Open(path_).status()), "audit-failed");
}

}  // namespace
}  // namespace dpnmf
