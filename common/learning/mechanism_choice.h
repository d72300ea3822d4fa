// Which mechanism `auto` stands for: a rule on public numbers alone, set on the
// grid of docs/research/utility.md ("What `auto` chooses").
#ifndef DPNMF_COMMON_LEARNING_MECHANISM_CHOICE_H_
#define DPNMF_COMMON_LEARNING_MECHANISM_CHOICE_H_

#include <string>

namespace dpnmf {

// All of it is declared or follows from the request: nothing is read from data
// or from releases, so a choice costs nothing.
struct ChoiceFacts {
  double users = 0;       // N >= 1
  double features = 0;    // D >= 1
  double rank = 0;        // K >= 1
  double mu_squared = 0;  // of the whole run, > 0
  // Requested features that only rounds of A and B support.
  bool has_outliers = false, has_rounds = false, has_public_start = false;
  // Cases in which only one plain release of moments is possible: stored sums,
  // which have no people; a sum of several data sets' or several curators'
  // releases; a request that names its rows.
  bool holds_sums = false, is_summed = false, names_rows = false;
  bool has_order = false;   // of features, declared
  bool has_priors = false;  // public knowledge
};

struct MechanismChoice {
  std::string mechanism;  // moments, aimed or statistics
  std::string reason;     // sentences
};

// Pure; any thread. Numbers that are not in range (a plan refuses them) give
// moments.
MechanismChoice ChooseMechanism(const ChoiceFacts& facts);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_LEARNING_MECHANISM_CHOICE_H_
