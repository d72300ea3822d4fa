#include "curator/factor/moments.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/privacy/run_plan.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kFeatures = 13, kUsers = 67;
constexpr int kBits = 12;
constexpr int kSeed = 4;

DatasetDescription Description(bool sparse) {
  DatasetDescription description;
  description.name = description.population = "moments";
  description.features = kFeatures;
  description.users = kUsers;
  description.epsilon = 1;
  description.delta = 1e-5;
  description.sparse = sparse;
  return description;
}

// Columns of length up to 1.5, so that some meet the clip; a third is zero.
std::vector<float> Values() {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<float> entry(0, 1);
  std::vector<float> values(kFeatures * kUsers);
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    double square = 0;
    for (std::uint64_t d = 0; d < kFeatures; ++d) {
      float& value = values[n * kFeatures + d];
      value = random() % 3 == 0 ? 0 : entry(random);
      square += double{value} * value;
    }
    const double length = 1.5 * entry(random) / std::sqrt(square);
    for (std::uint64_t d = 0; d < kFeatures; ++d)
      values[n * kFeatures + d] *= static_cast<float>(length);
  }
  return values;
}

std::unique_ptr<Dataset> Data(bool sparse,
                              const std::vector<float>& values = Values()) {
  if (!sparse) return Dataset::FromDense(Description(false), values).value();
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> rows;
  std::vector<float> nonzeros;
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    for (std::uint64_t d = 0; d < kFeatures; ++d) {
      const float value = values[n * kFeatures + d];
      if (value == 0) continue;
      rows.push_back(static_cast<std::int32_t>(d));
      nonzeros.push_back(value);
    }
    starts.push_back(static_cast<std::int64_t>(rows.size()));
  }
  return Dataset::FromSparse(Description(true), starts, rows, nonzeros).value();
}

// The contract in plain loops: scale to length 1, floor, gate, on `rows`.
std::vector<std::int64_t> Gated(const std::vector<float>& values,
                                std::uint64_t user,
                                const std::vector<std::uint32_t>& rows) {
  double square = 0;
  for (const std::uint32_t row : rows)
    square += std::pow(double{values[user * kFeatures + row]}, 2);
  const double shrink = square > 1 ? 1 / std::sqrt(square) : 1;
  std::vector<std::int64_t> l;
  std::uint64_t norm = 0;
  for (const std::uint32_t row : rows) {
    // Slightly less where it is scaled, so that the gate lets it pass.
    const double x = values[user * kFeatures + row] * shrink;
    l.push_back(static_cast<std::int64_t>(
        std::floor(std::ldexp(square > 1 ? x * (1 - 0x1p-40) : x, kBits))));
    norm += static_cast<std::uint64_t>(l.back() * l.back());
  }
  EXPECT_LE(norm, NormBoundSteps(1, kBits));
  return l;
}

std::vector<std::int64_t> PlainMoments(const std::vector<std::uint32_t>& rows) {
  const std::vector<float> values = Values();
  std::vector<std::int64_t> sums(rows.size() * (rows.size() + 1) / 2);
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    const auto l = Gated(values, n, rows);
    for (std::size_t j = 0, at = 0; j < rows.size(); ++j)
      for (std::size_t i = 0; i <= j; ++i) sums[at++] += l[i] * l[j];
  }
  return sums;
}

std::vector<std::uint32_t> AllRows() {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t d = 0; d < kFeatures; ++d) rows.push_back(d);
  return rows;
}

TEST(Moments, EqualPlainLoopsOnAnyThreadsAndBlocks) {
  const std::vector<std::uint32_t> some = {1, 2, 5, 8, 12};
  for (const bool sparse : {false, true}) {
    const auto data = Data(sparse);
    for (const int threads : {1, 2, 5}) {
      for (const int block : {0, 16, 48}) {
        const Execution execution{threads, block};
        EXPECT_EQ(*ComputeMoments(*data, {}, 1, kBits, execution),
                  PlainMoments(AllRows()));
        EXPECT_EQ(*ComputeMoments(*data, some, 1, kBits, execution),
                  PlainMoments(some));
      }
    }
  }
}

TEST(Moments, TheMeanEqualsPlainLoops) {
  const std::vector<float> values = Values();
  std::vector<std::int64_t> expected(kFeatures);
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    const auto l = Gated(values, n, AllRows());
    for (std::uint64_t d = 0; d < kFeatures; ++d) expected[d] += l[d];
  }
  for (const bool sparse : {false, true}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(*ComputeMean(*Data(sparse), 1, kBits, Execution{threads, 0}),
                expected);
    }
  }
}

// The neighbours' sums differ by no more than the price says, and nearly by
// that for two people who share no feature.
TEST(Moments, ReplacingAPersonMovesTheSumsByTheSensitivityAtMost) {
  std::vector<float> with = Values(), without = Values();
  for (std::uint64_t d = 0; d < kFeatures; ++d) {
    with[d] = d == 0 ? 7.0f : 0.0f;  // far above the bound
    without[d] = d == 1 ? 7.0f : 0.0f;
  }
  const Execution execution{1, 0};
  const auto one = *ComputeMoments(*Data(false, with), {}, 1, kBits, execution);
  const auto two =
      *ComputeMoments(*Data(false, without), {}, 1, kBits, execution);
  double square = 0;
  for (std::size_t j = 0, at = 0; j < kFeatures; ++j) {
    for (std::size_t i = 0; i <= j; ++i, ++at) {
      square += (i == j ? 1 : 2) *
                std::pow(static_cast<double>(one[at] - two[at]), 2);
    }
  }
  const double sensitivity =
      std::sqrt(2.0) * static_cast<double>(NormBoundSteps(1, kBits));
  EXPECT_LE(std::sqrt(square), sensitivity);
  EXPECT_GE(std::sqrt(square), 0.999 * sensitivity);
}

TEST(Moments, WhatIsStoppedGivesNoSums) {
  Execution execution{2, 16};
  execution.stop = [] { return true; };
  EXPECT_EQ(ReasonCode(
                ComputeMoments(*Data(false), {}, 1, kBits, execution).status()),
            "cancelled");
  EXPECT_EQ(ReasonCode(ComputeMean(*Data(true), 1, kBits, execution).status()),
            "cancelled");
}

StatisticsRequest RequestFor(const Eigen::MatrixXd& w) {
  StatisticsRequest request;
  request.w = &w;
  request.inner_iterations = 200;
  request.coefficient_bits = request.data_bits = kBits;
  return request;
}

TEST(Objective, EqualsTheClippedLossOfEveryPerson) {
  const Eigen::MatrixXd w = RandomDictionary(kFeatures, 3, 9);
  const std::vector<float> values = Values();
  double expected = 0;
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    Eigen::VectorXd v(kFeatures), h = Eigen::VectorXd::Zero(3);
    for (std::uint64_t d = 0; d < kFeatures; ++d)
      v(static_cast<Eigen::Index>(d)) = values[n * kFeatures + d];
    for (int sweep = 0; sweep < 200; ++sweep) {
      for (int k = 0; k < 3; ++k) {
        h(k) = std::max(
            0.0, h(k) - w.col(k).dot(w * h - v) / w.col(k).squaredNorm());
      }
    }
    expected += std::min(0.5, (v - w * h).squaredNorm() / 2);
  }
  for (const bool sparse : {false, true}) {
    for (const int threads : {1, 4}) {
      const auto sum = ComputeObjective(*Data(sparse), RequestFor(w),
                                        Execution{threads, 16});
      // Rounded down for each person.
      EXPECT_LE(std::ldexp(static_cast<double>(*sum), -2 * kBits),
                expected + 1e-9);
      EXPECT_GE(std::ldexp(static_cast<double>(*sum), -2 * kBits),
                expected - kUsers * std::ldexp(1.0, -2 * kBits) - 1e-9);
    }
  }
}

// Sum of the objectives of the people in `chosen`, in that order.
std::int64_t ObjectiveOf(const std::vector<std::uint64_t>& chosen, bool sparse,
                         const Eigen::MatrixXd& w, const Execution& execution) {
  const std::vector<float> all = Values();
  Eigen::MatrixXf v(kFeatures, static_cast<Eigen::Index>(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::uint64_t d = 0; d < kFeatures; ++d) {
      v(static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(i)) =
          all[chosen[i] * kFeatures + d];
    }
  }
  StatisticsRequest request = RequestFor(w);
  request.inner_iterations = 3;
  const auto data = sparse ? SparseOf(v) : DenseOf(v);
  return ComputeObjective(*data, request, execution).value();
}

// One integer a person, the same alone, in any place, company, block, thread
// and storage: sums of the integers of people alone are the sums of groups.
TEST(Objective, Theorem1APersonsIntegerDependsOnThatPersonAlone) {
  const Eigen::MatrixXd w = RandomDictionary(kFeatures, 3, 9);
  std::vector<std::int64_t> alone(kUsers);
  std::vector<std::uint64_t> people(kUsers);
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    people[n] = n;
    alone[n] = ObjectiveOf({n}, false, w, {1, 0});
    ASSERT_EQ(ObjectiveOf({n}, true, w, {1, 0}), alone[n]) << n;
  }
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 60; ++trial) {
    std::shuffle(people.begin(), people.end(), random);
    const std::size_t count = 1 + random() % kUsers;
    const std::vector<std::uint64_t> chosen(
        people.begin(), people.begin() + static_cast<std::ptrdiff_t>(count));
    std::int64_t expected = 0;
    for (const std::uint64_t n : chosen) expected += alone[n];
    const Execution execution{1 + static_cast<int>(random() % 4),
                              static_cast<int>(16 * (random() % 3))};
    EXPECT_EQ(ObjectiveOf(chosen, trial % 2 == 0, w, execution), expected)
        << count << " people";
  }
}

// One person far from everything adds c^2 / 2 and no more.
TEST(Objective, APersonAddsNoMoreThanTheSensitivity) {
  const Eigen::MatrixXd w = RandomDictionary(kFeatures, 3, 9);
  std::vector<float> far = Values(), near = Values();
  for (std::uint64_t d = 0; d < kFeatures; ++d) {
    far[d] = 1e6f;
    near[d] = 0;
  }
  far[0] = 0;
  const Execution execution{1, 0};
  const auto difference =
      *ComputeObjective(*Data(false, far), RequestFor(w), execution) -
      *ComputeObjective(*Data(false, near), RequestFor(w), execution);
  EXPECT_EQ(static_cast<std::uint64_t>(difference), LargestLossSteps(1, kBits));
}

}  // namespace
}  // namespace dpnmf::curator
