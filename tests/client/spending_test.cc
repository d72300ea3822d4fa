// Questions of train before it pays for what is free, or for little.
#include <sstream>
#include <string>
#include <vector>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Spending : public Program {
 protected:
  // A plan for `moments` on digits; the fake's run is of the same kind.
  Spending() {
    for (v1::RunPlan* plan :
         {analyst().plan.mutable_plan(), analyst().runs[0].mutable_plan()})
      plan->mutable_stages(0)->set_release("moments");
    for (v1::RunSpecification* asked :
         {analyst().plan.mutable_specification(),
          analyst().runs[0].mutable_specification()})
      asked->mutable_parameters()->set_mechanism("moments");
  }

  void Forecast(std::uint32_t parts, std::uint32_t rank) {
    analyst().plan.mutable_specification()->mutable_parameters()->set_rank(
        rank);
    v1::Forecast& forecast = *analyst().plan.mutable_forecast();
    forecast.set_noise(0.5);
    forecast.set_reliable_parts(parts);
    forecast.set_too_small(parts < rank);
    forecast.set_sentence("Expect few parts.");
  }

  // Asked with `train`; StartRun leaves its specification, PlanRun as well, but
  // only StartRun prints a run.
  bool Started() const { return out_.str().find(kRunId) == 0; }

  int Answer(const std::string& typed) {
    std::istringstream in(typed);
    environment_.answers = &in;
    const int code = RunWith("train");
    environment_.answers = nullptr;
    return code;
  }
};

TEST_F(Spending, AnotherReleaseOfAPaidDataSetIsNotBoughtByChance) {
  EXPECT_EQ(RunWith("train"), kExitState);
  EXPECT_EQ(err_.str(),
            "dpnmf: Run 3f9a01234567 has paid epsilon 1 for a release of data "
            "set 'digits': 'dpnmf refit 3f9a01234567 --rank 2' gives a model "
            "from it for free. Nothing was started; to pay for this run "
            "nevertheless, add --spend-again. [release-paid]\n");
  EXPECT_FALSE(Started());
  EXPECT_EQ(RunWith("train", {"--spend-again"}), kExitOk) << err_.str();
  EXPECT_TRUE(Started());
}

TEST_F(Spending, ATerminalIsAsked) {
  EXPECT_EQ(Answer("y\n"), kExitOk);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("dpnmf refit 3f9a01234567"),
                                HasSubstr("nevertheless? [y/N] ")));
  EXPECT_TRUE(Started());
  for (const char* no : {"n\n", "\n", "", "maybe\n"}) {
    EXPECT_EQ(Answer(no), kExitState) << no;
    EXPECT_THAT(err_.str(), HasSubstr("dpnmf: Nothing was started and nothing "
                                      "was spent. [release-paid]\n"));
    EXPECT_FALSE(Started());
  }
}

TEST_F(Spending, ARunThatIsStillPayingCounts) {
  analyst().runs[0].set_state(v1::RUN_STATE_RUNNING);
  EXPECT_EQ(RunWith("train"), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("once it is completed, 'dpnmf refit"));
}

TEST_F(Spending, WhatHasNotPaidDoesNotCount) {
  const v1::Run paid = analyst().runs[0];
  const auto asks = [&](const auto& change) {
    analyst().runs[0] = paid;
    change(&analyst().runs[0]);
    return RunWith("train") == kExitState;
  };
  EXPECT_TRUE(asks([](v1::Run*) {}));
  EXPECT_FALSE(asks([](v1::Run* run) { run->set_parent(kRunId); }));
  EXPECT_FALSE(
      asks([](v1::Run* run) { run->set_state(v1::RUN_STATE_FAILED); }));
  EXPECT_FALSE(
      asks([](v1::Run* run) { run->set_state(v1::RUN_STATE_CANCELLED); }));
  EXPECT_FALSE(asks([](v1::Run* run) {
    run->mutable_specification()->mutable_parameters()->set_dataset("faces");
  }));
  EXPECT_FALSE(asks([](v1::Run* run) {
    run->mutable_plan()->mutable_stages(0)->set_release("statistics");
  }));
}

TEST_F(Spending, ARunInRoundsIsNoRefit) {
  analyst().plan.mutable_plan()->add_stages()->set_release("statistics");
  EXPECT_EQ(RunWith("train"), kExitOk) << err_.str();
}

TEST_F(Spending, ARequestIdNamesTheReleaseThatIsWanted) {
  analyst().plan.mutable_specification()->set_request_id("monday");
  EXPECT_EQ(RunWith("train", {"--request-id", "monday"}), kExitOk);
}

TEST_F(Spending, ARunOfFewReliablePartsIsAskedFor) {
  analyst().runs[0].set_state(v1::RUN_STATE_FAILED);
  Forecast(2, 5);
  EXPECT_EQ(RunWith("train"), kExitState);
  EXPECT_EQ(err_.str(),
            "dpnmf: Expect few parts. Nothing was started; to pay for this run "
            "nevertheless, add --even-if-unreliable. [run-unreliable]\n");
  EXPECT_EQ(RunWith("train", {"--spend-again"}), kExitOk);
  EXPECT_EQ(Answer("yes\n"), kExitOk);
  analyst().plan.mutable_specification()->set_hopeless(true);
  EXPECT_EQ(RunWith("train", {"--even-if-unreliable"}), kExitOk);
  EXPECT_TRUE(analyst().last_specification.hopeless());
  EXPECT_THAT(err_.str(), HasSubstr("note: Expect few parts."));
}

TEST_F(Spending, HalfOfThePartsIsEnough) {
  analyst().runs[0].set_state(v1::RUN_STATE_FAILED);
  Forecast(3, 6);
  EXPECT_EQ(RunWith("train"), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("note: Expect few parts."));
}

TEST_F(Spending, ABudgetThatIsSpentIsToldFirst) {
  analyst().plan.set_would_be_refused(true);
  EXPECT_EQ(RunWith("train"), kExitOk);  // the fake's StartRun takes all
  EXPECT_THAT(err_.str(), Not(HasSubstr("refit")));
}

TEST_F(Spending, ARequestThatIsKnownIsNotAskedAbout) {
  Forecast(1, 5);
  analyst().plan.mutable_specification()->set_request_id("monday");
  EXPECT_EQ(RunWith("train", {"--request-id", "monday"}), kExitState);
  analyst().runs[0].mutable_specification()->set_request_id("monday");
  EXPECT_EQ(RunWith("train", {"--request-id", "monday"}), kExitOk);
}

}  // namespace
}  // namespace dpnmf::cli
