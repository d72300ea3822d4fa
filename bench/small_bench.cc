// dpnmf_small_bench [--choice] < SETTINGS
//
// What a dictionary from one noised second moment is worth where there are few
// people or a small epsilon, beside a noised mean alone and no privacy. Each
// line of SETTINGS:
//
//   LAW D K N EPSILON SEEDS [SHARE [ROWS [ORDER [ROUNDS]]]]
//
// LAW: dense (smooth parts on a level), parts (sparse parts), text (few words
// of many), images (smooth spots on a level, on a square grid of D pixels), or
// a .npy file of float32 or float64, D x n (D is then not read).
// N: the people that the noise is for; as many are generated, from 300 to
// 1,500. SHARE of mu^2 for the mean and ROWS of the second moment: 0 is the
// product's choice. ORDER: grid:WIDTH, linear, circular or none. ROUNDS: also
// statistics of so many rounds, and moments for half of mu^2 with so many
// rounds of statistics after them.
//
// With --choice moments, aimed, statistics of 30 rounds and a noised mean are
// compared, and what `auto` chooses (common/learning/mechanism_choice.h) with
// the best of them; SHARE, ROWS and ROUNDS are then not read.
//
// A line of output for each: medians over SEEDS of 1/(2N) |V - WH|^2 with the
// best H >= 0, delta 1e-5, exact conversion, replace one, columns of length 1.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "common/files/npy.h"
#include "common/learning/mechanism_choice.h"
#include "common/moments/aim.h"
#include "common/moments/column_fit.h"
#include "common/moments/empirical_bayes.h"
#include "common/moments/feature_order.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/defaults.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"
#include "common/nmf/statistics_update.h"
#include "common/privacy/accounting.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

struct Line {
  std::string law;
  int features = 0, rank = 0;
  double users = 0, epsilon = 0;
  int seeds = 5;
  double share = 0;
  int rows = 0;
  std::string order;
  int rounds = 0;
};

void UnitColumns(MatrixXd* v) {
  for (auto column : v->colwise())
    if (column.norm() > 0) column.normalize();
}

// 20 parts; each person has three of them and a little of everything.
MatrixXd People(const Line& line) {
  Draws draws(7);
  const Index d = line.features, parts = 20;
  const auto n = static_cast<Index>(std::clamp(line.users, 300.0, 1500.0));
  MatrixXd w = MatrixXd::Zero(d, parts);
  VectorXd weight = VectorXd::Ones(parts);
  double level = 0;
  if (line.law == "images") {
    const auto side =
        static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
    for (Index k = 0; k < parts; ++k) {
      const double x = draws.Uniform(), y = draws.Uniform(),
                   width = 0.06 + 0.14 * draws.Uniform();
      for (Index i = 0; i < d; ++i) {
        const double dx = (static_cast<double>(i % side) + 0.5) /
                              static_cast<double>(side) -
                          x,
                     dy = (static_cast<double>(i / side) + 0.5) /
                              static_cast<double>(side) -
                          y;
        w(i, k) = std::exp(-0.5 * (dx * dx + dy * dy) / (width * width));
      }
    }
    level = 0.5;
  } else if (line.law == "dense") {
    for (Index k = 0; k < parts; ++k) {
      const double centre = draws.Uniform() * static_cast<double>(d),
                   width =
                       (0.03 + 0.1 * draws.Uniform()) * static_cast<double>(d);
      for (Index i = 0; i < d; ++i)
        w(i, k) = std::exp(
            -0.5 * std::pow((static_cast<double>(i) - centre) / width, 2));
    }
    level = 0.5;
  } else {
    const bool text = line.law == "text";
    for (Index i = 0; i < d; ++i) {
      const double size = text ? std::pow(1.0 + static_cast<double>(i), -0.8)
                               : draws.Exponential();
      for (Index k = 0; k < parts; ++k)
        if (draws.Uniform() < (text ? 0.15 : 0.3))
          w(i, k) = size * draws.Exponential();
    }
    for (Index k = 0; k < parts; ++k)
      weight(k) = text ? 1 : 1 / (1 + 0.3 * static_cast<double>(k));
  }
  UnitColumns(&w);
  MatrixXd v = MatrixXd::Zero(d, n);
  for (Index j = 0; j < n; ++j) {
    for (int part = 0; part < 3; ++part) {
      const Index k = draws.Index(parts);
      v.col(j) += weight(k) * draws.Exponential() * w.col(k);
    }
    const double mean = v.col(j).mean();
    v.col(j).array() += 2 * level * mean;
    if (line.law == "text") {
      // Counts: of about 60 words.
      const double sum = std::max(v.col(j).sum(), 1e-300);
      for (Index i = 0; i < d; ++i) {
        const double rate = 60 * v(i, j) / sum;
        double product = draws.Uniform(), count = 0;
        for (const double end = std::exp(-rate); product > end; ++count)
          product *= draws.Uniform();
        v(i, j) = count;
      }
    } else {
      for (double& entry : v.col(j)) entry *= 1 + 0.1 * draws.Normal();
      v.col(j) = v.col(j).cwiseMax(0.0);
    }
  }
  UnitColumns(&v);
  return v;
}

MatrixXd Loaded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto header = ParseNpyHeader(bytes);
  if (!header.ok() || header->shape.size() != 2) std::abort();
  const auto rows = static_cast<Index>(header->shape[0]),
             columns = static_cast<Index>(header->shape[1]);
  MatrixXd v(rows, columns);
  const bool single = header->dtype == "<f4", half = header->dtype == "|u1";
  for (Index at = 0; at < v.size(); ++at) {
    const Index row = header->fortran_order ? at % rows : at / columns,
                column = header->fortran_order ? at / rows : at % columns;
    const char* const from = bytes.data() + header->data_offset;
    if (half) {
      v(row, column) = static_cast<unsigned char>(from[at]);
    } else if (single) {
      float value;
      std::memcpy(&value, from + 4 * at, 4);
      v(row, column) = value;
    } else {
      std::memcpy(&v(row, column), from + 8 * at, 8);
    }
  }
  UnitColumns(&v);
  return v;
}

double ObjectiveOf(const MatrixXd& v, const MatrixXd& w) {
  MatrixXd h = MatrixXd::Zero(w.cols(), v.cols());
  SweepNonNegative(TransposeProduct(w, w), TransposeProduct(w, v), 200, 1, &h);
  return (v - Product(w, h)).squaredNorm() /
         (2.0 * static_cast<double>(v.cols()));
}

struct Population {
  std::string name;
  MatrixXd v, g;
  VectorXd mean;
  int rank = 0;
  double none = 0, exact_mean = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

const Population& PopulationOf(const Line& line) {
  static Population kept;
  const bool file = line.law.ends_with(".npy");
  std::string name = line.law;
  if (!file)
    name += " " + std::to_string(line.features) + " " +
            std::to_string(std::clamp(line.users, 300.0, 1500.0));
  if (kept.name != name) {
    kept = Population();
    kept.name = name;
    kept.v = file ? Loaded(line.law) : People(line);
    kept.mean = kept.v.rowwise().mean();
    kept.exact_mean = ObjectiveOf(kept.v, kept.mean.normalized());
    if (kept.v.rows() <= kMostMomentRows) {
      kept.g =
          ProductTranspose(kept.v, kept.v) / static_cast<double>(kept.v.cols());
    }
  }
  if (kept.rank != line.rank) {
    kept.rank = line.rank;
    FitOptions options;
    options.rank = line.rank;
    kept.none = ObjectiveOf(
        kept.v,
        FitColumns(kept.v.cast<float>(), 100, options).w.cast<double>());
  }
  return kept;
}

FeatureOrder OrderOf(const std::string& text) {
  FeatureOrder order;
  if (text.starts_with("grid:")) {
    order.kind = FeatureOrder::Kind::kGrid;
    order.width = std::stoull(text.substr(5));
  } else if (text == "linear") {
    order.kind = FeatureOrder::Kind::kLinear;
  } else if (text == "circular") {
    order.kind = FeatureOrder::Kind::kCircular;
  }
  return order;
}

// The second release of `aimed` for mu_squared, and both as one.
NoisedMoments WithSecond(const NoisedMoments& first, const Line& line,
                         const Population& people, const std::vector<int>& rows,
                         double mu_squared, Draws* draws) {
  const Aim aim = AimOf(first, 1, line.rank).value();
  MatrixXd z = people.v(rows, Eigen::all);
  z -= Product(aim.directions, TransposeProduct(aim.directions, z));
  z *= aim.scale;
  for (auto column : z.colwise()) column /= std::max(1.0, column.norm());
  const double stddev = 1 / (line.users * std::sqrt(mu_squared));
  MatrixXd second = ProductTranspose(z, z) / static_cast<double>(z.cols());
  second +=
      SymmetricNoise(second.rows(), stddev, std::sqrt(2.0) * stddev, draws);
  return WithAimed(first, aim, second, stddev).value();
}

MatrixXd FitOne(const Line& line, const Population& people, double mu_squared,
                std::uint64_t seed, bool is_aimed = false) {
  const Index d = people.v.rows();
  Draws draws(1000 * seed + 1);
  const double users = line.users;
  std::vector<int> rows(static_cast<std::size_t>(d));
  std::iota(rows.begin(), rows.end(), 0);
  const int most = line.rows > 0
                       ? line.rows
                       : static_cast<int>(std::min<Index>(d, kMostMomentRows));
  VectorXd mean;
  double stddev_of_mean = 0, left = mu_squared;
  if (most < d) {
    const double share =
        line.share > 0 ? line.share : DefaultShareOfMean(users, mu_squared);
    stddev_of_mean = std::sqrt(2.0) / (users * std::sqrt(mu_squared * share));
    mean = people.mean + stddev_of_mean * draws.Normals(d);
    rows = ChooseRows(mean, stddev_of_mean, most);
    left = mu_squared * (1 - share);
  }
  NoisedMoments moments;
  const double of_first = is_aimed ? kDefaultShareOfFirstMoments : 1;
  moments.stddev_off = 1 / (users * std::sqrt(left * of_first));
  moments.stddev_diagonal = std::sqrt(2.0) * moments.stddev_off;
  if (people.g.size() > 0) {
    moments.g = people.g(rows, rows);
  } else {
    const MatrixXd v = people.v(rows, Eigen::all);
    moments.g = ProductTranspose(v, v) / static_cast<double>(v.cols());
  }
  moments.g += SymmetricNoise(moments.g.rows(), moments.stddev_off,
                              moments.stddev_diagonal, &draws);
  moments.g = ((moments.g + moments.g.transpose()) / 2).eval();
  if (is_aimed) {
    moments =
        WithSecond(moments, line, people, rows, left * (1 - of_first), &draws);
  }
  moments.largest_trace = 1;
  if (mean.size() > 0) moments.mean = MeanOnRows(mean, stddev_of_mean, rows);
  const FeatureOrder order = OrderOf(line.order);
  if (order.kind != FeatureOrder::Kind::kNone) {
    moments.order = std::make_shared<const OrderOnRows>(
        OrderOnRows{order, static_cast<std::uint64_t>(d), rows});
  }
  FitOptions options;
  options.rank = line.rank;
  options.seed = seed;
  const auto denoised = DenoiseMoments(moments);
  const MatrixXd w = FitDictionary(*denoised, options).value();
  if (most == d) return w;
  return LiftDictionary(w, rows, mean, stddev_of_mean);
}

// Rounds of A and B from w: a tenth of mu^2 for A.
MatrixXd Rounds(const Line& line, const Population& people, double mu_squared,
                std::uint64_t seed, MatrixXd w) {
  Draws draws(5000 + seed);
  const double per_round = mu_squared / line.rounds, share = 0.1;
  const double stddev_a = 1 / (line.users * std::sqrt(share * per_round)),
               stddev_b = std::sqrt(2 / ((1 - share) * per_round)) / line.users;
  const auto count = static_cast<double>(people.v.cols());
  MatrixXd a, b, h = MatrixXd::Zero(w.cols(), people.v.cols());
  for (int round = 1; round <= line.rounds; ++round) {
    SweepNonNegative(TransposeProduct(w, w), TransposeProduct(w, people.v), 20,
                     1, &h);
    for (auto column : h.colwise()) column /= std::max(1.0, column.norm());
    MatrixXd noised_a =
        ProductTranspose(h, h) / count +
        SymmetricNoise(h.rows(), stddev_a, std::sqrt(2.0) * stddev_a, &draws);
    MatrixXd noised_b = ProductTranspose(people.v, h) / count;
    for (double& entry : noised_b.reshaped())
      entry += stddev_b * draws.Normal();
    const auto at = static_cast<std::uint32_t>(round);
    AverageRounds(at, std::move(noised_a), &a);
    AverageRounds(at, std::move(noised_b), &b);
    StatisticsStep step;
    step.stddev_a = stddev_a * std::sqrt(VarianceShareOfAverage(at));
    step.steps = 200;
    UpdateFromStatistics(a, b, step, &w);
  }
  return w;
}

// The noised column mean, for the whole of mu^2.
double MeanAlone(const Line& line, const Population& people, double mu_squared,
                 std::uint64_t seed) {
  Draws draws(2000 + seed);
  const double stddev = std::sqrt(2.0 / mu_squared) / line.users;
  const VectorXd mean = PosteriorMeans(
      people.mean + stddev * draws.Normals(people.v.rows()), stddev);
  return mean.norm() > 0 ? ObjectiveOf(people.v, mean.normalized()) : 0.5;
}

void Measure(const Line& line) {
  const Population& people = PopulationOf(line);
  const double mu_squared =
      LargestCost(Conversion::kGaussian, line.epsilon, 1e-5)->ToDouble();
  std::vector<double> fits, means, rounds, both;
  double seconds = 0;
  for (int seed = 1; seed <= line.seeds; ++seed) {
    const auto begin = std::chrono::steady_clock::now();
    const MatrixXd w =
        FitOne(line, people, mu_squared, static_cast<std::uint64_t>(seed));
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    fits.push_back(ObjectiveOf(people.v, w));
    means.push_back(
        MeanAlone(line, people, mu_squared, static_cast<std::uint64_t>(seed)));
  }
  const double fit = Median(fits), mean = Median(means);
  std::string more;
  if (line.rounds > 0) {
    for (int seed = 1; seed <= line.seeds; ++seed) {
      const auto of = static_cast<std::uint64_t>(seed);
      rounds.push_back(ObjectiveOf(
          people.v,
          Rounds(line, people, mu_squared, of,
                 RandomDictionary(static_cast<std::uint64_t>(people.v.rows()),
                                  static_cast<std::uint64_t>(line.rank), of))));
      both.push_back(ObjectiveOf(
          people.v, Rounds(line, people, mu_squared / 2, of,
                           FitOne(line, people, mu_squared / 2, of))));
    }
    char text[80];
    std::snprintf(text, sizeof(text), " statistics %.4f both %.4f",
                  Median(rounds), Median(both));
    more = text;
  }
  std::printf(
      "%-8s %5d K=%-3d N=%-6g eps=%-4g sh=%-4g M=%-4d %-8s none %.4f exact "
      "%.4f | mean %.4f moments %.4f (%.4f to %.4f)  %+5.1f %%%s  %.2f s\n",
      line.law.substr(line.law.rfind('/') + 1).c_str(),
      static_cast<int>(people.v.rows()), line.rank, line.users, line.epsilon,
      line.share, line.rows, line.order.c_str(), people.none, people.exact_mean,
      mean, fit, *std::min_element(fits.begin(), fits.end()),
      *std::max_element(fits.begin(), fits.end()), 100 * (fit / mean - 1),
      more.c_str(), seconds / line.seeds);
  std::fflush(stdout);
}

// Settings within this much of the best count as right.
constexpr double kRight = 1.03;

struct Tally {
  int settings = 0, right = 0;
};

void Compare(Line line, Tally* tally) {
  line.share = 0;
  line.rows = 0;
  line.rounds = static_cast<int>(kDefaultRounds);
  const Population& people = PopulationOf(line);
  const double mu_squared =
      LargestCost(Conversion::kGaussian, line.epsilon, 1e-5)->ToDouble();
  std::vector<double> moments, aimed, statistics, means;
  for (int at = 1; at <= line.seeds; ++at) {
    const auto seed = static_cast<std::uint64_t>(at);
    moments.push_back(
        ObjectiveOf(people.v, FitOne(line, people, mu_squared, seed)));
    aimed.push_back(
        ObjectiveOf(people.v, FitOne(line, people, mu_squared, seed, true)));
    statistics.push_back(ObjectiveOf(
        people.v,
        Rounds(line, people, mu_squared, seed,
               RandomDictionary(static_cast<std::uint64_t>(people.v.rows()),
                                static_cast<std::uint64_t>(line.rank), seed))));
    means.push_back(MeanAlone(line, people, mu_squared, seed));
  }
  const double of_moments = Median(moments), of_aimed = Median(aimed),
               of_statistics = Median(statistics), of_mean = Median(means);
  const double best = std::min({of_moments, of_aimed, of_statistics, of_mean});
  const MechanismChoice choice = ChooseMechanism(
      {.users = line.users,
       .features = static_cast<double>(people.v.rows()),
       .rank = static_cast<double>(line.rank),
       .mu_squared = mu_squared,
       .has_order = OrderOf(line.order).kind != FeatureOrder::Kind::kNone});
  const double chosen = choice.mechanism == "aimed"     ? of_aimed
                        : choice.mechanism == "moments" ? of_moments
                                                        : of_statistics;
  ++tally->settings;
  tally->right += chosen <= kRight * best ? 1 : 0;
  std::printf(
      "%-12s %5d %3d %7g %4g %-8s none %.4f mean %.4f moments %.4f aimed %.4f "
      "statistics %.4f auto %-10s %+5.1f %%\n",
      line.law.substr(line.law.rfind('/') + 1).c_str(),
      static_cast<int>(people.v.rows()), line.rank, line.users, line.epsilon,
      line.order.empty() ? "none" : line.order.c_str(), people.none, of_mean,
      of_moments, of_aimed, of_statistics, choice.mechanism.c_str(),
      100 * (chosen / best - 1));
  std::fflush(stdout);
}

}  // namespace
}  // namespace dpnmf

int main(int argc, char** argv) {
  const bool is_choice = argc > 1 && std::string_view(argv[1]) == "--choice";
  dpnmf::Tally tally;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream words(text);
    dpnmf::Line line;
    if (!(words >> line.law >> line.features >> line.rank >> line.users >>
          line.epsilon >> line.seeds))
      continue;
    words >> line.share >> line.rows >> line.order >> line.rounds;
    if (is_choice) {
      dpnmf::Compare(line, &tally);
    } else {
      dpnmf::Measure(line);
    }
  }
  if (is_choice) {
    std::printf("%d of %d settings within 3 %% of the best\n", tally.right,
                tally.settings);
  }
}
