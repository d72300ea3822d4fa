// A round of a federation: what comes out, what is charged, and the attacks of
// an analyst that relays the curators' words, or has a curator on its side.
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "common/nmf/dictionary.h"
#include "gmock/gmock.h"
#include "tests/curator/federation/hospitals.h"

namespace dpnmf::curator {
namespace {

using Parts = std::vector<NoisedMatrix>;

// Modulo 2^64, without the keys.
Parts SumOf(const std::vector<Parts>& releases) {
  Parts sum = releases.front();
  for (std::size_t i = 1; i < releases.size(); ++i) {
    for (std::size_t p = 0; p < sum.size(); ++p) {
      for (std::size_t e = 0; e < sum[p].lattice.size(); ++e) {
        sum[p].lattice[e] = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(sum[p].lattice[e]) +
            static_cast<std::uint64_t>(releases[i][p].lattice[e]));
      }
    }
  }
  sum.pop_back();
  return sum;
}

// Entries within 2^40 of the other ones; the noise of the pattern is. A uniform
// one is with probability 2^-23, so that two of at most 78 are with less than
// 2^-34.
int NearEntries(const NoisedMatrix& a, const NoisedMatrix& b) {
  int near = 0;
  for (std::size_t e = 0; e < a.lattice.size(); ++e) {
    const auto off =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(a.lattice[e]) -
                                  static_cast<std::uint64_t>(b.lattice[e]));
    near += std::abs(off) < std::int64_t{1} << 40 ? 1 : 0;
  }
  return near;
}

class FederatedRoundTest : public HospitalsTest {
 protected:
  FederatedRoundTest() = default;

  // Everybody's exact sums in lattice units: one curator with all people, the
  // same bits, no noise.
  Parts ExactSums(const RunParameters& federated, const RoundInput& input) {
    RunParameters run = federated;
    run.dataset = "everybody";
    const auto people = PeopleOf("everybody", 0, kPeople);
    const RunPlan plan = PlanRun(run, FactsOf(people->description())).value();
    const StagePlan& stage = plan.StageOf(1);
    std::unique_ptr<Coefficients> coefficients;
    const RoundSums sums =
        ReleaseKindOf(stage.release)
            .sums(input, {*people, run, plan, Execution{1, 0}, &coefficients})
            .value();
    Parts parts;
    for (std::size_t p = 0; p < stage.parts.size(); ++p) {
      NoisedMatrix part;
      part.name = stage.parts[p].name;
      part.lattice = sums.parts[p];
      parts.push_back(part);
    }
    return parts;
  }

  void ExpectNothingCharged() {
    for (std::size_t i = 0; i < hospitals_.size(); ++i) {
      EXPECT_EQ(at(i).Charged(), MuSquared());
      EXPECT_EQ(at(i).ChargedOfOthers(), MuSquared());
    }
  }

  FederationOffer Signed(FederationOffer offer, std::size_t by) {
    offer.signature = at(by).key().Sign(SignedBytes(offer));
    return offer;
  }

  const Eigen::MatrixXd w_ = RandomDictionary(kRows, 3, 1);
};

TEST_F(FederatedRoundTest, TheSumIsTheExactSumOfAllPeopleAndTheNoises) {
  for (const char* mechanism : {"moments", "statistics"}) {
    SCOPED_TRACE(mechanism);
    const bool moments = std::string(mechanism) == "moments";
    const RoundInput input = moments ? RoundInput() : RoundInput(w_);
    RunParameters run = FederatedRun(mechanism);
    if (!moments) run.epsilon = 0.5;
    sessions_.clear();
    const std::string id = moments ? kRunId : std::string(32, 'b');
    for (const auto& hospital : hospitals_) {
      sessions_.push_back(std::make_unique<Session>(hospital->NewSession()));
      ASSERT_TRUE(sessions_.back()->Open(id, run).ok());
    }
    const auto offers = OfferAll(1, input);
    std::vector<Parts> releases;
    for (const auto& session : sessions_) {
      const auto released = session->Contribute(1, input, offers);
      ASSERT_TRUE(released.ok()) << released.status();
      releases.push_back(released->value().parts);
    }
    const Parts sum = SumOf(releases);
    const Parts exact = ExactSums(run, input);
    ASSERT_EQ(sum.size(), exact.size());
    const std::vector<PartPlan>& parts = sessions_[0]->StageOf(1).parts;
    for (std::size_t p = 0; p < sum.size(); ++p) {
      std::vector<std::int64_t> expected = exact[p].lattice;
      for (std::uint64_t who = 0; who < 3; ++who) {
        const auto noise = PatternOf(who)(parts, 1);
        for (std::size_t e = 0; e < expected.size(); ++e)
          expected[e] += noise[p][e];
      }
      EXPECT_EQ(sum[p].lattice, expected) << sum[p].name;
      // The release of one curator is not near the exact sums.
      EXPECT_LE(NearEntries(releases[0][p], exact[p]), 1);
    }
  }
}

TEST_F(FederatedRoundTest, BothAccountsAreChargedByTheNoiseThatIsDrawn) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  ExpectNothingCharged();
  ASSERT_TRUE(sessions_[0]->Contribute(1, {}, offers).ok());
  const StagePlan& share = sessions_[0]->StageOf(1);
  const PartPlan whole = PlanRun(FederatedRun("moments"), FactsOf(federation_))
                             .value()
                             .stages[0]
                             .parts[0];
  const std::uint64_t own = share.parts[0].stddev_steps;
  // (m - t) sigma_i^2 >= sigma^2, and no smaller share does.
  EXPECT_GE(2 * own * own, whole.stddev_steps * whole.stddev_steps);
  EXPECT_LT(2 * (own - 1) * (own - 1), whole.stddev_steps * whole.stddev_steps);
  EXPECT_EQ(at(0).Charged(), share.cost_per_round);
  EXPECT_LE(share.cost_per_round,
            CostOfDrawing({whole}, Adjacency::kReplaceOne).value());
  // All others collude: one curator's noise is all that there is.
  EXPECT_EQ(at(0).ChargedOfOthers(),
            CostOfDrawing(share.parts, Adjacency::kReplaceOne).value());
  EXPECT_NEAR(at(0).ChargedOfOthers().ToDouble() / at(0).Charged().ToDouble(),
              2, 1e-4);
  EXPECT_EQ(at(1).Charged(), MuSquared());
}

// --- An analyst that relays something else. Each is refused by the curator
// itself, and nothing is charged.

struct Attack {
  const char* name;
  const char* code;
  // Changes the offers that all three gave for round 1; b is on the analyst's
  // side.
  std::function<std::vector<FederationOffer>(std::vector<FederationOffer>,
                                             const SigningKey& b)>
      relay;
};

FederationOffer SignedBy(const SigningKey& key, FederationOffer offer) {
  offer.signature = key.Sign(SignedBytes(offer));
  return offer;
}

const std::vector<Attack>& Attacks() {
  using Offers = std::vector<FederationOffer>;
  static const std::vector<Attack> all = {
      {"leaves one out", "federation-offers-incomplete",
       [](Offers o, const SigningKey&) {
         o.pop_back();
         return o;
       }},
      {"one twice in the place of another", "federation-offers-incomplete",
       [](Offers o, const SigningKey&) {
         o[2] = o[1];
         return o;
       }},
      {"adds a curator of its own", "federation-offers-incomplete",
       [](Offers o, const SigningKey& b) {
         FederationOffer own = o[1];
         own.curator = "mallory";
         own.key[0] ^= 1;
         o.push_back(SignedBy(b, own));
         return o;
       }},
      {"puts a curator of its own in another's place",
       "federation-offers-incomplete",
       [](Offers o, const SigningKey& b) {
         o[2].curator = "mallory";
         o[2] = SignedBy(b, o[2]);
         return o;
       }},
      {"signs for another curator", "federation-signature-invalid",
       [](Offers o, const SigningKey& b) {
         o[2].key[0] ^= 1;
         o[2] = SignedBy(b, o[2]);
         return o;
       }},
      {"changes a key and leaves the signature", "federation-signature-invalid",
       [](Offers o, const SigningKey&) {
         o[2].key[5] ^= 1;
         return o;
       }},
      {"a colluder signs another set", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.members.pop_back();
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder signs another dictionary", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.request[0] ^= 1;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder signs less noise", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.plan[0] ^= 1;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder signs another round", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.round = 2;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder signs another run", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.run_id[0] = 'f';
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder has another federation.json", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.federation[0] ^= 1;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder signs for another analyst", "federation-offer-differs",
       [](Offers o, const SigningKey& b) {
         o[1].round.analyst = "dns:other";
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      // Condition 2: masks with a key that is reflected would cancel.
      {"a colluder shows this curator's key as its own",
       "federation-keys-equal",
       [](Offers o, const SigningKey& b) {
         o[1].key = o[0].key;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder shows a third curator's key as its own",
       "federation-keys-equal",
       [](Offers o, const SigningKey& b) {
         o[1].key = o[2].key;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder's key is zero", "federation-key-invalid",
       [](Offers o, const SigningKey& b) {
         o[1].key.fill(0);
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"a colluder's key is of small order", "federation-key-invalid",
       [](Offers o, const SigningKey& b) {
         o[1].key.fill(0);
         o[1].key[0] = 1;
         o[1] = SignedBy(b, o[1]);
         return o;
       }},
      {"this curator's key is another's", "federation-key-lost",
       [](Offers o, const SigningKey&) { return o; }},
  };
  return all;
}

TEST_F(FederatedRoundTest, EachAttackIsRefusedWithItsCodeAndChargesNothing) {
  OpenAll(FederatedRun("moments"));
  for (const Attack& attack : Attacks()) {
    SCOPED_TRACE(attack.name);
    auto offers = OfferAll(1, {});
    if (attack.code == std::string("federation-key-lost")) {
      // Its own word, with a key that it does not hold.
      offers[0].key = ExchangeKey::Generate().public_key();
      offers[0] = Signed(offers[0], 0);
    }
    const auto answer =
        sessions_[0]->Contribute(1, {}, attack.relay(offers, at(1).key()));
    EXPECT_EQ(ReasonCode(answer.status()), attack.code) << answer.status();
    ExpectNothingCharged();
  }
  // After all of it, the round can be asked for.
  const auto offers = OfferAll(1, {});
  EXPECT_TRUE(sessions_[0]->Contribute(1, {}, offers).ok());
}

TEST_F(FederatedRoundTest, AKeyOfAnEarlierRoundIsNoKeyOfThisOne) {
  OpenAll(FederatedRun("statistics"));
  const auto first = OfferAll(1, w_);
  for (const auto& session : sessions_)
    ASSERT_TRUE(session->Contribute(1, w_, first).ok());
  auto second = OfferAll(2, w_);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(first[i].key, second[i].key);
  second[1] = first[1];
  const MuSquared charged = at(0).Charged();
  EXPECT_EQ(ReasonCode(sessions_[0]->Contribute(2, w_, second).status()),
            "federation-offer-differs");
  // Signed again by the colluder, the old key is as good as any: the stream is
  // bound to the round.
  second[1] = OfferAll(2, w_)[1];
  second[1].key = first[1].key;
  second[1] = Signed(second[1], 1);
  EXPECT_EQ(at(0).Charged(), charged);
  EXPECT_TRUE(sessions_[0]->Contribute(2, w_, second).ok());
}

TEST_F(FederatedRoundTest, AskingTwiceGetsTheSameBytesAndNoSecondCharge) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  const auto first = sessions_[0]->Contribute(1, {}, offers).value();
  const MuSquared charged = at(0).Charged();
  const MuSquared others = at(0).ChargedOfOthers();
  EXPECT_EQ(sessions_[0]->Offer(1, {})->key, offers[0].key);
  std::vector<FederationOffer> shuffled = {offers[2], offers[0], offers[1]};
  const auto again = sessions_[0]->Contribute(1, {}, shuffled).value();
  EXPECT_EQ(again.value().parts, first.value().parts);
  EXPECT_EQ(at(0).Charged(), charged);
  EXPECT_EQ(at(0).ChargedOfOthers(), others);
}

// Two masked messages with two sets of keys would show their difference: the
// second one is never made.
TEST_F(FederatedRoundTest, OtherKeysForAChargedRoundGetNoBytes) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  ASSERT_TRUE(sessions_[0]->Contribute(1, {}, offers).ok());
  const MuSquared charged = at(0).Charged();
  auto others = offers;
  others[1].key = ExchangeKey::Generate().public_key();
  others[1] = Signed(others[1], 1);
  const auto answer = sessions_[0]->Contribute(1, {}, others).value();
  EXPECT_TRUE(answer.value().lost);
  EXPECT_TRUE(answer.value().parts.empty());
  EXPECT_EQ(at(0).Charged(), charged);
  // The right ones still get theirs.
  EXPECT_FALSE(sessions_[0]->Contribute(1, {}, offers)->value().lost);
}

TEST_F(FederatedRoundTest, AnotherDictionaryForAChargedRoundIsRefused) {
  OpenAll(FederatedRun("statistics"));
  const auto offers = OfferAll(1, w_);
  ASSERT_TRUE(sessions_[0]->Contribute(1, w_, offers).ok());
  const RoundInput other(RandomDictionary(kRows, 3, 2));
  EXPECT_EQ(ReasonCode(sessions_[0]->Offer(1, other).status()),
            "round-differs");
  EXPECT_EQ(ReasonCode(sessions_[0]->Offer(3, w_).status()),
            "round-out-of-range");
}

// A curator signs one key for a and another one for c. Both charge, each sends
// one message, and what a and c sent stays masked: the sum is no sum.
TEST_F(FederatedRoundTest, ACuratorThatEquivocatesSpoilsTheSumAndShowsNothing) {
  OpenAll(FederatedRun("moments"));
  const auto for_a = OfferAll(1, {});
  auto for_c = for_a;
  const ExchangeKey second = ExchangeKey::Generate();
  for_c[1].key = second.public_key();
  for_c[1] = Signed(for_c[1], 1);
  const auto a = sessions_[0]->Contribute(1, {}, for_a).value();
  const auto b = sessions_[1]->Contribute(1, {}, for_a).value();
  const auto c = sessions_[2]->Contribute(1, {}, for_c).value();
  const Parts sum = SumOf({a.value().parts, b.value().parts, c.value().parts});
  const Parts exact = ExactSums(FederatedRun("moments"), {});
  EXPECT_LE(NearEntries(sum[0], exact[0]), 1);
  // The analyst sees that they were given different words.
  EXPECT_NE(KeysIn(a.value().parts, 3), KeysIn(c.value().parts, 3));
}

// --- Restarts.

TEST_F(FederatedRoundTest, ARestartSendsTheStoredBytesOfAChargedRound) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  const Parts before =
      sessions_[0]->Contribute(1, {}, offers).value().value().parts;
  const MuSquared charged = at(0).Charged();
  sessions_.clear();
  for (const auto& hospital : hospitals_) hospital->Start(federation_);
  OpenAll(FederatedRun("moments"));
  EXPECT_EQ(sessions_[0]->Offer(1, {})->key, offers[0].key);
  EXPECT_EQ(sessions_[0]->Offer(1, {}).value(), offers[0]);
  EXPECT_EQ(sessions_[0]->Contribute(1, {}, offers)->value().parts, before);
  EXPECT_EQ(at(0).Charged(), charged);
  // b has lost its key: its new one is not that of the round that a has
  // charged. b and c charge a round that is dead.
  const auto later = OfferAll(1, {});
  EXPECT_NE(later[1].key, offers[1].key);
  EXPECT_TRUE(sessions_[0]->Contribute(1, {}, later)->value().lost);
  EXPECT_TRUE(sessions_[1]->Contribute(1, {}, later).ok());
  EXPECT_EQ(at(0).Charged(), charged);
  EXPECT_EQ(at(1).Charged(), charged);
}

TEST_F(FederatedRoundTest, ARestartBeforeTheChargeLosesTheKeyAndNothingElse) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  sessions_.clear();
  for (const auto& hospital : hospitals_) hospital->Start(federation_);
  OpenAll(FederatedRun("moments"));
  EXPECT_EQ(ReasonCode(sessions_[0]->Contribute(1, {}, offers).status()),
            "federation-key-lost");
  ExpectNothingCharged();
  const auto fresh = OfferAll(1, {});
  EXPECT_TRUE(sessions_[0]->Contribute(1, {}, fresh).ok());
}

// The second account is charged first; a crash before the other charge costs
// nothing twice, though the round then has other keys.
TEST_F(FederatedRoundTest, ACrashBetweenTheTwoChargesChargesEachOnce) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  const MuSquared cost =
      CostOfDrawing(sessions_[0]->StageOf(1).parts, Adjacency::kReplaceOne)
          .value();
  ASSERT_TRUE(at(0)
                  .ledger()
                  .ChargeRound({"dns:analyst", Membership::OthersRun(kRunId), 1,
                                offers[0].round.request, cost})
                  .ok());
  sessions_.clear();
  at(0).Start(federation_);
  OpenAll(FederatedRun("moments"));
  const auto later = OfferAll(1, {});
  EXPECT_NE(later[0].key, offers[0].key);
  EXPECT_FALSE(sessions_[0]->Contribute(1, {}, later)->value().lost);
  EXPECT_EQ(at(0).ChargedOfOthers(), cost);
  EXPECT_EQ(at(0).Charged(), sessions_[0]->StageOf(1).cost_per_round);
}

TEST_F(FederatedRoundTest, AnotherStreamOfTheRunFindsTheSameKey) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  OpenAll(FederatedRun("moments"));
  EXPECT_EQ(OfferAll(1, {}), offers);
}

TEST_F(FederatedRoundTest, ARoundWhoseBytesAreGoneIsLostAndStaysCharged) {
  OpenAll(FederatedRun("moments"));
  const auto offers = OfferAll(1, {});
  ASSERT_TRUE(sessions_[0]->Contribute(1, {}, offers).ok());
  const MuSquared charged = at(0).Charged();
  for (const auto& file : std::filesystem::directory_iterator(at(0).Releases()))
    std::filesystem::remove(file);
  const auto later = OfferAll(1, {});
  EXPECT_TRUE(sessions_[0]->Contribute(1, {}, later)->value().lost);
  EXPECT_TRUE(sessions_[0]->Contribute(1, {}, offers)->value().lost);
  EXPECT_EQ(at(0).Charged(), charged);
}

// --- The run's frame.

TEST_F(FederatedRoundTest, ClosingGivesBothReservationsBack) {
  OpenAll(FederatedRun("statistics"));
  EXPECT_GT(at(0).ReservedOfBoth(), MuSquared());
  ASSERT_TRUE(sessions_[0]->Close().ok());
  EXPECT_EQ(at(0).ReservedOfBoth(), MuSquared());
}

// Whichever of the two the operator has closed, at the start or midway.
TEST_F(FederatedRoundTest, AClosedRunIsClosedInBothAccounts) {
  const RunParameters run = FederatedRun("statistics");
  const std::vector<std::string> closings = {kRunId,
                                             Membership::OthersRun(kRunId)};
  OpenAll(run);
  const Digest request = OfferAll(1, w_)[0].round.request;
  for (std::size_t i = 0; i < closings.size(); ++i) {
    SCOPED_TRACE(i);
    RoundKeys& keys = at(i).membership().keys();
    EXPECT_NE(keys.Find("dns:analyst", kRunId, 1, request), nullptr);
    ASSERT_TRUE(at(i).ledger().CloseRun("dns:analyst", closings[i]).ok());
    EXPECT_GT(at(i).ReservedOfBoth(), MuSquared());
    Session again = at(i).NewSession();
    EXPECT_EQ(ReasonCode(again.Open(kRunId, run).status()), "run-closed");
    EXPECT_EQ(at(i).ReservedOfBoth(), MuSquared());
    EXPECT_EQ(keys.Find("dns:analyst", kRunId, 1, request), nullptr);
  }
}

TEST_F(FederatedRoundTest, ARunClosedMidwayInTheSecondAccountIsClosedInBoth) {
  const RunParameters run = FederatedRun("statistics");
  OpenAll(run);
  ASSERT_TRUE(sessions_[0]->Contribute(1, w_, OfferAll(1, w_)).ok());
  const std::string others = Membership::OthersRun(kRunId);
  ASSERT_TRUE(at(0).ledger().CloseRun("dns:analyst", others).ok());
  for (int visit = 0; visit < 2; ++visit) {
    Session again = at(0).NewSession();
    EXPECT_EQ(ReasonCode(again.Open(kRunId, run).status()), "run-closed");
    EXPECT_EQ(at(0).ReservedOfBoth(), MuSquared());
  }
  EXPECT_GT(at(0).Charged(), MuSquared());
}

// The operator's limits for one identity are kept in each account.
TEST_F(FederatedRoundTest, AnIdentitysLimitOnTheSecondAccountIsKept) {
  const RunParameters run = FederatedRun("moments");
  at(0).SetLimits({{"a-people.others", 0.5}});
  const auto refused = at(0).NewSession().Open(kRunId, run);
  EXPECT_EQ(ReasonCode(refused.status()), "identity-budget-exhausted");
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::HasSubstr("a-people.others"));
  EXPECT_EQ(at(0).ReservedOfBoth(), MuSquared());
  at(0).SetLimits({{"a-people.others", 4}, {"a-people", 1.1}});
  const auto opened = at(0).NewSession().Open(std::string(32, 'b'), run);
  EXPECT_TRUE(opened.ok()) << opened.status();
}

TEST_F(FederatedRoundTest, ARoundOfAFederationTakesBothSteps) {
  OpenAll(FederatedRun("moments"));
  EXPECT_EQ(ReasonCode(sessions_[0]->Round(1, {}).status()),
            "federation-offers-incomplete");
  Session closed = at(0).NewSession();
  EXPECT_EQ(ReasonCode(closed.Offer(1, {}).status()), "session-not-opened");
  EXPECT_EQ(ReasonCode(closed.Contribute(1, {}, {}).status()),
            "session-not-opened");
  ExpectNothingCharged();
}

TEST_F(FederatedRoundTest, OnlyPlainSumsAreFederated) {
  Session session = at(0).NewSession();
  RunParameters run = FederatedRun("statistics");
  run.mechanism = "gradient";
  EXPECT_EQ(ReasonCode(session.Open(kRunId, run).status()),
            "federation-mechanism");
}

TEST_F(FederatedRoundTest, TheDataSetAloneIsServedAsBefore) {
  RunParameters run = FederatedRun("moments", "a");
  Session session = at(0).NewSession();
  ASSERT_TRUE(session.Open(kRunId, run).ok());
  EXPECT_FALSE(session.federated());
  EXPECT_TRUE(session.Round(1, {}).ok());
  EXPECT_EQ(at(0).ChargedOfOthers(), MuSquared());
}

class PeopleOfTwoCuratorsTest : public HospitalsTest {
 protected:
  PeopleOfTwoCuratorsTest() : HospitalsTest(8, /*copies=*/2) {}
};

// Their rows change in both sums at once: twice the sensitivity, of which two
// honest curators' noise is enough. One curator's sum changes by one row.
TEST_F(PeopleOfTwoCuratorsTest, TheNoiseIsForBothRows) {
  const RunParameters run = FederatedRun("moments");
  OpenAll(run);
  const auto offers = OfferAll(1, {});
  ASSERT_TRUE(sessions_[0]->Contribute(1, {}, offers).ok());
  const StagePlan& share = sessions_[0]->StageOf(1);
  const PartPlan whole =
      PlanRun(run, FactsOf(federation_)).value().stages[0].parts[0];
  const std::uint64_t own = share.parts[0].stddev_steps;
  EXPECT_GE(2 * own * own, 4 * whole.stddev_steps * whole.stddev_steps);
  EXPECT_LT(2 * (own - 1) * (own - 1),
            4 * whole.stddev_steps * whole.stddev_steps);
  EXPECT_EQ(at(0).Charged(), share.cost_per_round);
  const double asked =
      CostOfDrawing({whole}, Adjacency::kReplaceOne)->ToDouble();
  EXPECT_NEAR(at(0).Charged().ToDouble() / asked, 1, 1e-4);
  EXPECT_EQ(at(0).ChargedOfOthers(),
            CostOfDrawing(share.parts, Adjacency::kReplaceOne).value());
  EXPECT_NEAR(at(0).ChargedOfOthers().ToDouble() / asked, 0.5, 1e-4);
}

class SmallSecondAccountTest : public HospitalsTest {
 protected:
  SmallSecondAccountTest() : HospitalsTest(0.5) {}
};

// The run fits the population's own cap and not the cap for the case that all
// others collude: nothing stays reserved.
TEST_F(SmallSecondAccountTest, TheSecondCapIsKeptToo) {
  Session session = at(0).NewSession();
  const auto opened = session.Open(kRunId, FederatedRun("moments"));
  EXPECT_EQ(ReasonCode(opened.status()), "budget-exhausted");
  EXPECT_THAT(std::string(opened.status().message()),
              ::testing::HasSubstr("a-people.others"));
  EXPECT_EQ(at(0).ReservedOfBoth(), MuSquared());
}

// The process ended between the two reservations.
TEST_F(SmallSecondAccountTest, AReservationWithoutItsSecondIsGivenBack) {
  const RunParameters run = FederatedRun("moments");
  const Membership& membership = at(0).membership();
  const RunPlan plan =
      membership.ShareOf(PlanRun(run, membership.Facts("a-people")).value())
          .value();
  RunOpening opening;
  opening.identity = "dns:analyst";
  opening.run_id = kRunId;
  opening.population = "a-people";
  opening.dataset = run.dataset;
  opening.mechanism = run.mechanism;
  opening.parameters_hash = HashOf(run);
  opening.rounds = run.rounds;
  opening.cost = plan.cost;
  ASSERT_TRUE(at(0).ledger().OpenRun(opening).ok());
  EXPECT_GT(at(0).ReservedOfBoth(), MuSquared());
  EXPECT_EQ(ReasonCode(at(0).NewSession().Open(kRunId, run).status()),
            "budget-exhausted");
  EXPECT_EQ(at(0).ReservedOfBoth(), MuSquared());
}

TEST_F(FederatedRoundTest, ADataSetThatDiffersFromTheFileIsRefused) {
  const Membership& membership = at(0).membership();
  const auto code_of = [&](auto change) {
    DatasetDescription people = DescriptionOfPeople("a", kSizes[0]);
    change(&people);
    return ReasonCode(membership.CheckData(people));
  };
  EXPECT_EQ(code_of([](auto*) {}), "");
  using D = DatasetDescription;
  for (const std::function<void(D*)>& change :
       std::vector<std::function<void(D*)>>{
           [](D* d) { d->users = 61; }, [](D* d) { d->features = 13; },
           [](D* d) { d->column_bound = 2; },
           [](D* d) { d->normalisation = Normalisation::kNone; },
           [](D* d) { d->adjacency = Adjacency::kAddRemoveOne; },
           [](D* d) { d->conversion = Conversion::kGaussian; },
           [](D* d) { d->population = std::string(60, 'p'); },
           [](D* d) { d->ratings.emplace(); }}) {
    EXPECT_EQ(code_of(change), "federation-differs");
  }
  const SigningKey stranger = SigningKey::Generate();
  EXPECT_EQ(ReasonCode(Membership::Create(federation_, stranger.public_key(),
                                          [](auto) { return Signature(); })
                           .status()),
            "federation-not-a-member");
}

}  // namespace
}  // namespace dpnmf::curator
