#include "analyst/runs/run_items.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "analyst/planning/planner.h"
#include "common/base/error.h"
#include "common/ratings/model_file.h"
#include "common/wire/convert.h"
#include "common/wire/item_pages.h"

namespace dpnmf::analyst {
namespace {

// Limit of pages of a list of names, to save the curator's time.
constexpr int kMostNamePages = 64;

absl::StatusOr<ItemPagesReader> ReaderFor(const v1::Dataset& dataset) {
  const std::uint32_t features = dataset.ratings().item_features();
  if (dataset.has_ratings() && features <= kMostItemFeatures &&
      dataset.features() <= static_cast<std::uint64_t>(kMostModelItems))
    return ItemPagesReader(dataset.features(), features);
  return Refusal(absl::StatusCode::kInvalidArgument, "items-malformed",
                 "The data set has no list of items that this analyst can "
                 "read; both sides must run the same version.");
}

absl::StatusOr<RunItems> ItemsOf(const v1::RunSpecification& specification,
                                 const v1::Dataset& dataset,
                                 ItemPagesReader reader) {
  RunItems run;
  DPNMF_ASSIGN_OR_RETURN(run.facts.parameters,
                         FromProto(specification.parameters()));
  DPNMF_ASSIGN_OR_RETURN(run.facts.dataset, FactsOf(dataset));
  DPNMF_ASSIGN_OR_RETURN(run.facts.plan,
                         PlanRun(run.facts.parameters, run.facts.dataset));
  run.items = reader.Take();
  run.facts.item_features = std::move(run.items.features);
  run.facts.non_negative = specification.learner().non_negative();
  return run;
}

absl::Status ReadStored(const std::string& run_id, RunStore* store,
                        ItemPagesReader* reader) {
  return store->ReadItemPages(run_id, [&](const v1::ListItemsReply& page) {
    return reader->Add(page).ok();
  });
}

// Fetches the pages that are not stored yet from the curator.
absl::Status FetchPages(const std::string& run_id, const std::string& dataset,
                        RunStore* store, CuratorConnection* curator,
                        const std::function<bool()>& stopped,
                        ItemPagesReader* reader) {
  DPNMF_RETURN_IF_ERROR(ReadStored(run_id, store, reader));
  while (!reader->complete()) {
    if (stopped()) {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "The run was stopped while its items were fetched.");
    }
    DPNMF_ASSIGN_OR_RETURN(const v1::ListItemsReply page,
                           curator->ListItems(dataset, reader->next()));
    DPNMF_RETURN_IF_ERROR(reader->Add(page));
    DPNMF_RETURN_IF_ERROR(store->PutItemPage(run_id, page));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasNames(const v1::Dataset& dataset) {
  return (dataset.named_features() || dataset.weighted_features()) &&
         !dataset.has_ratings() && dataset.features() <= kMostNames;
}

absl::StatusOr<RunItems> StoredItems(const std::string& run_id,
                                     const v1::RunSpecification& specification,
                                     RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<v1::Dataset> dataset,
                         store->ReadDataset(run_id));
  if (dataset.has_value()) {
    DPNMF_ASSIGN_OR_RETURN(ItemPagesReader reader, ReaderFor(*dataset));
    DPNMF_RETURN_IF_ERROR(ReadStored(run_id, store, &reader));
    if (reader.complete())
      return ItemsOf(specification, *dataset, std::move(reader));
  }
  return Refusal(absl::StatusCode::kFailedPrecondition, "model-not-ready",
                 "The run has not released anything yet; try again after its "
                 "first round.");
}

absl::StatusOr<RunItems> FetchItems(const std::string& run_id,
                                    const v1::RunSpecification& specification,
                                    RunStore* store, CuratorConnection* curator,
                                    const std::function<bool()>& stopped) {
  const std::string& name = specification.parameters().dataset();
  DPNMF_ASSIGN_OR_RETURN(std::optional<v1::Dataset> dataset,
                         store->ReadDataset(run_id));
  if (!dataset.has_value()) {
    DPNMF_ASSIGN_OR_RETURN(dataset, FindDataset(curator, name));
    DPNMF_RETURN_IF_ERROR(store->PutDataset(run_id, *dataset));
  }
  DPNMF_ASSIGN_OR_RETURN(ItemPagesReader reader, ReaderFor(*dataset));
  DPNMF_RETURN_IF_ERROR(
      FetchPages(run_id, name, store, curator, stopped, &reader));
  return ItemsOf(specification, *dataset, std::move(reader));
}

absl::Status FetchNames(const std::string& run_id, RunStore* store,
                        CuratorConnection* curator,
                        const std::function<bool()>& stopped) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<v1::Dataset> dataset,
                         store->ReadDataset(run_id));
  if (!dataset.has_value() || !HasNames(*dataset)) return absl::OkStatus();
  ItemPagesReader reader(dataset->features(), 0);
  DPNMF_RETURN_IF_ERROR(ReadStored(run_id, store, &reader));
  std::size_t bytes = 0;
  for (int pages = 0; !reader.complete() && !stopped(); ++pages) {
    DPNMF_ASSIGN_OR_RETURN(const v1::ListItemsReply page,
                           curator->ListItems(dataset->name(), reader.next()));
    bytes += page.ByteSizeLong();
    const bool plain =
        std::all_of(page.items().begin(), page.items().end(),
                    [](const v1::Item& item) { return item.name().empty(); });
    if (!plain || pages >= kMostNamePages || bytes > kMostNameBytes) {
      return Refusal(absl::StatusCode::kInvalidArgument, "items-malformed",
                     "The curator's list of names is malformed or too long; "
                     "both sides must run the same version.");
    }
    DPNMF_RETURN_IF_ERROR(reader.Add(page));
    DPNMF_RETURN_IF_ERROR(store->PutItemPage(run_id, page));
  }
  return absl::OkStatus();
}

FeatureFacts FeatureFacts::Of(const v1::Dataset& dataset, ItemList list) {
  FeatureFacts facts;
  if (dataset.named_features()) facts.names = list.ids;
  facts.ids = std::move(list.ids);
  if (dataset.weighted_features()) facts.weights = std::move(list.weights);
  return facts;
}

FeatureFacts StoredFeatures(const std::string& run_id, RunStore* store) {
  const auto dataset = store->ReadDataset(run_id);
  if (!dataset.ok() || !dataset->has_value() || !HasNames(**dataset)) return {};
  ItemPagesReader reader((*dataset)->features(), 0);
  if (!ReadStored(run_id, store, &reader).ok() || !reader.complete()) return {};
  return FeatureFacts::Of(**dataset, reader.Take());
}

std::vector<std::string> StoredNames(const std::string& run_id,
                                     RunStore* store) {
  return StoredFeatures(run_id, store).names;
}

absl::Status CheckPlan(const RatingsFacts& facts, const v1::RunPlan& plan) {
  bool equal = plan.stages_size() == static_cast<int>(facts.plan.stages.size());
  for (int i = 0; i < plan.stages_size() && equal; ++i) {
    equal =
        plan.stages(i).SerializeAsString() ==
        ToProto(facts.plan.stages[static_cast<std::size_t>(i)], facts.dataset)
            .SerializeAsString();
  }
  if (equal) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "plan-differs",
                 "The curator plans other releases than follow from the run's "
                 "parameters; both sides must run the same version.");
}

}  // namespace dpnmf::analyst
