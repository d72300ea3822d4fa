#include "common/crypto/sha256.h"

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string HashOf(std::string_view text) {
  return HexOf(Sha256().AddBytes(BytesOf(text)).Finish());
}

// FIPS 180-4 examples (NIST, "SHA256.pdf" and the short-message vectors).
TEST(Sha256, EqualsThePublishedVectors) {
  EXPECT_EQ(HashOf(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotSeeHowBytesAreCut) {
  const std::string text = "one message in two pieces";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.AddBytes(BytesOf(text.substr(0, cut)))
        .AddBytes(BytesOf(text.substr(cut)));
    ASSERT_EQ(HexOf(hash.Finish()), HashOf(text));
  }
}

TEST(Sha256, AddsIntegersAsEightLittleEndianBytes) {
  EXPECT_EQ(HexOf(Sha256().AddInteger(0x0102030405060708).Finish()),
            HashOf("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST(Sha256, AddsTheBitsOfDoubles) {
  EXPECT_EQ(Sha256().AddDouble(1.5).Finish(),
            Sha256().AddInteger(std::bit_cast<std::uint64_t>(1.5)).Finish());
  EXPECT_NE(Sha256().AddDouble(0.0).Finish(),
            Sha256().AddDouble(-0.0).Finish());
}

TEST(Sha256, TellsApartHowTextIsSplitIntoStrings) {
  EXPECT_NE(Sha256().AddString("ab").AddString("c").Finish(),
            Sha256().AddString("a").AddString("bc").Finish());
  EXPECT_NE(Sha256().AddString("").AddString("a").Finish(),
            Sha256().AddString("a").AddString("").Finish());
  EXPECT_EQ(Sha256().AddString("ab").Finish(),
            Sha256().AddInteger(2).AddBytes(BytesOf("ab")).Finish());
}

// RFC 4231, test cases 1, 2 and 6.
TEST(HmacSha256, EqualsThePublishedVectors) {
  EXPECT_EQ(
      HexOf(HmacSha256(BytesOf(std::string(20, '\x0b')), BytesOf("Hi There"))),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HexOf(HmacSha256(BytesOf("Jefe"),
                             BytesOf("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      HexOf(HmacSha256(
          BytesOf(std::string(131, '\xaa')),
          BytesOf("Test Using Larger Than Block-Size Key - Hash Key First"))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HexOf, ReturnsFromText) {
  const Digest digest = Sha256().AddString("text").Finish();
  EXPECT_EQ(DigestOfHex(HexOf(digest)), digest);
}

TEST(DigestOfHex, RefusesWhatIsNotSixtyFourLowerCaseDigits) {
  const std::string good(64, 'a');
  EXPECT_TRUE(DigestOfHex(good).has_value());
  for (const std::string& text : std::vector<std::string>{
           "", std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
           std::string(63, 'a') + "g", " " + std::string(63, 'a'),
           "0x" + std::string(62, 'a')}) {
    EXPECT_FALSE(DigestOfHex(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace dpnmf
