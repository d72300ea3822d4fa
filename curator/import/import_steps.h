// Steps that the import of a data set and that of a part share.
#ifndef DPNMF_CURATOR_IMPORT_IMPORT_STEPS_H_
#define DPNMF_CURATOR_IMPORT_IMPORT_STEPS_H_

#include <string>

#include "absl/status/status.h"
#include "curator/import/import.h"

namespace dpnmf::curator {

// Directories that are not yet published; a name of a data set or a part does
// not begin so.
inline constexpr char kDraftPrefix[] = ".import-";
// The lock of imports, in the directory of the data sets.
inline constexpr char kImportLock[] = ".lock";

// Description that the options declare, without the shape.
DatasetDescription DeclarationOf(const ImportOptions& options);

// The reverse, as far as data sets and parts declare the same: population,
// budget, relation and the number of people.
void TakeDeclaration(const DatasetDescription& declared,
                     ImportOptions* options);

// ALREADY_EXISTS "dataset-exists": the name is, or was, that of a data set.
absl::Status CheckNameIsFree(const ImportOptions& options);

// CANCELLED "cancelled" once options.interrupted says so.
absl::Status CheckNotInterrupted(const ImportOptions& options);

// Removes drafts that killed imports left, of data sets and of parts of any
// name. The import lock must be held, so that no import is writing a draft.
void RemoveDrafts(const std::string& data_dir);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_IMPORT_STEPS_H_
