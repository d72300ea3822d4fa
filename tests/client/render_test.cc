// Tables, progress and replies as text, letter by letter.
#include <algorithm>
#include <sstream>
#include <string>

#include "client/render/names.h"
#include "client/render/progress.h"
#include "client/render/table.h"
#include "client/render/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_analyst.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Table, AlignsColumnsAndTrimsLines) {
  Table table({{"NAME"}, {"COUNT", Align::kRight}, {"NOTE"}});
  table.AddRow({"a", "1", ""});
  table.AddRow({"longer", "1000000", "x"});
  EXPECT_EQ(table.Render(1),
            " NAME      COUNT  NOTE\n"
            " a             1\n"
            " longer  1000000  x\n");
}

TEST(Table, KeyValueLinesHaveNoHeader) {
  EXPECT_EQ(KeyValueText({{"a", "1"}, {"bcd", "2"}}), "a    1\nbcd  2\n");
}

TEST(Progress, BarShowsRoundsTheReadingAndTime) {
  EXPECT_EQ(ProgressBar(SampleEvent(1), v1::CONVERSION_RDP, 200, 91),
            "running 1/3 [#############..........................] epsilon "
            "spent 0.3334  3 min 20 s left");
}

TEST(Progress, BarFitsTheTerminal) {
  for (int width = 1; width < 200; ++width) {
    const std::string bar =
        ProgressBar(SampleEvent(2), v1::CONVERSION_RDP, 8, width);
    ASSERT_LE(bar.size(), static_cast<std::size_t>(width));
  }
}

TEST(Progress, AnEmptyEventIsHarmless) {
  EXPECT_THAT(ProgressBar(v1::RunEvent(), v1::CONVERSION_RDP, -1, 80),
              HasSubstr("0/0"));
}

TEST(Progress, WhatIsLeftIsShownOnceTheLedgerIsKnown) {
  v1::RunEvent event = SampleEvent(1);
  event.clear_position();
  EXPECT_THAT(ProgressLine(event, v1::CONVERSION_RDP),
              AllOf(HasSubstr("spent 0.3334"), Not(HasSubstr("largest run"))));
}

TEST(Progress, LineShowsTheEnforcedConversion) {
  EXPECT_EQ(ProgressLine(SampleEvent(2), v1::CONVERSION_RDP),
            "round 2/3  running  epsilon spent 0.6667, largest run 2.838  "
            "change 0.04568  0.5 s");
  EXPECT_THAT(ProgressLine(SampleEvent(2), v1::CONVERSION_GAUSSIAN),
              HasSubstr("spent 0.3334"));
}

TEST(Progress, ARoundThatLeavesWAloneShowsNoChange) {
  v1::RunEvent event = SampleEvent(2);
  event.set_relative_change(0);
  EXPECT_THAT(ProgressLine(event, v1::CONVERSION_RDP),
              AllOf(Not(HasSubstr("change")), EndsWith("  0.5 s")));
}

TEST(Progress, JsonLeavesOutWhatIsNotKnownYet) {
  std::ostringstream out;
  ProgressPrinter printer(&out, ProgressStyle::kJson, 0, v1::CONVERSION_RDP);
  v1::RunEvent queued;
  queued.set_state(v1::RUN_STATE_QUEUED);
  printer.Show(queued);
  EXPECT_THAT(out.str(), Not(HasSubstr("largest_run")));
}

TEST(Progress, BarIsRedrawnInPlaceAndEnded) {
  std::ostringstream out;
  ProgressPrinter printer(&out, ProgressStyle::kBar, 80, v1::CONVERSION_RDP);
  printer.Show(SampleEvent(1));
  printer.Show(SampleEvent(2));
  printer.EndLine();
  printer.EndLine();
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, EndsWith("\x1b[K\n"));
  // One round of 0.5 s is left.
  EXPECT_THAT(text, HasSubstr("0.5 s left"));
}

TEST(Progress, JsonIsOneObjectALine) {
  std::ostringstream out;
  ProgressPrinter printer(&out, ProgressStyle::kJson, 0, v1::CONVERSION_RDP);
  printer.Show(SampleEvent(1));
  printer.Note("not shown");
  printer.EndLine();
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr("\"largest_run\":3.123456"));
}

TEST(Text, DatasetsStateTheGuarantee) {
  v1::ListDatasetsReply reply;
  *reply.add_datasets() = SampleDataset("digits");
  EXPECT_EQ(
      DatasetsText(reply),
      "NAME    POPULATION     D    N  COLUMNS  BOUND  MAX RANK  GUARANTEE "
      "(OF THE CAP)\n"
      "digits  digits-people  6  100  l2           1      1024  epsilon 4 "
      "at delta 1e-05 (rdp, replace_one)\n");
  EXPECT_EQ(DatasetsText(v1::ListDatasetsReply()),
            "The curator offers no data set to this analyst.\n");
}

TEST(Text, ADataSetOfRatingsShowsItsRange) {
  v1::ListDatasetsReply reply;
  v1::Dataset& dataset = *reply.add_datasets();
  dataset = SampleDataset("films");
  dataset.set_sparse(true);
  dataset.mutable_ratings()->set_low_units(5'000);
  dataset.mutable_ratings()->set_high_units(50'000);
  dataset.mutable_guarantee()->set_adjacency(v1::ADJACENCY_ONE_RATING);
  EXPECT_THAT(DatasetsText(reply),
              AllOf(HasSubstr("  ratings 0.5 to 5  "),
                    HasSubstr("(rdp, one_rating)"), Not(HasSubstr("sparse"))));
}

TEST(Text, APlanOfRatingsShowsReleasesAndShares) {
  v1::PlanRunReply reply = SamplePlan();
  v1::RunParameters& run = *reply.mutable_specification()->mutable_parameters();
  run.set_mechanism("ratings");
  for (const double share : {0.25, 0.5, 0.0, 0.125, 0.125})
    run.add_shares(share);
  run.set_moment_rows(120);
  run.set_profile_directions(8);
  EXPECT_THAT(
      PlanText(reply),
      AllOf(HasSubstr("moments of                 up to 120 items\n"),
            HasSubstr("shares of the cost         items 0.25, co-ratings 0.5, "
                      "residuals 0.125, corrections 0.125\n"),
            HasSubstr("corrections for            8 directions\n"),
            Not(HasSubstr("inner iterations")),
            Not(HasSubstr("first dictionary"))));
  run.clear_shares();
  for (const double share : {1.0, 0.0, 0.0, 0.0, 0.0}) run.add_shares(share);
  EXPECT_THAT(PlanText(reply), AllOf(Not(HasSubstr("moments of")),
                                     Not(HasSubstr("corrections for"))));
}

TEST(Text, RunsShowWhatIsSpent) {
  v1::ListRunsReply reply;
  *reply.add_runs() = SampleRun(kRunId);
  EXPECT_EQ(
      RunsText(reply),
      "RUN           STATE      DATA SET  RANK  ROUNDS  MECHANISM   "
      "EPSILON SPENT  OF  STARTED\n"
      "3f9a01234567  completed  digits       2     3/3  statistics         "
      "     1   1  2023-11-14T22:13:20Z\n");
}

TEST(Text, PlanShowsPriceBudgetNoiseAndVerdict) {
  EXPECT_EQ(PlanText(SamplePlan(), /*details=*/true),
            R"(data set                   digits
rank                       2
rounds                     3
mechanism                  statistics
outliers                   off
inner iterations           10
share of A                 0.5
first dictionary           random, seed 0
cost of this run, at most  epsilon 1 at delta 1e-05
guarantee of the cap       epsilon 4 at delta 1e-05 (rdp, replace_one)
spent so far               epsilon 2.172 of 4, with what open runs may spend
largest run                epsilon 2.838 at delta 1e-05

cost of this run, at most (enforced: rdp)
               MU^2  EPSILON AT DELTA 1e-05: RDP  RDP_OPTIMAL  GAUSSIAN
  this run  0.03125                            1         0.75       0.5

budget of population digits-people
                          MU^2
  cap                      0.5
  charged                0.125
  reserved              0.0625
  left before the run   0.3125
  this run             0.03125
  left after the run    0.2812
spent and reserved after the run
                                    MU^2  EPSILON AT DELTA 1e-05: RDP  RDP_OPTIMAL  GAUSSIAN
  charged, reserved and this run  0.2188                          2.5        1.875      1.25

noise of a round (standard deviation of each entry of the mean over people)
  RELEASE     ROUNDS  PART  SHAPE    SIGMA  ON THE DIAGONAL  SENSITIVITY OF THE SUM  STEP OF THE SUM
  statistics      30  A     2 x 2  0.01235          0.01746                   1.414            2^-40
                      B     6 x 2  0.01235                -                   1.414            2^-40

This run fits 10 more times into what is left.
This run would be accepted. Nothing was spent by asking.
)");
}

TEST(Text, APlanSpeaksOfMoneyInWords) {
  EXPECT_THAT(PlanText(SamplePlan()),
              AllOf(Not(HasSubstr("MU^2")), Not(HasSubstr("SIGMA")),
                    HasSubstr("\nThis run fits 10 more times into what is "
                              "left.\n")));
  v1::PlanRunReply reply = SamplePlan();
  *reply.mutable_plan()->mutable_cost() = reply.position().left();
  EXPECT_THAT(PlanText(reply), HasSubstr("\nThis run fits once more into"));
  // An own limit of 2^-4 has room for two runs of 2^-5.
  reply = SamplePlan();
  v1::OwnLimit& own = *reply.mutable_position()->mutable_own_limit();
  own.mutable_charged()->set_units("0");
  own.mutable_reserved()->set_units("0");
  own.mutable_cap()->set_units(std::to_string(std::uint64_t{1} << 56));
  EXPECT_THAT(PlanText(reply), HasSubstr("\nThis run fits 2 more times into"));
  reply.mutable_plan()->mutable_cost()->set_units(
      std::to_string(std::uint64_t{1} << 57));
  EXPECT_THAT(PlanText(reply), Not(HasSubstr("fits")));
}

TEST(Text, ABudgetThatIsWholeLooksWhole) {
  v1::PlanRunReply reply = SamplePlan();
  v1::LedgerPosition& position = *reply.mutable_position();
  // 0.70206...: up it is 0.7021, down 0.702.
  position.mutable_cap()->set_value(0.70206);
  *position.mutable_left() = position.cap();
  position.clear_charged();
  position.clear_reserved();
  const std::string text = PlanText(reply, /*details=*/true);
  EXPECT_THAT(text, AllOf(HasSubstr("  cap                    0.702\n"),
                          HasSubstr("  left before the run    0.702\n")));
}

TEST(Text, ARefusedPlanSaysWhyAndShowsNothingLeft) {
  v1::PlanRunReply reply = SamplePlan();
  reply.set_would_be_refused(true);
  reply.set_refusal("The budget is spent.");
  reply.set_refusal_code("over-budget");
  const std::string text = PlanText(reply, /*details=*/true);
  EXPECT_THAT(text, EndsWith("This run would be refused: The budget is spent. "
                             "[over-budget]\n"));
  EXPECT_THAT(text, HasSubstr("left after the run         -\n"));
}

constexpr char kBudgetInWords[] =
    R"(population            digits-people
guarantee of the cap  epsilon 4 at delta 1e-05 (rdp, replace_one)
spent so far          epsilon 2.172 of 4, with what open runs may spend
largest run           epsilon 2.838 at delta 1e-05

)";

TEST(Text, BudgetSeparatesGuaranteeFromReadings) {
  EXPECT_EQ(BudgetText(SampleBudget()),
            absl::StrCat(kBudgetInWords,
                         "our copy of the ledger agrees with "
                         "the curator's\n"));
  EXPECT_EQ(
      BudgetText(SampleBudget(), /*details=*/true),
      absl::StrCat(
          kBudgetInWords,
          R"(                  MU^2  EPSILON AT DELTA 1e-05: RDP  RDP_OPTIMAL  GAUSSIAN
  cap              0.5                            4            3         2
  charged, all   0.125                         1.75        1.313     0.875
  charged, own   0.125                         1.75        1.313     0.875
  reserved      0.0625
  left          0.3125

                    OWN CHARGES  OWN MU^2  LEDGER ROWS  CHAIN HEAD
  curator's ledger            4     0.125            7  abababababababab
  our copy                    4     0.125            7  abababababababab
our copy of the ledger agrees with the curator's

Renyi divergence of what is charged
  ORDER  EPSILON
      2    0.125
     16        1
)"));
}

TEST(Text, ABudgetShowsTheAnalystsOwnLimit) {
  v1::GetBudgetReply reply = SampleBudget();
  v1::OwnLimit* const limit = reply.mutable_record()->mutable_own_limit();
  limit->mutable_charged()->set_units("0");
  limit->mutable_reserved()->set_units("0");
  limit->mutable_cap()->set_units(  // 2^-4 of 2^60
      std::to_string(std::uint64_t{1} << 56));
  const std::string text = BudgetText(reply, /*details=*/true);
  EXPECT_THAT(text, HasSubstr("  left of this analyst's own limit  0.0625\n"));
  EXPECT_THAT(text, HasSubstr("largest run                epsilon 1."));
  EXPECT_THAT(text, HasSubstr("own limit of this analyst  epsilon 1."));
  EXPECT_THAT(text, Not(HasSubstr("used up")));
  // A rest of rounding is nothing.
  limit->mutable_charged()->set_units(
      std::to_string((std::uint64_t{1} << 56) - 3));
  EXPECT_THAT(BudgetText(reply),
              AllOf(HasSubstr("largest run                epsilon 0 at"),
                    HasSubstr("is spent or reserved: it is used up; ask the "
                              "curator's operator, who can raise it\n")));
  // No operator can give more than the cap has.
  *reply.mutable_record()->mutable_charged() = reply.record().cap();
  EXPECT_THAT(BudgetText(reply), HasSubstr("used up, and so is the cap\n"));
}

// Every text that names a guarantee says that it does not hold.
TEST(Text, AVoidGuaranteeIsNamedSo) {
  constexpr std::int64_t kSince = 1'700'000'000;
  const std::string mark = VoidText(kSince);
  EXPECT_THAT(mark, HasSubstr("VOID since 2023-11-1"));
  v1::Guarantee guarantee = SampleDataset("digits").guarantee();
  EXPECT_THAT(GuaranteeText(guarantee), Not(HasSubstr("VOID")));
  guarantee.set_void_since(kSince);
  EXPECT_THAT(GuaranteeText(guarantee), EndsWith(", " + mark));
  v1::ListDatasetsReply datasets;
  *datasets.add_datasets() = SampleDataset("digits");
  *datasets.mutable_datasets(0)->mutable_guarantee() = guarantee;
  EXPECT_THAT(DatasetsText(datasets), HasSubstr(mark));
  v1::GetBudgetReply budget = SampleBudget();
  *budget.mutable_guarantee() = guarantee;
  EXPECT_THAT(BudgetText(budget), HasSubstr(mark));
  v1::Run run = SampleRun(kRunId);
  EXPECT_THAT(RunText(run), Not(HasSubstr("VOID")));
  run.set_void_since(kSince);
  EXPECT_THAT(RunText(run), HasSubstr(mark));
  v1::ListRunsReply runs;
  *runs.add_runs() = SampleRun("other");
  EXPECT_THAT(RunsText(runs), Not(HasSubstr("GUARANTEE")));
  *runs.add_runs() = run;
  EXPECT_THAT(RunsText(runs), HasSubstr("  GUARANTEE\n"));
  EXPECT_THAT(RunsText(runs), HasSubstr("  " + mark + "\n"));
  // Also where the data set cannot be asked for any more.
  v1::LedgerPosition position = SampleEvent(3).position();
  position.set_void_since(kSince);
  EXPECT_THAT(RunEndText(run, "", position), HasSubstr(mark));
}

TEST(Text, ADisagreementIsLoud) {
  v1::GetBudgetReply reply = SampleBudget();
  reply.set_agree(false);
  reply.set_disagreement("The record lacks row 5.");
  EXPECT_THAT(BudgetText(reply),
              HasSubstr("DIFFER: The record lacks row 5.\n"));
}

TEST(Text, AFailedRunShowsItsErrorAndEveryEpsilonItsKind) {
  v1::Run run = SampleRun(kRunId);
  run.set_state(v1::RUN_STATE_FAILED);
  run.set_error("The budget is spent.");
  run.set_error_code("over-budget");
  const std::string text = RunText(run);
  EXPECT_THAT(text, HasSubstr("The budget is spent. [over-budget]"));
  EXPECT_THAT(text, HasSubstr("spent so far"));
  EXPECT_THAT(text, HasSubstr("cost, at most"));
}

TEST(Text, TheEndOfARunNamesReadingAndGuarantee) {
  EXPECT_EQ(
      RunEndText(SampleRun(kRunId), "epsilon 4", SampleEvent(3).position()),
      "run 3f9a01234567 completed after 3 of 3 rounds\n"
      "  spent by this run     epsilon 1 at delta 1e-05 (rdp)\n"
      "  guarantee of the cap  epsilon 4\n"
      "  largest run           epsilon 2.838 at delta 1e-05\n"
      "  its dictionary        dpnmf model 3f9a01234567 --output W.npy\n");
  EXPECT_THAT(
      RunEndText(SampleRun(kRunId), "", v1::LedgerPosition()),
      AllOf(Not(HasSubstr("guarantee")), Not(HasSubstr("largest run"))));
}

TEST(Text, TheEndOfAnObjectiveHasNoDictionary) {
  v1::Run run = SampleRun(kRunId);
  run.mutable_specification()->mutable_parameters()->set_mechanism("objective");
  EXPECT_THAT(RunEndText(run, "", v1::LedgerPosition()),
              Not(HasSubstr("dictionary")));
}

TEST(Text, AccountShowsWhatIsExactAsItIs) {
  v1::AccountReport report;
  report.set_rho(0.037500000000000006);
  EXPECT_THAT(AccountText(report), HasSubstr("rho                  0.0375\n"));
}

TEST(Names, UnknownValuesAreNamedSo) {
  EXPECT_EQ(NameOf(v1::CONVERSION_RDP_OPTIMAL), "rdp_optimal");
  EXPECT_EQ(NameOf(v1::ADJACENCY_ADD_REMOVE_ONE), "add_remove_one");
  EXPECT_EQ(NameOf(v1::RUN_STATE_UNSPECIFIED), "unknown");
  EXPECT_EQ(NameOf(static_cast<v1::RunState>(99)), "unknown");
}

}  // namespace
}  // namespace dpnmf::cli
