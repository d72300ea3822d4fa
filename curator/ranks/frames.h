// Messages between the curator and its ranks, which are of one build: over a
// local stream socket between the curator and rank 0, and as messages of MPI
// from there. Exact private sums pass here: no part of them is for another
// party, and no message of the wire holds them.
//
//   rank 0 -> curator   Hello, once
//   curator -> rank 0   length, then a command
//   rank 0 -> curator   the words of an answer, AnswerWords(entries) of them
#ifndef DPNMF_CURATOR_RANKS_FRAMES_H_
#define DPNMF_CURATOR_RANKS_FRAMES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/socket_io.h"
#include "common/crypto/sha256.h"
#include "common/nmf/round_input.h"
#include "common/privacy/run_plan.h"

namespace dpnmf::curator {

// Inputs for a round's sums over a share of the people.
struct RankCommand {
  std::uint64_t number = 0;           // of the command, from 1
  std::uint64_t deadline_ms = 0;      // until the ranks give up
  std::string dataset;                // its name
  Digest files{};                     // Dataset::private_files
  Digest file_key{};                  // of the digests of its files
  std::string release;                // ReleaseKind::name
  std::uint64_t entries = 0;          // of all parts of the sums
  std::uint64_t coefficients = 0;     // names the run's H
  std::vector<std::uint64_t> forget;  // names of H that nobody needs any more
  // rank and the knobs of the fit (KnobsOfFit) alone.
  RunParameters parameters;
  // Bounds and bits alone.
  RunPlan plan;
  RoundInput input;
};

std::string BytesOf(const RankCommand& command);
// Returns nullopt unless the bytes are those of one whole command and no more.
std::optional<RankCommand> CommandOf(std::string_view bytes);

// ---- Answers

// sum over i of words[i] 0x9e3779b97f4a7c15^(n - i), modulo 2^64: linear, so
// that the check of a sum is the sum of the checks. The multiplier is odd: no
// change of one word leaves it as it is.
std::uint64_t LinearCheck(std::span<const std::uint64_t> words);

// An answer is: kAnswerMagic, the command's number, ranks that failed, people
// counted, entries; then the entries; then their check and the end mark.
inline constexpr std::uint64_t kAnswerMagic = 0x6470'6e6d'6672'616e;
inline constexpr std::uint64_t kAnswerEnd = 0x656e'6420'6f66'2069;
inline constexpr std::size_t kAnswerHead = 5, kAnswerTail = 2;
inline constexpr std::size_t AnswerWords(std::size_t entries) {
  return kAnswerHead + entries + kAnswerTail;
}

inline constexpr std::uint64_t kHelloMagic = 0x6470'6e6d'6668'656c;
struct Hello {
  std::uint64_t magic = kHelloMagic;
  std::uint64_t ranks = 0;
  std::uint64_t own_machine = 0;  // ranks on the machine of rank 0
};

// ---- Descriptors

// Room in the socket for whole commands and answers of usual sizes, as far as
// the system gives it: each stop on the way is a change of processes.
void WidenSocket(int descriptor);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_FRAMES_H_
