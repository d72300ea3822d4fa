// Parts of a model, and people under it: top, compare, transform and
// synthesise.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/files/model_file.h"
#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Parts and people.

constexpr char kOtherRun[] = "7c210123456789abcdef0123456789ab";

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

TEST_F(Program, TopJudgesPartsAsModelDoes) {
  analyst().model = ApplesAndFigs();
  EXPECT_EQ(Run({"top", "3f9a", "--words", "1", "--judge"}), kExitOk)
      << err_.str();
  EXPECT_EQ(out_.str(),
            "part  reliability          largest entries\n"
            "   1  0.95 reliable        #1 1.00\n"
            "   2  0.50 probably noise  #4 1.00\n");
}

TEST_F(Program, ACommandWithoutItsRunSaysHowItIsGiven) {
  EXPECT_EQ(Run({"top"}), kExitUsage);
  EXPECT_EQ(err_.str(),
            "dpnmf: Give the id of the run, or its first digits: dpnmf top "
            "RUN; see 'dpnmf top --help'. [usage]\n");
  EXPECT_EQ(Run({"train", "--dataset", "digits", "--epsilon", "1"}),
            kExitUsage);
  EXPECT_NE(err_.str().find("see 'dpnmf train --help'."), std::string::npos);
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
  const auto transform =
      [&](const std::string& text,
          std::vector<std::string> flags = {"--format", "json"}) {
        std::ofstream(Path("new.csv")) << text;
        std::vector<std::string> arguments = {"transform", "3f9a",
                                              "--input",   Path("new.csv"),
                                              "--output",  Path("H.npy")};
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
  EXPECT_THAT(report["left_out"], ElementsAre("weight"));
  ASSERT_EQ(
      transform("feature,p1,p2\nsize,1,0\nage,0,1\n", {"--users", "columns"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), expected);
  // In capitals, as R writes a table, with blanks, in another file of text.
  for (const char* text :
       {"SIZE,AGE\n1,0\n0,1\n", "\"size\",\"age\"\n\"p0\",1,0\n\"p1\",0,1\n",
        " size , age\n1,0\n0,1\n"}) {
    ASSERT_EQ(transform(text), kExitOk) << text << err_.str();
    EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), expected) << text;
    EXPECT_TRUE(nlohmann::json::parse(out_.str())["by_name"]) << text;
  }
  // The file has no names: the order counts, and the program says so.
  ASSERT_EQ(transform("1,0\n0,3\n", {"--format", "text"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(),
              StartsWith("the file has no names: the 2 features of the file "
                         "are taken in the run's order\n"));
  EXPECT_EQ(*ReadMatrixFile(Path("H.npy")), Eigen::MatrixXd::Identity(2, 2));

  // No name of the run: never by position.
  EXPECT_EQ(transform("alter,groesse\n0,1\n1,0\n"), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("'alter', 'groesse'"), HasSubstr("'age', 'size'"),
                    HasSubstr("features-mismatch")));
  EXPECT_THAT(err_.str(), HasSubstr("--input `"));
  EXPECT_EQ(transform("age,weight\n1,2\n"), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("'size'"), HasSubstr("features-mismatch")));
  EXPECT_EQ(transform("age,size,age\n1,2,3\n"), kExitUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("twice"), HasSubstr("features-mismatch")));

  ASSERT_EQ(transform("weight,Size,age\n9,1,0\n", {"--format", "text"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("2 of 2 features were found by name; "
                                     "spelled differently: 'size (Size)'; left "
                                     "out: 'weight'\n"));
  analyst().names.clear();
  ASSERT_EQ(transform("b,a\n0,1\n", {"--format", "text"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("the run's features have no names: the 2 "
                                     "features of the file are taken in the "
                                     "run's order\n"));
}

TEST_F(Program, TransformWritesNamesOfPartsAndPeople) {
  analyst().model = Eigen::MatrixXd::Identity(2, 2);
  analyst().model_dataset = SampleDataset("digits");
  analyst().model_dataset->set_features(2);
  analyst().names = {"age", "size"};
  const auto written = [&](const std::string& text, const char* users) {
    std::ofstream(Path("new.csv")) << text;
    EXPECT_EQ(Run({"transform", "3f9a", "--input", Path("new.csv"), "--output",
                   Path("H.csv"), "--users", users}),
              kExitOk)
        << text << err_.str();
    std::ifstream file(Path("H.csv"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(written("age,size\n0,1\n1,0\n", "rows"),
            "part_1,part_2\n0,1\n1,0\n");
  EXPECT_EQ(written("name,age,size\nann,0,1\n\"b, c\",1,0\n", "rows"),
            "person,part_1,part_2\nann,0,1\n\"b, c\",1,0\n");
  EXPECT_EQ(written("age,size,patient_id\n0,1,77\n1,0,88\n", "rows"),
            "person,part_1,part_2\n77,0,1\n88,1,0\n");
  EXPECT_EQ(written("\"age\",\"size\"\n\"p0\",0,1\n\"p1\",1,0\n", "rows"),
            "person,part_1,part_2\np0,0,1\np1,1,0\n");
  EXPECT_EQ(written("feature,ann,bob\nage,0,1\nsize,1,0\n", "columns"),
            "part,ann,bob\npart_1,0,1\npart_2,1,0\n");
  EXPECT_EQ(written("0,1,1\n1,0,0\n", "columns"),
            "part,person_1,person_2,person_3\npart_1,0,1,1\npart_2,1,0,0\n");
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
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("line 1, column 6"),
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

}  // namespace
}  // namespace dpnmf::cli
