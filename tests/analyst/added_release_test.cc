// A release that another analyst has paid for: who may add what.
#include "analyst/runs/added_release.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyst/runs/sent_release.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"
#include "tests/analyst/paid_run.h"

namespace dpnmf::analyst {
namespace {

using Messages = std::vector<v1::ReleaseReply>;

class AddedReleaseTest : public testing::Test {
 protected:
  std::string Key() const {
    return std::string(curator_.key->public_key().begin(),
                       curator_.key->public_key().end());
  }

  Messages Sent(const std::string& run_id, PaidRuns* from) {
    const auto release = FindRelease(run_id, false, from->store());
    EXPECT_TRUE(release.ok()) << release.status();
    Messages messages;
    EXPECT_TRUE(WriteRelease(*release, from->store(),
                             [&](const v1::ReleaseReply& message) {
                               messages.push_back(message);
                               return true;
                             })
                    .ok());
    return messages;
  }

  absl::StatusOr<NewRun> Taken(const Messages& messages) {
    AddedRelease release(other_.store());
    for (const v1::ReleaseReply& message : messages)
      DPNMF_RETURN_IF_ERROR(release.Add(message));
    return release.Finish();
  }
  // Adds the release in the messages to the runs of `to`.
  absl::StatusOr<v1::Run> AddTo(PaidRuns* to, const Messages& messages) {
    AddedRelease release(to->store());
    for (const v1::ReleaseReply& message : messages)
      DPNMF_RETURN_IF_ERROR(release.Add(message));
    auto run = release.Finish();
    if (!run.ok()) return run.status();
    return to->manager()->AddReleased(*std::move(run), "dns:bob.client");
  }
  std::string Refused(const Messages& messages) {
    return ReasonCode(AddTo(&other_, messages).status());
  }
  void Trust() {
    ASSERT_TRUE(other_.store()->RecordReceiptKey("toy", Key()).ok());
  }

  static v1::ReleaseRound* RoundOf(Messages* messages, int which) {
    for (v1::ReleaseReply& message : *messages)
      if (message.has_round() && which-- == 0) return message.mutable_round();
    return nullptr;
  }

  FakeCurator curator_{FakeData(6, 40)};
  FakeCurator nobody_{FakeData(6, 40)};  // the other analyst never asks it
  PaidRuns payer_{&curator_};
  PaidRuns other_{&nobody_};
};

TEST_F(AddedReleaseTest, IsARunThatCostsNothingAndIsRefitted) {
  Trust();
  for (const std::uint32_t rows : {0u, 4u}) {
    SCOPED_TRACE(rows);
    const v1::Run paid = payer_.Train(2, rows);
    const Messages messages = Sent(paid.run_id(), &payer_);
    const auto added = AddTo(&other_, messages);
    ASSERT_TRUE(added.ok()) << added.status();
    const v1::Run run = other_.Await(added->run_id());
    EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
    EXPECT_EQ(run.run_id(), paid.run_id());
    EXPECT_TRUE(run.added());
    EXPECT_EQ(run.charged().units(), "0");
    EXPECT_EQ(other_.W(run.run_id()), payer_.W(paid.run_id()));
    EXPECT_EQ(other_.store()->ReadLearner(run.run_id())->memory,
              payer_.store()->ReadLearner(paid.run_id())->memory);
    const std::string mine = payer_.Refit(paid.run_id(), 3)->run_id();
    const std::string theirs = other_.Refit(run.run_id(), 3)->run_id();
    payer_.Await(mine);
    other_.Await(theirs);
    EXPECT_EQ(other_.W(theirs), payer_.W(mine));
    // Once more, by either: the run that is there. And on to a third.
    EXPECT_EQ(AddTo(&other_, messages)->run_id(), run.run_id());
    EXPECT_FALSE(AddTo(&payer_, messages)->added());
    const Messages again = Sent(run.run_id(), &other_);
    PaidRuns third(&nobody_);
    ASSERT_TRUE(third.store()->RecordReceiptKey("toy", Key()).ok());
    EXPECT_TRUE(AddTo(&third, again).ok());
  }
  EXPECT_TRUE(other_.store()->Mirror("people")->charges.empty());
  EXPECT_TRUE(other_.store()->Receipts("", v1::Receipt(), 10)->empty());
  EXPECT_TRUE(nobody_.Requests().empty());
}

// A file without the input of the second moment, which follows from the first.
TEST_F(AddedReleaseTest, OfTwoSecondMomentsIsFittedAsItsPayerFitsIt) {
  Trust();
  for (const std::uint32_t rows : {0u, 4u}) {
    SCOPED_TRACE(rows);
    const v1::Run paid = payer_.Train(2, rows, "aimed");
    ASSERT_EQ(paid.state(), v1::RUN_STATE_COMPLETED) << paid.error();
    Messages messages = Sent(paid.run_id(), &payer_);
    const auto added = AddTo(&other_, messages);
    ASSERT_TRUE(added.ok()) << added.status();
    EXPECT_EQ(other_.Await(added->run_id()).state(), v1::RUN_STATE_COMPLETED);
    EXPECT_EQ(other_.W(added->run_id()), payer_.W(paid.run_id()));
    EXPECT_EQ(other_.store()->ReadLearner(added->run_id())->memory,
              payer_.store()->ReadLearner(paid.run_id())->memory);
    // A refit of either has both releases too, and can be handed on.
    const std::string mine = payer_.Refit(paid.run_id(), 3)->run_id();
    const std::string theirs = other_.Refit(added->run_id(), 3)->run_id();
    payer_.Await(mine);
    other_.Await(theirs);
    EXPECT_EQ(other_.W(theirs), payer_.W(mine));
    EXPECT_EQ(Sent(theirs, &other_).size(), messages.size());
    // The second without the first: as if nothing had been taken out of v.
    const int of_first = rows == 0 ? 0 : 1;
    const auto first =
        std::find_if(messages.begin(), messages.end(),
                     [&, seen = 0](const v1::ReleaseReply& message) mutable {
                       return message.has_round() && seen++ == of_first;
                     });
    auto end = first + 1;
    while (end != messages.end() && !end->has_round()) ++end;
    messages.erase(first, end);
    EXPECT_EQ(Refused(messages), "release-missing");
  }
}

// Whoever paid may have asked for something else: the receipt is of what was
// asked for.
TEST_F(AddedReleaseTest, ASecondMomentOfOtherDirectionsOrScaleIsRefused) {
  Trust();
  const v1::Run paid = payer_.Train(2, 0, "aimed");
  Messages messages = Sent(paid.run_id(), &payer_);
  CarriedRoundsReader reader(1000);
  for (const v1::ReleaseReply& message : messages) {
    if (message.has_header() || message.has_items()) continue;
    ASSERT_TRUE(reader.Add(message).ok());
  }
  const CarriedRound second = reader.Take().at(1);
  const v1::Run& run = messages[0].header().run();
  const LearnerState state = *payer_.store()->ReadLearner(paid.run_id());
  const RoundInput asked = RequestOf(
      {state.memory.at(kAimDirections), state.memory.at(kAimNumbers)(0),
       state.memory.at(kAimNumbers)(1)},
      {0, 1, 2, 3, 4, 5}, 6);
  const auto refused_if = [&](const RoundInput& other) {
    const Digest digest = DigestOfRelease(
        {&run.specification().parameters(), &run.plan().stages(1), 40,
         other.rows, other.numbers, &other.w},
        second.parts);
    v1::Receipt receipt = second.receipt;
    receipt.set_release_sha256(digest.data(), digest.size());
    Sign(*curator_.key, &receipt);
    *RoundOf(&messages, 1)->mutable_receipt() = receipt;
    return ReasonCode(Taken(messages).status());
  };
  EXPECT_EQ(refused_if(asked), "");
  RoundInput other = asked;
  other.numbers[0] *= 2;
  EXPECT_EQ(refused_if(other), "release-differs");
  other = asked;
  other.w(0, 0) += 0.125;
  EXPECT_EQ(refused_if(other), "release-differs");
  other = asked;
  other.numbers.clear();
  EXPECT_EQ(refused_if(other), "release-differs");
}

// The round of its second moment was not kept as it came.
TEST_F(AddedReleaseTest, OfTwoSecondMomentsIsNotSentWithoutTheSecond) {
  const v1::Run paid = payer_.Train(2, 0, "aimed");
  RunRecord record = *payer_.store()->Get(paid.run_id());
  const LearnerState state = *payer_.store()->ReadLearner(paid.run_id());
  record.run.set_run_id(std::string(32, 'a'));
  NewRun kept{record, state, {.dataset = curator_.dataset()}};
  for (const v1::ReleaseReply& message : Sent(paid.run_id(), &payer_)) {
    if (message.has_round() && message.round().round() == 2) break;
    if (!message.has_header()) kept.facts.release.push_back(message);
  }
  ASSERT_TRUE(payer_.store()->Add(kept.record, kept.state, kept.facts).ok());
  EXPECT_EQ(
      ReasonCode(
          FindRelease(std::string(32, 'a'), false, payer_.store()).status()),
      "release-unsigned");
  EXPECT_TRUE(FindRelease(std::string(32, 'a'), true, payer_.store()).ok());
}

TEST_F(AddedReleaseTest, NeedsTheKeyThatTheAnalystHolds) {
  const Messages messages = Sent(payer_.Train(2).run_id(), &payer_);
  EXPECT_EQ(Refused(messages), "receipt-key-unknown");
  // The key in a refused release is not recorded.
  EXPECT_EQ(Refused(messages), "receipt-key-unknown");
  const SigningKey foreign = SigningKey::Generate();
  ASSERT_TRUE(other_.store()
                  ->GiveReceiptKey(std::string(foreign.public_key().begin(),
                                               foreign.public_key().end()))
                  .ok());
  EXPECT_EQ(Refused(messages), "receipt-key-differs");
  ASSERT_TRUE(other_.store()->GiveReceiptKey(Key()).ok());
  Messages forged = messages;
  Sign(foreign, RoundOf(&forged, 0)->mutable_receipt());
  EXPECT_EQ(Refused(forged), "receipt-key-differs");
  EXPECT_EQ(Refused(messages), "");
}

TEST_F(AddedReleaseTest, OfACuratorThatSignsNoReleasesProvesNothing) {
  Trust();
  curator_.sign_releases = false;
  const v1::Run paid = payer_.Train(2);
  EXPECT_EQ(
      ReasonCode(FindRelease(paid.run_id(), false, payer_.store()).status()),
      "release-unsigned");
  EXPECT_TRUE(FindRelease(paid.run_id(), true, payer_.store()).ok());
  curator_.sign_releases = true;
  Messages messages = Sent(payer_.Train(3).run_id(), &payer_);
  v1::Receipt& receipt = *RoundOf(&messages, 0)->mutable_receipt();
  receipt.clear_release_signature();
  EXPECT_EQ(Refused(messages), "receipt-invalid");
  receipt.clear_release_sha256();
  EXPECT_EQ(Refused(messages), "release-unsigned");
}

TEST_F(AddedReleaseTest, IsRefusedWhateverIsMadeUp) {
  Trust();
  const Messages messages = Sent(payer_.Train(2, 4).run_id(), &payer_);
  const Messages others = Sent(payer_.Train(3, 4).run_id(), &payer_);
  struct Lie {
    const char* code;
    std::function<void(Messages*)> tell;
  };
  const auto parameters = [](Messages* all) {
    return all->front()
        .mutable_header()
        ->mutable_run()
        ->mutable_specification()
        ->mutable_parameters();
  };
  const auto dataset = [](Messages* all) {
    return all->front().mutable_header()->mutable_dataset();
  };
  const Lie lies[] = {
      {"receipt-invalid",
       [](Messages* all) {
         all->front().mutable_header()->mutable_run()->set_run_id(
             std::string(32, '0'));
       }},
      {"release-differs", [&](Messages* all) { parameters(all)->set_rank(3); }},
      {"receipt-invalid",
       [&](Messages* all) { parameters(all)->set_epsilon(2); }},
      {"receipt-invalid",
       [&](Messages* all) { parameters(all)->set_share_of_mean(0.5); }},
      {"release-malformed",
       [&](Messages* all) { parameters(all)->set_mechanism("statistics"); }},
      {"release-malformed",
       [&](Messages* all) { parameters(all)->set_dataset("another"); }},
      {"release-differs", [&](Messages* all) { dataset(all)->set_users(41); }},
      {"receipt-invalid",
       [&](Messages* all) { dataset(all)->set_population("others"); }},
      {"adjacency-mismatch",
       [&](Messages* all) {
         dataset(all)->mutable_guarantee()->set_adjacency(
             v1::ADJACENCY_ADD_REMOVE_ONE);
       }},
      {"release-malformed",
       [&](Messages* all) { dataset(all)->set_features(5); }},
      {"release-malformed",
       [&](Messages* all) { dataset(all)->set_features(1ULL << 40); }},
      {"release-newer",
       [](Messages* all) { all->front().mutable_header()->set_version(2); }},
      {"release-malformed", [](Messages* all) { all->pop_back(); }},
      {"release-malformed", [](Messages* all) { all->push_back(all->back()); }},
      {"release-malformed", [](Messages* all) { all->erase(all->begin()); }},
      {"release-malformed",
       [](Messages* all) { all->insert(all->begin(), all->front()); }},
      {"release-missing", [](Messages* all) { all->resize(3); }},
      {"release-missing", [](Messages* all) { all->resize(1); }},
      {"release-differs",
       [](Messages* all) {
         auto& rows = *RoundOf(all, 1)->mutable_rows();
         rows.Set(rows.size() - 1, rows.Get(rows.size() - 1) == 5 ? 4 : 5);
       }},
      {"release-differs", [](Messages* all) { RoundOf(all, 1)->clear_rows(); }},
      {"items-malformed",
       [](Messages* all) {
         v1::ReleaseReply items;
         items.mutable_items()->add_items()->set_id("a name");
         all->insert(all->begin() + 1, items);
       }},
      {"release-differs",
       [](Messages* all) {
         auto& values = *(*all)[2].mutable_lattice()->mutable_values();
         values.Set(0, values.Get(0) + 1);
       }},
      {"receipt-invalid",
       [&](Messages* all) {
         *RoundOf(all, 0)->mutable_receipt() = others[1].round().receipt();
       }},
  };
  ASSERT_EQ(messages.size(), 5u);  // header, mean, chunk, G, chunk
  int number = 0;
  for (const Lie& lie : lies) {
    SCOPED_TRACE(number++);
    Messages told = messages;
    lie.tell(&told);
    const std::string code = Refused(told);
    EXPECT_EQ(code, lie.code);
  }
  EXPECT_TRUE(other_.store()->List()->empty());
  EXPECT_EQ(Refused(messages), "");
}

// Whatever byte is changed: refused, or the same numbers under the same names.
TEST_F(AddedReleaseTest, NoChangedByteChangesWhatIsFittedTo) {
  Trust();
  const v1::Run paid = payer_.Train(2, 4);
  const Messages messages = Sent(paid.run_id(), &payer_);
  const auto original =
      PaidMomentsOf(payer_.store()->Get(paid.run_id())->run,
                    *payer_.store()->ReadLearner(paid.run_id()));
  ASSERT_TRUE(original.ok());
  int refused = 0, same = 0;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const std::string bytes = messages[m].SerializeAsString();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      Messages told = messages;
      if (!told[m].ParseFromString(changed)) continue;
      const absl::StatusOr<NewRun> run = Taken(told);
      if (!run.ok()) {
        EXPECT_NE(ReasonCode(run.status()), "") << run.status();
        ++refused;
        continue;
      }
      ++same;
      EXPECT_EQ(run->record.run.run_id(), paid.run_id());
      EXPECT_EQ(run->record.population, "people");
      const auto taken = PaidMomentsOf(run->record.run, run->state);
      ASSERT_TRUE(taken.ok()) << taken.status();
      EXPECT_EQ(taken->moments.g, original->moments.g) << m << " " << i;
      EXPECT_EQ(taken->rows, original->rows);
      EXPECT_EQ(taken->mean, original->mean);
      EXPECT_EQ(taken->moments.stddev_off, original->moments.stddev_off);
      EXPECT_EQ(taken->moments.stddev_diagonal,
                original->moments.stddev_diagonal);
      EXPECT_EQ(taken->mean_stddev, original->mean_stddev);
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(same, 0);  // the plan in the header is not read, for one
}

TEST_F(AddedReleaseTest, AVoidGuaranteeCannotBeHidden) {
  Trust();
  curator_.forge = [this](RoundResult* result) {
    result->receipt->set_void_since(77);
    Sign(*curator_.key, &*result->receipt);
  };
  const Messages messages = Sent(payer_.Train(2).run_id(), &payer_);
  const auto added = AddTo(&other_, messages);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->void_since(), 77);
}

TEST_F(AddedReleaseTest, WhatTheCuratorDidNotSignIsNotUsed) {
  curator_.forge = [](RoundResult* result) { ++result->parts[0].lattice[0]; };
  const v1::Run run = payer_.Train(2);
  EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(run.error_code(), "release-differs");
  EXPECT_EQ(run.rounds_done(), 0u);
}

}  // namespace
}  // namespace dpnmf::analyst
