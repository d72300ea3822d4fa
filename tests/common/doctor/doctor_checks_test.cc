#include "common/doctor/doctor_checks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LastLineOf(int warnings, int failures) {
  CheckList checks;
  EXPECT_TRUE(checks.Add("a", Good("Fine.")));
  for (int i = 0; i < warnings; ++i)
    EXPECT_TRUE(checks.Add("b", Doubtful("Hm.", "Look.")));
  for (int i = 0; i < failures; ++i)
    EXPECT_FALSE(checks.Add("c", Bad("No.", "Mend.")));
  EXPECT_EQ(checks.report().warnings(), static_cast<std::uint32_t>(warnings));
  EXPECT_EQ(checks.report().ok(), failures == 0);
  return DoctorReportText(checks.report());
}

TEST(DoctorText, AllIsWellOnlyWithoutWarnings) {
  EXPECT_THAT(LastLineOf(0, 0), EndsWith("All checks passed.\n"));
  EXPECT_THAT(LastLineOf(1, 0), EndsWith("No errors, 1 warning.\n"));
  EXPECT_THAT(LastLineOf(4, 0), EndsWith("No errors, 4 warnings.\n"));
  EXPECT_THAT(LastLineOf(4, 1),
              EndsWith("Correct what failed, then try again.\n"));
  EXPECT_THAT(LastLineOf(4, 0), Not(HasSubstr("All checks passed")));
}

TEST(DoctorText, ADirectoryStandsInQuotes) {
  EXPECT_THAT(FreeSpace(".").text, EndsWith(" MiB are free at `.`."));
}

TEST(DoctorText, SaysWhatToDoBelowWhatIsWrong) {
  CheckList checks;
  checks.Add("clock", Bad("Two days behind.", "Set the clock."));
  EXPECT_EQ(DoctorReportText(checks.report()),
            "FAILED   clock                    Two days behind.\n"
            "                                  -> Set the clock.\n"
            "Correct what failed, then try again.\n");
}

TEST(Findings, ASentenceIsSplitWhereItSaysWhatToDo) {
  const auto judged = [](const char* sentence, const char* remedy) {
    return Judged(absl::NotFoundError(sentence), "Fine.", remedy);
  };
  EXPECT_EQ(Judged(absl::OkStatus(), "Fine.").text, "Fine.");
  EXPECT_EQ(Judged(absl::OkStatus(), "Fine.").remedy, "");
  EXPECT_EQ(judged("It expired; issue a new one.", "").text, "It expired.");
  EXPECT_EQ(judged("It expired; issue a new one.", "").remedy,
            "Issue a new one.");
  EXPECT_EQ(judged("It expired; issue a new one.", "Ask.").text,
            "It expired; issue a new one.");
  EXPECT_EQ(judged("It expired; issue a new one.", "Ask.").remedy, "Ask.");
  EXPECT_NE(judged("It expired.", "").remedy, "");
}

}  // namespace
}  // namespace dpnmf
