#include "curator/serve/promise.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {

PopulationPolicy PromiseOf(const DatasetDescription& description) {
  return {description.population, description.adjacency, description.conversion,
          description.epsilon, description.delta};
}

absl::Status CheckPromise(const DatasetDescription& description,
                          const PopulationPolicy& policy) {
  const PopulationPolicy own = PromiseOf(description);
  if (own == policy) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "population-differs",
      absl::StrCat("The data set ", description.name, " was imported under ",
                   PolicyText(own), ", and the ledger has population ",
                   policy.population, " under ", PolicyText(policy),
                   ": import the data set again, with the population's "
                   "values."));
}

absl::Status CheckPromiseIn(const Ledger& ledger, const Dataset& dataset) {
  const DatasetDescription& description = dataset.description();
  const auto policy = ledger.Policy(description.population);
  if (!policy.ok()) {
    return Refusal(
        absl::StatusCode::kDataLoss, "population-unknown",
        absl::StrCat("The ledger has no population ", description.population,
                     ", which the data set ", description.name,
                     " belongs to: restore the ledger."));
  }
  return CheckPromise(description, *policy);
}

absl::Status CheckPromises(const Catalog& catalog, const Ledger& ledger) {
  for (const Dataset* dataset : catalog.All())
    DPNMF_RETURN_IF_ERROR(CheckPromiseIn(ledger, *dataset));
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
