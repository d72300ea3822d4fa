// A data set of ratings with its people and a model, for recommend and serve.
#ifndef DPNMF_CURATOR_COMMANDS_OPEN_RECOMMENDER_H_
#define DPNMF_CURATOR_COMMANDS_OPEN_RECOMMENDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/ratings/item_list.h"
#include "curator/data/dataset.h"
#include "curator/data/rated_users.h"
#include "curator/recommend/recommender.h"

namespace dpnmf::curator {

struct OpenedRecommender {
  RatedUsers users;
  Recommender recommender;
};

// `dataset` lies in DATA_DIR under its name. FAILED_PRECONDITION
// "dataset-not-ratings"; errors of RatedUsers::Read, ReadItemTable,
// ReadItemModel and Recommender::Create. `known`: the data set's items, or
// null: they are read.
absl::StatusOr<OpenedRecommender> OpenRecommender(const std::string& data_dir,
                                                  const Dataset& dataset,
                                                  const std::string& model,
                                                  const ItemList* known);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_OPEN_RECOMMENDER_H_
