// How a rank that waits for another one's message sleeps, and is woken when it
// is there. MPI tells nobody of a message: a rank that asks all the time takes
// the processor from those that compute, and one that sleeps comes late.
//
// A datagram says "look now", and carries nothing. One that is lost, or comes
// for nothing, costs the rest of a sleep or a look. Ranks of one machine find
// each other in the job's directory, which is of the curator's user alone;
// those of other machines are not there and are not woken.
#ifndef DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_
#define DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_

#include <chrono>
#include <string>

namespace dpnmf::curator {

// One for each rank. One thread may wait; others may wake at any time.
class WakeSocket {
 public:
  // directory: the job's; where it is not there, nobody can wake this rank.
  WakeSocket(const std::string& directory, int rank);
  ~WakeSocket();
  WakeSocket(const WakeSocket&) = delete;
  WakeSocket& operator=(const WakeSocket&) = delete;

  // Whether others can wake this rank.
  bool open() const { return descriptor_ >= 0; }

  // Does nothing where the rank is not on this machine. Never blocks.
  void Wake(int rank) const;

  // True as soon as somebody has woken this rank since the last call, false
  // after `time`.
  bool Sleep(std::chrono::nanoseconds time) const;

 private:
  std::string directory_;
  int descriptor_ = -1;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_
