#include "curator/ranks/rank_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/files/read_file.h"
#include "common/log/log.h"
#include "common/log/without_exceptions.h"
#include "common/nmf/noised_matrix.h"
#include "curator/ranks/frames.h"
#include "curator/ranks/rank_answer.h"

namespace dpnmf::curator {
namespace {

using std::chrono::steady_clock;

constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr auto kLongestPause = std::chrono::seconds(30);

absl::Status RanksMissing(const std::string& problem) {
  return Refusal(
      absl::StatusCode::kUnavailable, "ranks-missing",
      absl::StrCat("The ranks do not start: ", problem,
                   "; check --mpi-run, --hosts and docs/reference/ranks.md."));
}

absl::Status PrivateNetworkMissing(absl::StatusCode kind) {
  return Refusal(kind, "private-network-missing",
                 "Ranks on other machines exchange exact private sums: put "
                 "them on a separate network or into an encrypted tunnel, and "
                 "declare this with --private-network.");
}

bool IsThisMachine(const std::string& host) {
  char own[256] = {};
  gethostname(own, sizeof own - 1);
  return host == "localhost" || host == "127.0.0.1" || host == "::1" ||
         host == own;
}

// ---- Processes

struct Seen {
  pid_t pid = 0, session = 0;
  char state = '?';
};

// From /proc/PID/stat: "PID (NAME) STATE PPID PGRP SESSION ...".
std::vector<Seen> ProcessesOf(pid_t session) {
  std::vector<Seen> all;
  std::error_code error;
  for (const std::string& entry : EntriesOf("/proc", &error)) {
    const std::string name = std::filesystem::path(entry).filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto text = ReadFile(entry + "/stat", 4096);
    if (!text.ok()) continue;
    const std::size_t after = text->rfind(')');
    if (after == std::string::npos) continue;
    Seen seen{.pid = static_cast<pid_t>(std::atol(name.c_str()))};
    long parent = 0, group = 0, of = 0;
    if (std::sscanf(text->c_str() + after + 1, " %c %ld %ld %ld", &seen.state,
                    &parent, &group, &of) != 4)
      continue;
    seen.session = static_cast<pid_t>(of);
    if (seen.session == session && seen.state != 'Z') all.push_back(seen);
  }
  return all;
}

// Every process of the session, whatever group it put itself into, stopped ones
// too. Its leader is a child that was not waited for yet: its number is still
// its own.
void KillSession(pid_t session) {
  constexpr auto kPause = std::chrono::milliseconds(2);
  kill(-session, SIGKILL);
  for (;;) {
    const auto left =
        WithoutExceptions([session]() -> absl::StatusOr<std::vector<Seen>> {
          return ProcessesOf(session);
        });
    if (left.ok() && left->empty()) return;
    if (left.ok())
      for (const Seen& process : *left) kill(process.pid, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

constexpr const char* kPlaces[] = {"/dev/shm", "/tmp"};
constexpr char kPlacePrefix[] = "dpnmf-ranks.";

constexpr const char* kPlaceLock = "/lock";  // held while the place is used

// Removes the places of killed curators, not of running ones. Process numbers
// begin again in a container and after a start, locks end with their process.
void RemoveOldPlaces() {
  std::error_code error;
  for (const char* parent : kPlaces) {
    for (const std::string& place : EntriesOf(parent, &error)) {
      const std::string name = std::filesystem::path(place).filename();
      if (!name.starts_with(kPlacePrefix)) continue;
      // Those of other users stay.
      const Descriptor lock(
          open((place + kPlaceLock).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
      if (lock.ok() && flock(lock.get(), LOCK_EX | LOCK_NB) == 0)
        std::filesystem::remove_all(place, error);
    }
  }
}

struct Place {
  std::string directory;
  int lock = -1;
};

// A directory of this user alone, in memory where there is such a place: MPI
// keeps its files there too, and all of them go with it.
absl::StatusOr<Place> PrivatePlace() {
  for (const char* parent : kPlaces) {
    Place place{.directory = absl::StrCat(parent, "/", kPlacePrefix, getpid(),
                                          ".XXXXXX")};
    if (mkdtemp(place.directory.data()) == nullptr) continue;
    place.lock = open((place.directory + kPlaceLock).c_str(),
                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    // Another curator that looks for old places may just have it.
    struct stat now {};
    if (place.lock >= 0 && flock(place.lock, LOCK_EX) == 0 &&
        fstat(place.lock, &now) == 0 && now.st_nlink > 0)
      return place;
    if (place.lock >= 0) close(place.lock);
    std::error_code error;
    std::filesystem::remove_all(place.directory, error);
  }
  return RanksMissing(
      "there is no usable directory for a socket in /dev/shm or /tmp");
}

absl::StatusOr<Descriptor> Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.ok() &&
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof address) == 0 &&
      listen(listener.get(), 1) == 0)
    return listener;
  return RanksMissing("cannot listen at " + path + ": " + std::strerror(errno));
}

// The loader takes no names with blanks or colons, and goes on without a file
// that is not there.
absl::Status CheckLoopback(const std::string& library) {
  if (access(library.c_str(), R_OK) != 0)
    return RanksMissing(absl::StrCat("there is no ", library));
  if (library.find_first_of(" :") == std::string::npos) return absl::OkStatus();
  return RanksMissing(absl::StrCat(
      "the name ", library,
      " has a blank or a colon, which the loader does not accept"));
}

// The environment of the job: MPI's files go to `directory`. `loopback`: the
// library that keeps it on this machine, or empty.
std::vector<std::string> Environment(const std::string& directory,
                                     const std::string& loopback) {
  const std::string own[] = {
      absl::StrCat("TMPDIR=", directory),
      absl::StrCat("OMPI_MCA_btl_vader_backing_directory=", directory)};
  const std::string load_variable = "LD_PRELOAD=";
  std::vector<std::string> all;
  std::string load = loopback.empty() ? "" : load_variable + loopback;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string variable = *at;
    if (!loopback.empty() && variable.rfind(load_variable, 0) == 0) {
      load += ":" + variable.substr(load_variable.size());
    } else if (variable.rfind("TMPDIR=", 0) != 0) {
      all.push_back(variable);
    }
  }
  if (!load.empty()) all.push_back(load);
  all.insert(all.end(), std::begin(own), std::end(own));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In a session of its own, with default signals, nothing on standard input, its
// output on the curator's log, and no descriptor of the curator's.
absl::StatusOr<pid_t> Spawn(std::vector<std::string> arguments,
                            std::vector<std::string> environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                   Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return RanksMissing(
      absl::StrCat("cannot run ", arguments[0], ": ", std::strerror(error)));
}

}  // namespace

bool IsOfOneMachine(const RankJobOptions& options) {
  return options.hosts.empty() || !options.private_network;
}

std::vector<std::string> DefaultMpiRun(const RankJobOptions& options) {
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "--bind-to",
                                      "none"};
  // Else a batch system's variables decide where ranks go.
  if (options.hosts.empty())
    command.insert(command.end(),
                   {"--host", absl::StrCat("localhost:", options.ranks)});
  if (IsOfOneMachine(options)) {
    command.insert(command.end(),
                   {"--mca", "pml", "ob1", "--mca", "btl", "self,vader",
                    "--mca", "oob_tcp_if_include", "lo"});
  } else {
    // A daemon behind a link that is cut ends within a minute, not in eight.
    command.insert(command.end(), {"--mca", "oob_tcp_keepalive_time", "30",
                                   "--mca", "oob_tcp_keepalive_intvl", "10",
                                   "--mca", "oob_tcp_keepalive_probes", "3"});
  }
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  return command;
}

std::string LoopbackOf(const std::string& program) {
  constexpr const char* kName = "dpnmf-ranks-loopback.so";
  const auto directory = std::filesystem::path(program).parent_path();
  std::error_code error;
  for (const auto& place :
       {directory / kName, directory.parent_path() / "lib/dpnmf" / kName})
    if (std::filesystem::exists(place, error)) return place;
  return directory / kName;
}

absl::Status CheckHosts(const RankJobOptions& options) {
  if (options.hosts.empty() || options.private_network) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(options.hosts, kSettingsFileLimit));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"),
                       absl::SkipEmpty());
    if (!words.empty() && !IsThisMachine(words[0]))
      return PrivateNetworkMissing(absl::StatusCode::kInvalidArgument);
  }
  return absl::OkStatus();
}

RankJob::RankJob(RankJobOptions options)
    : options_(std::move(options)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      keeper_([this] { Keep(); }) {}

RankJob::~RankJob() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
  }
  eventfd_write(wake_, 1);
  changed_.notify_all();
  keeper_.join();
  close(wake_);
}

absl::StatusOr<std::unique_ptr<RankJob>> RankJob::Start(
    RankJobOptions options) {
  DPNMF_RETURN_IF_ERROR(CheckHosts(options));
  std::unique_ptr<RankJob> job(new RankJob(std::move(options)));
  MutexLock lock(&job->mutex_);
  while (!job->running_ && job->launched_.ok()) job->changed_.wait(job->mutex_);
  if (!job->running_) return job->launched_;
  return job;
}

absl::Status RankJob::Greet(int listener, Process* process) {
  const SteadyTime deadline = steady_clock::now() + kStartLimit;
  // The job may end before it says anything.
  constexpr auto kLook = std::chrono::milliseconds(100);
  for (;;) {
    const Transfer ready = AwaitEvents(
        listener, POLLIN, std::min(deadline, steady_clock::now() + kLook));
    if (ready == Transfer::kDone) break;
    siginfo_t gone{};
    if (waitid(P_PID, static_cast<id_t>(process->pid), &gone,
               WEXITED | WNOHANG | WNOWAIT) != 0 ||
        gone.si_pid != 0)
      return RanksMissing("the job ended at once; the log says more");
    if (ready == Transfer::kClosed || steady_clock::now() >= deadline)
      return RanksMissing("no rank says hello from this machine");
    MutexLock lock(&mutex_);
    if (stopped_) return RanksMissing("the curator stops");
  }
  process->socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (process->socket < 0 ||
      getsockopt(process->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != geteuid())
    return RanksMissing("another user answers");
  WidenSocket(process->socket);
  Hello hello{};
  if (ReceiveAll(process->socket, std::as_writable_bytes(std::span(&hello, 1)),
                 deadline) != Transfer::kDone ||
      hello.magic != kHelloMagic)
    return RanksMissing("rank 0 is of another version");
  if (hello.ranks != static_cast<std::uint64_t>(options_.ranks))
    return RanksMissing(absl::StrCat("the job has ", hello.ranks,
                                     " ranks in the place of ",
                                     options_.ranks));
  if (hello.own_machine != hello.ranks && !options_.private_network)
    return PrivateNetworkMissing(absl::StatusCode::kFailedPrecondition);
  return absl::OkStatus();
}

absl::StatusOr<RankJob::Process> RankJob::Launch() {
  RemoveOldPlaces();
  std::string loopback;
  if (options_.loopback_only) {
    loopback = LoopbackOf(options_.program);
    DPNMF_RETURN_IF_ERROR(CheckLoopback(loopback));
  }
  Process process;
  absl::Cleanup end = [&process] { End(&process); };
  DPNMF_ASSIGN_OR_RETURN(const Place place, PrivatePlace());
  process.directory = place.directory;
  process.lock = place.lock;
  const std::string path = process.directory + "/socket";
  DPNMF_ASSIGN_OR_RETURN(const Descriptor listener, Listen(path));
  std::vector<std::string> arguments = options_.mpi_run;
  arguments.insert(arguments.end(), {"-n", absl::StrCat(options_.ranks)});
  if (!options_.hosts.empty())
    arguments.insert(arguments.end(), {"--hostfile", options_.hosts});
  arguments.insert(arguments.end(), {options_.program, path, options_.data_dir,
                                     absl::StrCat(options_.threads)});
  DPNMF_ASSIGN_OR_RETURN(
      process.pid,
      Spawn(std::move(arguments), Environment(process.directory, loopback)));
  DPNMF_RETURN_IF_ERROR(Greet(listener.get(), &process));
  std::move(end).Cancel();
  return process;
}

void RankJob::End(Process* process) {
  if (process->pid > 0) {
    KillSession(process->pid);
    while (waitpid(process->pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (process->socket >= 0) close(process->socket);
  WithoutExceptions([process] {
    std::error_code error;
    if (!process->directory.empty())
      std::filesystem::remove_all(process->directory, error);
    return absl::OkStatus();
  }).IgnoreError();
  if (process->lock >= 0) close(process->lock);
  *process = Process();
}

// Until the socket is closed at the other end, a round broke the job, the
// curator stops, or the time is over.
void RankJob::AwaitTrouble(int socket,
                           std::optional<std::chrono::milliseconds> limit) {
  for (;;) {
    pollfd asked[] = {{.fd = wake_, .events = POLLIN, .revents = 0},
                      {.fd = socket, .events = POLLRDHUP, .revents = 0}};
    const int ready =
        poll(asked, 2, limit ? static_cast<int>(limit->count()) : -1);
    eventfd_t ignored;
    if (asked[0].revents != 0) eventfd_read(wake_, &ignored);
    MutexLock lock(&mutex_);
    if (ready == 0 || asked[1].revents != 0 || broken_ || stopped_) return;
  }
}

// Starts a job, watches it, and ends it when it is broken or nobody needs it
// any more; then the next one.
void RankJob::Keep() {
  auto pause =
      std::chrono::duration_cast<std::chrono::milliseconds>(kFirstPause);
  for (;;) {
    absl::StatusOr<Process> launched =
        WithoutExceptions([this] { return Launch(); });
    if (!launched.ok() && ReasonCode(launched.status()).empty())
      launched = RanksMissing("the system gives too little memory for them");
    {
      MutexLock lock(&mutex_);
      launched_ = launched.status();
      if (launched.ok()) {
        process_ = *launched;
        ++era_;
        running_ = true;
        broken_ = false;
        forget_.clear();
      }
    }
    changed_.notify_all();
    if (!launched.ok()) {
      LogError("{}", std::string(launched.status().message()));
      AwaitTrouble(-1, pause);
      pause = std::min<std::chrono::milliseconds>(2 * pause, kLongestPause);
    } else {
      LogInfo("{} ranks of {} threads", options_.ranks, options_.threads);
      AwaitTrouble(launched->socket, std::nullopt);
      pause = kFirstPause;
    }
    if (launched.ok()) {
      // A round that waits for the job sees the end of it.
      KillSession(launched->pid);
      MutexLock lock(&mutex_);
      running_ = false;
      while (in_use_) changed_.wait(mutex_);
      End(&process_);
      if (!stopped_) LogWarning("the ranks have failed: a new job begins");
    }
    MutexLock lock(&mutex_);
    if (stopped_) return;
  }
}

void RankJob::Forget(std::uint64_t era, std::uint64_t name) {
  MutexLock lock(&mutex_);
  if (era == era_) forget_.push_back(name);
}

bool RankJob::Computes(const ReleaseKind& kind,
                       const DatasetDescription& data) {
  return kind.by_ranges && !data.classes.has_value() &&
         !data.ratings.has_value() && !data.sums.has_value();
}

absl::StatusOr<RoundSums> RankJob::Sums(
    const ReleaseKind& kind, const RoundInput& input,
    const RoundContext& context, const std::vector<PartPlan>& parts,
    std::unique_ptr<RemoteCoefficients>* h) {
  const DatasetDescription& data = context.data.description();
  const std::uint64_t people = context.data.private_whole_count();
  RankCommand command;
  command.dataset = data.name;
  command.files = context.data.private_files();
  command.file_key = options_.file_key;
  command.deadline_ms = static_cast<std::uint64_t>(options_.deadline.count());
  command.release = std::string(kind.name);
  for (const PartPlan& part : parts)
    command.entries += EntryCount(part.rows, part.columns, part.symmetric);
  command.parameters = context.parameters;
  command.plan = context.plan;
  command.input = input;

  MutexLock turn(&turn_);
  DPNMF_RETURN_IF_ERROR(context.execution.CheckNotStopped());
  command.number = ++commands_;
  int socket = -1;
  std::uint64_t era = 0;
  std::unique_ptr<RemoteCoefficients> of_earlier_job;
  {
    MutexLock lock(&mutex_);
    const SteadyTime limit = steady_clock::now() + kStartLimit;
    while ((!running_ || broken_) && !stopped_ &&
           changed_.wait_until(mutex_, limit) != std::cv_status::timeout) {
    }
    if (!running_ || broken_) return RanksFailed();
    if (*h != nullptr && (*h)->era_ != era_) of_earlier_job = std::move(*h);
    in_use_ = true;
    socket = process_.socket;
    era = era_;
    command.coefficients = *h != nullptr ? (*h)->name_ : ++names_;
    command.forget = std::exchange(forget_, {});
  }
  // However this call ends, the keeper of the job does not wait for it. After
  // an exception the job may have half a command, and is ended.
  bool broken = true;
  const absl::Cleanup done = [this, &broken] {
    {
      MutexLock lock(&mutex_);
      in_use_ = false;
      broken_ = broken;
    }
    changed_.notify_all();
    if (broken) eventfd_write(wake_, 1);
  };
  if (*h == nullptr)
    *h = std::make_unique<RemoteCoefficients>(this, era, command.coefficients);
  const auto answer =
      AskRanks(socket, command,
               steady_clock::now() + options_.deadline + options_.slack);
  const char* const problem = !answer.has_value()
                                  ? "it gave no whole answer in time"
                                  : ProblemOfAnswer(*answer, command, people);
  if (problem != nullptr) {
    LogError("the job of the ranks is ended: {}", problem);
    return RanksFailed();
  }
  broken = false;
  DPNMF_ASSIGN_OR_RETURN(
      RoundSums sums,
      SumsOfAnswer(*answer, parts, LargestUserCount(FactsOf(data)), people));
  DPNMF_RETURN_IF_ERROR(context.execution.CheckNotStopped());
  return sums;
}

}  // namespace dpnmf::curator
