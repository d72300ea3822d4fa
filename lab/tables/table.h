// A table in memory, one row a person, as the distortions and the attacks take
// it. Without privacy.
#ifndef DPNMF_LAB_TABLES_TABLE_H_
#define DPNMF_LAB_TABLES_TABLE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/tables/load.h"

namespace dpnmf::curator::lab {

struct Table {
  Eigen::MatrixXd values;            // people x columns; finite
  std::vector<std::string> columns;  // their names, or empty
  std::vector<std::string> ids;      // one a person, or empty
  std::vector<std::string> classes;  // label of each person, or empty

  Eigen::Index people() const { return values.rows(); }
};

struct TableOptions {
  bool users_are_rows = true;
  // Says that the first line holds names; if not set, it does if none of its
  // fields but class and id is a number. If users are columns, the names are
  // the people's (ids if no row of ids is declared), and lines may begin with
  // the name of a column.
  std::optional<bool> header;
  // Fields of the file, counted from 1: the column (the row where users are
  // columns) with the class, and the one with the id.
  std::optional<int> class_column;
  std::optional<int> id_column;
  bool one_class_is_refused = true;  // where classes are learned
  bool refuse_negative = false;      // for factorisations into parts
  LoadProgress progress;
  std::function<bool()> interrupted;  // as in LoadOptions
};

// Values of --class-column and --id-column: empty, a field's number from 1, or
// its name in the first line.
struct FieldFlags {
  std::string class_column, id_column;
};

// Sets class_column and id_column, and `header` where a name was given.
// INVALID_ARGUMENT "class-column-out-of-range", "id-column-out-of-range": no
// field of the first line has that name, or two have, or there are none to look
// at (people in columns, `header` false). Errors of InputFile.
absl::Status SetFields(const std::string& path, const FieldFlags& flags,
                       TableOptions* options);

// Reads a file as LoadTable does. Memory: three times the table. Classes and
// ids may be words; those of formats without fields are the shortest decimal
// form of the numbers. Errors of LoadTable; INVALID_ARGUMENT
// "class-column-out-of-range", "id-column-out-of-range", "classes-one" (all
// people have one label), "table-ids-repeated".
absl::StatusOr<Table> ReadTable(const std::string& path,
                                const TableOptions& options);

// CSV with a header if there are names; the id first and the class last where
// they are known; numbers in the shortest form that reads back to the same
// bits.
std::string TableCsv(const Table& table);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_TABLE_H_
