// Models of a release that is paid for.
#include "analyst/runs/refit.h"

#include <optional>
#include <string>
#include <vector>

#include "analyst/planning/budget.h"
#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/learning/standard_errors.h"
#include "common/moments/fit_law.h"
#include "common/nmf/dictionary.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"
#include "tests/analyst/paid_run.h"

namespace dpnmf::analyst {
namespace {

class RefitTest : public testing::Test {
 protected:
  // Every later call is answered as by a curator that is down.
  void StopCurator() {
    curator_.hook = [this](Moment, const std::string&, std::uint32_t) {
      ++asked_;
      return Refusal(absl::StatusCode::kUnavailable, "curator-unreachable",
                     "Down.");
    };
  }

  FakeCurator curator_{FakeData(6, 40)};
  int asked_ = 0;  // of a curator that is down
  PaidRuns runs_{&curator_};
};

TEST_F(RefitTest, IsAChildThatCostsNothingAndAsksTheCuratorForNothing) {
  for (const std::uint32_t rows : {0u, 4u}) {
    SCOPED_TRACE(rows);
    curator_.hook = nullptr;
    const v1::Run parent = runs_.Train(2, rows);
    ASSERT_EQ(parent.state(), v1::RUN_STATE_COMPLETED) << parent.error();
    const auto mirror = runs_.store()->Mirror("people");
    const auto receipts = runs_.store()->Receipts("", v1::Receipt(), 100);
    const std::size_t charges = curator_.charges();
    const std::size_t requests = curator_.Requests().size();
    StopCurator();
    const auto started = runs_.Refit(parent.run_id(), 3);
    ASSERT_TRUE(started.ok()) << started.status();
    const v1::Run child = runs_.Await(started->run_id());
    EXPECT_EQ(child.state(), v1::RUN_STATE_COMPLETED) << child.error();
    EXPECT_EQ(child.parent(), parent.run_id());
    EXPECT_EQ(child.specification().parameters().rank(), 3u);
    EXPECT_EQ(child.charged().units(), "0");
    EXPECT_EQ(child.plan().cost().units(), "");
    EXPECT_EQ(child.rounds_done(), rows == 0 ? 1u : 2u);
    EXPECT_EQ(runs_.W(child.run_id()).rows(), 6);
    EXPECT_EQ(runs_.W(child.run_id()).cols(), 3);
    EXPECT_GT(runs_.W(child.run_id()).norm(), 0);
    // Not one byte of either ledger.
    const auto after = runs_.store()->Mirror("people");
    ASSERT_EQ(after->charges.size(), mirror->charges.size());
    EXPECT_EQ(after->head, mirror->head);
    EXPECT_EQ(after->row_count, mirror->row_count);
    EXPECT_EQ(runs_.store()->Receipts("", v1::Receipt(), 100)->size(),
              receipts->size());
    EXPECT_EQ(curator_.charges(), charges);
    EXPECT_EQ(curator_.Requests().size(), requests);
    EXPECT_EQ(asked_, 0);
    EXPECT_TRUE(ReadBudget("toy", &curator_, runs_.store())->agree());
  }
}

TEST_F(RefitTest, OfTheParentsRankAndSeedHasTheParentsBits) {
  for (const std::uint32_t rows : {0u, 4u}) {
    const v1::Run parent = runs_.Train(2, rows);
    const auto child = runs_.Refit(parent.run_id(), 0);
    ASSERT_TRUE(child.ok()) << child.status();
    runs_.Await(child->run_id());
    EXPECT_EQ(runs_.W(child->run_id()), runs_.W(parent.run_id()));
    const auto other = runs_.Refit(parent.run_id(), 0, /*seed=*/8);
    runs_.Await(other->run_id());
    EXPECT_NE(runs_.W(other->run_id()), runs_.W(parent.run_id()));
  }
}

TEST_F(RefitTest, TheSameRequestOfAClientIsTheSameRun) {
  const std::string parent = runs_.Train(2).run_id();
  runs_.Restart(/*max_running=*/0);
  const std::string first = runs_.Refit(parent, 3)->run_id();
  EXPECT_EQ(runs_.Refit(parent, 3)->run_id(), first);
  runs_.Restart(/*max_running=*/0);
  EXPECT_EQ(runs_.Refit(parent, 3)->run_id(), first);
  EXPECT_NE(runs_.Refit(parent, 4)->run_id(), first);
  EXPECT_NE(runs_.Refit(parent, 3, 8)->run_id(), first);
  EXPECT_NE(runs_.Refit(parent, 3, 7, "dns:bob.client")->run_id(), first);
  const Eigen::MatrixXd start = RandomDictionary(6, 3, 1);
  const std::string begun =
      runs_.Refit(parent, 3, 7, kPaidClient, &start)->run_id();
  EXPECT_NE(begun, first);
  EXPECT_EQ(runs_.Refit(parent, 3, 7, kPaidClient, &start)->run_id(), begun);
  // One that did not come to its end is made again.
  ASSERT_TRUE(runs_.manager()->Cancel(first).ok());
  runs_.Restart();
  EXPECT_EQ(runs_.Await(first).state(), v1::RUN_STATE_CANCELLED);
  const std::string again = runs_.Refit(parent, 3)->run_id();
  EXPECT_NE(again, first);
  EXPECT_EQ(runs_.Await(again).state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(runs_.Refit(parent, 3)->run_id(), again);
  ASSERT_TRUE(runs_.manager()->Forget(again, kPaidClient).ok());
  EXPECT_NE(runs_.Refit(parent, 3)->run_id(), again);
}

TEST_F(RefitTest, GoesOnAfterACrash) {
  const std::string parent = runs_.Train(2).run_id();
  const std::string whole = runs_.Refit(parent, 3)->run_id();
  runs_.Await(whole);
  runs_.Restart(/*max_running=*/0);
  const std::string queued =
      runs_.Refit(parent, 3, 7, "dns:bob.client")->run_id();
  const std::string running =
      runs_.Refit(parent, 3, 7, "dns:carol.client")->run_id();
  const std::string ending = runs_.Refit(parent, 3, 9)->run_id();
  StateChange change;
  change.state = v1::RUN_STATE_RUNNING;
  ASSERT_TRUE(runs_.store()->ChangeState(running, change).ok());
  change.state = v1::RUN_STATE_CANCELLING;
  ASSERT_TRUE(runs_.store()->ChangeState(ending, change).ok());
  StopCurator();
  runs_.Restart();
  for (const std::string& run_id : {queued, running}) {
    EXPECT_EQ(runs_.Await(run_id).state(), v1::RUN_STATE_COMPLETED);
    EXPECT_EQ(runs_.W(run_id), runs_.W(whole));
  }
  EXPECT_EQ(runs_.Await(ending).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(asked_, 0);
}

// The control is used at the moment when the fit is about to begin.
TEST_F(RefitTest, IsBrokenOffByCancelAndByShutdown) {
  const std::string parent = runs_.Train(2).run_id();
  runs_.Restart(/*max_running=*/0);
  const std::string run_id = runs_.Refit(parent, 3)->run_id();
  {
    RunControl control;
    FitStoredRun(run_id, runs_.store(), &control, {}, [&] { control.Stop(); });
    EXPECT_EQ(runs_.store()->Get(run_id)->run.state(), v1::RUN_STATE_RUNNING);
    EXPECT_EQ(runs_.store()->ReadModel(run_id)->rounds_done, 0u);
  }
  RunControl control;
  control.Cancel();
  FitStoredRun(run_id, runs_.store(), &control, {}, [] {});
  EXPECT_EQ(runs_.store()->Get(run_id)->run.state(), v1::RUN_STATE_CANCELLED);
  const std::string other = runs_.Refit(parent, 4)->run_id();
  RunControl at_work;
  FitStoredRun(other, runs_.store(), &at_work, {}, [&] { at_work.Cancel(); });
  EXPECT_EQ(runs_.store()->Get(other)->run.state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(RefitTest, TellsHowFarTheFitIs) {
  const std::string parent = runs_.Train(2).run_id();
  runs_.Restart(/*max_running=*/0);
  const std::string run_id = runs_.Refit(parent, 3)->run_id();
  RunControl control;
  std::vector<double> told;
  FitStoredRun(run_id, runs_.store(), &control, {},
               [&] { told.push_back(control.learning()); });
  ASSERT_GE(told.size(), 5u);
  EXPECT_LT(told.front(), 0) << "it begins";
  EXPECT_LT(told.back(), 0) << "it has ended";
  for (std::size_t i = 1; i + 1 < told.size(); ++i) {
    EXPECT_GT(told[i], told[i - 1]) << i;
    EXPECT_GE(told[i], 0);
    EXPECT_LT(told[i], 1);
  }
}

// A fit may be over before the watcher looks, so several are watched.
TEST_F(RefitTest, WatchersHearHowFarTheFitIsAndNothingOfItIsKept) {
  const std::string parent = runs_.Train(2).run_id();
  int heard = 0;
  for (std::uint64_t seed = 1; seed <= 200 && heard == 0; ++seed) {
    const std::string run_id = runs_.Refit(parent, 5, seed)->run_id();
    std::uint64_t cursor = 0;
    ASSERT_TRUE(runs_.manager()
                    ->Watch(
                        run_id, 0,
                        [&](const v1::RunEvent& event) {
                          if (event.has_learning()) {
                            ++heard;
                            EXPECT_EQ(event.cursor(), cursor);
                            EXPECT_EQ(event.state(), v1::RUN_STATE_RUNNING);
                            EXPECT_EQ(event.charged().units(), "");
                          }
                          cursor = event.cursor();
                          return true;
                        },
                        [] { return false; })
                    .ok());
    const auto kept = runs_.store()->Events(run_id, 0, 100);
    ASSERT_TRUE(kept.ok()) << kept.status();
    for (const v1::RunEvent& event : *kept) EXPECT_FALSE(event.has_learning());
  }
  EXPECT_GT(heard, 0);
}

TEST_F(RefitTest, AParentThatWasEndedAfterItsReleaseCameHasOne) {
  // Broken off while it learned: the release is kept, W is not learned.
  curator_.hook = [&](Moment moment, const std::string& run_id, std::uint32_t) {
    if (moment == Moment::kAfterCharge) {
      EXPECT_TRUE(runs_.manager()->Cancel(run_id).ok());
    }
    return absl::OkStatus();
  };
  const v1::Run parent = runs_.Train(2);
  ASSERT_EQ(parent.state(), v1::RUN_STATE_CANCELLED);
  const auto child = runs_.Refit(parent.run_id(), 3);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(runs_.Await(child->run_id()).state(), v1::RUN_STATE_COMPLETED);
  EXPECT_GT(runs_.store()->ReadModel(child->run_id())->rounds_done, 0u);
}

TEST_F(RefitTest, ChildrenOutliveTheirParentAndAreRefittedThemselves) {
  curator_.named_features = true;
  curator_.items = [](std::uint64_t first) {
    v1::ListItemsReply page;
    page.set_first(first);
    for (int i = 0; i < 6; ++i)
      page.add_items()->set_id("word " + std::to_string(i));
    return page;
  };
  const std::string parent = runs_.Train(2, 4).run_id();
  ASSERT_EQ(StoredNames(parent, runs_.store()).size(), 6u);
  const std::string child = runs_.Refit(parent, 3)->run_id();
  runs_.Await(child);
  ASSERT_TRUE(runs_.manager()->Forget(parent, kPaidClient).ok());
  EXPECT_EQ(ReasonCode(runs_.Refit(parent, 3).status()), "run-unknown");
  EXPECT_EQ(StoredNames(child, runs_.store()).size(), 6u);
  const auto grandchild = runs_.Refit(child, 5);
  ASSERT_TRUE(grandchild.ok()) << grandchild.status();
  EXPECT_EQ(grandchild->parent(), parent);
  EXPECT_EQ(runs_.Await(grandchild->run_id()).state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(RefitTest, RunsSayWhatTheirPartsExplain) {
  const v1::Run parent = runs_.Train(2);
  ASSERT_TRUE(parent.has_explained());
  EXPECT_GT(parent.explained(), 0);
  EXPECT_LE(parent.explained(), 1);
  const v1::Run child = runs_.Await(runs_.Refit(parent.run_id(), 5)->run_id());
  ASSERT_TRUE(child.has_explained());
  EXPECT_GT(child.explained(), parent.explained());  // with more parts
  const v1::Run rounds = runs_.Train(2, 0, "statistics");
  EXPECT_FALSE(rounds.has_explained());
}

TEST_F(RefitTest, IsRefusedWhereThereIsNothingToFitOrTheRequestIsNone) {
  const std::string other = runs_.Train(2, 0, "statistics").run_id();
  EXPECT_EQ(ReasonCode(runs_.Refit(other, 3).status()), "release-missing");
  EXPECT_EQ(ReasonCode(runs_.Refit("none", 3).status()), "run-unknown");
  const std::string parent = runs_.Train(2).run_id();
  EXPECT_EQ(ReasonCode(runs_.Refit(parent, 4097).status()),
            "rank-out-of-range");
  const auto start_refused = [&](const Eigen::MatrixXd& start) {
    return ReasonCode(runs_.Refit(parent, 3, 7, kPaidClient, &start).status());
  };
  EXPECT_EQ(start_refused(RandomDictionary(6, 2, 1)), "matrix-shape");
  EXPECT_EQ(start_refused(RandomDictionary(5, 3, 1)), "matrix-shape");
  EXPECT_EQ(start_refused(Eigen::MatrixXd::Constant(6, 3, -1)),
            "dictionary-negative");
  v1::Refit refit;
  refit.set_run_id(parent);
  refit.mutable_learner()->set_initialisation(v1::INITIALISATION_PUBLIC);
  EXPECT_EQ(ReasonCode(runs_.manager()
                           ->Refit(*runs_.manager()->PrepareRefit(refit),
                                   std::nullopt, kPaidClient)
                           .status()),
            "dictionary-missing");
  runs_.Restart(/*max_running=*/0, /*run_memory=*/1);
  EXPECT_EQ(ReasonCode(runs_.Refit(parent, 3).status()), "learning-too-large");
}

TEST_F(RefitTest, AVoidGuaranteeIsInherited) {
  const std::string parent = runs_.Train(2).run_id();
  RunRecord record = *runs_.store()->Get(parent);
  record.guarantee.set_void_since(123);
  const auto child =
      ChildOf(record, *runs_.store()->ReadLearner(parent), v1::Refit());
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->record.guarantee.void_since(), 123);
}

TEST_F(RefitTest, ItsStandardErrorsAreThoseOfTheRelease) {
  const std::string parent = runs_.Train(2).run_id();
  const v1::Run child = runs_.Await(runs_.Refit(parent, 3)->run_id());
  const auto errors = StandardErrors(
      child, *runs_.store()->ReadLearner(child.run_id()), [] { return false; });
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->cols(), 3);
}

// A request by id is answered once, whatever became of its run.
TEST_F(RefitTest, AnotherLawIsAnotherChildOfTheSameRelease) {
  const v1::Run parent = runs_.Train(2);
  StopCurator();
  const auto refit = [&](const std::string& id, v1::Loss loss,
                         std::optional<double> sparseness) {
    v1::Refit request;
    request.set_run_id(id);
    request.mutable_learner()->set_seed(7);
    request.mutable_learner()->set_loss(loss);
    if (sparseness.has_value())
      request.mutable_learner()->set_sparseness(*sparseness);
    auto child = runs_.manager()->PrepareRefit(request);
    if (!child.ok()) return absl::StatusOr<v1::Run>(child.status());
    return runs_.manager()->Refit(*std::move(child), std::nullopt, kPaidClient);
  };
  const auto w_of = [&](const absl::StatusOr<v1::Run>& run) {
    EXPECT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(runs_.Await(run->run_id()).state(), v1::RUN_STATE_COMPLETED);
    return runs_.W(run->run_id());
  };
  const auto plain = refit(parent.run_id(), v1::LOSS_UNSPECIFIED, {});
  const auto squared = refit(parent.run_id(), v1::LOSS_SQUARED, {});
  const auto divergent = refit(parent.run_id(), v1::LOSS_KL, {});
  const auto sparse = refit(parent.run_id(), v1::LOSS_UNSPECIFIED, 0.6);
  // The same request, by whatever name the default has.
  EXPECT_EQ(plain->run_id(), squared->run_id());
  const Eigen::MatrixXd w = w_of(divergent);
  EXPECT_NE(w, w_of(plain));
  EXPECT_GT(w.minCoeff(), 0);
  const Eigen::MatrixXd sparse_w = w_of(sparse);
  for (const auto part : sparse_w.colwise())
    EXPECT_GE(SparsenessOf(part), 0.6 - 1e-4);
  // A child of a child has its law unless another is asked for.
  EXPECT_EQ(refit(divergent->run_id(), v1::LOSS_UNSPECIFIED, {})->run_id(),
            divergent->run_id());
  EXPECT_EQ(refit(divergent->run_id(), v1::LOSS_SQUARED, {})->run_id(),
            plain->run_id());
  EXPECT_EQ(refit(sparse->run_id(), v1::LOSS_KL, {})->run_id(),
            divergent->run_id());
  EXPECT_EQ(ReasonCode(refit(sparse->run_id(), v1::LOSS_KL, 0.5).status()),
            "loss-sparse");
  EXPECT_EQ(
      ReasonCode(refit(parent.run_id(), static_cast<v1::Loss>(9), {}).status()),
      "loss-unknown");
  EXPECT_EQ(asked_, 0);
}

TEST_F(RefitTest, ARequestByIdHasOneRun) {
  const auto start = [&](const std::string& id, const std::string& digest,
                         const std::string& client) {
    return runs_.manager()->Start(
        *PlanWithCurator(FakeSpecification(2, 1, "moments"), &curator_),
        std::nullopt, client, ClientRequest{"id:" + id, digest});
  };
  const auto run = start("a", "1", kPaidClient);
  ASSERT_TRUE(run.ok()) << run.status();
  runs_.Await(run->run_id());
  const std::size_t charges = curator_.charges();
  EXPECT_EQ(start("a", "1", kPaidClient)->run_id(), run->run_id());
  runs_.Restart();
  EXPECT_EQ(start("a", "1", kPaidClient)->run_id(), run->run_id());
  EXPECT_EQ(ReasonCode(start("a", "2", kPaidClient).status()),
            "request-differs");
  EXPECT_EQ(curator_.charges(), charges);
  StopCurator();
  const auto found = runs_.manager()->RunOf({"id:a", "1"}, kPaidClient);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->run_id(), run->run_id());
  EXPECT_EQ(*runs_.manager()->RunOf({"id:b", "1"}, kPaidClient), std::nullopt);
  EXPECT_EQ(*runs_.manager()->RunOf({"id:a", "1"}, "dns:bob"), std::nullopt);
  // A request that was charged is not charged again after its run is forgotten.
  ASSERT_TRUE(runs_.manager()->Forget(run->run_id(), kPaidClient).ok());
  EXPECT_EQ(
      ReasonCode(runs_.manager()->RunOf({"id:a", "1"}, kPaidClient).status()),
      "request-forgotten");
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace dpnmf::analyst
