#include "curator/session/access.h"

#include <fstream>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf::curator {
namespace {

constexpr char kGood[] = R"({"peers": [
  {"identity": "dns:a", "roles": ["analyst"], "datasets": ["x"],
   "budgets": [{"population": "p", "epsilon": 0.5}]},
  {"identity": "uri:spiffe://b", "roles": ["auditor", "analyst"], "datasets": ["*"]}]})";

TEST(Access, ReadsGrants) {
  const std::vector<Grant> grants =
      ParseAllowList(kGood, kCuratorAllowList).value();
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_TRUE(grants[0].Covers("x"));
  EXPECT_FALSE(grants[0].Covers("y"));
  EXPECT_EQ(grants[0].epsilon_by_population.at("p"), 0.5);
  EXPECT_TRUE(grants[1].Covers("y"));
  EXPECT_TRUE(grants[1].roles.contains(Role::kAuditor));
}

TEST(Access, RefusesWhatItDoesNotUnderstand) {
  const char* const bad[] = {
      "",
      "[]",
      "{}",
      R"({"peers": [], "extra": 1})",
      R"({"peers": [{"identity": "a", "roles": ["analyst"], "datasets": []}]})",
      R"({"peers": [{"identity": "dns:a", "roles": [], "datasets": []}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["root"], "datasets": []}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"]}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"], "datasets": [1]}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"], "dataset": ["x"]}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"], "datasets": [],
          "budgets": [{"population": "p", "epsilon": 0}]}]})",
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"], "datasets": []},
                     {"identity": "dns:a", "roles": ["analyst"], "datasets": []}]})",
  };
  for (const char* text : bad) {
    EXPECT_EQ(ReasonCode(ParseAllowList(text, kCuratorAllowList).status()),
              "allow-list-malformed")
        << text;
  }
}

TEST(Access, AFrontEndMayDoNothingOnTheAnalystsPort) {
  const auto access = AccessControl::FromGrants(
      {{"dns:shop", {Role::kFrontEnd}, {}, true, {}},
       {"dns:ops", {Role::kFrontEnd, Role::kOperator}, {"x"}, false, {}}});
  const std::vector<std::string> shop = {"dns:shop"}, ops = {"dns:ops"};
  EXPECT_EQ(ReasonCode(access->GrantOf(shop).status()), "role-missing");
  EXPECT_EQ(ReasonCode(access->Require(shop, {Role::kAnalyst}, "x").status()),
            "role-missing");
  EXPECT_TRUE(access->GrantOf(ops).ok());
  EXPECT_TRUE(access->RequireFrontEnd(shop, "y").ok());
  EXPECT_TRUE(access->RequireFrontEnd(ops, "x").ok());
  EXPECT_EQ(ReasonCode(access->RequireFrontEnd(ops, "y").status()),
            "dataset-unknown");
}

// A certificate with several names: one analyst among them is enough.
TEST(Access, APeerThatIsAlsoAnAnalystIsNoFrontEnd) {
  const auto access = AccessControl::FromGrants(
      {{"dns:shop", {Role::kFrontEnd}, {}, true, {}},
       {"dns:auditor", {Role::kAuditor}, {}, true, {}},
       {"dns:analyst", {Role::kAnalyst}, {}, true, {}}});
  const std::vector<std::string> both = {"dns:shop", "dns:analyst"},
                                 auditor = {"dns:auditor"},
                                 nobody = {"dns:nobody"};
  EXPECT_EQ(ReasonCode(access->RequireFrontEnd(both, "x").status()),
            "role-missing");
  EXPECT_EQ(ReasonCode(access->RequireFrontEnd(auditor, "x").status()),
            "role-missing");
  EXPECT_EQ(ReasonCode(access->RequireFrontEnd(nobody, "x").status()),
            "identity-unknown");
  EXPECT_TRUE(access->GrantOf(both).ok());
}

TEST(Access, SaysWhereAListBreaksOff) {
  const ScratchDirectory scratch;
  const std::string path = scratch.PathOf("allow-list.json");
  const std::string good = kGood;
  const auto sentence = [&](const std::string& text) {
    std::ofstream(path) << text;
    const absl::Status status = AccessControl::FromFile(path).status();
    EXPECT_EQ(ReasonCode(status), "allow-list-malformed");
    return std::string(status.message());
  };
  const std::string cut = sentence(good.substr(0, good.size() - 20));
  EXPECT_NE(cut.find(path), std::string::npos) << cut;
  EXPECT_NE(cut.find("line 4,"), std::string::npos) << cut;
  EXPECT_NE(cut.find("ends too early"), std::string::npos) << cut;
  const std::string slip = sentence("{\n\"grants\": [,]}");
  EXPECT_NE(slip.find("line 2, byte 14:"), std::string::npos) << slip;
  const std::string missing =
      sentence(R"({"peers": [{"identity": "dns:a", "roles": ["analyst"]}]})");
  EXPECT_NE(missing.find("datasets"), std::string::npos) << missing;
  for (const std::string& text : {cut, slip, missing})
    EXPECT_EQ(text.find("json.exception"), std::string::npos) << text;
  std::remove(path.c_str());
}

TEST(Access, TakesUpAChangedFileAndFailsClosedOnABrokenOne) {
  const ScratchDirectory scratch;
  const std::string path = scratch.PathOf("allow-list.json");
  const std::vector<std::string> a = {"dns:a"};
  auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(kGood);
  const std::unique_ptr<AccessControl> access =
      AccessControl::FromFile(path).value();
  EXPECT_TRUE(access->GrantOf(a).ok());
  write(R"({"peers": []})");
  EXPECT_EQ(ReasonCode(access->GrantOf(a).status()), "identity-unknown");
  write(kGood);
  EXPECT_TRUE(access->GrantOf(a).ok());
  write("{ broken");
  EXPECT_EQ(ReasonCode(access->GrantOf(a).status()), "identity-unknown");
  std::remove(path.c_str());
  EXPECT_EQ(ReasonCode(access->GrantOf(a).status()), "identity-unknown");
}

}  // namespace
}  // namespace dpnmf::curator
