// dpnmf-ranks: one rank of the MPI job beneath a curator, which starts it:
//
//   dpnmf-ranks SOCKET DATA_DIR THREADS
//
// Rank 0 connects to the curator's socket and passes its commands on; every
// rank computes the sums over its share of the people; the sums are added up as
// 64-bit integers and rank 0 hands them to the curator.
//
// No call of MPI blocks once the job runs: patient_mpi.h.
#include <malloc.h>
#include <mpi.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "curator/ranks/frames.h"
#include "curator/ranks/patient_mpi.h"
#include "curator/ranks/share_sums.h"
#include "curator/ranks/wake_socket.h"

namespace dpnmf::curator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Rank 0 says this often that it is there; the others believe it this long.
constexpr auto kBeat = std::chrono::seconds(30);
constexpr auto kSilence = std::chrono::seconds(120);
// A command is not longer on its way than this.
constexpr auto kFrameLimit = std::chrono::seconds(30);
int Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int curator = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (curator < 0 ||
      connect(curator, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0)
    Give(
        "rank 0 does not reach the curator: it must run on the curator's "
        "machine");
  WidenSocket(curator);
  return curator;
}

// Signals of rank 0 before each command. No message follows a beat (kNothing);
// after an end the job is over.
enum class Signal : std::uint64_t { kNothing, kCommand, kEnd };
struct Announcement {
  Signal signal = Signal::kNothing;
  std::uint64_t length = 0;
};

// Rank 0: the next command, a beat, or the end if the curator is gone.
Announcement NextFromCurator(int curator, std::string* command) {
  switch (AwaitEvents(curator, POLLIN, steady_clock::now() + kBeat)) {
    case Transfer::kTimeout:
      return {.signal = Signal::kNothing};
    case Transfer::kClosed:
      return {.signal = Signal::kEnd};
    case Transfer::kDone:
      break;
  }
  const SteadyTime deadline = steady_clock::now() + kFrameLimit;
  std::uint64_t length = 0;
  if (ReceiveAll(curator, std::as_writable_bytes(std::span(&length, 1)),
                 deadline) != Transfer::kDone)
    return {.signal = Signal::kEnd};
  command->resize(length);
  if (ReceiveAll(curator, std::as_writable_bytes(std::span(*command)),
                 deadline) != Transfer::kDone)
    return {.signal = Signal::kEnd};
  return {.signal = Signal::kCommand, .length = length};
}

void Serve(int rank, int curator, const WakeSocket& wake, ShareSums* share) {
  // Kept from round to round: most rounds are as large as the one before.
  std::vector<std::uint64_t> room;
  std::string bytes;
  for (;;) {
    Announcement announcement;
    if (rank == 0) announcement = NextFromCurator(curator, &bytes);
    const Patience silence{steady_clock::now() + kSilence, wake};
    Broadcast(
        std::span(reinterpret_cast<char*>(&announcement), sizeof announcement),
        silence);
    if (announcement.signal == Signal::kEnd) return;
    if (announcement.signal == Signal::kNothing) continue;
    bytes.resize(announcement.length);
    Broadcast(bytes, silence);
    const auto command = CommandOf(bytes);
    if (!command.has_value()) Give("a command is damaged");
    const SteadyTime deadline =
        steady_clock::now() + milliseconds(command->deadline_ms);
    std::vector<std::uint64_t> words = share->Words(*command);
    AddUp(words, &room, {deadline, wake});
    if (rank != 0) continue;
    const std::vector<std::uint64_t> answer = AnswerOf(command->number, words);
    if (SendAll(curator, std::as_bytes(std::span(answer)), deadline) !=
        Transfer::kDone)
      Give("the curator takes no answer");
  }
}

int Run(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr,
                 "usage: dpnmf-ranks SOCKET DATA_DIR THREADS\n"
                 "`dpnmf-curator serve --ranks N` starts it "
                 "(docs/reference/ranks.md).\n");
    return 2;
  }
  // However mpirun ends, this process ends with it, even if it is stopped.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Buffers of a round are used again for the next: new pages cost more time
  // than what is copied into them.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // A sleep of 20 us takes 20 us.
  prctl(PR_SET_TIMERSLACK, 1000);
  int given = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
    return 1;
  int rank = 0, ranks = 1, own_machine = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                      &machine);
  MPI_Comm_size(machine, &own_machine);
  int curator = -1;
  if (rank == 0) {
    curator = Connect(argv[1]);
    const Hello hello{.ranks = static_cast<std::uint64_t>(ranks),
                      .own_machine = static_cast<std::uint64_t>(own_machine)};
    if (SendAll(curator, std::as_bytes(std::span(&hello, 1)),
                steady_clock::now() + kFrameLimit) != Transfer::kDone)
      Give("the curator takes no greeting");
  }
  ShareSums share(
      argv[2],
      {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks)},
      std::atoi(argv[3]));
  const WakeSocket wake(std::filesystem::path(argv[1]).parent_path().string(),
                        rank);
  Serve(rank, curator, wake, &share);
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) { return dpnmf::curator::Run(argc, argv); }
