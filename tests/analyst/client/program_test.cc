// The commands as functions, against a fake server in this process.
#include "analyst/client/commands/program.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyst/client/model_file.h"
#include "analyst/client/render/names.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/base/trace.h"
#include "common/ratings/npz.h"
#include "common/wire/receipt.h"
#include "common/wire/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/analyst/client/fake_analyst.h"
#include "tests/common/ratings/sample_model.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Program : public ::testing::Test {
 protected:
  Program() {
    std::string name = ::testing::TempDir() + "dpnmf_program_XXXXXX";
    directory_ = mkdtemp(name.data());
    // No configuration of the machine's user gets in.
    setenv("HOME", directory_.c_str(), 1);
    environment_.out = &out_;
    environment_.err = &err_;
    environment_.version = "1.2.3";
    environment_.connect = [this](const ConnectionOptions& options)
        -> absl::StatusOr<std::shared_ptr<grpc::Channel>> {
      server_name_ = options.server;
      return server_.Channel();
    };
    environment_.retry.first_pause = absl::Milliseconds(1);
    environment_.retry.largest_pause = absl::Milliseconds(4);
    environment_.retry.give_up_after = absl::Milliseconds(20);
  }
  ~Program() override {
    for (const char* variable :
         {"DPNMF_SERVER", "DPNMF_FORMAT", "DPNMF_CONFIG"})
      unsetenv(variable);
    std::filesystem::remove_all(directory_);
  }

  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    std::vector<const char*> argv = {"dpnmf"};
    for (const std::string& argument : arguments)
      argv.push_back(argument.c_str());
    return RunProgram(static_cast<int>(argv.size()), argv.data(), environment_);
  }

  // plan or train with the flags that are required, and more.
  int RunWith(const std::string& command, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {command, "--dataset", "digits", "--rank",
                                    "2",     "--epsilon", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return Run(all);
  }

  std::string Path(const std::string& name) const {
    return (directory_ / name).string();
  }

  FakeAnalyst& analyst() { return server_.analyst; }
  const v1::RunParameters& parameters() {
    return analyst().last_specification.parameters();
  }

  std::filesystem::path directory_;
  FakeServer server_;
  Environment environment_;
  std::string server_name_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// Parts and people.

constexpr char kOtherRun[] = "7c210123456789abcdef0123456789ab";

Eigen::MatrixXd ApplesAndFigs() {
  Eigen::MatrixXd w(6, 2);
  w << .8, 0, .4, 0, 0, .5, 0, 1, .2, 0, 0, 0;
  return w;
}

TEST_F(Program, TopListsTheLargestEntriesByName) {
  analyst().model = ApplesAndFigs();
  analyst().names = {"apple", "pear", "nut, \"big\"", "fig", "plum", "kiwi"};
  ASSERT_EQ(Run({"top", "3f9a", "--words", "2"}), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(),
            "part  largest entries\n"
            "   1  apple 1.00, pear 0.50\n"
            "   2  fig 1.00, nut, \"big\" 0.50\n");
  ASSERT_EQ(Run({"top", "3f9a", "--format", "json"}), kExitOk);
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["parts"].size(), 2u);
  // Entries of 0 are not listed.
  EXPECT_EQ(json["parts"][0]["features"].size(), 3u);
  EXPECT_EQ(json["parts"][0]["features"][2]["name"], "plum");
  EXPECT_EQ(json["parts"][0]["features"][2]["row"], "5");
  EXPECT_DOUBLE_EQ(json["parts"][0]["features"][2]["weight"], .25);
}

TEST_F(Program, TopWithoutNamesGivesRows) {
  analyst().model = ApplesAndFigs();
  analyst().model.col(1).setZero();
  ASSERT_EQ(Run({"top", "3f9a", "--words", "1"}), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(),
            "part  largest entries\n"
            "   1  #1 1.00\n"
            "   2  none: the part is 0\n");
}

TEST_F(Program, NamesStandInTheFileOfWWhichIsReadBack) {
  analyst().model = ApplesAndFigs();
  analyst().names = {"apple", "pear", "nut, \"big\"", "fig", "plum", "kiwi"};
  const std::string file = Path("W.csv");
  ASSERT_EQ(Run({"model", "3f9a", "--output", file}), kExitOk) << err_.str();
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "feature,part_1,part_2");
  std::getline(lines, line);
  EXPECT_THAT(line, StartsWith("apple,0.8"));
  const auto read = ReadMatrixFile(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, ApplesAndFigs());
}

TEST_F(Program, CompareMatchesTheMostSimilarPartsFirst) {
  analyst().runs = {SampleRun(kRunId), SampleRun(kOtherRun)};
  Eigen::MatrixXd other(6, 3);
  other << 0, .1, 1, 0, 0, 0, .5, 0, 0, 1, 0, 0, 0, 0, 0, 0, .1, 0;
  analyst().models = {{kRunId, ApplesAndFigs()}, {kOtherRun, other}};
  ASSERT_EQ(Run({"compare", "3f9a", "7c21", "--format", "json"}), kExitOk)
      << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["pairs"].size(), 2u);
  EXPECT_EQ(json["pairs"][0]["first"], 2);
  EXPECT_EQ(json["pairs"][0]["second"], 1);
  EXPECT_NEAR(json["pairs"][0]["cosine"], 1, 1e-12);
  EXPECT_EQ(json["pairs"][1]["first"], 1);
  EXPECT_EQ(json["pairs"][1]["second"], 3);
  EXPECT_NEAR(json["pairs"][1]["cosine"], .8 / std::sqrt(.84), 1e-12);
  EXPECT_THAT(json["only_second"], ElementsAre(2));
  ASSERT_EQ(Run({"compare", "3f9a", "7c21"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("mean cosine 0.936"),
                    HasSubstr("without a partner, of the second run: 2")));
}

TEST_F(Program, CompareRefusesRunsWithOtherFeatures) {
  analyst().runs = {SampleRun(kRunId), SampleRun(kOtherRun)};
  analyst().models = {{kRunId, ApplesAndFigs()},
                      {kOtherRun, Eigen::MatrixXd::Ones(5, 2)}};
  EXPECT_EQ(Run({"compare", "3f9a", "7c21"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[features-differ]"));
}

TEST_F(Program, TransformFindsTheWeightsOfOwnPeople) {
  analyst().model = ApplesAndFigs();
  v1::Dataset dataset = SampleDataset("digits");
  dataset.set_normalisation(v1::NORMALISATION_L2);
  *analyst().datasets.mutable_datasets()->Add() = dataset;
  // Two people who are 2 and 3 times a mixture, and one without entries.
  const Eigen::MatrixXd w = ApplesAndFigs();
  Eigen::MatrixXd people(6, 3);
  people.col(0) = 2 * (w.col(0) + w.col(1));
  people.col(1) = 3 * w.col(1);
  people.col(2).setZero();
  std::ofstream(Path("new.csv")) << "a,b,c,d,e,f\n"
                                 << CsvText(people.transpose());
  ASSERT_EQ(Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                 Path("H.npy")}),
            kExitOk)
      << err_.str();
  const auto h = ReadMatrixFile(Path("H.npy"));
  ASSERT_TRUE(h.ok()) << h.status();
  ASSERT_EQ(h->rows(), 3);
  const double length = (w.col(0) + w.col(1)).norm();
  EXPECT_NEAR((*h)(0, 0), 1 / length, 1e-9);
  EXPECT_NEAR((*h)(0, 1), 1 / length, 1e-9);
  EXPECT_NEAR((*h)(1, 0), 0, 1e-9);
  EXPECT_NEAR((*h)(1, 1), 1 / w.col(1).norm(), 1e-9);
  EXPECT_EQ(h->row(2).norm(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("3 people by 2 parts"));
}

TEST_F(Program, TransformWeighsFeaturesAsTheDataSetDoes) {
  analyst().model = Eigen::MatrixXd::Identity(2, 2);
  v1::Dataset dataset = SampleDataset("digits");
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_features(2);
  dataset.set_weighted_features(true);
  analyst().model_dataset = dataset;
  std::ofstream(Path("new.csv")) << "3,2\n";
  const auto transform = [&] {
    return Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                Path("H.npy")});
  };
  EXPECT_NE(transform(), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[weights-missing]"));
  analyst().names = {"1", "2"};
  analyst().weights = {1, 2};
  ASSERT_EQ(transform(), kExitOk) << err_.str();
  const auto h = ReadMatrixFile(Path("H.npy"));
  ASSERT_TRUE(h.ok()) << h.status();
  EXPECT_NEAR((*h)(0, 0), 0.6, 1e-12);
  EXPECT_NEAR((*h)(0, 1), 0.8, 1e-12);
  // Rows without names have their numbers in their place.
  ASSERT_EQ(Run({"top", "3f9a"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("#1 1.00"));
}

TEST_F(Program, TransformFindsFeaturesByName) {
  analyst().model = Eigen::MatrixXd::Identity(2, 2);
  analyst().model_dataset = SampleDataset("digits");
  analyst().model_dataset->set_features(2);
  analyst().names = {"age", "size"};
  const auto transform = [&](const std::string& text,
                             std::vector<std::string> flags = {}) {
    std::ofstream(Path("new.csv")) << text;
    std::vector<std::string> arguments = {
        "transform", "3f9a",        "--input",  Path("new.csv"),
        "--output",  Path("H.npy"), "--format", "json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Run(arguments);
  };
  Eigen::MatrixXd expected(2, 2);
  expected << 0, 1, 1, 0;
  // In another order, with ids and more than the run knows.
  ASSERT_EQ(transform("id,size,weight,age\n7,1,9,0\n8,0,9,1\n"), kExitOk)
      << err_.str();
  EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), expected);
  auto report = nlohmann::json::parse(out_.str());
  EXPECT_TRUE(report["by_name"]);
  EXPECT_THAT(report["left_out"], ElementsAre("id", "weight"));
  ASSERT_EQ(
      transform("feature,p1,p2\nsize,1,0\nage,0,1\n", {"--users", "columns"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), expected);
  // No name of the run: the order counts.
  ASSERT_EQ(transform("alter,groesse\n0,1\n1,0\n"), kExitOk) << err_.str();
  EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), expected);
  report = nlohmann::json::parse(out_.str());
  EXPECT_FALSE(report["by_name"]);

  EXPECT_EQ(transform("age,weight\n1,2\n"), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("'size'"), HasSubstr("features-mismatch")));
  EXPECT_EQ(transform("age,size,age\n1,2,3\n"), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("twice"), HasSubstr("features-mismatch")));
}

TEST_F(Program, TransformTakesNoHeaderOfNumbersForAPerson) {
  analyst().model = Eigen::MatrixXd::Identity(3, 3);
  analyst().model_dataset = SampleDataset("digits");
  std::ofstream(Path("new.csv")) << "0,1,2\n1,0,0\n";
  EXPECT_EQ(Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                 Path("H.npy")}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[input-ambiguous]"));
  EXPECT_FALSE(std::filesystem::exists(Path("H.npy")));
  std::ofstream(Path("new.csv")) << "0,1,3\n1,0,0\n";
  EXPECT_EQ(Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                 Path("H.npy")}),
            kExitOk)
      << err_.str();
}

TEST_F(Program, TransformRefusesOtherFeaturesAndNegativeEntries) {
  analyst().model = ApplesAndFigs();
  *analyst().datasets.mutable_datasets()->Add() = SampleDataset("digits");
  std::ofstream(Path("new.csv")) << "1,2,3\n4,5,6\n";
  const auto transform = [&] {
    return Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                Path("H.csv")});
  };
  EXPECT_EQ(transform(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[features-mismatch]"));
  std::ofstream(Path("new.csv")) << "1,2,3,4,5,-6\n";
  EXPECT_EQ(transform(), kExitUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("Feature 6 of person 1"),
                                HasSubstr("[input-negative]")));
  EXPECT_FALSE(std::filesystem::exists(Path("H.csv")));
}

// Two people of three features, with classes if `labelled`.
std::vector<v1::SynthesiseReply> TwoPeople(bool labelled) {
  std::vector<v1::SynthesiseReply> replies(1);
  v1::SynthesiseHeader& header = *replies[0].mutable_header();
  header.set_count(2);
  header.set_features(3);
  if (labelled) {
    header.add_classes("well");
    header.add_classes("very, \"very\" ill");
    for (const std::uint32_t label : {1u, 0u}) {
      replies.emplace_back();
      replies.back().mutable_labels()->add_labels(label);
    }
  }
  replies.emplace_back();
  for (const double entry : {0.25, 0.0, 1e-7, 3.0, 2.0, 0.1})
    replies.back().mutable_people()->add_values(entry);
  return replies;
}

TEST_F(Program, SynthesiseWritesPeopleAsRows) {
  analyst().people = TwoPeople(false);
  analyst().people[0].mutable_header()->mutable_dataset()->set_normalisation(
      v1::NORMALISATION_L2);
  ASSERT_EQ(Run({"synthesise", "3f9a", "--count", "2", "--seed", "9",
                 "--output", Path("p.csv")}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(analyst().last_synthesise.count(), 2u);
  EXPECT_EQ(analyst().last_synthesise.seed(), 9u);
  EXPECT_TRUE(analyst().last_synthesise.feature_names());
  EXPECT_THAT(out_.str(), HasSubstr("each person is scaled to length 1"));
  const auto text = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(text(Path("p.csv")),
            "feature_1,feature_2,feature_3\n0.25,0,1e-07\n3,2,0.1\n");
  ASSERT_EQ(
      Run({"synthesise", "3f9a", "--count", "2", "--output", Path("p.npy")}),
      kExitOk)
      << err_.str();
  const auto people = ReadMatrixFile(Path("p.npy"));
  ASSERT_TRUE(people.ok()) << people.status();
  ASSERT_EQ(people->rows(), 2);
  EXPECT_EQ((*people)(1, 0), 3);

  analyst().people = TwoPeople(true);
  ASSERT_EQ(
      Run({"synthesise", "3f9a", "--count", "2", "--output", Path("p.csv")}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(text(Path("p.csv")),
            "feature_1,feature_2,feature_3,class\n"
            "0.25,0,1e-07,\"very, \"\"very\"\" ill\"\n3,2,0.1,well\n");

  // Names that the server has come after the header, whatever the run is of.
  v1::SynthesiseReply names;
  for (const char* name : {"age", "bone, left", "size"})
    names.mutable_items()->add_items()->set_id(name);
  analyst().people.insert(analyst().people.begin() + 1, names);
  ASSERT_EQ(
      Run({"synthesise", "3f9a", "--count", "2", "--output", Path("p.csv")}),
      kExitOk)
      << err_.str();
  EXPECT_THAT(text(Path("p.csv")),
              StartsWith("age,\"bone, left\",size,class\n"));
}

TEST_F(Program, SynthesiseRefusesPeopleThatDoNotFit) {
  const auto synthesise = [&](const char* file) {
    return Run({"synthesise", "3f9a", "--count", "2", "--output", Path(file)});
  };
  analyst().people = TwoPeople(true);
  EXPECT_EQ(synthesise("q.npy"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[file-type-unknown]"));
  EXPECT_EQ(synthesise("q.txt"), kExitUsage);
  analyst().people[1].mutable_labels()->set_labels(0, 2);
  EXPECT_EQ(synthesise("q.csv"), kExitDataLoss);
  EXPECT_THAT(err_.str(), HasSubstr("[people-malformed]"));
  analyst().people = TwoPeople(true);
  analyst().people.erase(analyst().people.begin() + 1);
  EXPECT_EQ(synthesise("q.csv"), kExitDataLoss);
  analyst().people = TwoPeople(false);
  analyst().people.pop_back();
  EXPECT_EQ(synthesise("q.csv"), kExitDataLoss);
  analyst().people = {};
  EXPECT_EQ(synthesise("q.csv"), kExitDataLoss);
  EXPECT_FALSE(std::filesystem::exists(Path("q.csv")));
}

// Runs on ratings.

TEST_F(Program, AnItemModelIsWrittenInBothFormats) {
  analyst().items = SampleItemModel(50, 4, 2);
  for (const std::string name : {"items.npz", "items.csv"}) {
    EXPECT_EQ(Run({"model", "3f9a", "--output", Path(name)}), kExitOk)
        << err_.str();
    EXPECT_THAT(out_.str(),
                AllOf(HasSubstr("50 items"), HasSubstr("ratings from 1 to 5")));
    const auto read = ReadItemModel(Path(name));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(NpzText(*read), NpzText(*analyst().items));
  }
}

TEST_F(Program, AnItemModelIsNoDictionaryAndTheOtherWayRound) {
  const std::string png = Path("items.png");
  analyst().model = Eigen::MatrixXd::Ones(6, 2);
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("W.npz")}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[file-type-unknown]"));
  EXPECT_EQ(Run({"model", "3f9a", "--similar", "i1"}), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("[run-not-ratings]"));
  analyst().items = SampleItemModel(50, 4, 2);
  EXPECT_EQ(Run({"model", "3f9a", "--output", png}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr(".npz or .csv"));
  EXPECT_FALSE(std::filesystem::exists(png));
  EXPECT_EQ(Run({"model", "3f9a"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[flags-conflict]"));
}

TEST_F(Program, TheNearestItemsArePrintedByName) {
  analyst().items = SampleItemModel(50, 4, 2);
  EXPECT_EQ(Run({"model", "3f9a", "--similar", "item, number 7", "--top", "3"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("nearest to Item, number 7:"));
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(Run({"model", "3f9a", "--similar", "i7", "--format", "json"}),
            kExitOk);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["item"], "i7");
  EXPECT_EQ(json["similar"].size(), 10u);
  EXPECT_EQ(Run({"model", "3f9a", "--similar", "Item nummer 7"}),
            kExitNotFound);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("`Item, number 7`"),
                                HasSubstr("[item-not-found]")));
}

TEST_F(Program, TheItemsOfEachPartOfANonNegativeModelAreListed) {
  analyst().items = SampleItemModel(50, 3, 2);
  EXPECT_EQ(Run({"top", "3f9a"}), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("[factors-signed]"));
  ItemModel& model = analyst().items->model;
  model.loadings = model.loadings.cwiseAbs() * 0.1;
  model.loadings(7, 1) = 2;
  model.loadings(9, 1) = 1;
  model.loadings(11, 2) = 4;
  model.level = 1;
  analyst().items->names[9].clear();
  EXPECT_EQ(Run({"top", "3f9a", "--words", "2"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("Item, number 7 1.00, i9 0.50"),
                                HasSubstr("Item, number 11 1.00")));
  EXPECT_EQ(Run({"top", "3f9a", "--format", "json"}), kExitOk);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["parts"].size(), 2u);
  const std::string file = Path("items.npz");
  EXPECT_EQ(Run({"model", "3f9a", "--output", file}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("3 non-negative factors"));
  EXPECT_EQ(ReadItemModel(file)->model.level, 1);
}

// Flags.

TEST_F(Program, HelpTeachesEpsilonExamplesAndExitCodes) {
  EXPECT_EQ(Run({"--help"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("What epsilon means"), HasSubstr("Examples:"),
                    HasSubstr("Exit codes:"), HasSubstr("DPNMF_SERVER")));
}

TEST_F(Program, EverySubcommandHasHelpWithAnExample) {
  for (const char* command :
       {"datasets", "plan", "train", "watch", "runs", "show", "cancel",
        "forget", "budget", "model", "account", "doctor", "refit", "export",
        "add-release"}) {
    EXPECT_EQ(Run({command, "--help"}), kExitOk) << command;
    EXPECT_THAT(out_.str(), HasSubstr(std::string("dpnmf ") + command));
    EXPECT_THAT(out_.str(), HasSubstr("Example")) << command;
  }
}

TEST_F(Program, HelpFitsEightyColumns) {
  for (const char* command :
       {"", "datasets", "plan", "train", "watch", "runs", "show", "cancel",
        "forget", "budget", "model", "account", "doctor", "refit", "export",
        "add-release"}) {
    EXPECT_EQ(*command == '\0' ? Run({"--help"}) : Run({command, "--help"}),
              kExitOk);
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 88u) << line;
  }
}

TEST_F(Program, BadFlagsAreUsageErrors) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"no-such-command"},
      {"datasets", "--no-such-flag"},
      {"plan"},
      {"plan", "--dataset", "d", "--rank", "-1", "--epsilon", "1"},
      {"plan", "--dataset", "d", "--rank", "2.5", "--epsilon", "1"},
      {"plan", "--dataset", "d", "--rank", "2", "--epsilon", "much"},
      {"plan", "--dataset", "d", "--rank", "2", "--epsilon", "1", "--outliers",
       "maybe"},
      {"datasets", "--format", "xml"},
      {"train", "--dataset", "digits", "--rank", "2"},
      {"train", "--datasets", "jan", "--rank", "2"},
      {"train", "--datasets", "jan,jan", "--rank", "2"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--dataset", "jan"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--federation", "all"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--mechanism",
       "statistics"},
      {"show"}};
  for (const auto& arguments : wrong) {
    EXPECT_EQ(Run(arguments), kExitUsage)
        << ::testing::PrintToString(arguments);
    EXPECT_THAT(err_.str(),
                AllOf(StartsWith("dpnmf: "), HasSubstr("--help'. [usage]")));
    EXPECT_THAT(out_.str(), IsEmpty());
  }
}

TEST_F(Program, WhatIsUnknownIsNamedBeforeWhatIsMissing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"plan", "--dataset", "visits", "--rnk", "4", "--epsilon", "1"},
       "There is no flag `--rnk` (did you mean `--rank`?); see 'dpnmf plan "
       "--help'."},
      {{"plan", "--rnk=4"},
       "There is no flag `--rnk` (did you mean `--rank`?); see 'dpnmf plan "
       "--help'."},
      {{"pln"},
       "There is no command `pln` (did you mean `plan`?); see 'dpnmf --help'."},
      {{"pln", "--dataset", "visits"},
       "There is no command `pln` (did you mean `plan`?); see 'dpnmf --help'."},
      {{"receipts", "exprt"},
       "There is no command `exprt` (did you mean `export`?); see 'dpnmf "
       "receipts --help'."},
      {{"datasets", "--colour"},
       "There is no flag `--colour`; see 'dpnmf datasets --help'."},
      {{"datasets", "digits"},
       "No command takes the argument `digits`; see 'dpnmf datasets --help'."},
      {{"plan", "--dataset", "digits", "--epsilon", "1"},
       "--rank is required for a data set that does not hold ratings; see "
       "'dpnmf plan --help'."},
      {{"plan", "--rank"}, "--rank needs a value; see 'dpnmf plan --help'."},
      {{"plan", "--epsilon", "much"},
       "--epsilon cannot be `much`; see 'dpnmf plan --help'."},
      {{"datasets", "--format", "xml"},
       "--format must be text or json; see 'dpnmf datasets --help'."},
      {{"plan", "--outliers", "maybe"},
       "--outliers must be on or off; see 'dpnmf plan --help'."}};
  for (const auto& [arguments, sentence] : wrong) {
    EXPECT_EQ(Run(arguments), kExitUsage);
    EXPECT_EQ(err_.str(), "dpnmf: " + sentence + " [usage]\n");
  }
}

TEST_F(Program, RunsOnRatingsNeedNoRank) {
  analyst().datasets.mutable_datasets(0)->mutable_ratings()->set_high_units(5);
  EXPECT_EQ(Run({"plan", "--dataset", "digits", "--epsilon", "1"}), kExitOk);
  EXPECT_EQ(parameters().rank(), 0u);
  EXPECT_EQ(parameters().profile_directions(), 0u);
  EXPECT_EQ(parameters().shares_size(), 0);
  EXPECT_EQ(RunWith("plan", {"--shares", "0.25,0,0.5,0,0.25",
                             "--profile-directions", "3"}),
            kExitOk);
  EXPECT_EQ(parameters().rank(), 2u);
  EXPECT_EQ(parameters().profile_directions(), 3u);
  EXPECT_EQ(std::vector<double>(parameters().shares().begin(),
                                parameters().shares().end()),
            (std::vector<double>{0.25, 0, 0.5, 0, 0.25}));
}

TEST_F(Program, AFlagThatRunsOnRatingsDoNotUseIsRefused) {
  analyst().datasets.mutable_datasets(0)->mutable_ratings()->set_high_units(5);
  const std::vector<std::vector<std::string>> refused = {
      {"--outliers", "on"},
      {"--share-of-a", "0.2"},
      {"--step-size", "0.5"},
      {"--shares", "0.5,0.4,0.1,0,0", "--profile-directions", "3"}};
  for (const auto& flags : refused) {
    EXPECT_EQ(RunWith("plan", flags), kExitUsage);
    EXPECT_THAT(err_.str(),
                HasSubstr(" has no effect on a run with --mechanism ratings; "
                          "remove it. [flag-unused]"))
        << ::testing::PrintToString(flags);
  }
}

TEST_F(Program, SharesAreFiveNumbersThatAddUpToOneAtMost) {
  for (const char* shares :
       {"1", "0.5,0.5,0,0", "0.2,0.2,0.2,0.2,0.3", "-0.1,0.2,0.2,0.2,0.2",
        "0.1,0.1,0.1,0.1,0.1,0.1", "nan,0,0,0,0", "inf,0,0,0,0"}) {
    EXPECT_EQ(RunWith("plan", {"--shares", shares}), kExitUsage) << shares;
  }
  EXPECT_EQ(RunWith("plan", {"--shares", "0.5,0.5,0,0"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[share-out-of-range]"));
  EXPECT_EQ(RunWith("plan", {"--rank", "0"}), kExitUsage);
  EXPECT_EQ(RunWith("plan", {"--profile-directions", "0"}), kExitUsage);
}

TEST_F(Program, NumbersThatAreNoneAreRefused) {
  for (const char* number :
       {"-1", "99999999999999999999", "18446744073709551616", "1.5", "x"}) {
    EXPECT_EQ(RunWith("plan", {"--seed", number}), kExitUsage) << number;
    EXPECT_EQ(err_.str(),
              "dpnmf: --seed must be a whole number from 0 to "
              "18446744073709551615, not " +
                  std::string(number) + "; see 'dpnmf plan --help'. [usage]\n");
  }
  EXPECT_EQ(RunWith("plan", {"--seed", "18446744073709551615"}), kExitOk);
  EXPECT_EQ(analyst().last_specification.learner().seed(),
            18446744073709551615u);
  // 1 after a turn around 2^64.
  EXPECT_EQ(RunWith("plan", {"--rounds", "-18446744073709551615"}), kExitUsage);
}

TEST_F(Program, AZeroThatWasGivenIsNoDefault) {
  const std::vector<std::array<std::string, 3>> refused = {
      {"--rounds", "0", "rounds-out-of-range"},
      {"--moment-rows", "0", "moment-rows-out-of-range"},
      {"--inner-iterations", "0", "inner-iterations-out-of-range"},
      {"--steps-per-round", "0", "steps-out-of-range"},
      {"--step-size", "0", "step-size-out-of-range"},
      {"--step-size", "nan", "step-size-out-of-range"},
      {"--share-of-a", "0", "share-out-of-range"},
      {"--share-of-a", "1", "share-out-of-range"},
      {"--share-of-moments", "0", "share-out-of-range"}};
  for (const auto& [flag, value, code] : refused) {
    EXPECT_EQ(RunWith("train", {flag, value}), kExitUsage) << flag;
    EXPECT_THAT(err_.str(), AllOf(HasSubstr("`" + flag + "` must "),
                                  HasSubstr("[" + code + "]")));
  }
  EXPECT_FALSE(analyst().last_specification.has_parameters());
}

TEST_F(Program, AnAddressThatIsNoneIsAUsageError) {
  for (const char* address : {"foo", "127.0.0.1:99999", "localhost:"}) {
    EXPECT_EQ(Run({"datasets", "--server", address}), kExitUsage) << address;
    EXPECT_THAT(err_.str(), HasSubstr("[address-malformed]"));
  }
}

TEST_F(Program, GlobalFlagsStandBeforeOrAfterTheCommand) {
  EXPECT_EQ(Run({"--server", "a:1", "datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "a:1");
  EXPECT_EQ(Run({"datasets", "--server", "b:2"}), kExitOk);
  EXPECT_EQ(server_name_, "b:2");
}

TEST_F(Program, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  std::ofstream(Path("c.toml")) << "server = \"file:3\"\n[plan]\nrounds = 77\n";
  const std::string config = Path("c.toml");
  EXPECT_EQ(RunWith("plan", {"--config", config}), kExitOk);
  EXPECT_EQ(server_name_, "file:3");
  EXPECT_EQ(parameters().rounds(), 77u);
  setenv("DPNMF_SERVER", "environment:2", 1);
  EXPECT_EQ(Run({"--config", config, "datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "environment:2");
  EXPECT_EQ(Run({"--config", config, "datasets", "--server", "flag:1"}),
            kExitOk);
  EXPECT_EQ(server_name_, "flag:1");
}

TEST_F(Program, TheUsersConfigurationIsReadByItself) {
  std::filesystem::create_directories(Path(".config"));
  std::ofstream(Path(".config/dpnmf.toml")) << "server = \"home:4\"\n";
  EXPECT_EQ(Run({"datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "home:4");
}

TEST_F(Program, AMissingOrWrongConfigurationIsAUsageError) {
  EXPECT_EQ(Run({"--config", Path("absent.toml"), "datasets"}), kExitUsage);
  std::ofstream(Path("c.toml")) << "sever = \"typo\"\n";
  EXPECT_EQ(Run({"--config", Path("c.toml"), "datasets"}), kExitUsage);
  EXPECT_EQ(err_.str(),
            "dpnmf: The configuration file " + Path("c.toml") +
                " has a key that is not the name of a flag: `sever` (did "
                "you mean `server`?); see 'dpnmf datasets --help'. "
                "[usage]\n");
  setenv("DPNMF_CONFIG", Path("absent.toml").c_str(), 1);
  EXPECT_EQ(Run({"datasets"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr(Path("absent.toml") + " cannot be read"));
}

TEST_F(Program, HelpRequiresNoConfigurationFile) {
  for (const std::string file : {"", "absent.toml"}) {
    setenv("DPNMF_CONFIG", file.c_str(), 1);
    EXPECT_EQ(Run({"--help"}), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("--config FILE" +
                                      (file.empty() ? "" : "=" + file) + "  "));
    EXPECT_THAT(out_.str(), HasSubstr("[DPNMF_CONFIG,"));
    EXPECT_THAT(out_.str(), Not(HasSubstr("REQUIRED")));
  }
}

TEST_F(Program, DoctorReportsEachCheckAndFailsWithSeven) {
  EXPECT_EQ(Run({"doctor", "--ca", "/nowhere/ca.crt", "--server", "localhost:1",
                 "--format", "json"}),
            kExitState);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_FALSE(json["ok"]);
  EXPECT_FALSE(json["checks"].empty());
}

// Replies.

TEST_F(Program, JsonHasProtoNamesAndZeros) {
  EXPECT_EQ(Run({"budget", "--dataset", "digits", "--format", "json"}),
            kExitOk);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["cap_epsilons"]["rdp_optimal"], 3);
  EXPECT_EQ(json["disagreement"], "");
}

TEST_F(Program, ErrorsOfTheServerKeepSentenceCodeAndExitCode) {
  EXPECT_EQ(Run({"show", "ffffffffffffffffffffffffffffffff"}), kExitNotFound);
  EXPECT_EQ(err_.str(), "dpnmf: There is no such run. [run-unknown]\n");
}

TEST_F(Program, ABrokenMirrorIsExitCodeEight) {
  analyst().budget.set_agree(false);
  EXPECT_EQ(Run({"budget", "--dataset", "digits"}), kExitDataLoss);
}

TEST_F(Program, AnUnreachableServerIsExitCodeFive) {
  environment_.connect = [](const ConnectionOptions&)
      -> absl::StatusOr<std::shared_ptr<grpc::Channel>> {
    return Refusal(absl::StatusCode::kUnavailable, "unreachable", "Nobody.");
  };
  EXPECT_EQ(Run({"datasets"}), kExitUnreachable);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("dpnmf: Nobody. [unreachable]\n"),
                                HasSubstr("dpnmf doctor")));
}

TEST_F(Program, TroubleWithTheOwnCertificateIsExitCodeSix) {
  environment_.connect = [](const ConnectionOptions&)
      -> absl::StatusOr<std::shared_ptr<grpc::Channel>> {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "tls-certificate-invalid", "Expired.");
  };
  EXPECT_EQ(Run({"datasets"}), kExitDenied);
}

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
                                HasSubstr("guarantee (the cap's)")));
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
    "cannot be added: this needs a run of moments; train months with "
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
  EXPECT_THAT(err_.str(),
              AllOf(StartsWith(kCannotBeAdded),
                    HasSubstr("on feb is released: nothing is charged"),
                    HasSubstr("data set 'jan' has no release of moments yet")));
  // Neither is the sum begun without it, nor is anything paid for.
  EXPECT_THAT(analyst().refits, IsEmpty());
  EXPECT_EQ(analyst().last_specification.ByteSizeLong(), 0u);
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
  EXPECT_THAT(err_.str(), HasSubstr("releases of --mechanism moments alone"));
}

TEST_F(Program, RefitAsksForEachRankOnce) {
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "4:6,9", "--seed", "5"}), kExitOk);
  ASSERT_EQ(analyst().refits.size(), 4u);
  std::vector<std::uint32_t> ranks;
  for (const v1::Refit& refit : analyst().refits) {
    EXPECT_EQ(refit.run_id(), kRunId);
    EXPECT_EQ(refit.learner().seed(), 5u);
    EXPECT_EQ(refit.learner().initialisation(), v1::INITIALISATION_RANDOM);
    ranks.push_back(refit.rank());
  }
  EXPECT_THAT(ranks, ElementsAre(4, 5, 6, 9));
  EXPECT_THAT(out_.str(), StartsWith(analyst().runs[1].run_id() + "\n"));
  EXPECT_EQ(Run({"runs"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("refit of 3f9a0123"));
  EXPECT_EQ(Run({"show", analyst().runs[1].run_id()}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("nothing is charged"));
}

TEST_F(Program, RefitAsJsonIsTheRunOrAListOfRuns) {
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "8", "--format", "json"}), kExitOk);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["parent"], kRunId);
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "8,9", "--format", "json"}),
            kExitOk);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["runs"].size(), 2u);
  EXPECT_EQ(Run({"refit", "3f9a"}), kExitOk);
  EXPECT_EQ(analyst().refits.back().rank(), 0u);
}

TEST_F(Program, RefitWithWaitTellsHowEachEnded) {
  analyst().most_runs = 2;
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "4:6", "--wait"}), kExitOk);
  EXPECT_EQ(analyst().refits.size(), 3u);
  EXPECT_THAT(out_.str(), HasSubstr("completed"));
  analyst().most_runs = 2;
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "4:6"}), kExitState);
}

TEST_F(Program, RefitRefusesRanksAndStartsThatAreNone) {
  for (const char* rank : {"0", "4:3", "x", "4:", "1:2:3", "1:101"}) {
    EXPECT_NE(Run({"refit", "3f9a", "--rank", rank}), kExitOk) << rank;
    EXPECT_THAT(err_.str(), HasSubstr("[rank-out-of-range]")) << rank;
  }
  EXPECT_NE(Run({"refit", "3f9a", "--init", "zeros"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[init-malformed]"));
  std::ofstream(Path("start.csv")) << "1,2\n3,4\n";
  const std::string start = "public:" + Path("start.csv");
  EXPECT_NE(Run({"refit", "3f9a", "--rank", "3", "--init", start}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[init-shape-mismatch]"));
  EXPECT_EQ(Run({"refit", "3f9a", "--rank", "2", "--init", start}), kExitOk);
  EXPECT_THAT(analyst().last_dictionary, ElementsAre(1, 3, 2, 4));
  EXPECT_TRUE(analyst().refits.size() == 1);
}

// What GetRelease sends of two features.
std::vector<v1::ReleaseReply> SampleRelease() {
  std::vector<v1::ReleaseReply> messages(3);
  messages[0].mutable_header()->set_version(1);
  *messages[0].mutable_header()->mutable_run() = SampleRun(kRunId);
  messages[0].mutable_header()->mutable_dataset()->set_users(100);
  messages[0].mutable_header()->mutable_dataset()->set_features(2);
  for (int i = 1; i < 3; ++i) {
    v1::ReleaseMatrix& matrix = *messages[i].mutable_matrix();
    matrix.set_name(i == 1 ? "G" : "rows");
    matrix.mutable_shape()->set_rows(2);
    matrix.mutable_shape()->set_columns(i == 1 ? 2 : 1);
    matrix.set_stddev(0.25);
    matrix.set_diagonal_stddev(0.5);
    for (int entry = 0; entry < (i == 1 ? 4 : 2); ++entry)
      matrix.mutable_entries()->add_values(entry);
  }
  return messages;
}

TEST_F(Program, ExportWritesTheNumbersThatAreFittedTo) {
  analyst().release = SampleRelease();
  EXPECT_EQ(Run({"export", "3f9a", "--moments", "-o", Path("g.npz")}), kExitOk);
  EXPECT_TRUE(analyst().last_release.matrices());
  std::ifstream file(Path("g.npz"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto members = ReadNpz(bytes);
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ(*MatrixOfMember(members->at("G"), "G"),
            (Eigen::Matrix2d() << 0, 2, 1, 3).finished());
  EXPECT_EQ(*VectorOfMember(members->at("rows"), "rows"),
            Eigen::Vector2d(0, 1));
  EXPECT_EQ(*VectorOfMember(members->at("G_stddev"), "G_stddev"),
            Eigen::Vector2d(0.25, 0.5));
  EXPECT_EQ(*IntegerOfMember(members->at("users"), "users"), 100);
  analyst().release.pop_back();
  analyst().release.back().mutable_matrix()->mutable_shape()->set_rows(3);
  EXPECT_NE(Run({"export", "3f9a", "--moments", "-o", Path("g.npz")}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[model-malformed]"));
}

TEST_F(Program, ABundleIsSentAsItWasWritten) {
  analyst().release = SampleRelease();
  EXPECT_EQ(Run({"export", "3f9a", "--bundle", Path("b")}), kExitOk);
  EXPECT_FALSE(analyst().last_release.matrices());
  EXPECT_EQ(Run({"add-release", Path("b"), "--format", "json"}), kExitOk);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["added"], true);
  ASSERT_EQ(analyst().added.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(analyst().added[i].SerializeAsString(),
              analyst().release[i].SerializeAsString());
  std::ofstream(Path("b"), std::ios::app) << "x";
  EXPECT_NE(Run({"add-release", Path("b")}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[release-file-malformed]"));
  EXPECT_NE(Run({"add-release", Path("none")}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[file-not-found]"));
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{},
                                             {"--moments"},
                                             {"--output", "x.npz"},
                                             {"--moments", "--bundle", "b"}}) {
    std::vector<std::string> all = {"export", "3f9a"};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_NE(Run(all), kExitOk);
    EXPECT_THAT(err_.str(), HasSubstr("[flags-conflict]"));
  }
}

TEST_F(Program, ObjectiveAsJsonIsRunEventsRun) {
  analyst().runs[0].mutable_objective()->set_value(0.25);
  EXPECT_EQ(Run({"objective", "3f9a", "--epsilon", "0.1", "--format", "json"}),
            kExitOk);
  std::istringstream lines(out_.str());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);)
    objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 5u);
  EXPECT_EQ(objects[0]["state"], "RUN_STATE_QUEUED");
  EXPECT_EQ(objects[3]["cursor"], "3");
  EXPECT_EQ(objects[4]["objective"]["value"], 0.25);
}

// |v| = 1: 1 - 2 * 0.055 of it.
TEST_F(Program, ObjectiveSaysWhatWExplainsOfPeopleOfLengthOne) {
  analyst().runs[0].mutable_objective()->set_value(0.055);
  analyst().runs[0].mutable_objective()->set_stddev(0.0025);
  EXPECT_EQ(Run({"objective", "3f9a", "--epsilon", "0.1"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("objective  0.055"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("explains")));
  analyst().model_dataset.emplace().set_normalisation(v1::NORMALISATION_L2);
  EXPECT_EQ(Run({"objective", "3f9a", "--epsilon", "0.1"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("W explains 89 % of a person's squared "
                                    "length, plus or minus 1 %"));
}

TEST_F(Program, ModelAsJsonNamesTheFilesAndTheError) {
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy"), "--errors",
                 Path("e.npy"), "--format", "json"}),
            kExitOk)
      << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["output"], Path("w.npy"));
  EXPECT_EQ(json["errors"], Path("e.npy"));
  EXPECT_EQ(json["errors_root_mean_square"], 0.125);
  EXPECT_EQ(json["state"], "RUN_STATE_COMPLETED");
  EXPECT_EQ(
      Run({"model", "3f9a", "--output", Path("w.npy"), "--format", "json"}),
      kExitOk);
  EXPECT_FALSE(nlohmann::json::parse(out_.str()).contains("errors"));
}

TEST_F(Program, ModelSaysWhichPartsAreNoise) {
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy"), "--parts",
                 Path("parts.csv")}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("50.0 %         0.95"));
  EXPECT_THAT(out_.str(), HasSubstr("0.50  take it for noise"));
  std::ifstream file(Path("parts.csv"));
  std::string header, first, second;
  std::getline(file, header);
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(header, "part,explained,reliability,noise");
  EXPECT_EQ(first, "1,0.5,0.94999999999999996,0");
  EXPECT_EQ(second, "2,0.25,0.5,1");
}

TEST_F(Program, ChooseShowsEachRankAndTheAdvice) {
  EXPECT_EQ(Run({"choose", "3f9a", "--rank", "2:4", "--seeds", "4", "--output",
                 Path("choice.csv")}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("comparing ranks: 50 %"));
  EXPECT_THAT(out_.str(), HasSubstr("3 *"));
  EXPECT_THAT(out_.str(), HasSubstr("3 parts are stable; more are noise."));
  std::ifstream file(Path("choice.csv"));
  const std::string csv((std::istreambuf_iterator<char>(file)),
                        std::istreambuf_iterator<char>());
  EXPECT_EQ(csv,
            "rank,stability,stable_parts,held_out,explained\n2,1,2,1,0.75\n"
            "3,1,3,1,0.75\n4,0.5,3,1,0.75\n");
}

TEST_F(Program, ChooseAsJsonIsOneReplyALine) {
  EXPECT_EQ(Run({"choose", "3f9a", "--rank", "3", "--format", "json"}),
            kExitOk);
  std::istringstream lines(out_.str());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);)
    objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["progress"], 0.5);
  EXPECT_EQ(objects[1]["facts"]["stable_parts"], 3);
  EXPECT_EQ(objects[2]["choice"]["rank"], 3);
}

TEST_F(Program, ChooseShowsTheCoherenceInPublicText) {
  analyst().model = ApplesAndFigs();
  analyst().names = {"cat", "dog", "fish", "a", "b", "c"};
  std::ofstream(Path("docs.mtx"))
      << "%%MatrixMarket matrix coordinate pattern general\n"
         "3 2 4\n1 1\n2 1\n1 2\n3 2\n";
  std::ofstream(Path("words")) << "cat\ndog\nfish\n";
  std::ofstream(Path("vectors")) << "cat 1 0\ndog 3 4\nfish 0 1\n";
  const std::vector<std::string> choose = {"choose",
                                           "3f9a",
                                           "--rank",
                                           "2:3",
                                           "--reference",
                                           Path("docs.mtx"),
                                           "--reference-features",
                                           Path("words"),
                                           "--word-vectors",
                                           Path("vectors"),
                                           "--output",
                                           Path("choice.csv")};
  ASSERT_EQ(Run(choose), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("UMass"), HasSubstr("NPMI"),
                                HasSubstr("TC-W2V is largest at 2 parts "
                                          "(0.600).")));
  std::ifstream file(Path("choice.csv"));
  std::string header, second;
  std::getline(file, header);
  std::getline(file, second);
  EXPECT_EQ(header,
            "rank,stability,stable_parts,held_out,explained,umass,npmi,"
            "word2vec");
  EXPECT_THAT(second, ::testing::StartsWith("2,1,2,2.5,0.75,0,0,0.6"));
  std::vector<std::string> as_json = choose;
  as_json.insert(as_json.end(), {"--format", "json"});
  ASSERT_EQ(Run(as_json), kExitOk) << err_.str();
  std::istringstream lines(out_.str());
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    EXPECT_FALSE(last.contains("words"));
  }
  EXPECT_EQ(last["coherence"][0]["rank"], 2);
  EXPECT_NEAR(last["coherence"][0]["word2vec"].get<double>(), 0.6, 1e-6);
  analyst().knows_words = false;
  EXPECT_NE(Run(choose), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[coherence-unavailable]"));
  analyst().names.clear();
  EXPECT_NE(Run(choose), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[features-unnamed]"));
}

TEST_F(Program, ShowSaysWhatIsExplained) {
  ASSERT_EQ(Run({"show", "3f9a"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("explains")));
  analyst().runs[0].set_explained(0.887);
  ASSERT_EQ(Run({"show", "3f9a"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("89 % of people's squared length, estimated from the "
                        "release"));
}

TEST_F(Program, ChooseRefusesRanksThatAreNone) {
  for (const char* ranks : {"0:3", "5:4", "1:65", "4:257", "a", "1:2:3", ":"}) {
    EXPECT_EQ(Run({"choose", "3f9a", "--rank", ranks}), kExitUsage) << ranks;
    EXPECT_THAT(err_.str(), HasSubstr("[ranks-out-of-range]"));
  }
}

TEST_F(Program, TheErrorsNeverReplaceTheModel) {
  std::filesystem::create_directories(Path("models"));
  std::filesystem::create_directory_symlink(Path("models"), Path("link"));
  for (const char* errors :
       {"models/w.npy", "models/../models/./w.npy", "link/w.npy"}) {
    EXPECT_EQ(Run({"model", "3f9a", "--output", Path("models/w.npy"),
                   "--errors", Path(errors)}),
              kExitUsage)
        << errors;
    EXPECT_THAT(err_.str(), HasSubstr("[outputs-equal]"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(Path("models")));
}

TEST_F(Program, AFailedRunIsExitCodeNineAndSaysWhy) {
  v1::Run& run = analyst().runs[0];
  run.set_state(v1::RUN_STATE_FAILED);
  run.set_error("The disk is full.");
  run.set_error_code("store-full");
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitRunFailed);
  EXPECT_THAT(err_.str(), HasSubstr("The disk is full. [store-full]"));
}

TEST_F(Program, WatchReconnectsWithItsCursorAndRepeatsNothing) {
  analyst().after_event = [](int attempt, std::uint64_t sent) {
    return attempt <= 2 && sent == 1
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost")
               : grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(analyst().watch_cursors, ElementsAre(0, 1, 2));
  for (const char* round : {"round 1/3", "round 2/3", "round 3/3"}) {
    const std::size_t first = out_.str().find(round);
    ASSERT_NE(first, std::string::npos) << round;
    EXPECT_EQ(out_.str().find(round, first + 1), std::string::npos) << round;
  }
  EXPECT_THAT(err_.str(), HasSubstr("trying again"));
}

TEST_F(Program, HowFarAFitIsIsForTerminals) {
  v1::RunEvent learning = analyst().events.front();
  learning.set_learning(0.409);
  analyst().events.insert(analyst().events.begin() + 1, learning);
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("fitting")));
  EXPECT_EQ(Run({"watch", "3f9a", "--format", "json"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("learning")));
  environment_.terminal_width = 80;
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("fitting 40 %"));
}

TEST_F(Program, WatchGivesUpAfterAWhileWithExitCodeFive) {
  analyst().after_event = [](int, std::uint64_t) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitUnreachable);
  // Pauses of 1, 2, 4, 4, 4, 4, 4 ms make 23, the first sum of 20 or more.
  EXPECT_EQ(analyst().watch_cursors.size(), 8u);
}

TEST_F(Program, WatchDoesNotRetryARefusal) {
  analyst().after_event = [](int, std::uint64_t) {
    return ToGrpc(Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                          "Not yours."));
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitDenied);
  EXPECT_EQ(analyst().watch_cursors.size(), 1u);
}

TEST_F(Program, AStreamThatEndsBeforeTheRunIsWatchedAgain) {
  analyst().runs[0].set_state(v1::RUN_STATE_RUNNING);
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitUnreachable);
  EXPECT_GT(analyst().watch_cursors.size(), 1u);
}

TEST_F(Program, CtrlCLeavesTheRunGoingAndSaysSo) {
  // The second event never comes: only the signal ends the watch.
  // The handler may outlive this function, so it holds its own share.
  std::promise<void> ended;
  const std::shared_future<void> until = ended.get_future().share();
  analyst().after_event = [until](int, std::uint64_t sent) {
    if (sent == 1) {
      kill(getpid(), SIGINT);
      until.wait();
    }
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr("run 3f9a01234567 continues"));
  EXPECT_THAT(analyst().cancelled, IsEmpty());
  ended.set_value();
}

TEST_F(Program, CtrlCEndsAPauseBetweenAttempts) {
  environment_.retry.first_pause = absl::Hours(1);
  environment_.retry.give_up_after = absl::Hours(2);
  analyst().after_event = [](int, std::uint64_t) {
    kill(getpid(), SIGINT);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitInterrupted);
}

// Run ids.

TEST_F(Program, AUniquePrefixNamesARun) {
  EXPECT_EQ(Run({"cancel", "3F9A"}), kExitOk);
  EXPECT_EQ(analyst().cancelled, kRunId);
  EXPECT_EQ(out_.str(), "run 3f9a01234567 is cancelling.\n");
}

TEST_F(Program, ForgetDeletesARunUnderATraceOfTheCommandsOwn) {
  EXPECT_EQ(Run({"forget", "3f9a"}), kExitOk);
  EXPECT_EQ(analyst().forgotten, kRunId);
  EXPECT_EQ(out_.str(),
            "run 3f9a01234567 is deleted; its charges stay in both ledgers "
            "(30).\n");
  EXPECT_TRUE(ParseTraceparent(analyst().traceparent).has_value())
      << analyst().traceparent;
}

TEST_F(Program, AnAmbiguousOrUnknownOrMalformedPrefixIsRefused) {
  std::string other = kRunId;
  other.back() = '0';
  analyst().runs.push_back(SampleRun(other));
  EXPECT_EQ(Run({"show", "3f9a"}), kExitUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr(other), HasSubstr(kRunId),
                                HasSubstr("[run-id-ambiguous]")));
  EXPECT_EQ(Run({"show", kRunId}), kExitOk);
  EXPECT_EQ(Run({"show", "00"}), kExitNotFound);
  EXPECT_EQ(Run({"show", "xyz"}), kExitUsage);
  EXPECT_EQ(Run({"show", std::string(33, 'a')}), kExitUsage);
}

// The model.

TEST_F(Program, ModelWritesTheFileThatItsNameAsksFor) {
  analyst().model << 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12;
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy")}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("W, 6 x 2, after 3 rounds"));
  EXPECT_EQ(*ReadMatrixFile(Path("w.npy")), analyst().model);
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.csv")}), kExitOk);
  EXPECT_EQ(*ReadMatrixFile(Path("w.csv")), analyst().model);
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.mtx")}), kExitOk);
  EXPECT_EQ(Run({"model", "3f9a", "-o", Path("w.png"), "--shape", "2x3"}),
            kExitOk);
  EXPECT_TRUE(std::filesystem::exists(Path("w.png")));
}

TEST_F(Program, ALargeModelArrivesInManyChunks) {
  analyst().model = Eigen::MatrixXd::Random(10'285, 30).cwiseAbs();
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy")}), kExitOk);
  EXPECT_EQ(*ReadMatrixFile(Path("w.npy")), analyst().model);
}

TEST_F(Program, ModelRefusesWhatItCannotWrite) {
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.txt")}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[file-type-unknown]"));
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.png")}), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("has 6 entries"), HasSubstr("[shape-mismatch]")));
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy"), "--shape", "2x3"}),
            kExitUsage);
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("no/w.npy")}),
            kExitNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

class Receipts : public Program {
 protected:
  Receipts() {
    for (std::uint32_t round = 1; round <= 3; ++round) {
      v1::Receipt receipt;
      receipt.set_sequence(4 + round);
      receipt.set_round(round);
      receipt.set_row_hash(std::string(32, 'h'));
      Sign(key_, &receipt);
      analyst().receipts.push_back(receipt);
    }
    std::ofstream(key_file_) << PemOf(key_.public_key());
  }
  int Export() { return Run({"receipts", "export", "--output", file_}); }
  int Verify() {
    return Run({"receipts", "verify", file_, "--key", key_file_});
  }

  const SigningKey key_ = SigningKey::Generate();
  const std::string file_ = (directory_ / "receipts.jsonl").string();
  const std::string key_file_ = (directory_ / "receipt.pub").string();
};

TEST_F(Receipts, AreExportedAndVerifiedWithoutAServer) {
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_EQ(Verify(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("all 3 receipts are signed"));
}

// The mark is the curator's word like the rest: it is said, and it is signed.
TEST_F(Receipts, OfAVoidGuaranteeSaySinceWhen) {
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("VOID")));
  analyst().receipts[1].set_void_since(1'700'000'000);
  Sign(key_, &analyst().receipts[1]);
  const std::string said = "1 of them are of a population whose guarantee is " +
                           VoidText(1'700'000'000);
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(said));
  EXPECT_EQ(Verify(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("all 3 receipts are signed"));
  EXPECT_THAT(out_.str(), HasSubstr(said));
  ASSERT_EQ(Run({"receipts", "verify", file_, "--key", key_file_, "--format",
                 "json"}),
            kExitOk);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["void_guarantees"], "1");
  EXPECT_EQ(json["void_since"], "1700000000");
  // Another time, a mark without its signature, a signature without its mark,
  // the mark of another receipt.
  const v1::Receipt whole = analyst().receipts[1];
  const std::function<void(v1::Receipt*)> tampers[] = {
      [](v1::Receipt* one) { one->set_void_since(1'800'000'000); },
      [](v1::Receipt* one) { one->clear_void_signature(); },
      [](v1::Receipt* one) { one->clear_void_since(); },
      [&](v1::Receipt* one) {
        v1::Receipt other = analyst().receipts[2];
        other.set_void_since(one->void_since());
        Sign(key_, &other);
        one->set_void_signature(other.void_signature());
      }};
  for (const auto& tamper : tampers) {
    analyst().receipts[1] = whole;
    tamper(&analyst().receipts[1]);
    ASSERT_EQ(Export(), kExitOk) << err_.str();
    EXPECT_NE(Verify(), kExitOk);
    EXPECT_THAT(err_.str(), HasSubstr("[receipt-invalid]"));
  }
}

TEST_F(Receipts, OfAnUnknownDataSetReplaceNothing) {
  analyst().receipts.clear();
  std::ofstream(file_) << "kept";
  EXPECT_EQ(Run({"receipts", "export", "--dataset", "nope", "--output", file_}),
            kExitNotFound);
  EXPECT_THAT(err_.str(), HasSubstr("[dataset-unknown]"));
  EXPECT_EQ(std::filesystem::file_size(file_), 4u);
}

TEST_F(Receipts, OfOneRunAreFoundByTheFirstDigitsOfItsId) {
  analyst().receipts[1].set_run_id(kRunId);
  ASSERT_EQ(
      Run({"receipts", "export", "--run", std::string(kRunId).substr(0, 8),
           "--output", file_, "--format", "json"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["receipts"], "1");
  EXPECT_EQ(Run({"receipts", "export", "--run", "ffffffff", "--output", file_}),
            kExitNotFound);
}

TEST_F(Receipts, ThatAreNoneAreNotVerified) {
  std::ofstream(file_) << "";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipts-empty]"));
}

TEST_F(Receipts, AsJsonAreGoodOnlyOnceTheyAreVerified) {
  ASSERT_EQ(Run({"receipts", "export", "--output", file_, "--format", "json"}),
            kExitOk);
  auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["receipts"], "3");
  EXPECT_FALSE(json.contains("ok"));
  EXPECT_FALSE(json.contains("public_key"));
  ASSERT_EQ(Run({"receipts", "verify", file_, "--key", key_file_, "--format",
                 "json"}),
            kExitOk);
  json = nlohmann::json::parse(out_.str());
  EXPECT_TRUE(json["ok"]);
  EXPECT_EQ(json["public_key"].get<std::string>().size(), 64u);
}

TEST_F(Receipts, OfAnotherKeyAreRefused) {
  ASSERT_EQ(Export(), kExitOk);
  std::ofstream(key_file_) << PemOf(SigningKey::Generate().public_key());
  EXPECT_EQ(Verify(), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-key-differs]"));
}

TEST_F(Receipts, ThatWereChangedAreRefused) {
  analyst().receipts[1].set_round(7);
  ASSERT_EQ(Export(), kExitOk);
  EXPECT_EQ(Verify(), kExitDataLoss);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-invalid]"));
}

TEST_F(Receipts, NeedAFileAndAKeyThatAreSuch) {
  EXPECT_EQ(Verify(), kExitNotFound);
  std::ofstream(file_) << "hello\n";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-malformed]"));
  std::ofstream(key_file_) << "hello\n";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-key-malformed]"));
}

}  // namespace
}  // namespace dpnmf::cli
