// The judge: what somebody who knows a little finds in a published table.
#ifndef DPNMF_CURATOR_LAB_ATTACK_ATTACK_H_
#define DPNMF_CURATOR_LAB_ATTACK_ATTACK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/lab/tables/table.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// A share of `of` people (or trials) with its Clopper-Pearson interval at 95 %.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
  std::int64_t of = 0;
};
Share ShareOf(std::int64_t count, std::int64_t of);

struct Linkage {
  std::string knows;  // "9 values", "4 values", "30 pairs", ...
  int known = 0;      // values of the person that the attacker knows
  double error = 0;   // they are known up to +- this
  Share linked;       // people whose row is found
  Share chance;       // the same by guessing, on independent data
};

struct AttackReport {
  std::vector<Linkage> linkage;
  std::optional<Share> linked_all_known;  // all values known, without error
  std::optional<Share> linked_4_known;
  // Membership; not set where no outsiders were given.
  std::optional<Share> membership_auc;
  std::optional<Share> membership_at_1_percent;
  // Attribute inference, reconstruction, singling out: named figures.
  nlohmann::ordered_json others;
  double largest_linkage = 0;  // upper end of the interval, over `linkage`
};

struct AttackOptions {
  // A generator with a seed, for public tables alone; not set: from the
  // operating system.
  std::optional<std::uint64_t> seed;
  int known_pairs = 30;
  // Attacks look at so many people at most, drawn at random; all if fewer.
  std::int64_t people = 2000;
  // For membership: publishes a table made of the given rows of the original
  // alone. Null: the rows of `published` are all that is known, and membership
  // is not judged.
  std::function<absl::StatusOr<Table>(const std::vector<int>& rows)> publish;
  std::function<bool()> stop;
};

// Row i of both is the same person. INVALID_ARGUMENT "attack-mismatch" unless
// both have the same people and columns.
absl::StatusOr<AttackReport> Attack(const Table& original,
                                    const Table& published,
                                    const AttackOptions& options);

nlohmann::ordered_json ToJson(const AttackReport& report);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_ATTACK_ATTACK_H_
