// The H step and the exact sums of one round. Private inputs, private outputs.
//
// For every user n, with v_n, the request and the user's own h_n from the
// rounds before, and with nothing else:
//
//   1. h_n: fixed sweeps of the H step on 1/2 |v - W h - r|^2 + lambda |r|_1,
//      0 <= h, |r_i| <= M (docs/reference/privacy.md, "What one user can add");
//   2. u_n = v_n - S_{lambda,M}(v_n - W h_n)  (u_n = v_n without outliers);
//   3. non-finite to 0, negative to 0, scaled to |h| <= c_h, |u| <= c_u;
//   4. k = floor(2^q_h h), l = floor(2^q_u u), integer gate; a user that fails
//      adds zero.
//
// The bits of (k_n, l_n) do not depend on n, N, other columns, the block width
// or the number of threads. The sums are exact integers: S_A = sum k k', S_B =
// sum l k'.
#ifndef DPNMF_CURATOR_FACTOR_STATISTICS_H_
#define DPNMF_CURATOR_FACTOR_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/factor/kernels/aligned_vector.h"

namespace dpnmf::curator {

struct StatisticsRequest {
  const Eigen::MatrixXd* w = nullptr;  // D x K, checked by CheckDictionary
  bool outliers = false;
  double lambda = 0;
  double outlier_bound = 0;
  int inner_iterations = 10;
  double coefficient_bound = 1;  // c_h
  double data_bound = 1;         // c_u
  int coefficient_bits = 20;     // q_h
  int data_bits = 20;            // q_u
};

// Exact sums in lattice units. Has no wire codec: it leaves only through the
// release gate, noised.
struct ExactSums {
  // S_A: upper triangle by columns, K (K + 1) / 2, units 4^-q_h.
  std::vector<std::int64_t> a;
  // S_B: D x K column-major, units 2^-(q_h + q_u).
  std::vector<std::int64_t> b;
};

// H (K x users) of one run between its rounds, with room for at least the users
// of the data set. Starts at H_0 = 0.
class Coefficients {
 public:
  Coefficients(std::uint64_t rank, std::uint64_t users);
  // K values of one user.
  double* Of(std::uint64_t user) { return values_.data() + user * rank_; }
  const double* Of(std::uint64_t user) const {
    return values_.data() + user * rank_;
  }
  std::uint64_t rank() const { return rank_; }
  std::uint64_t users() const {
    return rank_ == 0 ? 0 : values_.size() / rank_;
  }

 private:
  std::uint64_t rank_;
  AlignedVector<double> values_;
};

// H_0 for every user that `data` may hold by its description alone: its size
// does not tell how many there are under add_remove_one.
Coefficients CoefficientsFor(const Dataset& data, std::uint64_t rank);

// Public numbers that the memory of a round follows from.
struct RoundShape {
  std::uint64_t features = 0;  // D
  std::uint64_t rank = 0;      // K
  std::uint64_t users = 0;     // as many as there may be: LargestUserCount
  bool sparse = false;         // how V is stored
  bool outliers = false;
  bool objective = false;  // ComputeObjective
  int threads = 1;
};

// Bytes that ComputeStatistics takes at most beside V, W and H, respectively
// ComputeObjective beside V, W and its own H. All of it but the result is
// allocated before the first block: neither V nor the number of users has a
// part in how much. 2^64 - 1 if it is more than that.
std::uint64_t StatisticsBytes(const RoundShape& shape);

struct Execution {
  int threads = 1;
  int block_users =
      0;  // users a block; 0: chosen from D and K. Rounded up to 16.
  // Asked before every block, from any thread; null: never. Once true it must
  // stay so. ComputeStatistics stops then; what *h holds is not to be used.
  std::function<bool()> stop = {};

  bool Stopped() const { return stop && stop(); }
  absl::Status CheckNotStopped() const;  // CANCELLED "cancelled"
};

// Runs the H step on all users (h of the round stays in *h for the next) and
// adds up. INTERNAL "sums-overflow" if N m_a m_b could reach 2^62 (never with
// the bits of PlanRun). CANCELLED "cancelled" if execution.stop said so. Throws
// std::bad_alloc if the system refuses memory; *h is then not to be used.
absl::StatusOr<ExactSums> ComputeStatistics(const Dataset& data,
                                            const StatisticsRequest& request,
                                            const Execution& execution,
                                            Coefficients* h);

// S of the objective: sum over users of floor(4^q_u min(1/2 |v - W h|^2,
// c_u^2 / 2)), h from the H step without outliers and H_0 = 0, in units of
// 4^-q_u. What a user adds is a function of that user's column and the request,
// and an integer of [0, LargestLossSteps]. Errors as ComputeStatistics.
absl::StatusOr<std::int64_t> ComputeObjective(const Dataset& data,
                                              StatisticsRequest request,
                                              const Execution& execution);

// Contribution of one user, for tests: the gated integers k (K) and l (D).
struct UserContribution {
  std::vector<std::int64_t> k;
  std::vector<std::int64_t> l;
};
absl::StatusOr<std::vector<UserContribution>> ContributionsForTesting(
    const Dataset& data, const StatisticsRequest& request,
    const Execution& execution, Coefficients* h);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_STATISTICS_H_
