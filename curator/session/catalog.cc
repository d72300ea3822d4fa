#include "curator/session/catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/data/removed.h"
#include "curator/import/readers/feature_weights.h"
#include "curator/import/readers/item_table.h"
#include "curator/session/access.h"

namespace dpnmf::curator {
namespace {

// The names and the weights of the features, in the place of items.
absl::StatusOr<ItemList> ReadNames(const std::string& directory,
                                   const DatasetDescription& description) {
  ItemList names;
  DPNMF_ASSIGN_OR_RETURN(names.ids, ReadFeatureNames(directory, description));
  DPNMF_ASSIGN_OR_RETURN(names.weights,
                         ReadFeatureWeights(directory, description));
  if (names.ids.empty()) {
    for (std::uint64_t i = 1; i <= description.features; ++i)
      names.ids.push_back(absl::StrCat(i));
  }
  names.names.resize(names.ids.size());
  names.features.resize(static_cast<Eigen::Index>(names.ids.size()), 0);
  return names;
}

absl::StatusOr<ItemList> ReadItems(const std::string& directory,
                                   const DatasetDescription& description) {
  if (!description.ratings.has_value())
    return ReadNames(directory, description);
  DPNMF_ASSIGN_OR_RETURN(ItemTable table,
                         ReadItemTable(directory, description));
  ItemList items;
  items.features = Eigen::Map<const Eigen::MatrixXd>(
      table.features.data(), static_cast<Eigen::Index>(table.ids.size()),
      static_cast<Eigen::Index>(table.feature_names.size()));
  items.ids = std::move(table.ids);
  items.names = std::move(table.names);
  items.feature_names = std::move(table.feature_names);
  return items;
}

}  // namespace

absl::StatusOr<Catalog> Catalog::Open(const std::string& data_dir) {
  Catalog catalog;
  DPNMF_ASSIGN_OR_RETURN(std::vector<CatalogEntry> entries,
                         catalog.OpenNew(data_dir));
  for (CatalogEntry& entry : entries) catalog.Add(std::move(entry));
  return catalog;
}

Catalog Catalog::FromDatasets(std::vector<std::unique_ptr<Dataset>> datasets,
                              std::map<std::string, ItemList> items) {
  Catalog catalog;
  State& state = *catalog.state_;
  const MutexLock lock(&state.mutex);
  state.items = std::move(items);
  for (std::unique_ptr<Dataset>& dataset : datasets) {
    const std::string name = dataset->description().name;
    state.datasets[name] = std::move(dataset);
  }
  return catalog;
}

bool Catalog::AddAlias(const std::string& name, const std::string& dataset) {
  const MutexLock lock(&state_->mutex);
  return !state_->datasets.contains(name) &&
         state_->aliases.emplace(name, dataset).second;
}

absl::Status Catalog::CheckIsNoAlias(const std::string& name) const {
  const MutexLock lock(&state_->mutex);
  if (!state_->aliases.contains(name)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, "federation-name-taken",
                 absl::StrCat("The federation of this curator has the name ",
                              name, ": give the data set another name."));
}

absl::Status Catalog::CheckIsNew(const std::string& name) const {
  DPNMF_RETURN_IF_ERROR(CheckIsNoAlias(name));
  if (!Has(name)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kAlreadyExists, "dataset-exists",
                 absl::StrCat("The server serves a data set named ", name,
                              ", whose directory was moved away since: put it "
                              "back, and choose another --name."));
}

bool Catalog::Has(const std::string& name) const {
  const MutexLock lock(&state_->mutex);
  return state_->datasets.contains(name);
}

absl::StatusOr<std::vector<CatalogEntry>> Catalog::OpenNew(
    const std::string& data_dir) const {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(data_dir));
  std::vector<CatalogEntry> entries;
  std::vector<StoredDescription> all;
  for (const Dataset* dataset : All())
    all.push_back({dataset->description(), dataset->private_fingerprint()});
  for (const std::string& name : names) {
    if (Has(name)) continue;
    DPNMF_RETURN_IF_ERROR(CheckIsNoAlias(name));
    CatalogEntry& entry = entries.emplace_back();
    DPNMF_ASSIGN_OR_RETURN(entry.dataset, Dataset::OpenNamed(data_dir, name));
    const DatasetDescription& description = entry.dataset->description();
    all.push_back({description, entry.dataset->private_fingerprint()});
    if (description.ratings.has_value() || description.named_features ||
        description.weighted_features) {
      DPNMF_ASSIGN_OR_RETURN(
          entry.items,
          ReadItems(DatasetDirectory(data_dir, name), description));
    }
  }
  DPNMF_RETURN_IF_ERROR(CheckOneBudget(all));
  return entries;
}

void Catalog::Add(CatalogEntry entry) {
  const std::string name = entry.dataset->description().name;
  const MutexLock lock(&state_->mutex);
  if (!state_->datasets.try_emplace(name, std::move(entry.dataset)).second)
    return;
  if (entry.items.has_value()) state_->items[name] = *std::move(entry.items);
  if (!entry.verified) state_->unverified.insert(name);
}

void Catalog::SetVerified(const std::string& name) {
  const MutexLock lock(&state_->mutex);
  state_->unverified.erase(name);
}

absl::StatusOr<const Dataset*> Catalog::Served(const std::string& name) const {
  const Dataset* const dataset = Find(name);
  if (dataset == nullptr) return UnknownDataset();
  const MutexLock lock(&state_->mutex);
  if (!state_->unverified.contains(dataset->description().name)) return dataset;
  return Refusal(absl::StatusCode::kUnavailable, "dataset-not-ready",
                 "The curator verifies the files of the data set and does not "
                 "serve it yet; try again later.");
}

std::vector<const Dataset*> Catalog::AllServed() const {
  const MutexLock lock(&state_->mutex);
  std::vector<const Dataset*> served;
  for (const auto& [name, dataset] : state_->datasets)
    if (!state_->unverified.contains(name)) served.push_back(dataset.get());
  return served;
}

const Dataset* Catalog::Find(const std::string& name) const {
  const MutexLock lock(&state_->mutex);
  const auto alias = state_->aliases.find(name);
  const auto found = state_->datasets.find(
      alias == state_->aliases.end() ? name : alias->second);
  return found == state_->datasets.end() ? nullptr : found->second.get();
}

const ItemList* Catalog::ItemsOf(const std::string& name) const {
  const MutexLock lock(&state_->mutex);
  const auto found = state_->items.find(name);
  return found == state_->items.end() ? nullptr : &found->second;
}

std::vector<const Dataset*> Catalog::All() const {
  const MutexLock lock(&state_->mutex);
  std::vector<const Dataset*> all;
  for (const auto& [name, dataset] : state_->datasets)
    all.push_back(dataset.get());
  return all;
}

}  // namespace dpnmf::curator
