// Linkage of people who have rated: the attacker knows some of a person's
// ratings (Narayanan and Shmatikov 2008, "Robust de-anonymization of large
// sparse datasets").
#ifndef DPNMF_CURATOR_LAB_ATTACK_RATING_LINKAGE_H_
#define DPNMF_CURATOR_LAB_ATTACK_RATING_LINKAGE_H_

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/lab/attack/attack.h"
#include "curator/lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

// All attacks know 1, 2, 4, 8, 16, 32 and all ratings of a person, drawn from
// its ratings (all of them if it has fewer), exactly and up to +- 1 unit of the
// scale. People without a rating are not attacked. Options: seed, people,
// threads, progress, stop; publish and outsiders are not read.
// `linked_all_known` and `linked_4_known` are those of the stronger attack.

// Of a completed table: a number for every item and person. Two attacks:
//   "4 ratings"                the row with the least squared difference over
//                              the known items
//   "4 ratings, less the items' means"
//                              the row whose differences from the table's
//                              column means are most parallel to the person's
//                              (the cosine; unknown items count 0)
// INVALID_ARGUMENT "attack-mismatch" unless `completed` is people x items and
// finite and somebody has rated.
absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const Eigen::MatrixXd& completed,
                                           const AttackOptions& options);

// Of published ratings (of the same people and items in the same order, each
// perhaps changed, added or left out): the score of the publication,
//   sum over known items i that the row has of exp(-|r - r'| / 1.5) / log n_i,
// n_i >= 2 the number of people who have i. others["confident"]: where the best
// score exceeds the second by 1.5 standard deviations of all scores, the share
// of people, and the share of those that are right.
absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const RatingTable& published,
                                           const AttackOptions& options);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_ATTACK_RATING_LINKAGE_H_
