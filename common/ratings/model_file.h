// An item model as a file that anybody can read: docs/reference/recommender.md
// has the format. A file is hostile: it may come from a party that is trusted
// with nothing.
//
// .npz: arrays as numpy.load reads them
//   version (1)         1
//   rating_range (2)    low, high
//   residual_stddev (1)
//   level (1)           ItemModel::level; absent if it is 0
//   item (D), name (D)  UTF-8; without names there is no `name`
//   base, base_stddev, count, count_stddev, popularity (D)
//   factors (D x q)     ItemModel::loadings; the first column: the own bias
//   ranking (D x k)     absent if k is 0
//
// .csv: a line of constants, a header, then an item a line
//   # dpnmf items, version 1, low 1, high 5, residual_stddev 0.87
//   (a non-negative model: then ", level 2")
//   item,name,base,base_stddev,count,count_stddev,popularity,factor1,...,
//     ranking1,...
#ifndef DPNMF_COMMON_RATINGS_MODEL_FILE_H_
#define DPNMF_COMMON_RATINGS_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/ratings/item_model.h"

namespace dpnmf {

// Limits of what is read, on the wire as in a file.
inline constexpr std::int64_t kMostModelItems = 10'000'000;
inline constexpr std::int64_t kMostModelColumns = 1024;  // of each matrix
inline constexpr std::size_t kMostModelFileBytes = std::size_t{2} << 30;

// A model with what its items are called.
struct NamedItemModel {
  ItemModel model;
  std::vector<std::string> items;  // D ids, each once
  std::vector<std::string>
      names;  // D names for people; empty if there are none
};

// Checks that a model can be used: shapes that fit, 1 <= D <= kMostModelItems,
// 1 <= q, k <= kMostModelColumns; finite numbers of at most 1e12, loadings and
// base of at most 1e6 times the range; low < high; residual_stddev at least
// 1e-6 times the range; level 0, or from 1e-3 to 1e3 and no loading below 0;
// standard errors, counts and popularity at least 0; ids and names that are
// printable lines of UTF-8 of at most 1,024 bytes, ids not empty and each once.
// INVALID_ARGUMENT "model-file-malformed".
absl::Status CheckItemModel(const NamedItemModel& model);

// The numbers of a model by the names that they have in a file: "base", ...
// (D x 1), "factors" and, unless k is 0, "ranking".
std::vector<std::pair<std::string, Eigen::MatrixXd>> ArraysOf(
    const ItemModel& model);
// Puts one of them into its place. INVALID_ARGUMENT "model-file-malformed" for
// another name, or more than one column where there is one.
absl::Status SetArray(std::string_view name, Eigen::MatrixXd values,
                      ItemModel* model);

// `model` must pass CheckItemModel. The same model gives the same bytes; every
// number is read back as it was.
std::string NpzText(const NamedItemModel& model);
std::string ItemCsvText(const NamedItemModel& model);

// The model of either format, told apart by the first bytes. Takes memory of a
// small multiple of the bytes. INVALID_ARGUMENT "model-file-malformed",
// "npy-malformed"; FAILED_PRECONDITION "model-file-newer" for another version.
absl::StatusOr<NamedItemModel> ParseItemModel(std::string_view bytes);
// Errors of ReadFile besides; sentences name the file.
absl::StatusOr<NamedItemModel> ReadItemModel(const std::string& path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_MODEL_FILE_H_
