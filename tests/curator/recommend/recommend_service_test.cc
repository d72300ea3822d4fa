// RecommendService over real mutual TLS: who gets a list, and whose.
#include "curator/recommend/recommend_service.h"

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <thread>

#include "common/base/error.h"
#include "common/server/peer_authorizer.h"
#include "common/server/server.h"
#include "common/wire/status.h"
#include "dpnmf/recommend/v1/recommend.grpc.pb.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/ratings/sample_model.h"
#include "tests/common/tls/test_certificates.h"
#include "tests/curator/recommend/rated.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
namespace rv1 = recommend::v1;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kServedItems = 30;
constexpr std::int64_t kStart = 1'800'000'000;

class RecommendServiceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    certificates_->Issue("curator", "--dns localhost");
    for (const char* name : {"shop", "analyst", "auditor", "stranger", "other"})
      certificates_->Issue(name);
    certificates_->Issue("both", "--dns shop --dns analyst");
  }
  static void TearDownTestSuite() { delete certificates_; }

  RecommendServiceTest()
      : directory_(::testing::TempDir() + "dpnmf_recommend_XXXXXX"),
        key_(SigningKey::Generate()),
        recommender_(SampleRecommender()) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    for (int u = 0; u < 6; ++u) people_.push_back(SomeRatings(u, kServedItems));
    data_ = RatedBy(people_, kServedItems);
    access_ = AccessControl::FromGrants(
        {{"dns:shop", {Role::kFrontEnd}, {"films"}, false, {}},
         {"dns:other", {Role::kFrontEnd}, {"books"}, false, {}},
         {"dns:analyst", {Role::kAnalyst}, {}, true, {}},
         {"dns:auditor", {Role::kAuditor, Role::kOperator}, {}, true, {}}});
    audit_ = AuditLog::Open(AuditPath()).value();
    TokenGate::Options tokens;
    tokens.key = key_.public_key();
    tokens.audience = "films";
    tokens.unix_seconds = [this] { return now_.load(); };
    tokens.expiry_file = directory_ + "/expiry.json";
    gate_ = TokenGate::Create(std::move(tokens)).value();
    RecommendServiceOptions options;
    options.dataset = data_.get();
    options.check_ready = [this]() -> absl::Status {
      const char* const code = not_ready_;
      if (code == nullptr) return absl::OkStatus();
      return Refusal(absl::StatusCode::kUnavailable, code,
                     "The file /var/lib/dpnmf/x is damaged.");
    };
    options.recommender = &recommender_;
    options.find = [](std::string_view person) -> std::optional<std::uint64_t> {
      if (person == "ann") return 0;
      if (person == "bob") return 1;
      return std::nullopt;
    };
    options.tokens = gate_.get();
    options.access = access_.get();
    options.identify = PeerIdentities;
    options.observers.audit = audit_.get();
    service_ = MakeRecommendService(options);
    const TlsFiles files = certificates_->FilesOf("curator");
    RpcServer::Options server;
    server.listen = "localhost:0";
    server.credentials = ServerTls(files).value();
    server.service = service_.get();
    server.gate = MakePeerAuthorizer(
        files,
        OrOneself(files, [this](const std::vector<std::string>& identities) {
          return access_->RequireFrontEnd(identities, "films").status();
        }));
    server_ = RpcServer::Start(server).value();
    now_ += 1;
  }
  ~RecommendServiceTest() override {
    server_->Shutdown();
    server_.reset();
    service_.reset();
    fs::remove_all(directory_);
  }

  static Recommender SampleRecommender() {
    NamedItemModel model = SampleItemModel(kServedItems, 4, 3);
    const std::vector<std::string> items = model.items, names = model.names;
    return Recommender::Create(std::move(model), items, names, OneToFive())
        .value();
  }
  std::string AuditPath() const { return directory_ + "/audit.jsonl"; }
  std::shared_ptr<grpc::Channel> Dial(const std::string& name) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(
        server_->address(), ChannelTls(certificates_->FilesOf(name)).value(),
        arguments);
  }
  TokenClaims Claims(const std::string& person) {
    return {person, "films", now_ + kLongestTokenSeconds,
            absl::StrCat("nonce-number-00", ++nonces_)};
  }
  std::string Token(const std::string& person) {
    return SignToken(Claims(person), key_);
  }
  absl::StatusOr<rv1::GetRecommendationsReply> Ask(
      const std::string& peer, const rv1::GetRecommendationsRequest& request) {
    grpc::ClientContext context;
    rv1::GetRecommendationsReply reply;
    const absl::Status status =
        FromGrpc(rv1::RecommendService::NewStub(Dial(peer))
                     ->GetRecommendations(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }
  absl::StatusOr<rv1::GetRecommendationsReply> Ask(const std::string& peer,
                                                   const std::string& token) {
    rv1::GetRecommendationsRequest request;
    request.set_token(token);
    request.set_top(5);
    return Ask(peer, request);
  }
  std::vector<std::string> ListOf(std::uint64_t person) {
    std::vector<std::string> items;
    const auto list =
        recommender_.Recommend(data_->RatingsOf(person), {.top = 5}).value();
    for (const Recommendation& one : list)
      items.push_back(
          recommender_.model().items[static_cast<std::size_t>(one.item)]);
    return items;
  }
  static std::vector<std::string> ItemsOf(
      const rv1::GetRecommendationsReply& reply) {
    std::vector<std::string> items;
    for (const auto& row : reply.recommendations()) items.push_back(row.item());
    return items;
  }

  static TestCertificates* certificates_;
  std::string directory_;
  SigningKey key_;
  std::atomic<std::int64_t> now_{kStart};
  std::atomic<const char*> not_ready_{nullptr};  // a code
  int nonces_ = 0;
  std::vector<Record> people_;
  std::unique_ptr<Dataset> data_;
  Recommender recommender_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<TokenGate> gate_;
  std::shared_ptr<grpc::Service> service_;
  std::unique_ptr<RpcServer> server_;
};

TestCertificates* RecommendServiceTest::certificates_ = nullptr;

TEST_F(RecommendServiceTest, TheListIsThatOfThePersonWhomTheTokenNames) {
  const auto ann = Ask("shop", Token("ann"));
  ASSERT_TRUE(ann.ok()) << ann.status();
  EXPECT_EQ(ItemsOf(*ann), ListOf(0));
  EXPECT_EQ(ann->own_ratings(), people_[0].size());
  EXPECT_EQ(ItemsOf(*Ask("shop", Token("bob"))), ListOf(1));
  EXPECT_NE(ListOf(0), ListOf(1));
}

// And no token is used up.
TEST_F(RecommendServiceTest, UntilTheDataSetIsVerifiedThereIsNoList) {
  const std::string token = Token("ann");
  not_ready_ = "dataset-not-ready";
  EXPECT_EQ(ReasonCode(Ask("shop", token).status()), "dataset-not-ready");
  EXPECT_EQ(ReasonCode(Ask("analyst", token).status()), "role-missing")
      << "who may not ask is not told";
  not_ready_ = nullptr;
  EXPECT_TRUE(Ask("shop", token).ok());
}

TEST_F(RecommendServiceTest, AFileOfTheOperatorIsNotNamedToAPeer) {
  not_ready_ = "dataset-damaged";
  const absl::Status status = Ask("shop", Token("ann")).status();
  EXPECT_EQ(ReasonCode(status), "dataset-damaged");
  EXPECT_THAT(std::string(status.message()),
              AllOf(Not(HasSubstr("/var")), HasSubstr("the curator's log")));
  not_ready_ = nullptr;
  EXPECT_THAT(std::string(Ask("shop", "no.token").status().message()),
              HasSubstr("docs/reference/recommender.md"));
}

TEST_F(RecommendServiceTest, ANewPersonGetsWhatIsPopular) {
  const auto list = Ask("shop", Token("zoe"));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->own_ratings(), 0u);
  EXPECT_EQ(list->recommendations_size(), 5);
}

TEST_F(RecommendServiceTest, OnlyAFrontEndOfTheDataSetIsServed) {
  const struct {
    const char *peer, *code;
  } cases[] = {{"analyst", "role-missing"},
               {"auditor", "role-missing"},
               {"both", "role-missing"},
               {"other", "dataset-unknown"},
               {"stranger", "identity-unknown"}};
  const std::string token = Token("ann");
  for (const auto& c : cases)
    EXPECT_EQ(ReasonCode(Ask(c.peer, token).status()), c.code) << c.peer;
  // None of them has used the token up.
  EXPECT_TRUE(Ask("shop", token).ok());
}

TEST_F(RecommendServiceTest, BadTokensAreRefusedOverTheWire) {
  const std::string token = Token("ann");
  ASSERT_TRUE(Ask("shop", token).ok());
  EXPECT_EQ(ReasonCode(Ask("shop", token).status()), "token-reused");
  TokenClaims claims = Claims("ann");
  claims.audience = "books";
  EXPECT_EQ(ReasonCode(Ask("shop", SignToken(claims, key_)).status()),
            "token-audience");
  claims = Claims("ann");
  claims.expires = now_;
  EXPECT_EQ(ReasonCode(Ask("shop", SignToken(claims, key_)).status()),
            "token-expired");
  EXPECT_EQ(
      ReasonCode(Ask("shop", SignToken(Claims("ann"), SigningKey::Generate()))
                     .status()),
      "token-signature");
  EXPECT_EQ(ReasonCode(Ask("shop", "").status()), "token-malformed");
  EXPECT_EQ(ReasonCode(Ask("shop", std::string(1 << 20, 'x')).status()),
            "token-malformed");
}

TEST_F(RecommendServiceTest, ABadRequestDoesNotUseTheTokenUp) {
  rv1::GetRecommendationsRequest request;
  request.set_token(Token("ann"));
  request.set_top(kMostTop + 1);
  EXPECT_EQ(ReasonCode(Ask("shop", request).status()), "top-out-of-range");
  request.set_top(3);
  request.set_order(static_cast<rv1::Order>(7));
  EXPECT_EQ(ReasonCode(Ask("shop", request).status()), "order-unknown");
  request.set_order(rv1::ORDER_RATING);
  request.set_explain(true);
  const auto list = Ask("shop", request);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->recommendations_size(), 3);
  EXPECT_EQ(list->recommendations(0).because_size(), 3);
}

// One of many calls with one token at the same time is answered.
TEST_F(RecommendServiceTest, ATokenThatIsUsedAtOnceByManyPassesOnce) {
  constexpr int kCalls = 8;
  const std::string token = Token("ann");
  std::atomic<int> answered = 0, reused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCalls; ++i) {
    threads.emplace_back([&] {
      const auto list = Ask("shop", token);
      if (list.ok()) ++answered;
      if (ReasonCode(list.status()) == "token-reused") ++reused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(reused, kCalls - 1);
}

TEST_F(RecommendServiceTest, TheAuditLogNamesTheCallNeitherPersonNorList) {
  const TokenClaims claims = Claims("ann");
  const auto list = Ask("shop", SignToken(claims, key_));
  ASSERT_TRUE(list.ok());
  Ask("shop", SignToken(claims, key_)).status().IgnoreError();
  const std::string log = ReadAll(AuditPath());
  EXPECT_THAT(log, HasSubstr("GetRecommendations"));
  EXPECT_THAT(log, HasSubstr("dns:shop"));
  EXPECT_THAT(log, HasSubstr(claims.nonce));
  EXPECT_THAT(log, HasSubstr("token-reused"));
  EXPECT_THAT(log, Not(HasSubstr("ann")));
  for (const auto& row : list->recommendations()) {
    EXPECT_THAT(log, Not(HasSubstr(absl::StrCat("\"", row.item(), "\""))));
    EXPECT_THAT(log, Not(HasSubstr(row.name())));
  }
}

// Else a front end without tokens could fill the volume of the audit log.
TEST_F(RecommendServiceTest, CallsWithoutATokenThatPassesShareAnEntry) {
  rv1::GetRecommendationsRequest request;
  request.set_top(kMostTop + 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ReasonCode(Ask("shop", "x").status()), "token-malformed");
    EXPECT_EQ(ReasonCode(Ask("shop", request).status()), "top-out-of-range");
  }
  EXPECT_TRUE(Ask("shop", Token("ann")).ok());
  EXPECT_TRUE(Ask("shop", Token("ann")).ok());
  const std::string log = ReadAll(AuditPath());
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
}

// The analysts' service is not on this port.
TEST_F(RecommendServiceTest, ThePortServesNothingElse) {
  for (const char* peer : {"shop", "analyst"}) {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    const grpc::Status status = v1::CuratorService::NewStub(Dial(peer))
                                    ->ListDatasets(&context, {}, &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << peer;
  }
}

}  // namespace
}  // namespace dpnmf::curator
