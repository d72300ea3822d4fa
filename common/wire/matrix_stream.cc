#include "common/wire/matrix_stream.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

// Kinds of release have a few parts each; a header with more is malformed.
constexpr int kMostParts = 16;
constexpr std::size_t kLongestPartName = 64;
// Steps of the lattices are powers of two from 2^-126 to 2^126.
constexpr int kLargestStepExponent = 126;

absl::Status BadShape(std::uint64_t largest_rows,
                      std::uint64_t largest_columns) {
  return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                 absl::StrCat("`shape` must have 1 to ", largest_rows,
                              " rows and 1 to ", largest_columns, " columns."));
}

absl::Status MalformedRelease(absl::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 std::string_view(sentence.data(), sentence.size()));
}

// Calls write(chunk) for consecutive pieces of up to kChunkEntries entries.
template <typename Chunk, typename Entry>
bool WriteEntries(const Entry* entries, std::uint64_t count,
                  const std::function<bool(const Chunk&)>& write) {
  Chunk chunk;
  for (std::uint64_t offset = 0; offset < count; offset += kChunkEntries) {
    const std::uint64_t end = std::min(count, offset + kChunkEntries);
    chunk.set_offset(offset);
    chunk.mutable_values()->Clear();
    chunk.mutable_values()->Add(entries + offset, entries + end);
    if (!write(chunk)) return false;
  }
  return true;
}

// Checks that `chunk` continues a matrix that has `held` of `total` entries.
template <typename Chunk>
bool Continues(const Chunk& chunk, std::uint64_t held, std::uint64_t total) {
  const auto size = static_cast<std::uint64_t>(chunk.values_size());
  return chunk.offset() == held && size >= 1 && size <= kChunkEntries &&
         size <= total - held;
}

std::uint64_t EntriesOf(const NoisedMatrix& part) {
  return EntryCount(part.rows, part.columns, part.symmetric);
}

std::uint64_t EntriesHeld(const NoisedMatrix& part) {
  return part.is_lattice ? part.lattice.size() : part.reals.size();
}

absl::StatusOr<NoisedMatrix> EmptyPartOf(const v1::ReleasedPart& header) {
  NoisedMatrix part;
  part.name = header.name();
  part.rows = header.shape().rows();
  part.columns = header.shape().columns();
  part.symmetric = header.layout() == v1::LAYOUT_UPPER;
  part.is_lattice = header.lattice();
  part.step_exponent = header.step_exponent();
  if (part.name.empty() || part.name.size() > kLongestPartName) {
    return MalformedRelease("A part of the release has no proper name.");
  }
  if (header.layout() != v1::LAYOUT_FULL &&
      header.layout() != v1::LAYOUT_UPPER) {
    return MalformedRelease("A part of the release has an unknown `layout`.");
  }
  if (part.rows == 0 || part.columns == 0 ||
      (part.symmetric && part.rows != part.columns)) {
    return MalformedRelease("A part of the release has an impossible `shape`.");
  }
  if (part.step_exponent < -kLargestStepExponent ||
      part.step_exponent > kLargestStepExponent) {
    return MalformedRelease(
        "A part of the release has an impossible `step_exponent`.");
  }
  return part;
}

}  // namespace

absl::Status AnswerIncomplete(std::string_view what) {
  return Refusal(
      absl::StatusCode::kDataLoss, "model-malformed",
      absl::StrCat("The server's ", View(what), " is incomplete; ask again."));
}

bool WriteChunks(const Eigen::MatrixXd& matrix,
                 const std::function<bool(const v1::RealChunk&)>& write) {
  return WriteEntries<v1::RealChunk>(
      matrix.data(), static_cast<std::uint64_t>(matrix.size()), write);
}

absl::StatusOr<RealMatrixReader> RealMatrixReader::Create(
    const v1::MatrixShape& shape, std::uint64_t largest_rows,
    std::uint64_t largest_columns) {
  // More entries than this no memory holds; below it no product overflows.
  constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 40;
  if (shape.rows() < 1 || shape.rows() > largest_rows || shape.columns() < 1 ||
      shape.columns() > largest_columns ||
      EntryCount(shape.rows(), shape.columns(), false) > kMostEntries) {
    return BadShape(largest_rows, largest_columns);
  }
  return RealMatrixReader(shape.rows(), shape.columns());
}

absl::Status RealMatrixReader::Add(const v1::RealChunk& chunk) {
  if (!Continues(chunk, values_.size(), rows_ * columns_)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "matrix-chunk",
        absl::StrCat("A chunk must begin at entry ", values_.size(),
                     ", hold 1 to ", kChunkEntries,
                     " entries and end by entry ", rows_ * columns_, "."));
  }
  values_.insert(values_.end(), chunk.values().begin(), chunk.values().end());
  return absl::OkStatus();
}

Eigen::MatrixXd RealMatrixReader::Take() {
  Eigen::MatrixXd matrix = Eigen::Map<const Eigen::MatrixXd>(
      values_.data(), static_cast<Eigen::Index>(rows_),
      static_cast<Eigen::Index>(columns_));
  values_ = {};
  return matrix;
}

v1::ReleasedPart HeaderOf(const NoisedMatrix& matrix) {
  v1::ReleasedPart header;
  header.set_name(matrix.name);
  header.mutable_shape()->set_rows(matrix.rows);
  header.mutable_shape()->set_columns(matrix.columns);
  header.set_layout(matrix.symmetric ? v1::LAYOUT_UPPER : v1::LAYOUT_FULL);
  header.set_lattice(matrix.is_lattice);
  header.set_step_exponent(matrix.step_exponent);
  return header;
}

absl::StatusOr<ReleaseReader> ReleaseReader::Create(
    const v1::ReleaseStart& start, std::uint64_t largest_entries) {
  if (start.parts_size() < 1 || start.parts_size() > kMostParts) {
    return MalformedRelease("A release must have 1 to 16 parts.");
  }
  std::vector<NoisedMatrix> parts;
  std::set<std::string> names;
  std::uint64_t entries_left = largest_entries;
  for (const v1::ReleasedPart& header : start.parts()) {
    DPNMF_ASSIGN_OR_RETURN(NoisedMatrix part, EmptyPartOf(header));
    if (!names.insert(part.name).second) {
      return MalformedRelease("Two parts of the release have one name.");
    }
    if (EntriesOf(part) > entries_left) {
      return MalformedRelease(
          "The release has more entries than the run's shapes allow.");
    }
    entries_left -= EntriesOf(part);
    parts.push_back(std::move(part));
  }
  return ReleaseReader(std::move(parts));
}

namespace {

// Adds the chunk to the first part that is not full.
template <typename Chunk, typename Entry>
absl::Status AddTo(const Chunk& chunk, bool is_lattice,
                   std::vector<Entry> NoisedMatrix::*entries,
                   std::vector<NoisedMatrix>* parts, std::size_t* current) {
  if (*current == parts->size()) {
    return MalformedRelease("A chunk follows a release that was complete.");
  }
  NoisedMatrix& part = (*parts)[*current];
  if (part.is_lattice != is_lattice) {
    return MalformedRelease("A chunk has another kind than its part's header.");
  }
  if (!Continues(chunk, EntriesHeld(part), EntriesOf(part))) {
    return MalformedRelease("A chunk is empty, too long or out of order.");
  }
  (part.*entries)
      .insert((part.*entries).end(), chunk.values().begin(),
              chunk.values().end());
  if (EntriesHeld(part) == EntriesOf(part)) ++*current;
  return absl::OkStatus();
}

}  // namespace

absl::Status ReleaseReader::Add(const v1::LatticeChunk& chunk) {
  return AddTo(chunk, /*is_lattice=*/true, &NoisedMatrix::lattice, &parts_,
               &current_);
}

absl::Status ReleaseReader::Add(const v1::RealChunk& chunk) {
  return AddTo(chunk, /*is_lattice=*/false, &NoisedMatrix::reals, &parts_,
               &current_);
}

bool ReleaseReader::complete() const { return current_ == parts_.size(); }

std::vector<NoisedMatrix> ReleaseReader::Take() { return std::move(parts_); }

bool WritePart(
    const NoisedMatrix& part,
    const std::function<bool(const v1::LatticeChunk&)>& write_lattice,
    const std::function<bool(const v1::RealChunk&)>& write_real) {
  return part.is_lattice
             ? WriteEntries<v1::LatticeChunk>(
                   part.lattice.data(), part.lattice.size(), write_lattice)
             : WriteEntries<v1::RealChunk>(part.reals.data(), part.reals.size(),
                                           write_real);
}

}  // namespace dpnmf
