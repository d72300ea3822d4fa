// A paid release outside the stream that brought it: what the curator signs of
// it, its messages (ReleaseReply), and the file that carries them from one
// analyst to another.
#ifndef DPNMF_COMMON_WIRE_RELEASE_H_
#define DPNMF_COMMON_WIRE_RELEASE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/nmf/noised_matrix.h"
#include "common/wire/matrix_stream.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf {

// SHA-256 of a round's release, over its entries as they are on the wire and
// over what they mean: the run's parameters, N, the rows that were asked for,
// the noise of each part of the stage and, where the request has numbers, these
// and its W. docs/reference/protocol.md has the order of the fields. All of it
// is released or public.
struct ReleaseFacts {
  const v1::RunParameters* parameters = nullptr;  // as ToProto writes them
  const v1::StagePlan* stage = nullptr;
  std::uint64_t users = 0;
  std::span<const std::uint32_t> rows = {};
  std::span<const double> numbers = {};
  const Eigen::MatrixXd* w = nullptr;  // needed with numbers alone
};
Digest DigestOfRelease(const ReleaseFacts& facts,
                       const std::vector<NoisedMatrix>& parts);

// One round of a release.
struct CarriedRound {
  std::uint32_t round = 0;
  std::vector<std::uint32_t> rows;
  std::vector<NoisedMatrix> parts;
  v1::Receipt receipt;
};

// Calls write(message) for the round and the chunks of its parts; stops and
// returns false when write does.
bool WriteRound(const CarriedRound& round,
                const std::function<bool(const v1::ReleaseReply&)>& write);

// Gathers the messages of rounds. Not thread-safe. Memory is taken as chunks
// arrive.
class CarriedRoundsReader {
 public:
  // At most largest_entries entries in all rounds together, and as many rows.
  explicit CarriedRoundsReader(std::uint64_t largest_entries)
      : entries_left_(largest_entries) {}

  // INVALID_ARGUMENT "release-malformed" for another kind of message, a round
  // before the one before is complete, a round that does not rise, rows that do
  // not rise, and as ReleaseReader does.
  absl::Status Add(const v1::ReleaseReply& message);
  bool complete() const { return !reader_.has_value() || reader_->complete(); }
  // Requires complete().
  std::vector<CarriedRound> Take();

 private:
  void Finish();
  std::uint64_t entries_left_;
  std::vector<CarriedRound> rounds_;
  std::optional<ReleaseReader> reader_;  // of the last round
};

// The file: "dpnmf release 1\n", the SHA-256 (32 bytes) of the rest, then each
// message with its length (four bytes, little-endian) in front. The hash finds
// accidents; receipts find forgery.
inline constexpr std::string_view kReleaseFileBegin = "dpnmf release 1\n";
std::string FramedRelease(const v1::ReleaseReply& message);
// All framed messages, one after the other, as a file.
std::string ReleaseFileOf(std::string_view framed);
// Calls take(message) for each message. INVALID_ARGUMENT
// "release-file-malformed": another file, or one that was changed or cut short;
// errors of `take`.
absl::Status ReadReleaseFile(
    std::string_view bytes,
    const std::function<absl::Status(const v1::ReleaseReply&)>& take);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_RELEASE_H_
