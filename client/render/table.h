// Plain text tables: aligned columns, two spaces between, no rules.
#ifndef DPNMF_CLIENT_RENDER_TABLE_H_
#define DPNMF_CLIENT_RENDER_TABLE_H_

#include <string>
#include <utility>
#include <vector>

namespace dpnmf::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string header;
  Align align = Align::kLeft;
};

// Rows of cells under headers. Cells are ASCII and without line breaks.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell for each column.
  void AddRow(std::vector<std::string> cells);
  // Each line begins with `indent` spaces, ends with a line break and has no
  // blanks at its end. The header line is left out if all headers are empty.
  std::string Render(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "key    value" lines with the values aligned.
std::string KeyValueText(
    const std::vector<std::pair<std::string, std::string>>& lines,
    int indent = 0);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_TABLE_H_
