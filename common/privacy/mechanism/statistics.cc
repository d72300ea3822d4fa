// "statistics": T rounds of S_A = sum h h' and S_B = sum u h' for a dictionary.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {

StageDraft StageOfStatistics(std::string release, std::uint32_t rounds,
                             MuSquared allowance, int bits,
                             const RunParameters& parameters,
                             const DatasetFacts& facts) {
  const std::uint64_t rank = parameters.rank;
  const MuSquared round = MuSquared::FromUnits(allowance.units() / rounds);
  const MuSquared a = ShareOf(round, parameters.share_of_a);
  return {.release = std::move(release),
          .rounds = rounds,
          .parts = {PartOfProducts("A", rank, rank, true, bits, a, facts),
                    PartOfProducts("B", facts.features, rank, false, bits,
                                   Less(round, a), facts)}};
}

namespace {

bool IsOutlierBound(const RunParameters& parameters) {
  const double bound = parameters.outlier_bound;
  return bound <= 1e6 && (parameters.outliers ? bound > 0 : bound >= 0);
}

std::string OutliersText(const RunParameters& parameters) {
  if (!parameters.outliers) return "off";
  return absl::StrCat("on, lambda ", FormatNumber(parameters.lambda),
                      ", bound ", FormatNumber(parameters.outlier_bound));
}

template <auto kMember>
std::string NumberText(const RunParameters& parameters) {
  return FormatNumber(parameters.*kMember);
}

// The fit of a person's h reads all but the last, which is share_of_a.
constexpr Knob kKnobs[] = {
    {{"outliers", 7, &RunParameters::outliers},
     {.zero_is_default = false},
     {"--outliers", "", "Whether sparse outliers are separated"},
     {"outliers", OutliersText}},
    {{"lambda", 8, &RunParameters::lambda},
     {.text = "from 0 to 1e6, in units of the data",
      .code = "lambda-out-of-range",
      .most = 1e6,
      .zero_is_default = false},
     {"--lambda", "L",
      "Residual above which an entry is an outlier [2 c/sqrt(D), where c is "
      "the bound of a column]"}},
    {{"outlier_bound", 9, &RunParameters::outlier_bound},
     {.text = "above 0 and at most 1e6, in units of the data (or 0 with "
              "`outliers` off)",
      .code = "outlier-bound-out-of-range",
      .zero_is_default = false,
      .is_good = IsOutlierBound},
     {"--outlier-bound", "M", "Largest outlier [the bound of a column]"}},
    {{"inner_iterations", 10, &RunParameters::inner_iterations},
     {.text = "from 1 to 1000; the usual value is 10",
      .code = "inner-iterations-out-of-range",
      .least = 1,
      .most = 1000},
     {"--inner-iterations", "N",
      "Sweeps of the curator's H step in a round [10]"},
     {"inner iterations", NumberText<&RunParameters::inner_iterations>}},
    {{"share_of_a", 11, &RunParameters::share_of_a},
     kShareRange,
     {"--share-of-a", "X", "Share of a round's cost that is spent on A [0.1]"},
     {"share of A", NumberText<&RunParameters::share_of_a>}}};
static_assert(std::rbegin(kKnobs)->name == "share_of_a");

}  // namespace

std::span<const Knob> KnobsOfEveryRun() { return kKnobs; }

std::span<const Knob> KnobsOfFit() {
  return std::span(kKnobs).first<std::size(kKnobs) - 1>();
}

bool FitUses(std::string_view field) {
  const auto fit = KnobsOfFit();
  return field == "initialisation" ||
         std::any_of(fit.begin(), fit.end(),
                     [&](const Knob& knob) { return knob.name == field; });
}

bool StatisticsUse(std::string_view field, const RunParameters&,
                   const DatasetFacts&) {
  return FitUses(field) || IsOneOf(field, {"rounds", "share_of_a", "step_size",
                                           "steps_per_round"});
}

namespace {

std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  return {StageOfStatistics("statistics", parameters.rounds, whole, bits,
                            parameters, facts)};
}

}  // namespace

extern const Mechanism kStatisticsMechanism = {
    .name = "statistics",
    .summary = "rounds of noised A and B",
    .may_be_federated = true,
    .rounds = AnyRounds,
    .check = CheckNothing,
    .stages = Stages,
    .uses = StatisticsUse,
    .knobs = kKnobs,
    .forecast_by = ForecastBy::kAveragedProducts,
    .forecast_part = "B",
};

}  // namespace dpnmf
