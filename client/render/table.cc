#include "client/render/table.h"

#include <algorithm>
#include <cstddef>

namespace dpnmf::cli {
namespace {

void AppendCell(const std::string& cell, std::size_t width, Align align,
                std::string* line) {
  const std::size_t padding = width - cell.size();
  if (align == Align::kRight) line->append(padding, ' ');
  line->append(cell);
  if (align == Align::kLeft) line->append(padding, ' ');
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Render(int indent) const {
  std::vector<std::string> headers;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    headers.push_back(columns_[i].header);
    std::size_t width = columns_[i].header.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text;
  const auto append_row = [&](const std::vector<std::string>& cells) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line.append("  ");
      AppendCell(cells[i], widths[i], columns_[i].align, &line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).push_back('\n');
  };
  const bool titled =
      std::any_of(headers.begin(), headers.end(),
                  [](const std::string& header) { return !header.empty(); });
  if (titled) append_row(headers);
  for (const auto& row : rows_) append_row(row);
  return text;
}

std::string KeyValueText(
    const std::vector<std::pair<std::string, std::string>>& lines, int indent) {
  Table table({{""}, {""}});
  for (const auto& [key, value] : lines) table.AddRow({key, value});
  return table.Render(indent);
}

}  // namespace dpnmf::cli
