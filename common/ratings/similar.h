// Items that people rate alike, by a published model.
#ifndef DPNMF_COMMON_RATINGS_SIMILAR_H_
#define DPNMF_COMMON_RATINGS_SIMILAR_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ratings/model_file.h"

namespace dpnmf {

// The item with that id; else the only one with that name; else the only one
// whose name is that but for the case of ASCII letters. NOT_FOUND
// "item-not-found" with the nearest names; INVALID_ARGUMENT "item-ambiguous"
// with the ids of the items that have the name.
absl::StatusOr<std::int32_t> FindItem(const NamedItemModel& model,
                                      std::string_view text);

struct SimilarItem {
  std::int32_t item = 0;
  double similarity = 0;  // in [-1, 1]
};

// The `top` items nearest to `item`, itself left out, nearest first, equal ones
// by their place.
//
// Without its bias a person's opinion of item i is x_i . h with h ~ N(0, I)
// over people; what the release leaves open of the item has the standard error
// s_i (base_stddev). The similarity is the correlation of two such opinions,
//   x_i . x_j / sqrt((|x_i|^2 + s_i^2) (|x_j|^2 + s_j^2)),
// the cosine of the factors, smaller where little is known. A model without
// factors beside the bias: FAILED_PRECONDITION "similarity-unavailable".
absl::StatusOr<std::vector<SimilarItem>> SimilarItems(
    const NamedItemModel& model, std::int32_t item, std::size_t top);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_SIMILAR_H_
