#include "common/privacy/mechanism.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {

const NameTable<Mechanism>& Mechanisms() {
#define DPNMF_MECHANISM(Name) &k##Name##Mechanism,
  static auto& table = *new NameTable<Mechanism>({
#include "mechanism_names.inc"
  });
#undef DPNMF_MECHANISM
  return table;
}

bool MechanismHas(std::string_view name, bool Mechanism::*property) {
  const Mechanism* const mechanism = Mechanisms().Find(name);
  return mechanism != nullptr && mechanism->*property;
}

bool CanBeTrained(const Mechanism& mechanism) {
  return mechanism.learns_dictionary || mechanism.draws_people;
}

bool GivesParts(const Mechanism& mechanism) {
  return mechanism.learns_dictionary && !mechanism.for_ratings;
}

RoundsRange AnyRounds(const RunParameters&, const DatasetFacts&) { return {}; }

absl::Status CheckNothing(const RunParameters&, const DatasetFacts&) {
  return absl::OkStatus();
}

absl::Status CheckShare(std::string_view field, double share) {
  if (share > 0 && share < 1) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "share-out-of-range",
                 absl::StrCat("`", std::string(field),
                              "` must be strictly between 0 and 1."));
}

// whole < 2^73 (epsilon <= 1000), so the product stays below 2^121.
MuSquared ShareOf(MuSquared whole, double share) {
  const auto parts_of_2_48 = static_cast<Uint128>(std::ldexp(share, 48));
  return MuSquared::FromUnits((whole.units() * parts_of_2_48) >> 48);
}

MuSquared Less(MuSquared whole, MuSquared part) {
  return MuSquared::FromUnits(whole.units() - part.units());
}

Uint128 LargestProductSteps(int bits, const DatasetFacts& facts) {
  const Uint128 m = LargestEntrySteps(facts.column_bound, bits);
  return m * m;
}

PartDraft PartOfProducts(std::string name, std::uint64_t rows,
                         std::uint64_t columns, bool symmetric, int bits,
                         MuSquared allowance, const DatasetFacts& facts) {
  const std::uint64_t norm = NormBoundSteps(facts.column_bound, bits);
  return {.part = {.name = std::move(name),
                   .rows = rows,
                   .columns = columns,
                   .symmetric = symmetric,
                   .step_exponent = -2 * bits,
                   .left_norm_steps = norm,
                   .right_norm_steps = norm},
          .allowance = allowance,
          .largest_entry = LargestProductSteps(bits, facts)};
}

bool IsOneOf(std::string_view field,
             std::initializer_list<std::string_view> fields) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace dpnmf
