#include "lab/ratings/report.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "lab/evaluate/assets.h"
#include "lab/evaluate/page.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const Metrics& metrics) {
  return {{"rmse", JsonNumber(metrics.rmse)},
          {"mae", JsonNumber(metrics.mae)},
          {"recall20", JsonNumber(metrics.recall20)},
          {"ndcg20", JsonNumber(metrics.ndcg20)},
          {"coverage", JsonNumber(metrics.coverage)}};
}

Json JsonOf(const PopularityGroup& group) {
  return {{"name", group.name},
          {"items", group.items},
          {"rating_share", JsonNumber(group.rating_share)},
          {"list_share", JsonNumber(group.list_share)},
          {"listed_share", JsonNumber(group.listed_share)},
          {"rmse", JsonNumber(group.rmse)},
          {"recall", JsonNumber(group.recall)}};
}

Json JsonOf(const RatingsResult& result) {
  Json json = {{"method", NameOf(result.method)},
               {"epsilon", JsonNumber(result.epsilon)},
               {"repeat", result.repeat}};
  json.update(JsonOf(result.metrics));
  json["seconds"] = result.seconds;
  json["epsilon_per_round"] =
      result.epsilon_per_round > 0 ? Json(result.epsilon_per_round) : nullptr;
  return json;
}

Json JsonOf(const RatingsSummary& summary) {
  Json groups = Json::array();
  for (const PopularityGroup& group : summary.median.groups)
    groups.push_back(JsonOf(group));
  return {{"method", NameOf(summary.method)},
          {"epsilon", JsonNumber(summary.epsilon)},
          {"repeats", summary.repeats},
          {"median", JsonOf(summary.median)},
          {"least", JsonOf(summary.least)},
          {"largest", JsonOf(summary.largest)},
          {"groups", groups},
          {"seconds", summary.seconds}};
}

// Cost of a run, by release: shares of mu^2 as planned.
Json JsonOf(const PlanOfEpsilon& planned) {
  const double whole = planned.plan.cost.ToDouble();
  Json releases = Json::array();
  for (const StagePlan& stage : planned.plan.stages) {
    releases.push_back(
        {{"release", stage.release},
         {"rounds", stage.rounds},
         {"share", stage.rounds * stage.cost_per_round.ToDouble() / whole}});
  }
  return {{"epsilon", planned.epsilon},
          {"rank", planned.parameters.rank},
          {"moment_rows", planned.parameters.moment_rows},
          {"profile_directions", planned.parameters.profile_directions},
          {"releases", releases}};
}

std::string_view EndOf(const StudyRun& study) {
  if (study.run.diverged) return "diverged";
  return study.run.rounds < study.options.rounds ? "converged" : "rounds";
}

Json JsonOf(const StudyRun& study) {
  Json curve = Json::array();
  for (const PublishedRound& point : study.run.curve) {
    curve.push_back({{"round", point.round},
                     {"train_rmse", point.train_rmse},
                     {"held_out_rmse", JsonNumber(point.held_out_rmse)},
                     {"claimed_epsilon", point.claimed_epsilon}});
  }
  return {{"study", study.study},
          {"epsilon_per_round", study.options.epsilon_per_round},
          {"n", study.options.profile_length},
          {"step", study.options.step},
          {"rounds", study.run.rounds},
          {"ms_per_round", 1000 * study.run.seconds_per_round},
          {"ended", EndOf(study)},
          {"curve", curve}};
}

Json JsonOf(const EvaluateRatingsOptions& options) {
  return {{"rating_range", options.rating_range},
          {"adjacency", dpnmf::NameOf(options.run.adjacency)},
          {"epsilon", options.epsilon},
          {"delta", options.run.delta},
          {"conversion", dpnmf::NameOf(options.run.conversion)},
          {"holdout", options.holdout},
          {"by", NameOf(options.by)},
          {"methods", options.methods},
          {"repeats", options.repeats},
          {"seed", options.seed},
          {"users_count", options.users_count.has_value()
                              ? Json(*options.users_count)
                              : Json(nullptr)},
          {"unlisted", options.drop_unlisted ? "drop" : "refuse"},
          {"rank", options.run.rank},
          {"moment_rows", options.run.moment_rows},
          {"profile_directions", options.run.profile_directions},
          {"non_negative", options.run.non_negative},
          {"shares", options.run.shares},
          {"public", options.is_public},
          {"published_study", options.published_study},
          {"threads", options.threads}};
}

template <typename T>
Json ArrayOf(const std::vector<T>& values) {
  Json all = Json::array();
  for (const T& value : values) all.push_back(JsonOf(value));
  return all;
}

Json EvaluationJson(const EvaluateRatingsOptions& options,
                    const RatingsEvaluation& evaluation) {
  return {{"warning", kEvaluateWarning},
          {"dataset", evaluation.name},
          {"items", evaluation.items},
          {"item_features", evaluation.features},
          {"people", evaluation.people},
          {"users", evaluation.users},
          {"ratings", evaluation.ratings},
          {"replaced", evaluation.replaced},
          {"unlisted", evaluation.unlisted},
          {"list_length", kListLength},
          {"options", JsonOf(options)},
          {"complete", evaluation.complete()},
          {"planned", evaluation.planned},
          {"summary", ArrayOf(Summarise(evaluation))},
          {"results", ArrayOf(evaluation.results)},
          {"plans", ArrayOf(evaluation.plans)},
          {"study", ArrayOf(evaluation.study)}};
}

}  // namespace

std::string ResultsCsv(const RatingsEvaluation& evaluation) {
  TrialTable table("method,epsilon,repeat,rmse,mae,recall20,ndcg20");
  for (const RatingsResult& result : evaluation.results) {
    const Metrics& metrics = result.metrics;
    table.Add({NameOf(result.method), result.epsilon, result.repeat,
               metrics.rmse, metrics.mae, metrics.recall20, metrics.ndcg20});
  }
  return table.Csv();
}

std::string PublishedCsv(const RatingsEvaluation& evaluation) {
  TrialTable table(
      "study,epsilon_per_round,n,step,round,train_rmse,held_out_rmse,"
      "claimed_epsilon,ms_per_round,ended");
  for (const StudyRun& study : evaluation.study) {
    const PublishedOptions& options = study.options;
    const bool noise = options.epsilon_per_round > 0;
    for (const PublishedRound& point : study.run.curve) {
      const bool last = &point == &study.run.curve.back();
      table.Add({study.study, noise ? options.epsilon_per_round : kNotMeasured,
                 options.profile_length, options.step, point.round,
                 point.train_rmse, point.held_out_rmse,
                 noise ? point.claimed_epsilon : kNotMeasured,
                 absl::StrFormat("%.3f", 1000 * study.run.seconds_per_round),
                 last ? EndOf(study) : ""});
    }
  }
  return table.Csv();
}

std::string ResultsJson(const EvaluateRatingsOptions& options,
                        const RatingsEvaluation& evaluation) {
  return DumpJson(EvaluationJson(options, evaluation), 1) + "\n";
}

std::string ReportHtml(const EvaluateRatingsOptions& options,
                       const RatingsEvaluation& evaluation) {
  return Page(kRatingsScript, EvaluationJson(options, evaluation));
}

absl::Status WriteTables(const EvaluateRatingsOptions& options,
                         const RatingsEvaluation& evaluation) {
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(options.output + "/results.csv", ResultsCsv(evaluation)));
  if (!options.published_study) return absl::OkStatus();
  return ReplaceDurably(options.output + "/published.csv",
                        PublishedCsv(evaluation));
}

absl::Status WriteReport(const EvaluateRatingsOptions& options,
                         const RatingsEvaluation& evaluation) {
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(options.output + "/results.json",
                                       ResultsJson(options, evaluation)));
  return ReplaceDurably(options.output + "/report.html",
                        ReportHtml(options, evaluation));
}

absl::Status RecordUse(const EvaluateRatingsOptions& options,
                       std::string_view time) {
  return RecordUse(options.data_dir.empty() ? options.output : options.data_dir,
                   {{"time", time},
                    {"input", AbsolutePath(options.ratings)},
                    {"items", AbsolutePath(options.items)},
                    {"output", AbsolutePath(options.output)},
                    {"options", JsonOf(options)}});
}

}  // namespace dpnmf::curator::lab
