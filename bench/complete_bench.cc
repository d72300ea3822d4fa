// dpnmf_complete_bench [RATINGS]: processor seconds of the methods of
// `dpnmf-lab complete` on one core, the least of several repeats, as one line
// of JSON.
// bench/peers/complete.sh runs it beside numpy, in turn, on the same file.
// Lines of user, item, rating; without a file: generated ratings of the shape
// of MovieLens 100K (943 x 1,682, 80,000 ratings).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "lab/complete/completion.h"
#include "lab/complete/input.h"
#include "lab/complete/svd.h"

namespace dpnmf::curator::lab {
namespace {

double LeastSeconds(int repeats, const std::function<void()>& prepare,
                    const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    prepare();
    const std::clock_t begin = std::clock();
    work();
    least = std::min(
        least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

// Popular items are rated often, as in the real file.
CompletionInput Generated() {
  Draws draws(1);
  CompletionInput input;
  input.ratings.columns = 1682;
  for (int i = 0; i < 943; ++i) {
    input.people.push_back(std::to_string(i));
    for (int j = 0; j < 1682; ++j) {
      if (draws.Uniform() >= 0.95 * std::min(1.0, 40.0 / (j + 1) + 0.027))
        continue;
      input.ratings.indices.push_back(j);
      input.ratings.values.push_back(1 + static_cast<double>(draws.Below(5)));
    }
    input.ratings.EndRow();
  }
  for (int j = 0; j < 1682; ++j) input.items.push_back(std::to_string(j));
  return input;
}

int Main(int argc, char** argv) {
  CompletionInput input;
  if (argc > 1) {
    CompletionFiles files;
    files.ratings = argv[1];
    absl::StatusOr<LoadedCompletion> loaded = LoadCompletion(files, {});
    if (!loaded.ok()) {
      std::fprintf(stderr, "%s\n",
                   std::string(loaded.status().message()).c_str());
      return 2;
    }
    input = std::move(loaded->input);
  } else {
    input = Generated();
  }
  const SparseRatings& ratings = input.ratings;
  const SparseRatings by_item = Transposed(ratings);
  const Eigen::Index people = ratings.rows(), items = ratings.columns;
  Draws draws(2);
  Labels labels;
  for (Eigen::Index j = 0; j < items; ++j)
    labels.push_back(static_cast<int>(draws.Below(7)));
  const AuxFactors start = {UniformMatrix(people, 7, &draws),
                            UniformMatrix(7, 7, &draws),
                            UniformMatrix(items, 7, &draws)};
  const AuxWeights weights = {.2, 0, .8};
  const auto nothing = [] {};
  AuxRun run;
  const double fit = LeastSeconds(15, nothing, [&] {
    run = FitAuxNmf(ratings, by_item, {}, labels, weights, 10, start);
  });
  // The last 100 people come later: the whole update of a completion.
  Completion base;
  base.weights = weights;
  base.people.ids.assign(input.people.begin(), input.people.end() - 100);
  base.items.ids = input.items;
  base.items.labels = labels;
  base.ratings = RowRange(ratings, 0, people - 100);
  base.factors = run.factors;
  base.factors.u.conservativeResize(people - 100, Eigen::NoChange);
  NewRows rows;
  rows.ids.assign(input.people.end() - 100, input.people.end());
  rows.ratings = RowRange(ratings, people - 100, people);
  Completion updated;
  const double update = LeastSeconds(
      50, [&] { updated = base; },
      [&] { (void)UpdateRows(rows, &draws, &updated); });
  const double refit =
      LeastSeconds(15, nothing, [&] { (void)Refitted(updated, &draws); });
  const Eigen::VectorXd means = ColumnMeans(ratings);
  TruncatedSvd svd;
  const double whole_svd = LeastSeconds(
      15, nothing, [&] { svd = *MeanImputedSvd(ratings, means, 13); });
  const TruncatedSvd first = *MeanImputedSvd(base.ratings, means, 13);
  const Eigen::MatrixXd full = Imputed(rows.ratings, means);
  const double svd_update =
      LeastSeconds(15, nothing, [&] { svd = UpdatedByRows(first, full); });
  std::printf(
      "{\"aux_nmf\": %.6f, \"update\": %.6f, \"refit\": %.6f, \"svd\": %.6f, "
      "\"svd_update\": %.6f}\n",
      fit, update, refit, whole_svd, svd_update);
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator::lab

int main(int argc, char** argv) {
  return dpnmf::curator::lab::Main(argc, argv);
}
