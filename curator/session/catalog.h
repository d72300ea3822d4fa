// The data sets that a curator serves: opened at start, and more of them while
// it runs (import --online).
#ifndef DPNMF_CURATOR_SESSION_CATALOG_H_
#define DPNMF_CURATOR_SESSION_CATALOG_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ratings/item_list.h"
#include "common/threads/mutex.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// A data set that a catalog may serve, with what ItemsOf tells of it.
struct CatalogEntry {
  std::unique_ptr<Dataset> dataset;
  std::optional<ItemList> items = std::nullopt;
  bool verified = false;
};

// A data set that is in it stays as it is, and lives as long as the catalog.
// Nobody is answered about it before its files are verified against the ledger
// (verification.h). Safe from any thread, but for moves.
class Catalog {
 public:
  // Every data set below DATA_DIR, none of them verified; the first that cannot
  // be opened is the error. FAILED_PRECONDITION "dataset-name-differs" if a
  // directory does not have the name of its data set: two could have one name;
  // "data-known" (CheckOneBudget).
  static absl::StatusOr<Catalog> Open(const std::string& data_dir);
  // Verified ones. `items`: of the data sets of ratings, and the names of
  // features as ids, by name of the data set.
  static Catalog FromDatasets(std::vector<std::unique_ptr<Dataset>> datasets,
                              std::map<std::string, ItemList> items = {});

  // Another name under which Find finds a data set that there is; All does not
  // list it. False if the name is taken.
  bool AddAlias(const std::string& name, const std::string& dataset);
  // FAILED_PRECONDITION "federation-name-taken" if a data set of this name
  // would hide behind an alias.
  absl::Status CheckIsNoAlias(const std::string& name) const;
  // The same; ALREADY_EXISTS "dataset-exists" if there is a data set of this
  // name: whatever happens to its directory, it stays what is served.
  absl::Status CheckIsNew(const std::string& name) const;
  // The data sets below DATA_DIR that the catalog does not have, in order.
  // Errors as Open and CheckIsNoAlias.
  absl::StatusOr<std::vector<CatalogEntry>> OpenNew(
      const std::string& data_dir) const;
  // Does nothing if the catalog has a data set of this name.
  void Add(CatalogEntry entry);

  // The files of the data set are verified: from now on it is served.
  void SetVerified(const std::string& name);

  // The data set for whoever asks the server. NOT_FOUND "dataset-unknown";
  // UNAVAILABLE "dataset-not-ready" until it is verified, in one sentence.
  absl::StatusOr<const Dataset*> Served(const std::string& name) const;
  std::vector<const Dataset*> AllServed() const;

  // The same for the operator, verified or not. Null if there is none of that
  // name.
  const Dataset* Find(const std::string& name) const;
  std::vector<const Dataset*> All() const;
  // The declared items of a data set of ratings, or the names of the features
  // as ids; null where there are none.
  const ItemList* ItemsOf(const std::string& name) const;

 private:
  // Not counting aliases.
  bool Has(const std::string& name) const;

  struct State {
    Mutex mutex;
    std::map<std::string, std::unique_ptr<Dataset>> datasets
        ABSL_GUARDED_BY(mutex);
    std::set<std::string> unverified ABSL_GUARDED_BY(mutex);
    std::map<std::string, std::string> aliases ABSL_GUARDED_BY(mutex);
    std::map<std::string, ItemList> items ABSL_GUARDED_BY(mutex);
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_CATALOG_H_
