#include "common/tables/assemble.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {
namespace {

// values: rows x columns, row-major. Squares of 32 x 32 stay in cache.
template <typename Entry>
std::vector<Entry> Transposed(const std::vector<Entry>& values,
                              std::uint64_t rows, std::uint64_t columns) {
  constexpr std::uint64_t kBlock = 32;
  std::vector<Entry> result(values.size());
  for (std::uint64_t i0 = 0; i0 < rows; i0 += kBlock) {
    for (std::uint64_t j0 = 0; j0 < columns; j0 += kBlock) {
      for (std::uint64_t i = i0; i < std::min(rows, i0 + kBlock); ++i) {
        for (std::uint64_t j = j0; j < std::min(columns, j0 + kBlock); ++j) {
          result[j * rows + i] = values[i * columns + j];
        }
      }
    }
  }
  return result;
}

using EntryLog = RecordLog<SparseEntry>;

// Refuses entries of one place, of which there are two or more.
absl::Status RefuseTwice(const InputFile& input, const EntryLog& entries,
                         std::int32_t user, std::int32_t feature) {
  std::vector<std::uint32_t> lines;
  DPNMF_RETURN_IF_ERROR(entries.ForEach([&](const SparseEntry& entry) {
    if (entry.user == user && entry.feature == feature && lines.size() < 2)
      lines.push_back(entry.line);
  }));
  return input.RefuseAt("input-duplicate", lines.at(1), 1,
                        absl::StrCat("this entry is also in line ", lines.at(0),
                                     "; keep one of them"));
}

// Puts the entries into the columns of their users: users + 1 offsets.
absl::StatusOr<std::vector<std::int64_t>> FillColumns(const EntryLog& entries,
                                                      std::uint64_t users,
                                                      LoadedMatrix* matrix) {
  std::vector<std::int64_t> offsets(users + 1);
  DPNMF_RETURN_IF_ERROR(entries.ForEach([&](const SparseEntry& entry) {
    ++offsets[static_cast<std::size_t>(entry.user) + 1];
  }));
  for (std::uint64_t n = 0; n < users; ++n) offsets[n + 1] += offsets[n];
  matrix->values.resize(entries.size());
  matrix->indices.resize(entries.size());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  DPNMF_RETURN_IF_ERROR(entries.ForEach([&](const SparseEntry& entry) {
    const auto at =
        static_cast<std::size_t>(next[static_cast<std::size_t>(entry.user)]++);
    matrix->values[at] = entry.value;
    matrix->indices[at] = entry.feature;
  }));
  return offsets;
}

// Sets matrix.*entries.
template <typename Entry>
LoadedMatrix Dense(std::vector<Entry> LoadedMatrix::*entries,
                   std::vector<Entry> values, std::uint64_t rows,
                   std::uint64_t columns, bool users_are_rows) {
  LoadedMatrix matrix;
  matrix.features = users_are_rows ? columns : rows;
  matrix.users = users_are_rows ? rows : columns;
  // A row of the file is a column of V: row-major is column-major already.
  matrix.*entries =
      users_are_rows ? std::move(values) : Transposed(values, rows, columns);
  return matrix;
}

}  // namespace

LoadedMatrix DenseOfRows(std::vector<float> values, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows) {
  return Dense(&LoadedMatrix::values, std::move(values), rows, columns,
               users_are_rows);
}

LoadedMatrix DenseOfRows(std::vector<double> numbers, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows) {
  return Dense(&LoadedMatrix::numbers, std::move(numbers), rows, columns,
               users_are_rows);
}

std::uint32_t LineForMessages(const InputFile& input) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(input.line_number(), kLargest));
}

absl::StatusOr<LoadedMatrix> AssembleSparse(const InputFile& input,
                                            const EntryLog& entries,
                                            std::uint64_t features,
                                            std::uint64_t users) {
  LoadedMatrix matrix;
  matrix.features = features;
  matrix.users = users;
  matrix.sparse = true;
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::int64_t> offsets,
                         FillColumns(entries, users, &matrix));
  matrix.indptr.reserve(users + 1);
  matrix.indptr.push_back(0);
  std::vector<std::pair<std::int32_t, float>> column;
  std::size_t out = 0;
  for (std::uint64_t n = 0; n < users; ++n) {
    column.clear();
    for (auto at = static_cast<std::size_t>(offsets[n]);
         at < static_cast<std::size_t>(offsets[n + 1]); ++at)
      column.emplace_back(matrix.indices[at], matrix.values[at]);
    std::sort(column.begin(), column.end());
    const auto twice = std::adjacent_find(
        column.begin(), column.end(),
        [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != column.end()) {
      return RefuseTwice(input, entries, static_cast<std::int32_t>(n),
                         twice->first);
    }
    for (const auto& [feature, value] : column) {
      if (value == 0) continue;
      matrix.indices[out] = feature;
      matrix.values[out++] = value;
    }
    matrix.indptr.push_back(static_cast<std::int64_t>(out));
  }
  matrix.indices.resize(out);
  matrix.values.resize(out);
  return matrix;
}

}  // namespace dpnmf
