// The rows that a request names.
#ifndef DPNMF_CURATOR_FACTOR_ROW_PLACES_H_
#define DPNMF_CURATOR_FACTOR_ROW_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dpnmf::curator {

// Index of each of the D rows in `rows`, or -1 if `rows` does not have the row.
// All entries of `rows` are below D.
inline std::vector<std::int32_t> PlacesOf(std::span<const std::uint32_t> rows,
                                          std::uint64_t features) {
  std::vector<std::int32_t> places(features, -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    places[rows[i]] = static_cast<std::int32_t>(i);
  return places;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_ROW_PLACES_H_
