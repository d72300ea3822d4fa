// Collective calls of MPI that never block: each is begun, tested, and slept
// over until a deadline, after which the job is aborted. A blocking call would
// wait for ever for a rank that is stopped, and burn a core meanwhile.
//
// One thread of each rank calls them, in the same order.
#ifndef DPNMF_CURATOR_RANKS_PATIENT_MPI_H_
#define DPNMF_CURATOR_RANKS_PATIENT_MPI_H_

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>

#include "curator/ranks/frames.h"

namespace dpnmf::curator {

// A call of MPI takes an int: so many bytes or words at a time.
inline constexpr std::size_t kPiece = std::size_t{1} << 27;

// Ends the job.
[[noreturn]] inline void Give(const char* problem) {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "dpnmf-ranks: rank %d ends the job: %s\n", rank,
               problem);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

// Sleeps a sixteenth of the time that it has waited already, 20 us to 20 ms:
// late by a sixteenth at most, and idle ranks use no processor.
inline void Await(MPI_Request* request, SteadyTime deadline) {
  const SteadyTime begin = std::chrono::steady_clock::now();
  for (;;) {
    int done = 0;
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      Give("a message failed");
    if (done != 0) return;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now > deadline) Give("another rank did not come in time");
    std::this_thread::sleep_for(std::clamp<std::chrono::steady_clock::duration>(
        (now - begin) / 16, std::chrono::microseconds(20),
        std::chrono::milliseconds(20)));
  }
}

inline void Broadcast(std::span<char> bytes, SteadyTime deadline) {
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, bytes.size() - at));
    MPI_Request request;
    MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    Await(&request, deadline);
  }
}

// Modulo 2^64: in any order the same.
inline void AddUp(std::span<std::uint64_t> words, SteadyTime deadline) {
  for (std::size_t at = 0; at < words.size(); at += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, words.size() - at));
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, words.data() + at, count, MPI_UINT64_T,
                   MPI_SUM, MPI_COMM_WORLD, &request);
    Await(&request, deadline);
  }
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_PATIENT_MPI_H_
