// The curator's end, against jobs that lie, die and keep silent.
#include "curator/ranks/rank_job.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <thread>

#include "common/base/error.h"
#include "curator/ranks/rank_answer.h"
#include "tests/common/base/failing_allocation.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/ranks/rank_fixtures.h"

namespace dpnmf::curator {
namespace {

class RankJobTest : public testing::Test {
 protected:
  void SetUp() override {
    ImportPeopleOf(scratch_, data_dir_, "d", 40, 5, false, std::nullopt);
    auto data = Dataset::Open(DatasetDirectory(data_dir_, "d"));
    ASSERT_TRUE(data.ok());
    data_ = *std::move(data);
    run_ = RunOf(*data_, "statistics", false);
    const auto sums = InOneProcess(*data_)(run_, run_.rounds[0]);
    ASSERT_TRUE(sums.ok());
    right_ = *sums;
    std::ofstream file(data_dir_ + "/answer", std::ios::binary);
    const auto write = [&](std::uint64_t word) {
      file.write(reinterpret_cast<const char*>(&word), sizeof word);
    };
    write(40);
    for (const auto& part : right_.parts)
      for (const std::int64_t sum : part)
        write(static_cast<std::uint64_t>(sum));
  }

  absl::StatusOr<std::unique_ptr<RankJob>> Start(const std::string& mode) {
    RankJobOptions options;
    options.ranks = 2;
    options.mpi_run = {
        "/usr/bin/python3",
        std::string(DPNMF_SOURCE_DIR) + "/tests/curator/ranks/lying_job.py",
        mode};
    options.program = "dpnmf-ranks";
    options.data_dir = data_dir_;
    // A job that keeps silent is not waited for long; one that answers may take
    // its time on a busy machine.
    const bool silent =
        mode == "silent" || mode == "short" || mode == "child-stays";
    options.deadline = options.slack =
        std::chrono::milliseconds(silent ? 200 : 30'000);
    return RankJob::Start(options);
  }

  absl::StatusOr<RoundSums> Ask(RankJob* job) {
    return job->Sums(*run_.rounds[0].kind, run_.rounds[0].input,
                     {.data = *data_,
                      .parameters = run_.parameters,
                      .plan = run_.plan,
                      .execution = {}},
                     run_.rounds[0].parts, &h_);
  }

  // Process numbers of the jobs, in their order.
  std::vector<pid_t> Starts() const { return PidsIn("starts"); }
  std::vector<pid_t> PidsIn(const char* name) const {
    std::ifstream file(data_dir_ + "/" + name);
    std::vector<pid_t> all;
    for (pid_t pid; file >> pid;) all.push_back(pid);
    return all;
  }
  // Or dead, and its new parent has not noticed.
  static bool IsGone(pid_t pid) {
    std::string name;
    char state = 'Z';
    std::ifstream(absl::StrCat("/proc/", pid, "/stat")) >> name >> name >>
        state;
    return state == 'Z' || state == 'X';
  }

  const Scratch scratch_;
  const std::string data_dir_ = scratch_.path() + "/data";
  std::unique_ptr<Dataset> data_;
  AskedRun run_;
  RoundSums right_;
  std::unique_ptr<RankJob::RemoteCoefficients> h_;
};

TEST_F(RankJobTest, AWholeAnswerIsTaken) {
  const auto job = Start("right");
  ASSERT_TRUE(job.ok()) << job.status();
  for (int round = 0; round < 3; ++round) {
    const auto sums = Ask(job->get());
    ASSERT_TRUE(sums.ok()) << sums.status();
    EXPECT_EQ(sums->parts, right_.parts);
  }
  h_.reset();
  EXPECT_EQ(Starts().size(), 1u);
}

// A command is about the data set that was opened and verified.
TEST_F(RankJobTest, ARoundReadsNothingOfTheDataSetFromTheDisk) {
  const auto job = Start("right");
  ASSERT_TRUE(job.ok()) << job.status();
  std::filesystem::remove_all(DatasetDirectory(data_dir_, "d"));
  const auto sums = Ask(job->get());
  EXPECT_TRUE(sums.ok()) << sums.status();
  h_.reset();
}

// The curator does not end with the thread that keeps the job.
TEST_F(RankJobTest, WithoutMemoryForAJobThereIsNone) {
  FailNextAllocationElsewhere();
  const absl::Status refused = Start("right").status();
  EXPECT_TRUE(AllocationHasFailed());
  EXPECT_EQ(ReasonCode(refused), "ranks-missing") << refused;
  EXPECT_TRUE(Start("right").ok());
}

// Nor does it wait for ever for a call that has ended: the job, which may have
// half a command, is replaced.
TEST_F(RankJobTest, AfterAnExceptionOfACallTheNextOneHasAnotherJob) {
  const auto job = Start("right");
  ASSERT_TRUE(job.ok()) << job.status();
  AskedRound& round = run_.rounds[0];
  const std::vector<PartPlan> parts = round.parts;
  round.parts[0].rows = round.parts[0].columns = std::uint64_t{1} << 31;
  round.parts[0].symmetric = false;
  EXPECT_ANY_THROW((void)Ask(job->get()));
  round.parts = parts;
  h_.reset();
  for (int attempt = 0; attempt < 2000 && Starts().size() < 2; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(Starts().size(), 2u);
  EXPECT_TRUE(Ask(job->get()).ok());
  h_.reset();
}

// Only a whole answer is accepted; after each fault one new job begins.
TEST_F(RankJobTest, WhatIsNotAWholeAnswerIsRefusedAndEndsTheJob) {
  for (const char* mode :
       {"wrong-sum", "wrong-check", "wrong-number", "fewer-people",
        "more-people", "no-end", "short", "silent", "dies", "crashes-half-way",
        "child-stays"}) {
    const auto before = Starts().size();
    {
      const auto job = Start(mode);
      ASSERT_TRUE(job.ok()) << mode << job.status();
      for (int fault = 1; fault <= 2; ++fault) {
        EXPECT_EQ(ReasonCode(Ask(job->get()).status()), "ranks-failed") << mode;
        h_.reset();
      }
    }
    // The jobs that were asked, and at most the one that began after them.
    const std::vector<pid_t> starts = Starts();
    EXPECT_GE(starts.size() - before, 2u) << mode;
    EXPECT_LE(starts.size() - before, 3u) << mode;
    for (const pid_t pid : starts)
      EXPECT_NE(kill(-pid, 0), 0) << mode << ": a process is left";
    for (const pid_t pid : PidsIn("children"))
      EXPECT_TRUE(IsGone(pid)) << "a child is left";
  }
}

TEST_F(RankJobTest, AnAnswerWithMoreBehindItIsNotFollowedByAnother) {
  const auto job = Start("says-more");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(Ask(job->get()).ok());
  EXPECT_EQ(ReasonCode(Ask(job->get()).status()), "ranks-failed");
  h_.reset();
}

TEST_F(RankJobTest, SumsThatNoPeopleAddAreRefused) {
  for (const char* mode : {"too-much", "negative"}) {
    const auto job = Start(mode);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(ReasonCode(Ask(job->get()).status()), "sums-malformed") << mode;
    h_.reset();
  }
}

TEST_F(RankJobTest, RanksThatSayThatTheyFailedAreNotEnded) {
  const auto job = Start("failed");
  ASSERT_TRUE(job.ok()) << job.status();
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(ReasonCode(Ask(job->get()).status()), "ranks-failed");
  h_.reset();
  EXPECT_EQ(Starts().size(), 1u);
}

TEST_F(RankJobTest, AJobThatDiesWhileNobodyAsksIsReplaced) {
  const auto job = Start("right");
  ASSERT_TRUE(job.ok()) << job.status();
  kill(Starts().at(0), SIGKILL);
  for (int attempt = 0; attempt < 6000 && Starts().size() < 2; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(Starts().size(), 2u);
  EXPECT_TRUE(Ask(job->get()).ok());
  h_.reset();
  EXPECT_EQ(Starts().size(), 2u);
}

TEST_F(RankJobTest, AJobThatIsNotAsAskedDoesNotStart) {
  for (const char* mode : {"exits", "other-version", "fewer-ranks"})
    EXPECT_EQ(ReasonCode(Start(mode).status()), "ranks-missing") << mode;
  EXPECT_EQ(ReasonCode(Start("other-machines").status()),
            "private-network-missing");
  RankJobOptions nothing;
  nothing.mpi_run = {"/nonexistent/mpirun"};
  EXPECT_EQ(ReasonCode(RankJob::Start(nothing).status()), "ranks-missing");
  for (const pid_t pid : Starts()) EXPECT_NE(kill(pid, 0), 0);
}

// Whatever process number its name has: such numbers are given again.
TEST_F(RankJobTest, APlaceIsOldOnceNobodyHoldsItsLock) {
  const auto place = [](const std::string& name) {
    const std::string path =
        absl::StrCat("/tmp/dpnmf-ranks.", name, ".test-", getpid());
    std::filesystem::create_directory(path);
    std::ofstream(path + "/lock");
    return path;
  };
  const std::string left = place("1"), held = place("99999999");
  const int lock = open((held + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  { ASSERT_TRUE(Start("right").ok()); }
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(held));
  close(lock);
  { ASSERT_TRUE(Start("right").ok()); }
  EXPECT_FALSE(std::filesystem::exists(held));
}

// Else every round on them would be refused.
TEST_F(RankJobTest, DataWithClassesHaveNoSharesAndAreNotGivenToRanks) {
  ImportOptions options = RowsImport(
      data_dir_, scratch_.Write("labelled.csv", "a,1,2,3\nb,2,1,0\na,0,1,1\n"),
      "labelled", "p", 8, 1e-5);
  options.header = false;
  options.label_columns = 1;
  options.class_column = 1;
  options.classes = {"a", "b"};
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::string directory = DatasetDirectory(data_dir_, "labelled");
  EXPECT_EQ(ReasonCode(Dataset::OpenShare(directory, {0, 2}).status()),
            "dataset-malformed");
  const auto labelled = Dataset::Open(directory);
  ASSERT_TRUE(labelled.ok()) << labelled.status();
  for (const char* mechanism :
       {"statistics", "gradient", "moments", "objective"}) {
    for (const AskedRound& round : RunOf(**labelled, mechanism, false).rounds)
      EXPECT_FALSE(RankJob::Computes(*round.kind, (*labelled)->description()))
          << mechanism;
    for (const AskedRound& round : RunOf(*data_, mechanism, false).rounds)
      EXPECT_TRUE(RankJob::Computes(*round.kind, data_->description()))
          << mechanism;
  }
}

TEST_F(RankJobTest, OtherMachinesMustBeDeclared) {
  RankJobOptions options;
  options.hosts = scratch_.Write("here", "# mine\nlocalhost slots=2\n\n");
  EXPECT_TRUE(CheckHosts(options).ok());
  options.hosts = scratch_.Write("there", "localhost\nnode17 slots=2\n");
  EXPECT_EQ(ReasonCode(CheckHosts(options)), "private-network-missing");
  options.private_network = true;
  EXPECT_TRUE(CheckHosts(options).ok());
}

TEST(CheckPart, BoundsWhatPeopleCanAdd) {
  const PartPlan part{.name = "A",
                      .rows = 1,
                      .columns = 1,
                      .left_norm_steps = 101,  // entries of at most 10
                      .right_norm_steps = 25};
  using Sums = std::vector<std::int64_t>;
  EXPECT_TRUE(CheckPart(part, 4, 4, Sums{200}).ok());
  for (const Sums& sums : {Sums{201}, Sums{-1}, Sums{}, Sums{1, 1}})
    EXPECT_EQ(ReasonCode(CheckPart(part, 4, 4, sums)), "sums-malformed");
  EXPECT_EQ(ReasonCode(CheckPart(part, 4, 5, Sums{0})), "sums-overflow");
  // 50 N >= 2^62.
  const std::uint64_t most = ((std::uint64_t{1} << 62) + 49) / 50;
  EXPECT_EQ(ReasonCode(CheckPart(part, most, 4, Sums{0})), "sums-overflow");
  EXPECT_TRUE(CheckPart(part, most - 1, 4, Sums{0}).ok());
  PartPlan whole = part;
  whole.whole_sensitivity = true;  // floor(sqrt(101 25)) = 50
  whole.left_norm_steps = 105;     // floor(sqrt(105 25)) = 51
  EXPECT_TRUE(CheckPart(whole, 1, 1, Sums{51}).ok());
  EXPECT_FALSE(CheckPart(whole, 1, 1, Sums{52}).ok());
}

}  // namespace
}  // namespace dpnmf::curator
