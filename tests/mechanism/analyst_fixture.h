// The curator of CuratorFixture and an analyst that runs at it, in one process.
#ifndef DPNMF_TESTS_MECHANISM_ANALYST_FIXTURE_H_
#define DPNMF_TESTS_MECHANISM_ANALYST_FIXTURE_H_

#include <chrono>
#include <memory>
#include <string>

#include "analyst/curators/curator_client.h"
#include "analyst/runs/run_manager.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf {

class AnalystFixture : public curator::CuratorFixture {
 protected:
  AnalystFixture() {
    connection_ = analyst::ConnectCurator(server_->InProcessChannel({}),
                                          std::chrono::seconds(60));
    store_ = analyst::RunStore::Open(directory_ + "/analyst").value();
    analyst::RunManager::Settings settings;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    manager_ =
        analyst::RunManager::Create(store_.get(), connection_.get(), settings)
            .value();
  }
  ~AnalystFixture() override {
    manager_.reset();
    connection_.reset();
  }

  // The run at its end.
  v1::Run Await(const std::string& id) {
    EXPECT_TRUE(manager_
                    ->Watch(
                        id, 0, [](const v1::RunEvent&) { return true; },
                        [] { return false; })
                    .ok());
    return manager_->Get(id).value();
  }

  std::unique_ptr<analyst::CuratorConnection> connection_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
};

}  // namespace dpnmf

#endif  // DPNMF_TESTS_MECHANISM_ANALYST_FIXTURE_H_
