#include "common/privacy/mechanism.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
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

// ---- knob.h

namespace {

// Fields up to kLastFirst are in every hash. Those up to kLastPair are in it if
// one of them is set; later ones, each by its name, if it is set.
constexpr int kLastFirst = 16, kLastPair = 18;

// Calls `use` with the knob's member of `parameters`.
template <typename Parameters, typename Use>
auto WithMember(const Knob& knob, Parameters& parameters, const Use& use) {
  return std::visit([&](auto member) { return use(parameters.*member); },
                    knob.member);
}

bool IsIn(const KnobRange& range, double value) {
  return range.open ? value > range.least && value < range.most
                    : value >= range.least && value <= range.most;
}
bool IsIn(const KnobRange& range, const std::vector<double>& values) {
  return !values.empty() &&
         std::all_of(values.begin(), values.end(),
                     [&](double value) { return IsIn(range, value); });
}

void AddTo(Sha256* hash, double value) { hash->AddDouble(value); }
void AddTo(Sha256* hash, std::uint32_t value) { hash->AddInteger(value); }
void AddTo(Sha256* hash, bool value) { hash->AddInteger(value ? 1 : 0); }
void AddTo(Sha256* hash, const std::vector<double>& values) {
  hash->AddInteger(values.size());
  for (const double value : values) hash->AddDouble(value);
}

void AddTo(Sha256* hash, const Knob& knob, const RunParameters& parameters) {
  WithMember(knob, parameters, [&](const auto& value) { AddTo(hash, value); });
}

// In the order of their fields' numbers, which is that of the hash.
std::vector<const Knob*> KnobsByField(std::vector<const Knob*> knobs, int first,
                                      int last) {
  std::erase_if(knobs, [&](const Knob* knob) {
    return knob->field < first || knob->field > last;
  });
  std::sort(knobs.begin(), knobs.end(),
            [](const Knob* a, const Knob* b) { return a->field < b->field; });
  return knobs;
}

std::string TextOf(double value) { return FormatNumber(value); }
std::string TextOf(std::uint32_t value) { return absl::StrCat(value); }
std::string TextOf(bool value) { return value ? "on" : "off"; }
std::string TextOf(const std::vector<double>& values) {
  std::string text;
  for (const double value : values)
    absl::StrAppend(&text, text.empty() ? "" : ", ", FormatNumber(value));
  return text;
}

}  // namespace

bool IsZero(const Knob& knob, const RunParameters& parameters) {
  return WithMember(knob, parameters, [](const auto& value) {
    return value == std::remove_cvref_t<decltype(value)>{};
  });
}

void SetZero(const Knob& knob, RunParameters* parameters) {
  WithMember(knob, *parameters, [](auto& value) { value = {}; });
}

void SetDefault(const Knob& knob, RunParameters* parameters) {
  const RunParameters defaults;
  std::visit([&](auto member) { parameters->*member = defaults.*member; },
             knob.member);
}

bool Holds(const Knob& knob, const RunParameters& parameters) {
  if (knob.holds != nullptr) return knob.holds(parameters);
  return WithMember(knob, parameters,
                    [&](const auto& value) { return IsIn(knob.range, value); });
}

absl::Status RefuseRange(const Knob& knob, std::string_view name,
                         std::string_view advice) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, knob.range.code,
      absl::StrCat("`", std::string(name), "` must be ",
                   std::string(knob.range.text), std::string(advice), "."));
}

absl::Status CheckKnobs(std::span<const Knob> knobs,
                        const RunParameters& parameters) {
  for (const Knob& knob : knobs) {
    if (!Holds(knob, parameters))
      return RefuseRange(knob, knob.name, knob.range.advice);
  }
  return absl::OkStatus();
}

std::string TextOf(const Knob& knob, const RunParameters& parameters) {
  if (knob.line.text != nullptr) return knob.line.text(parameters);
  return WithMember(knob, parameters,
                    [](const auto& value) { return TextOf(value); });
}

void HashFirstKnobs(const std::vector<const Knob*>& knobs,
                    const RunParameters& parameters, Sha256* hash) {
  for (const Knob* knob : KnobsByField(knobs, 1, kLastFirst))
    AddTo(hash, *knob, parameters);
}

void HashLaterKnobs(const std::vector<const Knob*>& knobs,
                    const RunParameters& parameters, Sha256* hash) {
  const auto is_set = [&](const Knob* knob) {
    return !IsZero(*knob, parameters);
  };
  const auto pair = KnobsByField(knobs, kLastFirst + 1, kLastPair);
  if (std::any_of(pair.begin(), pair.end(), is_set))
    for (const Knob* knob : pair) AddTo(hash, *knob, parameters);
  for (const Knob* knob :
       KnobsByField(knobs, kLastPair + 1, std::numeric_limits<int>::max())) {
    if (!is_set(knob)) continue;
    hash->AddString(knob->name);
    AddTo(hash, *knob, parameters);
  }
}

}  // namespace dpnmf
