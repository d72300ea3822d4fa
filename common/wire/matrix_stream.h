// Matrices as chunks, and back.
#ifndef DPNMF_COMMON_WIRE_MATRIX_STREAM_H_
#define DPNMF_COMMON_WIRE_MATRIX_STREAM_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/nmf/noised_matrix.h"
#include "dpnmf/v1/curator.pb.h"
#include "dpnmf/v1/matrix.pb.h"

namespace dpnmf {

// DATA_LOSS "model-malformed": an answer that lacks what its header declares or
// the request asked for. what: "model".
absl::Status AnswerIncomplete(std::string_view what);

inline constexpr std::uint64_t kChunkEntries = 32'768;

// Calls write(chunk) for the entries of a matrix, column-major, in order; stops
// and returns false when write does.
bool WriteChunks(const Eigen::MatrixXd& matrix,
                 const std::function<bool(const v1::RealChunk&)>& write);

// Gathers the chunks of one real matrix. Not thread-safe.
class RealMatrixReader {
 public:
  // INVALID_ARGUMENT "matrix-shape" unless rows and columns are at least 1 and
  // at most the given largest values. Memory is taken as chunks arrive.
  static absl::StatusOr<RealMatrixReader> Create(const v1::MatrixShape& shape,
                                                 std::uint64_t largest_rows,
                                                 std::uint64_t largest_columns);
  // INVALID_ARGUMENT "matrix-chunk" if the chunk is empty, too long, out of
  // order or runs past the end.
  absl::Status Add(const v1::RealChunk& chunk);
  bool complete() const { return values_.size() == rows_ * columns_; }
  // Requires complete().
  Eigen::MatrixXd Take();

 private:
  RealMatrixReader(std::uint64_t rows, std::uint64_t columns)
      : rows_(rows), columns_(columns) {}
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::vector<double> values_;
};

v1::ReleasedPart HeaderOf(const NoisedMatrix& matrix);

// Gathers the parts of one release on the analyst's side. Not thread-safe.
class ReleaseReader {
 public:
  // INVALID_ARGUMENT "release-malformed" if a header is not one of a shape up
  // to largest_entries entries in all.
  static absl::StatusOr<ReleaseReader> Create(const v1::ReleaseStart& start,
                                              std::uint64_t largest_entries);
  // INVALID_ARGUMENT "release-malformed" for a chunk of the wrong kind, out of
  // order or past the end.
  absl::Status Add(const v1::LatticeChunk& chunk);
  absl::Status Add(const v1::RealChunk& chunk);
  bool complete() const;
  // Requires complete().
  std::vector<NoisedMatrix> Take();

 private:
  explicit ReleaseReader(std::vector<NoisedMatrix> parts)
      : parts_(std::move(parts)) {}
  std::vector<NoisedMatrix> parts_;
  std::size_t current_ = 0;
};

// Calls the writers for every chunk of one part, in order; false when one does.
bool WritePart(
    const NoisedMatrix& part,
    const std::function<bool(const v1::LatticeChunk&)>& write_lattice,
    const std::function<bool(const v1::RealChunk&)>& write_real);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_MATRIX_STREAM_H_
