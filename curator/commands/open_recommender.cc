#include "curator/commands/open_recommender.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/import/readers/item_table.h"

namespace dpnmf::curator {

absl::StatusOr<OpenedRecommender> OpenRecommender(const std::string& data_dir,
                                                  const Dataset& dataset,
                                                  const std::string& model,
                                                  const ItemList* known) {
  const DatasetDescription& description = dataset.description();
  if (!description.ratings.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "dataset-not-ratings",
                   absl::StrCat("The data set ", description.name,
                                " has no ratings: name one that was imported "
                                "with --ratings."));
  }
  const std::string directory = DatasetDirectory(data_dir, description.name);
  DPNMF_ASSIGN_OR_RETURN(RatedUsers users,
                         RatedUsers::Read(directory, dataset));
  std::vector<std::string> ids, names;
  if (known != nullptr) {
    ids = known->ids;
    names = known->names;
  } else {
    DPNMF_ASSIGN_OR_RETURN(ItemTable items,
                           ReadItemTable(directory, description));
    ids = std::move(items.ids);
    names = std::move(items.names);
  }
  // The table has the id where no name was declared.
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == ids[i]) names[i].clear();
  DPNMF_ASSIGN_OR_RETURN(NamedItemModel named, ReadItemModel(model));
  DPNMF_ASSIGN_OR_RETURN(
      Recommender recommender,
      Recommender::Create(std::move(named), ids, std::move(names),
                          *description.ratings));
  return OpenedRecommender{std::move(users), std::move(recommender)};
}

}  // namespace dpnmf::curator
