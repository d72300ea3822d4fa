#include "lab/complete/completion.h"

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

CompletionOptions OptionsForFit() {
  return {.weights = {.4, .3, .3},
          .people_clusters = 3,
          .item_clusters = 2,
          .rounds = 10};
}

Completion FittedOf(const CompletionInput& input,
                    const CompletionOptions& options = OptionsForFit()) {
  Draws draws(11);
  return FitCompletion(input, options, &draws)->completion;
}

void ExpectSame(const Completion& a, const Completion& b) {
  EXPECT_EQ(a.people.ids, b.people.ids);
  EXPECT_EQ(a.people.labels, b.people.labels);
  EXPECT_EQ(a.people.clusters.centroids, b.people.clusters.centroids);
  EXPECT_EQ(a.people.clusters.members, b.people.clusters.members);
  EXPECT_EQ(a.factors.u, b.factors.u);
  EXPECT_EQ(a.factors.s, b.factors.s);
  EXPECT_EQ(a.factors.v, b.factors.v);
  EXPECT_EQ(a.ratings.indptr, b.ratings.indptr);
  EXPECT_EQ(a.ratings.indices, b.ratings.indices);
  EXPECT_EQ(a.ratings.values, b.ratings.values);
}

TEST(Completion, ARowUpdateIsAColumnUpdateOfTheTranspose) {
  const CompletionInput input = GeneratedInput(60, 20, 0.3, 1);
  Completion by_rows = FittedOf(FirstPeople(input, 40));
  Completion by_columns = Transposed(by_rows);
  const NewRows later = LaterRows(input, 40, 60);
  Draws draws(2), same(2);
  ASSERT_TRUE(UpdateRows(later, &draws, &by_rows).ok());
  ASSERT_TRUE(UpdateColumns(later, &same, &by_columns).ok());
  ExpectSame(by_rows, Transposed(by_columns));
}

TEST(Completion, AnUpdateFitsTheNewRowsAlone) {
  const CompletionInput input = GeneratedInput(60, 20, 0.3, 3);
  const Completion before = FittedOf(FirstPeople(input, 50));
  Completion after = before;
  Draws draws(4);
  const auto outcome = UpdateRows(LaterRows(input, 50, 60), &draws, &after);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->added, 10);
  EXPECT_EQ(after.factors.s, before.factors.s);
  EXPECT_EQ(after.factors.v, before.factors.v);
  EXPECT_EQ(after.factors.u.topRows(50), before.factors.u);
  EXPECT_EQ(after.ratings.indices, input.ratings.indices);
  EXPECT_EQ(after.ratings.values, input.ratings.values);
  EXPECT_EQ(after.people.ids, input.people);
  for (std::size_t i = 1; i < outcome->objective.size(); ++i)
    EXPECT_LE(outcome->objective[i], outcome->objective[i - 1]);
}

// An update is as good as learning everything at once, on ratings that the
// clusters explain.
TEST(Completion, UpdatedRowsPredictAsWellAsFittedOnes) {
  const CompletionInput input = GeneratedInput(300, 40, 0.3, 5);
  const CompletionInput unseen = GeneratedInput(300, 40, 0.9, 6);
  CompletionOptions options = OptionsForFit();
  options.weights = {1, 0, 0};
  options.rounds = 100;
  Completion updated = FittedOf(FirstPeople(input, 200), options);
  Draws draws(7);
  ASSERT_TRUE(UpdateRows(LaterRows(input, 200, 300), &draws, &updated).ok());
  const double all =
      Measure(input.ratings, unseen.ratings, FittedOf(input, options).Rows())
          .mae;
  const double later =
      Measure(input.ratings, unseen.ratings, updated.Rows()).mae;
  const double mean = Measure(input.ratings, unseen.ratings, [](Index) {
                        return Eigen::VectorXd::Constant(40, 2.3).eval();
                      }).mae;
  EXPECT_LT(all, 0.7 * mean);
  EXPECT_LT(later, all + 0.05);
}

TEST(Completion, PeopleWithoutRatingsAreFilledLater) {
  CompletionInput input = GeneratedInput(30, 20, 0.4, 8);
  const NewRows later = LaterRows(input, 29, 30);
  input.ratings = RowRange(input.ratings, 0, 29);
  input.ratings.EndRow();
  Draws draws(9);
  const auto fit = FitCompletion(input, OptionsForFit(), &draws);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->cold_people.by_weight, 1);
  Completion completion = fit->completion;
  const auto outcome = UpdateRows(later, &draws, &completion);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->added, 0);
  EXPECT_EQ(outcome->filled, 1);
  EXPECT_EQ(completion.ratings.rows(), 30);
  EXPECT_FALSE(completion.ratings.IsEmptyRow(29));
  EXPECT_EQ(ReasonCode(UpdateRows(later, &draws, &completion).status()),
            "complete-row-known");
}

TEST(Completion, NewPeopleWithoutRatingsGetTheirClusterOrThePrior) {
  const CompletionInput input = GeneratedInput(30, 20, 0.4, 10);
  Completion completion = FittedOf(FirstPeople(input, 28));
  NewRows later = LaterRows(input, 28, 30);
  later.ratings = SparseRatings{.columns = 20, .indptr = {0, 0, 0}};
  Draws draws(1);
  const auto known = UpdateRows(later, &draws, &completion);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->cold.by_weight, 2);
  for (const Index row : {28, 29})
    EXPECT_EQ(completion.factors.u.row(row).sum(), 1);
  later.ids = {"x", "y"};
  later.auxiliary = {};
  const auto unknown = UpdateRows(later, &draws, &completion);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->unlabelled, 2);
  EXPECT_EQ(unknown->cold.by_prior, 2);
  const RowMatrix mean = completion.factors.u.topRows(28).colwise().mean();
  EXPECT_LT((completion.factors.u.row(31) - mean).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Completion, LabelsThatAreGivenAreTheClusters) {
  CompletionInput input = GeneratedInput(30, 20, 0.4, 12);
  input.of_people = {};
  for (int i = 0; i < 30; ++i)
    input.of_people.labels.push_back(i % 3 == 0 ? "f" : i % 3 == 1 ? "m" : "u");
  input.of_items = {};
  Draws draws(13);
  CompletionOptions options = OptionsForFit();
  options.weights = {.6, .4, 0};
  options.item_clusters = 10;  // no clusters of items at weight 0: a rank
  const auto fit = FitCompletion(input, options, &draws);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->completion.people.label_words,
            (std::vector<std::string>{"f", "m", "u"}));
  EXPECT_EQ(fit->completion.people.labels[5], 2);
  EXPECT_EQ(fit->completion.factors.v.cols(), 10);
  options.people_clusters = 4;
  EXPECT_EQ(ReasonCode(FitCompletion(input, options, &draws).status()),
            "complete-labels");
}

TEST(Completion, BadInputIsRefused) {
  const CompletionInput input = GeneratedInput(30, 20, 0.4, 14);
  const auto code = [](const CompletionInput& bad,
                       const CompletionOptions& options) {
    Draws draws(1);
    return ReasonCode(FitCompletion(bad, options, &draws).status());
  };
  CompletionOptions options = OptionsForFit();
  options.weights = {.5, .5, .5};
  EXPECT_EQ(code(input, options), "complete-weights");
  options = OptionsForFit();
  options.people_clusters = 31;
  EXPECT_EQ(code(input, options), "complete-clusters");
  options.people_clusters = 0;
  EXPECT_EQ(code(input, options), "complete-clusters");
  CompletionInput bad = input;
  bad.of_items = {};
  EXPECT_EQ(code(bad, OptionsForFit()), "complete-clusters-missing");
  bad = input;
  bad.ratings.values[3] = -1;
  EXPECT_EQ(code(bad, OptionsForFit()), "complete-ratings-negative");
}

TEST(Completion, AnUpdateNeedsTheFeaturesOfTheFit) {
  const CompletionInput input = GeneratedInput(30, 20, 0.4, 15);
  Completion completion = FittedOf(FirstPeople(input, 25));
  NewRows later = LaterRows(input, 25, 30);
  Draws draws(1);
  for (const char* name : {"other", "a"}) {
    NewRows bad = later;
    bad.auxiliary.feature_names[1] = name;
    if (std::string_view(name) == "a") bad.auxiliary.feature_names[0] = "z";
    EXPECT_EQ(ReasonCode(UpdateRows(bad, &draws, &completion).status()),
              "complete-features-differ");
  }
  // The order of the columns does not matter.
  Completion same = completion;
  NewRows turned = later;
  turned.auxiliary.feature_names = {"noise", "b", "a"};
  turned.auxiliary.features = later.auxiliary.features.rowwise().reverse();
  Draws first(2), second(2);
  ASSERT_TRUE(UpdateRows(later, &first, &completion).ok());
  ASSERT_TRUE(UpdateRows(turned, &second, &same).ok());
  ExpectSame(same, completion);
}

// The people of the fit have one taste, those who come another: new rows cannot
// say it with the old S and V.
TEST(Completion, SaysWhenARefitPays) {
  CompletionInput input = GeneratedInput(400, 40, 0.5, 16);
  CompletionOptions options = OptionsForFit();
  options.weights = {1, 0, 0};
  for (Index i = 200; i < 400; ++i) {
    for (std::size_t at = input.ratings.Begin(i);
         at < input.ratings.Begin(i + 1); ++at)
      input.ratings.values[at] = input.ratings.indices[at] < 20 ? 5 : 1;
  }
  const Completion fitted = FittedOf(FirstPeople(input, 200), options);
  Draws draws(17);
  const auto other = AdviseRefit(LaterRows(input, 200, 400), &draws, fitted);
  ASSERT_TRUE(other.ok());
  EXPECT_GT(other->judged, 300);
  EXPECT_TRUE(other->pays());
  EXPECT_LT(other->refit_mae, other->update_mae);
  // Ten more of the same taste: nothing to gain.
  const CompletionInput alike = GeneratedInput(210, 40, 0.5, 18);
  const Completion whole = FittedOf(FirstPeople(alike, 200), options);
  Draws more(19);
  const auto same = AdviseRefit(LaterRows(alike, 200, 210), &more, whole);
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->pays());
}

}  // namespace
}  // namespace dpnmf::curator::lab
