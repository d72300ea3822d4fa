#include "common/server/refused_calls.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;

class RefusedCallsTest : public ::testing::Test {
 protected:
  RefusedCallsTest() {
    std::string pattern = ::testing::TempDir() + "refusedXXXXXX";
    directory_ = mkdtemp(pattern.data());
    audit_ = AuditLog::Open(directory_ + "/audit.jsonl").value();
    calls_ = std::make_unique<RefusedCalls>(
        Observers{audit_.get(), nullptr},
        RefusedCalls::Limits{std::chrono::seconds(60), 3},
        [this] { return now_; });
  }
  ~RefusedCallsTest() override {
    calls_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Pass(int seconds) { now_ += std::chrono::seconds(seconds); }
  // "IDENTITY RESULT COUNT", one an entry.
  std::vector<std::string> Entries() const {
    std::ifstream file(directory_ + "/audit.jsonl");
    std::vector<std::string> entries;
    for (std::string line; std::getline(file, line);) {
      const auto entry = nlohmann::json::parse(line);
      EXPECT_EQ(entry["event"], "calls-refused");
      EXPECT_EQ(entry["seconds"], 60);
      entries.push_back(entry["identity"].get<std::string>() + " " +
                        entry["result"].get<std::string>() + " " +
                        std::to_string(entry["count"].get<int>()));
    }
    return entries;
  }

  std::string directory_;
  std::chrono::steady_clock::time_point now_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<RefusedCalls> calls_;
};

TEST_F(RefusedCallsTest, TheFirstOfAnIdentityAndCodeStandsAlone) {
  EXPECT_TRUE(calls_->IsFirst("dns:a", "x"));
  EXPECT_FALSE(calls_->IsFirst("dns:a", "x"));
  EXPECT_TRUE(calls_->IsFirst("dns:a", "y"));
  EXPECT_TRUE(calls_->IsFirst("dns:b", "x"));
  EXPECT_FALSE(calls_->IsFirst("dns:b", "x"));
  EXPECT_THAT(Entries(), ElementsAre());
}

TEST_F(RefusedCallsTest, ThePeriodsEntrySaysHowManyOthersThereWere) {
  for (int i = 0; i < 1000; ++i) calls_->IsFirst("dns:a", "x");
  calls_->IsFirst("dns:b", "x");
  Pass(59);
  calls_->WriteDue();
  EXPECT_THAT(Entries(), ElementsAre());
  Pass(1);
  calls_->WriteDue();
  // One that was alone has its own entry already.
  EXPECT_THAT(Entries(), ElementsAre("dns:a x 999"));
  EXPECT_TRUE(calls_->IsFirst("dns:a", "x")) << "a new period";
}

TEST_F(RefusedCallsTest, TheNextRefusalWritesWhatIsDue) {
  calls_->IsFirst("dns:a", "x");
  calls_->IsFirst("dns:a", "x");
  Pass(60);
  EXPECT_TRUE(calls_->IsFirst("dns:b", "x"));
  EXPECT_THAT(Entries(), ElementsAre("dns:a x 1"));
}

TEST_F(RefusedCallsTest, IdentitiesBeyondTheLimitShareOneEntry) {
  for (const char* identity : {"dns:a", "dns:b", "dns:c"})
    EXPECT_TRUE(calls_->IsFirst(identity, "x"));
  for (int i = 0; i < 500; ++i)
    EXPECT_FALSE(calls_->IsFirst("dns:many" + std::to_string(i), "x"));
  EXPECT_FALSE(calls_->IsFirst("dns:c", "x")) << "known before";
  Pass(60);
  calls_->WriteDue();
  EXPECT_THAT(Entries(), ElementsAre("dns:c x 1", "others others 500"));
}

TEST_F(RefusedCallsTest, WhatIsCountedIsWrittenAtTheEnd) {
  calls_->IsFirst("dns:a", "x");
  calls_->IsFirst("dns:a", "x");
  calls_.reset();
  EXPECT_THAT(Entries(), ElementsAre("dns:a x 1"));
}

}  // namespace
}  // namespace dpnmf
