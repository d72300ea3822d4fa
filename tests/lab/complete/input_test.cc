#include "lab/complete/input.h"

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompletionFilesTest : public ::testing::Test {
 protected:
  CompletionFilesTest() {
    files_.ratings = scratch_.Write("r", "u2,a,3\nu1,b,0\nu2,c,4.5\n");
  }
  LoadedCompletion Loaded() const { return *LoadCompletion(files_, {}); }
  absl::Status Refused() const { return LoadCompletion(files_, {}).status(); }

  Scratch scratch_;
  CompletionFiles files_;
};

TEST_F(CompletionFilesTest, WithoutListsPeopleAndItemsAreThoseOfTheFiles) {
  files_.test = scratch_.Write("t", "u3,a,1\nu1,d,2\n");
  const LoadedCompletion loaded = Loaded();
  EXPECT_THAT(loaded.input.people, ElementsAre("u2", "u1", "u3"));
  EXPECT_THAT(loaded.input.items, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(loaded.input.ratings.columns, 4);
  EXPECT_THAT(loaded.input.ratings.indptr, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(loaded.input.ratings.indices, ElementsAre(0, 2, 1));
  EXPECT_THAT(loaded.input.ratings.values, ElementsAre(3, 4.5, 0));
  EXPECT_THAT(loaded.test.indptr, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(loaded.test.indices, ElementsAre(3, 0));
  EXPECT_EQ(loaded.scale.low_units, 0);
  EXPECT_EQ(loaded.scale.high_units, 45000);
  EXPECT_THAT(loaded.said, testing::SizeIs(2));
}

TEST_F(CompletionFilesTest, FeaturesNameThePeopleAndTheItems) {
  files_.user_features =
      scratch_.Write("u", "user\tage\tsex\nu1\t20\tf\nu9\t30\tm\nu2\t40\tf\n");
  files_.item_features =
      scratch_.Write("i", "id,name,x\nc,C,1\nb,,2\na,A,3\nz,Z,4\n");
  const LoadedCompletion loaded = Loaded();
  EXPECT_THAT(loaded.input.people, ElementsAre("u1", "u9", "u2"));
  EXPECT_THAT(loaded.input.items, ElementsAre("c", "b", "a", "z"));
  EXPECT_THAT(loaded.input.of_people.feature_names,
              ElementsAre("age", "sex=f", "sex=m"));
  Eigen::MatrixXd expected(3, 3);
  expected << 20, 1, 0, 30, 0, 1, 40, 1, 0;
  EXPECT_EQ(loaded.input.of_people.features, expected);
  EXPECT_THAT(loaded.input.ratings.indptr, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(loaded.input.ratings.indices, ElementsAre(1, 0, 2));
}

TEST_F(CompletionFilesTest, FeaturesAndLabelsMayBeSeparatedBySemicolons) {
  files_.user_features =
      scratch_.Write("u", "user;age;sex\nu1;20;f\nu2;40;\"m, or f\"\n");
  files_.item_labels = scratch_.Write("i", "id;label\na;x\nb;y\nc;x\n");
  const LoadedCompletion loaded = Loaded();
  EXPECT_THAT(loaded.input.of_people.feature_names,
              ElementsAre("age", "sex=f", "sex=m, or f"));
  EXPECT_THAT(loaded.input.of_items.labels, ElementsAre("x", "y", "x"));
}

TEST_F(CompletionFilesTest, FeaturesNeedAHeader) {
  files_.user_features = scratch_.Write("u", "1,20,0\n2,40,1\n");
  EXPECT_EQ(ReasonCode(Refused()), "input-malformed");
  EXPECT_THAT(std::string(Refused().message()), HasSubstr("a header"));
}

TEST_F(CompletionFilesTest, FeaturesOfOthersAreRefused) {
  files_.user_features = scratch_.Write("u", "id,x\nu1,1\nv2,2\n");
  EXPECT_EQ(ReasonCode(Refused()), "features-mismatch");
  EXPECT_THAT(std::string(Refused().message()), HasSubstr("\"u2\""));
  files_.user_features = "";
  files_.item_features = scratch_.Write("i", "id,x\na,1\nb,2\n");
  EXPECT_EQ(ReasonCode(Refused()), "item-unknown");
  EXPECT_THAT(std::string(Refused().message()),
              testing::Not(HasSubstr("--unlisted")));
  files_.items = scratch_.Write("items", "a\nb\nc\n");
  EXPECT_EQ(ReasonCode(Refused()), "features-mismatch");
}

TEST_F(CompletionFilesTest, LabelsAreWordsOfPeople) {
  files_.user_labels = scratch_.Write("l", "id,label\nu1,f\nu2,\"m, or f\"\n");
  EXPECT_THAT(Loaded().input.of_people.labels, ElementsAre("f", "m, or f"));
  files_.user_labels = scratch_.Write("l", "u1,f\nu1,m\n");
  EXPECT_EQ(ReasonCode(Refused()), "input-duplicate");
  files_.user_labels = scratch_.Write("l", "u1\n");
  EXPECT_EQ(ReasonCode(Refused()), "complete-labels");
  files_.user_features = files_.user_labels;
  EXPECT_EQ(ReasonCode(Refused()), "complete-flags-mixed");
}

TEST_F(CompletionFilesTest, RatingsOutOfTheDeclaredRangeAreRefused) {
  files_.rating_range = "1,5";
  EXPECT_EQ(ReasonCode(Refused()), "input-out-of-range");
  files_.rating_range = "0,5";
  EXPECT_TRUE(Loaded().scale_declared);
  EXPECT_EQ(Loaded().scale.high_units, 50000);
}

class RowFilesTest : public ::testing::Test {
 protected:
  RowFilesTest() {
    Draws draws(1);
    completion_ = FitCompletion(GeneratedInput(6, 4, 0.9, 1),
                                {.weights = {.6, .2, .2},
                                 .people_clusters = 2,
                                 .item_clusters = 2,
                                 .rounds = 2},
                                &draws)
                      ->completion;
  }
  Scratch scratch_;
  Completion completion_;
  UpdateFiles files_;
};

TEST_F(RowFilesTest, NewPeopleRateKnownItems) {
  files_.ratings = scratch_.Write("r", "n2,i3,4\nn1,i0,1\nn2,i1,2\n");
  files_.features =
      scratch_.Write("f",
                     "id,a,b,noise\nn1,1,0,30\nn2,0,1,30\nn3,0,0,30\n"
                     "p0,1,0,30\n");
  const auto loaded = LoadRows(files_, true, completion_, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // n3 comes without ratings; p0 is known.
  EXPECT_THAT(loaded->rows.ids, ElementsAre("n2", "n1", "n3"));
  EXPECT_THAT(loaded->rows.ratings.indptr, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(loaded->rows.ratings.indices, ElementsAre(1, 3, 0));
  EXPECT_EQ(loaded->rows.auxiliary.features.rows(), 3);
  EXPECT_EQ(loaded->rows.auxiliary.features(0, 1), 1);
  EXPECT_EQ(loaded->test.rows(), 9);
  files_.ratings = scratch_.Write("r", "n2,i9,4\n");
  EXPECT_EQ(ReasonCode(LoadRows(files_, true, completion_, {}).status()),
            "item-unknown");
}

TEST_F(RowFilesTest, NewItemsAreRatedByKnownPeople) {
  files_.ratings = scratch_.Write("r", "p3,j1,4\np0,j1,1\np3,j2,2\n");
  files_.test = scratch_.Write("t", "p1,j2,5\n");
  const auto loaded = LoadRows(files_, false, completion_, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->rows.ids, ElementsAre("j1", "j2"));
  EXPECT_THAT(loaded->rows.ratings.indptr, ElementsAre(0, 2, 3));
  EXPECT_THAT(loaded->rows.ratings.indices, ElementsAre(0, 3, 3));
  EXPECT_THAT(loaded->rows.ratings.values, ElementsAre(1, 4, 2));
  EXPECT_EQ(loaded->test.columns, 6);
  EXPECT_THAT(loaded->test.indices, ElementsAre(5));
  files_.ratings = scratch_.Write("r", "q3,j1,4\n");
  EXPECT_EQ(ReasonCode(LoadRows(files_, false, completion_, {}).status()),
            "complete-person-unknown");
}

}  // namespace
}  // namespace dpnmf::curator::lab
