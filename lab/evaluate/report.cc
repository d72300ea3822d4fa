#include "lab/evaluate/report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "lab/evaluate/assets.h"
#include "lab/evaluate/paper.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

// --- CSV

std::vector<Cell> SettingCells(const EvaluateOptions& options,
                               const Evaluation& evaluation,
                               const Setting& setting) {
  return {evaluation.name,
          DataNameOf(setting),
          NameOf(setting.method),
          setting.outliers ? "on" : "off",
          setting.epsilon,
          TakesEpsilon(setting.method) ? options.delta : kNotMeasured,
          setting.rounds > 0 ? Cell(setting.rounds) : Cell("")};
}

// Rule that turns mu^2 into epsilon in this setting; empty without privacy.
std::string ConversionFor(const Setting& setting,
                          const EvaluateOptions& options) {
  if (!TakesEpsilon(setting.method)) return "";
  const bool published = setting.method == Method::kPaper ||
                         setting.method == Method::kPaperNndsvd;
  return published ? "published"
                   : std::string(dpnmf::NameOf(options.conversion));
}

// --- JSON

Json JsonOf(const Setting& setting) {
  return {
      {"data", DataNameOf(setting)},
      {"mechanism", NameOf(setting.method)},
      {"outliers", setting.outliers},
      {"epsilon", JsonNumber(setting.epsilon)},
      {"rounds", setting.rounds > 0 ? Json(setting.rounds) : Json(nullptr)}};
}

Json JsonOf(const Result& result) {
  Json json = JsonOf(result.setting);
  json["repeat"] = result.repeat;
  json["epsilon_per_round"] = JsonNumber(result.epsilon_per_round);
  json["objective"] = result.objective;
  json["npmi"] = JsonNumber(result.npmi);
  json["umass"] = JsonNumber(result.umass);
  json["seconds"] = result.seconds;
  Json rounds = Json::array(), objectives = Json::array();
  for (const CurvePoint& point : result.curve) {
    rounds.push_back(point.round);
    objectives.push_back(point.objective);
  }
  json["curve"] = {{"rounds", rounds}, {"objectives", objectives}};
  return json;
}

Json JsonOf(const Summary& summary) {
  Json json = JsonOf(summary.setting);
  json["repeats"] = summary.repeats;
  json["epsilon_per_round"] = JsonNumber(summary.epsilon_per_round);
  json["median"] = summary.objective.median;
  json["least"] = summary.objective.least;
  json["largest"] = summary.objective.largest;
  json["npmi"] = JsonNumber(summary.npmi);
  json["umass"] = JsonNumber(summary.umass);
  json["seconds"] = summary.seconds;
  return json;
}

std::string_view NameOf(OutlierChoice choice) {
  switch (choice) {
    case OutlierChoice::kOff:
      return "off";
    case OutlierChoice::kOn:
      return "on";
    case OutlierChoice::kBoth:
      return "both";
  }
  return "";
}

Json JsonOf(const EvaluateOptions& options) {
  Json rounds = Json::object();
  for (const Method method : MethodsOf(options)) {
    if (TakesRounds(method))
      rounds[std::string(NameOf(method))] = RoundsOf(options, method);
  }
  return {{"users", options.users_are_rows ? "rows" : "columns"},
          {"rank", options.rank},
          {"epsilon", options.epsilon},
          {"delta", options.delta},
          {"conversion", dpnmf::NameOf(options.conversion)},
          {"mechanism", options.mechanisms},
          {"repeats", options.repeats},
          {"seed", options.seed},
          {"outliers", NameOf(options.outliers)},
          {"lambda",
           options.lambda.has_value() ? Json(*options.lambda) : Json(nullptr)},
          {"outlier_bound", options.outlier_bound.has_value()
                                ? Json(*options.outlier_bound)
                                : Json(nullptr)},
          {"outlier_experiment", options.outlier_experiment},
          {"public", options.is_public},
          {"image_width", options.image_width},
          {"image_order", options.image_by_columns ? "column" : "row"},
          {"feature_order", options.feature_order},
          {"rounds", rounds},
          {"priors", options.priors},
          {"loss", std::string(NameOf(options.law.loss))},
          {"sparseness", options.law.sparseness},
          {"threads", options.threads}};
}

// The published algorithm's overall epsilon over its epsilon a round, for the
// rounds that it was run with.
Json PublishedCurves(const EvaluateOptions& options) {
  constexpr int kPoints = 41;  // 0.01 to 100
  const std::vector<Method> methods = MethodsOf(options);
  Json curves = Json::array();
  if (std::find(methods.begin(), methods.end(), Method::kPaper) ==
          methods.end() &&
      std::find(methods.begin(), methods.end(), Method::kPaperNndsvd) ==
          methods.end()) {
    return curves;
  }
  for (const std::uint32_t rounds : RoundsOf(options, Method::kPaper)) {
    Json per_round = Json::array(), overall = Json::array();
    for (int i = 0; i < kPoints; ++i) {
      const double epsilon = std::pow(10, -2 + 4.0 * i / (kPoints - 1));
      per_round.push_back(epsilon);
      overall.push_back(PaperOverallEpsilon(epsilon, rounds, options.delta));
    }
    curves.push_back({{"rounds", rounds},
                      {"epsilon_per_round", per_round},
                      {"epsilon", overall}});
  }
  return curves;
}

Json TopicsJson(const Evaluation& evaluation) {
  Json all = Json::array();
  for (const Result& result : evaluation.results) {
    if (result.topics.empty()) continue;
    Json topics = Json::array();
    for (const Topic& topic : result.topics) {
      Json words = Json::array();
      for (const int word : topic.words) {
        words.push_back(evaluation.vocabulary[static_cast<std::size_t>(word)]);
      }
      topics.push_back(
          {{"words", words}, {"npmi", topic.npmi}, {"umass", topic.umass}});
    }
    Json json = JsonOf(result.setting);
    json["topics"] = topics;
    all.push_back(json);
  }
  return all;
}

// Entries of W as bytes, each column from 0 to its largest entry.
std::string PixelsOf(const Eigen::MatrixXd& w) {
  std::string pixels(static_cast<std::size_t>(w.size()), '\0');
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    const double largest = w.col(k).maxCoeff();
    for (Eigen::Index i = 0; i < w.rows(); ++i) {
      const double share =
          largest > 0 ? std::clamp(w(i, k) / largest, 0.0, 1.0) : 0;
      pixels[static_cast<std::size_t>(k * w.rows() + i)] = static_cast<char>(
          static_cast<unsigned char>(std::lround(255 * share)));
    }
  }
  return absl::Base64Escape(pixels);
}

Json PicturesJson(const Evaluation& evaluation) {
  // Fifty pictures of a hundred thousand pixels a model at most.
  constexpr Eigen::Index kMostPixels = 5'000'000;
  Json pictures = Json::array();
  for (const Result& result : evaluation.results) {
    if (result.w.size() == 0 || result.w.size() > kMostPixels) continue;
    Json json = JsonOf(result.setting);
    json["columns"] = result.w.cols();
    json["pixels"] = PixelsOf(result.w);
    pictures.push_back(json);
  }
  return pictures;
}

Json EvaluationJson(const EvaluateOptions& options,
                    const Evaluation& evaluation) {
  Json summaries = Json::array(), results = Json::array();
  for (const Summary& summary : Summarise(evaluation)) {
    summaries.push_back(JsonOf(summary));
  }
  for (const Result& result : evaluation.results) {
    results.push_back(JsonOf(result));
  }
  return {{"warning", kEvaluateWarning},
          {"dataset", evaluation.name},
          {"features", evaluation.features},
          {"users", evaluation.users},
          {"lambda_used", evaluation.lambda},
          {"outlier_bound_used", evaluation.outlier_bound},
          {"options", JsonOf(options)},
          {"complete", evaluation.complete()},
          {"planned", evaluation.planned},
          {"summary", summaries},
          {"results", results},
          {"published", PublishedCurves(options)},
          {"topics", TopicsJson(evaluation)}};
}

}  // namespace

std::string ResultsCsv(const EvaluateOptions& options,
                       const Evaluation& evaluation) {
  TrialTable table(
      "dataset,data,mechanism,outliers,epsilon,delta,rounds,epsilon_per_round,"
      "repeat,objective,npmi,umass,seconds,conversion");
  for (const Result& result : evaluation.results) {
    table.Add(
        SettingCells(options, evaluation, result.setting),
        {result.epsilon_per_round, result.repeat, result.objective, result.npmi,
         result.umass, absl::StrFormat("%.3f", result.seconds),
         ConversionFor(result.setting, options)});
  }
  return table.Csv();
}

std::string CurvesCsv(const EvaluateOptions& options,
                      const Evaluation& evaluation) {
  TrialTable table(
      "dataset,data,mechanism,outliers,epsilon,delta,rounds,repeat,round,"
      "objective");
  for (const Result& result : evaluation.results) {
    const std::vector<Cell> setting =
        SettingCells(options, evaluation, result.setting);
    for (const CurvePoint& point : result.curve) {
      table.Add(setting, {result.repeat, point.round, point.objective});
    }
  }
  return table.Csv();
}

std::string ResultsJson(const EvaluateOptions& options,
                        const Evaluation& evaluation) {
  return DumpJson(EvaluationJson(options, evaluation), 1) + "\n";
}

std::string ReportHtml(const EvaluateOptions& options,
                       const Evaluation& evaluation) {
  Json data = EvaluationJson(options, evaluation);
  data["pictures"] = PicturesJson(evaluation);
  return Page(kReportScript, data);
}

absl::Status WriteTables(const EvaluateOptions& options,
                         const Evaluation& evaluation) {
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(options.output + "/results.csv",
                                       ResultsCsv(options, evaluation)));
  return ReplaceDurably(options.output + "/curves.csv",
                        CurvesCsv(options, evaluation));
}

absl::Status WriteReport(const EvaluateOptions& options,
                         const Evaluation& evaluation) {
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(options.output + "/results.json",
                                       ResultsJson(options, evaluation)));
  return ReplaceDurably(options.output + "/report.html",
                        ReportHtml(options, evaluation));
}

absl::Status RecordUse(const EvaluateOptions& options, std::string_view time) {
  return RecordUse(options.data_dir.empty() ? options.output : options.data_dir,
                   {{"time", time},
                    {"input", AbsolutePath(options.input)},
                    {"output", AbsolutePath(options.output)},
                    {"options", JsonOf(options)}});
}

}  // namespace dpnmf::curator::lab
