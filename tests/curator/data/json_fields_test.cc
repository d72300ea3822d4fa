// A fact of a data set is one row of a table: how it is read, written and
// refused follows.
#include "curator/data/json_fields.h"

#include "curator/data/dataset.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

// A data set with one more fact.
struct ToyDescription : DatasetDescription {
  bool toy_fact = false;
};

const JsonFields<ToyDescription> kToyFields = {
    Version<ToyDescription>("format_version", 1),
    Required<ToyDescription>("name", &ToyDescription::name),
    Required<ToyDescription>("users", &ToyDescription::users),
    Optional<ToyDescription>("toy_fact", &ToyDescription::toy_fact)};

TEST(JsonFields, OneMoreRowIsWrittenAndRead) {
  ToyDescription toy;
  toy.name = "d";
  toy.users = 3;
  EXPECT_EQ(WriteFields(toy, kToyFields).dump(),
            R"({"format_version":1,"name":"d","users":3})");
  toy.toy_fact = true;
  const FileJson json = WriteFields(toy, kToyFields);
  EXPECT_EQ(json.dump(),
            R"({"format_version":1,"name":"d","users":3,"toy_fact":true})");
  const ToyDescription back = ReadFields(json, kToyFields, "it has");
  EXPECT_TRUE(back.toy_fact);
  EXPECT_EQ(back.name, "d");
  EXPECT_EQ(back.users, 3u);
}

std::string Refused(const char* text) {
  try {
    ReadFields(FileJson::parse(text), kToyFields, "it has");
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

TEST(JsonFields, AreRefusedIfMissingUnknownOrOfAnotherType) {
  EXPECT_EQ(Refused(R"({"format_version":1,"name":"d","users":3})"), "");
  for (const char* text :
       {R"({"format_version":1,"name":"d"})", R"([1,"d",3])", "null",
        R"({"format_version":1,"name":"d","users":3,"toy_facts":true})",
        R"({"format_version":1,"name":"d","toy_fact":true,"other":3})"}) {
    EXPECT_EQ(Refused(text), "it has missing or unknown fields") << text;
  }
  EXPECT_EQ(Refused(R"({"format_version":2,"name":"d","users":3})"),
            "another program version wrote it");
  for (const char* text :
       {R"({"format_version":1,"name":"d","users":3,"toy_fact":1})",
        R"({"format_version":1,"name":"d","users":3.5})",
        R"({"format_version":1,"name":"d","users":-3})",
        R"({"format_version":1,"name":7,"users":3})",
        R"({"format_version":true,"name":"d","users":3})"}) {
    EXPECT_NE(Refused(text), "") << text;
  }
}

}  // namespace
}  // namespace dpnmf::curator
