// The nearest published rows of people of whom values are known. All searches
// are exact; rows are left as soon as they are too far away, so that most of a
// large table costs a few columns.
#ifndef DPNMF_LAB_ATTACK_NEAREST_H_
#define DPNMF_LAB_ATTACK_NEAREST_H_

#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace dpnmf::curator::lab {

// Distance of a row p to what is known, x: sum over known columns c of
// weights[c] (p[c] - x[c])^2.
struct Search {
  Eigen::MatrixXd known = {};  // D x targets
  Eigen::MatrixXi order = {};  // D x targets: the columns as they become known
  Eigen::VectorXd weights = {};  // D, not negative
  std::vector<int> counts =
      {};  // ascending, in [1, D]: known columns to search by
};

struct SearchRun {
  int threads = 1;
  std::function<void(double share)> progress = {};  // from one thread at a time
  std::function<bool()> stop = {};                  // may be null, as progress
};

// Row by count, column by target: 1/m if the target's own row is among the m
// nearest (ties up to the rounding of doubles), else 0. own[t]: its row.
absl::StatusOr<Eigen::MatrixXd> FindOwnRows(const Eigen::MatrixXd& published,
                                            const Search& search,
                                            const std::vector<int>& own,
                                            const SearchRun& run);

// Squared distance of each target (column of D x targets) to the nearest row.
absl::StatusOr<Eigen::VectorXd> NearestDistances(
    const Eigen::MatrixXd& published, const Eigen::MatrixXd& known,
    const SearchRun& run);

// Entry (c, t): of the rows nearest to target t by all columns but c, the share
// whose value in column c is a hit (ties as above).
struct OthersHits {
  Eigen::MatrixXd with_own;     // of all rows
  Eigen::MatrixXd without_own;  // of all but the target's own
};

// At least two rows. is_hit is called from several threads.
absl::StatusOr<OthersHits> HitsByTheOthers(
    const Eigen::MatrixXd& published, const Eigen::MatrixXd& known,
    const std::vector<int>& own,
    const std::function<bool(double value, int column, int target)>& is_hit,
    const SearchRun& run);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_NEAREST_H_
