// An evaluation as files: results.csv, curves.csv, results.json, report.html.
#ifndef DPNMF_LAB_EVALUATE_REPORT_H_
#define DPNMF_LAB_EVALUATE_REPORT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lab/evaluate/evaluation.h"
#include "lab/evaluate/page.h"

namespace dpnmf::curator::lab {

// One row a trial: dataset, data, mechanism, outliers, epsilon, delta, rounds,
// epsilon_per_round, repeat, objective, npmi, umass, seconds. Fields without a
// value are empty. RFC 4180 quoting.
std::string ResultsCsv(const EvaluateOptions& options,
                       const Evaluation& evaluation);
// One row a point: the first columns of the above, repeat, round, objective.
std::string CurvesCsv(const EvaluateOptions& options,
                      const Evaluation& evaluation);
std::string ResultsJson(const EvaluateOptions& options,
                        const Evaluation& evaluation);
// One file that loads nothing: data, scripts and styles are inside. Text of the
// operator's files is data, never markup.
std::string ReportHtml(const EvaluateOptions& options,
                       const Evaluation& evaluation);

// results.csv and curves.csv of what there is, in the place of older ones.
absl::Status WriteTables(const EvaluateOptions& options,
                         const Evaluation& evaluation);
// results.json and report.html.
absl::Status WriteReport(const EvaluateOptions& options,
                         const Evaluation& evaluation);

// Appends one line of JSON to `evaluations.log` in the data directory, else in
// the output directory: time (UTC), the input's absolute path, whether it was
// declared public, and all options. Before anything is computed.
absl::Status RecordUse(const EvaluateOptions& options, std::string_view time);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_REPORT_H_
