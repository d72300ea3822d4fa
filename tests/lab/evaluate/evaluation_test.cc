#include "lab/evaluate/evaluation.h"

#include <algorithm>
#include <filesystem>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/evaluate/prior_files.h"
#include "lab/evaluate/report.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/lab/evaluate/evaluate_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest()
      : options_(SmallOptions(scratch_.Write(
            "data.csv", CsvOf(GeneratedColumns(8, 120, 3, 1))))) {}

  Evaluation Run() {
    auto evaluation = Evaluate(options_, {});
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return *std::move(evaluation);
  }

  std::string Refused() { return ReasonCode(Evaluate(options_, {}).status()); }

  Scratch scratch_;
  EvaluateOptions options_;
};

std::vector<std::string> NamesOf(const std::vector<Method>& methods) {
  std::vector<std::string> names;
  for (const Method method : methods) names.emplace_back(NameOf(method));
  return names;
}

// Figures that do not change with the clock.
std::vector<double> Objectives(const Evaluation& evaluation) {
  std::vector<double> objectives;
  for (const Result& result : evaluation.results) {
    objectives.push_back(result.objective);
    for (const CurvePoint& point : result.curve)
      objectives.push_back(point.objective);
  }
  return objectives;
}

TEST_F(EvaluationTest, RunsEverySettingAndRepeatOnce) {
  const Evaluation evaluation = Run();
  EXPECT_TRUE(evaluation.complete());
  // Two repeats of: none; moments and aimed, two epsilons; statistics, gradient
  // and paper, two epsilons and two rounds each. The mean is the same each
  // time, and runs once.
  EXPECT_EQ(evaluation.results.size(), 2u * (1 + 2 + 2 + 4 + 4 + 4) + 1);
  const std::vector<Summary> summaries = Summarise(evaluation);
  EXPECT_EQ(summaries.size(), 18u);
  for (const Summary& summary : summaries) {
    EXPECT_EQ(summary.repeats,
              summary.setting.method == Method::kMean ? 1u : 2u);
    EXPECT_LE(summary.objective.least, summary.objective.median);
    EXPECT_LE(summary.objective.median, summary.objective.largest);
  }
}

TEST_F(EvaluationTest, TheSameSeedGivesTheSameFigures) {
  const std::vector<double> first = Objectives(Run());
  EXPECT_EQ(Objectives(Run()), first);
  options_.seed = 2;
  EXPECT_NE(Objectives(Run()), first);
}

TEST_F(EvaluationTest, ATrialDoesNotDependOnWhatElseRuns) {
  const Evaluation all = Run();
  options_.mechanisms = {"statistics"};
  options_.epsilon = {20};
  options_.rounds = {4};
  options_.repeats = 1;
  const Evaluation alone = Run();
  ASSERT_EQ(alone.results.size(), 1u);
  const auto same = std::find_if(
      all.results.begin(), all.results.end(), [&](const Result& result) {
        return result.setting == alone.results[0].setting && result.repeat == 1;
      });
  ASSERT_NE(same, all.results.end());
  EXPECT_EQ(same->objective, alone.results[0].objective);
}

TEST_F(EvaluationTest, AStartMadeOfTheDataNeedsPublicData) {
  options_.mechanisms = {"paper-nndsvd"};
  EXPECT_EQ(Refused(), "evaluate-public-missing");
  options_.is_public = true;
  EXPECT_THAT(NamesOf(MethodsOf(options_)),
              ElementsAre("paper-nndsvd", "nndsvd"));
  options_.repeats = 3;
  // W_0 alone is the same each time, and runs once.
  EXPECT_EQ(Run().results.size(), 3u * 4 + 1);
}

TEST_F(EvaluationTest, AllLeavesOutWhatIsNotForPrivateData) {
  EXPECT_THAT(NamesOf(MethodsOf(options_)),
              ElementsAre("none", "mean", "moments", "aimed", "statistics",
                          "gradient", "paper"));
  options_.is_public = true;
  EXPECT_EQ(MethodsOf(options_).size(), 9u);
}

TEST_F(EvaluationTest, AutoIsWhatAnAnalystGets) {
  options_.mechanisms = {"auto"};
  EXPECT_THAT(NamesOf(MethodsOf(options_)), ElementsAre("moments", "aimed"));
  // Only the method chosen for the numbers of people and features is asked for.
  const auto asked = [&](Method method, double epsilon, std::uint64_t users) {
    return IsAsked(options_, method, epsilon, users, 64);
  };
  EXPECT_TRUE(asked(Method::kAimed, 1, 1000));
  EXPECT_FALSE(asked(Method::kMoments, 1, 1000));
  EXPECT_TRUE(asked(Method::kMoments, 16, 1'000'000));
  EXPECT_FALSE(asked(Method::kAimed, 16, 1'000'000));
  const Evaluation evaluation = Run();
  ASSERT_EQ(evaluation.results.size(),
            options_.epsilon.size() * options_.repeats);
  EXPECT_EQ(evaluation.results[0].setting.method, Method::kAimed);
  options_.mechanisms = {"auto", "moments"};
  EXPECT_TRUE(asked(Method::kMoments, 1, 1000));
  options_.mechanisms = {"auto"};
  options_.outliers = OutlierChoice::kOn;
  EXPECT_THAT(NamesOf(MethodsOf(options_)), ElementsAre("statistics"));
}

TEST_F(EvaluationTest, RefusesWhatIsOutOfRange) {
  const auto refused = [&](auto change) {
    const EvaluateOptions kept = options_;
    change(&options_);
    const std::string code = Refused();
    options_ = kept;
    return code;
  };
  EXPECT_EQ(refused([](auto* o) {
              o->epsilon = {1, 0};
            }),
            "epsilon-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->epsilon = {kNotMeasured}; }),
            "epsilon-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->delta = 1; }), "delta-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->rank = 9; }), "rank-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->rank = 0; }), "rank-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->rounds = {0}; }), "rounds-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->mechanisms = {"magic"}; }),
            "mechanism-unknown");
  EXPECT_EQ(refused([](auto* o) { o->lambda = 0.1; }), "outliers-off");
  EXPECT_EQ(refused([](auto* o) {
              o->outliers = OutlierChoice::kOn;
              o->lambda = -1;
            }),
            "lambda-out-of-range");
  EXPECT_EQ(refused([](auto* o) {
              o->outliers = OutlierChoice::kOn;
              o->outlier_bound = 0;
            }),
            "outlier-bound-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->repeats = 0; }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->threads = 0; }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(refused([](auto* o) { o->image_width = 3; }),
            "evaluate-option-out-of-range");
}

// Pictures 16 wide and 6 high.
TEST(LoadOrder, TakesPicturesByRowsAndByColumns) {
  EXPECT_EQ(LoadOrder("", 16, /*by_columns=*/false, 96).value()->width, 16u);
  EXPECT_EQ(LoadOrder("", 16, /*by_columns=*/true, 96).value()->width, 6u);
  EXPECT_EQ(ReasonCode(LoadOrder("", 7, /*by_columns=*/true, 96).status()),
            "image-width-invalid");
}

TEST_F(EvaluationTest, TheVocabularyNamesEveryFeature) {
  options_.vocabulary = scratch_.Write("words.txt", "a\nb\nc\n");
  EXPECT_EQ(Refused(), "features-mismatch");
  options_.vocabulary = scratch_.Write("words.txt", "a\nb\nc\nd\ne\nf\ng\nh\n");
  options_.mechanisms = {"none"};
  const Evaluation evaluation = Run();
  EXPECT_EQ(evaluation.results[0].topics.size(), 3u);
  EXPECT_EQ(evaluation.results[0].npmi, evaluation.results[0].npmi);
}

TEST_F(EvaluationTest, SavesEveryModel) {
  options_.save_models = scratch_.path() + "/models";
  options_.mechanisms = {"none", "moments"};
  options_.repeats = 1;
  Run();
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(options_.save_models)) {
    names.push_back(entry.path().filename());
    auto model = LoadMatrix(entry.path(), /*users_are_rows=*/false);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->features, 8u);
    EXPECT_EQ(model->users, 3u);
  }
  EXPECT_THAT(names, UnorderedElementsAre("W-none-repeat1.npy",
                                          "W-moments-epsilon2-repeat1.npy",
                                          "W-moments-epsilon20-repeat1.npy"));
}

TEST_F(EvaluationTest, StoppedItReturnsWhatIsDone) {
  std::size_t done = 0;
  EvaluateHooks hooks;
  hooks.after_trial = [&](const Evaluation& evaluation) {
    done = evaluation.results.size();
    return absl::OkStatus();
  };
  hooks.stop = [&] { return done >= 4; };
  const auto evaluation = Evaluate(options_, hooks);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->results.size(), 4u);
  EXPECT_FALSE(evaluation->complete());
}

TEST_F(EvaluationTest, WithBothOutlierChoicesTheExperimentRunsOnTwoData) {
  options_.outliers = OutlierChoice::kBoth;
  options_.outlier_experiment = true;
  options_.mechanisms = {"moments", "statistics"};
  options_.epsilon = {20};
  options_.rounds = {2};
  options_.repeats = 1;
  const Evaluation evaluation = Run();
  std::vector<std::string> seen;
  for (const Result& result : evaluation.results) {
    seen.push_back(absl::StrCat(std::string(NameOf(result.setting.method)),
                                result.setting.outliers ? " on" : " off",
                                result.setting.distorted ? " distorted" : ""));
  }
  EXPECT_THAT(seen,
              ElementsAre("moments off", "statistics off", "statistics on",
                          "moments off distorted", "statistics off distorted",
                          "statistics on distorted"));
  EXPECT_EQ(evaluation.lambda, 2 / std::sqrt(8.0));
}

LoadedMatrix OnesOf(std::uint64_t features, std::uint64_t users) {
  LoadedMatrix matrix;
  matrix.features = features;
  matrix.users = users;
  matrix.values.assign(features * users, 0.5f);
  matrix.values[0] = 1;
  return matrix;
}

TEST(AddOutliers, SpoilsATenthOfTheUsersAndNobodyElse) {
  constexpr std::uint64_t kFeatures = 1000, kUsers = 95;
  const LoadedMatrix before = OnesOf(kFeatures, kUsers);
  LoadedMatrix after = before;
  AddOutliers(3, &after);
  const auto old_columns = ColumnsOf(before), columns = ColumnsOf(after);
  int distorted = 0;
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    int changed = 0;
    for (std::uint64_t i = 0; i < kFeatures; ++i) {
      EXPECT_GE(columns[n][i], 0);
      EXPECT_LE(columns[n][i], 2);
      changed += columns[n][i] != old_columns[n][i] ? 1 : 0;
    }
    if (changed == 0) continue;
    ++distorted;
    // Binomial(1000, 0.7), ten users: outside 70 with probability below 2e-6
    // a user; with this seed it is inside.
    EXPECT_NEAR(changed, 700, 70) << "seed 3";
  }
  EXPECT_EQ(distorted, 10);
}

TEST(AddOutliers, IsTheSameForDenseAndSparse) {
  const Eigen::MatrixXd v = GeneratedColumns(20, 40, 3, 5);
  LoadedMatrix dense, sparse;
  dense.features = sparse.features = 20;
  dense.users = sparse.users = 40;
  sparse.sparse = true;
  sparse.indptr = {0};
  for (int n = 0; n < 40; ++n) {
    for (int i = 0; i < 20; ++i) {
      const auto value = static_cast<float>(v(i, n));
      dense.values.push_back(value);
      if (value == 0) continue;
      sparse.values.push_back(value);
      sparse.indices.push_back(i);
    }
    sparse.indptr.push_back(static_cast<std::int64_t>(sparse.values.size()));
  }
  AddOutliers(3, &dense);
  AddOutliers(3, &sparse);
  EXPECT_EQ(ColumnsOf(dense), ColumnsOf(sparse));
}

}  // namespace
}  // namespace dpnmf::curator::lab
