#include "curator/session/promise.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {

PopulationPolicy PromiseOf(const DatasetDescription& description) {
  return {description.population, description.adjacency,
          description.conversion, description.epsilon,
          description.delta,      description.partitions};
}

namespace {

// Short, for it may be sent to a peer: without the names of partitions.
std::string ShortText(PopulationPolicy policy) {
  const PeoplePartitions partitions = std::exchange(policy.partitions, {});
  const std::string text = PolicyText(policy);
  if (!partitions.any()) return text;
  return absl::StrCat(text, " with ", partitions.names.size(),
                      " partitions by ", partitions.by);
}

}  // namespace

absl::Status CheckPromise(const DatasetDescription& description,
                          const PopulationPolicy& policy) {
  const PopulationPolicy own = PromiseOf(description);
  if (own == policy) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "population-differs",
      absl::StrCat("The data set ", description.name, " was imported under ",
                   ShortText(own), ", and the ledger has population ",
                   policy.population, " under ", ShortText(policy),
                   ": import the data set again, under another name and with "
                   "the population's values."));
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
  DPNMF_RETURN_IF_ERROR(CheckPromise(description, *policy));
  return CheckPartitionIn(ledger, description.name, description);
}

absl::Status CheckSamePartition(const DatasetDescription& description,
                                const AssignedPartition& in_ledger) {
  if (in_ledger == AssignedPartition{description.partition, description.people})
    return absl::OkStatus();
  const auto named = [](const std::string& partition) {
    return partition.empty() ? std::string("no partition")
                             : absl::StrCat("partition ", partition);
  };
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "partition-differs",
      absl::StrCat("The data set ", description.name, " was imported into ",
                   named(description.partition), ", and the ledger has ",
                   in_ledger.partition == description.partition
                       ? std::string("other people under this name")
                       : "it in " + named(in_ledger.partition),
                   ": restore the ledger and the data set that belong "
                   "together."));
}

absl::Status CheckPartitionIn(const Ledger& ledger, const std::string& name,
                              const DatasetDescription& description) {
  DPNMF_ASSIGN_OR_RETURN(const AssignedPartition assigned,
                         ledger.PartitionOf(description.population, name));
  return CheckSamePartition(description, assigned);
}

absl::Status CheckPromises(const Catalog& catalog, const Ledger& ledger) {
  for (const Dataset* dataset : catalog.All())
    DPNMF_RETURN_IF_ERROR(CheckPromiseIn(ledger, *dataset));
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
