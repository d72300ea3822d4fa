// dpnmf-curator recommend: lists for people, on the operator's machine.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "common/files/durable_file.h"
#include "common/files/fields.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/person_flags.h"
#include "curator/commands/open_recommender.h"
#include "curator/commands/verify_on_disk.h"
#include "curator/recommend/reply.h"

namespace dpnmf::curator {
namespace {

struct RecommendFlags {
  std::string data_dir, name, model, output;
  PersonFlags person;
  bool all = false;
  std::uint32_t top = kDefaultTop;
  std::string order = "relevance";
  bool explain = false;
  int threads = 0;
  std::string format = "text";
};

absl::Status Conflict(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                 sentence);
}

absl::Status CheckFlags(const RecommendFlags& flags) {
  if (flags.all == flags.person.any())
    return Conflict("Give one of --user ID, --user-file FILE and --all.");
  if (flags.all && flags.output.empty())
    return Conflict("--all writes a file: name it with --output.");
  if (!flags.all && !flags.output.empty())
    return Conflict("--output is for --all; one person's list is printed.");
  if (flags.all && flags.format == "json")
    return Conflict(
        "--format json is for one person's list; --all writes CSV.");
  if (!flags.all && flags.threads != 0)
    return Conflict("--threads is for --all; leave it out for one person.");
  if (flags.all && flags.explain)
    return Conflict("--explain is for one person; leave it out for --all.");
  if (flags.all && !flags.output.ends_with(".csv")) {
    return Refusal(absl::StatusCode::kInvalidArgument, "file-type-unknown",
                   absl::StrCat("`--output` must end in .csv, and '",
                                flags.output, "' does not."));
  }
  return absl::OkStatus();
}

// ---- one person

// "Star Wars (1977)", or the id.
const std::string& TitleOf(const std::string& item, const std::string& name) {
  return name.empty() ? item : name;
}

std::string RecommendationsText(
    const recommend::v1::GetRecommendationsReply& reply) {
  std::string text =
      absl::StrFormat("%4s  %6s  %5s  %s\n", "", "rating", "+-", "item");
  int place = 0;
  for (const auto& row : reply.recommendations()) {
    absl::StrAppendFormat(&text, "%4d  %6.2f  %5.2f  %s\n", ++place,
                          row.rating(), row.stddev(),
                          TitleOf(row.item(), row.name()));
    for (const auto& reason : row.because()) {
      absl::StrAppendFormat(
          &text, "%21s%+.2f, because %s was rated %g\n", "", reason.adds(),
          TitleOf(reason.item(), reason.name()), reason.rating());
    }
  }
  absl::StrAppendFormat(&text,
                        "from the model and %d own ratings; a rating lies "
                        "within twice +- of its prediction in about 95 %% of "
                        "cases if the model is right\n",
                        reply.own_ratings());
  return text;
}

absl::Status ForOne(const RecommendFlags& flags, const std::string& person,
                    const ListOptions& options, const Dataset& dataset,
                    const OpenedRecommender& opened) {
  const auto column = opened.users.Find(person);
  if (!column.has_value()) {
    absl::FPrintF(stderr,
                  "dpnmf-curator: note: no person with the id `%s` has rated: "
                  "this is the list of a new person.\n",
                  person);
  }
  const RatedItems own =
      column.has_value() ? dataset.RatingsOf(*column) : RatedItems{};
  std::size_t used = 0;
  DPNMF_ASSIGN_OR_RETURN(const std::vector<Recommendation> list,
                         opened.recommender.Recommend(own, options, &used));
  if (used < own.items.size()) {
    absl::FPrintF(stderr,
                  "dpnmf-curator: note: the numbers of the model are too large "
                  "for the %d ratings of `%s`: this is the list of a new "
                  "person, without the items that were rated.\n",
                  own.items.size(), person);
  }
  const auto reply = ReplyOf(opened.recommender.model(), list, used);
  const std::string text = flags.format == "json" ? dpnmf::ToJson(reply)
                                                  : RecommendationsText(reply);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

// ---- everybody

// RFC 4180.
std::string Field(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos)
    return std::string(text);
  return CsvQuoted(text);
}

// The lines of one person.
absl::StatusOr<std::string> LinesOf(const Dataset& dataset,
                                    const OpenedRecommender& opened,
                                    const std::vector<std::string>& titles,
                                    const ListOptions& options,
                                    std::uint64_t column) {
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<Recommendation> list,
      opened.recommender.Recommend(dataset.RatingsOf(column), options));
  const std::string user = Field(opened.users.IdOf(column));
  std::string lines;
  int place = 0;
  for (const Recommendation& one : list) {
    absl::StrAppendFormat(&lines, "%s,%d,%s,%.3f,%.3f\n", user, ++place,
                          titles[static_cast<std::size_t>(one.item)],
                          one.rating, one.stddev);
  }
  return lines;
}

void ShowProgress(std::uint64_t done, std::uint64_t people, double seconds) {
  if (isatty(STDERR_FILENO) == 0) return;
  absl::FPrintF(stderr, "\r\033[K%d of %d people, %.0f a second", done, people,
                done / std::max(seconds, 1e-3));
  if (done == people) std::fputs("\r\033[K", stderr);
}

absl::Status ForAll(const RecommendFlags& flags, const ListOptions& options,
                    const Dataset& dataset, const OpenedRecommender& opened) {
  constexpr std::uint64_t kBlock = 1024;
  InterruptGently();
  const Stopwatch watch;
  DPNMF_ASSIGN_OR_RETURN(GrowingFile file, GrowingFile::Create(flags.output));
  const NamedItemModel& model = opened.recommender.model();
  std::vector<std::string> titles;  // "id,name"
  for (std::size_t i = 0; i < model.items.size(); ++i) {
    titles.push_back(absl::StrCat(
        Field(model.items[i]), ",",
        model.names.empty() ? std::string() : Field(model.names[i])));
  }
  DPNMF_RETURN_IF_ERROR(file.Append("user,place,item,name,rating,stddev\n"));
  const int threads = flags.threads > 0 ? flags.threads : DefaultThreads();
  const std::uint64_t people = opened.users.size();
  for (std::uint64_t begin = 0; begin < people; begin += kBlock) {
    if (Interrupted()) {
      return Refusal(absl::StatusCode::kCancelled, "interrupted",
                     "Interrupted: no file was written.");
    }
    const std::uint64_t count = std::min(kBlock, people - begin);
    std::vector<absl::StatusOr<std::string>> lines(
        count, absl::StatusOr<std::string>(std::string()));
    ParallelFor(count, threads, [&](std::size_t i, int) {
      lines[i] = LinesOf(dataset, opened, titles, options, begin + i);
    });
    std::string block;
    for (const absl::StatusOr<std::string>& one : lines) {
      DPNMF_RETURN_IF_ERROR(one.status());
      block += *one;
    }
    DPNMF_RETURN_IF_ERROR(file.Append(block));
    ShowProgress(begin + count, people, watch.Seconds());
  }
  DPNMF_RETURN_IF_ERROR(file.Publish());
  absl::PrintF(
      "wrote %s: the lists of %d people in %.2f s. It is private data: each "
      "list may go to its person and to nobody else.\n",
      flags.output, people, watch.Seconds());
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Run(const RecommendFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckFlags(flags));
  std::string person;
  if (!flags.all) {
    DPNMF_ASSIGN_OR_RETURN(person, PersonOf(flags.person));
  }
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                         Dataset::OpenNamed(flags.data_dir, flags.name));
  DPNMF_ASSIGN_OR_RETURN(
      const OpenedRecommender opened,
      OpenRecommender(flags.data_dir, *dataset, flags.model, nullptr));
  DPNMF_RETURN_IF_ERROR(VerifyOnDisk(flags.data_dir, *dataset));
  const ListOptions options = {.top = flags.top,
                               .by_rating = flags.order == "rating",
                               .explain = flags.explain};
  DPNMF_RETURN_IF_ERROR(flags.all
                            ? ForAll(flags, options, *dataset, opened)
                            : ForOne(flags, person, options, *dataset, opened));
  return kExitOk;
}

}  // namespace

Command RecommendCommand() {
  const auto flags = std::make_shared<RecommendFlags>();
  return {
      .name = "recommend",
      .summary =
          "Make lists of items for people, with a model of `dpnmf model`",
      .footer =
          "A list is a function only of the model and of its person's own "
          "ratings. It may be shown\nto that person and to nobody else. "
          "Nothing is sent and no budget is spent.\nExample:\n  dpnmf-curator "
          "recommend --data-dir /var/lib/dpnmf --name films \\\n    --model "
          "items.npz --explain --user-file - <who",
      .flags = {Flag("--data-dir", &flags->data_dir,
                     "Directory of data sets, ledger and releases",
                     {.value = "DIR", .env = true, .required = true}),
                Flag("--name", &flags->name, "Data set of ratings",
                     {.value = "DATASET", .required = true}),
                Flag("--model", &flags->model,
                     "File of `dpnmf model RUN --output`, .npz or .csv",
                     {.value = "FILE", .required = true}),
                UserFlag(&flags->person), UserFileFlag(&flags->person),
                Flag("--all", &flags->all,
                     "Write the lists of all people who have rated"),
                Flag("--output", &flags->output,
                     "For --all: CSV file (mode 0600), replaced if it exists",
                     {.value = "FILE"}),
                Flag("--top", &flags->top, "Length of a list",
                     {.range = {1, kMostTop}, .shown = true}),
                Flag("--order", &flags->order,
                     "Order by what the person would choose and like, or by "
                     "the predicted rating",
                     {.one_of = "relevance|rating", .shown = true}),
                Flag("--explain", &flags->explain,
                     "Show the own ratings that contribute most"),
                Flag("--threads", &flags->threads,
                     "Threads for --all [all cores]", {.range = {0, 1024}}),
                Flag("--format", &flags->format, "Output format of one list",
                     {.one_of = "text|json", .shown = true})},
      .run = [flags] { return Run(*flags); }};
}

}  // namespace dpnmf::curator
