#include "lab/tables/trial_table.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/fields.h"

namespace dpnmf::curator::lab {

std::string Cell::Quoted(std::string_view words) {
  return words.find_first_of(",\"\r\n") == std::string_view::npos
             ? std::string(words)
             : CsvQuoted(words);
}

Cell::Cell(double figure)
    : text(std::isnan(figure) ? "" : absl::StrFormat("%.9g", figure)) {}

TrialTable::TrialTable(std::string_view names) : csv_(names) { csv_ += '\n'; }

void TrialTable::Add(std::vector<Cell> row, const std::vector<Cell>& others) {
  row.insert(row.end(), others.begin(), others.end());
  const char* separator = "";
  for (const Cell& cell : row) {
    absl::StrAppend(&csv_, separator, cell.text);
    separator = ",";
  }
  csv_ += '\n';
}

Spread SpreadOf(std::vector<double> figures) {
  std::erase_if(figures, [](double figure) { return std::isnan(figure); });
  if (figures.empty()) return {};
  std::sort(figures.begin(), figures.end());
  const std::size_t middle = figures.size() / 2;
  const double median = figures.size() % 2 == 1
                            ? figures[middle]
                            : (figures[middle - 1] + figures[middle]) / 2;
  return {median, figures.front(), figures.back()};
}

}  // namespace dpnmf::curator::lab
