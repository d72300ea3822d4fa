// The data sets that a curator serves, opened once at start.
#ifndef DPNMF_CURATOR_SERVE_CATALOG_H_
#define DPNMF_CURATOR_SERVE_CATALOG_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ratings/item_list.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Immutable once it is served; safe from any thread.
class Catalog {
 public:
  // Every data set below DATA_DIR; the first that cannot be opened is the
  // error. FAILED_PRECONDITION "dataset-name-differs" if a directory does not
  // have the name of its data set: two could have one name.
  static absl::StatusOr<Catalog> Open(const std::string& data_dir);
  // `items`: of the data sets of ratings, and the names of features as ids, by
  // name of the data set.
  static Catalog FromDatasets(std::vector<std::unique_ptr<Dataset>> datasets,
                              std::map<std::string, ItemList> items = {});

  // Another name under which Find finds a data set that there is; All does not
  // list it. False if the name is taken.
  bool AddAlias(const std::string& name, const std::string& dataset);

  // Null if there is none of that name.
  const Dataset* Find(const std::string& name) const;
  std::vector<const Dataset*> All() const;
  // The declared items of a data set of ratings, or the names of the features
  // as ids; null where there are none.
  const ItemList* ItemsOf(const std::string& name) const;

 private:
  std::map<std::string, std::unique_ptr<Dataset>> datasets_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, ItemList> items_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_CATALOG_H_
