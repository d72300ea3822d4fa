#include "common/tables/sum_rows.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/entry.h"

namespace dpnmf {

absl::Status SumRows(const InputFile& input, std::size_t width,
                     std::vector<std::string>* ids,
                     std::vector<std::int32_t>* labels,
                     std::vector<float>* values) {
  std::unordered_map<std::string, std::size_t> person_of;
  std::vector<std::vector<std::size_t>> rows;  // of each person
  std::vector<std::string> people;
  for (std::size_t row = 0; row < ids->size(); ++row) {
    const auto [person, is_new] =
        person_of.try_emplace((*ids)[row], people.size());
    if (is_new) {
      people.push_back((*ids)[row]);
      rows.emplace_back();
    }
    rows[person->second].push_back(row);
  }
  std::vector<std::int32_t> labels_of_people;
  std::vector<float> sums;
  sums.reserve(people.size() * width);
  std::vector<float> entries;
  for (std::size_t n = 0; n < people.size(); ++n) {
    for (const std::size_t row : rows[n]) {
      if (labels->empty() || (*labels)[row] == (*labels)[rows[n][0]]) continue;
      return input.RefuseAt("input-duplicate", 0, 0,
                            absl::StrCat("the rows of ", Quoted(people[n]),
                                         " have different classes; give a "
                                         "person one class"));
    }
    if (!labels->empty()) labels_of_people.push_back((*labels)[rows[n][0]]);
    for (std::size_t d = 0; d < width; ++d) {
      entries.clear();
      for (const std::size_t row : rows[n])
        entries.push_back((*values)[row * width + d]);
      std::sort(entries.begin(), entries.end());
      double sum = 0;
      for (const float entry : entries) sum += static_cast<double>(entry);
      sums.push_back(0);
      if (const auto problem = ToEntry(sum, &sums.back())) {
        return input.RefuseAt(
            problem->code, 0, 0,
            absl::StrCat("the sum of the rows of ", Quoted(people[n]),
                         " in feature ", d + 1, ": ", problem->sentence));
      }
    }
  }
  *ids = std::move(people);
  *labels = std::move(labels_of_people);
  *values = std::move(sums);
  return absl::OkStatus();
}

}  // namespace dpnmf
