#include "common/base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(Utf8, CharactersHaveTheirLength) {
  EXPECT_EQ(CharacterLength("a\xc3"), 1u);
  EXPECT_EQ(CharacterLength("\xc3\xa9x"), 2u);
  EXPECT_EQ(CharacterLength("\xe2\x82\xac"), 3u);
  EXPECT_EQ(CharacterLength("\xf0\x9f\x82\xa1"), 4u);
  for (const char* none : {"\x80", "\xff", "\xc3", "\xc3(", "\xc0\xaf",
                           "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_EQ(CharacterLength(none), 0u) << none;
}

TEST(Utf8, PlainTextHasNoControlCharacters) {
  for (const char* plain :
       {"", "Toy Story (1995)", "Am\xc3\xa9lie", "\xc2\xa0", "\xe2\x80\xa9",
        "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa"})
    EXPECT_TRUE(IsPlainText(plain)) << plain;
  for (const char* odd :
       {"a\tb", "a\x1b[2J", "a\x7f", "Am\xe9lie", "\xc2\x9b", "\xc2\x80",
        "a\xe2\x80\xaa", "a\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9x"})
    EXPECT_FALSE(IsPlainText(odd)) << odd;
  EXPECT_FALSE(IsPlainText(std::string(1, '\0')));
}

}  // namespace
}  // namespace dpnmf
