#include "common/base/utf8.h"

namespace dpnmf {

namespace {

// U+202A to U+202E and U+2066 to U+2069: they show what follows in another
// order.
bool IsBidirectional(std::string_view character) {
  return (character >= "\xe2\x80\xaa" && character <= "\xe2\x80\xae") ||
         (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
}

}  // namespace

std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Too long for their character, surrogates, and past U+10FFFF.
  const bool is_none =
      (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
  return is_none ? 0 : length;
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    // C0 controls, DEL, and the C1 controls U+0080 to U+009F.
    if (length == 0 || lead < ' ' || lead == 0x7f) return false;
    if (lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)
      return false;
    if (IsBidirectional(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace dpnmf
