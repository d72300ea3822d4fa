#include "lab/distort/study.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using nlohmann::ordered_json;

// Draws for one purpose: what else is drawn does not change them.
Draws DrawsFor(const DistortStudyOptions& options, std::string_view purpose) {
  if (!options.seed.has_value()) return Draws(std::nullopt);
  return Draws(SeedFor(*options.seed, purpose));
}

// All methods of one core and algorithm share its start.
Draws DrawsOf(const DistortStudyOptions& options, const DistortMethod& method) {
  return DrawsFor(options,
                  method.core == DistortCore::kNoise ? method.name : "start");
}

class DistortStudent {
 public:
  DistortStudent(const Table& table, const DistortStudyOptions& options)
      : table_(table), a_(table.values), options_(options) {
    options_.svm.stop = options_.stop;
    options_.distort.nmf.stop = options_.stop;
  }

  absl::Status Prepare(DistortStudy* study) {
    DPNMF_RETURN_IF_ERROR(CheckDistort(a_, options_.methods, options_.distort));
    study->people = a_.rows();
    study->columns = a_.cols();
    study->length = a_.norm();
    if (table_.classes.empty()) {
      if (!options_.rank_search || options_.distort.nmf.stop_at_vd.has_value())
        return absl::OkStatus();
      return Refusal(absl::StatusCode::kInvalidArgument,
                     "rank-search-needs-class",
                     "A rank is chosen by accuracy or by distortion; give "
                     "--class-column C, or --stop-at-vd X.");
    }
    Draws draws = DrawsFor(options_, "folds");
    DPNMF_ASSIGN_OR_RETURN(folds_,
                           FoldsOf(table_.classes, options_.svm, &draws));
    Say("accuracy of the original table");
    DPNMF_ASSIGN_OR_RETURN(const Accuracy accuracy,
                           SvmAccuracy(a_, a_, *folds_, options_.svm));
    study->original_accuracy = accuracy.original;
    return absl::OkStatus();
  }

  // Sets `values` to the distorted table.
  absl::StatusOr<DistortOutcome> Run(const DistortMethod& method,
                                     const DistortStudy& study,
                                     MatrixXd* values) {
    const Stopwatch watch;
    DistortOutcome outcome;
    outcome.method = &method;
    outcome.options = OptionsFor(method);
    Draws draws = DrawsOf(options_, method);
    if (method.core == DistortCore::kNoise) {
      Say(std::string(method.name));
      DPNMF_ASSIGN_OR_RETURN(
          *values, Distort(a_, method, outcome.options, &cache_, &draws));
      DPNMF_ASSIGN_OR_RETURN(outcome.figures, FiguresOf(*values, 0));
    } else {
      DPNMF_ASSIGN_OR_RETURN(
          const DistortFactors factors,
          DistortFactorsOf(a_, method, outcome.options, &cache_, &draws));
      if (options_.rank_search) {
        DPNMF_RETURN_IF_ERROR(SearchRank(study, factors, &outcome));
      }
      const int kept = outcome.options.kept.value_or(outcome.options.rank);
      values->noalias() =
          factors.left.leftCols(kept) * factors.right.topRows(kept);
      DPNMF_ASSIGN_OR_RETURN(outcome.figures, FiguresOf(*values, kept));
      if (const NmfResult* const result = cache_.NmfOf(method)) {
        outcome.nmf = *result;
        outcome.nmf->factors = {};
        outcome.sparseness_w = Sparseness(factors.left);
        outcome.sparseness_h = Sparseness(factors.right);
      }
    }
    outcome.seconds = watch.Seconds();
    return outcome;
  }

  absl::Status Score(const Table& distorted, DistortOutcome* outcome) {
    const DistortMethod& method = *outcome->method;
    Say(absl::StrCat(std::string(method.name), ": attacks"));
    AttackOptions attack = options_.attack;
    attack.seed.reset();
    if (options_.seed.has_value())
      attack.seed = SeedFor(*options_.seed, "attack");
    attack.stop = options_.stop;
    attack.progress = [&](std::string_view which, double share) {
      Say(absl::StrFormat("%s: attack by %s, %.0f %%", std::string(method.name),
                          std::string(which), 100 * share));
    };
    Draws draws =
        DrawsFor(options_, absl::StrCat(std::string(method.name), " again"));
    // Half of the people must have all components.
    if (method.core == DistortCore::kNoise ||
        a_.rows() / 2 >= std::max<Index>(options_.distort.rank,
                                         method.transposed ? a_.cols() : 1)) {
      attack.publish = [&](const std::vector<int>& rows) {
        return Again(method, outcome->options, rows, &draws);
      };
    }
    DPNMF_ASSIGN_OR_RETURN(outcome->attack, Attack(table_, distorted, attack));
    return absl::OkStatus();
  }

 private:
  void Say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  DistortOptions OptionsFor(const DistortMethod& method) const {
    DistortOptions options = options_.distort;
    if (options_.progress && method.core == DistortCore::kNmf) {
      options.nmf.progress = [this, &method](const NmfProgress& progress) {
        Say(absl::StrFormat("%s: iteration %d, VD %.4f, %.1f s",
                            std::string(method.name), progress.iteration,
                            progress.distortion, progress.seconds));
      };
    }
    return options;
  }

  absl::StatusOr<DistortFigures> FiguresOf(const MatrixXd& values,
                                           int kept) const {
    DistortFigures figures;
    figures.kept = kept;
    figures.objective = (a_ - values).norm();
    figures.vd = ValueDifference(a_, values);
    const BothPlaceChanges places = PlaceChangesOf(a_, values);
    figures.by_sort_index = places.by_sort_index;
    figures.by_rank = places.by_rank;
    if (folds_.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(figures.accuracy,
                             SvmAccuracy(a_, values, *folds_, options_.svm));
    }
    return figures;
  }

  absl::Status SearchRank(const DistortStudy& study,
                          const DistortFactors& factors,
                          DistortOutcome* outcome) const {
    const DistortFigures* best = nullptr;
    outcome->ranks.reserve(static_cast<std::size_t>(outcome->options.rank));
    for (int r = outcome->options.rank; r >= 1; --r) {
      Say(absl::StrCat(std::string(outcome->method->name), ": rank ", r));
      DPNMF_ASSIGN_OR_RETURN(
          DistortFigures figures,
          FiguresOf(factors.left.leftCols(r) * factors.right.topRows(r), r));
      outcome->ranks.push_back(std::move(figures));
      const DistortFigures& last = outcome->ranks.back();
      const bool useful =
          !last.accuracy.has_value() ||
          last.accuracy->distorted >=
              study.original_accuracy.value_or(0) - options_.accuracy_loss;
      const auto wanted = outcome->options.nmf.stop_at_vd;
      const bool distorted = !wanted.has_value() || last.vd >= *wanted;
      // Without an accuracy the least distortion that is enough.
      const bool better =
          best == nullptr ||
          (last.accuracy.has_value() ? last.vd > best->vd : last.vd < best->vd);
      if (useful && distorted && better) best = &last;
    }
    outcome->options.kept =
        best == nullptr ? outcome->options.rank : best->kept;
    return absl::OkStatus();
  }

  // The same method on some of the people, with draws of its own.
  absl::StatusOr<Table> Again(const DistortMethod& method,
                              const DistortOptions& options,
                              const std::vector<int>& rows,
                              Draws* draws) const {
    DistortCache cache;
    DistortOptions quiet = options;
    quiet.nmf.progress = {};
    Table published;
    DPNMF_ASSIGN_OR_RETURN(
        published.values,
        Distort(a_(rows, Eigen::all), method, quiet, &cache, draws));
    return published;
  }

  const Table& table_;
  const MatrixXd& a_;
  DistortStudyOptions options_;
  std::optional<Folds> folds_;
  DistortCache cache_;
};

ordered_json JsonOf(const PlaceChanges& changes) {
  return {{"rp", changes.rp},
          {"rk", changes.rk},
          {"cp", changes.cp},
          {"ck", changes.ck}};
}

void AddFigures(const DistortFigures& figures, ordered_json* json) {
  if (figures.kept > 0) (*json)["kept"] = figures.kept;
  (*json)["vd"] = figures.vd;
  (*json)["objective"] = figures.objective;
  (*json)["places"] = {{"sort_index", JsonOf(figures.by_sort_index)},
                       {"rank", JsonOf(figures.by_rank)}};
  (*json)["accuracy"] = nullptr;
  (*json)["accuracy_on_original_rows"] = nullptr;
  if (figures.accuracy.has_value()) {
    (*json)["accuracy"] = figures.accuracy->distorted;
    (*json)["accuracy_on_original_rows"] = figures.accuracy->original;
  }
}

ordered_json JsonOf(const NmfResult& result) {
  return {{"iterations", result.iterations},
          {"seconds", result.seconds},
          {"first_gradient", result.first_gradient},
          {"last_gradient", result.last_gradient},
          {"first_objective", result.first_objective},
          {"objective", result.objective},
          {"stopped_by", NameOf(result.stop)}};
}

}  // namespace

int MostIterationsFor(Index numbers) {
  const double affordable = 1e10 / static_cast<double>(numbers);
  return static_cast<int>(std::clamp(affordable, 100.0, 20'000.0));
}

absl::StatusOr<DistortStudy> StudyDistortions(
    const Table& table, const DistortStudyOptions& options,
    const std::function<absl::Status(const DistortOutcome& outcome,
                                     const Table& distorted)>& keep) {
  DistortStudy study;
  DistortStudent student(table, options);
  DPNMF_RETURN_IF_ERROR(student.Prepare(&study));
  Table distorted;
  distorted.columns = table.columns;
  distorted.ids = table.ids;
  distorted.classes = table.classes;
  for (const DistortMethod* method : options.methods) {
    DPNMF_ASSIGN_OR_RETURN(DistortOutcome outcome,
                           student.Run(*method, study, &distorted.values));
    DPNMF_RETURN_IF_ERROR(student.Score(distorted, &outcome));
    DPNMF_RETURN_IF_ERROR(keep(outcome, distorted));
    study.outcomes.push_back(std::move(outcome));
  }
  return study;
}

absl::StatusOr<std::vector<NmfTrial>> NmfTrials(
    const MatrixXd& a, const DistortStudyOptions& options) {
  constexpr int kMostIterations = 50'000;
  constexpr std::array kTolerances = {1e-3, 1e-4, 1e-5, 1e-6};
  std::vector<NmfTrial> trials;
  const auto add = [&](NmfTrial trial, const NmfFactors& start) {
    NmfOptions nmf = options.distort.nmf;
    nmf.tolerance = trial.tolerance;
    nmf.stop_at_vd.reset();
    nmf.stop = options.stop;
    nmf.progress = {};
    if (trial.table == 3) nmf.iterations = kMostIterations;
    if (options.progress) {
      options.progress(absl::StrFormat(
          "table %s: rank %d, tolerance %g, %s",
          trial.table == 2 ? "II" : "III", trial.rank, trial.tolerance,
          trial.multiplicative ? "multiplicative" : "projected gradients"));
    }
    trial.result = trial.multiplicative ? NmfMultiplicative(a, start, nmf)
                                        : NmfProjectedGradient(a, start, nmf);
    trial.result.factors = {};
    trials.push_back(std::move(trial));
    if (trials.back().result.stop != NmfStop::kStopped) return absl::OkStatus();
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   "Interrupted while factorising.");
  };
  const int rank = options.distort.rank;
  const int most =
      static_cast<int>(std::min<Index>({a.rows(), a.cols(), rank + 2}));
  for (int r = most; r >= 1; --r) {
    Draws draws = DrawsFor(options, absl::StrCat("table 2, rank ", r));
    DPNMF_RETURN_IF_ERROR(
        add({.table = 2, .rank = r, .tolerance = options.distort.nmf.tolerance},
            NmfStart(a.rows(), a.cols(), r, &draws)));
  }
  Draws draws = DrawsFor(options, "start");
  const NmfFactors start = NmfStart(a.rows(), a.cols(), rank, &draws);
  for (const double tolerance : kTolerances) {
    for (const bool multiplicative : {false, true}) {
      DPNMF_RETURN_IF_ERROR(add({.table = 3,
                                 .multiplicative = multiplicative,
                                 .rank = rank,
                                 .tolerance = tolerance},
                                start));
    }
  }
  return trials;
}

std::string DistortCsv(const DistortStudy& study) {
  TrialTable table(
      "method,vd,rp,rk,cp,ck,accuracy,linked_all_known,linked_4_known,"
      "membership_auc");
  for (const DistortOutcome& outcome : study.outcomes) {
    const DistortFigures& figures = outcome.figures;
    const PlaceChanges& places = figures.by_sort_index;
    table.Add({outcome.method->name, figures.vd, places.rp, places.rk,
               places.cp, places.ck,
               figures.accuracy.has_value() ? figures.accuracy->distorted
                                            : kNotMeasured},
              MetricsOf(outcome.attack));
  }
  return table.Csv();
}

std::string NmfTrialsCsv(const std::vector<NmfTrial>& trials) {
  TrialTable table(
      "table,algorithm,rank,tolerance,first_gradient,first_objective,"
      "iterations,seconds,last_gradient,objective,stopped_by");
  for (const NmfTrial& trial : trials) {
    const NmfResult& result = trial.result;
    table.Add({trial.table == 2 ? "II" : "III",
               trial.multiplicative ? "nmfm" : "nmf", trial.rank,
               trial.tolerance, result.first_gradient, result.first_objective,
               result.iterations, result.seconds, result.last_gradient,
               result.objective, NameOf(result.stop)});
  }
  return table.Csv();
}

ordered_json ToJson(const DistortOutcome& outcome) {
  ordered_json json = {
      {"method", outcome.method->name},
      {"title", outcome.method->title},
      {"parameters", ToJson(*outcome.method, outcome.options)}};
  AddFigures(outcome.figures, &json);
  json["seconds"] = outcome.seconds;
  if (outcome.nmf.has_value()) {
    json["nmf"] = JsonOf(*outcome.nmf);
    json["sparseness"] = {{"w", *outcome.sparseness_w},
                          {"h", *outcome.sparseness_h}};
  }
  for (const DistortFigures& figures : outcome.ranks) {
    ordered_json row = ordered_json::object();
    AddFigures(figures, &row);
    json["ranks"].push_back(std::move(row));
  }
  if (outcome.method->transposed)
    json["note"] = std::string(kTransposedSentence);
  return json;
}

ordered_json ToJson(const DistortStudy& study,
                    const std::vector<NmfTrial>& trials) {
  ordered_json json = {{"people", study.people},
                       {"columns", study.columns},
                       {"length", study.length},
                       {"accuracy_of_original", nullptr},
                       {"methods", ordered_json::array()}};
  if (study.original_accuracy.has_value())
    json["accuracy_of_original"] = *study.original_accuracy;
  for (const DistortOutcome& outcome : study.outcomes)
    json["methods"].push_back(ToJson(outcome));
  for (const NmfTrial& trial : trials) {
    ordered_json row = {{"algorithm", trial.multiplicative ? "nmfm" : "nmf"},
                        {"rank", trial.rank},
                        {"tolerance", trial.tolerance}};
    row.update(JsonOf(trial.result));
    json[trial.table == 2 ? "table_2" : "table_3"].push_back(std::move(row));
  }
  return json;
}

}  // namespace dpnmf::curator::lab
