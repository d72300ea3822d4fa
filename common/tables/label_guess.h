// Columns of a text matrix that look like names: by their header, by entries.
#ifndef DPNMF_COMMON_TABLES_LABEL_GUESS_H_
#define DPNMF_COMMON_TABLES_LABEL_GUESS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpnmf {

// The first column that the header calls by a usual name of ids (id, person,
// patient, user, name, ...). `header`: of each column, or empty.
std::optional<std::size_t> FindNamesByHeader(
    const std::vector<std::string>& header);

// Returns whether the header calls its column people: person, patient_id, MRN.
bool NamesPeople(std::string_view header);

// Returns whether the name is that of a sum of others: Total, Summe, Gesamt.
bool NamesTotal(std::string_view name);

struct LikelyNames {
  std::size_t column = 0;
  const char* why = "";  // "its entries are ..."
};

// The first column whose entries look like names. `values`: rows of `width`
// entries, one after another.
//   - They are integers, no two alike, two at least, while those of no other
//     column are (of another column than the first: ten at least);
//   - or they grow or fall by a constant step, three at least (of another
//     column than the first: ten at least).
// A column that stands alone never does. One person's row decides this, so no
// public fact may depend on it (docs/reference/privacy.md, section 2).
std::optional<LikelyNames> FindNamesByEntries(const std::vector<float>& values,
                                              std::size_t width);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_LABEL_GUESS_H_
