#include "lab/complete/model_file.h"

#include <filesystem>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

Completion SmallCompletion() {
  Draws draws(1);
  return FitCompletion(GeneratedInput(9, 6, 0.5, 1),
                       {.weights = {.4, .3, .3},
                        .people_clusters = 3,
                        .item_clusters = 2,
                        .rounds = 3},
                       &draws)
      ->completion;
}

FingerprintKey KeyOf(std::uint8_t byte) {
  FingerprintKey key;
  key.fill(byte);
  return key;
}

class CompletionFile : public ::testing::Test {
 protected:
  std::string CodeOf(const std::optional<FingerprintKey>& key) const {
    return ReasonCode(ReadCompletion(path_, key).status());
  }
  Scratch scratch_;
  const std::string path_ = scratch_.path() + "/model.bin";
};

TEST_F(CompletionFile, IsReadBackAsItWasWritten) {
  const Completion written = SmallCompletion();
  for (const auto& key : {std::optional<FingerprintKey>(),
                          std::optional<FingerprintKey>(KeyOf(3))}) {
    ASSERT_TRUE(WriteCompletion(path_, written, key).ok());
    const auto read = ReadCompletion(path_, key);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->factors.u, written.factors.u);
    EXPECT_EQ(read->factors.s, written.factors.s);
    EXPECT_EQ(read->factors.v, written.factors.v);
    EXPECT_EQ(read->people.ids, written.people.ids);
    EXPECT_EQ(read->items.labels, written.items.labels);
    EXPECT_EQ(read->items.feature_names, written.items.feature_names);
    EXPECT_EQ(read->people.feature_low, written.people.feature_low);
    EXPECT_EQ(read->people.feature_span, written.people.feature_span);
    EXPECT_EQ(read->people.clusters.centroids,
              written.people.clusters.centroids);
    EXPECT_EQ(read->people.clusters.members, written.people.clusters.members);
    EXPECT_EQ(read->ratings.indptr, written.ratings.indptr);
    EXPECT_EQ(read->ratings.indices, written.ratings.indices);
    EXPECT_EQ(read->ratings.values, written.ratings.values);
    EXPECT_EQ(read->weights.items, written.weights.items);
    EXPECT_EQ(read->rounds, 3);
    EXPECT_EQ(read->fitted_people, 9);
    EXPECT_EQ(static_cast<int>(std::filesystem::status(path_).permissions()),
              0600);
  }
}

TEST_F(CompletionFile, AnyChangedByteIsRefused) {
  for (const auto& key : {std::optional<FingerprintKey>(),
                          std::optional<FingerprintKey>(KeyOf(3))}) {
    ASSERT_TRUE(WriteCompletion(path_, SmallCompletion(), key).ok());
    const std::string whole = ReadAll(path_);
    for (std::size_t at = 0; at < whole.size(); at += at < 80 ? 1 : 37) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      scratch_.Write("model.bin", bad);
      // The key's kind is one of the bytes.
      EXPECT_FALSE(ReadCompletion(path_, key).ok()) << at;
    }
    scratch_.Write("model.bin", whole.substr(0, whole.size() - 1));
    EXPECT_EQ(CodeOf(key), "complete-model-changed");
    scratch_.Write("model.bin", whole.substr(0, 20));
    EXPECT_EQ(CodeOf(key), "complete-model-changed");
    scratch_.Write("model.bin", whole);
    EXPECT_EQ(CodeOf(key), "");
  }
}

TEST_F(CompletionFile, TheOperatorsKeyIsNeededWhereItWasUsed) {
  ASSERT_TRUE(WriteCompletion(path_, SmallCompletion(), KeyOf(3)).ok());
  EXPECT_EQ(CodeOf(std::nullopt), "complete-model-key");
  EXPECT_EQ(CodeOf(KeyOf(4)), "complete-model-changed");
  ASSERT_TRUE(WriteCompletion(path_, SmallCompletion(), std::nullopt).ok());
  EXPECT_EQ(CodeOf(KeyOf(4)), "");
}

TEST_F(CompletionFile, AnotherVersionOrNoFileIsSaid) {
  EXPECT_EQ(CodeOf(std::nullopt), "complete-model-missing");
  ASSERT_TRUE(WriteCompletion(path_, SmallCompletion(), std::nullopt).ok());
  std::string newer = ReadAll(path_);
  newer[8] = 2;
  scratch_.Write("model.bin", newer);
  EXPECT_EQ(CodeOf(std::nullopt), "model-file-newer");
}

}  // namespace
}  // namespace dpnmf::curator::lab
