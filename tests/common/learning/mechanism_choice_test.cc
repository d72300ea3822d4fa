#include "common/learning/mechanism_choice.h"

#include <limits>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

// 2,429 people, 361 features, rank 50, epsilon 1 at delta 1e-5.
ChoiceFacts Faces() {
  return {.users = 2429, .features = 361, .rank = 50, .mu_squared = 0.0719};
}

std::string Chosen(const ChoiceFacts& facts) {
  return ChooseMechanism(facts).mechanism;
}

bool Says(const ChoiceFacts& facts, const std::string& words) {
  return ChooseMechanism(facts).reason.find(words) != std::string::npos;
}

TEST(ChooseMechanism, TakesTwoMomentsWhereOneIsNoisy) {
  EXPECT_EQ(Chosen(Faces()), "aimed");
  EXPECT_TRUE(Says(Faces(), "Two noised second moments"));
  EXPECT_FALSE(Says(Faces(), "noised mean"));
  ChoiceFacts wide = Faces();
  wide.features = 36771;
  EXPECT_EQ(Chosen(wide), "aimed");
  EXPECT_TRUE(Says(wide, "more than 1024 features: a noised mean comes first"));
}

TEST(ChooseMechanism, DoesNotPraiseItsChoiceWherePeopleAreFew) {
  EXPECT_TRUE(Says(Faces(), "the best choice"));
  ChoiceFacts few = Faces();
  few.users = 400;
  EXPECT_EQ(Chosen(few), "aimed");
  EXPECT_TRUE(Says(few, "may be better or worse"));
  EXPECT_FALSE(Says(few, "the best choice"));
}

TEST(ChooseMechanism, TakesOneWhereItsNoiseIsNextToNothing) {
  ChoiceFacts many = Faces();
  many.users = 1e7;
  EXPECT_EQ(Chosen(many), "moments");
  EXPECT_TRUE(Says(many, "noise is so small"));
}

TEST(ChooseMechanism, TakesTheOneThatKnowsWhatIsAskedFor) {
  struct Case {
    bool ChoiceFacts::*fact;
    const char* mechanism;
    const char* words;
  };
  const Case cases[] = {
      {&ChoiceFacts::has_outliers, "statistics", "sparse outliers"},
      {&ChoiceFacts::has_rounds, "statistics", "number of rounds"},
      {&ChoiceFacts::has_public_start, "statistics", "first dictionary"},
      {&ChoiceFacts::holds_sums, "moments", "no people"},
      {&ChoiceFacts::is_summed, "moments", "can be added"},
      {&ChoiceFacts::names_rows, "moments", "rows are named"},
      {&ChoiceFacts::has_priors, "moments", "public knowledge"}};
  for (const Case& one : cases) {
    ChoiceFacts facts = Faces();
    facts.*one.fact = true;
    EXPECT_EQ(Chosen(facts), one.mechanism);
    EXPECT_TRUE(Says(facts, one.words)) << ChooseMechanism(facts).reason;
  }
}

TEST(ChooseMechanism, AnswersWhateverTheNumbers) {
  const double odd[] = {0, -1, 1e300, std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()};
  for (const double number : odd) {
    for (double ChoiceFacts::*const field :
         {&ChoiceFacts::users, &ChoiceFacts::features, &ChoiceFacts::rank,
          &ChoiceFacts::mu_squared}) {
      ChoiceFacts facts = Faces();
      facts.*field = number;
      EXPECT_TRUE(Chosen(facts) == "moments" || Chosen(facts) == "aimed");
    }
  }
  EXPECT_EQ(Chosen(ChoiceFacts()), "moments");
}

}  // namespace
}  // namespace dpnmf
