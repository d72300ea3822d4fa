#include "common/wire/release.h"

#include <bit>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/error.h"

namespace dpnmf {
namespace {

static_assert(std::endian::native == std::endian::little,
              "entries are hashed as little-endian numbers");

constexpr std::string_view kDigestOfWhat = "dpnmf released 1";
// gRPC takes no larger message.
constexpr std::size_t kLargestMessage = std::size_t{4} << 20;

std::uint64_t AsUnsigned(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

absl::Status MalformedRound(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 sentence);
}

absl::Status FileMalformed() {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-file-malformed",
                 "The file is not a complete release; give a file that `dpnmf "
                 "export --bundle` wrote.");
}

Digest HashOfRest(std::string_view bytes) {
  return Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
}

bool Rise(const google::protobuf::RepeatedField<std::uint32_t>& rows) {
  for (int i = 1; i < rows.size(); ++i)
    if (rows[i] <= rows[i - 1]) return false;
  return true;
}

std::uint64_t EntriesIn(const v1::ReleaseRound& round) {
  std::uint64_t entries = 0;
  for (const v1::ReleasedPart& part : round.parts()) {
    const std::uint64_t more =
        EntryCount(part.shape().rows(), part.shape().columns(),
                   part.layout() == v1::LAYOUT_UPPER);
    if (more > UINT64_MAX - entries) return UINT64_MAX;
    entries += more;
  }
  return entries;
}

}  // namespace

Digest DigestOfRelease(const ReleaseFacts& facts,
                       const std::vector<NoisedMatrix>& parts) {
  const v1::StagePlan& stage = *facts.stage;
  Sha256 hash;
  hash.AddString(kDigestOfWhat)
      .AddString(facts.parameters->SerializeAsString())
      .AddString(stage.release())
      .AddInteger(facts.users)
      .AddInteger(facts.rows.size())
      .AddBytes(std::as_bytes(facts.rows));
  hash.AddInteger(static_cast<std::uint64_t>(stage.parts_size()));
  for (const v1::PartPlan& noise : stage.parts()) {
    hash.AddString(noise.name())
        .AddInteger(AsUnsigned(noise.step_exponent()))
        .AddInteger(noise.stddev_steps())
        .AddInteger(noise.diagonal_stddev_steps());
  }
  hash.AddInteger(parts.size());
  for (const NoisedMatrix& part : parts) {
    hash.AddString(part.name)
        .AddInteger(part.rows)
        .AddInteger(part.columns)
        .AddInteger(part.symmetric ? 1 : 0)
        .AddInteger(part.is_lattice ? 1 : 0)
        .AddInteger(AsUnsigned(part.step_exponent));
    if (part.is_lattice) {
      hash.AddInteger(part.lattice.size())
          .AddBytes(std::as_bytes(std::span(part.lattice)));
    } else {
      hash.AddInteger(part.reals.size())
          .AddBytes(std::as_bytes(std::span(part.reals)));
    }
  }
  if (facts.numbers.empty()) return hash.Finish();
  // The parts are of V as these numbers and W say: with others they would mean
  // something else.
  const Eigen::MatrixXd& w = *facts.w;
  return hash.AddInteger(facts.numbers.size())
      .AddBytes(std::as_bytes(facts.numbers))
      .AddInteger(static_cast<std::uint64_t>(w.rows()))
      .AddInteger(static_cast<std::uint64_t>(w.cols()))
      .AddBytes(std::as_bytes(
          std::span(w.data(), static_cast<std::size_t>(w.size()))))
      .Finish();
}

bool WriteRound(const CarriedRound& round,
                const std::function<bool(const v1::ReleaseReply&)>& write) {
  v1::ReleaseReply message;
  v1::ReleaseRound& header = *message.mutable_round();
  header.set_round(round.round);
  header.mutable_rows()->Add(round.rows.begin(), round.rows.end());
  for (const NoisedMatrix& part : round.parts)
    *header.add_parts() = HeaderOf(part);
  *header.mutable_receipt() = round.receipt;
  if (!write(message)) return false;
  for (const NoisedMatrix& part : round.parts) {
    const bool written = WritePart(
        part,
        [&](const v1::LatticeChunk& chunk) {
          *message.mutable_lattice() = chunk;
          return write(message);
        },
        [&](const v1::RealChunk& chunk) {
          *message.mutable_real() = chunk;
          return write(message);
        });
    if (!written) return false;
  }
  return true;
}

absl::Status CarriedRoundsReader::Add(const v1::ReleaseReply& message) {
  if (message.has_lattice() || message.has_real()) {
    if (!reader_.has_value())
      return MalformedRound("A chunk comes before its round.");
    return message.has_lattice() ? reader_->Add(message.lattice())
                                 : reader_->Add(message.real());
  }
  if (!message.has_round() || !complete())
    return MalformedRound("The messages of a round are out of order.");
  const v1::ReleaseRound& header = message.round();
  Finish();
  if (header.round() <= (rounds_.empty() ? 0 : rounds_.back().round))
    return MalformedRound("The rounds of a release must rise.");
  const std::uint64_t entries = EntriesIn(header);
  if (entries > entries_left_ ||
      static_cast<std::uint64_t>(header.rows_size()) > entries)
    return MalformedRound("The release has more entries than its plan allows.");
  if (!Rise(header.rows()))
    return MalformedRound("The rows of a round must rise.");
  v1::ReleaseStart start;
  *start.mutable_parts() = header.parts();
  DPNMF_ASSIGN_OR_RETURN(ReleaseReader reader,
                         ReleaseReader::Create(start, entries));
  entries_left_ -= entries;
  reader_ = std::move(reader);
  rounds_.push_back({header.round(),
                     {header.rows().begin(), header.rows().end()},
                     {},
                     header.receipt()});
  return absl::OkStatus();
}

void CarriedRoundsReader::Finish() {
  if (!reader_.has_value()) return;
  rounds_.back().parts = reader_->Take();
  reader_.reset();
}

std::vector<CarriedRound> CarriedRoundsReader::Take() {
  Finish();
  return std::move(rounds_);
}

std::string FramedRelease(const v1::ReleaseReply& message) {
  const std::string bytes = message.SerializeAsString();
  std::string framed;
  for (int shift = 0; shift < 32; shift += 8)
    framed.push_back(static_cast<char>(bytes.size() >> shift & 0xff));
  return framed + bytes;
}

std::string ReleaseFileOf(std::string_view framed) {
  const Digest digest = HashOfRest(framed);
  std::string file(kReleaseFileBegin);
  file.append(digest.begin(), digest.end());
  return file.append(framed);
}

absl::Status ReadReleaseFile(
    std::string_view bytes,
    const std::function<absl::Status(const v1::ReleaseReply&)>& take) {
  if (bytes.substr(0, kReleaseFileBegin.size()) != kReleaseFileBegin)
    return FileMalformed();
  bytes.remove_prefix(kReleaseFileBegin.size());
  if (bytes.size() <= sizeof(Digest)) return FileMalformed();
  const std::string_view digest = bytes.substr(0, sizeof(Digest));
  bytes.remove_prefix(sizeof(Digest));
  const Digest rest = HashOfRest(bytes);
  if (digest != std::string(rest.begin(), rest.end())) return FileMalformed();
  v1::ReleaseReply message;
  while (!bytes.empty()) {
    if (bytes.size() < 4) return FileMalformed();
    std::size_t size = 0;
    for (std::size_t i = 4; i-- > 0;)
      size = size << 8 | static_cast<unsigned char>(bytes[i]);
    bytes.remove_prefix(4);
    if (size > kLargestMessage || size > bytes.size()) return FileMalformed();
    const std::string_view one = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (!message.ParseFromArray(one.data(), static_cast<int>(one.size())))
      return FileMalformed();
    DPNMF_RETURN_IF_ERROR(take(message));
  }
  return absl::OkStatus();
}

}  // namespace dpnmf
