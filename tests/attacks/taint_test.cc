#include "tests/attacks/taint.h"

#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace dpnmf::curator {
namespace {

constexpr double kReal = 0.12345678901234567;
constexpr std::int64_t kInteger = 0x123456789abcdef;

Taint Both() {
  Taint taint;
  taint.Add(kReal);
  taint.Add(kInteger);
  return taint;
}

template <typename T>
std::string BytesOf(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string Reversed(std::string bytes) {
  return {bytes.rbegin(), bytes.rend()};
}

TEST(Taint, FindsANumberInEveryForm) {
  const Taint taint = Both();
  for (const std::string& leak : {
           std::string("objective 0.123457 after 3 rounds"),
           std::string("objective=.12345678901"),
           std::string("x1.2345679E-01,"),
           std::string("-0.12345678901234567"),
           absl::StrCat("sum ", kInteger),
           absl::StrCat("sum ", static_cast<double>(kInteger)),
           absl::StrCat("a", BytesOf(kReal), "b"),
           absl::StrCat("a", BytesOf(kInteger)),
           Reversed(BytesOf(kReal)),
           Reversed(BytesOf(kInteger)),
           // 0x123456789abcdef: seven bits at a time.
           std::string("\xef\x9b\xaf\xcd\xf8\xac\xd1\x91\x01"),
           // Twice that.
           std::string("\xde\xb7\xde\x9a\xf1\xd9\xa2\xa3\x02"),
           absl::BytesToHexString(BytesOf(kReal)),
           absl::StrCat("x a", absl::BytesToHexString(BytesOf(kInteger)), "f"),
       }) {
    EXPECT_NE(taint.FoundIn(leak), "") << absl::CHexEscape(leak);
  }
}

TEST(Taint, LeavesOtherNumbersAlone) {
  const Taint taint = Both();
  for (const std::string& text :
       {std::string("objective 0.1235"),
        std::string("0.123458 0.223457 1.23457 123457"),
        absl::StrCat(kInteger + 1), BytesOf(kReal + 1e-16),
        BytesOf(kInteger + 1), std::string(64, '\0'), std::string()}) {
    EXPECT_EQ(taint.FoundIn(text), "") << absl::CHexEscape(text);
  }
}

TEST(Taint, DoesNotSeekWhatEverythingHas) {
  Taint taint;
  taint.Add(0.5);
  taint.Add(std::int64_t{17});
  taint.Add(std::int64_t{0});
  EXPECT_EQ(taint.size(), 0);
  EXPECT_EQ(taint.FoundIn("0.500000 17 0 17.0000" + std::string(16, '\0')), "");
}

}  // namespace
}  // namespace dpnmf::curator
