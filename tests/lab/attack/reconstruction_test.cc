#include "lab/attack/reconstruction.h"

#include <vector>

#include "gtest/gtest.h"
#include "lab/attack/sampling.h"
#include "lab/tables/draws.h"
#include "tests/lab/attack/attack_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

std::vector<int> FirstPairs() {
  std::vector<int> pairs = AllOf(30);
  return pairs;
}

nlohmann::ordered_json ReconstructOf(const Eigen::MatrixXd& original,
                                     const Eigen::MatrixXd& published) {
  return Reconstruct(original, published, ReadingOf(original, published),
                     FirstPairs());
}

TEST(Reconstruction, FloorInvertsUniformNoiseExactly) {
  const Eigen::MatrixXd original = WholeNumbers(500, 9, 10, 1);
  const auto json =
      ReconstructOf(original, original + 0.8 * UniformNumbers(500, 9, 2));
  EXPECT_EQ(json["floor"]["cells"], 1.0);
  EXPECT_EQ(json["floor"]["rows"]["value"], 1.0);
  EXPECT_EQ(json["floor"]["relative_error"], 0.0);
  EXPECT_LT(json["rounding"]["cells"], 0.9);
}

TEST(Reconstruction, RoundingInvertsNoiseBelowAHalf) {
  const Eigen::MatrixXd original = WholeNumbers(500, 4, 10, 1);
  const auto json = ReconstructOf(
      original,
      original + 0.9 * (UniformNumbers(500, 4, 2).array() - 0.5).matrix());
  EXPECT_EQ(json["rounding"]["cells"], 1.0);
  EXPECT_LT(json["floor"]["cells"], 0.9);
}

TEST(Reconstruction, TheMeanOfTheNoiseIsRemovedBeforeRounding) {
  const Eigen::MatrixXd original = WholeNumbers(500, 4, 10, 1);
  const auto json =
      ReconstructOf(original, (original.array() + 20.25).matrix());
  EXPECT_EQ(json["shifted"]["cells"], 1.0);
  EXPECT_LT(json["rounding"]["cells"], 0.2);
}

TEST(Reconstruction, KnownPairsUndoALinearMap) {
  const Eigen::MatrixXd original = WholeNumbers(400, 5, 20, 1);
  const auto json = ReconstructOf(original, original * NormalNumbers(5, 5, 7));
  EXPECT_EQ(json["regression"]["cells"], 1.0);
  EXPECT_LT(json["rounding"]["cells"], 0.3);
}

// 1,000 people x 20 columns of rank 2, noise of the size of the signal: the
// filter keeps 2 of 20 directions, so that an error of sqrt(2/20) of the
// noise's is left. The deviation of that share is below 1 %: 0.4 is further
// away than any seed of 10^7 leads.
TEST(Reconstruction, DenoisingByTheNoisesLawLeavesTheDirectionsOfTheSignal) {
  const Eigen::MatrixXd original =
      NormalNumbers(1000, 2, 3) * NormalNumbers(2, 20, 4);
  const auto json =
      ReconstructOf(original, original + NormalNumbers(1000, 20, 5));
  const double noisy = json["shifted"]["relative_error"];
  const double denoised = json["denoised"]["relative_error"];
  EXPECT_NEAR(json["denoised"]["noise_stddev"].get<double>(), 1, 0.2);
  EXPECT_LT(denoised, 0.5 * noisy);
}

TEST(Reconstruction, WithoutPairsNothingIsLearnedFromThem) {
  const Eigen::MatrixXd original = WholeNumbers(20, 3, 10, 1);
  const auto json =
      Reconstruct(original, original, ReadingOf(original, original), {});
  EXPECT_TRUE(json["denoised"].is_null());
  EXPECT_TRUE(json["regression"].is_null());
  EXPECT_EQ(json["rounding"]["cells"], 1.0);
}

TEST(SingleOut, APublishedRowThatOccursOnceIsolatesItsPerson) {
  // Every row has a number of its own in the first column.
  Eigen::MatrixXd original = WholeNumbers(300, 6, 1, 1);
  for (int r = 0; r < 300; ++r) original(r, 0) = r;
  Draws draws(5);
  const auto json =
      SingleOut(original, original, ReadingOf(original, original), 300, &draws);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["columns"], 4);
  EXPECT_EQ(json[1]["columns"], 6);
  EXPECT_EQ(json[1]["isolated"]["value"], 1.0);
  // A stranger's five bits fit one person in 32.
  EXPECT_LT(json[1]["margins"]["value"], 0.15);
}

TEST(SingleOut, TwinsAreNotIsolated) {
  Eigen::MatrixXd original(100, 3);
  original.topRows(50) = WholeNumbers(50, 3, 9, 1);
  original.bottomRows(50) = original.topRows(50);
  Draws draws(5);
  const auto json =
      SingleOut(original, original, ReadingOf(original, original), 100, &draws);
  EXPECT_EQ(json[0]["isolated"]["value"], 0.0);
}

}  // namespace
}  // namespace dpnmf::curator::lab
