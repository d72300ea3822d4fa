// One workload, repeated: check.sh counts its instructions under callgrind.
//
//   kernel_instructions list
//   kernel_instructions NAME REPEATS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "common/nmf/dictionary.h"
#include "common/ratings/person.h"
#include "curator/data/dataset.h"
#include "curator/factor/moments.h"
#include "curator/factor/statistics.h"
#include "lab/factorize/factorize.h"

namespace dpnmf::curator {
namespace {

constexpr int kFeatures = 120, kRank = 14, kUsers = 96;

// About a tenth of the entries are not zero; both kinds hold the same columns.
std::unique_ptr<Dataset> Data(bool sparse) {
  std::mt19937_64 random(1);
  DatasetDescription description;
  description.features = kFeatures;
  description.users = kUsers;
  description.sparse = sparse;
  std::vector<float> dense(kFeatures * kUsers), values;
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> rows;
  for (int user = 0; user < kUsers; ++user) {
    for (int row = 0; row < kFeatures; ++row) {
      if (random() % 10 != 0) continue;
      const float value = static_cast<float>(random() % 1000 + 1) / 4000;
      dense[user * kFeatures + row] = value;
      rows.push_back(row);
      values.push_back(value);
    }
    indptr.push_back(static_cast<std::int64_t>(rows.size()));
  }
  return sparse ? *Dataset::FromSparse(description, std::move(indptr),
                                       std::move(rows), std::move(values))
                : *Dataset::FromDense(description, std::move(dense));
}

void Round(bool sparse, bool outliers, int repeats) {
  const auto data = Data(sparse);
  const Eigen::MatrixXd w = RandomDictionary(kFeatures, kRank, 1);
  StatisticsRequest request;
  request.w = &w;
  request.outliers = outliers;
  request.lambda = 0.1;
  request.outlier_bound = 1;
  Coefficients h(kRank, kUsers);
  for (int i = 0; i < repeats; ++i) {
    if (!ComputeStatistics(*data, request, {.threads = 1}, &h).ok())
      std::abort();
  }
}

void Moments(int repeats) {
  const auto data = Data(false);
  for (int i = 0; i < repeats; ++i) {
    if (!ComputeMoments(*data, {}, 1, 20, {.threads = 1}).ok()) std::abort();
  }
}

void FactorizeIterations(bool sparse, int repeats) {
  const auto data = Data(sparse);
  lab::FactorizeOptions options;
  options.rank = kRank;
  options.iterations = repeats;
  if (!lab::Factorize(*data, options).ok()) std::abort();
}

// The profile of a person whose ratings are those that the model expects, and
// of one whose are far below: as many instructions, up to those that write the
// bounds.
void ProfileWithinBounds(bool far, int repeats) {
  constexpr int kItems = 10, kParts = 16;
  ItemModel model;
  model.low = 1;
  model.high = 5;
  model.level = 0.5;
  model.residual_stddev = 0.01;
  model.base = Eigen::VectorXd::Constant(kItems, 3);
  model.base_stddev = Eigen::VectorXd::Zero(kItems);
  model.loadings.resize(kItems, kParts);
  for (int i = 0; i < kItems; ++i)
    for (int k = 0; k < kParts; ++k)
      model.loadings(i, k) = 1 + 0.1 * ((7 * i + 3 * k) % 11);
  std::vector<std::int32_t> items;
  std::vector<double> ratings;
  for (int i = 0; i < kItems; ++i) {
    items.push_back(i);
    ratings.push_back(far ? 1 + i % 2 : 3);
  }
  for (int i = 0; i < repeats; ++i)
    if (!SolveProfile(model, items, ratings).solved) std::abort();
}

// The list of a person whose taste is at a right angle to the long rows of all
// items, or of one without a taste: as many instructions, up to those that put
// the ten best in order.
void List(bool taste, int repeats) {
  constexpr int kItems = 3000, kTastes = 16;
  ItemModel model;
  model.low = 1;
  model.high = 5;
  model.residual_stddev = 1;
  model.base = Eigen::VectorXd::Constant(kItems, 3);
  model.base_stddev = Eigen::VectorXd::Zero(kItems);
  model.popularity = Eigen::VectorXd::LinSpaced(kItems, 0, -7).array().exp();
  model.loadings = Eigen::MatrixXd::Constant(kItems, kTastes, 0.1);
  model.ranking = Eigen::MatrixXd::Zero(kItems, kTastes);
  model.ranking.col(1).setConstant(10);
  model.ranking.bottomRows(2).setZero();
  model.ranking(kItems - 1, 0) = 10;
  const RankingBasis basis = RankingBasisOf(model);
  const std::vector<std::int32_t> items = {taste ? kItems - 1 : kItems - 2};
  const std::vector<double> ratings = {4};
  for (int i = 0; i < repeats; ++i) {
    const Profile profile = SolveProfile(model, basis, items, ratings);
    const auto scores = RankingScores(model, basis, profile, items, ratings);
    if (TopItems(scores, items, 10).size() != 10) std::abort();
  }
}

const std::map<std::string, std::function<void(int)>>& Workloads() {
  static const std::map<std::string, std::function<void(int)>> workloads = {
      {"round_dense", [](int n) { Round(false, false, n); }},
      {"round_dense_outliers", [](int n) { Round(false, true, n); }},
      {"round_sparse", [](int n) { Round(true, false, n); }},
      {"round_sparse_outliers", [](int n) { Round(true, true, n); }},
      {"moments", Moments},
      {"factorize_dense", [](int n) { FactorizeIterations(false, n); }},
      {"factorize_sparse", [](int n) { FactorizeIterations(true, n); }},
      {"list_with_taste", [](int n) { List(true, n); }},
      {"list_without_taste", [](int n) { List(false, n); }},
      {"profile_at_minimum", [](int n) { ProfileWithinBounds(false, n); }},
      {"profile_far_from_it", [](int n) { ProfileWithinBounds(true, n); }},
  };
  return workloads;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) {
  const auto& workloads = dpnmf::curator::Workloads();
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "list") {
    for (const auto& [known, work] : workloads) std::puts(known.c_str());
    return 0;
  }
  const auto found = workloads.find(name);
  if (argc != 3 || found == workloads.end() || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "usage: kernel_instructions list | NAME REPEATS\n");
    return 2;
  }
  found->second(std::atoi(argv[2]));
}
