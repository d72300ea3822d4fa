// A fact of a data set is one line of a list: how it is written, read and
// refused follows.
#include "curator/data/json_fields.h"

#include "absl/strings/str_replace.h"
#include "curator/data/description.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

// A data set with one more fact.
struct Toy : StoredDescription {
  std::uint32_t toy = 0;
};

void ListToy(JsonFields& json, Toy& toy) {
  ListDescription(json, toy);
  json.Optional("toy", toy.toy);
}

// The sentence of the refusal of the description with `from` changed to `to`.
std::string Refused(std::string_view from, std::string_view to) {
  Toy toy;
  toy.toy = 3;
  const std::string text = JsonFields::Write(toy, ListToy).dump();
  EXPECT_NE(text.find(from), std::string::npos) << text;
  const FileJson json = FileJson::parse(
      absl::StrReplaceAll(text, {{std::string(from), std::string(to)}}));
  try {
    EXPECT_EQ(JsonFields::Write(JsonFields::Read(json, ListToy), ListToy),
              json);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

TEST(JsonFields, OneMoreLineIsWrittenReadAndRefused) {
  EXPECT_EQ(Refused("\"toy\":3", "\"toy\":3"), "");
  EXPECT_EQ(Refused(",\"toy\":3", ""), "");
  for (const char* wrong : {"-1", "64.0", "true", "1e42", "4294967296", "[3]"})
    EXPECT_EQ(Refused("\"toy\":3", absl::StrCat("\"toy\":", wrong)),
              "toy is not a whole number in range")
        << wrong;
  EXPECT_EQ(Refused("\"toy\":3", "\"toy\":0"), "toy is empty");
  EXPECT_EQ(Refused("\"toy\":3", "\"toys\":3"),
            "it has missing or unknown fields");
  // The product's own list ends before it.
  Toy toy;
  toy.toy = 3;
  EXPECT_THROW(
      JsonFields::Read(JsonFields::Write(toy, ListToy), ListDescription),
      std::invalid_argument);
}

TEST(JsonFields, OfAnObjectAreRefusedWithItsName) {
  constexpr char kRatings[] =
      "\"ratings\":{\"low_units\":LOW,\"high_units\":5,"
      "\"item_features\":0},\"toy\"";
  const auto refused = [&](const char* low) {
    return Refused("\"toy\"", absl::StrReplaceAll(kRatings, {{"LOW", low}}));
  };
  EXPECT_EQ(refused("-5"), "");
  for (const char* wrong : {"1.5", "3000000000", "\"1\""})
    EXPECT_EQ(refused(wrong),
              "low_units in ratings is not a whole number in range");
  EXPECT_EQ(Refused("\"toy\"", "\"range\":{\"low\":\"0\"},\"toy\""),
            "low in range is not a number");
}

TEST(JsonFields, OfADescriptionAreStrict) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"\"name\":\"\"", "\"name\":7"},
      {"\"name\":\"\",", ""},
      {"\"format_version\":1", "\"format_version\":2"},
      {"\"users\":0", "\"users\":64.0"},
      {"\"delta\":0.0", "\"delta\":true"},
      {"\"sparse\":false", "\"sparse\":0"},
      {"\"rdp\"", "\"pure\""},
      {"\"fingerprint\":\"00", "\"fingerprint\":\"0"},
      {"\"toy\"", "\"people\":\"\",\"toy\""},
      {"\"toy\"", "\"sums_rows\":[3],\"toy\""},
      {"\"toy\"", "\"range\":{\"low\":0,\"high\":1},\"toy\""},
      {"\"toy\"", "\"classes\":{\"names\":\"a\"},\"toy\""}};
  for (const auto& [from, to] : wrong) EXPECT_NE(Refused(from, to), "") << to;
  EXPECT_EQ(Refused("\"toy\"", "\"classes\":{\"names\":[\"a\"]},\"toy\""), "");
}

}  // namespace
}  // namespace dpnmf::curator
