#include "common/wire/item_pages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/utf8.h"

namespace dpnmf {
namespace {

absl::Status MalformedPage(absl::string_view problem) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "items-malformed",
      absl::StrCat("The curator's list of items is malformed (", problem,
                   "); both sides must run the same version."));
}

// Names are printed on terminals: no control characters.
bool IsNameOf(const std::string& text, std::size_t longest) {
  return text.size() <= longest && IsPlainText(text);
}

}  // namespace

absl::StatusOr<v1::ListItemsReply> ItemPage(const ItemList& items,
                                            std::uint64_t first) {
  const std::uint64_t count = items.ids.size();
  if (first >= count) {
    return Refusal(absl::StatusCode::kInvalidArgument, "item-out-of-range",
                   absl::StrCat("`first` must be below the number of items, ",
                                count, "."));
  }
  v1::ListItemsReply page;
  page.set_first(first);
  if (first == 0) {
    page.mutable_feature_names()->Add(items.feature_names.begin(),
                                      items.feature_names.end());
  }
  std::size_t bytes = page.ByteSizeLong();
  std::uint64_t next = first;
  for (; next < count && bytes < kItemPageBytes; ++next) {
    v1::Item& item = *page.add_items();
    item.set_id(items.ids[next]);
    item.set_name(items.names[next]);
    for (Eigen::Index k = 0; k < items.features.cols(); ++k)
      item.add_features(items.features(static_cast<Eigen::Index>(next), k));
    bytes += item.ByteSizeLong();
    if (!items.weights.empty()) {
      page.add_weights(items.weights[next]);
      bytes += sizeof(double);
    }
  }
  page.set_more(next < count);
  return page;
}

bool WriteItemPages(const std::vector<std::string>& ids,
                    const std::vector<std::string>& names,
                    const std::function<bool(v1::ListItemsReply&& page)>& write,
                    const std::vector<double>& weights) {
  ItemList list;
  list.ids = ids;
  list.weights = weights;
  list.names = names;
  list.names.resize(ids.size());
  list.features.resize(static_cast<Eigen::Index>(ids.size()), 0);
  for (std::uint64_t next = 0; next < ids.size();) {
    absl::StatusOr<v1::ListItemsReply> page = ItemPage(list, next);
    if (!page.ok()) return false;
    next += static_cast<std::uint64_t>(page->items_size());
    if (!write(*std::move(page))) return false;
  }
  return true;
}

absl::Status ItemPagesReader::Add(const v1::ListItemsReply& page) {
  const std::uint64_t held = next();
  const auto fresh = static_cast<std::uint64_t>(page.items_size());
  if (page.first() != held || fresh < 1 || fresh > items_ - held)
    return MalformedPage("a page does not continue the one before");
  if (page.more() != (held + fresh < items_))
    return MalformedPage("it has another number of items than the data set");
  if (static_cast<std::uint64_t>(page.feature_names_size()) !=
      (held == 0 ? features_ : 0)) {
    return MalformedPage("it has another number of features than the data set");
  }
  const bool weighted = page.weights_size() > 0;
  if ((weighted && page.weights_size() != page.items_size()) ||
      (held > 0 && weighted != !list_.weights.empty()) ||
      !std::all_of(
          page.weights().begin(), page.weights().end(),
          [](double weight) { return weight >= 0 && std::isfinite(weight); }))
    return MalformedPage("its weights are not one for each item");
  for (const v1::Item& item : page.items()) {
    if (item.id().empty() || !IsNameOf(item.id(), kLongestItemId) ||
        !IsNameOf(item.name(), kLongestItemName)) {
      return MalformedPage(
          "an id or a name is empty, too long or not one line");
    }
    if (static_cast<std::uint32_t>(item.features_size()) != features_ ||
        !std::all_of(item.features().begin(), item.features().end(),
                     [](double value) { return std::isfinite(value); })) {
      return MalformedPage(
          "an item has not as many finite features as declared");
    }
    if (!seen_.insert(item.id()).second)
      return MalformedPage("two items have one id");
    list_.ids.push_back(item.id());
    list_.names.push_back(item.name());
    values_.insert(values_.end(), item.features().begin(),
                   item.features().end());
  }
  list_.weights.insert(list_.weights.end(), page.weights().begin(),
                       page.weights().end());
  for (const std::string& name : page.feature_names()) {
    if (!IsNameOf(name, kLongestItemName))
      return MalformedPage("the name of a feature is too long or not one line");
    list_.feature_names.push_back(name);
  }
  return absl::OkStatus();
}

ItemList ItemPagesReader::Take() {
  using Rows =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  list_.features =
      Eigen::Map<const Rows>(values_.data(), static_cast<Eigen::Index>(items_),
                             static_cast<Eigen::Index>(features_));
  values_ = {};
  seen_ = {};
  return std::move(list_);
}

}  // namespace dpnmf
