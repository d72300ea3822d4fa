#include "analyst/cli/run_flags.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "analyst/cli/model_file.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

constexpr char kPublicPrefix[] = "public:";

void AddPrivacyFlags(CLI::App* app, RunFlags* flags) {
  app->add_option("--dataset", flags->dataset,
                  "Name of the data set; see 'dpnmf datasets'")
      ->required()
      ->type_name("NAME");
  app->add_option("--rank", flags->rank, "K: how many parts to learn")
      ->required()
      ->type_name("K");
  app->add_option("--rounds", flags->rounds,
                  "Noised releases of the whole run; 30 if not given, as few "
                  "as can be for moments")
      ->type_name("T");
  app->add_option(
         "--epsilon", flags->epsilon,
         "What the whole run may cost, under the data set's conversion")
      ->required()
      ->type_name("E");
  app->add_option("--delta", flags->delta,
                  "Where epsilon is read; the cap's delta if not given")
      ->type_name("D");
}

void AddMechanismFlags(CLI::App* app, RunFlags* flags) {
  app->add_option("--mechanism", flags->mechanism,
                  "auto, moments (one noised second moment), statistics "
                  "(rounds of noised A and B) or gradient (the paper's)")
      ->capture_default_str()
      ->type_name("NAME");
  app->add_option("--moment-rows", flags->moment_rows,
                  "moments: how many features at most; up to 1024 if not given")
      ->type_name("M");
  app->add_option("--share-of-moments", flags->share_of_moments,
                  "moments with further --rounds: share of the run's cost "
                  "before them; 0.5 if not given")
      ->type_name("X");
  app->add_option("--outliers", flags->outliers,
                  "Whether sparse outliers are split off")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->capture_default_str()
      ->type_name("on|off");
  app->add_option("--lambda", flags->lambda,
                  "A residual beyond this is an outlier; 2 c/sqrt(D) if not "
                  "given, c the bound of a column")
      ->type_name("L");
  app->add_option("--outlier-bound", flags->outlier_bound,
                  "Largest outlier; the bound of a column if not given")
      ->type_name("M");
  app->add_option("--inner-iterations", flags->inner_iterations,
                  "Sweeps of the curator's H step in a round")
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--share-of-a", flags->share_of_a,
                  "Share of a round's cost that is spent on A; 0.1 if not "
                  "given")
      ->type_name("X");
}

void AddLearnerFlags(CLI::App* app, RunFlags* flags) {
  app->add_option("--init", flags->init,
                  "First dictionary: random, or public:FILE (.npy or .csv, D x "
                  "K, known to everybody)")
      ->capture_default_str()
      ->type_name("random|public:FILE");
  app->add_option("--seed", flags->seed,
                  "Of the random first dictionary alone; never of noise")
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--step-size", flags->step_size,
                  "Step of the W update in units of 1/|A|; 1 if not given")
      ->type_name("X");
  app->add_option("--steps-per-round", flags->steps_per_round,
                  "W steps on each release, which cost nothing; 200 if not "
                  "given")
      ->type_name("N");
}

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

absl::StatusOr<Eigen::MatrixXd> PublicDictionary(const RunFlags& flags,
                                                 const v1::Dataset& dataset) {
  const std::string path(absl::StripPrefix(flags.init, kPublicPrefix));
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd w, ReadMatrixFile(path));
  if (static_cast<std::uint64_t>(w.rows()) != dataset.features() ||
      w.cols() != static_cast<Eigen::Index>(flags.rank)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "init-shape-mismatch",
                   absl::StrCat("'", path, "' is ", w.rows(), " x ", w.cols(),
                                "; this run needs a dictionary of ",
                                dataset.features(), " x ", flags.rank, "."));
  }
  return w;
}

}  // namespace

void AddRunFlags(CLI::App* app, RunFlags* flags) {
  AddPrivacyFlags(app, flags);
  AddMechanismFlags(app, flags);
  AddLearnerFlags(app, flags);
}

double DefaultLambda(const v1::Dataset& dataset) {
  return 2 * dataset.column_bound() /
         std::sqrt(static_cast<double>(dataset.features()));
}

v1::RunSpecification SpecificationOf(const RunFlags& flags,
                                     const v1::Dataset& dataset) {
  v1::RunSpecification specification;
  v1::RunParameters* parameters = specification.mutable_parameters();
  parameters->set_dataset(flags.dataset);
  parameters->set_rank(flags.rank);
  parameters->set_rounds(flags.rounds);
  parameters->set_epsilon(flags.epsilon);
  parameters->set_delta(flags.delta.value_or(dataset.guarantee().delta()));
  parameters->set_mechanism(flags.mechanism);
  parameters->set_moment_rows(flags.moment_rows);
  parameters->set_share_of_moments(flags.share_of_moments);
  if (flags.outliers == "on") {
    parameters->set_outliers(true);
    parameters->set_lambda(flags.lambda.value_or(DefaultLambda(dataset)));
    parameters->set_outlier_bound(
        flags.outlier_bound.value_or(dataset.column_bound()));
  }
  parameters->set_inner_iterations(flags.inner_iterations);
  parameters->set_share_of_a(flags.share_of_a);
  parameters->set_adjacency(dataset.guarantee().adjacency());
  parameters->set_conversion(dataset.guarantee().conversion());
  v1::LearnerOptions* learner = specification.mutable_learner();
  learner->set_initialisation(flags.init == "random"
                                  ? v1::INITIALISATION_RANDOM
                                  : v1::INITIALISATION_PUBLIC);
  learner->set_seed(flags.seed);
  learner->set_step_size(flags.step_size);
  learner->set_steps_per_round(flags.steps_per_round);
  return specification;
}

absl::StatusOr<PreparedRun> PrepareRun(const AnalystClient& client,
                                       const RunFlags& flags) {
  const bool is_public = absl::StartsWith(flags.init, kPublicPrefix);
  if (!is_public && flags.init != "random") {
    return Refusal(absl::StatusCode::kInvalidArgument, "init-malformed",
                   "`--init` must be random or public:FILE.");
  }
  if (flags.outliers == "off" && (flags.lambda || flags.outlier_bound)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "outliers-off",
                   "`--lambda` and `--outlier-bound` need --outliers on.");
  }
  PreparedRun run;
  DPNMF_ASSIGN_OR_RETURN(run.dataset, FindDataset(client, flags.dataset));
  run.specification = SpecificationOf(flags, run.dataset);
  if (is_public) {
    DPNMF_ASSIGN_OR_RETURN(run.dictionary,
                           PublicDictionary(flags, run.dataset));
  }
  return run;
}

}  // namespace dpnmf::cli
