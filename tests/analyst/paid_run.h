// Runs of moments at the fake curator, for tests of what follows from them.
#ifndef DPNMF_TESTS_ANALYST_PAID_RUN_H_
#define DPNMF_TESTS_ANALYST_PAID_RUN_H_

#include <memory>
#include <string>
#include <utility>

#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {

inline constexpr char kPaidClient[] = "dns:alice.client";

// An analyst's state directory, store and runs.
class PaidRuns {
 public:
  explicit PaidRuns(CuratorConnection* curator, int max_running = 1)
      : curator_(curator) {
    Restart(max_running);
  }

  // Restarts as after a crash: the next manager knows only the store.
  void Restart(int max_running = 1, std::uint64_t run_memory = 0) {
    manager_.reset();
    store_.reset();
    store_ = *RunStore::Open(directory_.path());
    RunManager::Settings settings;
    settings.max_running = max_running;
    settings.run_memory = run_memory;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    manager_ = *RunManager::Create(store_.get(), curator_, settings);
  }

  RunStore* store() { return store_.get(); }
  RunManager* manager() { return manager_.get(); }

  // A run of moments (or aimed) on `rows` features (0: all), to its end.
  v1::Run Train(std::uint32_t rank, std::uint32_t rows = 0,
                const std::string& mechanism = "moments") {
    const bool is_aimed = mechanism == "aimed";
    v1::RunSpecification specification =
        FakeSpecification(rank,
                          is_aimed                              ? 0
                          : rows == 0 || mechanism != "moments" ? 1
                                                                : 2,
                          mechanism);
    specification.mutable_parameters()->set_moment_rows(rows);
    const auto planned = PlanWithCurator(specification, curator_);
    EXPECT_TRUE(planned.ok()) << planned.status();
    const auto run = manager_->Start(*planned, std::nullopt, kPaidClient);
    EXPECT_TRUE(run.ok()) << run.status();
    return Await(run->run_id());
  }

  v1::Run Await(const std::string& run_id) {
    EXPECT_TRUE(manager_
                    ->Watch(
                        run_id, 0, [](const v1::RunEvent&) { return true; },
                        [] { return false; })
                    .ok());
    return *manager_->Get(run_id);
  }

  absl::StatusOr<v1::Run> Refit(const std::string& run_id, std::uint32_t rank,
                                std::uint64_t seed = 7,
                                const std::string& client = kPaidClient,
                                const Eigen::MatrixXd* w0 = nullptr) {
    v1::Refit refit;
    refit.set_run_id(run_id);
    refit.set_rank(rank);
    refit.mutable_learner()->set_seed(seed);
    if (w0 != nullptr)
      refit.mutable_learner()->set_initialisation(v1::INITIALISATION_PUBLIC);
    auto child = manager_->PrepareRefit(refit);
    if (!child.ok()) return child.status();
    return manager_->Refit(
        *std::move(child),
        w0 == nullptr ? std::nullopt : std::optional<Eigen::MatrixXd>(*w0),
        client);
  }

  Eigen::MatrixXd W(const std::string& run_id) {
    return store_->ReadModel(run_id)->w;
  }

 private:
  CuratorConnection* const curator_;
  TemporaryDirectory directory_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RunManager> manager_;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_TESTS_ANALYST_PAID_RUN_H_
