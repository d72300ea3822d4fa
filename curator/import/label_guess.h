// Whether the first column of a text matrix looks like names.
#ifndef DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_
#define DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace dpnmf::curator {

// `header`: of the first column, empty if there is none. `values`: rows of
// `width` entries, one after another. True if the header is a usual one of
// names (id, person, patient, user, name, ...), or if the entries are distinct
// integers, ten at least, while no other column is such.
bool LooksLikeNames(std::string_view header, const std::vector<float>& values,
                    std::size_t width);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_LABEL_GUESS_H_
