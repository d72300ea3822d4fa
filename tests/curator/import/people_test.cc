#include "curator/import/people/people.h"

#include <algorithm>
#include <cmath>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

constexpr FingerprintKey kKey = {1, 2, 3};
constexpr FingerprintKey kOtherKey = {1, 2, 4};

PersonFingerprint OfRow(const std::vector<float>& row,
                        const FingerprintKey& key = kKey) {
  return FingerprintOfRow(row, key);
}

PeopleFingerprints PeopleOf(const std::vector<std::vector<float>>& rows,
                            const std::vector<std::string>& ids = {},
                            const FingerprintKey& key = kKey) {
  PeopleCollector collector(key);
  for (const auto& row : rows) collector.AddRow(row);
  for (const auto& id : ids) collector.AddId(id);
  return collector.Finish();
}

TEST(People, ARowIsItsNonzeroNumbersAndTheirPlaces) {
  EXPECT_EQ(OfRow({1, 0, 2}), OfRow({1, 0, 2, 0}));
  EXPECT_EQ(OfRow({1, 0, 2}), OfRow({1, -0.0f, 2}));
  EXPECT_NE(OfRow({1, 0, 2}), OfRow({1, 2, 0}));
  EXPECT_NE(OfRow({1, 0, 2}), OfRow({1, 0, std::nextafter(2.0f, 3.0f)}));
  EXPECT_NE(OfRow({1, 0, 2}), OfRow({1, 0, 2}, kOtherKey));
}

TEST(People, ASparseRowIsTheDenseOne) {
  const std::vector<std::int32_t> columns = {0, 1, 2};
  const std::vector<float> values = {1, 0, 2};
  EXPECT_EQ(FingerprintOfRow(columns, values, kKey), OfRow({1, 0, 2}));
}

TEST(People, RowsOfZerosAndEmptyIdsDoNotCount) {
  EXPECT_EQ(OfRow({0, 0}), PersonFingerprint{});
  EXPECT_EQ(OfRow({}), PersonFingerprint{});
  EXPECT_EQ(FingerprintOfId("", kKey), PersonFingerprint{});
  EXPECT_EQ(FingerprintOfId(" \t", kKey), PersonFingerprint{});
  const PeopleFingerprints people = PeopleOf({{0, 0}, {1, 0}}, {"", "ann"});
  EXPECT_EQ(people.rows.size(), 1u);
  EXPECT_EQ(people.ids.size(), 1u);
}

// A class beside zeros is shared by everybody of the class.
TEST(People, AClassAloneIsNobody) {
  LinesOfPeople fields;
  fields.width = 4;
  fields.is_entry = {true, true, true, false};
  fields.class_field = 3;
  const auto people_of = [&](const std::vector<float>& line) {
    PeopleCollector collector(kKey);
    collector.AddLine(line, fields);
    return collector.Finish();
  };
  EXPECT_TRUE(people_of({0, 0, 0, 2}).rows.empty());
  // With and without the class.
  EXPECT_EQ(people_of({0, 1, 0, 2}).rows.size(), 2u);
  EXPECT_EQ(SharedBy(people_of({0, 1, 0, 2}), people_of({0, 1, 0, 1})).rows,
            1u);
  // A number that is neither an entry nor the class, as an id.
  fields.is_entry = {true, true, false, false};
  EXPECT_EQ(people_of({0, 0, 7, 2}).rows.size(), 2u);
}

TEST(People, AnIdIsItsTextWithoutBlanksAroundIt) {
  EXPECT_EQ(FingerprintOfId("ann", kKey), FingerprintOfId(" ann\r", kKey));
  EXPECT_NE(FingerprintOfId("ann", kKey), FingerprintOfId("Ann", kKey));
  EXPECT_NE(FingerprintOfId("ann", kKey), FingerprintOfId("ann", kOtherKey));
}

// An id with the bytes of a row is not that row.
TEST(People, NoIdIsARow) {
  std::string text(8, '\0');
  text += std::string("\0\0\x80\x3f", 4);  // 1.0f
  EXPECT_NE(FingerprintOfId(text, kKey), OfRow({1}));
}

// From Python's hmac, of struct.pack('<QfQf', 0, 1, 2, 2) and of
// b'\xfe' + 7 * b'\xff' + b'ann'.
TEST(People, IsHmacSha256CutTo128Bits) {
  EXPECT_EQ(HexOf(OfRow({1, 0, 2})), "48e5a39fce51b31d798466676a2dd7dd");
  EXPECT_EQ(HexOf(FingerprintOfId("ann", kKey)),
            "14c22c5bcf1779b234c585296fdb80d9");
}

TEST(People, TheOrderOfPeopleDoesNotMatter) {
  EXPECT_EQ(PeopleOf({{1, 2}, {3, 4}, {1, 2}}, {"a", "b"}),
            PeopleOf({{3, 4}, {1, 2}}, {"b", "a", "a"}));
}

TEST(People, SharedOnesAreCounted) {
  const PeopleFingerprints a = PeopleOf({{1}, {2}, {3}, {4}}, {"x", "y"});
  const PeopleFingerprints b = PeopleOf({{4}, {5}, {2}, {9}}, {"y", "z"});
  EXPECT_EQ(SharedBy(a, b).rows, 2u);
  EXPECT_EQ(SharedBy(a, b).ids, 1u);
  EXPECT_TRUE(SharedBy(a, b).any());
  EXPECT_FALSE(SharedBy(a, PeopleOf({{6}})).any());
  EXPECT_FALSE(SharedBy(a, PeopleOf({})).any());
  EXPECT_EQ(SharedBy(a, a).rows, 4u);
}

// People who differ in one number are the only ones that are lost.
TEST(People, OneChangedNumberHidesOnePersonAlone) {
  std::vector<std::vector<float>> rows;
  for (int i = 1; i <= 100; ++i) rows.push_back({1.0f * i, 2});
  const PeopleFingerprints before = PeopleOf(rows);
  rows[50][1] = 3;
  EXPECT_EQ(SharedBy(before, PeopleOf(rows)).rows, 99u);
}

TEST(People, TheKeyIsRecognised) {
  EXPECT_EQ(PeopleOf({}).key_check, PeopleOf({{1}}).key_check);
  EXPECT_NE(PeopleOf({}).key_check, PeopleOf({}, {}, kOtherKey).key_check);
}

TEST(People, AFileIsReadBack) {
  for (const PeopleFingerprints& people :
       {PeopleOf({}), PeopleOf({{1}, {2}}), PeopleOf({{1}}, {"a", "b", "c"}),
        PeopleOf({}, {""})}) {
    const Digest of = {7};
    const auto read = PeopleOfBytes(PeopleBytes(people, of), of);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, people);
  }
}

TEST(People, AFileTakesSixteenBytesAPersonAndKind) {
  const std::size_t none = PeopleBytes(PeopleOf({}), {}).size();
  EXPECT_EQ(PeopleBytes(PeopleOf({{1}, {2}}, {"a"}), {}).size(), none + 3 * 16);
}

TEST(People, AFileOfOtherDataIsRefused) {
  const std::string bytes = PeopleBytes(PeopleOf({{1}}), Digest{7});
  EXPECT_EQ(ReasonCode(PeopleOfBytes(bytes, Digest{8}).status()),
            "people-damaged");
}

TEST(People, AnyChangedByteAndAnyCutAreRefused) {
  const std::string bytes = PeopleBytes(PeopleOf({{1}, {2}}, {"a"}), Digest{7});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(PeopleOfBytes(changed, Digest{7}).ok()) << i;
    EXPECT_FALSE(PeopleOfBytes(bytes.substr(0, i), Digest{7}).ok()) << i;
  }
  EXPECT_FALSE(PeopleOfBytes(bytes + "x", Digest{7}).ok());
}

// A file with a right checksum is not believed for that alone.
TEST(People, AFileInTheWrongOrderIsRefused) {
  PeopleFingerprints people = PeopleOf({{1}, {2}});
  std::reverse(people.rows.begin(), people.rows.end());
  EXPECT_FALSE(PeopleOfBytes(PeopleBytes(people, {}), {}).ok());
  people.rows = {PersonFingerprint{}};
  EXPECT_FALSE(PeopleOfBytes(PeopleBytes(people, {}), {}).ok());
}

}  // namespace
}  // namespace dpnmf::curator
