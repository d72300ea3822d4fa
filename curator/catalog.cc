#include "curator/catalog.h"

#include "common/base/error.h"

namespace dpnmf::curator {

absl::StatusOr<Catalog> Catalog::Open(const std::string& data_dir) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(data_dir));
  std::vector<std::unique_ptr<Dataset>> datasets;
  for (const std::string& name : names) {
    DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset,
                           Dataset::Open(DatasetDirectory(data_dir, name)));
    datasets.push_back(std::move(dataset));
  }
  return FromDatasets(std::move(datasets));
}

Catalog Catalog::FromDatasets(std::vector<std::unique_ptr<Dataset>> datasets) {
  Catalog catalog;
  for (std::unique_ptr<Dataset>& dataset : datasets) {
    const std::string name = dataset->description().name;
    catalog.datasets_[name] = std::move(dataset);
  }
  return catalog;
}

const Dataset* Catalog::Find(const std::string& name) const {
  const auto found = datasets_.find(name);
  return found == datasets_.end() ? nullptr : found->second.get();
}

std::vector<const Dataset*> Catalog::All() const {
  std::vector<const Dataset*> all;
  for (const auto& [name, dataset] : datasets_) all.push_back(dataset.get());
  return all;
}

}  // namespace dpnmf::curator
