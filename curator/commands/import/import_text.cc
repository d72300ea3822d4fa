#include "curator/commands/import/import_text.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/view.h"
#include "curator/commands/commands.h"
#include "curator/import/readers/ratings.h"

namespace dpnmf::curator {
namespace {

// "reading 1.20 s, checking 0.03 s, writing 0.40 s, ledger 0.30 s, ..."
std::string StagesText(const v1::ImportReport& report) {
  return absl::StrJoin(
      report.time(), ", ", [](std::string* out, const v1::StageTime& time) {
        absl::StrAppendFormat(out, "%s %.2f s", time.stage(), time.seconds());
      });
}

// "sparse, columns scaled to length 1", "ratings from 1 to 5, ..."
std::string EntriesText(const v1::Dataset& dataset) {
  if (dataset.has_ratings()) {
    return absl::StrFormat("ratings from %s to %s, %d item features",
                           RatingText(dataset.ratings().low_units()),
                           RatingText(dataset.ratings().high_units()),
                           dataset.ratings().item_features());
  }
  std::string text = absl::StrCat(
      dataset.has_sums() ? "sums"
      : dataset.sparse() ? "sparse"
                         : "dense",
      dataset.sums().rows().empty()
          ? ""
          : absl::StrFormat(" on %d rows", dataset.sums().rows_size()),
      ", columns ",
      dataset.normalisation() == v1::NORMALISATION_L2
          ? std::string("scaled to length 1")
          : absl::StrFormat("of length at most %g", dataset.column_bound()));
  if (dataset.weighted_features()) text += ", features weighted";
  if (dataset.has_range()) {
    absl::StrAppendFormat(&text, ", entries from %g to %g%s",
                          dataset.range().low(), dataset.range().high(),
                          dataset.range().integers() ? ", integers" : "");
  }
  if (dataset.has_classes()) {
    absl::StrAppendFormat(
        &text, ", %d classes, labels %s", dataset.classes().names_size(),
        dataset.classes().sizes_size() > 0 ? "public" : "private");
  }
  return text;
}

}  // namespace

ImportProgress ShowProgress(StageTimes* times) {
  return [times, terminal = isatty(STDERR_FILENO) != 0, last = std::string()](
             std::string_view stage, std::uint64_t done,
             std::uint64_t total) mutable {
    times->Enter(stage);
    if (!terminal) return;
    std::string line =
        total == 0 ? absl::StrFormat("%s %d MB", std::string(stage), done >> 20)
                   : absl::StrFormat("%s %3d %%", std::string(stage),
                                     100 * done / total);
    if (line == last) return;
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    last = std::move(line);
  };
}

void ClearProgress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

void PrintReport(const v1::ImportReport& report,
                 const PopulationPolicy& policy) {
  const v1::Dataset& dataset = report.dataset();
  const bool declared = policy.adjacency == Adjacency::kAddRemoveOne;
  absl::PrintF("imported %s in %.2f s: %d %s (D) x %d users (%s), %s\n",
               dataset.name(), report.seconds(), dataset.features(),
               dataset.has_ratings() ? "items" : "features", dataset.users(),
               declared ? "N0, declared" : "N", EntriesText(dataset));
  absl::PrintF("  time        %s\n", StagesText(report));
  absl::PrintF("  directory   %s\n", report.directory());
  absl::PrintF("  population  %s\n", policy.population);
  if (!dataset.partition().empty()) {
    absl::PrintF("  partition   %s: runs are charged to it alone\n",
                 dataset.partition());
  }
  absl::PrintF(
      "  guarantee   epsilon %g at delta %g (%s, %s): the cap on everything "
      "that is ever released about this population\n",
      policy.epsilon, policy.delta, std::string(NameOf(policy.conversion)),
      std::string(NameOf(policy.adjacency)));
  if (dataset.guarantee().has_void_since()) {
    absl::PrintF(
        "  VOID        since %s: a table about these people was published "
        "without privacy, and the guarantee does not hold\n",
        MomentText(dataset.guarantee().void_since()));
  }
  if (dataset.is_public()) absl::PrintF("  declared public\n");
}

void PrintNote(const std::string& sentence) {
  absl::FPrintF(stderr, "dpnmf-curator: note: %s.\n", sentence);
}

void PrintRefusal(const absl::Status& status) {
  ClearProgress();
  std::fputs(ErrorText("dpnmf-curator", status).c_str(), stderr);
}

std::string PreviewText(const ImportPreview& preview, std::string_view title) {
  const DatasetDescription& description = preview.description;
  std::string text = absl::StrCat(View(title), ": ");
  if (description.ratings.has_value()) {
    absl::StrAppendFormat(&text,
                          "%d items (D) x %d users, ratings from %s to %s, %d "
                          "item features; -: no rating\n",
                          description.features, preview.people,
                          RatingText(description.ratings->low_units),
                          RatingText(description.ratings->high_units),
                          description.ratings->item_features);
  } else {
    absl::StrAppendFormat(&text, "%d features (D) x %d users in the file, %s\n",
                          description.features, preview.people,
                          description.sparse ? "sparse" : "dense");
  }
  for (const std::string& line : preview.understood)
    absl::StrAppend(&text, "  ", line, "\n");
  for (std::size_t n = 0; n < preview.first.size(); ++n)
    absl::StrAppend(&text, "  person ", n + 1, ": ", preview.first[n], "\n");
  return text;
}

std::string_view DryRunText() {
  return "Not checked: the guarantee of the population, delta, the labels of "
         "its other data\nsets, and whether these people are known or were "
         "published.\nNothing was written.\n";
}

}  // namespace dpnmf::curator
