#include "curator/data/rated_users.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/read_file.h"

namespace dpnmf::curator {

struct RatedUsers::List {
  std::string text;
  std::vector<std::string_view> ids;  // into text
  absl::flat_hash_map<absl::string_view, std::uint64_t> columns;
};

RatedUsers::RatedUsers(std::unique_ptr<const List> list)
    : list_(std::move(list)) {}
RatedUsers::~RatedUsers() = default;
RatedUsers::RatedUsers(RatedUsers&&) noexcept = default;
RatedUsers& RatedUsers::operator=(RatedUsers&&) noexcept = default;

absl::StatusOr<RatedUsers> RatedUsers::Read(const std::string& directory,
                                            const Dataset& dataset) {
  const auto damaged = [&](std::string_view problem) {
    return Refusal(absl::StatusCode::kDataLoss, "dataset-damaged",
                   absl::StrCat("The data set at ", directory,
                                " is damaged: users.txt ", View(problem),
                                "; restore it from a backup or import it "
                                "again."));
  };
  auto text = ReadFile(absl::StrCat(directory, "/users.txt"), kOwnFileLimit);
  if (!text.ok()) return damaged("cannot be read");
  auto list = std::make_unique<List>();
  list->text = *std::move(text);
  std::string_view rest = list->text;
  if (!rest.empty() && rest.back() != '\n') return damaged("is cut off");
  while (!rest.empty()) {
    const std::string_view id = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(id.size() + 1);
    if (id.empty()) return damaged("has an empty line");
    if (!list->columns.try_emplace(View(id), list->ids.size()).second)
      return damaged("names a person twice");
    list->ids.push_back(id);
  }
  if (list->ids.size() > dataset.private_user_count())
    return damaged("names more people than there are");
  // A line that is lost would give people the columns of others.
  for (std::uint64_t n = list->ids.size(); n < dataset.private_user_count();
       ++n) {
    if (!dataset.RatingsOf(n).items.empty())
      return damaged("names fewer people than have ratings");
  }
  return RatedUsers(std::move(list));
}

std::uint64_t RatedUsers::size() const { return list_->ids.size(); }

std::optional<std::uint64_t> RatedUsers::Find(std::string_view id) const {
  const auto found = list_->columns.find(View(id));
  if (found == list_->columns.end()) return std::nullopt;
  return found->second;
}

std::string_view RatedUsers::IdOf(std::uint64_t column) const {
  return list_->ids[column];
}

}  // namespace dpnmf::curator
