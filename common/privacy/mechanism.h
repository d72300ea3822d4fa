// Mechanisms, as both parties know them: what a run draws and costs.
//
// A mechanism is a sequence of stages; all rounds of a stage publish the same
// parts. It has one file of its name in each of three folders:
//
//   common/privacy/mechanism/NAME.cc   this descriptor: stages, parts, checks
//   curator/mechanism/NAME.cc          what is summed, and in how much memory
//   common/learning/mechanism/NAME.cc  defaults, and what a release teaches
//
// The files of the first folder are the list (cmake/Mechanisms.cmake): NAME.cc
// defines kNAMEMechanism in each of the three namespaces.
// docs/reference/mechanisms.md says how to add one.
#ifndef DPNMF_COMMON_PRIVACY_MECHANISM_H_
#define DPNMF_COMMON_PRIVACY_MECHANISM_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/base/name_table.h"
#include "common/privacy/mu_squared.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// A part before PlanRun has found its noise.
struct PartDraft {
  PartPlan part;        // without standard deviations
  MuSquared allowance;  // what the part may cost in one round
  // In lattice units: no person adds more to an entry, in absolute value. An
  // upper bound; the exact sums have room for N_max times as much.
  Uint128 largest_entry = 0;
};

struct StageDraft {
  std::string release;  // StagePlan::release
  std::uint32_t rounds = 0;
  std::vector<PartDraft> parts;
};

// Which part tells how much of a dictionary can be seen through the noise
// (analyst/planning/forecast.h).
enum class ForecastBy {
  kNothing,
  kSecondMoment,      // one symmetric part, of products of the data
  kAveragedProducts,  // a D x K part, averaged over the rounds
};

struct RoundsRange {
  std::uint32_t least = 1;
  std::uint32_t most = kMaxRounds;
};

// The numbers that a knob takes, or all entries of one that is a list. NaN is
// outside.
struct KnobRange {
  // A refusal is "`NAME` must be TEXT.", with the reason code.
  std::string_view text = "";
  std::string_view code = "";
  double least = 0;
  double most = std::numeric_limits<double>::max();
  bool excludes_ends = false;
  // On the wire 0 stands for the default, so nobody may type it.
  bool zero_is_default = true;
  // If not null, tells in place of `least` and `most` if the value is good.
  bool (*is_good)(const RunParameters& parameters) = nullptr;
};

// A share of a cost.
inline constexpr KnobRange kShareRange = {.text = "strictly between 0 and 1",
                                          .code = "share-out-of-range",
                                          .most = 1,
                                          .excludes_ends = true};

using KnobMember =
    std::variant<bool RunParameters::*, std::uint32_t RunParameters::*,
                 double RunParameters::*, std::vector<double> RunParameters::*>;

struct KnobField {
  std::string_view name;  // on the wire
  int field = 0;          // its number there; orders the hash
  KnobMember member;      // its initializer is the default
};

// A parameter of a run that mechanisms read, declared once, as a row beside the
// mechanism that brings it. The flag of `dpnmf plan` and `train`, refusals, the
// default, the hash of the run and the line of `dpnmf show` follow from the
// row.
struct Knob : KnobField {
  KnobRange range = {};
  struct {
    const char* name = "";   // "--NAME"; if empty, there is no flag
    const char* value = "";  // name of the value in help; a bool is on or off
    const char* help = "";   // ends with the default, as [10]
  } flag = {};
  struct {
    const char* label = "";
    // If null, there is no line.
    std::string (*text)(const RunParameters& parameters) = nullptr;
  } line = {};
};

// Functions are pure and thread-safe.
struct Mechanism {
  std::string_view name;  // RunParameters::mechanism
  // A few words for the help of --mechanism.
  std::string_view summary;
  // The run learns a dictionary. Otherwise it is about one that is given, and
  // `dpnmf train` refuses the name.
  bool learns_dictionary = true;
  // The run's result is a release from which people are drawn
  // (common/learning/synthesis.h), not a dictionary.
  bool draws_people = false;
  // For data sets of ratings and no others; false: never for them.
  bool for_ratings = false;
  // Only for data sets with classes; `check` refuses all others.
  bool for_classes = false;
  // W is fitted to a released second moment, and to what is declared beside it
  // (priors, an order of the features, a law): such a release can be fitted
  // again and passed on.
  bool fits_moments = false;
  // A request may name the features of its second moment
  // (LearnerOptions.rows).
  bool takes_rows = false;
  // It releases plain sums: several curators may release one together
  // (common/federation).
  bool may_be_federated = false;
  // Releases of runs on other people can be added
  // (analyst/runs/joint_release.h).
  bool releases_can_be_added = false;

  // Numbers of rounds that a run may have, before the data set's own limit.
  RoundsRange (*rounds)(const RunParameters& parameters,
                        const DatasetFacts& facts);
  // Checks the parameters that only this mechanism reads, beyond their ranges.
  // INVALID_ARGUMENT. The common ones have been checked.
  absl::Status (*check)(const RunParameters& parameters,
                        const DatasetFacts& facts);
  // The stages in order, on lattices for q_h = q_u = bits. Costs of all rounds
  // add up to at most `whole`. `parameters` have been checked.
  std::vector<StageDraft> (*stages)(MuSquared whole, int bits,
                                    const RunParameters& parameters,
                                    const DatasetFacts& facts);
  // Tells if a field of RunParameters or LearnerOptions (its name on the wire)
  // plays a part in the run. Reads only rounds, moment_rows and shares.
  bool (*uses)(std::string_view field, const RunParameters& parameters,
               const DatasetFacts& facts);
  // Parameters that this mechanism brings. Their ranges, and those of others
  // that it uses, are checked in each of its runs, before `check`.
  std::span<const Knob> knobs = {};

  ForecastBy forecast_by = ForecastBy::kNothing;
  std::string_view forecast_part = "";
};

// All of them, by name.
const NameTable<Mechanism>& Mechanisms();

// The descriptors by name: kMomentsMechanism is defined in moments.cc. Use them
// only for code that is written for one mechanism and is wrong for any other
// (the rule of `auto`, the file of a release). All other code asks a field.
#define DPNMF_MECHANISM(Name) extern const Mechanism k##Name##Mechanism;
#include "mechanism_names.inc"
#undef DPNMF_MECHANISM

// Knobs of all mechanisms, in the order of help and text.
std::vector<const Knob*> Knobs();
// Knobs that every run carries, whether or not its mechanism reads them.
// statistics.cc.
std::span<const Knob> KnobsOfEveryRun();
// Those of them that the fit of each person's h to W reads.
std::span<const Knob> KnobsOfFit();
// The first row of the member; there must be one.
const Knob& KnobOf(KnobMember member);

// 0, off or an empty list.
bool IsZero(const Knob& knob, const RunParameters& parameters);
// A whole number, the bits of a double, or the length and the bits of a list.
std::vector<std::uint64_t> WordsOf(const Knob& knob,
                                   const RunParameters& parameters);
void SetDefault(const Knob& knob, RunParameters* parameters);
bool IsInRange(const Knob& knob, const RunParameters& parameters);
// INVALID_ARGUMENT with the knob's code; `name` as the sentence has it.
absl::Status RefuseRange(const Knob& knob, std::string_view name);
// Refuses the first knob that is out of its range.
absl::Status CheckKnobs(std::span<const Knob> knobs,
                        const RunParameters& parameters);

// False if no mechanism has the name.
bool MechanismHas(std::string_view name, bool Mechanism::*property);
// `dpnmf train` takes the name.
bool CanBeTrained(const Mechanism& mechanism);
// The run gives W, whose parts can be shown and compared with another run's. A
// run on ratings gives an item model instead.
bool GivesParts(const Mechanism& mechanism);

// StagePlan::release of S_G, the second moment: of `moments` and `aimed`.
inline constexpr std::string_view kReleaseOfMoments = "moments";

// Shared by the files of common/privacy/mechanism.

// 1 to kMaxRounds; nothing to check.
RoundsRange AnyRounds(const RunParameters& parameters,
                      const DatasetFacts& facts);
absl::Status CheckNothing(const RunParameters& parameters,
                          const DatasetFacts& facts);

// floor(share * whole), share in (0, 1] cut to 48 bits.
MuSquared ShareOf(MuSquared whole, double share);
// whole - part; part <= whole.
MuSquared Less(MuSquared whole, MuSquared part);

// A sum over people of products x y', |x| and |y| at most c, on the lattice
// 4^-bits: rows x columns, 2 c^2 c^2 under replace one
// (docs/reference/privacy.md, theorems 3, 4 and 4a).
PartDraft PartOfProducts(std::string name, std::uint64_t rows,
                         std::uint64_t columns, bool symmetric, int bits,
                         MuSquared allowance, const DatasetFacts& facts);
// m^2, m the largest entry of a quantised vector.
Uint128 LargestProductSteps(int bits, const DatasetFacts& facts);

// Checks moment_rows against the data set. moments.cc.
absl::Status CheckMomentRows(const RunParameters& parameters,
                             const DatasetFacts& facts);
// S_v, published as "mean". moments.cc.
StageDraft StageOfMean(MuSquared allowance, int bits,
                       const DatasetFacts& facts);

// Rounds of A (K x K) and B (D x K), published as `release`.
StageDraft StageOfStatistics(std::string release, std::uint32_t rounds,
                             MuSquared allowance, int bits,
                             const RunParameters& parameters,
                             const DatasetFacts& facts);
// Mechanism::uses of a run of such rounds alone.
bool StatisticsUse(std::string_view field, const RunParameters& parameters,
                   const DatasetFacts& facts);
// A round with a dictionary reads the field to fit each person's h.
bool FitUses(std::string_view field);

// Returns true if `fields` contains the field.
bool IsOneOf(std::string_view field,
             std::initializer_list<std::string_view> fields);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_MECHANISM_H_
