#include "curator/lab/publication_report/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "curator/lab/evaluate/page.h"
#include "curator/lab/publication_report/assets.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

// Negative: the publication names none.
constexpr double kUnnamed = -1;

struct PublishedDistortion {
  const char* method;
  double vd, rp, rk, cp, ck, accuracy;
};

// "NMF- and SVD-based data distortion", Wisconsin Breast Cancer, rank 7.
constexpr PublishedDistortion kWisconsinFigures[] = {
    {"ud", .1085, 219.7, .0130, 0, 1, kUnnamed},
    {"nd", .1098, 224.8, .0084, 0, 1, kUnnamed},
    {"svd", .1222, 228.897, .0114, .2222, .7778, .964},
    {"nmf", .1228, 228.43, .0100, .2222, .7778, .967},
    {"snmf", .1228, 228.44, .0076, .2222, .7778, kUnnamed},
    {"cnmf", .1297, 226.5, .0081, .2222, .7778, kUnnamed},
    {"enmf", .1234, 228.2, .0089, 1.11, .56, kUnnamed},
    {"ssvd", 1.2662, 228.14, .0013, 3.33, 0, kUnnamed},
    {"csvd", 1.2702, 230.16, kUnnamed, kUnnamed, kUnnamed, kUnnamed},
    {"esvd", 1.2704, 228.07, kUnnamed, kUnnamed, kUnnamed, kUnnamed},
};

struct PublishedCompletion {
  const char* method;
  double mae, pi;
};

// "Aux-NMF", MovieLens 100K, five folds.
constexpr PublishedCompletion kMovieLensFigures[] = {
    {"aux-nmf", .7481, 1.2948},
    {"svd", .7769, 1.2899},
};

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? JsonNumber(*value) : Json(nullptr);
}

Json OfNamed(double value) {
  return value == kUnnamed ? Json(nullptr) : Json(value);
}

Json JsonOf(const PublicationRow& row) {
  return {{"method", row.method},
          {"kind", row.kind},
          {"epsilon", OrNull(row.epsilon)},
          {"vd", OrNull(row.vd)},
          {"rp", OrNull(row.rp)},
          {"rk", OrNull(row.rk)},
          {"cp", OrNull(row.cp)},
          {"ck", OrNull(row.ck)},
          {"accuracy", OrNull(row.accuracy)},
          {"accuracy_on_original", OrNull(row.accuracy_on_original)},
          {"mae", OrNull(row.mae)},
          {"pi_all", OrNull(row.pi_all)},
          {"pi_rated", OrNull(row.pi_rated)},
          {"attacks",
           row.attacks.has_value() ? ToJson(*row.attacks) : Json(nullptr)},
          {"words", row.attacks.has_value() ? Json(InWords(*row.attacks))
                                            : Json::array()},
          {"note", row.note}};
}

Json PublishedOf(PublishedFigures published) {
  Json figures = Json::array();
  if (published == PublishedFigures::kWisconsin)
    for (const PublishedDistortion& one : kWisconsinFigures)
      figures.push_back({{"method", one.method},
                         {"vd", OfNamed(one.vd)},
                         {"rp", OfNamed(one.rp)},
                         {"rk", OfNamed(one.rk)},
                         {"cp", OfNamed(one.cp)},
                         {"ck", OfNamed(one.ck)},
                         {"accuracy", OfNamed(one.accuracy)}});
  if (published == PublishedFigures::kMovieLens100K)
    for (const PublishedCompletion& one : kMovieLensFigures)
      figures.push_back({{"method", one.method},
                         {"mae", OfNamed(one.mae)},
                         {"pi_all", OfNamed(one.pi)}});
  return figures;
}

// The linkage that finds most; null without one.
const Linkage* StrongestOf(const PublicationRow& row) {
  const Linkage* strongest = nullptr;
  if (!row.attacks.has_value()) return strongest;
  for (const Linkage& one : row.attacks->linkage)
    if (strongest == nullptr || one.linked.value > strongest->linked.value)
      strongest = &one;
  return strongest;
}

Json PublicationJson(const PublicationReport& report) {
  Json rows = Json::array();
  for (const PublicationRow& row : report.rows) rows.push_back(JsonOf(row));
  Json json = {{"warning", kPublicationWarning},
               {"command", report.command},
               {"data", report.data},
               {"people", report.people},
               {"columns", report.columns},
               {"options", report.options},
               {"findings", Findings(report)},
               {"tables", std::move(rows)},
               {"published", PublishedOf(report.published)}};
  if (report.more.is_object()) json.update(report.more);
  return json;
}

}  // namespace

std::vector<std::string> Findings(const PublicationReport& report) {
  std::vector<std::pair<const PublicationRow*, const Linkage*>> attacked;
  for (const PublicationRow& row : report.rows)
    if (const Linkage* strongest = StrongestOf(row); strongest != nullptr)
      attacked.emplace_back(&row, strongest);
  if (attacked.empty()) return {"No table of this report was attacked."};
  std::stable_sort(attacked.begin(), attacked.end(),
                   [](const auto& a, const auto& b) {
                     return a.second->linked.value > b.second->linked.value;
                   });
  std::vector<std::string> findings;
  for (const auto& [row, strongest] : attacked) {
    const Share& linked = strongest->linked;
    std::string sentence = absl::StrFormat(
        "%s: an attacker who knows %s finds %.1f %% of the people (%.1f to "
        "%.1f %%; %d attacked; guessing finds %.2g %%)",
        row->method, strongest->knows, 100 * linked.value, 100 * linked.low,
        100 * linked.high, linked.of, 100 * strongest->chance.value);
    // Below the interval's end a finding is what chance finds as well.
    absl::StrAppend(&sentence, linked.low > strongest->chance.value
                                   ? "."
                                   : ": no more than chance.");
    findings.push_back(std::move(sentence));
  }
  return findings;
}

std::string ResultsJson(const PublicationReport& report) {
  return TextOf(PublicationJson(report), 1) + "\n";
}

std::string ReportHtml(const PublicationReport& report) {
  return Page(kPublicationScript, PublicationJson(report), kPublicationWarning);
}

absl::Status WriteReport(const std::string& directory,
                         const PublicationReport& report) {
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(directory + "/results.json", ResultsJson(report)));
  return ReplaceDurably(directory + "/report.html", ReportHtml(report));
}

}  // namespace dpnmf::curator::lab
