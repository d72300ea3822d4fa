#include "common/wire/json.h"

#include "dpnmf/v1/local.pb.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(Json, PrintsProtoNamesZerosAndTwoSpaces) {
  v1::DoctorReport report;
  report.add_checks()->set_name("clock");
  EXPECT_EQ(ToJson(report),
            "{\n"
            "  \"checks\": [\n"
            "    {\n"
            "      \"name\": \"clock\",\n"
            "      \"result\": \"\",\n"
            "      \"finding\": \"\",\n"
            "      \"remedy\": \"\"\n"
            "    }\n"
            "  ],\n"
            "  \"ok\": false,\n"
            "  \"warnings\": 0\n"
            "}\n");
}

TEST(Json, PrintsOneLineWithoutANewline) {
  v1::LedgerVerifyReport report;
  report.set_row_count(12);
  EXPECT_EQ(ToJsonLine(report),
            "{\"ok\":false,\"row_count\":\"12\",\"head\":\"\",\"anchor\":\"\","
            "\"problem\":\"\",\"code\":\"\",\"receipts\":\"0\",\"void_"
            "populations\":[],\"void_since\":[]}");
}

TEST(Json, LeavesSpacesWithinStringsAlone) {
  v1::LedgerVerifyReport report;
  report.set_problem("a\n  b");
  EXPECT_NE(ToJson(report).find("\"problem\": \"a\\n  b\""), std::string::npos)
      << ToJson(report);
}

TEST(Json, BytesAreBase64AndEnumsNames) {
  v1::LedgerPosition position;
  position.set_head(std::string("\x00\xff", 2));
  EXPECT_NE(ToJsonLine(position).find("\"head\":\"AP8=\""), std::string::npos);
  v1::Guarantee guarantee;
  guarantee.set_conversion(v1::CONVERSION_RDP);
  EXPECT_NE(ToJsonLine(guarantee).find("\"CONVERSION_RDP\""),
            std::string::npos);
}

}  // namespace
}  // namespace dpnmf
