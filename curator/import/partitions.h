// Checks whether people may be imported into a partition of their population
// (docs/reference/growing.md): nobody may be in two.
//
// People are recognised by keyed fingerprints of their ids. The same person
// under two ids is not recognised, so the ids are compared in a form that does
// not know the commonest ways of writing one id twice.
#ifndef DPNMF_CURATOR_IMPORT_PARTITIONS_H_
#define DPNMF_CURATOR_IMPORT_PARTITIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/data/removed.h"
#include "curator/import/import.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {

// The canonical forms (CanonicalId) that are not among the ids themselves.
// INVALID_ARGUMENT "partition-ids-alike" if two ids have one canonical form,
// "partition-id-rounded" if a program has written one as 1e+05 or 1.2E+11: such
// a number may have been rounded, and then it is not what another file has.
absl::StatusOr<std::vector<std::string>> MoreFormsOf(
    const std::vector<std::string>& ids);

// Checks the flags for partitions. INVALID_ARGUMENT "partitions-malformed",
// "partition-unknown", "partition-mixed" (the data have no column of ids).
absl::Status CheckPartitionOptions(const ImportOptions& options);

// How many people the partitions of a population have at least: of each the
// most that one of its data sets has, added up. Nobody is in two, so these are
// different people. There may be more: two data sets of a partition may have
// different people, one in no partition has people of none, and removed ones
// are not given. Data sets that were declared public are passed over.
std::uint64_t PeopleInPartitions(
    const std::string& population,
    const std::vector<DatasetDescription>& datasets);

// FAILED_PRECONDITION "people-in-two-partitions" if a data set of the
// population in another partition, or a removed one, has one of these ids, and
// "rows-in-two-partitions" if more rows are the same than half the number of
// people in the smaller of both (under add_remove_one the least number of
// people that have so many ids), unless options.accept_equal_rows; errors of
// ReadPeople of such a data set, without whose fingerprints nothing can be
// said. For data in a partition: those in none are charged to all.
// NOT_FOUND "people-missing" if one of `elsewhere` (LedgerFacts) is not known
// with these people. options.note is told of rows that another partition has as
// well.
absl::Status CheckInOnePartition(const ImportOptions& options,
                                 const std::vector<PeopleElsewhere>& elsewhere,
                                 const std::vector<KnownDataset>& known,
                                 const DatasetDescription& description,
                                 const PeopleFingerprints& people);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PARTITIONS_H_
