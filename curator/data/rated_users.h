// Whom the columns of a data set of ratings are about: the operator's list.
// Private: it has no wire codec, and nothing of it is sent to an analyst.
//
// DATA_DIR/datasets/NAME/users.txt (mode 0600): the id of the person of column
// 0, 1, ... one a line, of the people that had a line in the imported file.
// Further columns belong to people without a rating, who have no id here.
#ifndef DPNMF_CURATOR_DATA_RATED_USERS_H_
#define DPNMF_CURATOR_DATA_RATED_USERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Immutable; safe to read from any thread.
class RatedUsers {
 public:
  // Reads DIRECTORY/users.txt of the data set. DATA_LOSS "dataset-damaged" if
  // it is missing, names somebody twice, names more people than the data set
  // has, or leaves out a column at the end that has ratings.
  static absl::StatusOr<RatedUsers> Read(const std::string& directory,
                                         const Dataset& dataset);
  ~RatedUsers();
  RatedUsers(RatedUsers&&) noexcept;
  RatedUsers& operator=(RatedUsers&&) noexcept;

  // Columns that have an id: 0 to size() - 1.
  std::uint64_t size() const;
  // The column of the person; nothing if nobody has this id.
  std::optional<std::uint64_t> Find(std::string_view id) const;
  // column < size(). Valid as long as this object is.
  std::string_view IdOf(std::uint64_t column) const;

 private:
  struct List;
  explicit RatedUsers(std::unique_ptr<const List> list);
  std::unique_ptr<const List> list_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_RATED_USERS_H_
