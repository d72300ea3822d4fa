// Lists of names: of features, of items, of words.
#ifndef DPNMF_COMMON_TABLES_NAMES_NAME_LIST_H_
#define DPNMF_COMMON_TABLES_NAMES_NAME_LIST_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf {

struct NameListOptions {
  // Word of the sentences for an entry: "feature" or "item".
  std::string_view what = "feature";
  // Bytes of a name at most.
  std::size_t longest = std::numeric_limits<std::size_t>::max();
  // Word for these names in the header of another file, such as that of the
  // ratings for their items; empty: not known.
  std::string header = "";
  // Told what was taken for a header, and which field for the names.
  std::function<void(const std::string& sentence)> note = nullptr;
};

// The names of a list as programs and people write it (gzip too): one a line,
// perhaps in double quotes, perhaps below a header; or one field of a table
// with separators, where it is clear which one. Names are UTF-8 without control
// characters; blanks around them do not count, nor do empty lines at the end
// and lines above that begin with "# ". A first line is a header if
// `options.header` or a usual word for names is in it; or, in a list, if it is
// a word above numbers, 0 above words (pandas) or a quoted x (R).
//
// INVALID_ARGUMENT "input-ambiguous" (it is not clear which field has the
// names, or whether the first line is one), "input-duplicate" (a name stands
// twice), "input-empty", "input-malformed", "input-ragged", "input-too-large";
// errors of InputFile. No answer depends on data of people.
absl::StatusOr<std::vector<std::string>> LoadNameList(
    const std::string& path, const NameListOptions& options = {});

// The lines of a list that this program wrote: each is a name as it stands.
// Errors of InputFile.
absl::StatusOr<std::vector<std::string>> ReadNameLines(const std::string& path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_NAMES_NAME_LIST_H_
