// Data that a run reads besides its releases: the data set's public facts and
// its declared items, or the names of its features. The data are asked of the
// curator once and kept with the run, so that a run goes on and its model is
// read without asking again.
#ifndef DPNMF_ANALYST_RUNS_RUN_ITEMS_H_
#define DPNMF_ANALYST_RUNS_RUN_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "analyst/store/run_store.h"
#include "common/ratings/item_list.h"
#include "common/ratings/learner.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

struct RunItems {
  RatingsFacts facts;  // with the features of the items
  ItemList items;      // without them
};

// From what is stored. FAILED_PRECONDITION "model-not-ready" until all items
// are; DATA_LOSS "state-damaged"; errors of PlanRun.
absl::StatusOr<RunItems> StoredItems(const std::string& run_id,
                                     const v1::RunSpecification& specification,
                                     RunStore* store);

// The same. What is not stored yet is asked of the curator and stored, a page
// at a time. Besides: INVALID_ARGUMENT "items-malformed"; CANCELLED "cancelled"
// once `stopped` says so, between pages; errors of the connection and of
// FindDataset.
absl::StatusOr<RunItems> FetchItems(const std::string& run_id,
                                    const v1::RunSpecification& specification,
                                    RunStore* store, CuratorConnection* curator,
                                    const std::function<bool()>& stopped);

// A data set with more features is shown without their names.
inline constexpr std::uint64_t kMostNames = 1'000'000;
// Limit on the memory of a list of names.
inline constexpr std::size_t kMostNameBytes = std::size_t{32} << 20;
// Returns true if runs on the data set keep the names or the weights of its
// features, which are public facts: RunStore::PutDataset when the run is added.
bool HasNames(const v1::Dataset& dataset);
// Asks for the names that are not stored yet, until `stopped` says so; nothing
// to do if there are none. A run is as good without them: errors (those of the
// connection, INVALID_ARGUMENT "items-malformed") need not end it.
absl::Status FetchNames(const std::string& run_id, RunStore* store,
                        CuratorConnection* curator,
                        const std::function<bool()>& stopped);
// Declared facts about the D features.
struct FeatureFacts {
  std::vector<std::string> ids = {};    // D: as listed; or none
  std::vector<std::string> names = {};  // D; or none
  std::vector<double> weights = {};     // D; or none

  // Takes the facts from the data set's whole list, which must have been read.
  static FeatureFacts Of(const v1::Dataset& dataset, ItemList list);
  // Returns true if the features of the data set have weights, and these are
  // not here.
  bool LackWeights(const v1::Dataset& dataset) const {
    return dataset.weighted_features() && weights.empty();
  }
};
// Empty: the data set has none, or they have not been fetched.
FeatureFacts StoredFeatures(const std::string& run_id, RunStore* store);
// Its names alone.
std::vector<std::string> StoredNames(const std::string& run_id,
                                     RunStore* store);

// INVALID_ARGUMENT "plan-differs" unless the curator's stages are those that
// follow from the run's parameters and the data set's facts: releases are read
// by them.
absl::Status CheckPlan(const RatingsFacts& facts, const v1::RunPlan& plan);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_RUN_ITEMS_H_
