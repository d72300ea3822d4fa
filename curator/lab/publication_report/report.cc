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

struct PublishedDistortion {
  const char* method;
  double vd, rp, rk, cp, ck, accuracy;
};

// Its table of Wisconsin Breast Cancer at rank 7; accuracy is that of an SVM.
constexpr PublishedDistortion kWisconsinFigures[] = {
    {"ud", .1085, 219.6993, .0130, 0, 1, .964},
    {"nd", .1098, 224.8148, .0084, 0, 1, .963},
    {"svd", .1222, 228.8972, .0114, .2222, .7778, .964},
    {"nmf", .1228, 228.4295, .0100, .2222, .7778, .967},
    {"ssvd", 1.2662, 228.1370, .0013, 3.3333, 0, .966},
    {"csvd", 1.2702, 230.1561, .0021, 3.3333, 0, .964},
    {"esvd", 1.2704, 228.0744, .0014, 3.3333, 0, .964},
    {"snmf", .1228, 228.4362, .0076, .2222, .7778, .964},
    {"cnmf", .1297, 226.5042, .0081, .2222, .7778, .965},
    {"enmf", .1234, 228.2035, .0089, 1.1111, .5556, .965},
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
                         {"vd", one.vd},
                         {"rp", one.rp},
                         {"rk", one.rk},
                         {"cp", one.cp},
                         {"ck", one.ck},
                         {"accuracy", one.accuracy}});
  if (published == PublishedFigures::kMovieLens100K)
    for (const PublishedCompletion& one : kMovieLensFigures)
      figures.push_back(
          {{"method", one.method}, {"mae", one.mae}, {"pi_all", one.pi}});
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
