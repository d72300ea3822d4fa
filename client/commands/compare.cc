#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/commands.h"
#include "client/render/names.h"
#include "client/render/table.h"
#include "client/session/matched_parts.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct CompareFlags {
  std::string first;
  std::string second;
};

std::string CompareText(const v1::CompareReport& report) {
  Table table({{absl::StrCat("part of ", ShortRunId(report.first_run())),
                Align::kRight},
               {absl::StrCat("part of ", ShortRunId(report.second_run())),
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
  DPNMF_ASSIGN_OR_RETURN(const auto report, CompareRuns(client, first, second));
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
          "pair of the rest. If\ntwo runs with fresh noise both find a part "
          "(cosine above .8, for example), the part can\nbe relied "
          "on.\n\nExample:\n  dpnmf compare 3f9a 7c21",
      .flags = {Flag("run", &flags->first, "Id of a run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("other", &flags->second,
                     "Id of another run, or its first digits",
                     {.value = "RUN", .required = true})},
      .run = [session, flags] { return Compare(*session, *flags); }};
}

}  // namespace dpnmf::cli
