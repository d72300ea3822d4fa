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
  for (const v1::RunState ended :
       {v1::RUN_STATE_FAILED, v1::RUN_STATE_CANCELLED,
        v1::RUN_STATE_CANCELLING}) {
    // Refit takes the release of a run that was ended after it came.
    EXPECT_TRUE(asks([&](v1::Run* run) { run->set_state(ended); }));
    EXPECT_THAT(err_.str(), HasSubstr("has paid epsilon 1"));
    EXPECT_FALSE(asks([&](v1::Run* run) {
      run->set_state(ended);
      run->set_rounds_done(0);
    }));
  }
  EXPECT_FALSE(asks([](v1::Run* run) {
    run->mutable_specification()->mutable_parameters()->set_dataset("faces");
  }));
  EXPECT_FALSE(asks([](v1::Run* run) {
    run->mutable_plan()->mutable_stages(0)->set_release("statistics");
  }));
}

TEST_F(Spending, ARunInRoundsIsNotBoughtTwice) {
  const auto both = [&](const auto& change) {
    change(analyst().plan.mutable_specification()->mutable_parameters());
    change(analyst().runs[0].mutable_specification()->mutable_parameters());
  };
  both([](v1::RunParameters* asked) {
    asked->set_mechanism("statistics");
    asked->set_rounds(3);
  });
  EXPECT_EQ(RunWith("train"), kExitState);
  EXPECT_EQ(err_.str(),
            "dpnmf: Run 3f9a01234567 has paid epsilon 1 for the same on data "
            "set 'digits': 'dpnmf model 3f9a01234567' gives a model from it "
            "for free. Nothing was started; to pay for this run nevertheless, "
            "add --spend-again. [release-paid]\n");
  const v1::PlanRunReply same = analyst().plan;
  const auto asks = [&](const auto& change) {
    analyst().plan = same;
    change(analyst().plan.mutable_specification()->mutable_parameters());
    return RunWith("train") == kExitState;
  };
  EXPECT_TRUE(asks([](v1::RunParameters* run) { run->set_epsilon(0.5); }));
  EXPECT_FALSE(asks([](v1::RunParameters* run) { run->set_epsilon(2); }));
  EXPECT_FALSE(asks([](v1::RunParameters* run) { run->set_rank(3); }));
  EXPECT_FALSE(asks([](v1::RunParameters* run) { run->set_rounds(9); }));
  EXPECT_FALSE(
      asks([](v1::RunParameters* run) { run->set_mechanism("gradient"); }));
  analyst().runs[0].set_state(v1::RUN_STATE_FAILED);  // has no whole model
  EXPECT_FALSE(asks([](v1::RunParameters*) {}));
}

TEST_F(Spending, ARequestIdNamesTheReleaseThatIsWanted) {
  analyst().plan.mutable_specification()->set_request_id("monday");
  EXPECT_EQ(RunWith("train", {"--request-id", "monday"}), kExitOk);
}

TEST_F(Spending, ARunOfFewReliablePartsIsAskedFor) {
  analyst().runs[0].set_parent(kRunId);  // has paid nothing
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
  analyst().runs[0].set_parent(kRunId);  // has paid nothing
  Forecast(3, 6);
  EXPECT_EQ(RunWith("train"), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("note: Expect few parts."));
}

TEST_F(Spending, ABudgetThatIsSpentIsToldFirst) {
  analyst().plan.set_would_be_refused(true);
  EXPECT_EQ(RunWith("train"), kExitOk);  // the fake's StartRun takes all
  EXPECT_THAT(err_.str(), Not(HasSubstr("refit")));
}

// The id may be that of another client's request.
TEST_F(Spending, ARequestIdThatIsKnownSkipsNoQuestion) {
  Forecast(1, 5);
  for (v1::RunSpecification* asked :
       {analyst().plan.mutable_specification(),
        analyst().runs[0].mutable_specification()})
    asked->set_request_id("monday");
  EXPECT_EQ(RunWith("train", {"--request-id", "monday"}), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("[run-unreliable]"));
}

TEST_F(Spending, WithoutAPlanNothingIsStarted) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    analyst().planned = grpc::Status(code, "no answer");
    EXPECT_EQ(RunWith("train"), kExitUnreachable);
    EXPECT_THAT(err_.str(), HasSubstr(" No run was started. ["));
    EXPECT_FALSE(Started());
    EXPECT_EQ(RunWith("train", {"--spend-again"}), kExitOk) << err_.str();
    EXPECT_TRUE(Started());
  }
}

}  // namespace
}  // namespace dpnmf::cli
