#include "lab/publication_report/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "lab/evaluate/page.h"
#include "lab/publication_report/assets.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

struct PublishedDistortion {
  const char* method;
  double vd, rp, rk, cp, ck, accuracy;
  const char* reason = "";  // why ours differ, a sentence
};

constexpr char kTransposed[] =
    "published are the figures of a transposition error, which --as-published "
    "repeats; ours are the method's.";
constexpr char kGarbled[] =
    "the published formula of the threshold is garbled; ours is one reading.";

// Its table of Wisconsin Breast Cancer at rank 7; accuracy is that of an SVM.
constexpr PublishedDistortion kWisconsinFigures[] = {
    {"ud", .1085, 219.6993, .0130, 0, 1, .964},
    {"nd", .1098, 224.8148, .0084, 0, 1, .963},
    {"svd", .1222, 228.8972, .0114, .2222, .7778, .964},
    {"nmf", .1228, 228.4295, .0100, .2222, .7778, .967},
    {"ssvd", 1.2662, 228.1370, .0013, 3.3333, 0, .966, kTransposed},
    {"csvd", 1.2702, 230.1561, .0021, 3.3333, 0, .964, kTransposed},
    {"esvd", 1.2704, 228.0744, .0014, 3.3333, 0, .964, kTransposed},
    {"snmf", .1228, 228.4362, .0076, .2222, .7778, .964},
    {"cnmf", .1297, 226.5042, .0081, .2222, .7778, .965},
    {"enmf", .1234, 228.2035, .0089, 1.1111, .5556, .965, kGarbled},
};

struct PublishedCompletion {
  const char* method;
  double mae, pi;
  const char* reason = "";
};

// "Aux-NMF", MovieLens 100K, five folds.
constexpr PublishedCompletion kMovieLensFigures[] = {
    {"aux-nmf", .7481, 1.2948,
     "the published MAE is reached on the third of the five folds (u3); their "
     "mean is .752."},
    {"svd", .7769, 1.2899},
};

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? JsonNumber(*value) : Json(nullptr);
}

Json JsonOf(const PublicationRow& row) {
  return {{"method", row.method},
          {"kind", row.kind},
          {"epsilon", OrNull(row.epsilon)},
          {"delta", OrNull(row.delta)},
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
                         {"accuracy", one.accuracy},
                         {"reason", one.reason}});
  if (published == PublishedFigures::kMovieLens100K)
    for (const PublishedCompletion& one : kMovieLensFigures)
      figures.push_back({{"method", one.method},
                         {"mae", one.mae},
                         {"pi_all", one.pi},
                         {"reason", one.reason}});
  return figures;
}

Json TablesOf(const PublicationReport& report) {
  Json tables = Json::array();
  for (const PublicationRow& row : report.rows) tables.push_back(JsonOf(row));
  for (const Json& table : report.beside) tables.push_back(table);
  return tables;
}

double LinkedIn(const Json& linkage) {
  return linkage.at("linked").at("value");
}

// The linkage that finds most; null without one.
const Json* StrongestOf(const Json& table) {
  const Json* strongest = nullptr;
  if (!table.at("attacks").is_object()) return strongest;
  for (const Json& one : table.at("attacks").at("linkage"))
    if (strongest == nullptr || LinkedIn(one) > LinkedIn(*strongest))
      strongest = &one;
  return strongest;
}

std::string TitleOf(const Json& table) {
  const std::string method = table.at("method");
  const Json& epsilon = table.at("epsilon");
  if (!epsilon.is_number()) return method;
  return absl::StrFormat("%s, epsilon %g", method, epsilon.get<double>());
}

std::vector<std::string> FindingsOf(const Json& tables) {
  std::vector<std::pair<const Json*, const Json*>> attacked;
  for (const Json& table : tables)
    if (const Json* strongest = StrongestOf(table); strongest != nullptr)
      attacked.emplace_back(&table, strongest);
  if (attacked.empty()) return {"No table of this report was attacked."};
  std::stable_sort(attacked.begin(), attacked.end(),
                   [](const auto& a, const auto& b) {
                     return LinkedIn(*a.second) > LinkedIn(*b.second);
                   });
  std::vector<std::string> findings;
  for (const auto& [table, strongest] : attacked) {
    const Json& linked = strongest->at("linked");
    const std::string knows = strongest->at("knows");
    const double chance = strongest->at("chance");
    const double low = linked.at("low"), high = linked.at("high");
    std::string sentence = absl::StrFormat(
        "%s: an attacker who knows %s%s finds %.1f %% of the people (%.1f to "
        "%.1f %%; %d attacked; guessing finds %.2g %%)",
        TitleOf(*table), knows, knows.find(',') == std::string::npos ? "" : ",",
        100 * LinkedIn(*strongest), 100 * low, 100 * high,
        linked.at("of").get<std::int64_t>(), 100 * chance);
    absl::StrAppend(&sentence, low > chance ? "." : ": no more than chance.");
    findings.push_back(std::move(sentence));
  }
  return findings;
}

std::string WarningOf(const PublicationReport& report) {
  return report.warning.empty() ? std::string(kPublicationWarning)
                                : report.warning;
}

Json PublicationJson(const PublicationReport& report) {
  Json tables = TablesOf(report);
  return {{"warning", WarningOf(report)},
          {"command", report.command},
          {"data", report.data},
          {"people", report.people},
          {"columns", report.columns},
          {"drawn", report.drawn},
          {"options", report.options},
          {"findings", FindingsOf(tables)},
          {"tables", std::move(tables)},
          {"published", PublishedOf(report.published)}};
}

}  // namespace

std::vector<std::string> Findings(const PublicationReport& report) {
  return FindingsOf(TablesOf(report));
}

absl::Status AddTablesOf(const std::string& directory,
                         PublicationReport* report) {
  const std::string path = directory + "/results.json";
  const absl::StatusOr<std::string> text = ReadFile(path, kOwnFileLimit);
  if (!text.ok())
    return Refusal(absl::StatusCode::kNotFound, "report-missing",
                   absl::StrCat("There is no report ", path,
                                " that can be read: give the output directory "
                                "of distort, complete, synthesise or attack."));
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  bool whole = json.is_object() && json.contains("tables");
  try {  // what another program wrote must not stop this one
    const Json needed = JsonOf(PublicationRow());
    if (whole) {
      for (const Json& table : json.at("tables"))
        for (const auto& [key, value] : needed.items())
          whole = whole && table.is_object() && table.contains(key);
      if (whole) FindingsOf(json.at("tables"));
    }
  } catch (const Json::exception&) {
    whole = false;
  }
  if (!whole)
    return Refusal(absl::StatusCode::kInvalidArgument, "report-malformed",
                   absl::StrCat(path,
                                " is no report of distort, complete, "
                                "synthesise or attack."));
  for (const Json& table : json["tables"]) report->beside.push_back(table);
  return absl::OkStatus();
}

std::string ResultsJson(const PublicationReport& report) {
  Json json = PublicationJson(report);
  if (report.more.is_object()) json.update(report.more);
  return DumpJson(json, 1) + "\n";
}

std::string ReportHtml(const PublicationReport& report) {
  return Page(kPublicationScript, PublicationJson(report), WarningOf(report));
}

absl::Status WriteReport(const std::string& directory,
                         const PublicationReport& report) {
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(directory + "/results.json", ResultsJson(report)));
  return ReplaceDurably(directory + "/report.html", ReportHtml(report));
}

}  // namespace dpnmf::curator::lab
