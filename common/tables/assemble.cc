#include "common/tables/assemble.h"

#include <algorithm>
#include <limits>
#include <span>
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

// Offsets of the users' entries in an array sorted by user: users + 1 values.
std::vector<std::int64_t> Offsets(const std::vector<SparseEntry>& entries,
                                  std::uint64_t users) {
  std::vector<std::int64_t> offsets(users + 1);
  for (const SparseEntry& entry : entries)
    ++offsets[static_cast<std::size_t>(entry.user) + 1];
  for (std::uint64_t n = 0; n < users; ++n) offsets[n + 1] += offsets[n];
  return offsets;
}

std::vector<SparseEntry> SortedByUser(
    const std::vector<SparseEntry>& entries,
    const std::vector<std::int64_t>& offsets) {
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<SparseEntry> sorted(entries.size());
  for (const SparseEntry& entry : entries) {
    sorted[static_cast<std::size_t>(
        next[static_cast<std::size_t>(entry.user)]++)] = entry;
  }
  return sorted;
}

// Sorts one user's entries by feature; the earlier line first among equals.
absl::Status SortColumn(const InputFile& input, std::span<SparseEntry> column) {
  std::sort(column.begin(), column.end(),
            [](const SparseEntry& a, const SparseEntry& b) {
              return std::pair(a.feature, a.line) <
                     std::pair(b.feature, b.line);
            });
  const auto twice =
      std::adjacent_find(column.begin(), column.end(),
                         [](const SparseEntry& a, const SparseEntry& b) {
                           return a.feature == b.feature;
                         });
  if (twice == column.end()) return absl::OkStatus();
  return input.RefuseAt("input-duplicate", std::next(twice)->line, 1,
                        absl::StrCat("this entry is also in line ", twice->line,
                                     "; keep one of them"));
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

absl::StatusOr<LoadedMatrix> AssembleSparse(
    const InputFile& input, const std::vector<SparseEntry>& entries,
    std::uint64_t features, std::uint64_t users) {
  const std::vector<std::int64_t> offsets = Offsets(entries, users);
  std::vector<SparseEntry> sorted = SortedByUser(entries, offsets);
  LoadedMatrix matrix;
  matrix.features = features;
  matrix.users = users;
  matrix.sparse = true;
  matrix.values.reserve(sorted.size());
  matrix.indices.reserve(sorted.size());
  matrix.indptr.reserve(users + 1);
  matrix.indptr.push_back(0);
  for (std::uint64_t n = 0; n < users; ++n) {
    const auto column = std::span(sorted).subspan(
        static_cast<std::size_t>(offsets[n]),
        static_cast<std::size_t>(offsets[n + 1] - offsets[n]));
    DPNMF_RETURN_IF_ERROR(SortColumn(input, column));
    for (const SparseEntry& entry : column) {
      if (entry.value == 0) continue;
      matrix.indices.push_back(entry.feature);
      matrix.values.push_back(entry.value);
    }
    matrix.indptr.push_back(static_cast<std::int64_t>(matrix.values.size()));
  }
  return matrix;
}

}  // namespace dpnmf
