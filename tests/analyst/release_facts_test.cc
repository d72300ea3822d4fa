#include "common/learning/release_facts.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

// A completed run of moments of three parts of disjoint support, and its state.
struct ReleasedRun {
  v1::Run run;
  LearnerState state;
};

ReleasedRun RunOfThreeParts() {
  constexpr int kFeatures = 12, kParts = 3;
  ReleasedRun released;
  v1::Run& run = released.run;
  run.set_state(v1::RUN_STATE_COMPLETED);
  run.mutable_specification()->mutable_parameters()->set_moment_rows(kFeatures);
  v1::StagePlan& stage = *run.mutable_plan()->add_stages();
  stage.set_release("moments");
  v1::PartPlan& part = *stage.add_parts();
  part.set_name("G");
  part.set_stddev(1e-4);
  part.set_diagonal_stddev(2e-4);
  Eigen::MatrixXd w = Eigen::MatrixXd::Zero(kFeatures, kParts);
  for (int i = 0; i < kFeatures; ++i) w(i, i % kParts) = 0.5;
  released.state.w = w;
  released.state.memory["G"] = w * w.transpose() / kParts;
  return released;
}

TEST(PartsOf, HasAnEntryForEachColumn) {
  const ReleasedRun released = RunOfThreeParts();
  const auto parts =
      PartsOf(released.run, released.state, [] { return false; });
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->parts_size(), 3);
  double explained = 0;
  for (const v1::PartFacts& part : parts->parts()) {
    EXPECT_GT(part.reliability(), 0.99);
    EXPECT_FALSE(part.noise());
    explained += part.explained();
  }
  EXPECT_GT(explained, 0.95);
  EXPECT_LE(explained, 1.0001);  // single precision
}

TEST(PartsOf, IsForCompletedRunsOfMomentsAlone) {
  ReleasedRun released = RunOfThreeParts();
  const auto code = [&](bool stopped) {
    return ReasonCode(PartsOf(released.run, released.state, [=] {
                        return stopped;
                      }).status());
  };
  EXPECT_EQ(code(true), "cancelled");
  released.run.set_state(v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(code(false), "errors-unavailable");
  released.run.set_state(v1::RUN_STATE_COMPLETED);
  released.state.memory.clear();
  EXPECT_EQ(code(false), "errors-unavailable");
}

TEST(WriteRankChoice, SendsProgressThenRanksThenTheChoice) {
  const ReleasedRun released = RunOfThreeParts();
  v1::ChooseRankRequest request;
  for (const std::uint32_t rank : {2, 3, 5}) request.add_ranks(rank);
  request.set_seeds(2);
  std::vector<v1::ChooseRankReply> replies;
  const auto write = [&](const v1::ChooseRankReply& reply) {
    replies.push_back(reply);
    return true;
  };
  ASSERT_TRUE(
      WriteRankChoice(
          released.run, released.state, request, [] { return false; }, write)
          .ok());
  ASSERT_EQ(replies.size(), 6u);
  EXPECT_EQ(replies[0].progress(), 0.5);
  EXPECT_EQ(replies[1].progress(), 1);
  for (const int at : {0, 1, 2})
    EXPECT_EQ(replies[2 + at].facts().rank(), request.ranks(at));
  EXPECT_TRUE(replies[5].has_choice());
  EXPECT_GT(replies[5].choice().expected(), 3u);
  EXPECT_FALSE(replies[5].choice().sentence().empty());
}

TEST(WriteRankChoice, SendsTheLargestRowsOfEachPartIfTheyAreWanted) {
  const ReleasedRun released = RunOfThreeParts();
  v1::ChooseRankRequest request;
  for (const std::uint32_t rank : {2, 3}) request.add_ranks(rank);
  request.set_seeds(2);
  request.set_words(4);
  std::vector<v1::ChooseRankReply> replies;
  const auto chosen = WriteRankChoice(
      released.run, released.state, request, [] { return false; },
      [&](const v1::ChooseRankReply& reply) {
        replies.push_back(reply);
        return true;
      });
  ASSERT_TRUE(chosen.ok()) << chosen;
  double progress = 0;
  std::map<std::uint32_t, v1::RankWords> words;
  for (const v1::ChooseRankReply& reply : replies) {
    EXPECT_GE(reply.has_progress() ? reply.progress() : 1, progress);
    if (reply.has_progress()) progress = reply.progress();
    if (reply.has_words()) words[reply.words().rank()] = reply.words();
  }
  EXPECT_DOUBLE_EQ(progress, 1);
  EXPECT_TRUE(replies.back().has_choice());
  ASSERT_EQ(words.size(), 2u);
  ASSERT_EQ(words[3].parts_size(), 3);
  // Row i is of part i mod 3.
  std::set<std::uint64_t> seen;
  for (const v1::RankWords::Part& part : words[3].parts()) {
    ASSERT_EQ(part.rows_size(), 4);
    for (const std::uint64_t row : part.rows())
      EXPECT_EQ(row % 3, part.rows(0) % 3);
    seen.insert(part.rows(0) % 3);
  }
  EXPECT_EQ(seen.size(), 3u);
  request.set_words(101);
  EXPECT_EQ(ReasonCode(WriteRankChoice(
                released.run, released.state, request, [] { return false; },
                [](const v1::ChooseRankReply&) { return true; })),
            "words-out-of-range");
}

TEST(WriteRankChoice, WordsAreThoseOfTheRunsLaw) {
  ReleasedRun released = RunOfThreeParts();
  released.run.mutable_specification()->mutable_learner()->set_sparseness(0.95);
  v1::ChooseRankRequest request;
  for (const std::uint32_t rank : {2, 3}) request.add_ranks(rank);
  request.set_seeds(2);
  request.set_words(7);
  int parts = 0;
  const auto chosen = WriteRankChoice(
      released.run, released.state, request, [] { return false; },
      [&](const v1::ChooseRankReply& reply) {
        for (const v1::RankWords::Part& part : reply.words().parts()) {
          EXPECT_LT(part.rows_size(), 7);
          ++parts;
        }
        return true;
      });
  ASSERT_TRUE(chosen.ok()) << chosen;
  EXPECT_EQ(parts, 5);
}

TEST(WriteRankChoice, EndsOnceNobodyListens) {
  const ReleasedRun released = RunOfThreeParts();
  v1::ChooseRankRequest request;
  request.add_ranks(3);
  request.set_seeds(50);
  int replies = 0;
  const auto write = [&](const v1::ChooseRankReply&) { return ++replies < 2; };
  EXPECT_EQ(
      ReasonCode(WriteRankChoice(
          released.run, released.state, request, [] { return false; }, write)),
      "cancelled");
  EXPECT_EQ(replies, 2);
}

TEST(WriteRankChoice, RefusesWhatItCannotCompare) {
  ReleasedRun released = RunOfThreeParts();
  v1::ChooseRankRequest request;
  const auto code = [&] {
    return ReasonCode(WriteRankChoice(
        released.run, released.state, request, [] { return false; },
        [](const v1::ChooseRankReply&) { return true; }));
  };
  request.add_ranks(4'000'000'000u);
  EXPECT_EQ(code(), "ranks-out-of-range");
  request.clear_ranks();
  request.set_seeds(4'000'000'000u);
  EXPECT_EQ(code(), "seeds-out-of-range");
  released.state.memory.clear();
  EXPECT_EQ(code(), "release-missing");
}

}  // namespace
}  // namespace dpnmf::analyst
