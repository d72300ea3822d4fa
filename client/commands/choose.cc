#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/commands/commands.h"
#include "client/files/coherence.h"
#include "client/files/model_file.h"
#include "client/render/table.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/wire/json.h"
#include "common/wire/matrix_stream.h"

namespace dpnmf::cli {
namespace {

struct ChooseFlags {
  std::string run;
  std::string rank;
  std::uint32_t seeds = 10;
  std::string output;
  CoherenceFlags coherence;
};

using Coherences = std::vector<v1::RankCoherence>;

// Returns the coherence of a rank; null if it is not known.
const v1::RankCoherence* CoherenceAt(const Coherences& all,
                                     std::uint32_t rank) {
  for (const v1::RankCoherence& one : all)
    if (one.rank() == rank) return &one;
  return nullptr;
}

// The measures that any rank has.
std::vector<const CoherenceMeasure*> MeasuresIn(const Coherences& all) {
  std::vector<const CoherenceMeasure*> measures;
  for (const CoherenceMeasure& measure : kCoherenceMeasures) {
    if (std::any_of(all.begin(), all.end(), [&](const auto& one) {
          return measure.of(one).has_value();
        }))
      measures.push_back(&measure);
  }
  return measures;
}

// The value of a rank, or none.
std::optional<double> MeasureOf(const CoherenceMeasure& measure,
                                const Coherences& all, std::uint32_t rank) {
  const v1::RankCoherence* const one = CoherenceAt(all, rank);
  return one == nullptr ? std::nullopt : measure.of(*one);
}

absl::Status RanksMalformed() {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "ranks-out-of-range",
      "Give `--rank` as FIRST:LAST or as one rank, from 1 to 256 and "
      "at most 64 of them, for example 4:40.");
}

// "4:40", "7" or "" (the server's choice).
absl::StatusOr<std::vector<std::uint32_t>> RankRangeOf(
    const std::string& text) {
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

std::string ChoiceCsv(const std::vector<v1::RankFacts>& facts,
                      const Coherences& coherences) {
  std::string text = "rank,stability,stable_parts,held_out,explained";
  const auto measures = MeasuresIn(coherences);
  for (const CoherenceMeasure* measure : measures)
    absl::StrAppend(&text, ",", measure->column);
  text += '\n';
  for (const v1::RankFacts& row : facts) {
    absl::StrAppendFormat(&text, "%d,%.17g,%d,%.17g,%.17g", row.rank(),
                          row.stability(), row.stable_parts(), row.held_out(),
                          row.explained());
    for (const CoherenceMeasure* measure : measures) {
      const auto value = MeasureOf(*measure, coherences, row.rank());
      text += ',';
      if (value.has_value()) absl::StrAppendFormat(&text, "%.17g", *value);
    }
    text += '\n';
  }
  return text;
}

// "NPMI is largest at 12 parts (0.21)."
std::string LargestText(const std::vector<const CoherenceMeasure*>& measures,
                        const Coherences& all) {
  std::string text;
  for (const CoherenceMeasure* measure : measures) {
    std::optional<double> most;
    std::uint32_t rank = 0;
    for (const v1::RankCoherence& one : all) {
      const auto value = measure->of(one);
      if (!value.has_value() || (most.has_value() && *value <= *most)) continue;
      most = value;
      rank = one.rank();
    }
    absl::StrAppendFormat(&text, "%s is largest at %d parts (%.3f).\n",
                          measure->title, rank, most.value_or(0));
  }
  return text;
}

std::string ChoiceText(const std::vector<v1::RankFacts>& facts,
                       const v1::RankChoice& choice,
                       const Coherences& coherences) {
  constexpr int kBar = 20;  // a stability of 1
  const auto measures = MeasuresIn(coherences);
  std::vector<Column> columns = {
      {"rank", Align::kRight},      {"stable parts", Align::kRight},
      {"stability", Align::kRight}, {"", Align::kLeft},
      {"held out", Align::kRight},  {"explained", Align::kRight}};
  for (const CoherenceMeasure* measure : measures)
    columns.push_back({measure->title, Align::kRight});
  Table table(std::move(columns));
  for (const v1::RankFacts& row : facts) {
    const int length =
        std::clamp(static_cast<int>(kBar * row.stability() + 0.5), 0, kBar);
    std::vector<std::string> cells = {
        absl::StrCat(row.rank(), row.rank() == choice.rank() ? " *" : "  "),
        absl::StrCat(row.stable_parts()),
        absl::StrFormat("%.2f", row.stability()),
        std::string(static_cast<std::size_t>(length), '#'),
        absl::StrFormat("%.4f", row.held_out()),
        absl::StrFormat("%.0f %%", 100 * row.explained())};
    for (const CoherenceMeasure* measure : measures) {
      const auto value = MeasureOf(*measure, coherences, row.rank());
      cells.push_back(value.has_value() ? absl::StrFormat("%.3f", *value)
                                        : "-");
    }
    table.AddRow(std::move(cells));
  }
  std::string text = table.Render();
  absl::StrAppend(
      &text, choice.rank() > 0 ? "* the rank that is advised; " : "",
      "stable parts: found in both halves, of twice the noise; stability: "
      "mean cosine of the parts\nof two halves of the release; held out: share "
      "of "
      "one half that the other half's model predicts\n",
      choice.sentence(), "\n", LargestText(measures, coherences));
  if (choice.expected() > 0) {
    absl::StrAppend(&text, "The forecast from the noise alone was about ",
                    choice.expected(),
                    choice.expected() == 1 ? " part.\n" : " parts.\n");
  }
  return text;
}

absl::StatusOr<ExitCode> Choose(const Session& session,
                                const ChooseFlags& flags) {
  v1::ChooseRankRequest request;
  DPNMF_ASSIGN_OR_RETURN(const auto ranks, RankRangeOf(flags.rank));
  request.mutable_ranks()->Add(ranks.begin(), ranks.end());
  request.set_seeds(flags.seeds);
  DPNMF_RETURN_IF_ERROR(CheckCoherenceFlags(flags.coherence));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(*request.mutable_run_id(),
                         ResolveRunId(client, flags.run));
  std::optional<PublicText> text;
  if (flags.coherence.any()) {
    DPNMF_ASSIGN_OR_RETURN(const Model model,
                           client.GetModel(request.run_id()));
    DPNMF_ASSIGN_OR_RETURN(text,
                           PublicText::Load(flags.coherence, model.names));
    request.set_words(flags.coherence.words);
  }
  std::vector<v1::RankFacts> facts;
  Coherences coherences;
  v1::RankChoice choice;
  DPNMF_RETURN_IF_ERROR(
      client.ChooseRank(request, [&](const v1::ChooseRankReply& reply) {
        if (reply.has_words()) {
          if (text.has_value())
            coherences.push_back(text->CoherenceOf(reply.words()));
          return;
        }
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
  if (text.has_value() && coherences.size() != facts.size())
    return AnswerIncomplete("choice");
  if (!flags.output.empty()) {
    DPNMF_RETURN_IF_ERROR(
        WriteFileAtomically(flags.output, ChoiceCsv(facts, coherences)));
  }
  if (!session.json()) {
    *session.environment().out << ChoiceText(facts, choice, coherences)
                               << std::flush;
  } else if (text.has_value()) {
    v1::CoherenceReport report;
    report.mutable_coherence()->Add(coherences.begin(), coherences.end());
    *session.environment().out << ToJsonLine(report) << '\n' << std::flush;
  }
  return kExitOk;
}

}  // namespace

Command ChooseCommand(const Session* session) {
  const auto flags = std::make_shared<ChooseFlags>();
  std::vector<Flag> all = {
      Flag("run", &flags->run, "Id of the run, or its first digits",
           {.value = "RUN", .required = true}),
      Flag("--rank", &flags->rank, "Ranks to compare [by the release]",
           {.value = "FIRST:LAST"}),
      Flag("--seeds", &flags->seeds, "Splits of the noise",
           {.range = {2, 50}, .shown = true}),
      Flag("--output,-o", &flags->output,
           "CSV file for the table; replaced if it exists", {.value = "FILE"})};
  const std::vector<Flag> of_coherence = FlagsOfCoherence(&flags->coherence);
  all.insert(all.end(), of_coherence.begin(), of_coherence.end());
  return {
      .name = "choose",
      .summary = "Compare ranks on the release of a run; never charged",
      .footer =
          "The known noise is split in two several times, and each rank is "
          "fitted to both halves\nfrom different starts. A part is stable if "
          "both halves find it, with a cosine\nof .8 or more, though each has "
          "twice the noise variance of the release.\n'held out' is the share "
          "of the other half that a model predicts. The analyst uses all\nits "
          "cores for this, for seconds to minutes; Ctrl-C ends it.\nFor "
          "topics, public text shows how well the first words of each part "
          "belong together: the\nmeans over parts of UMass and NPMI with "
          "--reference, and of TC-W2V with --word-vectors.\nThese measures are "
          "computed on this machine.\nWith --format json: progress, ranks, the "
          "choice and the coherence, one on each line.\n\nExamples:\n  dpnmf "
          "choose 3f9a\n  dpnmf choose 3f9a --rank 4:40 --output choice.csv\n  "
          "dpnmf choose 3f9a --reference news.mtx --reference-features "
          "words.txt",
      .flags = std::move(all),
      .run = [session, flags] { return Choose(*session, *flags); }};
}

}  // namespace dpnmf::cli
