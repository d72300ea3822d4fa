#include "lab/tables/table_people.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/files/entry.h"

namespace dpnmf::curator::lab {
namespace {

// Adds every person's line with id and class at their places in it, from 0.
void AddLines(const Table& table, std::optional<std::size_t> id_place,
              std::optional<std::size_t> class_place, PeopleCollector* people) {
  LinesOfPeople lines;
  lines.id_field = id_place;
  lines.class_field = class_place;
  std::vector<std::pair<std::size_t, const std::vector<std::string>*>> labels;
  if (id_place.has_value()) labels.emplace_back(*id_place, &table.ids);
  if (class_place.has_value())
    labels.emplace_back(*class_place, &table.classes);
  std::sort(labels.begin(), labels.end());
  lines.width = static_cast<std::size_t>(table.values.cols()) + labels.size();
  lines.is_entry.assign(lines.width, true);
  std::vector<float> line;
  for (Eigen::Index i = 0; i < table.people(); ++i) {
    line.clear();
    for (Eigen::Index j = 0; j < table.values.cols(); ++j)
      line.push_back(static_cast<float>(table.values(i, j)));
    for (const auto& [place, texts] : labels) {
      line.insert(line.begin() + static_cast<std::ptrdiff_t>(place),
                  ParseAnyFloat((*texts)[static_cast<std::size_t>(i)]));
    }
    people->AddLine(line, lines);
  }
}

}  // namespace

PeopleFingerprints PeopleOf(const Table& table, const TableOptions& options,
                            const FingerprintKey& key) {
  PeopleCollector people(key);
  for (const std::string& id : table.ids) people.AddId(id);
  const auto place_of = [](std::optional<int> flag,
                           const std::vector<std::string>& labels,
                           int before) -> std::optional<std::size_t> {
    if (!flag.has_value() || labels.empty()) return std::nullopt;
    return static_cast<std::size_t>(*flag - 1 - before);
  };
  // A line of people's names, which no table keeps, may stand before all.
  const int most_names = options.users_are_rows ? 0 : 1;
  for (int names = 0; names <= most_names; ++names) {
    const auto id = place_of(options.id_column, table.ids, names);
    const auto label = place_of(options.class_column, table.classes, names);
    const std::size_t width = static_cast<std::size_t>(table.values.cols()) +
                              (id.has_value() ? 1 : 0) +
                              (label.has_value() ? 1 : 0);
    // Not there: names cannot stand before what is first.
    if (id.value_or(0) >= width || label.value_or(0) >= width) continue;
    AddLines(table, id, label, &people);
  }
  return people.Finish();
}

}  // namespace dpnmf::curator::lab
