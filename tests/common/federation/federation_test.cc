// federation.json, the shares of the noise, and what is signed.
#include "common/federation/federation.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/federation/offer.h"
#include "gmock/gmock.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;

std::string Text() {
  const auto member = [](const char* name, char digit) {
    return absl::StrCat("{\"name\": \"", name, "\", \"dataset\": \"d-", name,
                        "\", \"users\": 100, \"receipt_key\": \"",
                        std::string(64, digit), "\", \"address\": \"", name,
                        ":1\"}");
  };
  return absl::StrCat(
      "{\"federation\": \"f\", \"colluders\": 1, \"copies\": 1, "
      "\"adjacency\": \"replace_one\", \"conversion\": \"rdp\", \"features\": "
      "6, \"normalisation\": \"l2\", \"column_bound\": 1, \"max_rank\": 6, "
      "\"max_rounds\": 9, \"epsilon_if_others_collude\": 8, \"members\": [",
      member("a", '1'), ", ", member("b", '2'), ", ", member("c", '3'), "]}");
}

TEST(FederationTest, ReadsTheFileAndItsHash) {
  const Federation federation = ParseFederation(Text()).value();
  EXPECT_EQ(federation.name, "f");
  EXPECT_EQ(federation.size(), 3u);
  EXPECT_EQ(federation.shares(), (NoiseShares{2, 1}));
  EXPECT_EQ(federation.members[1].dataset, "d-b");
  EXPECT_EQ(federation.members[2].address, "c:1");
  EXPECT_EQ(FactsOf(federation).users, 300u);
  // Every byte counts.
  EXPECT_NE(ParseFederation(Text() + "\n")->sha256, federation.sha256);
}

// docs/reference/federation.md: 2 users + 1024 is what all may hold.
TEST(FederationTest, CountsEverybodyThatMayBeThereUnderAddRemoveOne) {
  const Federation federation =
      ParseFederation(
          absl::StrReplaceAll(Text(), {{"replace_one", "add_remove_one"}}))
          .value();
  EXPECT_EQ(LargestUserCount(FactsOf(federation)), 3 * (2 * 100 + 1024u));
}

TEST(FederationTest, RefusesWhatIsNotOne) {
  const struct {
    const char *from, *to, *says;
  } cases[] = {
      {"\"colluders\": 1", "\"colluders\": 0", "colluders"},
      {"\"colluders\": 1", "\"colluders\": 3", "from 1 to 2"},
      {"\"colluders\": 1", "\"colluders\": 1.5", "colluders"},
      {"\"colluders\": 1", "\"colluders\": -1", "colluders"},
      {"\"copies\": 1", "\"copies\": 4", "copies"},
      {"\"copies\": 1", "\"copies\": 1, \"copies\": 2", "twice"},
      {"replace_one", "one_rating", "adjacency"},
      {"\"rdp\"", "\"none\"", "conversion"},
      {"\"features\": 6", "\"features\": 0", "features"},
      {"\"l2\"", "\"l1\"", "normalisation"},
      {"\"column_bound\": 1", "\"column_bound\": -1", "column_bound"},
      {"\"max_rank\": 6", "\"max_rank\": 5000", "max_rank"},
      {"collude\": 8", "collude\": 0", "epsilon_if_others_collude"},
      {"\"name\": \"b\"", "\"name\": \"a\"", "listed twice"},
      {"\"name\": \"b\"", "\"name\": \"B\"", "a-z"},
      {"\"users\": 100", "\"users\": 0", "users"},
      {"2222", "1111", "another member"},
      {"3333", "333x", "receipt_key"},
      {"\"max_rank\"", "\"rank\"", "unknown field"},
      {"\"max_rank\": 6,", "", "max_rank"},
      {"[{", "[[], {", "not an object"},
  };
  for (const auto& [from, to, says] : cases) {
    SCOPED_TRACE(to);
    std::string text = Text();
    if (std::string(from) == "2222")  // the whole key
      text = absl::StrReplaceAll(
          text, {{std::string(64, '2'), std::string(64, '1')}});
    else
      text.replace(text.find(from), std::string(from).size(), to);
    const auto status = ParseFederation(text).status();
    EXPECT_EQ(ReasonCode(status), "federation-malformed");
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
  EXPECT_EQ(ReasonCode(ParseFederation("{").status()), "federation-malformed");
  EXPECT_EQ(ReasonCode(ReadFederation("/nowhere").status()),
            "federation-unreadable");
}

RunParameters SmallRun() {
  RunParameters run;
  run.dataset = "f";
  run.rank = 2;
  run.rounds = 3;
  run.epsilon = 1;
  run.delta = 1e-5;
  return run;
}

// (m - t) sigma_i^2 >= (s sigma)^2, the smallest that does, for many h and s;
// and the price is never below the real one.
TEST(NoiseSharesTest, AreTheSmallestThatAddUp) {
  const DatasetFacts facts = FactsOf(ParseFederation(Text()).value());
  const RunPlan whole = PlanRun(SmallRun(), facts).value();
  for (std::uint32_t honest = 1; honest <= kMostShares; honest += 7) {
    for (const std::uint32_t copies : {1u, 2u, 5u}) {
      const NoiseShares shares{honest, copies};
      const RunPlan share = ShareOfPlan(whole, facts.adjacency, shares).value();
      for (std::size_t p = 0; p < 2; ++p) {
        const PartPlan& all = whole.stages[0].parts[p];
        const PartPlan& own = share.stages[0].parts[p];
        const auto square = [](std::uint64_t x) { return Uint128{x} * x; };
        const Uint128 wanted = square(all.stddev_steps * copies);
        EXPECT_GE(honest * square(own.stddev_steps), wanted);
        EXPECT_LT(honest * square(own.stddev_steps - 1), wanted);
        if (own.symmetric) {
          EXPECT_GE(square(own.diagonal_stddev_steps),
                    2 * square(own.stddev_steps));
        }
      }
      EXPECT_LE(share.cost, whole.cost);
      // s^2 Delta^2 / (h sigma_i^2) in doubles.
      double exact = 0;
      for (const PartPlan& part : share.stages[0].parts) {
        const double variance =
            honest * static_cast<double>(part.stddev_steps) *
            static_cast<double>(part.stddev_steps) * (part.symmetric ? 2 : 1);
        exact += 2.0 * copies * copies *
                 static_cast<double>(part.left_norm_steps) *
                 static_cast<double>(part.right_norm_steps) / variance;
      }
      const double priced = share.stages[0].cost_per_round.ToDouble();
      EXPECT_GE(priced, exact * (1 - 1e-12));
      EXPECT_LE(priced, exact * (1 + 1e-3));
    }
  }
}

TEST(NoiseSharesTest, OneCuratorAloneIsPricedAsItAlwaysWas) {
  const DatasetFacts facts = FactsOf(ParseFederation(Text()).value());
  const RunPlan whole = PlanRun(SmallRun(), facts).value();
  EXPECT_EQ(PricedParts(whole.stages[0].parts, {}).value(),
            whole.stages[0].parts);
  EXPECT_EQ(ShareOfPlan(whole, facts.adjacency, {})->cost, whole.cost);
}

// The condition of the theorem: eta < h 10^-273 at 8 steps.
TEST(NoiseSharesTest, AShareHasEightSteps) {
  const DatasetFacts facts = FactsOf(ParseFederation(Text()).value());
  RunPlan small = PlanRun(SmallRun(), facts).value();
  for (PartPlan& part : small.stages[0].parts) {
    part.stddev_steps = 3;
    part.left_norm_steps = part.right_norm_steps = 1;
  }
  const RunPlan share = ShareOfPlan(small, facts.adjacency, {2, 1}).value();
  for (const PartPlan& part : share.stages[0].parts)
    EXPECT_EQ(part.stddev_steps, kLeastShareSteps);
  PartPlan below = share.stages[0].parts[1];
  below.stddev_steps = 7;
  EXPECT_EQ(ReasonCode(PricedParts({below}, {2, 1}).status()), "plan-invalid");
  EXPECT_EQ(
      ReasonCode(PricedParts({share.stages[0].parts[1]}, {0, 1}).status()),
      "plan-invalid");
  // 2 exp(-2 pi^2 8^2 / 2) is the first term of the first factor.
  EXPECT_LT(-2 * M_PI * M_PI * 64 / 2 / std::log(10.0) + std::log10(2.0), -273);
}

TEST(NoiseSharesTest, TheSumHasTheNoiseOfAllMembers) {
  const DatasetFacts facts = FactsOf(ParseFederation(Text()).value());
  const RunPlan share =
      ShareOfPlan(PlanRun(SmallRun(), facts).value(), facts.adjacency, {2, 1})
          .value();
  const RunPlan sum = SumOfShares(share, 9);
  EXPECT_EQ(sum.stages[0].parts[1].stddev_steps,
            3 * share.stages[0].parts[1].stddev_steps);
  EXPECT_EQ(sum.cost, share.cost);
}

TEST(SharesSentenceTest, TellsWhenNothingIsWon) {
  EXPECT_THAT(SharesSentence(2, 1), HasSubstr("gains nothing"));
  EXPECT_THAT(SharesSentence(3, 2), HasSubstr("gains nothing"));
  EXPECT_EQ(SharesSentence(10, 1),
            "The noise of the sum is 1.05 times that of one curator with "
            "everybody's data; 10 separate releases would have 3.16 times.");
}

FederationOffer SomeOffer() {
  FederationOffer offer;
  offer.round.analyst = "dns:analyst";
  offer.round.run_id = std::string(32, 'a');
  offer.round.round = 1;
  offer.round.members = {"a", "b"};
  offer.curator = "a";
  offer.key.fill(7);
  return offer;
}

// Whatever differs, something else is signed; and no receipt begins alike.
TEST(OfferTest, EveryFieldIsSignedInADomainOfItsOwn) {
  const auto signed_bytes = SignedBytes(SomeOffer());
  std::string begin;
  for (const std::byte b : signed_bytes) begin += static_cast<char>(b);
  EXPECT_TRUE(begin.starts_with("dpnmf federation offer 1"));
  EXPECT_EQ(begin.size(), 24u + 32u);
  for (const std::function<void(FederationOffer*)>& change :
       std::vector<std::function<void(FederationOffer*)>>{
           [](auto* o) { o->round.federation[0] = 1; },
           [](auto* o) { o->round.analyst = "dns:analys"; },
           [](auto* o) { o->round.run_id[0] = 'b'; },
           [](auto* o) { o->round.round = 2; },
           [](auto* o) { o->round.plan[31] = 1; },
           [](auto* o) { o->round.request[31] = 1; },
           [](auto* o) { o->round.members = {"ab"}; },
           [](auto* o) {
             o->round.members = {"b", "a"};
           },
           [](auto* o) { o->curator = "b"; }, [](auto* o) { o->key[0] = 8; }}) {
    FederationOffer other = SomeOffer();
    change(&other);
    EXPECT_NE(SignedBytes(other), signed_bytes);
    const std::vector<ExchangePublicKey> one = {SomeOffer().key};
    const std::vector<ExchangePublicKey> two = {other.key};
    if (other.curator == SomeOffer().curator) {
      EXPECT_NE(TranscriptOf(other.round, two),
                TranscriptOf(SomeOffer().round, one));
    }
  }
}

TEST(OfferTest, KeysComeBackFromARelease) {
  std::vector<ExchangePublicKey> keys(3);
  keys[1].fill(200);
  keys[2][31] = 9;
  std::vector<NoisedMatrix> parts(2);
  parts.back() = KeysPart(keys);
  EXPECT_EQ(KeysIn(parts, 3), keys);
  EXPECT_TRUE(KeysIn(parts, 2).empty());
  parts.back().name = "B";
  EXPECT_TRUE(KeysIn(parts, 3).empty());
  EXPECT_TRUE(KeysIn({}, 3).empty());
}

}  // namespace
}  // namespace dpnmf
