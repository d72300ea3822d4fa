// Files of `dpnmf-lab complete`: metrics.csv, results.json and drafts.
#ifndef DPNMF_LAB_COMPLETE_REPORT_H_
#define DPNMF_LAB_COMPLETE_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/import/people/fingerprint.h"
#include "lab/attack/attack.h"
#include "lab/complete/completion.h"
#include "lab/complete/measures.h"
#include "lab/publication_report/report.h"
#include "lab/tables/table.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

struct CompletionResult {
  std::string method;  // "aux-nmf", "svd", "mean", "dp-item-effects", ...
  std::optional<double> epsilon;  // of the DP methods
  CompletionMeasures measures;
  double seconds = 0;
  std::optional<AttackReport> attacks;  // of the table
};

// "method,mae,pi_all,pi_rated" and a line for each; a method with an epsilon is
// METHOD@EPSILON. What is not known is empty.
std::string MetricsCsv(const std::vector<CompletionResult>& results);

// An object; the ceilings of Pi are in each.
nlohmann::ordered_json JsonOf(const CompletionResult& result);

// Prints a table for the terminal, with the ceilings.
void PrintResults(const std::vector<CompletionResult>& results);

// Cells of the largest table that a draft is written of.
inline constexpr std::int64_t kMostDraftCells = 20'000'000;

// The table as a draft holds it: values with four decimals.
Table PublishedTable(const std::vector<std::string>& people,
                     const std::vector<std::string>& items,
                     const CompletedRow& row);

// Directory of a method's draft. CheckNoDraft: ALREADY_EXISTS "draft-exists" if
// there is a draft in it.
std::string DraftDirectory(const std::string& output,
                           const std::string& method);
absl::Status CheckNoDraft(const std::string& output, const std::string& method);

struct DraftRequest {
  std::string output, method;
  nlohmann::ordered_json parameters;
  std::optional<AttackReport> attacks;
  // Key of the operator; fingerprints of the people go into the draft.
  std::optional<FingerprintKey> key;
  // The items are in the order of an import (--items): people are then also
  // recognised by their ratings, not by their ids alone.
  bool items_declared = false;
};

absl::Status WriteCompletedDraft(const DraftRequest& request,
                                 const SparseRatings& ratings,
                                 const Table& table);

// Linkage with known ratings (lab/attack/rating_linkage.h).
absl::StatusOr<AttackReport> AttackCompleted(const SparseRatings& ratings,
                                             const Table& table,
                                             const AttackOptions& options);

// For results.json and report.html. `more`: members of results.json.
PublicationReport ReportOf(const std::string& data,
                           const SparseRatings& ratings,
                           const std::vector<CompletionResult>& results,
                           nlohmann::ordered_json more);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_REPORT_H_
