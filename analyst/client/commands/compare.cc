#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyst/client/commands/commands.h"
#include "analyst/client/model.h"
#include "analyst/client/render/table.h"
#include "analyst/client/run_id.h"
#include "common/base/error.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct CompareFlags {
  std::string first;
  std::string second;
};

// Columns of length 1, or 0.
Eigen::MatrixXd Directions(Eigen::MatrixXd w) {
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    const double length = w.col(k).norm();
    if (length > 0) w.col(k) /= length;
  }
  return w;
}

// Pairs by descending cosine, each part once: the best pair of all parts, then
// the best of what is left.
v1::CompareReport Matched(const Eigen::MatrixXd& first,
                          const Eigen::MatrixXd& second) {
  const Eigen::MatrixXd cosines =
      Directions(first).transpose() * Directions(second);
  struct Pair {
    Eigen::Index i, j;
  };
  std::vector<Pair> pairs;
  for (Eigen::Index i = 0; i < cosines.rows(); ++i)
    for (Eigen::Index j = 0; j < cosines.cols(); ++j) pairs.push_back({i, j});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const Pair& a, const Pair& b) {
                     return cosines(a.i, a.j) > cosines(b.i, b.j);
                   });
  std::vector<bool> first_taken(static_cast<std::size_t>(cosines.rows()));
  std::vector<bool> second_taken(static_cast<std::size_t>(cosines.cols()));
  v1::CompareReport report;
  double sum = 0;
  for (const Pair& pair : pairs) {
    const auto i = static_cast<std::size_t>(pair.i);
    const auto j = static_cast<std::size_t>(pair.j);
    if (first_taken[i] || second_taken[j]) continue;
    first_taken[i] = second_taken[j] = true;
    v1::CompareReport::Pair& row = *report.add_pairs();
    row.set_first(static_cast<std::uint32_t>(i + 1));
    row.set_second(static_cast<std::uint32_t>(j + 1));
    row.set_cosine(std::clamp(cosines(pair.i, pair.j), 0.0, 1.0));
    sum += row.cosine();
  }
  for (std::size_t i = 0; i < first_taken.size(); ++i)
    if (!first_taken[i])
      report.add_only_first(static_cast<std::uint32_t>(i + 1));
  for (std::size_t j = 0; j < second_taken.size(); ++j)
    if (!second_taken[j])
      report.add_only_second(static_cast<std::uint32_t>(j + 1));
  report.set_mean_cosine(sum / report.pairs_size());
  return report;
}

std::string CompareText(const v1::CompareReport& report) {
  Table table({{absl::StrCat("part of ", report.first_run().substr(0, 8)),
                Align::kRight},
               {absl::StrCat("part of ", report.second_run().substr(0, 8)),
                Align::kRight},
               {"cosine", Align::kRight}});
  for (const v1::CompareReport::Pair& pair : report.pairs()) {
    table.AddRow({absl::StrCat(pair.first()), absl::StrCat(pair.second()),
                  absl::StrFormat("%.3f", pair.cosine())});
  }
  std::string text = table.Render();
  absl::StrAppendFormat(&text, "mean cosine %.3f\n", report.mean_cosine());
  if (report.only_first_size() > 0) {
    absl::StrAppend(&text, "without a partner, of the first run: ",
                    absl::StrJoin(report.only_first(), ", "), "\n");
  }
  if (report.only_second_size() > 0) {
    absl::StrAppend(&text, "without a partner, of the second run: ",
                    absl::StrJoin(report.only_second(), ", "), "\n");
  }
  return text;
}

absl::StatusOr<ExitCode> Compare(const Session& session,
                                 const CompareFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto first, ResolveRunId(client, flags.first));
  DPNMF_ASSIGN_OR_RETURN(const auto second, ResolveRunId(client, flags.second));
  DPNMF_ASSIGN_OR_RETURN(const Model one, client.GetModel(first));
  DPNMF_ASSIGN_OR_RETURN(const Model other, client.GetModel(second));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(one));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(other));
  if (one.w.rows() != other.w.rows()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "features-differ",
        absl::StrCat("The runs have ", one.w.rows(), " and ", other.w.rows(),
                     " features; compare runs on data sets with the same "
                     "features."));
  }
  v1::CompareReport report = Matched(one.w, other.w);
  report.set_first_run(first);
  report.set_second_run(second);
  session.Print(report, CompareText(report));
  return kExitOk;
}

}  // namespace

Command CompareCommand(const Session* session) {
  const auto flags = std::make_shared<CompareFlags>();
  return {
      .name = "compare",
      .summary = "Match the parts of two runs by their cosine",
      .footer =
          "The pair with the largest cosine is matched first, then the best "
          "pair of what is left.\nParts that two runs with fresh noise both "
          "find (cosine above .8, say) can be relied on.\n\nExample:\n  dpnmf "
          "compare 3f9a 7c21",
      .flags = {Flag("run", &flags->first, "Id of a run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("other", &flags->second,
                     "Id of another run, or its first digits",
                     {.value = "RUN", .required = true})},
      .run = [session, flags] { return Compare(*session, *flags); }};
}

}  // namespace dpnmf::cli
