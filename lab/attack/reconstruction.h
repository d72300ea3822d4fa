// Reconstruction of the original by an attacker, from a published table.
#ifndef DPNMF_LAB_ATTACK_RECONSTRUCTION_H_
#define DPNMF_LAB_ATTACK_RECONSTRUCTION_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "lab/tables/draws.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// How a published number is read, column by column. The attacker knows which
// columns hold whole numbers, their range, and the mean of the noise.
struct Reading {
  std::vector<bool> whole;    // all numbers of the original are whole
  Eigen::VectorXd low, high;  // of the original
  Eigen::VectorXd stddevs;    // of the original; 0 of a constant
  Eigen::VectorXd shifts;     // mean of the published less the original's

  // The number read, within the range; rounded where it is whole.
  double Read(double value, Eigen::Index column) const;
  // Equal where it is whole, else within a tenth of a standard deviation.
  bool IsRight(double value, double truth, Eigen::Index column) const;
  // By how much a right number may be off.
  double ErrorOf(Eigen::Index column) const;
};
Reading ReadingOf(const Eigen::MatrixXd& original,
                  const Eigen::MatrixXd& published);

// For each way: "cells" (share of cells that are right), "rows" (people whose
// cells all are), "relative_error" |A - estimate|_F / |A|_F.
//   floor       floor of whole numbers: inverts U[0, c) noise, c <= 1, exactly
//   rounding    within the range
//   shifted     the noise's mean removed, then rounding
//   denoised    Wiener's filter: with B the published table less its means and
//               s2 the noise's variance (mean square of what the known pairs
//               differ by), the eigenvalues l of B'B/n are shrunk to
//               max(0, l - s2), then rounding. Null above 1,500 columns.
//   regression  original on published over the known pairs, then rounding
// Without pairs the last two are null.
nlohmann::ordered_json Reconstruct(const Eigen::MatrixXd& original,
                                   const Eigen::MatrixXd& published,
                                   const Reading& reading,
                                   const std::vector<int>& pairs);

// Predicates made of published rows: "the numbers read in these columns".
// Share of predicates that exactly one person of the original fits, and the
// same where each number comes from another row ("margins"). For 4 columns,
// drawn for each predicate, and for all.
nlohmann::ordered_json SingleOut(const Eigen::MatrixXd& original,
                                 const Eigen::MatrixXd& published,
                                 const Reading& reading,
                                 std::int64_t predicates, Draws* draws);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_RECONSTRUCTION_H_
