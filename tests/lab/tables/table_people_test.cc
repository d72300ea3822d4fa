#include "lab/tables/table_people.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

constexpr FingerprintKey kKey = {1, 2, 3};

bool Has(const std::vector<PersonFingerprint>& all,
         const PersonFingerprint& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Table TwoPeople() {
  Table table;
  table.values.resize(2, 2);
  table.values << 1, 2, 3, 4;
  return table;
}

TEST(TablePeople, WithoutIdAreTheirRows) {
  const PeopleFingerprints people = PeopleOf(TwoPeople(), {}, kKey);
  EXPECT_FALSE(people.has_ids);
  EXPECT_EQ(people.rows.size(), 2u);
  EXPECT_TRUE(
      Has(people.rows, FingerprintOfRow(std::vector<float>{3, 4}, kKey)));
}

TEST(TablePeople, WithANumberAsClassAreRecognisedWithAndWithoutIt) {
  Table table = TwoPeople();
  table.classes = {"7", "benign"};
  table.ids = {"a", "b"};
  TableOptions options;
  options.id_column = 1;  // id, 1, class, 2
  options.class_column = 3;
  const PeopleFingerprints people = PeopleOf(table, options, kKey);
  EXPECT_TRUE(people.has_ids);
  EXPECT_TRUE(Has(people.ids, FingerprintOfId("b", kKey)));
  EXPECT_EQ(people.rows.size(), 3u);  // words are no numbers
  EXPECT_TRUE(
      Has(people.rows, FingerprintOfRow(std::vector<float>{1, 2}, kKey)));
  EXPECT_TRUE(
      Has(people.rows, FingerprintOfRow(std::vector<float>{1, 7, 2}, kKey)));
}

// A data set may have been imported with the id or the class as an entry.
TEST(TablePeople, WithNumbersAsIdAndClassAreRecognisedInEveryReading) {
  Table table = TwoPeople();
  table.classes = {"7", "8"};
  table.ids = {"71", "72"};
  TableOptions options;
  options.id_column = 3;  // 1, class, id, 2
  options.class_column = 2;
  const PeopleFingerprints people = PeopleOf(table, options, kKey);
  EXPECT_EQ(people.rows.size(), 8u);
  for (const std::vector<float>& row : std::vector<std::vector<float>>{
           {1, 2}, {1, 7, 2}, {1, 71, 2}, {1, 7, 71, 2}, {3, 8, 72, 4}})
    EXPECT_TRUE(Has(people.rows, FingerprintOfRow(row, kKey)));
}

// A line of people's names stands before the line of their classes.
TEST(TablePeople, InColumnsAreRecognisedBelowALineOfNames) {
  Table table = TwoPeople();
  table.classes = {"7", "8"};
  TableOptions options;
  options.users_are_rows = false;
  options.class_column = 3;  // names, 1, class, 2
  const PeopleFingerprints people = PeopleOf(table, options, kKey);
  EXPECT_TRUE(
      Has(people.rows, FingerprintOfRow(std::vector<float>{1, 7, 2}, kKey)));
}

}  // namespace
}  // namespace dpnmf::curator::lab
