// An evaluation of ratings as files: results.csv, published.csv, results.json,
// report.html.
#ifndef DPNMF_LAB_RATINGS_REPORT_H_
#define DPNMF_LAB_RATINGS_REPORT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lab/ratings/evaluation.h"

namespace dpnmf::curator::lab {

// One row a trial: method, epsilon, repeat, rmse, mae, recall20, ndcg20. Fields
// without a value are empty.
std::string ResultsCsv(const RatingsEvaluation& evaluation);
// One row a point of the study's curves: study, epsilon_per_round, n, step,
// round, train_rmse, held_out_rmse, claimed_epsilon, ms_per_round, ended.
// `ended` stands in the last row of a run: "rounds", "converged", "diverged".
std::string PublishedCsv(const RatingsEvaluation& evaluation);
std::string ResultsJson(const EvaluateRatingsOptions& options,
                        const RatingsEvaluation& evaluation);
std::string ReportHtml(const EvaluateRatingsOptions& options,
                       const RatingsEvaluation& evaluation);

// results.csv, and published.csv with the study, in the place of older ones.
absl::Status WriteTables(const EvaluateRatingsOptions& options,
                         const RatingsEvaluation& evaluation);
// results.json and report.html.
absl::Status WriteReport(const EvaluateRatingsOptions& options,
                         const RatingsEvaluation& evaluation);

// Appends the use to evaluations.log, as for a matrix
// (lab/evaluate/report.h). Before anything is computed.
absl::Status RecordUse(const EvaluateRatingsOptions& options,
                       std::string_view time);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_REPORT_H_
