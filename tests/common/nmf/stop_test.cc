// Learning asks whether to stop at least every kWorkBetweenStops
// multiplications, and ends at once when told to. Nothing is timed: questions
// are counted.
#include <chrono>
#include <functional>

#include "Eigen/Core"
#include "common/base/error.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/gradient_update.h"
#include "common/nmf/linear_algebra.h"
#include "common/nmf/statistics_update.h"
#include "common/threads/seldom_stop.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

MatrixXd Random(Eigen::Index rows, Eigen::Index columns) {
  std::srand(7);
  return MatrixXd::Random(rows, columns).cwiseAbs();
}

// The questions of work(stop) when every answer is no.
int Questions(const std::function<void(const Stop&)>& work) {
  int questions = 0;
  work([&questions] {
    ++questions;
    return false;
  });
  return questions;
}

// The questions after the first yes, which comes at question `at`.
int QuestionsAfter(int at, const std::function<void(const Stop&)>& work) {
  int questions = 0;
  work([&questions, at] { return ++questions >= at; });
  return questions - at;
}

void ExpectAsksOften(double multiplications,
                     const std::function<void(const Stop&)>& work) {
  const int least = static_cast<int>(multiplications / kWorkBetweenStops);
  ASSERT_GE(least, 4) << "too little work to tell";
  const int questions = Questions(work);
  EXPECT_GE(questions, least);
  // Every later loop asks once and ends: far fewer than the whole work asks.
  EXPECT_LE(QuestionsAfter(2, work), questions / 2 + 2);
}

TEST(Stopping, AnAnswerThatCostsMuchIsAskedForAtMostOnceInAnInterval) {
  std::chrono::steady_clock::time_point time;
  int questions = 0;
  bool stopped = false;
  const Stop seldom = AskedSeldom(
      [&] {
        ++questions;
        return stopped;
      },
      [&] { return time; });
  const Stop copy = seldom;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(seldom());
    EXPECT_FALSE(copy());
  }
  EXPECT_EQ(questions, 1);
  stopped = true;
  time += kStopInterval - std::chrono::nanoseconds(1);
  EXPECT_FALSE(seldom());
  time += std::chrono::nanoseconds(1);
  EXPECT_TRUE(copy());
  EXPECT_EQ(questions, 2);
  // A true answer stays true, and the question is not asked again.
  stopped = false;
  EXPECT_TRUE(seldom());
  time += kStopInterval;
  EXPECT_TRUE(copy());
  EXPECT_EQ(questions, 2);
  EXPECT_FALSE(AskedSeldom(nullptr)());
}

constexpr Eigen::Index kRows = 3000, kColumns = 300;

TEST(Stopping, ProductsAskInTheMiddle) {
  const MatrixXd tall = Random(kRows, kColumns),
                 square = Random(kColumns, kColumns);
  const double work = double(kRows) * kColumns * kColumns;
  ExpectAsksOften(work, [&](const Stop& s) { Product(tall, square, s); });
  ExpectAsksOften(work,
                  [&](const Stop& s) { TransposeProduct(tall, tall, s); });
  ExpectAsksOften(
      work, [&](const Stop& s) { ScaledTransposeProduct(2, tall, tall, s); });
  const MatrixXd wide = tall.transpose();
  ExpectAsksOften(work,
                  [&](const Stop& s) { ProductTranspose(wide, wide, s); });
  const MatrixXf single_tall = tall.cast<float>(),
                 single_square = square.cast<float>();
  MatrixXf product;
  ExpectAsksOften(work, [&](const Stop& s) {
    Multiply(single_tall, single_square, 1, &product, s);
  });
  ExpectAsksOften(work, [&](const Stop& s) {
    MultiplyTransposed(single_tall, single_square, 1, &product, s);
  });
}

TEST(Stopping, ProductsInPiecesAreProducts) {
  const MatrixXd tall = Random(kRows, kColumns),
                 square = Random(kColumns, kColumns);
  const auto near = [](const MatrixXd& got, const MatrixXd& expected) {
    return (got - expected).norm() <= 1e-12 * expected.norm();
  };
  EXPECT_TRUE(near(Product(tall, square), tall * square));
  EXPECT_TRUE(near(TransposeProduct(tall, tall), tall.transpose() * tall));
  EXPECT_TRUE(
      near(ScaledTransposeProduct(2, tall, tall), 2 * tall.transpose() * tall));
  const MatrixXd wide = tall.transpose();
  EXPECT_TRUE(near(ProductTranspose(wide, wide), wide * wide.transpose()));
  const MatrixXd large = Random(500, 500);
  const VectorXd d = Random(500, 1);
  EXPECT_TRUE(
      near(Conjugated(large, d), large * d.asDiagonal() * large.transpose()));
  // Single precision: the rounding of sums of kColumns products >= 0.
  const auto single_near = [](const MatrixXf& got, const MatrixXd& expected) {
    return (got.cast<double>() - expected).norm() <= 1e-6 * expected.norm();
  };
  const MatrixXf single_tall = tall.cast<float>(),
                 single_square = square.cast<float>();
  MatrixXf product, again;
  Multiply(single_tall, single_square, 2, &product);
  EXPECT_TRUE(single_near(product, tall * square));
  Multiply(single_tall, single_square, 1, &again);
  EXPECT_EQ(product, again);
  MultiplyTransposed(single_tall, single_square, 2, &product);
  EXPECT_TRUE(single_near(product, tall * square.transpose()));
}

TEST(Stopping, EigenvectorsAreTheSameBitsWithQuestionsAsWithout) {
  for (const Eigen::Index size : {1, 3, 101, 260}) {
    const MatrixXd half = MatrixXd::Random(size, size);
    const MatrixXd matrix = half + half.transpose();
    const SymmetricEigen plain = EigenOfSymmetric(matrix);
    const SymmetricEigen asked = EigenOfSymmetric(matrix, [] { return false; });
    EXPECT_EQ(plain.values, asked.values) << size;
    EXPECT_EQ(plain.vectors, asked.vectors) << size;
    const SymmetricEigen threads = EigenOfSymmetric(matrix, {}, 3);
    EXPECT_EQ(plain.values, threads.values) << size;
    EXPECT_EQ(plain.vectors, threads.vectors) << size;
  }
}

TEST(EigenOfSymmetric, DecomposesInRisingOrder) {
  MatrixXd blocks = MatrixXd::Zero(150, 150);  // deflates in the middle
  blocks.topLeftCorner(70, 70) = Random(70, 70);
  blocks.bottomRightCorner(50, 50) = Random(50, 50);
  const MatrixXd full = Random(130, 130);
  for (const MatrixXd& half : {blocks, full, MatrixXd::Zero(101, 101).eval(),
                               MatrixXd::Ones(120, 120).eval()}) {
    const MatrixXd matrix = half + half.transpose();
    const Eigen::Index size = matrix.rows();
    const SymmetricEigen eigen = EigenOfSymmetric(matrix);
    for (Eigen::Index i = 1; i < size; ++i)
      EXPECT_LE(eigen.values(i - 1), eigen.values(i));
    EXPECT_LE((eigen.vectors.transpose() * eigen.vectors -
               MatrixXd::Identity(size, size))
                  .norm(),
              1e-11);
    EXPECT_LE((Conjugated(eigen.vectors, eigen.values) - matrix).norm(),
              1e-11 * (1 + matrix.norm()));
  }
}

TEST(Stopping, EigenvectorsAskAtEveryStep) {
  const MatrixXd half = Random(260, 260);
  const MatrixXd matrix = half + half.transpose();
  const auto work = [&](const Stop& s) { EigenOfSymmetric(matrix, s); };
  EXPECT_GE(Questions(work), 2 * 260);
  EXPECT_LE(QuestionsAfter(5, work), 2);
  EXPECT_LE(QuestionsAfter(300, work), 2);
}

TEST(Stopping, SweepsAskInTheMiddle) {
  constexpr Eigen::Index kColumns = 400, kLarge = 1000;
  const MatrixXd gram = MatrixXd::Identity(kLarge, kLarge);
  const MatrixXd c = Random(kLarge, kColumns);
  MatrixXd h = MatrixXd::Zero(kLarge, kColumns);
  ExpectAsksOften(2.0 * kLarge * kLarge * kColumns, [&](const Stop& s) {
    SweepNonNegative(gram, c, 2, 1, &h, s);
  });
}

TEST(Stopping, UpdatesOfWAskInTheMiddleOfAStep) {
  const MatrixXd a = MatrixXd::Identity(kColumns, kColumns);
  const MatrixXd b = Random(kRows, kColumns);
  const double step = double(kRows) * kColumns * kColumns;
  const auto statistics = [&](const Stop& s) {
    MatrixXd w = b;
    UpdateFromStatistics(a, b, {.steps = 2}, &w, s);
  };
  ExpectAsksOften(2 * step, statistics);
  EXPECT_LE(QuestionsAfter(302, statistics), 8);
  ExpectAsksOften(4 * step, [&](const Stop& s) {
    GradientMemory memory;
    AddGradient(1, b, b, &memory, s);
    AddGradient(2, 2 * b, b, &memory, s);
    MatrixXd w = b;
    UpdateFromGradients(memory, {.variance = 1, .steps = 1}, &w, s);
  });
  ExpectAsksOften(4 * step, [&](const Stop& s) {
    StatisticsStandardErrors(a, b, {.stddev_b = 1}, {.steps = 1}, 1, 3, s);
  });
}

TEST(Stopping, AStepInPiecesIsAStep) {
  const MatrixXd a = MatrixXd::Identity(kColumns, kColumns);
  const MatrixXd b = Random(kRows, kColumns);
  MatrixXd w = Random(kRows, kColumns) / 100, expected = w;
  ProjectedGradientStep(a, b, 1, &w);
  expected -= (expected * a - b) / a.norm();
  ProjectDictionary(&expected);
  EXPECT_LE((w - expected).norm(), 1e-12 * expected.norm());
}

TEST(Stopping, TheFitOfMomentsAsksInAllOfItsParts) {
  constexpr int kFeatures = 300;
  const MatrixXd x = Random(kFeatures, 400);
  const NoisedMoments moments{x * x.transpose() / 400, 1e-3, 2e-3};
  const auto denoise = [&](const Stop& s) {
    DenoiseMoments(moments, s).status().IgnoreError();
  };
  const int in_denoising = Questions(denoise);
  EXPECT_GE(in_denoising, 4 * 2 * kFeatures);  // four decompositions
  for (const int at : {1, in_denoising / 2, in_denoising}) {
    int questions = 0;
    const auto stopped =
        DenoiseMoments(moments, [&] { return ++questions >= at; });
    EXPECT_EQ(ReasonCode(stopped.status()), "cancelled");
    EXPECT_LE(questions - at, 60);
  }
  const DenoisedMoments denoised = DenoiseMoments(moments).value();
  FitOptions options;
  options.rank = 200;
  // Columns are drawn one by one, then the moment is matched, then W is fitted:
  // each of these is stopped by a question of its own.
  for (const int at : {100, 700, 2500, 3500, 6000}) {
    int questions = 0;
    options.stop = [&] { return ++questions >= at; };
    EXPECT_EQ(ReasonCode(FitDictionary(denoised, options).status()),
              "cancelled");
    EXPECT_GE(questions, at) << "it asked too seldom";
    EXPECT_LE(questions - at, 20);
  }
}

}  // namespace
}  // namespace dpnmf
