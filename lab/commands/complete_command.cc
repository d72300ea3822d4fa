#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "common/files/durable_file.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "curator/import/readers/ratings.h"
#include "lab/commands/commands.h"
#include "lab/commands/evaluate_ratings_command.h"
#include "lab/complete/input.h"
#include "lab/complete/model_file.h"
#include "lab/complete/private_rows.h"
#include "lab/complete/report.h"
#include "lab/complete/svd.h"
#include "lab/complete/weights.h"
#include "lab/evaluate/page.h"
#include "lab/papers/aux_nmf.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

struct CompleteFlags {
  CompletionFiles files;
  std::string rows, columns;  // of `update`
  std::string model, output, data_dir;
  std::vector<double> weights = {0.2, 0, 0.8};
  std::vector<std::uint32_t> clusters = {7, 7};
  int rounds = 10;
  int rank = 13;
  double holdout = 0.1;
  std::string split = "10:90";
  int step = 100;
  bool is_public = false;
  std::optional<std::uint64_t> seed;
  PrivateRowsOptions dp;
};

absl::StatusOr<CompletionOptions> OptionsOf(const CompleteFlags& flags) {
  if (flags.weights.size() != 3) {
    return BadInput(
        "complete-weights",
        "`--weights` must be three numbers that add up to 1: of the "
        "ratings, of the clusters of people, of those of items.");
  }
  if (flags.clusters.size() != 2) {
    return BadInput(
        "complete-clusters",
        "`--clusters` must be two numbers: the clusters of people and "
        "those of items.");
  }
  CompletionOptions options;
  options.weights = {flags.weights[0], flags.weights[1], flags.weights[2]};
  options.people_clusters = static_cast<int>(std::min(
      flags.clusters[0], static_cast<std::uint32_t>(kLargestRatingUnits)));
  options.item_clusters = static_cast<int>(std::min(
      flags.clusters[1], static_cast<std::uint32_t>(kLargestRatingUnits)));
  options.rounds = flags.rounds;
  DPNMF_RETURN_IF_ERROR(CheckAuxWeights(options.weights));
  return options;
}

Json JsonOf(const AuxWeights& weights) {
  return {weights.ratings, weights.people, weights.items};
}

Json JsonOf(const ColdRows& cold) {
  return {{"by_weight", cold.by_weight},
          {"by_cluster", cold.by_cluster},
          {"by_prior", cold.by_prior}};
}

Json ParametersOf(const Completion& completion) {
  return {
      {"weights", JsonOf(completion.weights)},
      {"clusters", {completion.factors.u.cols(), completion.factors.v.cols()}},
      {"rounds", completion.rounds}};
}

void ReportColdRows(const char* what, const ColdRows& cold,
                    std::vector<std::string>* said) {
  if (cold.by_weight > 0) {
    said->push_back(absl::StrCat(
        cold.by_weight, " ", what,
        " without a rating get the indicator of their nearest centroid, "
        "because clusters have a weight."));
  }
  if (cold.by_cluster > 0) {
    said->push_back(absl::StrCat(
        cold.by_cluster, " ", what,
        " without a rating get the mean of the rated rows of their nearest "
        "centroid."));
  }
  if (cold.by_prior > 0) {
    said->push_back(absl::StrCat(
        cold.by_prior, " ", what,
        " without a rating and without a cluster that has one get the prior: "
        "the mean of all rows."));
  }
}

void SayClusters(const char* what, const Side& side,
                 std::vector<std::string>* said) {
  if (side.clusters.reseeded > 0) {
    said->push_back(absl::StrCat(
        "K-means of ", what,
        " left a cluster empty (times: ", side.clusters.reseeded,
        "); each time the cluster got the row that was farthest from its "
        "centroid."));
  }
}

// One run of a subcommand: what it read, drew and found.
struct Run {
  Run(const CompleteFlags& given, const char* subcommand)
      : flags(given), command(subcommand), draws(given.seed) {}

  // Before anything is read or written.
  absl::Status Begin() {
    if (flags.seed.has_value() && !flags.is_public) {
      return BadInput("seed-needs-public",
                      "`--seed` needs --public: with a seed that somebody may "
                      "guess, the random numbers can be repeated.");
    }
    DPNMF_RETURN_IF_ERROR(CheckDataDir(flags.data_dir));
    if (!flags.data_dir.empty()) {
      DPNMF_ASSIGN_OR_RETURN(key, LoadOrCreateFingerprintKey(flags.data_dir));
    }
    absl::PrintF("%s\n", std::string(kPublicationWarning));
    std::fflush(stdout);
    InterruptGently();
    return absl::OkStatus();
  }

  absl::Status Load() {
    DPNMF_ASSIGN_OR_RETURN(loaded, LoadCompletion(flags.files, Interrupted));
    if (loaded.input.people.size() < 2) {
      return BadInput("complete-people",
                      "The ratings are of one person: a table that is "
                      "completed and attacked needs two people at least.");
    }
    said = loaded.said;
    return absl::OkStatus();
  }

  void Add(std::string method, const CompletionMeasures& measures,
           double seconds) {
    CompletionResult result;
    result.method = std::move(method);
    result.measures = measures;
    result.seconds = seconds;
    results.push_back(std::move(result));
  }

  // Rows `mean` (which says nothing of a cell: its Pi is the ceiling) and
  // `svd`. A rank above what the table has is one row less, said.
  absl::Status AddBaselines(const SparseRatings& ratings,
                            const SparseRatings& test, bool rank_is_asked) {
    Stopwatch watch;
    const double mean = ratings.size() == 0
                            ? 0
                            : Eigen::Map<const Eigen::VectorXd>(
                                  ratings.values.data(),
                                  static_cast<Eigen::Index>(ratings.size()))
                                  .mean();
    const Eigen::VectorXd row =
        Eigen::VectorXd::Constant(ratings.columns, mean);
    Add("mean", Measure(ratings, test, [&](Eigen::Index) { return row; }),
        watch.Seconds());
    watch = Stopwatch();
    const absl::StatusOr<TruncatedSvd> svd =
        MeanImputedSvd(ratings, ColumnMeans(ratings), flags.rank);
    const double seconds = watch.Seconds();
    if (!svd.ok() && rank_is_asked) return svd.status();
    if (!svd.ok()) {
      said.push_back(absl::StrCat("The SVD of rank ", flags.rank,
                                  " was left out: the table has less."));
      return absl::OkStatus();
    }
    svd_row = SvdRow(*svd);
    Add("svd", Measure(ratings, test, svd_row), seconds);
    return absl::OkStatus();
  }

  // Attacks the last result's table, and writes it as a draft if it is to be
  // published. Too large a table is neither attacked nor written, said.
  absl::Status Score(const std::vector<std::string>& people,
                     const std::vector<std::string>& items,
                     const SparseRatings& ratings, const CompletedRow& row,
                     const Json* parameters) {
    CompletionResult& result = results.back();
    if (ratings.rows() * ratings.columns > kMostDraftCells) {
      said.push_back(absl::StrCat("The table of ", result.method,
                                  " was not attacked, and no draft was "
                                  "written: it has more than ",
                                  kMostDraftCells, " cells."));
      return absl::OkStatus();
    }
    const Table table = PublishedTable(people, items, row);
    AttackOptions options;
    options.seed = flags.seed;
    options.threads = flags.dp.threads;
    options.stop = Interrupted;
    DPNMF_ASSIGN_OR_RETURN(result.attacks,
                           AttackCompleted(ratings, table, options));
    if (parameters == nullptr) return absl::OkStatus();
    DraftRequest request;
    request.output = flags.output;
    request.method = result.method;
    request.parameters = *parameters;
    request.attacks = result.attacks;
    request.key = key;
    request.items_declared = !flags.files.items.empty();
    return WriteCompletedDraft(request, ratings, table);
  }

  // metrics.csv, results.json, report.html and the terminal.
  absl::StatusOr<ExitCode> Finish(const SparseRatings& ratings, Json more) {
    more["subcommand"] = command;
    more["public"] = flags.is_public;
    more["said"] = said;
    DPNMF_RETURN_IF_ERROR(
        ReplaceDurably(flags.output + "/metrics.csv", MetricsCsv(results)));
    const std::string& data =
        flags.files.ratings.empty() ? flags.model : flags.files.ratings;
    Json options = {{"subcommand", command},
                    {"test", flags.files.test},
                    {"public", flags.is_public}};
    if (flags.seed.has_value()) options["seed"] = *flags.seed;
    if (more.contains("parameters")) options.update(more["parameters"]);
    PublicationReport report = ReportOf(std::filesystem::path(data).filename(),
                                        ratings, results, std::move(more));
    report.options = std::move(options);
    DPNMF_RETURN_IF_ERROR(WriteReport(flags.output, report));
    PrintResults(results);
    for (const std::string& sentence : said) absl::PrintF("%s\n", sentence);
    for (const std::string& sentence : Findings(report))
      absl::PrintF("%s\n", sentence);
    absl::PrintF("wrote metrics.csv, results.json and report.html to %s\n",
                 flags.output);
    return kExitOk;
  }

  const CompleteFlags& flags;
  const std::string command;
  Draws draws;
  std::optional<FingerprintKey> key;
  LoadedCompletion loaded;
  CompletedRow svd_row;
  std::vector<CompletionResult> results;
  std::vector<std::string> said;
};

Json SizesOf(const LoadedCompletion& loaded) {
  return {{"people", loaded.input.people.size()},
          {"items", loaded.input.items.size()},
          {"ratings", loaded.input.ratings.size()},
          {"test", loaded.test.size()},
          {"rating_range",
           {RatingText(loaded.scale.low_units),
            RatingText(loaded.scale.high_units)}}};
}

absl::StatusOr<ExitCode> RunFit(const CompleteFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const CompletionOptions options, OptionsOf(flags));
  Run run(flags, "fit");
  DPNMF_RETURN_IF_ERROR(run.Begin());
  DPNMF_RETURN_IF_ERROR(CheckNoDraft(flags.output, "aux-nmf"));
  DPNMF_RETURN_IF_ERROR(run.Load());
  const LoadedCompletion& loaded = run.loaded;
  DPNMF_ASSIGN_OR_RETURN(
      const FitOutcome fit,
      FitCompletion(loaded.input, options, &run.draws, Interrupted));
  // Steps that may refuse come before anything is written.
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<CompletionResult> dp,
      PrivateResults(loaded, flags.dp, &run.draws, Interrupted));
  const Completion& completion = fit.completion;
  SayClusters("people", completion.people, &run.said);
  SayClusters("items", completion.items, &run.said);
  ReportColdRows("people", fit.cold_people, &run.said);
  ReportColdRows("items", fit.cold_items, &run.said);
  if (fit.undone)
    run.said.push_back(
        "The last round increased L: it was undone, and the fit ended.");
  const CompletedRow rows = completion.Rows();
  const SparseRatings& ratings = loaded.input.ratings;
  const Json parameters = ParametersOf(completion);
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(
      WriteCompletion(flags.output + "/model.bin", completion, run.key));
  run.Add("aux-nmf", Measure(ratings, loaded.test, rows), fit.seconds);
  DPNMF_RETURN_IF_ERROR(run.Score(loaded.input.people, loaded.input.items,
                                  ratings, rows, &parameters));
  DPNMF_RETURN_IF_ERROR(run.AddBaselines(ratings, loaded.test,
                                         /*rank_is_asked=*/false));
  if (run.svd_row) {
    DPNMF_RETURN_IF_ERROR(run.Score(loaded.input.people, loaded.input.items,
                                    ratings, run.svd_row, nullptr));
  }
  run.results.insert(run.results.end(), dp.begin(), dp.end());
  return run.Finish(ratings,
                    {{"sizes", SizesOf(loaded)},
                     {"parameters", parameters},
                     {"objective", fit.objective},
                     {"undone", fit.undone},
                     {"cluster_seconds", fit.cluster_seconds},
                     {"people_clusters", completion.people.clusters.members},
                     {"item_clusters", completion.items.clusters.members},
                     {"cold_people", JsonOf(fit.cold_people)},
                     {"cold_items", JsonOf(fit.cold_items)},
                     {"model", "model.bin"}});
}

Json JsonOf(const RefitAdvice& advice) {
  return {{"judged", advice.judged},
          {"update_mae", JsonNumber(advice.update_mae)},
          {"refit_mae", JsonNumber(advice.refit_mae)},
          {"standard_error", JsonNumber(advice.standard_error)},
          {"update_seconds", advice.update_seconds},
          {"refit_seconds", advice.refit_seconds},
          {"pays", advice.pays()}};
}

void SayUpdate(const char* what, const UpdateOutcome& outcome,
               const RefitAdvice& advice, std::vector<std::string>* said) {
  said->push_back(absl::StrCat(
      outcome.added, " ", what, " were added, and ", outcome.filled,
      " that had no rating before have ratings now; only these rows were "
      "fitted."));
  if (outcome.unlabelled > 0) {
    said->push_back(absl::StrCat(
        outcome.unlabelled, " new ", what,
        " have no features or labels, so they belong to no cluster."));
  }
  ReportColdRows(what, outcome.cold, said);
  if (advice.judged >= 2) {
    said->push_back(absl::StrFormat(
        "On %d held-out new ratings the error is %.4f after this update and "
        "%.4f after a refit of everything: %s",
        advice.judged, advice.update_mae, advice.refit_mae,
        advice.pays() ? "a refit pays."
                      : "a refit does not pay yet (not lower by two standard "
                        "errors)."));
  } else {
    said->push_back(
        "There are too few new ratings to say whether a refit pays.");
  }
}

absl::StatusOr<UpdateFiles> UpdateFilesOf(const CompleteFlags& flags,
                                          bool by_people) {
  UpdateFiles files;
  files.ratings = by_people ? flags.rows : flags.columns;
  const std::string& other_features =
      by_people ? flags.files.item_features : flags.files.user_features;
  const std::string& other_labels =
      by_people ? flags.files.item_labels : flags.files.user_labels;
  if (!other_features.empty() || !other_labels.empty()) {
    return BadInput(
        "complete-flags-mixed",
        by_people ? "`update --rows` adds people: give features or labels of "
                    "people, not of items."
                  : "`update --columns` adds items: give features or labels "
                    "of items, not of people.");
  }
  files.features =
      by_people ? flags.files.user_features : flags.files.item_features;
  files.labels = by_people ? flags.files.user_labels : flags.files.item_labels;
  files.test = flags.files.test;
  return files;
}

absl::StatusOr<ExitCode> RunUpdate(const CompleteFlags& flags) {
  if (flags.rows.empty() == flags.columns.empty()) {
    return BadInput(
        "complete-flags-mixed",
        "`update` takes either --rows, for new people, or --columns, "
        "for new items.");
  }
  const bool by_people = !flags.rows.empty();
  Run run(flags, "update");
  DPNMF_RETURN_IF_ERROR(run.Begin());
  DPNMF_RETURN_IF_ERROR(CheckNoDraft(flags.output, "aux-nmf"));
  DPNMF_ASSIGN_OR_RETURN(Completion completion,
                         ReadCompletion(flags.model, run.key));
  DPNMF_ASSIGN_OR_RETURN(const UpdateFiles files,
                         UpdateFilesOf(flags, by_people));
  DPNMF_ASSIGN_OR_RETURN(const LoadedRows loaded,
                         LoadRows(files, by_people, completion, Interrupted));
  // Judged on a copy, before the update takes all new ratings in.
  DPNMF_ASSIGN_OR_RETURN(
      const RefitAdvice advice,
      AdviseRefit(loaded.rows, &run.draws,
                  by_people ? completion : Transposed(completion)));
  DPNMF_ASSIGN_OR_RETURN(
      const UpdateOutcome outcome,
      by_people ? UpdateRows(loaded.rows, &run.draws, &completion)
                : UpdateColumns(loaded.rows, &run.draws, &completion));
  SayUpdate(by_people ? "people" : "items", outcome, advice, &run.said);
  const CompletedRow rows = completion.Rows();
  run.Add("aux-nmf", Measure(completion.ratings, loaded.test, rows),
          outcome.seconds);
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(
      WriteCompletion(flags.output + "/model.bin", completion, run.key));
  const Json parameters = ParametersOf(completion);
  DPNMF_RETURN_IF_ERROR(run.Score(completion.people.ids, completion.items.ids,
                                  completion.ratings, rows, &parameters));
  return run.Finish(
      completion.ratings,
      {{"parameters", parameters},
       {"direction", by_people ? "rows" : "columns"},
       {"added", outcome.added},
       {"filled", outcome.filled},
       {"cold", JsonOf(outcome.cold)},
       {"objective", outcome.objective},
       {"update_seconds", outcome.seconds},
       {"since_fit",
        {{"people", completion.ratings.rows() - completion.fitted_people},
         {"items", completion.ratings.columns - completion.fitted_items}}},
       {"refit", JsonOf(advice)},
       {"model", "model.bin"}});
}

absl::StatusOr<ExitCode> RunSvd(const CompleteFlags& flags) {
  Run run(flags, "svd");
  DPNMF_RETURN_IF_ERROR(run.Begin());
  DPNMF_RETURN_IF_ERROR(CheckNoDraft(flags.output, "svd"));
  DPNMF_RETURN_IF_ERROR(run.Load());
  const LoadedCompletion& loaded = run.loaded;
  DPNMF_RETURN_IF_ERROR(run.AddBaselines(loaded.input.ratings, loaded.test,
                                         /*rank_is_asked=*/true));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  const Json parameters = {{"rank", flags.rank}, {"missing", "item means"}};
  DPNMF_RETURN_IF_ERROR(run.Score(loaded.input.people, loaded.input.items,
                                  loaded.input.ratings, run.svd_row,
                                  &parameters));
  return run.Finish(loaded.input.ratings,
                    {{"sizes", SizesOf(loaded)}, {"parameters", parameters}});
}

void PrintProgress(const std::string& title, int number, int count) {
  PrintTrial(static_cast<std::size_t>(number), static_cast<std::size_t>(count),
             title);
}

absl::StatusOr<ExitCode> RunWeights(const CompleteFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const CompletionOptions options, OptionsOf(flags));
  if (!(flags.holdout > 0 && flags.holdout < 1)) {
    return BadInput("complete-holdout",
                    "`--holdout` must be above 0 and below 1: the share of the "
                    "ratings on which the settings are compared.");
  }
  Run run(flags, "weights");
  DPNMF_RETURN_IF_ERROR(run.Begin());
  DPNMF_RETURN_IF_ERROR(run.Load());
  const absl::StatusOr<std::vector<GridPoint>> judged =
      JudgeWeights(run.loaded.input, options, flags.holdout, &run.draws,
                   Interrupted, PrintProgress);
  ClearTrial();
  DPNMF_RETURN_IF_ERROR(judged.status());
  const GridPoint best = BestOf(*judged);
  // The best setting from all ratings, and what the test says of it.
  CompletionOptions chosen = options;
  chosen.weights = best.weights;
  DPNMF_ASSIGN_OR_RETURN(
      const FitOutcome fit,
      FitCompletion(run.loaded.input, chosen, &run.draws, Interrupted));
  run.Add(
      "aux-nmf",
      Measure(run.loaded.input.ratings, run.loaded.test, fit.completion.Rows()),
      fit.seconds);
  run.said.push_back(
      absl::StrFormat("--weights %g,%g,%g has the least error on the held-out "
                      "ratings, %.4f, of "
                      "%d settings.",
                      best.weights.ratings, best.weights.people,
                      best.weights.items, best.mae, judged->size()));
  TrialTable table("ratings,people,items,mae");
  Json grid = Json::array();
  for (const GridPoint& point : *judged) {
    table.Add({point.weights.ratings, point.weights.people, point.weights.items,
               point.mae});
    grid.push_back(
        {{"weights", JsonOf(point.weights)}, {"mae", JsonNumber(point.mae)}});
  }
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(flags.output + "/weights.csv", table.Csv()));
  return run.Finish(run.loaded.input.ratings, {{"sizes", SizesOf(run.loaded)},
                                               {"holdout", flags.holdout},
                                               {"best", JsonOf(best.weights)},
                                               {"grid", grid}});
}

// "10:90": 10, 20 ... 90.
absl::StatusOr<std::vector<int>> SplitsOf(const std::string& text) {
  const std::size_t colon = text.find(':');
  int first = 0, last = 0;
  if (!absl::SimpleAtoi(text.substr(0, colon), &first)) first = 0;
  if (colon == std::string::npos) {
    last = first;
  } else if (!absl::SimpleAtoi(text.substr(colon + 1), &last)) {
    last = 0;
  }
  if (!(first >= 1 && last <= 99 && first <= last)) {
    return BadInput(
        "complete-split",
        "`--split` must be FIRST:LAST in per cent, from 1 to 99: the share of "
        "rows or columns at the start, in steps of 10.");
  }
  std::vector<int> splits;
  for (int split = first; split <= last; split += 10) splits.push_back(split);
  return splits;
}

absl::StatusOr<ExitCode> RunExperimentCommand(const CompleteFlags& flags) {
  ExperimentOptions options;
  DPNMF_ASSIGN_OR_RETURN(options.completion, OptionsOf(flags));
  DPNMF_ASSIGN_OR_RETURN(options.splits, SplitsOf(flags.split));
  options.svd_rank = flags.rank;
  options.step = flags.step;
  Run run(flags, "experiment");
  DPNMF_RETURN_IF_ERROR(run.Begin());
  DPNMF_RETURN_IF_ERROR(run.Load());
  const absl::StatusOr<std::vector<ExperimentPoint>> points =
      RunExperiment(run.loaded.input, run.loaded.test, options, &run.draws,
                    Interrupted, PrintProgress);
  ClearTrial();
  DPNMF_RETURN_IF_ERROR(points.status());
  TrialTable table(
      "part,direction,method,split,ratings,people,items,fit_seconds,"
      "update_seconds,mae,pi_all,pi_rated");
  Json all = Json::array();
  for (const ExperimentPoint& point : *points) {
    const bool aux = point.method == "aux-nmf";
    const CompletionMeasures& measures = point.measures;
    const auto weight = [&](double of_aux) {
      return aux ? of_aux : kNotMeasured;
    };
    table.Add({point.part, point.direction, point.method, point.split,
               weight(point.weights.ratings), weight(point.weights.people),
               weight(point.weights.items), point.fit_seconds,
               point.update_seconds, measures.mae, measures.pi_all,
               measures.pi_rated});
    all.push_back({{"part", point.part},
                   {"direction", point.direction},
                   {"method", point.method},
                   {"split", point.split},
                   {"weights", aux ? JsonOf(point.weights) : Json(nullptr)},
                   {"fit_seconds", point.fit_seconds},
                   {"update_seconds", point.update_seconds},
                   {"mae", JsonNumber(measures.mae)},
                   {"pi_all", JsonNumber(measures.pi_all)},
                   {"pi_rated", JsonNumber(measures.pi_rated)}});
    if (point.part == "whole")
      run.Add(point.method, measures, point.fit_seconds);
  }
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(flags.output + "/experiment.csv", table.Csv()));
  return run.Finish(run.loaded.input.ratings, {{"sizes", SizesOf(run.loaded)},
                                               {"step", flags.step},
                                               {"rank", flags.rank},
                                               {"experiment", all}});
}

// ---- Flags

using Flags = std::vector<Flag>;
using RunSubcommand = absl::StatusOr<ExitCode>(const CompleteFlags& flags);

Flags Together(std::initializer_list<Flags> groups) {
  Flags all;
  for (const Flags& group : groups)
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

Flags OutputFlags(CompleteFlags* flags) {
  return {Flag("--output", &flags->output,
               "Directory for metrics.csv, results.json and a draft",
               {.value = "DIR", .required = true}),
          Flag("--data-dir", &flags->data_dir,
               "Data directory whose key recognises people: a draft without "
               "it cannot be published",
               {.value = "DIR"}),
          Flag("--public", &flags->is_public,
               "Declare the data public or generated"),
          Flag("--seed", &flags->seed,
               "Seed of starts and splits; needs --public [from the system]")};
}

Flags RatingFlags(CompleteFlags* flags) {
  return {Flag("--ratings", &flags->files.ratings,
               "Ratings to learn from: lines of user, item, rating",
               {.value = "FILE", .required = true}),
          Flag("--test", &flags->files.test,
               "Ratings that the error is measured on", {.value = "FILE"}),
          Flag("--items", &flags->files.items,
               "File with the items' ids, one a line [those of the files]",
               {.value = "FILE"}),
          Flag("--rating-range", &flags->files.rating_range,
               "Declared range of a rating: LOW,HIGH [that of the file]")};
}

Flags SideFlags(CompleteFlags* flags) {
  return {Flag("--user-features", &flags->files.user_features,
               "CSV with a header: the people's ids, then their features, "
               "numbers or words",
               {.value = "FILE"}),
          Flag("--item-features", &flags->files.item_features,
               "The same of the items", {.value = "FILE"}),
          Flag("--user-labels", &flags->files.user_labels,
               "Clusters of people given directly: lines of id, label",
               {.value = "FILE"}),
          Flag("--item-labels", &flags->files.item_labels,
               "Clusters of items given directly: lines of id, label",
               {.value = "FILE"})};
}

Flags FitFlags(CompleteFlags* flags) {
  return {Flag("--clusters", &flags->clusters,
               "K,L: clusters of people and of items", {.shown = true}),
          Flag("--rounds", &flags->rounds, "Most rounds",
               {.range = {1, 1000000}, .shown = true})};
}

// Flags of every command that fits: input and settings.
Flags LearningFlags(CompleteFlags* flags) {
  return Together({RatingFlags(flags), SideFlags(flags), FitFlags(flags)});
}

Flag WeightsFlag(CompleteFlags* flags) {
  return Flag("--weights", &flags->weights,
              "Weights of the ratings, the clusters of people and those of "
              "items; they add up to 1",
              {.shown = true});
}

Flag RankFlag(CompleteFlags* flags) {
  return Flag("--rank", &flags->rank, "Rank of the SVD",
              {.range = {1, 1000000}, .shown = true});
}

}  // namespace

Command CompleteCommand() {
  const auto flags = std::make_shared<CompleteFlags>();
  CompleteFlags* const to = flags.get();
  to->dp.threads = DefaultThreads();
  const auto command = [&](const char* name, const char* summary,
                           std::initializer_list<Flags> groups,
                           RunSubcommand* run) {
    return Command{.name = name,
                   .summary = summary,
                   .flags = Together({Together(groups), OutputFlags(to)}),
                   .run = [flags, run] { return run(*flags); }};
  };
  const Command fit = command(
      "fit", "Complete a table of ratings by Aux-NMF",
      {LearningFlags(to),
       {WeightsFlag(to), RankFlag(to),
        Flag("--epsilon", &to->dp.epsilon,
             "Also complete with differential privacy at these epsilons; "
             "needs --rating-range"),
        Flag("--delta", &to->dp.delta, "Delta of each epsilon",
             {.shown = true})}},
      RunFit);
  const Command update = command(
      "update", "Add people or items to a completed table by iAux-NMF",
      {{Flag("--model", &to->model, "model.bin of a fit or an update",
             {.value = "FILE", .required = true}),
        Flag("--rows", &to->rows, "Ratings of new people", {.value = "FILE"}),
        Flag("--columns", &to->columns, "Ratings of new items",
             {.value = "FILE"}),
        Flag("--test", &to->files.test, "Ratings that the error is measured on",
             {.value = "FILE"})},
       SideFlags(to)},
      RunUpdate);
  const Command weights = command(
      "weights", "Compare all weights in steps of .1 on held-out ratings",
      {LearningFlags(to),
       {Flag("--holdout", &to->holdout,
             "Share of the ratings on which the settings are compared",
             {.shown = true})}},
      RunWeights);
  const Command svd =
      command("svd", "Complete a table by item means and a truncated SVD",
              {RatingFlags(to), {RankFlag(to)}}, RunSvd);
  const Command experiment = command(
      "experiment", "Repeat the publication's figures and tables on a file",
      {LearningFlags(to),
       {WeightsFlag(to), RankFlag(to),
        Flag("--split", &to->split,
             "FIRST:LAST, per cent of rows or columns at the start, in steps "
             "of 10",
             {.shown = true}),
        Flag("--step", &to->step, "Rows or columns of each update",
             {.range = {1, 1000000000}, .shown = true})}},
      RunExperimentCommand);
  return {.name = "complete",
          .summary =
              "Complete a table of ratings with side information, without "
              "privacy",
          .footer =
              "Aux-NMF fills every cell of a table of ratings, drawn towards "
              "clusters of people\nand items. Nothing protects the people in "
              "it: `dpnmf-lab attack` shows what attacks find.\nExample:\n  "
              "dpnmf-lab complete fit --ratings train.tsv --test test.tsv \\\n "
              "   --user-features users.csv --item-features items.csv \\\n    "
              "--clusters 7,7 --weights .2,0,.8 --rounds 10 --output done",
          .commands = {fit, update, weights, svd, experiment}};
}

}  // namespace dpnmf::curator::lab
