#include "common/ratings/similar.h"

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/ratings/sample_model.h"

namespace dpnmf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

NamedItemModel Films() {
  NamedItemModel model = SampleItemModel(5, 3, 0);
  model.names = {"Star Wars (1977)", "Return of the Jedi (1983)",
                 "Clueless (1995)", "Emma (1996)", "Emma (1996)"};
  model.model.base_stddev.setZero();
  model.model.loadings << 0.9, 1.0, 0.0,  //
      0.1, 0.8, 0.6,                      //
      0.5, -1.0, 0.0,                     //
      0.5, 0.0, 2.0,                      //
      0.5, 0.0, 0.0;
  return model;
}

TEST(Similar, AnItemIsFoundByIdByNameAndByNameInAnyCase) {
  const NamedItemModel model = Films();
  EXPECT_EQ(FindItem(model, "i2").value(), 2);
  EXPECT_EQ(FindItem(model, "Clueless (1995)").value(), 2);
  EXPECT_EQ(FindItem(model, "clueless (1995)").value(), 2);
}

TEST(Similar, AMistypedNameGetsTheNearestOnes) {
  const absl::Status status = FindItem(Films(), "Star Warz").status();
  EXPECT_EQ(ReasonCode(status), "item-not-found");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("`Star Wars (1977)`"), Not(HasSubstr("Emma"))));
  EXPECT_THAT(std::string(FindItem(Films(), "zzz").status().message()),
              HasSubstr("give an id or a name"));
}

TEST(Similar, ANameOfSeveralItemsIsRefusedWithTheirIds) {
  const absl::Status status = FindItem(Films(), "Emma (1996)").status();
  EXPECT_EQ(ReasonCode(status), "item-ambiguous");
  EXPECT_THAT(std::string(status.message()), HasSubstr("`i3`, `i4`"));
}

TEST(Similar, TheNearestComeFirstWithoutTheItemItselfAndWithoutTheBias) {
  const auto similar = SimilarItems(Films(), 0, 10).value();
  ASSERT_EQ(similar.size(), 4u);
  EXPECT_EQ(similar[0].item, 1);
  EXPECT_NEAR(similar[0].similarity, 0.8, 1e-15);
  EXPECT_EQ(similar[1].item, 3);  // 0, as item 4, whose factors are 0
  EXPECT_EQ(similar[2].item, 4);
  EXPECT_EQ(similar[3].item, 2);
  EXPECT_NEAR(similar[3].similarity, -1, 1e-15);
  EXPECT_EQ(SimilarItems(Films(), 0, 2).value().size(), 2u);
}

TEST(Similar, WhatIsLittleKnownIsLessSimilar) {
  NamedItemModel model = Films();
  model.model.base_stddev(1) = 1;
  EXPECT_NEAR(SimilarItems(model, 0, 1).value()[0].similarity,
              0.8 / std::sqrt(2), 1e-15);
}

TEST(Similar, AModelOfBiasesAloneHasNoSimilarItems) {
  EXPECT_EQ(ReasonCode(SimilarItems(SampleItemModel(5, 1, 0), 0, 3).status()),
            "similarity-unavailable");
}

}  // namespace
}  // namespace dpnmf
