// plan and train: what is sent, what is printed, and which runs are refused.
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// plan and train.

TEST_F(Program, PlanTakesFromTheDataSetWhatIsNotGiven) {
  EXPECT_EQ(RunWith("plan"), kExitOk);
  EXPECT_EQ(parameters().delta(), 1e-5);
  EXPECT_EQ(parameters().adjacency(), v1::ADJACENCY_REPLACE_ONE);
  EXPECT_EQ(parameters().conversion(), v1::CONVERSION_RDP);
  EXPECT_EQ(parameters().rounds(), 0u);  // the server knows how many
  EXPECT_EQ(parameters().inner_iterations(), 10u);
  EXPECT_EQ(parameters().mechanism(), "auto");
  EXPECT_FALSE(parameters().outliers());
  EXPECT_EQ(parameters().lambda(), 0);
}

// The server takes a repeated --request-id only with the bytes of the first.
TEST_F(Program, ARequestKeepsItsBytes) {
  const auto sent = [&](const std::vector<std::string>& flags) {
    EXPECT_EQ(RunWith("plan", flags), kExitOk);
    return absl::BytesToHexString(
        analyst().last_specification.parameters().SerializeAsString());
  };
  EXPECT_EQ(sent({"--mechanism", "moments", "--rounds", "9", "--moment-rows",
                  "4", "--share-of-moments", "0.25", "--outliers", "on",
                  "--share-of-a", "0.5"}),
            "0a066469676974731002180921000000000000f03f29f168e388b5f8e43e32076d"
            "6f6d656e74733801413f2c0c70bd20ea3f49000000000000f03f500a5900000000"
            "0000e03f60016801700479000000000000d03f");
  analyst().datasets.mutable_datasets(0)->mutable_ratings()->set_high_units(5);
  EXPECT_EQ(
      sent({"--shares", "0.25,0,0.5,0,0.25", "--profile-directions", "3"}),
      "0a06646967697473100221000000000000f03f29f168e388b5f8e43e3204617574"
      "6f500a600168018a0128000000000000d03f0000000000000000000000000000e0"
      "3f0000000000000000000000000000d03f900103");
}

TEST_F(Program, PlanSendsEveryFlag) {
  EXPECT_EQ(RunWith("plan", {"--rounds",
                             "7",
                             "--delta",
                             "1e-6",
                             "--mechanism",
                             "gradient",
                             "--outliers",
                             "on",
                             "--lambda",
                             "0.3",
                             "--outlier-bound",
                             "0.7",
                             "--inner-iterations",
                             "4",
                             "--share-of-a",
                             "0.25",
                             "--seed",
                             "99",
                             "--step-size",
                             "0.5",
                             "--steps-per-round",
                             "3"}),
            kExitOk);
  EXPECT_EQ(parameters().rounds(), 7u);
  EXPECT_EQ(parameters().delta(), 1e-6);
  EXPECT_EQ(parameters().mechanism(), "gradient");
  EXPECT_TRUE(parameters().outliers());
  EXPECT_EQ(parameters().lambda(), 0.3);
  EXPECT_EQ(parameters().outlier_bound(), 0.7);
  EXPECT_EQ(parameters().inner_iterations(), 4u);
  EXPECT_EQ(parameters().share_of_a(), 0.25);
  const v1::LearnerOptions& learner = analyst().last_specification.learner();
  EXPECT_EQ(learner.seed(), 99u);
  EXPECT_EQ(learner.step_size(), 0.5);
  EXPECT_EQ(learner.steps_per_round(), 3u);
}

TEST_F(Program, TheMechanismsOfTrainingAreNamed) {
  for (const char* name : {"objective", "momnets", "paper", ""}) {
    EXPECT_EQ(RunWith("train", {"--mechanism", name}), kExitUsage) << name;
    EXPECT_THAT(
        err_.str(),
        AllOf(HasSubstr(
                  "auto, aimed, class_moments, gradient, moments, ratings or "
                  "statistics;"),
              HasSubstr("dpnmf objective RUN"),
              HasSubstr("[mechanism-unknown]")));
  }
  EXPECT_FALSE(analyst().last_specification.has_parameters());
}

TEST_F(Program, AFlagThatTheMechanismDoesNotUseIsRefused) {
  std::ofstream(Path("w.csv")) << "1,7\n2,8\n3,9\n4,10\n5,11\n6,12\n";
  const std::string start = "public:" + Path("w.csv");
  const std::vector<std::vector<std::string>> refused = {
      {"moments", "--outliers", "on"},
      {"moments", "--outliers", "on", "--lambda", "0.1"},
      {"moments", "--init", start},
      {"moments", "--init", start, "--rounds", "9"},
      {"moments", "--inner-iterations", "4"},
      {"moments", "--share-of-a", "0.2"},
      {"moments", "--share-of-moments", "0.2"},
      {"moments", "--share-of-moments", "0.2", "--rounds", "1"},
      {"moments", "--step-size", "0.5"},
      {"moments", "--steps-per-round", "9"},
      {"statistics", "--moment-rows", "4"},
      {"statistics", "--share-of-moments", "0.5"},
      {"statistics", "--shares", "0.2,0.2,0.2,0.2,0.2"},
      {"moments", "--profile-directions", "2"},
      {"moments", "--non-negative"},
      {"statistics", "--loss", "kl"},
      {"gradient", "--sparse", "0.5"},
      {"moments", "--loss", "kl", "--rounds", "9"},
      {"gradient", "--moment-rows", "4"}};
  for (const auto& flags : refused) {
    std::vector<std::string> all = {"--mechanism"};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunWith("train", all), kExitUsage);
    EXPECT_THAT(
        err_.str(),
        AllOf(HasSubstr(" has no effect on a run with --mechanism " + flags[0]),
              HasSubstr("[flag-unused]")))
        << ::testing::PrintToString(flags);
  }
  EXPECT_FALSE(analyst().last_specification.has_parameters());
}

TEST_F(Program, AFlagThatTheMechanismUsesIsTaken) {
  std::ofstream(Path("w.csv")) << "1,7\n2,8\n3,9\n4,10\n5,11\n6,12\n";
  const std::vector<std::vector<std::string>> taken = {
      {"moments", "--moment-rows", "4", "--rounds", "2", "--seed", "3"},
      {"moments", "--rounds", "9", "--share-of-moments", "0.2", "--outliers",
       "on", "--inner-iterations", "4", "--step-size", "0.5"},
      {"moments", "--moment-rows", "4", "--rounds", "3", "--share-of-a", "0.2"},
      {"statistics", "--outliers", "on", "--share-of-a", "0.2", "--init",
       "public:" + Path("w.csv")},
      {"moments", "--loss", "kl"},
      {"auto", "--sparse", "0.7"},
      {"statistics", "--loss", "squared"},
      {"auto", "--outliers", "on", "--moment-rows", "4"}};
  for (const auto& flags : taken) {
    std::vector<std::string> all = {"--mechanism"};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunWith("train", all), kExitOk) << err_.str();
  }
}

TEST_F(Program, RowsOfTheSecondMomentComeFromAFile) {
  const auto write = [this](const std::string& text) {
    std::ofstream(Path("rows.txt")) << text;
  };
  const std::vector<std::string> named = {"--rows", Path("rows.txt")};
  write("# of all months\n4\n0,2\n");
  EXPECT_EQ(RunWith("train", named), kExitOk) << err_.str();
  EXPECT_THAT(analyst().last_specification.learner().rows(),
              ElementsAre(0, 2, 4));
  EXPECT_EQ(parameters().moment_rows(), 3u);
  write("0\n6\n");  // the data set has six features
  EXPECT_EQ(RunWith("train", named), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[feature-rows-malformed]"));
  write("0\nsix\n");
  EXPECT_EQ(RunWith("plan", named), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("line 2"));
  write("0\n");
  EXPECT_EQ(RunWith("plan", {"--rows", Path("rows.txt"), "--moment-rows", "1"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("leave out --moment-rows. [usage]"));
}

TEST_F(Program, OutlierDefaultsComeFromPublicFacts) {
  analyst().datasets.mutable_datasets(0)->set_features(16);
  analyst().datasets.mutable_datasets(0)->set_column_bound(3);
  EXPECT_EQ(RunWith("plan", {"--outliers", "on"}), kExitOk);
  EXPECT_EQ(parameters().lambda(), 2 * 3 / 4.0);
  EXPECT_EQ(parameters().outlier_bound(), 3);
}

TEST_F(Program, LambdaWithoutOutliersIsRefused) {
  EXPECT_EQ(RunWith("plan", {"--lambda", "0.1"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[outliers-off]"));
}

TEST_F(Program, AnUnknownDataSetNamesThoseOnOffer) {
  EXPECT_EQ(
      Run({"plan", "--dataset", "faces", "--rank", "2", "--epsilon", "1"}),
      kExitNotFound);
  EXPECT_EQ(err_.str(),
            "dpnmf: There is no data set 'faces'; this analyst may use: "
            "digits. [dataset-unknown]\n");
}

TEST_F(Program, APlanThatWouldBeRefusedHasTheExitCodeThatTheStartWouldHave) {
  analyst().plan.set_would_be_refused(true);
  for (const char* code : {"budget-exhausted", "identity-budget-exhausted"}) {
    analyst().plan.set_refusal_code(code);
    EXPECT_EQ(RunWith("plan"), kExitBudget) << code;
  }
  for (const char* code : {"run-hopeless", "learning-too-large"}) {
    analyst().plan.set_refusal_code(code);
    EXPECT_EQ(RunWith("plan"), kExitState) << code;
  }
}

TEST_F(Program, TrainPrintsTheRunIdFirstAndHowToWatch) {
  EXPECT_EQ(RunWith("train"), kExitOk);
  EXPECT_THAT(out_.str(), StartsWith(std::string(kRunId) + "\n"));
  EXPECT_THAT(out_.str(), HasSubstr("dpnmf watch 3f9a01234567"));
  EXPECT_THAT(analyst().last_dictionary, IsEmpty());
  EXPECT_THAT(analyst().watch_cursors, IsEmpty());
}

TEST_F(Program, TrainSaysThatNothingStartedWhenTheCuratorIsAway) {
  analyst().unavailable = ToGrpc(
      Refusal(absl::StatusCode::kUnavailable, "curator-unreachable", "Away."));
  EXPECT_EQ(RunWith("train"), kExitUnreachable);
  EXPECT_THAT(err_.str(), StartsWith("dpnmf: Away. No run was started. "
                                     "[curator-unreachable]\n"));
  analyst().unavailable = ToGrpc(Refusal(absl::StatusCode::kUnauthenticated,
                                         "certificate-expired", "Expired."));
  EXPECT_EQ(RunWith("train"), kExitDenied);
  EXPECT_THAT(err_.str(), StartsWith("dpnmf: Expired. No run was started. "
                                     "[certificate-expired]\n"));
}

TEST_F(Program, TrainSendsAPublicDictionaryColumnByColumn) {
  std::ofstream(Path("w.csv")) << "1,7\n2,8\n3,9\n4,10\n5,11\n6,12\n";
  EXPECT_EQ(RunWith("train", {"--init", "public:" + Path("w.csv")}), kExitOk);
  EXPECT_EQ(analyst().last_specification.learner().initialisation(),
            v1::INITIALISATION_PUBLIC);
  EXPECT_THAT(analyst().last_dictionary,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_F(Program, APublicDictionaryHasToFit) {
  std::ofstream(Path("w.csv")) << "1,2\n3,4\n";
  EXPECT_EQ(RunWith("train", {"--init", "public:" + Path("w.csv")}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("is 2 x 2; this run needs a dictionary of "
                                    "6 x 2. [init-shape-mismatch]"));
  EXPECT_EQ(RunWith("train", {"--init", "nndsvd"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[init-malformed]"));
  EXPECT_EQ(RunWith("train", {"--init", "public:" + Path("absent.npy")}),
            kExitNotFound);
}

// Watching.

TEST_F(Program, TrainWithWaitShowsEveryRoundAndTheEnd) {
  EXPECT_EQ(RunWith("train", {"--wait"}), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("round 1/3"), HasSubstr("round 2/3"),
                                HasSubstr("round 3/3"),
                                HasSubstr("completed after 3 of 3 rounds"),
                                HasSubstr("guarantee of the cap")));
}

TEST_F(Program, TrainWithWaitAsJsonIsRunEventsRun) {
  EXPECT_EQ(RunWith("train", {"--wait", "--format", "json"}), kExitOk);
  std::istringstream lines(out_.str());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);)
    objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 5u);
  EXPECT_EQ(objects[0]["run_id"], kRunId);
  EXPECT_EQ(objects[3]["cursor"], "3");
  EXPECT_EQ(objects[4]["state"], "RUN_STATE_COMPLETED");
}

TEST_F(Program, TrainSendsARequestId) {
  EXPECT_EQ(RunWith("train", {"--request-id", "monday.1"}), kExitOk);
  EXPECT_EQ(analyst().last_specification.request_id(), "monday.1");
}

// One dictionary of several data sets.

v1::Run RunOn(const std::string& dataset, const std::string& mechanism,
              char digit) {
  v1::Run run = SampleRun(std::string(32, digit));
  run.mutable_specification()->mutable_parameters()->set_dataset(dataset);
  run.mutable_specification()->mutable_parameters()->set_mechanism(mechanism);
  return run;
}

constexpr char kCannotBeAdded[] =
    "dpnmf: run aaaaaaaaaaaa on jan is of mechanism aimed, whose releases "
    "cannot be added: this needs a run of moments; train such data sets with "
    "--mechanism moments\n";

class ProgramOfMonths : public Program {
 protected:
  ProgramOfMonths() {
    analyst().datasets.clear_datasets();
    for (const char* month : {"jan", "feb"})
      *analyst().datasets.add_datasets() = SampleDataset(month);
  }
  int TrainMonths(std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"train", "--datasets", "jan,feb", "--rank",
                                    "2"};
    all.insert(all.end(), more.begin(), more.end());
    return Run(all);
  }
};

TEST_F(ProgramOfMonths, AnAimedReleaseIsNotAddedAndIsNamed) {
  analyst().runs = {RunOn("jan", "aimed", 'a'), RunOn("feb", "moments", 'b')};
  EXPECT_EQ(TrainMonths(), kExitUsage);
  EXPECT_THAT(
      err_.str(),
      AllOf(StartsWith(kCannotBeAdded),
            HasSubstr("on feb has its release already: nothing is charged"),
            HasSubstr("data set 'jan' has no release of moments yet")));
  // Neither is the sum begun without it, nor is anything paid for.
  EXPECT_THAT(analyst().refits, IsEmpty());
  EXPECT_EQ(analyst().last_specification.ByteSizeLong(), 0u);
}

// The signal may come before the answer or after it.
TEST_F(ProgramOfMonths, CtrlCAtTheFirstStartBuysNoSecond) {
  analyst().plan.mutable_specification()->mutable_parameters()->set_moment_rows(
      6);
  int starts = 0;
  analyst().on_start = [&] {
    ++starts;
    kill(getpid(), SIGINT);
  };
  for (int trial = 0; trial < 20; ++trial) {
    analyst().runs = {SampleRun(kRunId)};
    analyst().started = RunOn("jan", "moments", 'd');
    starts = 0;
    EXPECT_EQ(TrainMonths({"--epsilon", "1", "--spend-again"}),
              kExitInterrupted);
    EXPECT_THAT(err_.str(), HasSubstr("[interrupted]"));
    EXPECT_EQ(starts, 1);
  }
}

TEST_F(ProgramOfMonths, WithAnEpsilonARunOfMomentsTakesItsPlace) {
  analyst().runs = {RunOn("jan", "aimed", 'a'), RunOn("feb", "moments", 'b')};
  analyst().plan.mutable_specification()->mutable_parameters()->set_moment_rows(
      6);
  analyst().started = RunOn("jan", "moments", 'd');
  EXPECT_EQ(TrainMonths({"--epsilon", "1"}), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(), AllOf(StartsWith(kCannotBeAdded),
                                HasSubstr("on jan is started and charged")));
  EXPECT_EQ(parameters().dataset(), "jan");
  EXPECT_EQ(parameters().mechanism(), "moments");
  ASSERT_EQ(analyst().refits.size(), 1u);
  EXPECT_EQ(analyst().refits[0].run_id(), std::string(32, 'd'));
  EXPECT_THAT(analyst().refits[0].joined_run_ids(),
              ElementsAre(std::string(32, 'b')));
}

TEST_F(ProgramOfMonths, OnlyWhatCouldHaveBeenAddedIsNamed) {
  v1::Run refit = RunOn("jan", "aimed", 'a'),
          cancelled = RunOn("jan", "aimed", 'a');
  refit.set_parent(kRunId);
  cancelled.set_state(v1::RUN_STATE_CANCELLED);
  for (const v1::Run& run : {refit, cancelled, RunOn("may", "aimed", 'a'),
                             RunOn("jan", "statistics", 'a')}) {
    analyst().runs = {run, RunOn("feb", "moments", 'b')};
    EXPECT_EQ(TrainMonths(), kExitUsage);
    EXPECT_THAT(err_.str(), Not(HasSubstr("cannot be added")));
  }
  // Beside a release of moments it is in nobody's way.
  analyst().runs = {RunOn("jan", "aimed", 'a'), RunOn("jan", "moments", 'c'),
                    RunOn("feb", "moments", 'b')};
  EXPECT_EQ(TrainMonths(), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("cannot be added")));
  EXPECT_EQ(analyst().refits.at(0).run_id(), std::string(32, 'c'));
}

TEST_F(ProgramOfMonths, AnotherMechanismThanMomentsIsAUsageError) {
  EXPECT_EQ(TrainMonths({"--mechanism", "aimed", "--epsilon", "1"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("only releases of --mechanism moments"));
}

}  // namespace
}  // namespace dpnmf::cli
