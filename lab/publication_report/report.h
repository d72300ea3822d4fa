// One report of tables that may be published: of `distort`, of `complete`, of
// `attack` and of `synthesise`.
#ifndef DPNMF_LAB_PUBLICATION_REPORT_REPORT_H_
#define DPNMF_LAB_PUBLICATION_REPORT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lab/attack/attack.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// Warning on the terminal, in results.json and on every page, unless
// PublicationReport::warning is set.
inline constexpr std::string_view kPublicationWarning =
    "Not private: distortion and completion give no guarantee, and an attack "
    "that finds nobody proves nothing, because a better one may. These figures "
    "are exact functions of the original: keep them where the original is. A "
    "table that must protect its people is made from a differentially private "
    "release.";

// One table that may be published.
struct PublicationRow {
  std::string method;  // "svd", "aux-nmf", a file's name
  // "original", "distorted", "completed", "synthetic", "foreign", or "private":
  // a completion by a private model, of which no table is published.
  std::string kind = "distorted";
  std::optional<double> epsilon = std::nullopt;  // of the release or the model
  // Set with epsilon: the guarantee of the release that alone made the table.
  std::optional<double> delta = std::nullopt;
  // Distortion. Not set: not measured.
  std::optional<double> vd = std::nullopt, rp = std::nullopt, rk = std::nullopt,
                        cp = std::nullopt, ck = std::nullopt;
  // Accuracies of a classifier that was trained on the table: tested on the
  // table, and tested on the original's rows.
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> accuracy_on_original = std::nullopt;
  // Completion.
  std::optional<double> mae = std::nullopt, pi_all = std::nullopt,
                        pi_rated = std::nullopt;
  std::optional<AttackReport> attacks = std::nullopt;
  std::string note = {};  // a sentence, or empty
};

// Which publication's figures stand beside: on its own data alone.
enum class PublishedFigures { kNone, kWisconsin, kMovieLens100K };

struct PublicationReport {
  std::string command;  // "distort", "complete", "attack", "synthesise"
  std::string data;     // name of the original
  std::int64_t people = 0, columns = 0;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  std::vector<PublicationRow> rows;
  // "tables" of other reports' results.json, which stand on the same page.
  nlohmann::ordered_json beside = nlohmann::ordered_json::array();
  PublishedFigures published = PublishedFigures::kNone;
  // Warning in the place of kPublicationWarning; if empty, kPublicationWarning.
  std::string warning = {};
  // Names and texts about the release that a table was drawn from, shown at the
  // top of the page. If empty, no table was drawn.
  nlohmann::ordered_json drawn = nlohmann::ordered_json::object();
  // Members of results.json that the command adds (an object, or null); those
  // of the same name give way. The page has none of them.
  nlohmann::ordered_json more = nullptr;
};

// Sentences: what an attacker found, the table that gives away most first.
std::vector<std::string> Findings(const PublicationReport& report);

// Appends the tables of DIRECTORY/results.json to `beside`. NOT_FOUND
// "report-missing" without such a file; INVALID_ARGUMENT "report-malformed" if
// it is none that WriteReport wrote.
absl::Status AddTablesOf(const std::string& directory,
                         PublicationReport* report);

std::string ResultsJson(const PublicationReport& report);
// One file that loads nothing (lab/evaluate/page.h).
std::string ReportHtml(const PublicationReport& report);

// results.json and report.html in the directory, of mode 0600.
absl::Status WriteReport(const std::string& directory,
                         const PublicationReport& report);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_PUBLICATION_REPORT_REPORT_H_
