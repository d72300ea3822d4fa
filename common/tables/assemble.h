// From what stands in a file to V, one column per user.
#ifndef DPNMF_COMMON_TABLES_ASSEMBLE_H_
#define DPNMF_COMMON_TABLES_ASSEMBLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/files/record_log.h"
#include "common/tables/load.h"

namespace dpnmf {

// values: rows * columns, row after row (row-major).
LoadedMatrix DenseOfRows(std::vector<float> values, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows);
// The same of a table (LoadTable).
LoadedMatrix DenseOfRows(std::vector<double> numbers, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows);

struct SparseEntry {
  std::int32_t feature = 0;  // both from 0
  std::int32_t user = 0;
  float value = 0;
  std::uint32_t line = 0;  // of the file, for the refusal of duplicates
};

// The last line read, as an entry remembers it.
std::uint32_t LineForMessages(const InputFile& input);

// Sorts the entries into columns and drops zeros. "input-duplicate" at the
// later of two entries with the same feature and user. features and users are
// at most kLargestExtent and above every index. Takes no memory but that of the
// result; "storage-failed".
absl::StatusOr<LoadedMatrix> AssembleSparse(
    const InputFile& input, const RecordLog<SparseEntry>& entries,
    std::uint64_t features, std::uint64_t users);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_ASSEMBLE_H_
