// The people of a table, as `publish` recognises them.
#ifndef DPNMF_LAB_TABLES_TABLE_PEOPLE_H_
#define DPNMF_LAB_TABLES_TABLE_PEOPLE_H_

#include "curator/import/people/people.h"
#include "lab/tables/table.h"

namespace dpnmf::curator::lab {

// Fingerprints of the ids, if the table has ids, and of the lines
// (PeopleCollector::AddLine): id and class may have been imported as entries.
// `options` are those that the table was read with.
PeopleFingerprints PeopleOf(const Table& table, const TableOptions& options,
                            const FingerprintKey& key);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_TABLE_PEOPLE_H_
