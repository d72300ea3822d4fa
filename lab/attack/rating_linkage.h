// Linkage of people who have rated: the attacker knows some of a person's
// ratings (Narayanan and Shmatikov 2008, "Robust de-anonymization of large
// sparse datasets").
#ifndef DPNMF_LAB_ATTACK_RATING_LINKAGE_H_
#define DPNMF_LAB_ATTACK_RATING_LINKAGE_H_

#include <optional>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "lab/attack/attack.h"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

struct RatingsAttacker {
  // The dates of the known ratings are known up to +- so many days, >= 0; both
  // tables have times (seconds) then. Not set: no date is known.
  std::optional<double> days = std::nullopt;
  // Ratings of people whom the published table was not made from, of the same
  // items: membership is judged. Null: it is not.
  const RatingTable* outsiders = nullptr;  // not owned
};

// All attacks know 1, 2, 4, 8, 16, 32 (while anybody has so many) and all
// ratings of a person, drawn from its ratings (all of them if it has fewer),
// exactly and up to +- 1 unit of the scale. People without a rating are not
// attacked. Options: seed, people, threads, progress, stop; publish and
// outsiders are not read. `linked_all_known` and `linked_4_known` are those of
// the stronger attack that knows ratings exactly, with dates where they are
// known.
//
// Membership: the attacker knows all ratings of a person; the score is that of
// the best row as a share of what a row with exactly these ratings would have.

// Two attacks on a completed table (a number for every item and person):
//   "4 ratings"                the row with the least squared difference over
//                              the known items
//   "4 ratings, less the items' means"
//                              the row whose differences from the table's
//                              column means are most parallel to the person's
//                              (the cosine; unknown items count 0); this attack
//                              also judges membership
// INVALID_ARGUMENT "attack-mismatch" unless `completed` is people x items and
// finite and somebody has rated.
absl::StatusOr<AttackReport> AttackRatings(
    const RatingTable& original, const Eigen::MatrixXd& completed,
    const AttackOptions& options, const RatingsAttacker& attacker = {});

// Attacks on published ratings (of the same people and items in the same order,
// each perhaps changed, added or left out) by the score of the publication,
//   sum over known items i that the row has of
//     (exp(-|r - r'| / 1.5) + exp(-|t - t'| / 30 days)) / log n_i,
// n_i >= 2 the number of people who have i; without the second term if dates
// are not known. With options.days both are tried ("4 ratings", "4 ratings,
// dated up to 14 days"). others["confident"]: the share of people whose best
// score exceeds the second by 1.5 standard deviations of all scores, and the
// share of these people for whom the best row is right.
absl::StatusOr<AttackReport> AttackRatings(
    const RatingTable& original, const RatingTable& published,
    const AttackOptions& options, const RatingsAttacker& attacker = {});

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_RATING_LINKAGE_H_
