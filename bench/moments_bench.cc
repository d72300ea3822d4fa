// How good a dictionary one noised second moment gives. RESEARCH ONLY: the
// noise here comes from a seeded generator and the printed figures are exact
// functions of the data. Not differentially private; for public data.
//
//   dpnmf_moments_bench FILE RANK [users=columns|rows] [epsilon=1,4,16]
//       [seeds=5] [threads=2] [rows=0] [mean_share=0.1] [errors=0]
//
// FILE: .npy (f8, f4 or u1) or MatrixMarket coordinates. Columns are scaled to
// length 1; delta = 1e-5, replace-one, the `rdp` conversion. rows = M: the M of
// largest released mean; 0: by the rule of ChooseRows. errors = R: the mean
// standard error of an entry by R replicates, beside the spread over seeds.
// Prints for every epsilon the median objective 1/(2N) |V - W H|^2 with the
// best H, its range over seeds, and the median seconds of denoising and fit.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "Eigen/SparseCore"
#include "common/base/npy.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/moments.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Sparse = Eigen::SparseMatrix<double>;

constexpr double kDelta = 1e-5;

struct Settings {
  std::string file;
  int rank = 1;
  std::map<std::string, std::string> options = {
      {"users", "columns"}, {"epsilon", "1,4,16"}, {"seeds", "5"},
      {"threads", "2"},     {"rows", "0"},         {"mean_share", "0.1"},
      {"errors", "0"}};
  double Number(const std::string& name) const {
    return std::stod(options.at(name));
  }
};

[[noreturn]] void Fail(const std::string& sentence) {
  std::cerr << "dpnmf_moments_bench: " << sentence << "\n";
  std::exit(2);
}

double EntryOf(const std::string& dtype, const char* from) {
  if (dtype == "|u1") return static_cast<unsigned char>(*from);
  if (dtype == "<f4") {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  double value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Sparse ReadNpy(const std::string& bytes) {
  const auto header = ParseNpyHeader(bytes);
  if (!header.ok()) Fail(header.status().ToString());
  const std::map<std::string, std::size_t> sizes = {
      {"|u1", 1}, {"<f4", 4}, {"<f8", 8}};
  if (!sizes.contains(header->dtype) || header->shape.size() != 2)
    Fail("the .npy file must be a matrix of f8, f4 or u1.");
  const std::size_t size = sizes.at(header->dtype), rows = header->shape[0],
                    columns = header->shape[1];
  if (bytes.size() < header->data_offset + rows * columns * size)
    Fail("the .npy file is cut short.");
  MatrixXd dense(rows, columns);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t at =
          header->fortran_order ? j * rows + i : i * columns + j;
      dense(i, j) = EntryOf(header->dtype,
                            bytes.data() + header->data_offset + at * size);
    }
  }
  return dense.sparseView();
}

Sparse ReadMatrixMarket(const std::string& bytes) {
  std::istringstream in(bytes);
  std::string line;
  while (in.peek() == '%') std::getline(in, line);
  std::size_t rows = 0, columns = 0, count = 0;
  in >> rows >> columns >> count;
  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t at = 0; at < count; ++at) {
    int i = 0, j = 0;
    double value = 0;
    in >> i >> j >> value;
    entries.emplace_back(i - 1, j - 1, value);
  }
  if (!in) Fail("the MatrixMarket file is cut short.");
  Sparse matrix(rows, columns);
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

// V (D x N), columns of length 1 (or zero).
Sparse ReadData(const Settings& settings) {
  std::ifstream in(settings.file, std::ios::binary);
  if (!in) Fail("cannot read " + settings.file + ".");
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Sparse v = settings.file.ends_with(".npy") ? ReadNpy(bytes)
                                             : ReadMatrixMarket(bytes);
  if (settings.options.at("users") == "rows") v = Sparse(v.transpose());
  for (Eigen::Index n = 0; n < v.cols(); ++n) {
    const double length = v.col(n).norm();
    for (Sparse::InnerIterator entry(v, n); entry; ++entry) {
      if (length > 0) entry.valueRef() /= length;
    }
  }
  return v;
}

// epsilon = rho + 2 sqrt(rho log(1/delta)), mu^2 = 2 rho.
double MuSquared(double epsilon) {
  const double log_delta = std::log(1 / kDelta);
  const double root = std::sqrt(log_delta + epsilon) - std::sqrt(log_delta);
  return 2 * root * root;
}

double Objective(const Sparse& v, const MatrixXd& w, int threads) {
  constexpr int kSweeps = 300;
  const double users = static_cast<double>(v.cols());
  const MatrixXd gram = w.transpose() * w, c = (v.transpose() * w).transpose();
  MatrixXd h = MatrixXd::Zero(w.cols(), v.cols());
  SweepNonNegative(gram, c, kSweeps, threads, &h);
  return (v.squaredNorm() - 2 * c.cwiseProduct(h).sum() +
          h.cwiseProduct(gram * h).sum()) /
         (2 * users);
}

struct Release {
  NoisedMoments moments;
  std::vector<int> rows;
  VectorXd mean;           // noised
  double mean_stddev = 0;  // 0 and all rows: no mean was released
};

NoisedMoments NoisedSecondMoment(const Sparse& v, const std::vector<int>& rows,
                                 double mu_squared, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  const double users = static_cast<double>(v.cols());
  const int count = static_cast<int>(rows.size());
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < count; ++i) entries.emplace_back(i, rows[i], 1.0);
  Sparse choice(count, v.rows());
  choice.setFromTriplets(entries.begin(), entries.end());
  const Sparse chosen = choice * v;
  MatrixXd g = MatrixXd(Sparse(chosen * chosen.transpose())) / users;
  const double off = PredictMoments(users, count, mu_squared).stddev_off;
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i <= j; ++i) {
      g(i, j) += (i == j ? std::sqrt(2.0) : 1.0) * off * normal(*random);
      g(j, i) = g(i, j);
    }
  }
  return {g, off, std::sqrt(2.0) * off};
}

// rows = 0: all features up to kMostMomentRows, else chosen by a noised mean.
Release ReleaseOf(const Sparse& v, double mu_squared, int rows,
                  double mean_share, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const double users = static_cast<double>(v.cols());
  const int most = rows > 0 ? rows : kMostMomentRows;
  Release release;
  release.mean = VectorXd::Zero(v.rows());
  if (v.rows() <= most) {
    release.rows.resize(v.rows());
    std::iota(release.rows.begin(), release.rows.end(), 0);
  } else {
    release.mean = v * VectorXd::Ones(v.cols()) / users;
    release.mean_stddev = std::sqrt(2 / (mean_share * mu_squared)) / users;
    for (double& entry : release.mean) {
      entry += release.mean_stddev * normal(random);
    }
    mu_squared *= 1 - mean_share;
    release.rows =
        ChooseRows(release.mean, rows > 0 ? 1e-300 : release.mean_stddev, most);
  }
  release.moments = NoisedSecondMoment(v, release.rows, mu_squared, &random);
  return release;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void RunEpsilon(const Sparse& v, const Settings& settings, double epsilon) {
  const int threads = static_cast<int>(settings.Number("threads"));
  const double mu_squared = MuSquared(epsilon);
  const double mean_share = settings.Number("mean_share");
  const int most_rows = static_cast<int>(settings.Number("rows"));
  std::vector<double> objectives, seconds;
  double error = 0;
  int directions = 0, rows = 0;
  for (int seed = 1; seed <= settings.Number("seeds"); ++seed) {
    const Release release =
        ReleaseOf(v, mu_squared, most_rows, mean_share, seed);
    const auto begin = std::chrono::steady_clock::now();
    const auto denoised = DenoiseMoments(release.moments);
    if (!denoised.ok()) Fail(denoised.status().ToString());
    const FitOptions options{
        settings.rank, static_cast<std::uint64_t>(seed), threads, {}};
    const auto w = FitDictionary(*denoised, options);
    if (!w.ok()) Fail(w.status().ToString());
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
    objectives.push_back(Objective(
        v, LiftDictionary(*w, release.rows, release.mean, release.mean_stddev),
        threads));
    directions = denoised->directions();
    rows = static_cast<int>(release.rows.size());
    if (seed == 1 && settings.Number("errors") > 0) {
      const auto errors =
          DictionaryStandardErrors(release.moments, *denoised, *w, options,
                                   static_cast<int>(settings.Number("errors")));
      if (!errors.ok()) Fail(errors.status().ToString());
      error = std::sqrt(errors->squaredNorm() / errors->size());
    }
  }
  std::printf("%8g %6d %6d  %.4f  %.4f..%.4f  %6.1f", epsilon, rows, directions,
              Median(objectives),
              *std::min_element(objectives.begin(), objectives.end()),
              *std::max_element(objectives.begin(), objectives.end()),
              Median(seconds));
  if (error > 0) std::printf("  %.4f", error);
  std::printf("\n");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Settings settings;
  if (argc < 3) Fail("usage: FILE RANK [name=value ...]");
  settings.file = argv[1];
  settings.rank = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == std::string::npos || !settings.options.contains(name))
      Fail("unknown option " + argument + ".");
    settings.options[name] = argument.substr(equals + 1);
  }
  const Sparse v = ReadData(settings);
  std::printf(
      "research only, not private: %lld features, %lld users, rank %d\n",
      static_cast<long long>(v.rows()), static_cast<long long>(v.cols()),
      settings.rank);
  std::printf(" epsilon   rows  above  median  range           seconds\n");
  std::istringstream epsilons(settings.options.at("epsilon"));
  for (std::string epsilon; std::getline(epsilons, epsilon, ',');) {
    RunEpsilon(v, settings, std::stod(epsilon));
  }
  return 0;
}

}  // namespace
}  // namespace dpnmf

int main(int argc, char** argv) { return dpnmf::Main(argc, argv); }
