#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyst/client/commands/commands.h"
#include "analyst/client/model_file.h"
#include "analyst/client/render/table.h"
#include "analyst/client/run_id.h"
#include "common/base/error.h"
#include "common/wire/json.h"

namespace dpnmf::cli {
namespace {

struct ChooseFlags {
  std::string run;
  std::string rank;
  std::uint32_t seeds = 10;
  std::string output;
};

absl::Status RanksMalformed() {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "ranks-out-of-range",
      "Give `--rank` as FIRST:LAST or as one rank, from 1 to 256 and "
      "at most 64 of them, for example 4:40.");
}

// "4:40", "7" or "" (the server's choice).
absl::StatusOr<std::vector<std::uint32_t>> RanksOf(const std::string& text) {
  std::vector<std::uint32_t> ranks;
  if (text.empty()) return ranks;
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  std::uint32_t first = 0, last = 0;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
      !absl::SimpleAtoi(ends.back(), &last) || first < 1 || last > 256 ||
      last < first || last - first >= 64)
    return RanksMalformed();
  for (std::uint32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
  return ranks;
}

std::string ChoiceCsv(const std::vector<v1::RankFacts>& facts) {
  std::string text = "rank,stability,stable_parts,held_out,explained\n";
  for (const v1::RankFacts& row : facts) {
    absl::StrAppendFormat(&text, "%d,%.17g,%d,%.17g,%.17g\n", row.rank(),
                          row.stability(), row.stable_parts(), row.held_out(),
                          row.explained());
  }
  return text;
}

std::string ChoiceText(const std::vector<v1::RankFacts>& facts,
                       const v1::RankChoice& choice) {
  constexpr int kBar = 20;  // a stability of 1
  Table table({{"rank", Align::kRight},
               {"stable parts", Align::kRight},
               {"stability", Align::kRight},
               {"", Align::kLeft},
               {"held out", Align::kRight},
               {"explained", Align::kRight}});
  for (const v1::RankFacts& row : facts) {
    const int length =
        std::clamp(static_cast<int>(kBar * row.stability() + 0.5), 0, kBar);
    table.AddRow(
        {absl::StrCat(row.rank(), row.rank() == choice.rank() ? " *" : "  "),
         absl::StrCat(row.stable_parts()),
         absl::StrFormat("%.2f", row.stability()),
         std::string(static_cast<std::size_t>(length), '#'),
         absl::StrFormat("%.4f", row.held_out()),
         absl::StrFormat("%.0f %%", 100 * row.explained())});
  }
  std::string text = table.Render();
  absl::StrAppend(&text, choice.sentence(), "\n");
  if (choice.expected() > 0) {
    absl::StrAppend(&text, "The noise alone let expect about ",
                    choice.expected(), ".\n");
  }
  return text;
}

absl::StatusOr<ExitCode> Choose(const Session& session,
                                const ChooseFlags& flags) {
  v1::ChooseRankRequest request;
  DPNMF_ASSIGN_OR_RETURN(const auto ranks, RanksOf(flags.rank));
  request.mutable_ranks()->Add(ranks.begin(), ranks.end());
  request.set_seeds(flags.seeds);
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(*request.mutable_run_id(),
                         ResolveRunId(client, flags.run));
  std::vector<v1::RankFacts> facts;
  v1::RankChoice choice;
  DPNMF_RETURN_IF_ERROR(
      client.ChooseRank(request, [&](const v1::ChooseRankReply& reply) {
        if (session.json()) {
          *session.environment().out << ToJsonLine(reply) << '\n' << std::flush;
        } else if (reply.has_progress()) {
          *session.environment().err
              << absl::StrFormat("comparing ranks: %.0f %%\n",
                                 100 * reply.progress())
              << std::flush;
        }
        if (reply.has_facts()) facts.push_back(reply.facts());
        if (reply.has_choice()) choice = reply.choice();
      }));
  if (!flags.output.empty()) {
    DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.output, ChoiceCsv(facts)));
  }
  if (!session.json())
    *session.environment().out << ChoiceText(facts, choice) << std::flush;
  return kExitOk;
}

}  // namespace

Command ChooseCommand(const Session* session) {
  const auto flags = std::make_shared<ChooseFlags>();
  return {
      .name = "choose",
      .summary = "Compare ranks on the release of a run; never charged",
      .footer =
          "The known noise is split in two again and again, and each rank is "
          "fitted to both\nhalves from other starts. A part is stable if both "
          "find it (cosine .8 or more).\n'held out' is the share of the other "
          "half that a model foretells. The analyst\ntakes all its cores for "
          "this, seconds to minutes; control-C ends it.\nWith --format json: "
          "progress, ranks and the choice, one on each line.\n\nExamples:\n  "
          "dpnmf choose 3f9a\n  dpnmf choose 3f9a --rank 4:40 --output "
          "choice.csv",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--rank", &flags->rank,
                     "Ranks to compare [by the release]",
                     {.value = "FIRST:LAST"}),
                Flag("--seeds", &flags->seeds, "Splits of the noise",
                     {.range = {2, 50}, .shown = true}),
                Flag("--output,-o", &flags->output,
                     "CSV file for the table; replaced if it exists",
                     {.value = "FILE"})},
      .run = [session, flags] { return Choose(*session, *flags); }};
}

}  // namespace dpnmf::cli
