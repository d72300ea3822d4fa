#include "curator/lab/tables/table_people.h"

#include <optional>
#include <vector>

#include "curator/import/entry.h"

namespace dpnmf::curator::lab {

PeopleFingerprints PeopleOf(const Table& table, const TableOptions& options,
                            const FingerprintKey& key) {
  PeopleCollector people(key);
  // Of the class among the values, from 0: the id is none of them.
  const int place = options.class_column.value_or(1) - 1 -
                    (options.id_column.value_or(0) > 0 &&
                             options.id_column < options.class_column
                         ? 1
                         : 0);
  std::vector<float> row;
  for (Eigen::Index i = 0; i < table.people(); ++i) {
    row.clear();
    for (Eigen::Index j = 0; j < table.values.cols(); ++j)
      row.push_back(static_cast<float>(table.values(i, j)));
    people.AddRow(row);
    const auto person = static_cast<std::size_t>(i);
    if (!table.classes.empty() && options.class_column.has_value()) {
      const auto number = ParseNumber(table.classes[person]);
      if (number.has_value()) {
        row.insert(row.begin() + place, static_cast<float>(*number));
        people.AddRow(row);
      }
    }
    if (!table.ids.empty()) people.AddId(table.ids[person]);
  }
  return people.Finish();
}

}  // namespace dpnmf::curator::lab
