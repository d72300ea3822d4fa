// Declared items as pages (ListItemsReply), and back.
#ifndef DPNMF_COMMON_WIRE_ITEM_PAGES_H_
#define DPNMF_COMMON_WIRE_ITEM_PAGES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ratings/item_list.h"
#include "dpnmf/v1/curator.pb.h"

namespace dpnmf {

// A page ends with the item that brings it to this many bytes. An item has less
// than 40 KB, so a page stays far below gRPC's 4 MB.
inline constexpr std::size_t kItemPageBytes = std::size_t{1} << 20;
inline constexpr std::size_t kLongestItemId = 256;
inline constexpr std::size_t kLongestItemName = 1024;
inline constexpr std::uint32_t kMostItemFeatures = 4096;

// The page that begins at item `first`. INVALID_ARGUMENT "item-out-of-range"
// unless there is such an item.
absl::StatusOr<v1::ListItemsReply> ItemPage(const ItemList& items,
                                            std::uint64_t first);

// All pages of ids, names and weights (as many, or none) without features:
// calls write(page); stops and returns false when write does.
bool WriteItemPages(const std::vector<std::string>& ids,
                    const std::vector<std::string>& names,
                    const std::function<bool(v1::ListItemsReply&& page)>& write,
                    const std::vector<double>& weights = {});

// Gathers the pages of one list. Not thread-safe. Memory is taken as pages
// arrive.
class ItemPagesReader {
 public:
  // D items with as many features each.
  ItemPagesReader(std::uint64_t items, std::uint32_t features)
      : items_(items), features_(features) {}

  // The next page. INVALID_ARGUMENT "items-malformed" unless it continues the
  // list, every id is new and of a proper length, every item has the features,
  // all finite, and all items or none have a weight, finite and at least 0.
  absl::Status Add(const v1::ListItemsReply& page);
  // The first item that is missing.
  std::uint64_t next() const { return list_.ids.size(); }
  bool complete() const { return list_.ids.size() == items_; }
  // Requires complete().
  ItemList Take();

 private:
  std::uint64_t items_;
  std::uint32_t features_;
  ItemList list_;
  std::unordered_set<std::string> seen_;
  std::vector<double> values_;  // item by item
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_ITEM_PAGES_H_
