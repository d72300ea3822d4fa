// All steps of an import, one after another, without a ledger.
#ifndef DPNMF_TESTS_CURATOR_IMPORT_IMPORT_ALL_H_
#define DPNMF_TESTS_CURATOR_IMPORT_IMPORT_ALL_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/error.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import.h"

namespace dpnmf::curator {

// Work of the caller between the steps of an import.
struct BetweenSteps {
  LedgerFacts facts = {.elsewhere = std::vector<PeopleElsewhere>()};
  bool accepts_tables = false;  // all published tables that share people
  // Before Publish; null: nothing.
  std::function<absl::Status(const DatasetImport&, const DatasetDigests&)>
      before_publish = nullptr;
};

inline std::vector<Digest> TableLabels(const std::vector<SharedTable>& tables) {
  std::vector<Digest> labels;
  for (const SharedTable& table : tables) labels.push_back(table.label_hash);
  return labels;
}

inline absl::StatusOr<DatasetDescription> Import(
    const ImportOptions& options, const BetweenSteps& between = {}) {
  DPNMF_ASSIGN_OR_RETURN(DatasetImport import, DatasetImport::Load(options));
  DPNMF_RETURN_IF_ERROR(import.Recognise());
  LedgerFacts facts = between.facts;
  if (between.accepts_tables)
    facts.accepted_tables = TableLabels(import.shared_tables());
  DPNMF_ASSIGN_OR_RETURN(const DatasetDigests digests, import.Draft(facts));
  if (between.before_publish)
    DPNMF_RETURN_IF_ERROR(between.before_publish(import, digests));
  DPNMF_RETURN_IF_ERROR(import.Publish());
  return import.description();
}

inline absl::StatusOr<PeopleFingerprints> ImportPeople(
    const ImportOptions& options, bool accepts_tables = false) {
  DPNMF_ASSIGN_OR_RETURN(const PeopleToRecord recognised,
                         RecognisePeople(options));
  DPNMF_RETURN_IF_ERROR(
      RecordPeople(recognised, accepts_tables ? TableLabels(recognised.tables)
                                              : std::vector<Digest>()));
  return recognised.people;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_IMPORT_IMPORT_ALL_H_
