#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/render/part_text.h"
#include "client/render/table.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct TopFlags {
  std::string run;
  std::uint32_t words = 10;
  bool judge = false;
};

// Rows of the largest entries above 0, the largest first; of equal ones the
// first row.
std::vector<Eigen::Index> LargestRows(const Eigen::VectorXd& part,
                                      std::uint32_t most) {
  std::vector<Eigen::Index> rows(static_cast<std::size_t>(part.size()));
  std::iota(rows.begin(), rows.end(), Eigen::Index{0});
  const std::size_t count = std::min<std::size_t>(most, rows.size());
  std::partial_sort(rows.begin(),
                    rows.begin() + static_cast<std::ptrdiff_t>(count),
                    rows.end(), [&](Eigen::Index a, Eigen::Index b) {
                      return part(a) != part(b) ? part(a) > part(b) : a < b;
                    });
  rows.resize(count);
  while (!rows.empty() && !(part(rows.back()) > 0)) rows.pop_back();
  return rows;
}

// Matrix that can be read part by part.
struct Parts {
  Eigen::MatrixXd w;
  std::vector<std::string> names;  // of the rows; empty if there are none
};

Parts PartsOf(const Model& model) {
  if (!model.items.has_value()) return Parts{model.w, model.names};
  const ItemModel& items = model.items->model;
  // Without the person's bias.
  Parts parts{items.loadings.rightCols(items.loadings.cols() - 1),
              model.items->names};
  parts.names.resize(model.items->items.size());
  for (std::size_t i = 0; i < parts.names.size(); ++i)
    if (parts.names[i].empty()) parts.names[i] = model.items->items[i];
  return parts;
}

v1::TopReport TopReportOf(const std::string& run_id, const Parts& model,
                          std::uint32_t words) {
  v1::TopReport report;
  report.set_run_id(run_id);
  for (Eigen::Index k = 0; k < model.w.cols(); ++k) {
    const Eigen::VectorXd part = model.w.col(k);
    v1::TopReport::Part& row = *report.add_parts();
    row.set_part(static_cast<std::uint32_t>(k + 1));
    for (const Eigen::Index i : LargestRows(part, words)) {
      v1::TopReport::Feature& feature = *row.add_features();
      feature.set_row(static_cast<std::uint64_t>(i + 1));
      if (!model.names.empty())
        feature.set_name(model.names[static_cast<std::size_t>(i)]);
      feature.set_weight(part(i) / part.maxCoeff());
    }
  }
  return report;
}

std::string TopText(const v1::TopReport& report) {
  const bool judged =
      !report.parts().empty() && report.parts(0).has_reliability();
  std::vector<Column> columns = {{"part", Align::kRight}};
  if (judged) columns.push_back({"reliability"});
  columns.push_back({"largest entries"});
  Table table(std::move(columns));
  for (const v1::TopReport::Part& part : report.parts()) {
    std::string features;
    for (const v1::TopReport::Feature& feature : part.features()) {
      absl::StrAppend(&features, features.empty() ? "" : ", ",
                      feature.name().empty() ? absl::StrCat("#", feature.row())
                                             : feature.name(),
                      absl::StrFormat(" %.2f", feature.weight()));
    }
    std::vector<std::string> cells = {absl::StrCat(part.part())};
    if (judged)
      cells.push_back(absl::StrFormat("%.2f %s", part.reliability(),
                                      JudgementText(part.reliability())));
    cells.push_back(features.empty() ? "none: the part is 0" : features);
    table.AddRow(std::move(cells));
  }
  return table.Render();
}

absl::StatusOr<ExitCode> Top(const Session& session, const TopFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, flags.run));
  // Factors of both signs cannot be read part by part.
  DPNMF_ASSIGN_OR_RETURN(const Model model,
                         client.GetModel(run_id, /*standard_errors=*/false,
                                         /*parts=*/flags.judge,
                                         /*non_negative=*/true));
  v1::TopReport report = TopReportOf(run_id, PartsOf(model), flags.words);
  for (int k = 0; k < model.parts.parts_size() && k < report.parts_size();
       ++k) {
    report.mutable_parts(k)->set_reliability(
        model.parts.parts(k).reliability());
    report.mutable_parts(k)->set_noise(model.parts.parts(k).noise());
  }
  session.Print(report, TopText(report));
  return kExitOk;
}

}  // namespace

Command TopCommand(const Session* session) {
  const auto flags = std::make_shared<TopFlags>();
  return {
      .name = "top",
      .summary = "List the features with the largest entries of each part",
      .footer =
          "Entries are relative to the largest of their part. Features have "
          "names if the operator\ndeclared them at import; otherwise #3 is row "
          "3 of W. For a run on ratings the\nlists show the items of each part "
          "of its non-negative item model, also if the run was\nstarted "
          "without --non-negative.\n\nExample:\n  dpnmf top 3f9a --words 8",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--words", &flags->words, "Features of each part",
                     {.range = {1, 1000}, .shown = true}),
                Flag("--judge", &flags->judge,
                     "Also say whether each part is reliable, uncertain or "
                     "probably noise; takes as long as eight fits. Only for "
                     "completed runs of moments and aimed")},
      .run = [session, flags] { return Top(*session, *flags); }};
}

}  // namespace dpnmf::cli
