// Whether a column of a text matrix looks like names.
#ifndef DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_
#define DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dpnmf::curator {

struct LikelyNames {
  std::size_t column = 0;
  std::string why;  // "its header is 'id'", "its entries are ..."
};

// `header`: of each column, or empty. `values`: rows of `width` entries, one
// after another. The first column that looks like names:
//   - its header is a usual one (id, person, patient, user, name, ...);
//   - its entries are integers, no two alike, two at least, while those of no
//     other column are (of another column than the first: ten at least);
//   - its entries grow or fall by a constant step, three at least (of another
//     column than the first: ten at least).
// Nothing if there is one column alone.
std::optional<LikelyNames> FindNames(const std::vector<std::string>& header,
                                     const std::vector<float>& values,
                                     std::size_t width);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_
