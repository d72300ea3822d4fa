#include "common/rpc/machine_checks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LastLineOf(int warnings, int failures) {
  v1::DoctorReport report;
  Findings findings(&report);
  findings.Ok("a", "Fine.");
  for (int i = 0; i < warnings; ++i) findings.Warn("b", "Hm.", "Look.");
  for (int i = 0; i < failures; ++i) findings.Fail("c", "No.", "Mend.");
  EXPECT_EQ(report.warnings(), static_cast<std::uint32_t>(warnings));
  return TextOf(report);
}

TEST(DoctorText, AllIsWellOnlyWithoutWarnings) {
  EXPECT_THAT(LastLineOf(0, 0), EndsWith("All is well.\n"));
  EXPECT_THAT(LastLineOf(1, 0), EndsWith("No errors, 1 warning.\n"));
  EXPECT_THAT(LastLineOf(4, 0), EndsWith("No errors, 4 warnings.\n"));
  EXPECT_THAT(LastLineOf(4, 1),
              EndsWith("Mend what failed, then try again.\n"));
  EXPECT_THAT(LastLineOf(4, 0), Not(HasSubstr("All is well")));
}

TEST(DoctorText, ADirectoryStandsInQuotes) {
  v1::DoctorReport report;
  Findings findings(&report);
  CheckDisk("disk", ".", &findings);
  EXPECT_THAT(report.checks(0).finding(), EndsWith(" MiB are free at `.`."));
}

}  // namespace
}  // namespace dpnmf
