// Options of `dpnmf-lab evaluate --ratings`.
#ifndef DPNMF_LAB_RATINGS_OPTIONS_H_
#define DPNMF_LAB_RATINGS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/ratings/private_run.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {

// In the order in which they run.
enum class RatingsMethod {
  kMean,        // the mean of all ratings
  kPopularity,  // lists by the number of ratings
  kBias,        // biases of items and people, no privacy
  kAls,         // biased matrix factorisation, no privacy
  kEase,        // EASE, no privacy; at most kMostEaseItems items
  kPublished,   // Mugdho and Imtiaz, its claimed epsilon
  kRatings      // this project's mechanism
};
// "mean", "popularity", "bias", "als", "ease", "published", "ratings".
std::string_view NameOf(RatingsMethod method);
inline bool TakesEpsilon(RatingsMethod method) {
  return method == RatingsMethod::kRatings ||
         method == RatingsMethod::kPublished;
}

struct EvaluateRatingsOptions {
  std::string ratings, items;  // files
  std::string item_features;   // a file, or empty
  std::string rating_range;    // "1,5"
  bool drop_unlisted = false;
  // N. Not set: the people of the file, which a release may not use.
  std::optional<std::uint64_t> users_count;
  HoldOutBy by = HoldOutBy::kRating;
  double holdout = 0.1;                        // in (0, 1)
  std::vector<std::string> methods = {"all"};  // names, or "all"
  std::vector<double> epsilon;                 // overall; each in (0, 1000]
  std::uint32_t repeats = 3;                   // 1 to 1000
  std::uint64_t seed = 1;
  bool is_public = false;
  bool published_study = false;
  int threads = 1;
  std::string output;    // directory
  std::string data_dir;  // where the use is recorded; empty: in `output`
  // delta, conversion, adjacency and what may be overridden.
  PrivateRunOptions run;
};

// Checks what can be checked before a file is read. INVALID_ARGUMENT
// "epsilon-out-of-range", "delta-out-of-range", "mechanism-unknown",
// "rating-range-out-of-range", "evaluate-option-out-of-range".
absl::Status CheckEvaluateRatingsOptions(const EvaluateRatingsOptions& options);

// The methods meant for D items, in their order. "all" leaves out what cannot
// be: `ease` of many items, `published` of people that were not trained with.
std::vector<RatingsMethod> MethodsOf(const EvaluateRatingsOptions& options,
                                     std::uint64_t items);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_OPTIONS_H_
