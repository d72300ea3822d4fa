// One hostile request, and all that must hold of the curator's answer to it.
//
// The analyst names the parameters, the round, W and the rows; the adversary of
// the data also names the columns of V and what one of them is replaced by. The
// checker asks the same of V, of the neighbour and of every user alone:
//
//   (a) accepted or refused, with which code and sentence: a function of the
//       request alone, and the same that a plain reading of the contract gives;
//   (b) each user's share obeys the gate's bounds, in integers;
//   (c) the sums are the sum of the users' shares, for any threads and blocks
//       and however V is held; neighbours' sums are no further apart than the
//       plan's sensitivity, and nobody else's share moves;
//   (d) what is published of finite sums is finite.
//
// Everything is in integers: no tolerance and no false alarm.
#ifndef DPNMF_TESTS_FUZZ_HOSTILE_REQUEST_H_
#define DPNMF_TESTS_FUZZ_HOSTILE_REQUEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "curator/mechanism/mechanism.h"
#include "tests/fuzz/fuzz_target.h"

namespace dpnmf::fuzz {

struct HostileRequest {
  curator::DatasetDescription description;  // the public facts
  RunParameters parameters;
  std::uint32_t round = 1;
  // Asked one after another; H goes on between them.
  std::vector<RoundInput> inputs;
  bool sparse = false;
  Eigen::MatrixXf v;            // D x N
  Eigen::VectorXf replacement;  // of column `replaced`
  Eigen::Index replaced = 0;
};

// Every string of bytes is a request.
HostileRequest RequestOf(FuzzInput* bytes);

// Implementation under test: the product, or a weak twin of it.
struct RoundMaker {
  std::function<const curator::ReleaseKind&(std::string_view)> release =
      &curator::ReleaseKindOf;
  // ContributionsForTesting are those of the mechanism.
  bool contributions_known = true;
};

// The first thing that does not hold; nothing if all does. Counts outcomes.
std::optional<std::string> WhatIsWrong(const HostileRequest& request,
                                       const RoundMaker& maker = {});

// Inputs that stand on the bounds: columns and c that only the integer gate
// keeps apart, dictionaries that single out one user, and random ones.
std::vector<std::string> HostileSeeds();

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_HOSTILE_REQUEST_H_
