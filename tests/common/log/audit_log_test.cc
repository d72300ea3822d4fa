#include "common/log/audit_log.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/base/error.h"
#include "common/base/trace.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

namespace fs = std::filesystem;

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    std::string pattern = ::testing::TempDir() + "auditXXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/audit.jsonl";
  }
  ~AuditLogTest() override { fs::remove_all(directory_); }

  std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<nlohmann::json> Entries(const std::string& path) {
    std::vector<nlohmann::json> entries;
    std::istringstream lines(Text(path));
    for (std::string line; std::getline(lines, line);)
      entries.push_back(nlohmann::json::parse(line));
    return entries;
  }

  std::string directory_, path_;
};

TEST_F(AuditLogTest, AnEntryIsALineOfJsonWithTheThreadsRequest) {
  const auto log = AuditLog::Open(path_).value();
  const TraceScope scope(NewTrace());
  ASSERT_TRUE(log->Write("round-released",
                         {{"run", "a\"\n\xff"},
                          {"round", std::int64_t{3}},
                          {"lost", false}},
                         AuditSync::kDurable)
                  .ok());
  const auto entries = Entries(path_);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["event"], "round-released");
  EXPECT_EQ(entries[0]["request"], scope.trace().Text());
  EXPECT_EQ(entries[0]["round"], 3);
  EXPECT_EQ(entries[0]["lost"], false);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, ALineThatACrashCutShortHarmsNoOther) {
  std::ofstream(path_) << "{\"event\":\"whole\"}\n{\"event\":\"cut";
  {
    const auto log = AuditLog::Open(path_).value();
    ASSERT_TRUE(log->Write("next", {}, AuditSync::kWritten).ok());
  }
  std::istringstream lines(Text(path_));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line, "{\"event\":\"cut");
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["event"], "next");
}

TEST_F(AuditLogTest, AFileThatIsMovedAwayIsBegunAnew) {
  const auto log = AuditLog::Open(path_).value();
  ASSERT_TRUE(log->Write("one", {}, AuditSync::kWritten).ok());
  fs::rename(path_, path_ + ".1");
  ASSERT_TRUE(log->Write("two", {}, AuditSync::kWritten).ok());
  EXPECT_EQ(Entries(path_ + ".1")[0]["event"], "one");
  EXPECT_EQ(Entries(path_)[0]["event"], "two");
}

TEST_F(AuditLogTest, AFullDeviceIsRefusedAndAnEmptyOneTakenAgain) {
  EXPECT_EQ(ReasonCode(AuditLog::Open(directory_ + "/none/a").status()),
            "audit-failed");
  const auto log = AuditLog::Open(path_).value();
  ASSERT_TRUE(log->Write("one", {}, AuditSync::kDurable).ok());
  fs::remove(path_);
  fs::create_symlink("/dev/full", path_);
  const absl::Status full = log->Write("two", {}, AuditSync::kDurable);
  EXPECT_EQ(ReasonCode(full), "audit-failed");
  EXPECT_EQ(full.code(), absl::StatusCode::kUnavailable);
  fs::remove(path_);
  EXPECT_TRUE(log->Write("three", {}, AuditSync::kDurable).ok());
  EXPECT_EQ(Entries(path_).size(), 1u);
}

// The file may grow by a few bytes and then no more, as on a disk that fills.
TEST_F(AuditLogTest, HalfALineIsTakenBack) {
  const auto log = AuditLog::Open(path_).value();
  ASSERT_TRUE(log->Write("one", {}, AuditSync::kWritten).ok());
  const auto size = fs::file_size(path_);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = size + 10;
  setrlimit(RLIMIT_FSIZE, &small);
  const absl::Status refused = log->Write("two", {}, AuditSync::kWritten);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(ReasonCode(refused), "audit-failed");
  EXPECT_EQ(fs::file_size(path_), size);
  EXPECT_TRUE(log->Write("three", {}, AuditSync::kWritten).ok());
  EXPECT_EQ(Entries(path_).size(), 2u);
}

TEST_F(AuditLogTest, LinesOfManyThreadsAreWhole) {
  const auto log = AuditLog::Open(path_).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k)
        EXPECT_TRUE(
            log->Write("e", {{"k", std::int64_t{k}}}, AuditSync::kWritten)
                .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Entries(path_).size(), 800u);
}

}  // namespace
}  // namespace dpnmf
