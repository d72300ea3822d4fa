#include "client/flags/run_flags.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/files/model_file.h"
#include "common/base/error.h"
#include "common/files/feature_rows.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/run_plan.h"
#include "common/wire/convert.h"

namespace dpnmf::cli {
namespace {

constexpr char kPublicPrefix[] = "public:";

absl::StatusOr<std::vector<double>> PublicDictionary(
    const RunFlags& flags, const v1::Dataset& dataset) {
  const std::string path(absl::StripPrefix(flags.init, kPublicPrefix));
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd w, ReadMatrixFile(path));
  if (static_cast<std::uint64_t>(w.rows()) != dataset.features() ||
      w.cols() != static_cast<Eigen::Index>(flags.rank.value_or(0))) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "init-shape-mismatch",
        absl::StrCat("'", path, "' is ", w.rows(), " x ", w.cols(),
                     "; this run needs a dictionary of ", dataset.features(),
                     " x ", flags.rank.value_or(0), "."));
  }
  return std::vector<double>(w.data(), w.data() + w.size());
}

absl::Status CheckMechanism(const std::string& name) {
  const Mechanism* const mechanism = Mechanisms().Find(name);
  if (name == "auto" || (mechanism != nullptr && CanBeTrained(*mechanism)))
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "mechanism-unknown",
      absl::StrCat("`--mechanism` must be auto, ",
                   NamesText(Mechanisms(), CanBeTrained),
                   "; to measure how well W fits, run 'dpnmf objective RUN'."));
}

// The value of the flag, if it was typed; `off` counts as not typed.
template <typename T>
std::optional<T> TypedValue(const Knob& knob, const RunFlags& flags) {
  const auto typed = flags.knobs.find(knob.name);
  if (typed == flags.knobs.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) {
    if (std::get<std::string>(typed->second) == "on") return true;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    if (!std::get<T>(typed->second).empty()) return std::get<T>(typed->second);
  } else {
    return std::get<std::optional<T>>(typed->second);
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> TypedValue(T RunParameters::*member, const RunFlags& flags) {
  return TypedValue<T>(KnobOf(member), flags);
}

bool IsGiven(const Knob& knob, const RunFlags& flags) {
  return std::visit(
      [&]<typename T>(T RunParameters::*) {
        return TypedValue<T>(knob, flags).has_value();
      },
      knob.member);
}

// Sets all knobs and nothing else: to what was typed, else to 0.
RunParameters TypedKnobs(const RunFlags& flags) {
  RunParameters parameters;
  for (const Knob* knob : Knobs()) {
    std::visit(
        [&]<typename T>(T RunParameters::*member) {
          parameters.*member = TypedValue<T>(*knob, flags).value_or(T{});
        },
        knob->member);
  }
  return parameters;
}

Flag FlagOf(const Knob& knob, RunFlags* flags) {
  TypedKnob& typed = flags->knobs[knob.name];
  return std::visit(
      [&]<typename T>(T RunParameters::*) {
        if constexpr (std::is_same_v<T, bool>) {
          return Flag(knob.flag.name, &typed.emplace<std::string>("off"),
                      knob.flag.help, {.one_of = "on|off", .shown = true});
        } else {
          using Typed =
              std::conditional_t<std::is_same_v<T, std::vector<double>>, T,
                                 std::optional<T>>;
          return Flag(knob.flag.name, &typed.emplace<Typed>(), knob.flag.help,
                      {.value = knob.flag.value});
        }
      },
      knob.member);
}

// On the wire 0 stands for a default, so a 0 that was typed stops here.
absl::Status CheckNumbers(const RunFlags& flags) {
  if (flags.rank == 0u)
    return Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
                   "`--rank` must be 1 or more.");
  if (flags.rounds == 0u)
    return Refusal(absl::StatusCode::kInvalidArgument, "rounds-out-of-range",
                   "`--rounds` must be 1 or more.");
  if (flags.steps_per_round == 0u)
    return Refusal(absl::StatusCode::kInvalidArgument, "steps-out-of-range",
                   "`--steps-per-round` must be from 1 to 10,000.");
  if (flags.step_size && !(*flags.step_size > 0 && *flags.step_size <= 2))
    return Refusal(absl::StatusCode::kInvalidArgument, "step-size-out-of-range",
                   "`--step-size` must be above 0 and at most 2.");
  const RunParameters typed = TypedKnobs(flags);
  for (const Knob* knob : Knobs()) {
    if (IsGiven(*knob, flags) &&
        (!IsInRange(*knob, typed) ||
         (knob->range.zero_is_default && IsZero(*knob, typed))))
      return RefuseRange(*knob, knob->flag.name);
  }
  return absl::OkStatus();
}

// The first flag that was given and whose field `plays_part` denies; empty if
// there is none. Fields have their names on the wire.
std::string UnusedFlag(
    const RunFlags& flags,
    const std::function<bool(std::string_view field)>& plays_part) {
  for (const Knob* knob : Knobs())
    if (IsGiven(*knob, flags) && !plays_part(knob->name))
      return knob->flag.name;
  const struct {
    std::string_view flag, field;
    bool given;
  } all[] = {
      {"--init", "initialisation", flags.init != "random"},
      {"--non-negative", "non_negative", flags.non_negative},
      {"--loss", "loss", flags.law.loss == "kl"},
      {"--sparse", "sparseness", flags.law.sparse.has_value()},
      {"--step-size", "step_size", flags.step_size.has_value()},
      {"--steps-per-round", "steps_per_round",
       flags.steps_per_round.has_value()},
  };
  for (const auto& [flag, field, given] : all)
    if (given && !plays_part(field)) return std::string(flag);
  return "";
}

// `auto` takes a mechanism that fits; for ratings there is one alone.
absl::Status CheckUse(const RunFlags& flags, const v1::Dataset& dataset) {
  const std::string name = flags.mechanism == "auto" && dataset.has_ratings()
                               ? std::string(kRatingsMechanism.name)
                               : flags.mechanism;
  const Mechanism* const mechanism = Mechanisms().Find(name);
  if (mechanism == nullptr) return absl::OkStatus();
  DatasetFacts facts;
  facts.features = dataset.features();
  RunParameters parameters = TypedKnobs(flags);
  if (parameters.moment_rows == 0)
    parameters.moment_rows = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(facts.features, kMaxMomentRows));
  const auto unused_of = [&](std::uint32_t rounds) {
    parameters.rounds = rounds;
    return UnusedFlag(flags, [&](std::string_view field) {
      return mechanism->uses(field, parameters, facts);
    });
  };
  const std::string unused = unused_of(flags.rounds.value_or(0));
  if (unused.empty()) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "flag-unused",
      absl::StrCat(
          "`", unused, "` has no effect on a run with --mechanism ", name,
          unused_of(kMaxRounds) == unused ? "" : " without further --rounds",
          dataset.has_ratings() ? "; remove it."
                                : "; remove it, or choose another mechanism."));
}

// The rows of --rows; the server checks the rest.
absl::Status NameRows(const RunFlags& flags, const v1::Dataset& dataset,
                      v1::RunSpecification* specification) {
  if (flags.rows.empty()) return absl::OkStatus();
  if (specification->parameters().moment_rows() != 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                   "--rows says how many rows there are: leave out "
                   "--moment-rows.");
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> rows,
                         ReadFeatureRows(flags.rows, kMaxMomentRows));
  if (rows.back() >= dataset.features()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "feature-rows-malformed",
        absl::StrCat("'", flags.rows, "' names feature ", rows.back(),
                     "; the last one of data set '", dataset.name(), "' is ",
                     dataset.features() - 1, "."));
  }
  specification->mutable_learner()->mutable_rows()->Assign(rows.begin(),
                                                           rows.end());
  specification->mutable_parameters()->set_moment_rows(
      static_cast<std::uint32_t>(rows.size()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Dataset> FindDataset(const AnalystClient& client,
                                        const std::string& name) {
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.ListDatasets());
  std::vector<std::string> names;
  for (const v1::Dataset& dataset : reply.datasets()) {
    if (dataset.name() == name) return dataset;
    names.push_back(dataset.name());
  }
  return Refusal(
      absl::StatusCode::kNotFound, "dataset-unknown",
      absl::StrCat("There is no data set '", name, "'; this analyst may use: ",
                   names.empty() ? "none" : absl::StrJoin(names, ", "), "."));
}

std::string MechanismHelp() {
  std::string help = "auto";
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    if (!CanBeTrained(*mechanism)) continue;
    absl::StrAppend(&help, ", ", std::string(mechanism->name), " (",
                    std::string(mechanism->summary), ")");
  }
  return help;
}

std::vector<Flag> FlagsOfRun(RunFlags* flags) {
  static const std::string mechanisms = MechanismHelp();
  std::vector<Flag> table = {
      Flag("--dataset", &flags->dataset,
           "Name of the data set; see 'dpnmf datasets' [required without "
           "--federation]",
           {.value = "NAME"}),
      Flag("--federation", &flags->federation,
           "Instead: name of a federation of curators; the run learns from the "
           "people of all of them",
           {.value = "NAME"}),
      Flag("--rank", &flags->rank,
           "K: number of parts to learn; for ratings the largest number of "
           "entries in a person's profile [for ratings: by the data set's "
           "size; else required]",
           {.value = "K"}),
      Flag("--rounds", &flags->rounds,
           "Noised releases of the whole run [30; for moments and ratings the "
           "least number]",
           {.value = "T"}),
      Flag("--epsilon", &flags->epsilon,
           "Epsilon that the whole run may cost, under the data set's "
           "conversion",
           {.value = "E", .required = true}),
      Flag("--delta", &flags->delta,
           "Delta at which epsilon is read [that of the cap]", {.value = "D"}),
      Flag("--mechanism", &flags->mechanism, mechanisms.c_str(),
           {.value = "NAME", .shown = true}),
  };
  for (const Knob* knob : Knobs())
    if (*knob->flag.name != '\0') table.push_back(FlagOf(*knob, flags));
  const std::vector<Flag> rest = {
      Flag("--rows", &flags->rows,
           "Only for moments: file with the features of the second moment, "
           "fewer than all and at most 1024: numbers from 0, one on each line "
           "[those with the largest mean]",
           {.value = "FILE"}),
      Flag("--non-negative", &flags->non_negative,
           "Only for ratings: an item model with non-negative parts, which are "
           "easier to interpret (`dpnmf top`); its predictions are a little "
           "worse"),
      Flag("--init", &flags->init,
           "First dictionary: random, or public:FILE (.npy or .csv, D x K, "
           "known to everybody)",
           {.value = "random|public:FILE", .shown = true}),
      Flag("--seed", &flags->seed,
           "Seed of the random first dictionary; it has no influence on the "
           "noise",
           {.value = "N", .shown = true}),
      Flag("--step-size", &flags->step_size,
           "Step of the W update in units of 1/|A| [1]", {.value = "X"}),
      Flag("--steps-per-round", &flags->steps_per_round,
           "W steps on each release; they cost no budget [200]",
           {.value = "N"}),
      Flag("--even-if-unreliable", &flags->even_if_unreliable,
           "Start the run even if few of its parts, or none, can be expected "
           "to be reliable"),
  };
  table.insert(table.end(), rest.begin(), rest.end());
  for (const Flag& flag : FlagsOfLaw(&flags->law)) table.push_back(flag);
  return table;
}

double DefaultLambda(const v1::Dataset& dataset) {
  return 2 * dataset.column_bound() /
         std::sqrt(static_cast<double>(dataset.features()));
}

v1::RunSpecification SpecificationOf(const RunFlags& flags,
                                     const v1::Dataset& dataset) {
  v1::RunSpecification specification;
  RunParameters run = TypedKnobs(flags);
  run.dataset = flags.dataset;
  run.rank = flags.rank.value_or(0);
  run.rounds = flags.rounds.value_or(0);
  run.epsilon = flags.epsilon;
  run.delta = flags.delta.value_or(dataset.guarantee().delta());
  run.mechanism = flags.mechanism;
  if (run.outliers) {
    run.lambda = TypedValue(&RunParameters::lambda, flags)
                     .value_or(DefaultLambda(dataset));
    run.outlier_bound = TypedValue(&RunParameters::outlier_bound, flags)
                            .value_or(dataset.column_bound());
  }
  // A repeated request must have the bytes of the first, and every client has
  // sent this default.
  if (run.inner_iterations == 0)
    run.inner_iterations = RunParameters().inner_iterations;
  v1::RunParameters* parameters = specification.mutable_parameters();
  *parameters = ToProto(run);
  parameters->set_adjacency(dataset.guarantee().adjacency());
  parameters->set_conversion(dataset.guarantee().conversion());
  v1::LearnerOptions* learner = specification.mutable_learner();
  learner->set_initialisation(flags.init == "random"
                                  ? v1::INITIALISATION_RANDOM
                                  : v1::INITIALISATION_PUBLIC);
  learner->set_seed(flags.seed);
  learner->set_non_negative(flags.non_negative);
  SetLaw(flags.law, learner);
  learner->set_step_size(flags.step_size.value_or(0));
  learner->set_steps_per_round(flags.steps_per_round.value_or(0));
  specification.set_hopeless(flags.even_if_unreliable);
  return specification;
}

absl::StatusOr<std::string> DatasetOrFederation(const std::string& dataset,
                                                const std::string& federation) {
  if (dataset.empty() == federation.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                   "Give either --dataset or --federation.");
  }
  return dataset.empty() ? federation : dataset;
}

absl::StatusOr<PreparedRun> PrepareRun(const AnalystClient& client,
                                       const RunFlags& typed) {
  RunFlags flags = typed;
  DPNMF_ASSIGN_OR_RETURN(flags.dataset,
                         DatasetOrFederation(typed.dataset, typed.federation));
  const bool is_public = absl::StartsWith(flags.init, kPublicPrefix);
  if (!is_public && flags.init != "random") {
    return Refusal(absl::StatusCode::kInvalidArgument, "init-malformed",
                   "`--init` must be random or public:FILE.");
  }
  if (!TypedValue(&RunParameters::outliers, flags) &&
      (TypedValue(&RunParameters::lambda, flags) ||
       TypedValue(&RunParameters::outlier_bound, flags))) {
    return Refusal(absl::StatusCode::kInvalidArgument, "outliers-off",
                   "`--lambda` and `--outlier-bound` need --outliers on.");
  }
  DPNMF_RETURN_IF_ERROR(CheckMechanism(flags.mechanism));
  DPNMF_RETURN_IF_ERROR(CheckNumbers(flags));
  PreparedRun run;
  DPNMF_ASSIGN_OR_RETURN(run.dataset, FindDataset(client, flags.dataset));
  const Mechanism* const mechanism = Mechanisms().Find(flags.mechanism);
  const bool has_rank = mechanism == nullptr || mechanism->learns_dictionary;
  if (!flags.rank.has_value() && !run.dataset.has_ratings() && has_rank) {
    return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                   absl::StrCat("--rank is required for a data set that does "
                                "not hold ratings; see 'dpnmf ",
                                flags.command, " --help'."));
  }
  DPNMF_RETURN_IF_ERROR(CheckUse(flags, run.dataset));
  run.specification = SpecificationOf(flags, run.dataset);
  DPNMF_RETURN_IF_ERROR(NameRows(flags, run.dataset, &run.specification));
  if (is_public) {
    DPNMF_ASSIGN_OR_RETURN(run.dictionary,
                           PublicDictionary(flags, run.dataset));
  }
  return run;
}

}  // namespace dpnmf::cli
