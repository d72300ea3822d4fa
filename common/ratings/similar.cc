#include "common/ratings/similar.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

constexpr std::size_t kMostProposals = 3;

// Three letters in a row, with the ends marked.
std::set<std::string> Trigrams(std::string_view text) {
  const std::string marked =
      absl::StrCat("  ", absl::AsciiStrToLower(View(text)), " ");
  std::set<std::string> trigrams;
  for (std::size_t i = 0; i + 3 <= marked.size(); ++i)
    trigrams.insert(marked.substr(i, 3));
  return trigrams;
}

// The names, or the ids, that share most of what was asked for; at least a
// third of it.
std::vector<std::string> Proposals(const NamedItemModel& model,
                                   std::string_view text) {
  const std::set<std::string> wanted = Trigrams(text);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const auto* texts : {&model.names, &model.items}) {
    for (const std::string& known : *texts) {
      std::size_t shared = 0;
      for (const std::string& trigram : Trigrams(known))
        shared += wanted.count(trigram);
      if (3 * shared >= wanted.size()) near.emplace_back(shared, known);
    }
  }
  // Most shared first, of these the shortest.
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first
                              : a.second.size() < b.second.size();
  });
  std::vector<std::string> proposals;
  for (const auto& [shared, known] : near) {
    if (proposals.size() == kMostProposals) break;
    const std::string quoted = absl::StrCat("`", View(known), "`");
    if (std::find(proposals.begin(), proposals.end(), quoted) ==
        proposals.end())
      proposals.push_back(quoted);
  }
  return proposals;
}

absl::Status Unknown(const NamedItemModel& model, std::string_view text) {
  const std::vector<std::string> near = Proposals(model, text);
  return Refusal(
      absl::StatusCode::kNotFound, "item-not-found",
      absl::StrCat("The model has no item `", View(text), "`: ",
                   near.empty() ? "give an id or a name of the item list"
                                : absl::StrCat("the nearest names are ",
                                               absl::StrJoin(near, ", ")),
                   "."));
}

template <typename Same>
std::vector<std::size_t> Where(const std::vector<std::string>& texts,
                               const Same& same) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (same(texts[i])) places.push_back(i);
  return places;
}

}  // namespace

absl::StatusOr<std::int32_t> FindItem(const NamedItemModel& model,
                                      std::string_view text) {
  const auto is_text = [&](const std::string& known) { return known == text; };
  const auto is_text_in_any_case = [&](const std::string& known) {
    return absl::EqualsIgnoreCase(known, View(text));
  };
  std::vector<std::size_t> places = Where(model.items, is_text);
  if (places.empty()) places = Where(model.names, is_text);
  if (places.empty()) places = Where(model.names, is_text_in_any_case);
  if (places.empty()) return Unknown(model, text);
  if (places.size() == 1) return static_cast<std::int32_t>(places[0]);
  if (places.size() > kMostProposals) places.resize(kMostProposals);
  return Refusal(
      absl::StatusCode::kInvalidArgument, "item-ambiguous",
      absl::StrCat(
          "Several items are called `", View(text), "`: give an id, such as ",
          absl::StrJoin(places, ", ",
                        [&](std::string* out, std::size_t place) {
                          absl::StrAppend(out, "`", model.items[place], "`");
                        }),
          "."));
}

absl::StatusOr<std::vector<SimilarItem>> SimilarItems(
    const NamedItemModel& model, std::int32_t item, std::size_t top) {
  const Eigen::MatrixXd& loadings = model.model.loadings;
  const Eigen::Index directions = loadings.cols() - 1;
  if (directions < 1 || loadings.rightCols(directions).isZero(0)) {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "similarity-unavailable",
                   "The model has no factors beside the person's bias, so "
                   "items cannot be compared by the people who like them: "
                   "train with a larger epsilon or with item features.");
  }
  const auto x = loadings.rightCols(directions);
  const Eigen::VectorXd deviation =
      (x.rowwise().squaredNorm() + model.model.base_stddev.cwiseAbs2())
          .cwiseSqrt();
  const Eigen::VectorXd products = x * x.row(item).transpose();
  std::vector<SimilarItem> similar;
  similar.reserve(static_cast<std::size_t>(products.size()));
  for (Eigen::Index j = 0; j < products.size(); ++j) {
    const double both = deviation(item) * deviation(j);
    if (j != item)
      similar.push_back(
          {static_cast<std::int32_t>(j), both > 0 ? products(j) / both : 0});
  }
  const auto nearer = [](const SimilarItem& a, const SimilarItem& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity
                                        : a.item < b.item;
  };
  const std::size_t count = std::min(top, similar.size());
  std::partial_sort(similar.begin(),
                    similar.begin() + static_cast<std::ptrdiff_t>(count),
                    similar.end(), nearer);
  similar.resize(count);
  return similar;
}

}  // namespace dpnmf
