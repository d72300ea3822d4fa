// `recommend`, `token` and the port of RecommendService, as an operator uses
// them.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/status.h"
#include "curator/recommend/token.h"
#include "dpnmf/recommend/v1/recommend.grpc.pb.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "tests/common/ratings/sample_model.h"
#include "tests/common/tls/test_certificates.h"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
namespace rv1 = recommend::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kItems = 25, kPeople = 8;

class RecommendCommand : public Terminal {
 protected:
  // Person u0, u1, ... of the data set films; `pause` rates nothing.
  RecommendCommand() {
    std::string ratings, items, names = "item,name\n";
    for (int i = 0; i < kItems; ++i) {
      absl::StrAppend(&items, "i", i, "\n");
      absl::StrAppend(&names, "i", i, ",\"Film, number ", i, "\"\n");
    }
    scratch_.Write("names.csv", names);
    for (int u = 0; u < kPeople; ++u)
      for (int i = u % 3; i < kItems; i += 3 + u % 2)
        absl::StrAppend(&ratings, "u", u, ",i", i, ",", 1 + (u + i) % 5, "\n");
    scratch_.Write("items", items);
    scratch_.Write("ratings.csv", ratings);
    scratch_.Write("items.npz", NpzText(SampleItemModel(kItems, 4, 3)));
    EXPECT_EQ(Run("import --name films --population readers --ratings "
                  "ratings.csv --items items --item-features names.csv "
                  "--rating-range 1,5 --users-count 10 --epsilon 1 --delta "
                  "1e-6 --data-dir z"),
              0)
        << err_;
  }
  int Recommend(const std::string& more) {
    return Run("recommend --data-dir z --name films --model items.npz " + more);
  }
  std::string Path(const std::string& name) const {
    return scratch_.path() + "/" + name;
  }
};

TEST_F(RecommendCommand, APersonsListIsPrintedWithErrorBars) {
  EXPECT_EQ(Recommend("--user u3 --top 4"), 0) << err_;
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 6);
  // The operator's names, not those of the file.
  EXPECT_THAT(out_, HasSubstr("Film, number "));
  EXPECT_THAT(out_, Not(HasSubstr("Item")));
  EXPECT_EQ(err_, "");
  EXPECT_EQ(Recommend("--user u3 --top 4 --explain --order rating --format "
                      "json"),
            0);
  const auto json = nlohmann::json::parse(out_);
  ASSERT_EQ(json["recommendations"].size(), 4u);
  EXPECT_EQ(json["recommendations"][0]["because"].size(), 3u);
  EXPECT_GT(json["recommendations"][0]["stddev"], 0);
  EXPECT_GT(json["own_ratings"], 4);
}

TEST_F(RecommendCommand, SomebodyUnknownGetsTheListOfANewPersonAndANote) {
  EXPECT_EQ(Recommend("--user nobody --format json"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("list of a new person"));
  EXPECT_EQ(nlohmann::json::parse(out_)["own_ratings"], 0);
}

TEST_F(RecommendCommand, EverybodysListsAreAPrivateFile) {
  // A file that others could read is replaced, not written into.
  scratch_.Write("lists.csv", "old");
  fs::permissions(Path("lists.csv"), fs::perms(0644));
  scratch_.Write("lists.csv.new", "somebody's");
  EXPECT_EQ(Recommend("--all --output lists.csv --top 3"), 0) << err_;
  struct stat info {};
  ASSERT_EQ(stat(Path("lists.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ReadAll(Path("lists.csv.new")), "somebody's");
  for (const auto& file : fs::directory_iterator(scratch_.path())) {
    const std::string name = file.path().filename();
    EXPECT_TRUE(!name.starts_with("lists.csv.") || name == "lists.csv.new")
        << name;
  }
  const std::string text = ReadAll(Path("lists.csv"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * kPeople);
  // The lists are those of --user, whatever the threads.
  EXPECT_EQ(Recommend("--user u5 --top 3 --format json"), 0);
  const auto own = nlohmann::json::parse(out_)["recommendations"];
  for (int place = 1; place <= 3; ++place) {
    const auto& row = own[static_cast<std::size_t>(place - 1)];
    EXPECT_THAT(text, HasSubstr(absl::StrCat(
                          "u5,", place, ",", row["item"].get<std::string>(),
                          ",\"", row["name"].get<std::string>(), "\",")));
  }
  EXPECT_EQ(Recommend("--all --output one.csv --top 3 --threads 1"), 0);
  EXPECT_EQ(ReadAll(Path("one.csv")), text);
}

TEST_F(RecommendCommand, AFileOfListsIsCsvByItsName) {
  for (const char* file : {"lists.json", "lists.npz", "lists"}) {
    EXPECT_EQ(Recommend(absl::StrCat("--all --output ", file)), 2);
    EXPECT_THAT(err_, HasSubstr("`--output` must end in .csv"));
    EXPECT_THAT(err_, HasSubstr("[file-type-unknown]"));
    EXPECT_FALSE(fs::exists(Path(file)));
  }
}

// Somebody else's ratings change: the list does not.
TEST_F(RecommendCommand, OtherPeoplesRatingsChangeNothing) {
  EXPECT_EQ(Recommend("--user u3 --explain"), 0);
  const std::string before = out_;
  std::string others;
  for (const absl::string_view line :
       absl::StrSplit(ReadAll(Path("ratings.csv")), '\n')) {
    if (absl::StartsWith(line, "u3,")) absl::StrAppend(&others, line, "\n");
  }
  for (int u = 100; u < 105; ++u)
    for (int i = 0; i < kItems; ++i)
      absl::StrAppend(&others, "v", u, ",i", i, ",", 1 + i % 2, "\n");
  scratch_.Write("others.csv", others);
  ASSERT_EQ(Run("import --name films --population others --ratings others.csv "
                "--items items --item-features names.csv --rating-range 1,5 "
                "--users-count 9 --epsilon 1 "
                "--delta 1e-6 --data-dir y"),
            0)
      << err_;
  EXPECT_EQ(Run("recommend --data-dir y --name films --model items.npz --user "
                "u3 --explain"),
            0);
  EXPECT_EQ(out_, before);
}

TEST_F(RecommendCommand, WhatDoesNotFitIsRefusedInOneSentence) {
  scratch_.Write("other.npz", NpzText(SampleItemModel(kItems + 1, 4, 3)));
  scratch_.Write("cut.npz", NpzText(SampleItemModel(kItems, 4, 3)).substr(9));
  ASSERT_EQ(Import("--delta 1e-6"), 0);
  const struct {
    const char *arguments, *code;
    int exit;
  } cases[] = {
      {"--name films --model other.npz --user u3", "model-differs", kExitState},
      {"--name films --model cut.npz --user u3", "model-file-malformed",
       kExitUsage},
      {"--name films --model none.npz --user u3", "file-missing",
       kExitNotFound},
      {"--name v --model items.npz --user u3", "dataset-not-ratings",
       kExitState},
      {"--name none --model items.npz --user u3", "dataset-unknown",
       kExitNotFound},
      {"--name films --model items.npz", "flags-conflict", kExitUsage},
      {"--name films --model items.npz --user u3 --all --output a",
       "flags-conflict", kExitUsage},
      {"--name films --model items.npz --all", "flags-conflict", kExitUsage},
      {"--name films --model items.npz --user-file a --all --output a.csv",
       "flags-conflict", kExitUsage},
      {"--name films --model items.npz --user u3 --user-file a",
       "flags-conflict", kExitUsage},
      {"--name films --model items.npz --user u3 --output a", "flags-conflict",
       kExitUsage},
      {"--name films --model items.npz --all --output a --format json",
       "flags-conflict", kExitUsage},
      {"--name films --model items.npz --user u3 --threads 2", "flags-conflict",
       kExitUsage},
      {"--name films --model items.npz --user u3 --top 0", "usage", kExitUsage},
      {"--name films --model items.npz --all --output none/a.csv",
       "storage-failed", kExitUnreachable},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Run(absl::StrCat("recommend --data-dir z ", c.arguments)), c.exit)
        << c.arguments << err_;
    EXPECT_THAT(
        err_,
        ::testing::AnyOf(HasSubstr(absl::StrCat("[", c.code, "]")),
                         HasSubstr(absl::StrCat("\"code\":\"", c.code, "\""))));
    EXPECT_EQ(out_, "");
  }
}

// ---- served

class RecommendPort : public RecommendCommand {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    certificates_->Issue("curator", "--dns localhost");
    certificates_->Issue("shop");
    certificates_->Issue("analyst");
  }
  static void TearDownTestSuite() { delete certificates_; }

  RecommendPort() {
    EXPECT_EQ(std::system(("cd '" + scratch_.path() +
                           "' && openssl genpkey -algorithm ed25519 -out "
                           "token.key 2>/dev/null && openssl pkey -in "
                           "token.key -pubout -out token.pub")
                              .c_str()),
              0);
    scratch_.Write("allow.json",
                   R"({"peers": [
          {"identity": "dns:shop", "roles": ["front_end"], "datasets": ["*"]},
          {"identity": "dns:analyst", "roles": ["analyst"],
           "datasets": ["*"]}]})");
  }
  ~RecommendPort() override { Stop(SIGKILL); }

  std::string ServeFlags() {
    const TlsFiles tls = certificates_->FilesOf("curator");
    return absl::StrCat(
        "serve --data-dir z --allow allow.json --listen "
        "localhost:0 --ca ",
        tls.ca_file, " --cert ", tls.certificate_file, " --key ", tls.key_file,
        " ");
  }
  // Starts the server and reads both addresses from its log.
  void Serve(const std::string& more) {
    const std::string command = "cd '" + scratch_.path() +
                                "' && exec '" DPNMF_PROGRAM "' " +
                                ServeFlags() + more + " >log 2>&1";
    server_ = fork();
    if (server_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 400 && analysts_.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      const std::string log = Exists("log") ? ReadAll(Path("log")) : "";
      analysts_ = AddressAfter(log, " data sets on ");
      lists_ = AddressAfter(log, " for front ends on ");
    }
    ASSERT_NE(analysts_, "") << ReadAll(Path("log"));
  }
  static std::string AddressAfter(const std::string& log,
                                  const std::string& words) {
    const std::size_t at = log.find(words);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + words.size(), end = log.find('\n', begin);
    return end == std::string::npos ? "" : log.substr(begin, end - begin);
  }
  void Stop(int signal = SIGTERM) {
    if (server_ <= 0) return;
    kill(server_, signal);
    int status = 0;
    waitpid(std::exchange(server_, 0), &status, 0);
  }
  // A server that is expected not to start; one that does is stopped.
  void ServeInVain(const std::string& more) {
    err_.clear();
    RunShell("cd '" + scratch_.path() + "' && timeout 20 '" DPNMF_PROGRAM "' " +
                 ServeFlags() + more,
             &err_);
  }

  std::shared_ptr<grpc::Channel> Dial(const std::string& address,
                                      const std::string& peer) {
    return grpc::CreateChannel(
        address, ChannelTls(certificates_->FilesOf(peer)).value());
  }
  absl::StatusOr<rv1::GetRecommendationsReply> Ask(const std::string& address,
                                                   const std::string& peer,
                                                   const std::string& token) {
    rv1::GetRecommendationsRequest request;
    request.set_token(token);
    grpc::ClientContext context;
    rv1::GetRecommendationsReply reply;
    const absl::Status status =
        FromGrpc(rv1::RecommendService::NewStub(Dial(address, peer))
                     ->GetRecommendations(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }
  std::string Token(const std::string& user) {
    EXPECT_EQ(Run("token --key token.key --audience films --user " + user), 0)
        << err_;
    return out_.substr(0, out_.find('\n'));
  }

  static TestCertificates* certificates_;
  pid_t server_ = 0;
  std::string analysts_, lists_;
};

TestCertificates* RecommendPort::certificates_ = nullptr;

constexpr char kRecommendFlags[] =
    "--recommend-listen localhost:0 --recommend-dataset films "
    "--recommend-model items.npz --recommend-token-key token.pub";

TEST_F(RecommendPort, HandsOutOnePersonsListAndTouchesNoBudget) {
  ASSERT_EQ(Run("ledger show --data-dir z"), 0);
  const std::string ledger = out_;
  ASSERT_EQ(Recommend("--user u2 --format json"), 0);
  const auto printed = nlohmann::json::parse(out_)["recommendations"];
  Serve(kRecommendFlags);
  // A token that was signed before the service had started for a second.
  absl::StatusOr<rv1::GetRecommendationsReply> list;
  std::string token;
  for (int i = 0; i < 20; ++i) {
    token = Token("u2");
    list = Ask(lists_, "shop", token);
    if (ReasonCode(list.status()) != "token-before-start") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->recommendations_size(), static_cast<int>(printed.size()));
  for (int i = 0; i < list->recommendations_size(); ++i)
    EXPECT_EQ(list->recommendations(i).item(),
              printed[static_cast<std::size_t>(i)]["item"]);
  EXPECT_EQ(ReasonCode(Ask(lists_, "shop", token).status()), "token-reused");
  EXPECT_EQ(ReasonCode(Ask(lists_, "analyst", Token("u2")).status()),
            "role-missing");

  // Neither service is on the other's port, whoever asks.
  for (const char* peer : {"shop", "analyst"}) {
    EXPECT_EQ(ReasonCode(Ask(analysts_, peer, Token("u2")).status()),
              "rpc-failed");
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    EXPECT_EQ(v1::CuratorService::NewStub(Dial(lists_, peer))
                  ->ListDatasets(&context, {}, &reply)
                  .error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
  Stop();
  const std::string audit = ReadAll(Path("z/audit.jsonl"));
  EXPECT_THAT(audit, HasSubstr("GetRecommendations"));
  EXPECT_THAT(audit, Not(HasSubstr("u2")));
  EXPECT_THAT(audit, Not(HasSubstr("number ")));
  EXPECT_TRUE(Exists("z/token-expiry.json"));  // for the next process
  ASSERT_EQ(Run("ledger show --data-dir z"), 0);
  EXPECT_EQ(out_, ledger);
}

TEST_F(RecommendPort, ATokenIsOfATextThatPasses) {
  const struct {
    std::string arguments;
    const char* code;
  } cases[] = {
      {"--audience films --user " + std::string(1025, 'u'), "user-malformed"},
      {"--audience films --user ''", "flags-conflict"},
      {"--audience films", "flags-conflict"},
      {"--audience films --user u2 --user-file - </dev/null", "flags-conflict"},
      {"--audience films --user-file - </dev/null", "user-malformed"},
      {"--audience films --user-file none", "file-missing"},
      {"--user u2 --audience ''", "token-text-invalid"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(Run("token --key token.key " + c.arguments), 0) << c.arguments;
    EXPECT_THAT(err_, HasSubstr(absl::StrCat("[", c.code, "]")));
    EXPECT_EQ(out_, "");
  }
}

// No id stands in a command line that others can read.
TEST_F(RecommendPort, TheIdComesFromAFileOrFromStandardInput) {
  const auto public_key = PublicKeyOfPem(ReadAll(Path("token.pub")));
  ASSERT_TRUE(public_key.has_value());
  ASSERT_EQ(Recommend("--user u2 --top 4"), 0) << err_;
  const std::string list = out_;
  for (const std::string text :
       {"u2", "u2\n", "u2\r\n", "\xEF\xBB\xBFu2\r\n"}) {
    scratch_.Write("who", text);
    for (const std::string from : {"--user-file who", "--user-file - <who"}) {
      EXPECT_EQ(Recommend("--top 4 " + from), 0) << err_;
      EXPECT_EQ(out_, list) << from;
      ASSERT_EQ(Run("token --key token.key --audience films " + from), 0)
          << err_;
      const auto claims =
          ReadToken(out_.substr(0, out_.find('\n')), *public_key);
      ASSERT_TRUE(claims.ok()) << claims.status();
      EXPECT_EQ(claims->person, "u2");
    }
  }
  for (const std::string& text :
       {std::string("u2\nu3\n"), std::string("u2\n\n"), std::string("\n"),
        std::string("u\t2\n"), std::string("\xff\n")}) {
    scratch_.Write("who", text);
    EXPECT_EQ(Recommend("--user-file who"), kExitUsage);
    EXPECT_THAT(err_, HasSubstr("[user-malformed]")) << text;
  }
  std::ofstream(Path("who")).close();
  std::filesystem::resize_file(Path("who"), (std::size_t{64} << 20) + 1);
  for (const std::string from : {"--user-file who", "--user-file - <who"}) {
    EXPECT_EQ(Recommend(from), kExitUsage);
    EXPECT_THAT(err_, AllOf(HasSubstr("has more than 67108864 bytes"),
                            HasSubstr("[file-too-large]")));
  }
}

TEST_F(RecommendPort, IsOffByDefault) {
  Serve("");
  EXPECT_EQ(lists_, "");
  EXPECT_THAT(ReadAll(Path("log")), Not(HasSubstr("front ends")));
}

TEST_F(RecommendPort, DoesNotStartWithHalfOfItsFlagsOrAnotherModel) {
  scratch_.Write("other.npz", NpzText(SampleItemModel(kItems + 1, 4, 3)));
  ASSERT_EQ(Import("--delta 1e-6"), 0);
  const std::string listen = "--recommend-listen localhost:0 ";
  const struct {
    std::string arguments;
    const char* code;
  } cases[] = {
      {listen, "flags-conflict"},
      {"--recommend-dataset films", "usage"},
      {"--recommend-listen nowhere --recommend-dataset films "
       "--recommend-model items.npz --recommend-token-key token.pub",
       "address-malformed"},
      {listen + "--recommend-dataset films --recommend-model other.npz "
                "--recommend-token-key token.pub",
       "model-differs"},
      {listen + "--recommend-dataset v --recommend-model items.npz "
                "--recommend-token-key token.pub",
       "dataset-not-ratings"},
      {listen + "--recommend-dataset none --recommend-model items.npz "
                "--recommend-token-key token.pub",
       "dataset-unknown"},
      {listen + "--recommend-dataset films --recommend-model items.npz "
                "--recommend-token-key token.key",
       "token-key-invalid"},
  };
  for (const auto& c : cases) {
    ServeInVain(c.arguments);
    EXPECT_THAT(err_, HasSubstr(absl::StrCat("[", c.code, "]"))) << c.arguments;
  }
  scratch_.Write("z/token-expiry.json", "{}");
  ServeInVain(kRecommendFlags);
  EXPECT_THAT(err_, HasSubstr("[token-expiry-damaged]"));
  EXPECT_THAT(err_, HasSubstr("z/token-expiry.json"));
  ServeInVain(listen +
              "--recommend-dataset none --recommend-model items.npz "
              "--recommend-token-key token.pub");
  EXPECT_THAT(err_,
              HasSubstr("`--recommend-dataset`: there is no data set none in"));
}

}  // namespace
}  // namespace dpnmf::curator
