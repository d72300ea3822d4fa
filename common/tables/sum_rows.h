// Several rows of one person, added up.
#ifndef DPNMF_COMMON_TABLES_SUM_ROWS_H_
#define DPNMF_COMMON_TABLES_SUM_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/files/input_file.h"

namespace dpnmf {

// Without blanks around it, ASCII letters in lower case; of a whole number the
// number: 007, 7 and 7.0 are one id, and 1e5 and 100000.
std::string CanonicalId(std::string_view id);

// Two ids of the list that are the same: letter by letter if `spelled_alike`,
// else in another spelling (CanonicalId, without signs that nobody sees). Ids
// that are empty are not compared.
std::optional<std::pair<std::string, std::string>> FindSameId(
    const std::vector<std::string>& ids, bool spelled_alike);

// A name of the list and the same name with the number that pandas, R and
// scanpy put behind it where it is there again: TP53 and TP53.1 or TP53-1.
std::optional<std::pair<std::string, std::string>> FindRenamed(
    const std::vector<std::string>& names);

// Replaces the rows of one id by their sum, in the order of the first row of
// each id. `values`: rows of `width` entries, one after another. A sum does not
// depend on the order of the rows: it is made in double precision, from the
// smallest entry on, and rounded to float once. `labels`: of the rows, or
// empty; "input-duplicate" if rows of one id have different ones.
// "input-not-finite" if a sum is above the largest float.
absl::Status SumRows(const InputFile& input, std::size_t width,
                     std::vector<std::string>* ids,
                     std::vector<std::int32_t>* labels,
                     std::vector<float>* values);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_SUM_ROWS_H_
