// The declared items of a data set of ratings: their names and their public
// features. All of it is public; nothing of it comes from the ratings.
#ifndef DPNMF_CURATOR_IMPORT_READERS_ITEM_TABLE_H_
#define DPNMF_CURATOR_IMPORT_READERS_ITEM_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tables/names/name_list.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Bytes of an id, and of the name of an item or a feature: what the wire takes.
inline constexpr std::size_t kLongestItemId = 256;
inline constexpr std::size_t kLongestItemName = 1024;

// D items, p features. Texts are not empty, not longer than the limits above,
// and UTF-8 without control characters.
struct ItemTable {
  std::vector<std::string> ids;            // D, each once
  std::vector<std::string> names;          // D; the id where none was declared
  std::vector<std::string> feature_names;  // p, each once; p may be 0
  std::vector<double> features;            // D x p, column-major; |x| <= 1e15

  friend bool operator==(const ItemTable&, const ItemTable&) = default;
};

// Public ids of items or names of features, as operators write them.
// `options.longest` is that of ids. Errors as LoadNameList.
absl::StatusOr<std::vector<std::string>> LoadIds(const std::string& path,
                                                 NameListOptions options = {});
// Checks the length and the characters of ids; `place` comes before an id's
// number, from 1.
absl::StatusOr<std::vector<std::string>> CheckedIds(
    const std::string& place, std::vector<std::string> ids,
    std::string_view what);

// The public names of the features of a data set that is no ratings: D, or none
// where the operator declared none. DATA_LOSS "dataset-damaged" if they are not
// D names.
absl::StatusOr<std::vector<std::string>> ReadFeatureNames(
    const std::string& directory, const DatasetDescription& description);

// items_file: the ids, a list of names (common/tables/names/name_list.h) with
// what `list` says of it; their order is that of the items.
//
// features_file (empty: there is none): CSV with a header that begins with
// `item,name`, and one line for each item, in any order. A further column is
// numeric if one of its fields is a number; all of them must then be. Else it
// holds categories, several joined by `|`: each category becomes a column of 0
// and 1 that is named COLUMN=CATEGORY, in the order of their bytes. An empty
// name means the id.
//
// Each file may be compressed with gzip. NOT_FOUND "input-not-found";
// INVALID_ARGUMENT "input-unreadable", "input-empty", "input-malformed",
// "input-ragged", "input-not-a-number", "input-not-finite",
// "input-out-of-range", "input-duplicate", "input-too-large" (above
// kMostItemFeatures columns or 100,000,000 items; a text that is too long),
// "input-ambiguous" (LoadNameList), "item-unknown", "features-mismatch" (an
// item has no line). The sentence names the line.
absl::StatusOr<ItemTable> LoadItemTable(const std::string& items_file,
                                        const std::string& features_file,
                                        NameListOptions list = {});

// Features of people or items that nobody declared before, for research: a
// features file as above, whose lines are its people or items. The first column
// is the id, whatever it is called; the second one holds names if it is called
// `name`, else it is a feature. Fields may also be separated by tabs or
// semicolons. `what` is what a sentence calls a line: "person" or "item".
// Errors of a features file.
absl::StatusOr<ItemTable> LoadFeatureTable(const std::string& features_file,
                                           std::string_view what);

// items.csv of a data set: as a features file, in the order of the items, with
// numeric columns alone. Doubles are written so that they are read back as
// they were.
std::string ItemTableText(const ItemTable& items);

// Reads DIRECTORY/items.csv of a data set of ratings. DATA_LOSS
// "dataset-damaged" if it is not one of description.features items and
// description.ratings->item_features features.
absl::StatusOr<ItemTable> ReadItemTable(const std::string& directory,
                                        const DatasetDescription& description);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_READERS_ITEM_TABLE_H_
