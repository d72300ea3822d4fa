// Words of a first line: is it a header?
#ifndef DPNMF_COMMON_TABLES_NAMES_HEADER_WORDS_H_
#define DPNMF_COMMON_TABLES_NAMES_HEADER_WORDS_H_

#include <string_view>

namespace dpnmf {

// Returns whether the text could be a header's name of a column of numbers: it
// begins with a letter and is neither a number, nor a truth value, nor a code
// for missing (NA, null ...).
bool IsWord(std::string_view text);

// Returns whether the text is a usual header above names or ids: feature, name,
// gene_id, movieId ... With `of_items` those of items too: isbn, asin ...
bool IsHeaderOfNames(std::string_view text, bool of_items);

// Returns whether the text is a usual header above times: time, timestamp,
// date, reviewTime, created_at ...
bool IsHeaderOfTimes(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_NAMES_HEADER_WORDS_H_
