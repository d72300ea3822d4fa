#include "lab/distort/places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Column = Eigen::Ref<const Eigen::VectorXd>;

struct Keyed {
  std::uint64_t key;
  int index;
};

// Key of a finite number: keys ascend as the numbers do; -0 is 0.
std::uint64_t KeyOf(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// By key, ties by the index: the least digit first, each time stable.
void SortByDigits(std::vector<Keyed>* entries) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  std::vector<Keyed> moved(entries->size());
  for (int shift = 0; shift < 64; shift += kBits) {
    const auto digit = [shift](const Keyed& entry) {
      return static_cast<std::size_t>(entry.key >> shift) % kDigits;
    };
    std::array<std::size_t, kDigits> next = {};
    for (const Keyed& entry : *entries) ++next[digit(entry)];
    if (next[digit(entries->front())] == entries->size()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const Keyed& entry : *entries) moved[next[digit(entry)]++] = entry;
    entries->swap(moved);
  }
}

// Indices of the entries from the least to the largest.
std::vector<int> OrderOf(const Column& column) {
  constexpr Index kFew = 10'000;
  std::vector<int> order(static_cast<std::size_t>(column.size()));
  if (column.size() <= kFew) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return column[i] < column[j]; });
    return order;
  }
  std::vector<Keyed> entries(order.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = {KeyOf(column[static_cast<Index>(i)]), static_cast<int>(i)};
  SortByDigits(&entries);
  for (std::size_t i = 0; i < entries.size(); ++i) order[i] = entries[i].index;
  return order;
}

std::vector<int> RanksOf(const std::vector<int>& order) {
  std::vector<int> ranks(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    ranks[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return ranks;
}

// Sum of the changes, and how many there are not.
struct Changes {
  double sum = 0;
  double none = 0;

  void Add(const std::vector<int>& of_a, const std::vector<int>& of_b) {
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      sum += std::abs(of_a[i] - of_b[i]);
      none += of_a[i] == of_b[i] ? 1 : 0;
    }
  }
};

struct BothChanges {
  Changes by_sort_index, by_rank;

  void Add(const Column& a, const Column& b) {
    const std::vector<int> of_a = OrderOf(a), of_b = OrderOf(b);
    by_sort_index.Add(of_a, of_b);
    by_rank.Add(RanksOf(of_a), RanksOf(of_b));
  }
};

}  // namespace

double ValueDifference(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).norm() / a.norm();
}

std::vector<int> PlacesOf(const Column& column, Place place) {
  std::vector<int> order = OrderOf(column);
  return place == Place::kSortIndex ? order : RanksOf(order);
}

BothPlaceChanges PlaceChangesOf(const MatrixXd& a, const MatrixXd& b) {
  BothChanges cells, columns;
  for (Index j = 0; j < a.cols(); ++j) cells.Add(a.col(j), b.col(j));
  columns.Add(a.colwise().mean().transpose(), b.colwise().mean().transpose());
  const auto size = static_cast<double>(a.size());
  const auto width = static_cast<double>(a.cols());
  const auto changes = [&](const Changes& of_cells, const Changes& of_columns) {
    return PlaceChanges{.rp = of_cells.sum / size,
                        .rk = of_cells.none / size,
                        .cp = of_columns.sum / width,
                        .ck = of_columns.none / width};
  };
  return {changes(cells.by_sort_index, columns.by_sort_index),
          changes(cells.by_rank, columns.by_rank)};
}

}  // namespace dpnmf::curator::lab
