// UTF-8, character by character.
#ifndef DPNMF_COMMON_BASE_UTF8_H_
#define DPNMF_COMMON_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace dpnmf {

// Bytes of the UTF-8 character at the beginning of `text`, which is not empty;
// 0 if there is none.
std::size_t CharacterLength(std::string_view text);

// Checks that the text is UTF-8 without control characters, including those
// that override the direction of text: such text may be put into a string of a
// protocol buffer, a line of a file and a terminal.
bool IsPlainText(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_UTF8_H_
