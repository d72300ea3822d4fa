// The checker of hostile requests, on weak twins that it must see. On the
// product it runs as fuzz.dictionary and finds nothing.
#include "tests/fuzz/hostile_request.h"

#include <cmath>
#include <iostream>
#include <random>
#include <utility>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fuzz/mutate.h"

namespace dpnmf::fuzz {
namespace {

using curator::CheckTakesDictionary;
using curator::ReleaseKind;
using curator::ReleaseKindOf;
using curator::RoundContext;
using curator::RoundSums;

// Returns the first problem of the seeds and their mutations; else "nothing".
std::string Finding(const ReleaseKind& twin) {
  constexpr int kRuns = 20'000;
  constexpr std::uint64_t kSeed = 20260101;
  RoundMaker maker;
  maker.contributions_known = false;
  maker.release = [&](std::string_view name) -> const ReleaseKind& {
    return name == twin.name ? twin : ReleaseKindOf(name);
  };
  const std::vector<std::string> seeds = HostileSeeds();
  std::mt19937_64 random(kSeed);
  for (int run = 0; run < kRuns; ++run) {
    const std::string input = static_cast<std::size_t>(run) < seeds.size()
                                  ? seeds[static_cast<std::size_t>(run)]
                                  : Mutated(seeds, &random);
    FuzzInput bytes(reinterpret_cast<const std::uint8_t*>(input.data()),
                    input.size());
    const auto problem = WhatIsWrong(RequestOf(&bytes), maker);
    if (!problem.has_value()) continue;
    std::cout << "seed " << kSeed << ", run " << run << ": " << *problem
              << "\n";
    return *problem;
  }
  return "nothing";
}

// The product's clipping in doubles and floor, and no gate in integers.
absl::StatusOr<RoundSums> MeanWithoutGate(const RoundInput&,
                                          const RoundContext& context) {
  RoundSums sums;
  std::vector<std::int64_t> sum(context.data.features());
  for (std::uint64_t n = 0; n < context.data.private_user_count(); ++n) {
    std::vector<double> x(sum.size());
    if (context.data.sparse()) {
      const curator::SparseColumn column = context.data.SparseColumnOf(n);
      for (std::size_t i = 0; i < column.rows.size(); ++i)
        x[static_cast<std::size_t>(column.rows[i])] = column.values[i];
    } else {
      const auto column = context.data.DenseColumn(n);
      x.assign(column.begin(), column.end());
    }
    double squared_length = 0;
    for (double& entry : x) {
      entry = entry > 0 && std::isfinite(entry) ? entry : 0;
      squared_length += entry * entry;
    }
    const double c = context.plan.data_bound;
    const double shrink =
        squared_length <= c * c ? 1 : c / std::sqrt(squared_length);
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum[i] += static_cast<std::int64_t>(
          std::floor(std::ldexp(x[i] * shrink, context.plan.data_bits)));
    }
  }
  sums.parts.push_back(std::move(sum));
  return sums;
}

TEST(HostileRequest, SeesAMissingGate) {
  ReleaseKind twin = ReleaseKindOf("mean");
  twin.sums = MeanWithoutGate;
  EXPECT_EQ(Finding(twin), "mean: a user's share is longer than its bound");
}

absl::Status CheckThatNanPasses(const RoundInput& input,
                                const RunParameters& parameters,
                                const DatasetFacts& facts) {
  RoundInput finite = input;
  finite.w = finite.w.unaryExpr([](double x) { return std::isnan(x) ? 0 : x; });
  return CheckTakesDictionary(finite, parameters, facts);
}

TEST(HostileRequest, SeesNotANumberLetThrough) {
  ReleaseKind twin = ReleaseKindOf("statistics");
  twin.check = CheckThatNanPasses;
  EXPECT_EQ(Finding(twin), "statistics: accepted against the contract");
}

// Refuses a W that no record of the data set has anything in common with: a
// sensible warning, and a bit about the data for every W.
absl::StatusOr<RoundSums> SumsThatWarn(const RoundInput& input,
                                       const RoundContext& context) {
  DPNMF_ASSIGN_OR_RETURN(RoundSums sums,
                         ReleaseKindOf("statistics").sums(input, context));
  for (const std::int64_t entry : sums.parts[1])
    if (entry != 0) return sums;
  return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                 "W explains nobody.");
}

TEST(HostileRequest, SeesAVerdictThatReadsTheData) {
  ReleaseKind twin = ReleaseKindOf("statistics");
  twin.sums = SumsThatWarn;
  // Which of the two, the first input decides.
  EXPECT_THAT(
      Finding(twin),
      testing::AnyOf(
          testing::StartsWith("statistics: the verdict depends on the data"),
          testing::StartsWith("statistics: refused against the contract")));
}

absl::Status CheckWithoutOrder(const RoundInput& input,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  RoundInput once = input;
  std::erase_if(once.rows,
                [last = std::uint32_t{~0u}](std::uint32_t row) mutable {
                  return std::exchange(last, row) == row;
                });
  return ReleaseKindOf("moments").check(once, parameters, facts);
}

TEST(HostileRequest, SeesARowAskedForTwice) {
  ReleaseKind twin = ReleaseKindOf("moments");
  twin.check = CheckWithoutOrder;
  EXPECT_EQ(Finding(twin), "moments: accepted against the contract");
}

// Returns sums as if whole blocks were rounded.
absl::StatusOr<RoundSums> SumsThatRound(const RoundInput& input,
                                        const RoundContext& context) {
  DPNMF_ASSIGN_OR_RETURN(RoundSums sums,
                         ReleaseKindOf("statistics").sums(input, context));
  if (context.data.private_user_count() > 3)
    for (std::int64_t& entry : sums.parts[0]) entry -= entry & 1;
  return sums;
}

TEST(HostileRequest, SeesASumThatIsNotThatOfItsUsers) {
  ReleaseKind twin = ReleaseKindOf("statistics");
  twin.sums = SumsThatRound;
  EXPECT_EQ(Finding(twin),
            "statistics: the sums are not those of the single users");
}

}  // namespace
}  // namespace dpnmf::fuzz
