#include "common/learning/synthesis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "common/nmf/dictionary.h"
#include "common/privacy/class_bounds.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

using Eigen::MatrixXd;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct People {
  v1::SynthesiseHeader header;
  std::vector<std::uint32_t> labels;
  MatrixXd columns;  // D x count
};

struct Paid {
  v1::Run run;
  LearnerState state;
  v1::Dataset dataset;
};

absl::StatusOr<People> Synthesise(const Paid& paid, std::uint64_t count,
                                  std::uint64_t seed = 1) {
  v1::SynthesiseRequest request;
  request.set_count(count);
  request.set_seed(seed);
  People people;
  std::optional<RealMatrixReader> reader;
  const absl::Status status = SynthesisePeople(
      request, paid.run, paid.state, paid.dataset, {},
      [&](const v1::SynthesiseReply& reply) {
        EXPECT_LT(reply.ByteSizeLong(), std::size_t{1} << 20);
        EXPECT_EQ(reply.has_header(), !reader.has_value());
        if (reply.has_header()) {
          people.header = reply.header();
          v1::MatrixShape shape;
          shape.set_rows(reply.header().features());
          shape.set_columns(reply.header().count());
          reader.emplace(*RealMatrixReader::Create(shape, 1 << 20, 1 << 20));
        }
        for (const std::uint32_t label : reply.labels().labels())
          people.labels.push_back(label);
        if (reply.has_people()) {
          EXPECT_TRUE(reader->Add(reply.people()).ok());
        }
        return true;
      });
  if (!status.ok()) return status;
  EXPECT_TRUE(reader->complete());
  people.columns = reader->Take();
  return people;
}

// A run of moments on all or some of six features of columns of length 1.
Paid OfMoments(int rows) {
  constexpr int kFeatures = 6;
  Paid paid;
  paid.dataset.set_name("toy");
  paid.dataset.set_features(kFeatures);
  paid.dataset.set_users(1000);
  paid.dataset.set_normalisation(v1::NORMALISATION_L2);
  paid.dataset.set_column_bound(1);
  v1::Guarantee& guarantee = *paid.dataset.mutable_guarantee();
  guarantee.set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  guarantee.set_conversion(v1::CONVERSION_GAUSSIAN);
  paid.run.mutable_specification()->mutable_parameters()->set_moment_rows(
      static_cast<std::uint32_t>(rows));
  const MatrixXd v = RandomDictionary(kFeatures, 40, 5);
  paid.state.w = RandomDictionary(kFeatures, 2, 1);
  std::vector<int> chosen;
  for (int i = kFeatures - rows; i < kFeatures; ++i) chosen.push_back(i);
  const MatrixXd on_rows = v(chosen, Eigen::all);
  const MatrixXd g = on_rows * on_rows.transpose() / 40;
  if (rows < kFeatures) {
    v1::StagePlan& stage = *paid.run.mutable_plan()->add_stages();
    stage.set_release("mean");
    stage.add_parts()->set_name("mean");
    stage.mutable_parts(0)->set_stddev(1e-4);
    paid.state.memory[kPaidMean] = v.rowwise().mean();
    paid.state.memory[kChosenRows] =
        Eigen::Map<const Eigen::VectorXi>(chosen.data(), rows).cast<double>();
  }
  v1::StagePlan& stage = *paid.run.mutable_plan()->add_stages();
  stage.set_release("moments");
  v1::PartPlan& part = *stage.add_parts();
  part.set_name("G");
  part.set_stddev(1e-4);
  part.set_diagonal_stddev(2e-4);
  paid.state.memory[kPaidMoments] = (g + g.transpose()) / 2;
  return paid;
}

TEST(Synthesis, PeopleOfASecondMomentHaveIt) {
  const Paid paid = OfMoments(6);
  const auto people = Synthesise(paid, 20'000);
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_EQ(people->header.count(), 20'000u);
  EXPECT_EQ(people->header.features(), 6u);
  EXPECT_THAT(people->labels, IsEmpty());
  EXPECT_GE(people->columns.minCoeff(), 0);
  EXPECT_NEAR(people->columns.colwise().norm().maxCoeff(), 1, 1e-12);
  const MatrixXd g = people->columns * people->columns.transpose() / 20'000;
  const MatrixXd& paid_for = paid.state.memory.at(kPaidMoments);
  EXPECT_LT((g - paid_for).norm() / paid_for.norm(), 0.08);
}

TEST(Synthesis, OtherFeaturesFollowTheirMean) {
  const Paid paid = OfMoments(4);
  const auto people = Synthesise(paid, 5000);
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_NEAR(people->columns.colwise().norm().maxCoeff(), 1, 1e-12);
  const Eigen::VectorXd mean = people->columns.rowwise().mean();
  const Eigen::VectorXd released = paid.state.memory.at(kPaidMean).col(0);
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(mean(i), released(i), 0.25 * released(i)) << i;
  // Without the mean nothing is known of them.
  Paid lost = paid;
  lost.state.memory.erase(kPaidMean);
  const auto without = Synthesise(lost, 10);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->columns.topRows(2).norm(), 0);
  EXPECT_GT(without->columns.bottomRows(4).norm(), 0);
}

TEST(Synthesis, TheSameRequestGivesTheSamePeople) {
  const Paid paid = OfMoments(6);
  const MatrixXd people = Synthesise(paid, 100, 7)->columns;
  EXPECT_EQ(Synthesise(paid, 100, 7)->columns, people);
  EXPECT_NE(Synthesise(paid, 100, 8)->columns, people);
}

// Two classes of three whole-numbered features in [0, 4], hardly any noise.
Paid OfClasses() {
  constexpr int kFeatures = 3, kBits = 10;
  Paid paid = OfMoments(6);
  paid.run.clear_plan();
  paid.run.mutable_plan()->set_data_bits(kBits);
  paid.dataset.set_features(kFeatures);
  paid.dataset.set_normalisation(v1::NORMALISATION_NONE);
  paid.dataset.set_column_bound(7);
  paid.dataset.mutable_classes()->add_names("well");
  paid.dataset.mutable_classes()->add_names("ill");
  paid.dataset.mutable_range()->set_low(0);
  paid.dataset.mutable_range()->set_high(4);
  paid.dataset.mutable_range()->set_integers(true);
  const DatasetFacts facts = *FactsOf(paid.dataset);
  const ClassBounds bounds = ClassBoundsOf(facts, kBits);
  const double a = std::ldexp(static_cast<double>(bounds.constant), -kBits);
  paid.state = {};
  paid.state.w = MatrixXd::Zero(kFeatures, 1);
  MatrixXd sums = MatrixXd::Zero(kFeatures + 1, 2 * (kFeatures + 1));
  const double sizes[] = {3000, 1000}, means[] = {1, 3};
  for (int c = 0; c < 2; ++c) {
    Eigen::VectorXd z(kFeatures + 1);
    z << a, Eigen::Vector3d::Constant(means[c] - bounds.centre);
    sums.middleCols(c * (kFeatures + 1), kFeatures + 1) =
        sizes[c] * (z * z.transpose());
    for (int i = 1; i <= kFeatures; ++i)
      sums(i, c * (kFeatures + 1) + i) += sizes[c] * 0.3;
  }
  paid.state.memory["Z"] = sums;
  paid.state.memory["Z stddev"] = MatrixXd::Constant(1, 1, 1e-3);
  return paid;
}

TEST(Synthesis, PeopleOfClassesHaveLabelsRangeAndWholeNumbers) {
  const auto people = Synthesise(OfClasses(), 70'001);  // two batches
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_THAT(people->header.classes(), ElementsAre("well", "ill"));
  EXPECT_TRUE(people->header.integers());
  ASSERT_EQ(people->labels.size(), 70'001u);
  const auto well =
      std::count(people->labels.begin(), people->labels.end(), 0u);
  EXPECT_NEAR(static_cast<double>(well), 0.75 * 70'001, 3);
  EXPECT_FALSE(std::is_sorted(people->labels.begin(), people->labels.end()));
  double of_well = 0, of_ill = 0;
  for (Eigen::Index n = 0; n < people->columns.cols(); ++n) {
    for (const double entry : people->columns.col(n)) {
      ASSERT_EQ(entry, std::round(entry));
      ASSERT_GE(entry, 0);
      ASSERT_LE(entry, 4);
    }
    (people->labels[static_cast<std::size_t>(n)] == 0 ? of_well : of_ill) +=
        people->columns.col(n).mean();
  }
  EXPECT_NEAR(of_well / static_cast<double>(well), 1, 0.1);
  EXPECT_NEAR(of_ill / static_cast<double>(70'001 - well), 3, 0.1);
}

TEST(Synthesis, RefusesWhatThereIsNoReleaseFor) {
  Paid paid = OfMoments(6);
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{10'000'001}})
    EXPECT_EQ(ReasonCode(Synthesise(paid, count).status()),
              "count-out-of-range");
  paid.state.memory.clear();
  EXPECT_EQ(ReasonCode(Synthesise(paid, 5).status()), "release-missing");
  Paid classes = OfClasses();
  classes.state.memory["Z"] = MatrixXd::Zero(4, 4);
  EXPECT_EQ(ReasonCode(Synthesise(classes, 5).status()), "state-damaged");
}

TEST(Synthesis, EndsWithWhoReads) {
  v1::SynthesiseRequest request;
  request.set_count(1'000'000);
  const Paid paid = OfMoments(6);
  int replies = 0;
  EXPECT_TRUE(SynthesisePeople(
                  request, paid.run, paid.state, paid.dataset, {},
                  [&](const v1::SynthesiseReply&) { return ++replies < 3; })
                  .ok());
  EXPECT_EQ(replies, 3);
  EXPECT_EQ(
      ReasonCode(SynthesisePeople(
          request, paid.run, paid.state, paid.dataset, [] { return true; },
          [](const v1::SynthesiseReply&) { return true; })),
      "cancelled");
}

}  // namespace
}  // namespace dpnmf::analyst
