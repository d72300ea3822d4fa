// Commands after a run: refit, export, objective, model and choose.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/exit_code.h"
#include "common/files/npz.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

// Messages that GetRelease sends for a run on two features.
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
  EXPECT_THAT(out_.str(), HasSubstr("0.50  probably noise"));
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
  analyst().sends_words = false;
  EXPECT_NE(Run(choose), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("[model-malformed]"));
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

}  // namespace
}  // namespace dpnmf::cli
