#include "curator/ledger/anchor.h"

#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

Anchor SomeAnchor() {
  return {"0123456789abcdef0123456789abcdef", 17, DigestOfNumber(3)};
}

TEST(Anchor, ReadsBackWhatWasWritten) {
  const TempDirectory directory;
  EXPECT_FALSE(ReadAnchor(directory / "a/b").value().has_value());
  ASSERT_TRUE(WriteAnchor(directory / "a/b", SomeAnchor()).ok());
  EXPECT_EQ(ReadAnchor(directory / "a/b").value(), SomeAnchor());
}

TEST(Anchor, TakesItsPlaceOnlyWhenPublished) {
  const TempDirectory directory;
  ASSERT_TRUE(WriteAnchor(directory.path(), SomeAnchor()).ok());
  Anchor next = SomeAnchor();
  next.row_count = 18;
  {
    auto staged = StagedAnchor::Stage(directory.path(), next);
    ASSERT_TRUE(staged.ok());
    EXPECT_EQ(ReadAnchor(directory.path()).value(), SomeAnchor());
  }
  EXPECT_EQ(ReadAnchor(directory.path()).value(), SomeAnchor());
  EXPECT_FALSE(std::filesystem::exists(directory / "anchor.json.new"));
  auto staged = StagedAnchor::Stage(directory.path(), next);
  ASSERT_TRUE(staged->Publish().ok());
  EXPECT_EQ(ReadAnchor(directory.path()).value(), next);
}

TEST(Anchor, RefusesWhatItDidNotWrite) {
  const std::string good = AnchorText(SomeAnchor());
  EXPECT_EQ(ParseAnchor(good).value(), SomeAnchor());
  const std::pair<const char*, const char*> changes[] = {
      {"\"format\":1", "\"format\":2"}, {"\"rows\":17", "\"rows\":0"},
      {"\"rows\":17", "\"rows\":-1"},   {"\"rows\":17", "\"rows\":\"17\""},
      {"\"head\"", "\"tail\""},         {"0123456789abcdef", "0123"},
      {"0123456789ab", "0123456789AB"}, {"{", "["}};
  for (const auto& [from, to] : changes) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_CODE(ParseAnchor(bad), "anchor-damaged") << bad;
  }
  for (std::size_t size = 0; size + 2 < good.size(); ++size)
    EXPECT_CODE(ParseAnchor(good.substr(0, size)), "anchor-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
