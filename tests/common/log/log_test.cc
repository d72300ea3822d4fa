#include "common/log/log.h"

#include <string>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

// Returns what the log writes; the default logger writes to standard output.
std::string Logged(void (*work)()) {
  ::testing::internal::CaptureStdout();
  work();
  return ::testing::internal::GetCapturedStdout();
}

TEST(Log, PutsEachValueInItsPlace) {
  const std::string text =
      Logged([] { LogInfo("run {} round {} of {}", "a{}b", 3, 4.5); });
  EXPECT_NE(text.find("run a{}b round 3 of 4.5\n"), std::string::npos) << text;
}

TEST(Log, KeepsAPlaceWithoutAValueAndDropsAValueWithoutAPlace) {
  const std::string text = Logged([] {
    LogWarning("one {} two {}", 1);
    LogError("none", 7);
  });
  EXPECT_NE(text.find("one 1 two {}\n"), std::string::npos) << text;
  EXPECT_NE(text.find("none\n"), std::string::npos) << text;
}

TEST(Log, DropsWhatIsBelowTheLevel) {
  const std::string text = Logged([] {
    SetLogLevel("error");
    LogInfo("quiet");
    LogWarning("quiet");
    LogError("loud");
    SetLogLevel("info");
  });
  EXPECT_EQ(text.find("quiet"), std::string::npos) << text;
  EXPECT_NE(text.find("loud\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace dpnmf
