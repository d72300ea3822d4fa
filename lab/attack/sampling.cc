#include "lab/attack/sampling.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace dpnmf::curator::lab {

std::vector<int> AllOf(Eigen::Index count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

RowKinds KindsOfRows(const Eigen::MatrixXd& rows) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(rows.rows()),
                                    0xcbf29ce484222325u);
  for (Eigen::Index c = 0; c < rows.cols(); ++c) {
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      std::uint64_t& hash = hashes[static_cast<std::size_t>(r)];
      hash = (hash ^ std::bit_cast<std::uint64_t>(rows(r, c) + 0.0)) *
             0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
  }
  // By hash, then by the numbers: rows with one hash need not be equal.
  const auto compare = [&](int a, int b) {
    const std::uint64_t of_a = hashes[static_cast<std::size_t>(a)];
    const std::uint64_t of_b = hashes[static_cast<std::size_t>(b)];
    if (of_a != of_b) return of_a < of_b ? -1 : 1;
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      if (rows(a, c) != rows(b, c)) return rows(a, c) < rows(b, c) ? -1 : 1;
    }
    return 0;
  };
  std::vector<int> sorted = AllOf(rows.rows());
  std::sort(sorted.begin(), sorted.end(),
            [&](int a, int b) { return compare(a, b) < 0; });
  RowKinds kinds;
  for (std::size_t from = 0, to; from < sorted.size(); from = to) {
    for (to = from + 1;
         to < sorted.size() && compare(sorted[from], sorted[to]) == 0;)
      ++to;
    ++kinds.distinct;
    if (to == from + 1) kinds.once.push_back(sorted[from]);
  }
  std::sort(kinds.once.begin(), kinds.once.end());
  return kinds;
}

}  // namespace dpnmf::curator::lab
