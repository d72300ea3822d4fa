// The published methods of distorting a table, each as it was published. NONE
// OF THEM IS PRIVATE: lab/attack finds the people in their output.
#ifndef DPNMF_LAB_DISTORT_METHODS_H_
#define DPNMF_LAB_DISTORT_METHODS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/distort/nmf.h"
#include "lab/tables/draws.h"
#include "lab/tables/thin_svd.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// Computation that a method is based on.
enum class DistortCore { kNoise, kSvd, kNmf };
// Rule for the entries of the factors that become 0 before the multiplication.
enum class Sparsify {
  kNothing,
  kSts,  // entries below a threshold
  kCts,  // entries below a share of the mean size in their column
  kEts   // entries below a share of the largest in their column, the more the
         // further right the column stands
};

struct DistortMethod {
  std::string_view name;   // of --method, of metrics.csv, of the draft
  std::string_view title;  // for people
  DistortCore core = DistortCore::kNoise;
  Sparsify sparsify = Sparsify::kNothing;
  bool multiplicative = false;  // of kNmf: Lee and Seung's algorithm
  bool normal = false;          // of kNoise: else uniform
  // Takes rows 1 to k of V in the place of the k rows of V' (kSvd with
  // sparsifying): a transposition error of the publication's program.
  bool transposed = false;
};

// Sentence that must be shown beside every figure of a `transposed` method.
extern const std::string_view kTransposedSentence;

// In the publication's order: ud, nd, svd, nmf, nmfm, ssvd, csvd, esvd, snmf,
// cnmf, enmf, and then ssvd-as-published and its two like.
const std::vector<DistortMethod>& DistortMethods();

// Returns the methods of names, or of "all", each once. `as_published` adds the
// twin with the transposition after each method that has one. INVALID_ARGUMENT
// "distort-method-unknown".
absl::StatusOr<std::vector<const DistortMethod*>> DistortMethodsOf(
    const std::vector<std::string>& names, bool as_published);

struct DistortOptions {
  int rank = 7;  // k: components of SVD and NMF
  // Number of components that are multiplied; if not set, all.
  std::optional<int> kept;
  double uniform_width = 0.8;   // ud: U[0, this)
  double normal_stddev = 0.46;  // nd
  double sts_threshold = 0.001;
  double cts_share = 0.2;
  double ets_share = 0.01, ets_alpha = 0.2;
  NmfOptions nmf;
};

nlohmann::ordered_json ToJson(const DistortMethod& method,
                              const DistortOptions& options);

// INVALID_ARGUMENT "rank-out-of-range" unless rank is 1 to min(people,
// columns), "distort-negative" if a factorisation into parts is asked for and
// an entry is negative, "distort-all-zero", "distort-as-published" if a
// `transposed` method meets fewer people than columns, "distort-parameter" if a
// number of the options is out of range.
absl::Status CheckDistort(const Eigen::MatrixXd& a,
                          const std::vector<const DistortMethod*>& methods,
                          const DistortOptions& options);

// Results of each core for one table, shared by the methods. Kept between calls
// of one table and one set of options.
struct DistortCache {
  std::optional<NmfResult> projected_gradient, multiplicative;
  std::optional<ThinSvd> svd;

  // Returns the result for a method of kNmf that was used; otherwise null.
  const NmfResult* NmfOf(const DistortMethod& method) const;
};

// Left times right is what is published.
struct DistortFactors {
  Eigen::MatrixXd left;   // people x rank
  Eigen::MatrixXd right;  // rank x columns
};

// CheckDistort holds and the method has factors. CANCELLED "cancelled".
absl::StatusOr<DistortFactors> DistortFactorsOf(const Eigen::MatrixXd& a,
                                                const DistortMethod& method,
                                                const DistortOptions& options,
                                                DistortCache* cache,
                                                Draws* draws);

// The distorted table; CheckDistort holds.
absl::StatusOr<Eigen::MatrixXd> Distort(const Eigen::MatrixXd& a,
                                        const DistortMethod& method,
                                        const DistortOptions& options,
                                        DistortCache* cache, Draws* draws);

// Entries that are below the threshold become 0.
void MakeSparse(Sparsify sparsify, const DistortOptions& options,
                Eigen::MatrixXd* factor);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_METHODS_H_
