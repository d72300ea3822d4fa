// A table of trials: what was tried, what was measured; and figures that were
// measured more than once, summed up.
#ifndef DPNMF_LAB_TABLES_TRIAL_TABLE_H_
#define DPNMF_LAB_TABLES_TRIAL_TABLE_H_

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpnmf::curator::lab {

// A figure that was not measured.
inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// A field of a CSV file: text with RFC 4180 quoting, a whole number, or a
// figure of nine digits, which is empty if it was not measured.
struct Cell {
  Cell(const std::convertible_to<std::string_view> auto& words)  // NOLINT
      : text(Quoted(words)) {}
  Cell(std::integral auto number) : text(std::to_string(number)) {}  // NOLINT
  Cell(double figure);                                               // NOLINT

  std::string text;

 private:
  static std::string Quoted(std::string_view words);
};

// A CSV file that grows by rows.
class TrialTable {
 public:
  // `names`: of the columns, separated by commas.
  explicit TrialTable(std::string_view names);
  // Adds as many cells as there are names: the first ones, then the others.
  void Add(std::vector<Cell> row, const std::vector<Cell>& others = {});
  const std::string& Csv() const { return csv_; }

 private:
  std::string csv_;
};

// Over the repeats of a trial. Figures that were not measured are left out; all
// of it is kNotMeasured if none was.
struct Spread {
  double median = kNotMeasured, least = kNotMeasured, largest = kNotMeasured;
};
Spread SpreadOf(std::vector<double> figures);

template <typename Trial>
using Repeats = std::vector<const Trial*>;

// The trials that are the same but for the repeat, in the order of their first.
template <typename Trial, typename Same>
std::vector<Repeats<Trial>> RepeatsOf(const std::vector<Trial>& trials,
                                      const Same& same) {
  std::vector<Repeats<Trial>> groups;
  for (const Trial& trial : trials) {
    const auto group = std::find_if(
        groups.begin(), groups.end(),
        [&](const Repeats<Trial>& other) { return same(*other[0], trial); });
    if (group == groups.end()) {
      groups.push_back({&trial});
    } else {
      group->push_back(&trial);
    }
  }
  return groups;
}

template <typename Trial, typename Figure>
Spread SpreadOver(const Repeats<Trial>& repeats, const Figure& figure) {
  std::vector<double> figures;
  for (const Trial* trial : repeats) figures.push_back(figure(*trial));
  return SpreadOf(std::move(figures));
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_TRIAL_TABLE_H_
