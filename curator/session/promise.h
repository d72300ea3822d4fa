// Checks that data sets have the promise that the ledger has for their
// population.
//
// The cost of a release follows from the relation between neighbours, and the
// amount that may be spent from the cap. Both are the population's, as it was
// declared in the ledger. A data set's own file says the same as long as it was
// imported into this data directory; one that was moved here from another may
// not.
#ifndef DPNMF_CURATOR_SESSION_PROMISE_H_
#define DPNMF_CURATOR_SESSION_PROMISE_H_

#include "absl/status/status.h"
#include "curator/data/dataset.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"

namespace dpnmf::curator {

// Promise in the data set's own file.
PopulationPolicy PromiseOf(const DatasetDescription& description);

// FAILED_PRECONDITION "population-differs" unless the relation, the conversion,
// epsilon, delta and the partitions of people are those of `policy`, bit for
// bit. Every number in the
// sentence was declared; it may be sent to a peer.
absl::Status CheckPromise(const DatasetDescription& description,
                          const PopulationPolicy& policy);

// FAILED_PRECONDITION "partition-differs" unless the ledger books runs on a
// data set of that name to the partition that the data set was imported into,
// with the people that are in it. `name` is what a run calls it.
absl::Status CheckPartitionIn(const Ledger& ledger, const std::string& name,
                              const DatasetDescription& description);
// The same, of what the ledger has.
absl::Status CheckSamePartition(const DatasetDescription& description,
                                const AssignedPartition& in_ledger);

// CheckPromise and CheckPartitionIn of a data set against its population's
// policy; DATA_LOSS "population-unknown" if the ledger has none: it could not
// be charged.
absl::Status CheckPromiseIn(const Ledger& ledger, const Dataset& dataset);
// The same for each data set.
absl::Status CheckPromises(const Catalog& catalog, const Ledger& ledger);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_PROMISE_H_
