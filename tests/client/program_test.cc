// Replies as text and JSON, exit codes, run ids and files of models.
#include <algorithm>
#include <filesystem>
#include <string>

#include "client/files/model_file.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/base/trace.h"
#include "common/wire/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"
#include "tests/common/ratings/sample_model.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  const std::string file = Path("items.npz");
  EXPECT_EQ(Run({"top", "3f9a"}), kExitDataLoss);
  EXPECT_THAT(err_.str(), HasSubstr("[model-malformed]"));
  EXPECT_EQ(Run({"model", "3f9a", "--output", file, "--non-negative"}),
            kExitDataLoss);
  EXPECT_FALSE(std::filesystem::exists(file));
  analyst().non_negative_items = analyst().items;
  ItemModel& model = analyst().non_negative_items->model;
  model.loadings = model.loadings.cwiseAbs() * 0.1;
  model.loadings(7, 1) = 2;
  model.loadings(9, 1) = 1;
  model.loadings(11, 2) = 4;
  model.level = 1;
  analyst().non_negative_items->names[9].clear();
  EXPECT_EQ(Run({"top", "3f9a", "--words", "2"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("Item, number 7 1.00, i9 0.50"),
                                HasSubstr("Item, number 11 1.00")));
  EXPECT_EQ(Run({"top", "3f9a", "--format", "json"}), kExitOk);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["parts"].size(), 2u);
  EXPECT_EQ(Run({"model", "3f9a", "--output", file, "--non-negative"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("3 non-negative factors"));
  EXPECT_EQ(ReadItemModel(file)->model.level, 1);
  EXPECT_EQ(Run({"model", "3f9a", "--output", file, "--both-signs"}), kExitOk)
      << err_.str();
  EXPECT_EQ(ReadItemModel(file)->model.level, 0);
  EXPECT_EQ(Run({"model", "3f9a", "--output", file}), kExitOk) << err_.str();
  EXPECT_EQ(ReadItemModel(file)->model.level, 0);
}

TEST_F(Program, TheSignsOfFactorsAreAskedForOnceAndOfRunsOnRatingsAlone) {
  const std::string file = Path("items.npz");
  EXPECT_EQ(Run({"model", "3f9a", "--output", file, "--both-signs",
                 "--non-negative"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[flags-conflict]"));
  for (const char* flag : {"--both-signs", "--non-negative"}) {
    EXPECT_EQ(Run({"model", "3f9a", "--output", Path("W.npy"), flag}),
              kExitState);
    EXPECT_THAT(err_.str(), HasSubstr("[run-not-ratings]"));
    EXPECT_FALSE(std::filesystem::exists(Path("W.npy")));
  }
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

TEST_F(Program, BudgetWithoutADataSetShowsEachPopulationOnce) {
  *analyst().datasets.add_datasets() = SampleDataset("digits");
  *analyst().datasets.add_datasets() = SampleDataset("faces");
  EXPECT_EQ(Run({"budget"}), kExitOk);
  std::size_t budgets = 0;
  for (std::size_t at = 0;
       (at = out_.str().find("guarantee of the cap", at)) != std::string::npos;
       ++at)
    ++budgets;
  EXPECT_EQ(budgets, 2u) << out_.str();
  EXPECT_EQ(Run({"budget", "--dataset", "digits", "--details"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("MU^2"));
  analyst().budget.set_agree(false);
  EXPECT_EQ(Run({"budget"}), kExitDataLoss);
}

TEST_F(Program, OneBudgetThatCannotBeReadHidesNoOther) {
  // A federation of the first one's people, which the server cannot ask.
  v1::Dataset* const all = analyst().datasets.add_datasets();
  *all = SampleDataset("digits");
  all->set_name("hospitals");
  all->mutable_federation()->set_members(2);
  *analyst().datasets.add_datasets() = SampleDataset("faces");
  analyst().budget_status["hospitals"] =
      ToGrpc(Refusal(absl::StatusCode::kUnavailable, "curator-unreachable",
                     "Curator b is away."));
  EXPECT_EQ(Run({"budget"}), kExitUnreachable);
  EXPECT_EQ(err_.str(),
            "dpnmf: data set 'hospitals': Curator b is away. "
            "[curator-unreachable]\n");
  const std::string::size_type first = out_.str().find("guarantee of the cap");
  EXPECT_NE(out_.str().find("guarantee of the cap", first + 1),
            std::string::npos);
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
  EXPECT_EQ(err_.str(), "dpnmf: Nobody. [unreachable]\n");
  EXPECT_EQ(Run({"datasets", "--format", "json"}), kExitUnreachable);
  EXPECT_EQ(nlohmann::json::parse(err_.str())["error"]["code"], "unreachable");
}

TEST_F(Program, TroubleWithTheOwnCertificateIsExitCodeSix) {
  environment_.connect = [](const ConnectionOptions&)
      -> absl::StatusOr<std::shared_ptr<grpc::Channel>> {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "tls-certificate-invalid", "Expired.");
  };
  EXPECT_EQ(Run({"datasets"}), kExitDenied);
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

TEST_F(Program, ListsAreSearchedAndCut) {
  std::string other = kRunId;
  other.front() = 'a';
  v1::Run run = SampleRun(other);
  run.mutable_specification()->mutable_parameters()->set_dataset("clinic");
  analyst().runs.push_back(run);
  EXPECT_EQ(Run({"runs"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("are shown")));
  EXPECT_EQ(Run({"runs", "--search", "CLINIC afff"}), kExitOk);
  EXPECT_EQ(out_.str(), "0 of 2 are shown.\n");
  EXPECT_EQ(Run({"runs", "--search", " CLINIC af9a "}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("af9a01234567"), Not(HasSubstr("3f9a01234567")),
                    HasSubstr("\n\n1 of 2 are shown.\n")));
  EXPECT_EQ(Run({"runs", "--limit", "1"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("3f9a01234567"), Not(HasSubstr("af9a01234567"))));
  EXPECT_EQ(Run({"runs", "--limit", "2"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("are shown")));
  EXPECT_EQ(Run({"datasets", "--search", "nothing"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("0 of "));
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
              AllOf(HasSubstr("(6 features)"), HasSubstr("[shape-mismatch]")));
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("w.npy"), "--shape", "2x3"}),
            kExitUsage);
  EXPECT_EQ(Run({"model", "3f9a", "--output", Path("no/w.npy")}),
            kExitNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace dpnmf::cli
