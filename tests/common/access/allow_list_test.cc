#include "common/access/allow_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;

constexpr char kCuratorPeers[] = R"({"peers": [
  {"identity": "dns:a", "roles": ["analyst", "auditor"],
   "datasets": ["digits", "letters"],
   "budgets": [{"population": "clinic", "epsilon": 2.5}]},
  {"identity": "uri:spiffe://lab/b", "roles": ["operator"],
   "datasets": ["*"]}]})";
constexpr char kAnalystPeers[] = R"({"peers": [
  {"identity": "dns:a", "roles": ["analyst", "auditor"]},
  {"identity": "uri:spiffe://lab/b", "roles": ["operator"]}]})";

std::string WithKey(const std::string& text, std::string_view key) {
  std::string other = text;
  return other.replace(other.find("peers"), 5, key);
}

std::vector<std::string> Describe(const std::vector<Grant>& grants) {
  std::vector<std::string> lines;
  for (const Grant& grant : grants) {
    std::ostringstream line;
    line << grant.identity;
    for (const Role role : grant.roles) line << " r" << static_cast<int>(role);
    for (const std::string& name : grant.datasets) line << " d:" << name;
    if (grant.all_datasets) line << " d*";
    for (const auto& [population, epsilon] : grant.epsilon_by_population)
      line << " " << population << "=" << epsilon;
    lines.push_back(line.str());
  }
  return lines;
}

TEST(AllowListShape, OneShapeForBothServers) {
  const std::vector<std::string> at_curator = {
      "dns:a r0 r1 d:digits d:letters clinic=2.5", "uri:spiffe://lab/b r2 d*"};
  const std::vector<std::string> at_analyst = {"dns:a r0 r1",
                                               "uri:spiffe://lab/b r2"};
  const auto curator = ParseAllowList(kCuratorPeers, kCuratorAllowList);
  ASSERT_TRUE(curator.ok()) << curator.status();
  EXPECT_EQ(Describe(*curator), at_curator);
  const auto analyst = ParseAllowList(kAnalystPeers, kAnalystAllowList);
  ASSERT_TRUE(analyst.ok()) << analyst.status();
  EXPECT_EQ(Describe(*analyst), at_analyst);
}

// People's lists never go to an analyst, and the analyst's server has none.
TEST(AllowListShape, AFrontEndIsKnownAtTheCuratorAndIsNoAnalyst) {
  const auto with = [](const std::string& roles, const std::string& more,
                       const AllowListRules& rules) {
    return ParseAllowList(R"({"peers": [{"identity": "dns:a", "roles": [)" +
                              roles + "]" + more + "}]}",
                          rules);
  };
  const std::string films = R"(, "datasets": ["films"])";
  const auto list = with(R"("front_end")", films, kCuratorAllowList);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->front().roles, std::set<Role>{Role::kFrontEnd});
  const auto both =
      with(R"("front_end", "analyst")", films, kCuratorAllowList).status();
  EXPECT_EQ(ReasonCode(both), "allow-list-malformed");
  EXPECT_THAT(std::string(both.message()), HasSubstr("front_end"));
  EXPECT_EQ(ReasonCode(with(R"("front_end")", "", kAnalystAllowList).status()),
            "clients-malformed");
}

TEST(AllowListShape, MalformedListsAreRefusedWithTheServersCode) {
  for (const char* text :
       {"", "[]", "{}", R"({"peers": {}})", R"({"peers": [1]})",
        R"({"peers": [], "more": 1})", R"({"peers": [], "grants": []})",
        R"({"peers": [], "clients": []})",
        R"({"peers": [{"identity": "dns:a"}]})",
        R"({"peers": [{"roles": ["analyst"], "datasets": []}]})",
        R"({"peers": [{"identity": "dns:a", "roles": "analyst",
            "datasets": []}]})",
        R"({"peers": [{"identity": "dns:a", "roles": [], "datasets": []}]})",
        R"({"peers": [{"identity": "dns:a", "roles": ["x"], "datasets": []}]})",
        R"({"peers": [{"identity": "dns:", "roles": ["analyst"],
            "datasets": []}]})",
        R"({"peers": [{"identity": "a", "roles": ["analyst"],
            "datasets": []}]})"}) {
    EXPECT_EQ(ReasonCode(ParseAllowList(text, kCuratorAllowList).status()),
              "allow-list-malformed")
        << text;
    EXPECT_EQ(ReasonCode(ParseAllowList(text, kAnalystAllowList).status()),
              "clients-malformed")
        << text;
  }
}

// Which of the two counts would be a guess.
TEST(AllowListShape, WhatIsSaidTwiceIsRefused) {
  const auto problem = [](const std::string& more) {
    return std::string(
        ParseAllowList(R"({"peers": [{"identity": "dns:a", "datasets": [],
                           "roles": ["auditor"])" +
                           more + "}]}",
                       kCuratorAllowList)
            .status()
            .message());
  };
  EXPECT_EQ(problem(R"(, "budgets": [{"population": "p", "epsilon": 1},
                                     {"population": "q", "epsilon": 1}])"),
            "");
  EXPECT_THAT(problem(R"(, "budgets": [{"population": "p", "epsilon": 1},
                                       {"population": "p", "epsilon": 2}])"),
              HasSubstr("`budgets` of an entry has `p` twice"));
  EXPECT_THAT(problem(R"(, "roles": ["operator"])"),
              HasSubstr("an entry has `roles` twice"));
}

TEST(AllowListShape, AListOfAnotherNameOrAVersionIsRefused) {
  for (const std::string key : {"grants", "clients", "version"}) {
    const std::string other = WithKey(kAnalystPeers, key);
    for (const AllowListRules* rules :
         {&kCuratorAllowList, &kAnalystAllowList}) {
      const absl::Status status = ParseAllowList(other, *rules).status();
      EXPECT_EQ(ReasonCode(status), rules->malformed);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("unknown field `" + key + "`"));
    }
  }
}

// Who writes budgets at the analyst would take them for enforced.
TEST(AllowListShape, DataSetsAndBudgetsAreTheCuratorsAlone) {
  const absl::Status status =
      ParseAllowList(kCuratorPeers, kAnalystAllowList).status();
  EXPECT_EQ(ReasonCode(status), "clients-malformed");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("must be in the curator's allow-list"));
  EXPECT_EQ(
      ReasonCode(ParseAllowList(kAnalystPeers, kCuratorAllowList).status()),
      "allow-list-malformed");  // without `datasets`
}

class AllowListFile : public ::testing::Test {
 protected:
  AllowListFile() {
    std::string pattern = ::testing::TempDir() + "allowXXXXXX";
    path_ = std::string(mkdtemp(pattern.data())) + "/allow.json";
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_);
    before_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("t", sink));
  }
  ~AllowListFile() override {
    spdlog::set_default_logger(before_);
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  void Put(const std::string& text) { std::ofstream(path_) << text; }
  std::array<std::int64_t, 2> Changed() const {
    struct stat info {};
    stat(path_.c_str(), &info);
    return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
  }
  static std::string CodeOf(AllowList* list, const std::string& identity) {
    return ReasonCode(list->GrantsOf(std::vector{identity}).status());
  }

  std::string path_;
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(AllowListFile, IsReadAgainWhenItChangesAndGrantsNothingWhileItIsBroken) {
  Put(kAnalystPeers);
  const auto list = AllowList::FromFile(path_, kAnalystAllowList).value();
  EXPECT_EQ(CodeOf(list.get(), "dns:a"), "");
  EXPECT_EQ(CodeOf(list.get(), "dns:b"), "identity-unknown");
  Put(R"({"peers": [{"identity": "dns:b", "roles": ["auditor"]}]})");
  EXPECT_EQ(CodeOf(list.get(), "dns:a"), "identity-unknown");
  EXPECT_EQ(CodeOf(list.get(), "dns:b"), "");
  Put("{");
  EXPECT_EQ(CodeOf(list.get(), "dns:b"), "identity-unknown");
  EXPECT_THAT(log_.str(), HasSubstr("Access is denied to everyone"));
  std::remove(path_.c_str());
  EXPECT_EQ(CodeOf(list.get(), "dns:b"), "identity-unknown");
  Put(kAnalystPeers);
  EXPECT_EQ(CodeOf(list.get(), "dns:a"), "");
}

// New content of the same size and time, as a tool that keeps times writes it.
TEST_F(AllowListFile, AWithdrawnIdentityIsSeenAlsoIfTheFileKeepsItsTime) {
  const std::string text =
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"]}]})";
  Put(text);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  const auto list = AllowList::FromFile(path_, kAnalystAllowList).value();
  const auto changed = Changed();
  std::string other = text;
  other.replace(other.find("dns:a"), 5, "dns:b");
  const std::array<timespec, 2> times = {info.st_atim, info.st_mtim};
  do {  // until the file system's clock has gone on
    Put(other);
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times.data(), 0), 0);
  } while (Changed() == changed);
  EXPECT_EQ(CodeOf(list.get(), "dns:a"), "identity-unknown");
  EXPECT_EQ(CodeOf(list.get(), "dns:b"), "");
}

TEST_F(AllowListFile, OneThatCannotBeReadHasItsOwnCode) {
  EXPECT_EQ(
      ReasonCode(
          AllowList::FromFile("/nonexistent", kCuratorAllowList).status()),
      "allow-list-unreadable");
  EXPECT_EQ(
      ReasonCode(
          AllowList::FromFile("/nonexistent", kAnalystAllowList).status()),
      "clients-unreadable");
}

}  // namespace
}  // namespace dpnmf
