#include "lab/complete/report.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "curator/draft/draft.h"
#include "curator/import/people/people.h"
#include "lab/attack/rating_linkage.h"
#include "lab/evaluate/page.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Json = nlohmann::ordered_json;

std::string NameOf(const CompletionResult& result) {
  if (!result.epsilon.has_value()) return result.method;
  return absl::StrFormat("%s@%g", result.method, *result.epsilon);
}

std::string Figure(double value) {
  return std::isnan(value) ? "-" : absl::StrFormat("%.4f", value);
}

PeopleFingerprints PeopleOf(const DraftRequest& request,
                            const std::vector<std::string>& people,
                            const SparseRatings& ratings) {
  PeopleCollector collector(*request.key);
  for (std::size_t i = 0; i < people.size(); ++i) {
    collector.AddId(people[i]);
    if (!request.items_declared) continue;
    const std::size_t begin = ratings.Begin(static_cast<Index>(i));
    const std::size_t end = ratings.Begin(static_cast<Index>(i) + 1);
    const std::vector<float> values(
        ratings.values.begin() + static_cast<std::ptrdiff_t>(begin),
        ratings.values.begin() + static_cast<std::ptrdiff_t>(end));
    collector.AddRow(std::span(ratings.indices).subspan(begin, end - begin),
                     values);
  }
  return collector.Finish();
}

}  // namespace

std::string MetricsCsv(const std::vector<CompletionResult>& results) {
  TrialTable table("method,mae,pi_all,pi_rated");
  for (const CompletionResult& result : results) {
    table.Add({NameOf(result), result.measures.mae, result.measures.pi_all,
               result.measures.pi_rated});
  }
  return table.Csv();
}

Json JsonOf(const CompletionResult& result) {
  return {{"method", result.method},
          {"epsilon",
           result.epsilon.has_value() ? Json(*result.epsilon) : Json(nullptr)},
          {"mae", JsonNumber(result.measures.mae)},
          {"tested", result.measures.tested},
          {"pi_all", JsonNumber(result.measures.pi_all)},
          {"pi_all_ceiling", JsonNumber(result.measures.ceiling_all)},
          {"pi_rated", JsonNumber(result.measures.pi_rated)},
          {"pi_rated_ceiling", JsonNumber(result.measures.ceiling_rated)},
          {"seconds", result.seconds}};
}

void PrintResults(const std::vector<CompletionResult>& results) {
  absl::PrintF("%-20s %8s %18s %18s %9s\n", "method", "MAE", "Pi, all cells",
               "Pi, rated cells", "seconds");
  for (const CompletionResult& result : results) {
    const CompletionMeasures& measures = result.measures;
    absl::PrintF("%-20s %8s %8s of %7s %8s of %7s %9.4f\n", NameOf(result),
                 Figure(measures.mae), Figure(measures.pi_all),
                 Figure(measures.ceiling_all), Figure(measures.pi_rated),
                 Figure(measures.ceiling_rated), result.seconds);
  }
  absl::PrintF(
      "Pi of all cells counts what is not rated as 0: it measures mostly how "
      "sparse the\ntable is. Neither Pi says whether a person can be found.\n");
}

Table PublishedTable(const std::vector<std::string>& people,
                     const std::vector<std::string>& items,
                     const CompletedRow& row) {
  Table table;
  table.columns = items;
  table.ids = people;
  table.values.resize(static_cast<Index>(people.size()),
                      static_cast<Index>(items.size()));
  for (Index i = 0; i < table.values.rows(); ++i) {
    table.values.row(i) = row(i).transpose();
    for (Index j = 0; j < table.values.cols(); ++j)
      table.values(i, j) = std::round(table.values(i, j) * 1e4) / 1e4;
  }
  return table;
}

std::string DraftDirectory(const std::string& output,
                           const std::string& method) {
  return absl::StrCat(output, "/", method);
}

absl::Status CheckNoDraft(const std::string& output,
                          const std::string& method) {
  const std::string directory = DraftDirectory(output, method);
  if (!std::filesystem::exists(directory + "/draft.json"))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kAlreadyExists, "draft-exists",
                 absl::StrCat("`", directory,
                              "` holds a draft already: choose another "
                              "--output, or remove it."));
}

absl::Status WriteCompletedDraft(const DraftRequest& request,
                                 const SparseRatings& ratings,
                                 const Table& table) {
  Draft draft;
  draft.kind = DraftKind::kCompleted;
  draft.method = request.method;
  draft.parameters = request.parameters;
  if (request.attacks.has_value()) {
    draft.attacks = ToJson(*request.attacks);
    draft.largest_linkage = request.attacks->largest_linkage;
  }
  if (request.key.has_value())
    draft.people = PeopleOf(request, table.ids, ratings);
  return WriteDraft(DraftDirectory(request.output, request.method), draft,
                    TableCsv(table));
}

absl::StatusOr<AttackReport> AttackCompleted(const SparseRatings& ratings,
                                             const Table& table,
                                             const AttackOptions& options) {
  return AttackRatings(ToRatingTable(ratings, ScaleOf(ratings)), table.values,
                       options);
}

PublicationReport ReportOf(const std::string& data,
                           const SparseRatings& ratings,
                           const std::vector<CompletionResult>& results,
                           Json more) {
  PublicationReport report;
  report.command = "complete";
  report.data = data;
  report.people = ratings.rows();
  report.columns = ratings.columns;
  // The shape of MovieLens 100K.
  if (report.people == 943 && report.columns == 1682)
    report.published = PublishedFigures::kMovieLens100K;
  const auto figure = [](double value) {
    return std::isnan(value) ? std::nullopt : std::optional<double>(value);
  };
  Json all = Json::array();
  for (const CompletionResult& result : results) {
    all.push_back(JsonOf(result));
    PublicationRow row;
    row.method = result.method;
    row.kind = result.epsilon.has_value() ? "private" : "completed";
    row.epsilon = result.epsilon;
    row.mae = figure(result.measures.mae);
    row.pi_all = figure(result.measures.pi_all);
    row.pi_rated = figure(result.measures.pi_rated);
    row.attacks = result.attacks;
    if (result.epsilon.has_value()) {
      row.note =
          "No table: each person's row is made from the private model and that "
          "person's own ratings, for this person alone.";
    } else if (result.method == "mean") {
      row.note =
          "Every cell is the mean of all ratings: its Pi is the ceiling.";
    }
    report.rows.push_back(std::move(row));
  }
  report.more = std::move(more);
  report.more["results"] = all;
  return report;
}

}  // namespace dpnmf::curator::lab
