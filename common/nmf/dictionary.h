// The dictionary W (D x K): its start, its feasible set and its update.
//
// Everything here is post-processing of W and released values; it never sees
// private data and may run on either side.
#ifndef DPNMF_COMMON_NMF_DICTIONARY_H_
#define DPNMF_COMMON_NMF_DICTIONARY_H_

#include <cstdint>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/threads/stop.h"

namespace dpnmf {

// Entries of a dictionary that may be sent to a curator lie in [0, 2].
inline constexpr double kLargestDictionaryEntry = 2.0;

// OK if every entry is finite and in [0, kLargestDictionaryEntry];
// else INVALID_ARGUMENT "dictionary-not-finite", "dictionary-negative" or
// "dictionary-out-of-range", with the first such row and column (from 0).
absl::Status CheckDictionary(const Eigen::MatrixXd& w);

// W_0: entries uniform on [0, 1) from the seed (SplitMix64, 53 bits,
// column-major order), columns scaled to length 1. The same bits on every
// machine.
Eigen::MatrixXd RandomDictionary(std::uint64_t features, std::uint64_t rank,
                                 std::uint64_t seed);

// Projection onto the feasible set { w >= 0, |w_k| <= 1 } column by column:
// max(0, .), then division by max(1, |w_k|) (the projection of the paper and of
// gensim's Nmf). Not finite becomes 0. Applied twice it changes no bit: the
// computed length of a projected column is at most 1.
void ProjectDictionary(Eigen::MatrixXd* w);

// One projected gradient step on 1/2 tr(W'W A) - tr(W'B), A: K x K, B: D x K,
// gradient W A - B:   W <- Project(W - step_size / |A|_F * (W A - B)).
// step_size in (0, 2]. Does nothing if A is zero or not finite.
void ProjectedGradientStep(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                           double step_size, Eigen::MatrixXd* w,
                           const Stop& stop = {});

// The nearest symmetric positive semidefinite matrix in Frobenius norm: the
// symmetric part without its negative eigenvalues (Higham 1988, Theorem 2.1).
// a: K x K, finite.
Eigen::MatrixXd NearestPositiveSemidefinite(const Eigen::MatrixXd& a,
                                            const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_DICTIONARY_H_
