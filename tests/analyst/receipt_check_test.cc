// Which key signs the curator's receipts, and what a receipt must say before
// its release is used.
#include "analyst/curators/receipt_check.h"

#include <string>

#include "analyst/planning/planner.h"
#include "analyst/runs/learner.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/receipt.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

constexpr int kReceiptFeatures = 6, kRounds = 3;

std::string BytesOf(const SigningKey& key) {
  return std::string(key.public_key().begin(), key.public_key().end());
}

class ReceiptKeyTest : public testing::Test {
 protected:
  ReceiptKeyTest() { Reopen(); }
  void Reopen() {
    store_.reset();
    store_ = RunStore::Open(directory_.path()).value();
  }

  // The run from its start to its end.
  v1::Run Train(const std::string& run_id) {
    RunRecord record;
    record.run.set_run_id(run_id);
    *record.run.mutable_specification() =
        PlanWithCurator(FakeSpecification(2, kRounds), &curator_)
            ->reply.specification();
    record.run.set_state(v1::RUN_STATE_QUEUED);
    record.population = "people";
    LearnerState state;
    state.w = FirstW();
    EXPECT_TRUE(store_->Add(record, state).ok());
    LearnerSettings settings;
    settings.first_pause = settings.longest_pause =
        std::chrono::milliseconds(0);
    RunControl control;
    Learner(run_id, store_.get(), &curator_, &control, settings, [] {}).Run();
    return store_->Get(run_id)->run;
  }

  static Eigen::MatrixXd FirstW() {
    return RandomDictionary(kReceiptFeatures, 2, 7);
  }

  // A run whose rounds come with what `forge` makes of them: it fails with
  // `code`, none of their bytes were used, and nothing stays reserved.
  void ExpectUnused(const std::string& code,
                    std::function<void(RoundResult*)> forge) {
    curator_.forge = std::move(forge);
    const std::string run_id = "forged " + std::to_string(++forged_);
    const v1::Run run = Train(run_id);
    EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
    EXPECT_EQ(run.error_code(), code);
    EXPECT_EQ(run.rounds_done(), 0u);
    EXPECT_EQ(store_->ReadModel(run_id)->w, FirstW());
    EXPECT_EQ(store_->Receipts("", v1::Receipt(), 10)->size(), 0u);
    EXPECT_EQ(curator_.reserved(), MuSquared());
  }

  TemporaryDirectory directory_;
  FakeCurator curator_{FakeData(kReceiptFeatures, 40)};
  std::unique_ptr<RunStore> store_;
  int forged_ = 0;
};

TEST_F(ReceiptKeyTest, IsRecordedAtTheFirstReceiptAndOutlivesTheProcess) {
  EXPECT_EQ(*store_->ReceiptKeyOf("toy"), std::nullopt);
  EXPECT_EQ(Train("first").state(), v1::RUN_STATE_COMPLETED);
  Reopen();
  EXPECT_EQ(*store_->ReceiptKeyOf("toy"), BytesOf(*curator_.key));
  EXPECT_EQ(*store_->ReceiptKeyOf("another"), std::nullopt);
  EXPECT_EQ(Train("second").state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(ReceiptKeyTest, AnotherOneIsRefusedBeforeAnythingIsCharged) {
  Train("first");
  curator_.key.emplace(SigningKey::Generate());
  const v1::Run run = Train("second");
  EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(run.error_code(), "receipt-key-changed");
  EXPECT_NE(run.error().find("--receipt-key"), std::string::npos);
  EXPECT_EQ(curator_.charges(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

// A curator that announces the recorded key and signs with another.
TEST_F(ReceiptKeyTest, AnotherOnesSignatureIsRefusedWhateverWasAnnounced) {
  ASSERT_EQ(*store_->RecordReceiptKey("toy", BytesOf(*curator_.key)),
            BytesOf(*curator_.key));
  const SigningKey other = SigningKey::Generate();
  ExpectUnused("receipt-key-changed", [&other](RoundResult* result) {
    Sign(other, &*result->receipt);
  });
}

TEST_F(ReceiptKeyTest, TheOperatorsWordTakesThePlaceOfWhatWasRecorded) {
  Train("first");
  curator_.key.emplace(SigningKey::Generate());
  EXPECT_TRUE(*store_->GiveReceiptKey(BytesOf(*curator_.key)));
  EXPECT_FALSE(*store_->GiveReceiptKey(BytesOf(*curator_.key)));
  EXPECT_EQ(Train("second").state(), v1::RUN_STATE_COMPLETED);
  Reopen();
  EXPECT_EQ(*store_->ReceiptKeyOf("toy"), BytesOf(*curator_.key));
  EXPECT_EQ(*store_->ReceiptKeyOf("another"), BytesOf(*curator_.key));
  // It holds for data sets that were never used, too: nothing else is recorded.
  const std::string other = BytesOf(SigningKey::Generate());
  EXPECT_EQ(*store_->RecordReceiptKey("another", other),
            BytesOf(*curator_.key));
}

TEST_F(ReceiptKeyTest, AGivenKeyIsHeldAgainstTheVeryFirstReceipt) {
  ASSERT_TRUE(*store_->GiveReceiptKey(BytesOf(SigningKey::Generate())));
  EXPECT_EQ(Train("first").error_code(), "receipt-key-changed");
  EXPECT_EQ(curator_.charges(), 0u);
}

TEST_F(ReceiptKeyTest, NothingIsUsedWithoutAReceipt) {
  ExpectUnused("receipt-missing",
               [](RoundResult* result) { result->receipt.reset(); });
}

TEST_F(ReceiptKeyTest, NothingIsUsedThatIsNotSigned) {
  ExpectUnused("receipt-invalid", [](RoundResult* result) {
    std::string& signature = *result->receipt->mutable_signature();
    signature[0] = static_cast<char>(signature[0] ^ 1);
  });
}

// Well signed, and for something else: each field that a round knows.
TEST_F(ReceiptKeyTest, NothingIsUsedByAReceiptForSomethingElse) {
  const std::function<void(v1::Receipt*)> changes[] = {
      [](v1::Receipt* r) { r->set_run_id(std::string(32, 'f')); },
      [](v1::Receipt* r) { r->set_dataset("another"); },
      [](v1::Receipt* r) { r->set_round(2); },
      [](v1::Receipt* r) { r->set_row_hash(std::string(32, 'x')); },
      [](v1::Receipt* r) { r->mutable_charged()->set_units("1"); },
      [](v1::Receipt* r) { r->set_population("strangers"); },
  };
  for (const auto& change : changes) {
    SCOPED_TRACE(&change - changes);
    ExpectUnused("receipt-invalid", [&](RoundResult* result) {
      change(&*result->receipt);
      Sign(*curator_.key, &*result->receipt);
    });
  }
}

TEST_F(ReceiptKeyTest, ARunThatIsCutShortByANewKeyAsksForNothingMore) {
  curator_.hook = [this](Moment moment, const std::string&,
                         std::uint32_t round) -> absl::Status {
    if (moment != Moment::kBeforeCharge || round != 2) return absl::OkStatus();
    curator_.hook = nullptr;  // once: the curator restarts with another key
    curator_.key.emplace(SigningKey::Generate());
    return Refusal(absl::StatusCode::kUnavailable, "unreachable", "Gone.");
  };
  const v1::Run run = Train("first");
  EXPECT_EQ(run.error_code(), "receipt-key-changed");
  EXPECT_EQ(run.rounds_done(), 1u);
  EXPECT_EQ(curator_.charges(), 1u);
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

}  // namespace
}  // namespace dpnmf::analyst
