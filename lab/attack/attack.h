// The judge: what somebody who knows a little finds in a published table.
//
// An attack that fails proves nothing: a better one may succeed. One that
// succeeds shows what the table gives away. All figures are exact functions of
// the original and as private as it is.
#ifndef DPNMF_LAB_ATTACK_ATTACK_H_
#define DPNMF_LAB_ATTACK_ATTACK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/attack/figures.h"
#include "lab/tables/table.h"
#include "lab/tables/trial_table.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// An attacker who knows values of a person looks for the nearest row. Judged on
// people whose row occurs once in the original: the others cannot be told apart
// even there. Where no row occurs once, all people are judged. Of m nearest
// rows that tie the attacker draws one: the person's counts 1/m.
struct Linkage {
  std::string knows;  // "4 values", "9 values, each on its column's scale",
                      // "4 values within an error", "30 pairs", ...
  int known = 0;      // values of the person that the attacker knows; which
                      // ones is drawn; in small tables, ten times
  double error = 0;   // each is known up to +- this many standard deviations
                      // of its column (of ratings: units of the rating)
  Share linked;       // people whose row is found
  Share chance;       // the same by guessing; exact: low = high = value
};

struct AttackReport {
  std::vector<Linkage> linkage;
  std::optional<Share> linked_all_known;  // all values known, without error
  std::optional<Share> linked_4_known;    // not set below 4 columns
  // Membership; not set where it was not judged.
  std::optional<Share> membership_auc;
  // Members found where 1 % of the outsiders are taken for members.
  std::optional<Share> membership_at_1_percent;
  // "people", "attributes", "reconstruction", "singling_out"; of ratings
  // "people" and "confident".
  nlohmann::ordered_json others;
  double largest_linkage = 0;  // upper end of the interval, over `linkage`
};

struct AttackOptions {
  // A generator with a seed, for public tables alone; not set: from the
  // operating system.
  std::optional<std::uint64_t> seed = std::nullopt;
  int known_pairs = 30;  // at most a third of the people; below 3: left out
  // Attacks look at so many people at most, drawn at random; all if fewer. In
  // tables above 5e6 numbers some look at fewer: at least 200, and so many that
  // people times numbers is 2e11 (linkage), 4e10 (others) or 1e10 (attributes).
  std::int64_t people = 2000;
  // For membership: publishes a table made of the given rows of the original
  // alone (ascending, half of the people, at random). Null, and no outsiders:
  // membership is not judged.
  std::function<absl::StatusOr<Table>(const std::vector<int>& rows)> publish =
      {};
  // Instead: people like these that the published table was not made from.
  const Table* outsiders = nullptr;  // not owned
  int threads = 1;
  // Called from one thread at a time: which attack, and the share that is done.
  std::function<void(std::string_view attack, double share)> progress = {};
  // Called from several threads; true ends with CANCELLED "cancelled".
  std::function<bool()> stop = {};
};

// Row i of both is the same person. The same bits for a seed and any number of
// threads. INVALID_ARGUMENT "attack-mismatch" unless both tables (and that of
// outsiders) have the same columns, the first two the same people, at least
// two, and all numbers are finite.
absl::StatusOr<AttackReport> Attack(const Table& original,
                                    const Table& published,
                                    const AttackOptions& options);

// "linkage", "linked_all_known", "linked_4_known", "membership",
// "largest_linkage" and the members of `others`; null where not judged.
nlohmann::ordered_json ToJson(const AttackReport& report);

// Cells of metrics.csv: linked_all_known, linked_4_known, membership_auc. Empty
// where not judged.
std::vector<Cell> MetricsOf(const AttackReport& report);

// In plain words, a sentence a line: what the attacker found.
std::vector<std::string> InWords(const AttackReport& report);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_ATTACK_H_
