// Ranks of real MPI, for tests/ranks/run.sh:
//
//   ranks_trials bits MPI_RUN PROGRAM WORK       every kind of round gives the
//                                                bits of one process
//   ranks_trials faults MPI_RUN PROGRAM WORK SEED TRIALS
//                                                kills and stops at random
//                                                moments
//   ranks_trials idle MPI_RUN PROGRAM WORK       waiting ranks use no processor
//   ranks_trials machines MPI_RUN PROGRAM WORK   the same bits and faults on
//                                                two machines
//   ranks_trials links MPI_RUN PROGRAM WORK SEED TRIALS
//                                                the link between two machines
//                                                is cut at random moments
//   ranks_trials parts MPI_RUN PROGRAM WORK      the same bits of parts on two
//                                                machines with their own disks
//
// Prints what is wrong, or nothing; exits with 1 if anything is.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/files/read_file.h"
#include "curator/data/shards.h"
#include "curator/import/part.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ranks/rank_job.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/ranks/rank_fixtures.h"

namespace dpnmf::curator {
namespace {

struct RanksProcess {
  pid_t pid = 0;
  std::string name;
  double seconds = 0;  // of processor time
};

// All processes of this process's jobs, whatever parent, group or session they
// have: they inherit the place of MPI's files.
std::vector<RanksProcess> ProcessesOfJobs() {
  const std::string own = absl::StrCat("/dpnmf-ranks.", getpid(), ".");
  std::vector<RanksProcess> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto variables =
        ReadFile(entry.path().string() + "/environ", 1 << 20);
    const auto words = ReadFile(entry.path().string() + "/cmdline", 1 << 20);
    const auto stat = ReadFile(entry.path().string() + "/stat", 1 << 12);
    if (!variables.ok() || !words.ok() || !stat.ok() ||
        variables->find(own) == std::string::npos)
      continue;
    const std::vector<std::string> fields =
        absl::StrSplit(stat->substr(stat->rfind(')') + 2), ' ');
    if (fields[0] == "Z" || fields[0] == "X") continue;
    const std::string program = words->c_str();
    RanksProcess process;
    process.pid = std::atoi(name.c_str());
    process.name = program.substr(program.rfind('/') + 1);
    process.seconds =
        (std::atof(fields[11].c_str()) + std::atof(fields[12].c_str())) /
        static_cast<double>(sysconf(_SC_CLK_TCK));
    all.push_back(process);
  }
  return all;
}

// Daemons of other machines see by themselves that their job is gone.
bool NothingLeft() {
  for (int look = 0; look < 400; ++look) {
    if (ProcessesOfJobs().empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

std::vector<RanksProcess> Named(const std::vector<RanksProcess>& all,
                                const std::string& name) {
  std::vector<RanksProcess> found;
  for (const RanksProcess& process : all)
    if (process.name == name) found.push_back(process);
  return found;
}

struct Trials {
  std::vector<std::string> mpi_run;
  std::string program, work;
  std::atomic<int> wrong = 0;  // also from the thread that cuts

  void Wrong(const std::string& what) {
    std::cout << what << std::endl;
    ++wrong;
  }
  RankJobOptions Options(int ranks, int threads) const {
    RankJobOptions options;
    options.ranks = ranks;
    options.mpi_run = mpi_run;
    options.program = program;
    options.data_dir = work + "/data";
    const auto key = LoadOrCreateFingerprintKey(options.data_dir);
    if (key.ok()) options.file_key = KeyOfFiles(*key);
    options.threads = threads;
    return options;
  }
};

ComputeRound InJob(const Dataset& data, RankJob* job) {
  auto h = std::make_shared<std::unique_ptr<RankJob::RemoteCoefficients>>();
  return [&data, job, h](const AskedRun& run, const AskedRound& round) {
    return job->Sums(*round.kind, round.input,
                     {.data = data,
                      .parameters = run.parameters,
                      .plan = run.plan,
                      .execution = {}},
                     round.parts, h.get());
  };
}

void Bits(const Scratch& scratch, Trials* trials) {
  const std::string data_dir = trials->work + "/data";
  std::vector<std::unique_ptr<Dataset>> all;
  for (const bool sparse : {false, true}) {
    for (const std::uint64_t shards : {0, 3}) {
      const std::string name = absl::StrCat(sparse ? "s" : "d", shards);
      ImportPeopleOf(scratch, data_dir, name, 533, 23, sparse,
                     shards > 0 ? std::optional(shards) : std::nullopt);
      auto data = Dataset::Open(DatasetDirectory(data_dir, name));
      if (!data.ok()) return trials->Wrong("no data set");
      all.push_back(*std::move(data));
    }
  }
  // Second moments of 80,200 entries, which go in three pieces.
  ImportPeopleOf(scratch, data_dir, "wide", 60, 400, false, std::nullopt);
  auto wide = Dataset::Open(DatasetDirectory(data_dir, "wide"));
  if (!wide.ok()) return trials->Wrong("no wide data set");
  all.push_back(*std::move(wide));
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const int threads : {1, 3}) {
      const auto job = RankJob::Start(trials->Options(ranks, threads));
      if (!job.ok()) return trials->Wrong(std::string(job.status().message()));
      for (const auto& data : all) {
        const int compared = ExpectTheBitsOfOneProcess(
            *data, [&] { return InJob(*data, job->get()); });
        if (compared != kRounds || testing::Test::HasFailure()) {
          trials->Wrong(absl::StrCat(ranks, " ranks of ", threads,
                                     " threads: other bits, or none, of ",
                                     data->description().name));
        }
      }
    }
  }
  if (!ProcessesOfJobs().empty()) trials->Wrong("a process is left");
}

// Rounds without an end beside kills without an end. What comes is right or
// "ranks-failed", and no fault costs more than one job.
void Faults(const Scratch& scratch, Trials* trials, unsigned seed, int count) {
  const std::string data_dir = trials->work + "/data";
  ImportPeopleOf(scratch, data_dir, "f", 4000, 40, false, std::nullopt);
  const auto data = Dataset::Open(DatasetDirectory(data_dir, "f"));
  if (!data.ok()) return trials->Wrong("no data set");
  const AskedRun run = RunOf(**data, "statistics", true);
  const AskedRound& round = run.rounds.front();
  const auto right = InOneProcess(**data)(run, round);
  RankJobOptions options = trials->Options(3, 1);
  options.deadline = std::chrono::seconds(4);
  options.slack = std::chrono::seconds(2);
  auto job = RankJob::Start(options);
  if (!job.ok()) return trials->Wrong(std::string(job.status().message()));
  std::mt19937 random(seed);
  for (int trial = 0; trial < count && trials->wrong == 0; ++trial) {
    const std::uint64_t before = (*job)->jobs();
    std::thread killer([&, moment = random() % 20000, what = random() % 3] {
      std::this_thread::sleep_for(std::chrono::microseconds(moment));
      const auto all = ProcessesOfJobs();
      const auto some = Named(all, what == 2 ? "mpirun" : "dpnmf-ranks");
      if (some.empty()) return;
      kill(some[random() % some.size()].pid, what == 1 ? SIGSTOP : SIGKILL);
    });
    // Until the fault shows: in a round, or in a job that was replaced.
    int failed = 0;
    for (int at = 0; failed == 0 && (*job)->jobs() == before; ++at) {
      const auto sums = InJob(**data, job->get())(run, round);
      if (sums.ok() && sums->parts != right->parts)
        trials->Wrong("a round gave other sums");
      if (!sums.ok() && ReasonCode(sums.status()) != "ranks-failed")
        trials->Wrong(std::string(sums.status().message()));
      if (!sums.ok()) ++failed;
    }
    killer.join();
    // The next round is right, in the one job that began since.
    absl::StatusOr<RoundSums> sums = InJob(**data, job->get())(run, round);
    if (!sums.ok() || sums->parts != right->parts)
      trials->Wrong("the round after a fault is not right");
    if ((*job)->jobs() != before + 1) {
      trials->Wrong(
          absl::StrCat("a fault cost ", (*job)->jobs() - before, " jobs"));
    }
    const auto left = ProcessesOfJobs();
    if (Named(left, "mpirun").size() != 1 ||
        Named(left, "dpnmf-ranks").size() != 3 || left.size() != 4)
      trials->Wrong(absl::StrCat(left.size(), " processes in the place of 4"));
  }
  (*job).reset();
  if (!ProcessesOfJobs().empty()) trials->Wrong("a process is left");
  const std::string own = absl::StrCat("dpnmf-ranks.", getpid(), ".");
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.rfind(own, 0) == 0) trials->Wrong("a directory is left: " + name);
  }
}

// Processor time of ranks over some seconds in which nobody asks.
void Idle(const Scratch& scratch, Trials* trials) {
  ImportPeopleOf(scratch, trials->work + "/data", "i", 100, 8, false,
                 std::nullopt);
  const auto data =
      Dataset::Open(DatasetDirectory(trials->work + "/data", "i"));
  const auto job = RankJob::Start(trials->Options(4, 1));
  if (!data.ok() || !job.ok()) return trials->Wrong("no job");
  const AskedRun run = RunOf(**data, "statistics", false);
  if (!InJob(**data, job->get())(run, run.rounds.front()).ok())
    trials->Wrong("no round");
  constexpr double kSeconds = 10, kLargestShare = 0.01;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto before = Named(ProcessesOfJobs(), "dpnmf-ranks");
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  const auto after = Named(ProcessesOfJobs(), "dpnmf-ranks");
  if (before.size() != 4 || after.size() != 4)
    return trials->Wrong("the ranks are gone");
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double share = (after[i].seconds - before[i].seconds) / kSeconds;
    std::cerr << "an idle rank used " << 100 * share << " % of a core\n";
    if (share > kLargestShare)
      trials->Wrong(
          absl::StrCat("an idle rank used ", 100 * share, " % of a core"));
  }
}

// WORK/hosts names this machine and another one, which MPI_RUN reaches.
void Machines(const Scratch& scratch, Trials* trials) {
  const std::string data_dir = trials->work + "/data";
  ImportPeopleOf(scratch, data_dir, "m", 533, 23, true, 4);
  const auto data = Dataset::Open(DatasetDirectory(data_dir, "m"));
  RankJobOptions options = trials->Options(4, 1);
  options.deadline = std::chrono::seconds(4);
  RankJobOptions not_said = options;
  options.hosts = not_said.hosts = trials->work + "/hosts";
  if (!absl::IsInvalidArgument(RankJob::Start(not_said).status()))
    trials->Wrong("a file of other hosts is taken");
  not_said.hosts.clear();
  not_said.mpi_run.insert(not_said.mpi_run.end(),
                          {"--hostfile", options.hosts});
  if (!absl::IsFailedPrecondition(RankJob::Start(not_said).status()))
    trials->Wrong("a job on two machines is taken");
  options.private_network = true;
  auto job = RankJob::Start(options);
  if (!data.ok() || !job.ok()) return trials->Wrong("no job");
  if (ExpectTheBitsOfOneProcess(
          **data, [&] { return InJob(**data, job->get()); }) != kRounds ||
      testing::Test::HasFailure())
    trials->Wrong("two machines have other bits");
  const AskedRun run = RunOf(**data, "statistics", true);
  // The other machine's daemon dies; a rank there stops: it comes last.
  for (const auto& [name, signal] :
       {std::pair("orted", SIGKILL), std::pair("dpnmf-ranks", SIGSTOP)}) {
    const std::uint64_t before = (*job)->jobs();
    const auto victims = Named(ProcessesOfJobs(), name);
    if (victims.empty()) return trials->Wrong(std::string("no ") + name);
    kill(victims.back().pid, signal);
    while ((*job)->jobs() == before) {
      const auto sums = InJob(**data, job->get())(run, run.rounds.front());
      if (!sums.ok() && ReasonCode(sums.status()) != "ranks-failed")
        trials->Wrong(std::string(sums.status().message()));
    }
    if (!InJob(**data, job->get())(run, run.rounds.front()).ok() ||
        (*job)->jobs() != before + 1)
      trials->Wrong("one fault, not one new job");
  }
  (*job).reset();
  if (!NothingLeft()) trials->Wrong("a process is left");
}

// WORK/hosts as above; `WORK/link down` cuts the link between the two machines,
// `WORK/link up` mends it. A cut costs rounds, never a wrong sum, and one new
// job once the link is there again; what is cut off ends by itself.
void Links(const Scratch& scratch, Trials* trials, unsigned seed, int count) {
  ImportPeopleOf(scratch, trials->work + "/data", "l", 2000, 40, false,
                 std::nullopt);
  const auto data =
      Dataset::Open(DatasetDirectory(trials->work + "/data", "l"));
  if (!data.ok()) return trials->Wrong("no data set");
  const AskedRun run = RunOf(**data, "statistics", true);
  const AskedRound& round = run.rounds.front();
  const auto right = InOneProcess(**data)(run, round);
  RankJobOptions options = trials->Options(4, 1);
  options.hosts = trials->work + "/hosts";
  options.private_network = true;
  options.deadline = std::chrono::seconds(4);
  options.slack = std::chrono::seconds(2);
  auto job = RankJob::Start(options);
  if (!job.ok()) return trials->Wrong(std::string(job.status().message()));
  const auto link = [&](const char* state) {
    if (std::system(absl::StrCat(trials->work, "/link ", state).c_str()) != 0)
      trials->Wrong(absl::StrCat("the link cannot be set ", state));
  };
  std::mt19937 random(seed);
  for (int trial = 0; trial < count && trials->wrong == 0; ++trial) {
    const std::uint64_t before = (*job)->jobs();
    std::thread cutter([&, moment = random() % 20000] {
      std::this_thread::sleep_for(std::chrono::microseconds(moment));
      link("down");
    });
    bool failed = false;
    while (!failed && trials->wrong == 0) {
      const auto sums = InJob(**data, job->get())(run, round);
      if (sums.ok() && sums->parts != right->parts)
        trials->Wrong("a round gave other sums");
      if (!sums.ok() && ReasonCode(sums.status()) != "ranks-failed")
        trials->Wrong(std::string(sums.status().message()));
      failed = !sums.ok();
    }
    cutter.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 2000));
    // Nobody asks meanwhile: what the cut left must be gone before the next.
    link("up");
    absl::StatusOr<RoundSums> sums = right;
    for (int attempt = 0; attempt < 3; ++attempt) {
      sums = InJob(**data, job->get())(run, round);
      if (sums.ok()) break;
    }
    if (!sums.ok() || sums->parts != right->parts)
      trials->Wrong("the round after a cut link is not right");
    if ((*job)->jobs() != before + 1) {
      trials->Wrong(
          absl::StrCat("a cut link cost ", (*job)->jobs() - before, " jobs"));
    }
  }
  // Cut once more, and never mended: the other machine's processes see to it.
  link("down");
  (*job).reset();
  if (!NothingLeft()) {
    for (const RanksProcess& left : ProcessesOfJobs())
      trials->Wrong("left behind a cut link: " + left.name);
  }
  link("up");
}

// WORK/hosts as above; on the other machine WORK/other stands in the place of
// WORK/data. Each has half of the parts, and nobody has all people but the
// import that the sums are compared with.
void Parts(const Scratch& scratch, Trials* trials) {
  const std::string here = trials->work + "/data",
                    there = trials->work + "/other",
                    one = trials->work + "/one";
  for (const std::string& place : {here, there, one}) {
    std::filesystem::create_directories(place);
    std::ofstream(place + "/fingerprint.key") << std::string(32, 'k');
  }
  ImportPeopleOf(scratch, one, "m", 533, 23, false, std::nullopt);
  const auto whole = Dataset::Open(DatasetDirectory(one, "m"));
  if (!whole.ok()) return trials->Wrong("no data set");
  const std::uint64_t ends[] = {100, 101, 350, 533};
  std::vector<std::string> lines =
      absl::StrSplit(PeopleText(533, 23, false), '\n');
  std::uint64_t first = 0;
  for (const std::uint64_t end : ends) {
    const bool is_here = first < 101;
    std::string text;
    for (std::uint64_t n = first; n < end; ++n)
      absl::StrAppend(&text, lines[n], "\n");
    ImportOptions options =
        RowsImport(is_here ? here : there, scratch.Write("part.csv", text), "m",
                   "p", 8, 1e-5);
    options.shard_of = PartRange{first, end - first, 533};
    const auto part = ImportPart(options);
    if (!part.ok()) return trials->Wrong(std::string(part.status().message()));
    if (!is_here) {
      std::filesystem::copy(part->record, PartsDirectory(here, "m"));
    }
    first = end;
  }
  ImportOptions joined;
  joined.data_dir = here;
  joined.name = std::string("m");
  absl::Status status = TakeDeclarationOfParts(&joined);
  if (status.ok()) status = Import(joined).status();
  if (!status.ok()) return trials->Wrong(std::string(status.message()));
  const std::string own = DatasetDirectory(here, "m") + "/",
                    copy = DatasetDirectory(there, "m") + "/";
  std::filesystem::create_directories(copy);
  for (const char* file : {"dataset.json", "shards.json", "digests.json"})
    std::filesystem::copy(own + file, copy + file);
  const auto parts = Dataset::Open(DatasetDirectory(here, "m"));
  if (!parts.ok()) return trials->Wrong(std::string(parts.status().message()));

  RankJobOptions options = trials->Options(4, 1);
  options.hosts = trials->work + "/hosts";
  options.private_network = true;
  const auto job = RankJob::Start(options);
  if (!job.ok()) return trials->Wrong(std::string(job.status().message()));
  if (ExpectTheBitsOfOneProcess(
          **whole, [&] { return InJob(**parts, job->get()); }) != kRounds ||
      testing::Test::HasFailure())
    trials->Wrong("parts on two machines have other bits");
}

int Run(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string what = argv[1];
  Trials trials{.mpi_run = absl::StrSplit(argv[2], ' ', absl::SkipEmpty()),
                .program = argv[3],
                .work = argv[4]};
  const Scratch scratch;
  if (what == "bits") Bits(scratch, &trials);
  if (what == "idle") Idle(scratch, &trials);
  if (what == "machines") Machines(scratch, &trials);
  if (what == "parts") Parts(scratch, &trials);
  if (argc == 7) {
    const auto seed = static_cast<unsigned>(std::atoi(argv[5]));
    const int count = std::atoi(argv[6]);
    if (what == "faults") Faults(scratch, &trials, seed, count);
    if (what == "links") Links(scratch, &trials, seed, count);
  }
  return trials.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return dpnmf::curator::Run(argc, argv);
}
