#include "curator/serve/catalog.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/import/item_table.h"

namespace dpnmf::curator {
namespace {

absl::Status CheckName(const Dataset& dataset, const std::string& name,
                       const std::string& data_dir) {
  const std::string& own = dataset.description().name;
  if (own == name) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "dataset-name-differs",
      absl::StrCat("The directory ", DatasetDirectory(data_dir, name),
                   " contains the data set ", own,
                   ": rename the directory to that name, or move it out of the "
                   "data directory."));
}

// The names of the features, in the place of items.
absl::StatusOr<ItemList> ReadNames(const std::string& directory,
                                   const DatasetDescription& description) {
  ItemList names;
  DPNMF_ASSIGN_OR_RETURN(names.ids, ReadFeatureNames(directory, description));
  names.names.resize(names.ids.size());
  names.features.resize(static_cast<Eigen::Index>(names.ids.size()), 0);
  return names;
}

absl::StatusOr<ItemList> ReadItems(const std::string& directory,
                                   const DatasetDescription& description) {
  if (description.named_features) return ReadNames(directory, description);
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
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(data_dir));
  std::vector<std::unique_ptr<Dataset>> datasets;
  std::map<std::string, ItemList> items;
  for (const std::string& name : names) {
    const std::string directory = DatasetDirectory(data_dir, name);
    DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset,
                           Dataset::Open(directory));
    DPNMF_RETURN_IF_ERROR(CheckName(*dataset, name, data_dir));
    if (dataset->description().ratings.has_value() ||
        dataset->description().named_features) {
      DPNMF_ASSIGN_OR_RETURN(items[name],
                             ReadItems(directory, dataset->description()));
    }
    datasets.push_back(std::move(dataset));
  }
  return FromDatasets(std::move(datasets), std::move(items));
}

Catalog Catalog::FromDatasets(std::vector<std::unique_ptr<Dataset>> datasets,
                              std::map<std::string, ItemList> items) {
  Catalog catalog;
  catalog.items_ = std::move(items);
  for (std::unique_ptr<Dataset>& dataset : datasets) {
    const std::string name = dataset->description().name;
    catalog.datasets_[name] = std::move(dataset);
  }
  return catalog;
}

bool Catalog::AddAlias(const std::string& name, const std::string& dataset) {
  return !datasets_.contains(name) && aliases_.emplace(name, dataset).second;
}

const Dataset* Catalog::Find(const std::string& name) const {
  const auto alias = aliases_.find(name);
  const auto found =
      datasets_.find(alias == aliases_.end() ? name : alias->second);
  return found == datasets_.end() ? nullptr : found->second.get();
}

const ItemList* Catalog::ItemsOf(const std::string& name) const {
  const auto found = items_.find(name);
  return found == items_.end() ? nullptr : &found->second;
}

std::vector<const Dataset*> Catalog::All() const {
  std::vector<const Dataset*> all;
  for (const auto& [name, dataset] : datasets_) all.push_back(dataset.get());
  return all;
}

}  // namespace dpnmf::curator
