// A curator of a federation whose sums are made in ranks.
#include <filesystem>
#include <fstream>

#include "common/nmf/dictionary.h"
#include "curator/data/description.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/federation/hospitals.h"

namespace dpnmf::curator {
namespace {

class FederatedRanksTest : public HospitalsTest {
 protected:
  FederatedRanksTest() {
    const std::string directory = DatasetDirectory(data_dir_, "a");
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/dataset.json")
        << ToJson({DescriptionOfPeople("a", kSizes[0]), Digest{}});
  }

  // A job that answers every round with the sums of `round`.
  std::unique_ptr<RankJob> StartJob(const StagePlan& stage) {
    std::ofstream file(data_dir_ + "/answer", std::ios::binary);
    const auto write = [&](std::uint64_t word) {
      file.write(reinterpret_cast<const char*>(&word), sizeof word);
    };
    write(kSizes[0]);
    for (const PartPlan& part : stage.parts) {
      const auto entries = EntryCount(part.rows, part.columns, part.symmetric);
      for (std::uint64_t i = 0; i < entries; ++i) write(0);
    }
    file.close();
    RankJobOptions options;
    options.ranks = 2;
    options.mpi_run = {
        "/usr/bin/python3",
        std::string(DPNMF_SOURCE_DIR) + "/tests/curator/ranks/lying_job.py",
        "right"};
    options.program = "dpnmf-ranks";
    options.data_dir = data_dir_;
    return RankJob::Start(options).value();
  }

  // For each round that the job was asked for: the name of the run's H, then
  // the names that are not needed any more.
  std::vector<std::string> Asked() const {
    std::ifstream file(data_dir_ + "/commands");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // Sessions use the job to their end.
  void TearDown() override {
    sessions_.clear();
    HospitalsTest::TearDown();
  }

  std::unique_ptr<RankJob> job_;
  const Scratch scratch_;
  const std::string data_dir_ = scratch_.path();
  const RoundInput w_ = RandomDictionary(kRows, 3, 1);
};

// H at the ranks has moved, and what was released has not.
TEST_F(FederatedRanksTest, AFailedRoundBeginsHAnewAtTheRanks) {
  OpenAll(FederatedRun("statistics"));
  job_ = StartJob(sessions_[0]->StageOf(1));
  SessionContext context = at(0).Context();
  context.ranks = job_.get();
  sessions_[0] = std::make_unique<Session>(
      context, std::vector<std::string>{"dns:analyst"});
  ASSERT_TRUE(sessions_[0]->Open(kRunId, FederatedRun("statistics")).ok());

  const auto first = OfferAll(1, w_);
  for (const auto& session : sessions_)
    ASSERT_TRUE(session->Contribute(1, w_, first).ok());
  EXPECT_EQ(Asked(), (std::vector<std::string>{"1"}));

  const auto second = OfferAll(2, w_);
  const std::string store = at(0).Releases();
  std::filesystem::rename(store, store + ".away");
  EXPECT_EQ(ReasonCode(sessions_[0]->Contribute(2, w_, second).status()),
            "storage-failed");
  std::filesystem::rename(store + ".away", store);
  const auto again = sessions_[0]->Contribute(2, w_, second);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Asked(), (std::vector<std::string>{"1", "1", "2 1"}));
}

}  // namespace
}  // namespace dpnmf::curator
