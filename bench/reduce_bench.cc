// mpirun ... dpnmf_reduce_bench WORDS BYTES DIRECTORY: how long ranks that are
// all there take to add up so many 64-bit integers, and to pass on so many
// bytes, as dpnmf-ranks does; medians of 41, in milliseconds, as a line of
// JSON.
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "curator/ranks/patient_mpi.h"

namespace dpnmf::curator {
namespace {

constexpr int kRepeats = 41;

template <typename Work>
double MedianMilliseconds(const WakeSocket& wake, const Work& work) {
  std::vector<std::uint64_t> room;
  std::vector<double> all;
  for (int i = 0; i < kRepeats; ++i) {
    const SteadyTime far =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const Patience patience{far, wake};
    std::uint64_t nothing = 0;
    AddUp(std::span(&nothing, 1), &room, patience);
    char start = 0;
    Broadcast(std::span(&start, 1), patience);  // all of them are here
    const double begin = MPI_Wtime();
    work(patience);
    all.push_back(1e3 * (MPI_Wtime() - begin));
  }
  std::nth_element(all.begin(), all.begin() + kRepeats / 2, all.end());
  return all[kRepeats / 2];
}

void Measure(std::size_t words, std::size_t bytes,
             const std::string& directory) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const WakeSocket wake(directory, rank);
  std::vector<std::uint64_t> sums(words, 1), room;
  std::string text(bytes, 'x');
  const double add_up = MedianMilliseconds(
      wake, [&](const Patience& patience) { AddUp(sums, &room, patience); });
  const double broadcast = MedianMilliseconds(
      wake, [&](const Patience& patience) { Broadcast(text, patience); });
  if (rank == 0) {
    std::printf(
        "{\"ranks\": %d, \"words\": %zu, \"bytes\": %zu, \"add_up_ms\": %.3f, "
        "\"broadcast_ms\": %.3f}\n",
        ranks, words, bytes, add_up, broadcast);
  }
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  prctl(PR_SET_TIMERSLACK, 1000);
  MPI_Init(&argc, &argv);
  dpnmf::curator::Measure(std::strtoull(argv[1], nullptr, 10),
                          std::strtoull(argv[2], nullptr, 10), argv[3]);
  MPI_Finalize();
}
