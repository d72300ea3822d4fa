#include "curator/commands/open_recommender.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/import/item_table.h"

namespace dpnmf::curator {

absl::StatusOr<OpenedRecommender> OpenRecommender(const std::string& data_dir,
                                                  const Dataset& dataset,
                                                  const std::string& model) {
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
  DPNMF_ASSIGN_OR_RETURN(const ItemTable items,
                         ReadItemTable(directory, description));
  DPNMF_ASSIGN_OR_RETURN(NamedItemModel named, ReadItemModel(model));
  DPNMF_ASSIGN_OR_RETURN(
      Recommender recommender,
      Recommender::Create(std::move(named), items.ids, *description.ratings));
  return OpenedRecommender{std::move(users), std::move(recommender)};
}

}  // namespace dpnmf::curator
