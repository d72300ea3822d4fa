#include "analyst/serve/client_list.h"

#include <filesystem>
#include <fstream>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf::analyst {
namespace {

constexpr char kList[] = R"({"peers": [
  {"identity": "dns:alice.client", "roles": ["analyst"]},
  {"identity": "uri:spiffe://lab/audit", "roles": ["auditor"]},
  {"identity": "dns:both.client", "roles": ["auditor", "analyst"]}]})";

TEST(ClientList, AnalystsMayDoEverythingAndAuditorsMayRead) {
  const ClientList list = *ClientList::Parse(kList);
  EXPECT_EQ(*list.Authorise({"dns:alice.client"}, Permission::kStart),
            "dns:alice.client");
  EXPECT_TRUE(list.Authorise({"dns:alice.client"}, Permission::kRead).ok());
  EXPECT_TRUE(list.Authorise({"dns:both.client"}, Permission::kStart).ok());
  EXPECT_TRUE(
      list.Authorise({"uri:spiffe://lab/audit"}, Permission::kRead).ok());
  const auto refused =
      list.Authorise({"uri:spiffe://lab/audit"}, Permission::kStart);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonCode(refused.status()), "role-missing");
}

TEST(ClientList, RefusesWhoIsNotListed) {
  const ClientList list = *ClientList::Parse(kList);
  for (const auto& identities : {std::vector<std::string>{},
                                 {"alice.client"},
                                 {"dns:alice.client.evil"},
                                 {"uri:alice.client"}}) {
    EXPECT_EQ(
        ReasonCode(list.Authorise(identities, Permission::kRead).status()),
        "identity-unknown");
  }
}

TEST(ClientList, TakesTheFirstIdentityThatHasThePermission) {
  const ClientList list = *ClientList::Parse(kList);
  EXPECT_EQ(
      *list.Authorise({"dns:x", "uri:spiffe://lab/audit", "dns:both.client"},
                      Permission::kStart),
      "dns:both.client");
}

TEST(ClientList, RefusesMalformedLists) {
  for (
      const char* text :
      {"", "[]", "{}", R"({"peers": {}})", R"({"peers": [1]})",
       R"({"peers": [{"identity": "dns:a"}]})",
       R"({"peers": [{"identity": "dns:a", "roles": []}]})",
       R"({"peers": [{"identity": "dns:a", "roles": ["root"]}]})",
       R"({"peers": [{"identity": "alice", "roles": ["analyst"]}]})",
       R"({"peers": [{"identity": "dns:", "roles": ["analyst"]}]})",
       R"({"peers": [{"identity": "dns:a", "roles": ["analyst"], "role": 1}]})",
       R"({"peers": [{"identity": "dns:a", "roles": ["analyst"]},
                        {"identity": "dns:a", "roles": ["auditor"]}]})",
       R"({"peers": [], "more": 1})"}) {
    EXPECT_EQ(ReasonCode(ClientList::Parse(text).status()), "clients-malformed")
        << text;
  }
  EXPECT_EQ(ReasonCode(ClientList::Read("/nonexistent/clients.json").status()),
            "clients-unreadable");
}

TEST(ClientList, AnOperatorEndsAllRunsAnAnalystItsOwnAnAuditorNone) {
  const ClientList list = *ClientList::Parse(R"({"peers": [
    {"identity": "dns:alice", "roles": ["analyst"]},
    {"identity": "dns:bob", "roles": ["analyst"]},
    {"identity": "dns:root", "roles": ["operator"]},
    {"identity": "dns:audit", "roles": ["auditor"]}]})");
  const auto code = [&](const char* who) {
    return ReasonCode(list.CheckMayEnd({who}, "dns:alice"));
  };
  EXPECT_EQ(code("dns:alice"), "");
  EXPECT_EQ(code("dns:root"), "");
  EXPECT_EQ(code("dns:bob"), "run-of-another");
  EXPECT_EQ(code("dns:audit"), "role-missing");
  EXPECT_EQ(code("dns:mallory"), "identity-unknown");
  EXPECT_EQ(
      ReasonCode(list.Authorise({"dns:root"}, Permission::kStart).status()),
      "role-missing");
}

TEST(ClientList, IsReadAgainWhenItChangesAndRefusesAllWhileItIsBroken) {
  const ScratchDirectory scratch;
  const std::string path = scratch.PathOf("clients.json");
  const auto put = [&](const std::string& text) {
    const std::string next = path + ".new";
    std::ofstream(next) << text;
    std::filesystem::rename(next, path);
  };
  put(kList);
  const ClientList list = *ClientList::Read(path);
  const auto code = [&](const char* who) {
    return ReasonCode(list.Authorise({who}, Permission::kRead).status());
  };
  EXPECT_EQ(code("dns:alice.client"), "");
  put(R"({"peers": [{"identity": "dns:new", "roles": ["analyst"]}]})");
  EXPECT_EQ(code("dns:alice.client"), "identity-unknown");
  EXPECT_EQ(code("dns:new"), "");
  put("{");
  EXPECT_EQ(code("dns:new"), "identity-unknown");
  std::filesystem::remove(path);
  EXPECT_EQ(code("dns:new"), "identity-unknown");
  put(kList);
  EXPECT_EQ(code("dns:alice.client"), "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dpnmf::analyst
