// Messages of MPI to and from all ranks that never block: each is started and
// then tested, with sleeps between the tests, until a deadline; then the job is
// aborted. A blocking call would wait for ever for a rank that is stopped, and
// would use a whole core.
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
#include <vector>

#include "curator/ranks/frames.h"
#include "curator/ranks/wake_socket.h"

namespace dpnmf::curator {

// A call of MPI takes an int: so many bytes at a time.
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

// How long to wait for other ranks, and what they wake this one with.
struct Patience {
  SteadyTime deadline;
  const WakeSocket& wake;
};

// Sleeps a quarter of the time that it has waited already, or a sixteenth where
// nobody can wake it, 20 us to 20 ms: idle ranks use no processor. Whoever is
// woken looks often again, since large messages come in pieces.
inline void Await(MPI_Request* request, const Patience& patience) {
  using std::chrono::steady_clock;
  const int part = patience.wake.open() ? 4 : 16;
  SteadyTime begin = steady_clock::now();
  for (;;) {
    int done = 0;
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      Give("a message failed");
    if (done != 0) return;
    const SteadyTime now = steady_clock::now();
    if (now > patience.deadline) Give("another rank did not come in time");
    if (patience.wake.Sleep(std::clamp<steady_clock::duration>(
            (now - begin) / part, std::chrono::microseconds(20),
            std::chrono::milliseconds(20))))
      begin = steady_clock::now();
  }
}

// This rank among all of them, in a tree whose root is rank 0: the parent of a
// rank is the one without its lowest bit, its children are those with one more
// bit below that.
struct Place {
  Place() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  int parent() const { return rank & (rank - 1); }
  // Limit of the steps to children: rank + 1, rank + 2, rank + 4 and so on.
  int step_limit() const { return rank == 0 ? ranks : rank & -rank; }

  int rank = 0, ranks = 1;
};

// Sends `bytes` of rank 0 to all other ranks.
inline void Broadcast(std::span<char> bytes, const Patience& patience) {
  const Place place;
  std::vector<MPI_Request> sent;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, bytes.size() - at));
    if (place.rank != 0) {
      MPI_Request request;
      MPI_Irecv(bytes.data() + at, count, MPI_BYTE, place.parent(), 0,
                MPI_COMM_WORLD, &request);
      Await(&request, patience);
    }
    for (int step = 1; step < place.step_limit(); step *= 2) {
      if (place.rank + step >= place.ranks) break;
      MPI_Isend(bytes.data() + at, count, MPI_BYTE, place.rank + step, 0,
                MPI_COMM_WORLD, &sent.emplace_back());
      patience.wake.Wake(place.rank + step);
    }
  }
  for (MPI_Request& request : sent) Await(&request, patience);
}

// Sums go in pieces of so many words, which are added while the next ones come.
inline constexpr std::size_t kSumsPiece = std::size_t{1} << 15;

// Begins begin(first word, words, request) for each piece.
template <typename Begin>
std::vector<MPI_Request> BeginPieces(std::size_t words, const Begin& begin) {
  std::vector<MPI_Request> requests;
  for (std::size_t at = 0; at < words; at += kSumsPiece) {
    begin(at, static_cast<int>(std::min(kSumsPiece, words - at)),
          &requests.emplace_back());
  }
  return requests;
}

// At rank 0 the sums of all ranks, modulo 2^64: in any order the same. At the
// others what is in `words` then means nothing. room: kept from call to call.
inline void AddUp(std::span<std::uint64_t> words,
                  std::vector<std::uint64_t>* room, const Patience& patience) {
  const Place place;
  for (int step = 1; step < place.step_limit(); step *= 2) {
    const int child = place.rank + step;
    if (child >= place.ranks) break;
    room->resize(words.size());
    auto received = BeginPieces(
        words.size(), [&](std::size_t at, int count, MPI_Request* request) {
          MPI_Irecv(room->data() + at, count, MPI_UINT64_T, child, 0,
                    MPI_COMM_WORLD, request);
        });
    std::size_t at = 0;
    for (MPI_Request& request : received) {
      Await(&request, patience);
      const std::size_t end = std::min(at + kSumsPiece, words.size());
      for (; at < end; ++at) words[at] += (*room)[at];
    }
  }
  if (place.rank == 0) return;
  auto sent = BeginPieces(
      words.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Isend(words.data() + at, count, MPI_UINT64_T, place.parent(), 0,
                  MPI_COMM_WORLD, request);
      });
  patience.wake.Wake(place.parent());
  for (MPI_Request& request : sent) Await(&request, patience);
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_PATIENT_MPI_H_
