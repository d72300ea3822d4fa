#include "common/privacy/mechanism.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
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

std::vector<const Knob*> Knobs() {
  std::vector<const Knob*> knobs;
  for (const Mechanism* mechanism : Mechanisms().rows())
    for (const Knob& knob : mechanism->knobs) knobs.push_back(&knob);
  return knobs;
}

const Knob& KnobOf(KnobMember member) {
  const auto knobs = Knobs();
  return **std::find_if(knobs.begin(), knobs.end(), [&](const Knob* knob) {
    return knob->member == member;
  });
}

bool IsZero(const Knob& knob, const RunParameters& parameters) {
  return std::visit(
      [&]<typename T>(T RunParameters::*member) {
        return parameters.*member == T{};
      },
      knob.member);
}

std::vector<std::uint64_t> WordsOf(const Knob& knob,
                                   const RunParameters& parameters) {
  std::vector<std::uint64_t> words;
  std::visit(
      [&]<typename T>(T RunParameters::*member) {
        const T& value = parameters.*member;
        if constexpr (std::is_integral_v<T>) {
          words = {value};
        } else if constexpr (std::is_same_v<T, double>) {
          words = {std::bit_cast<std::uint64_t>(value)};
        } else {
          words = {value.size()};
          for (const double entry : value)
            words.push_back(std::bit_cast<std::uint64_t>(entry));
        }
      },
      knob.member);
  return words;
}

void SetDefault(const Knob& knob, RunParameters* parameters) {
  const RunParameters defaults;
  std::visit([&](auto member) { parameters->*member = defaults.*member; },
             knob.member);
}

bool IsInRange(const Knob& knob, const RunParameters& parameters) {
  if (knob.range.is_good != nullptr) return knob.range.is_good(parameters);
  const KnobRange& range = knob.range;
  const auto holds = [&](double value) {
    return range.excludes_ends ? value > range.least && value < range.most
                               : value >= range.least && value <= range.most;
  };
  return std::visit(
      [&]<typename T>(T RunParameters::*member) {
        const T& value = parameters.*member;
        if constexpr (std::is_arithmetic_v<T>)
          return holds(value);
        else
          return std::all_of(value.begin(), value.end(), holds);
      },
      knob.member);
}

absl::Status RefuseRange(const Knob& knob, std::string_view name) {
  return Refusal(absl::StatusCode::kInvalidArgument, knob.range.code,
                 absl::StrCat("`", std::string(name), "` must be ",
                              std::string(knob.range.text), "."));
}

absl::Status CheckKnobs(std::span<const Knob> knobs,
                        const RunParameters& parameters) {
  for (const Knob& knob : knobs)
    if (!IsInRange(knob, parameters)) return RefuseRange(knob, knob.name);
  return absl::OkStatus();
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
