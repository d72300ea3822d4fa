// Rows that another program writes into an import: `--input -`, `--ratings -`.
//
// They are written to a file without a name first, and read from there as from
// any file: data set and fingerprints are those of the same bytes in a file. A
// pipe does not tell its reader that the writer failed, so the operator says
// how to recognise the end.
#ifndef DPNMF_CURATOR_IMPORT_STANDARD_INPUT_H_
#define DPNMF_CURATOR_IMPORT_STANDARD_INPUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/durable_file.h"
#include "curator/import/import.h"

namespace dpnmf::curator {

// Returns whether `input` or `ratings` is "-".
bool ReadsStandardInput(const ImportOptions& options);

// INVALID_ARGUMENT "stdin-mixed" (a second file is "-", too), "input-ambiguous"
// (no format, or one that is no lines), "end-undeclared" (none of
// StandardInputOptions' declarations of the end), "closing-line-malformed",
// "flag-unused" (they are given for a file, or do not go together).
absl::Status CheckStandardInput(const ImportOptions& options);

// Reads standard input to its end, without a closing line that was declared.
// The directory of the spool must exist.
// `progress` is told the stage "reading" and the bytes, of 0. INVALID_ARGUMENT
// "input-unreadable" (a terminal, or it cannot be read), "input-too-large"
// (max_bytes), "closing-line-missing", "rows-mismatch" (the last line has no
// end); UNAVAILABLE "storage-failed"; CANCELLED "cancelled".
absl::StatusOr<GrowingFile> SpoolStandardInput(const ImportOptions& options,
                                               const ImportProgress& progress);

// INVALID_ARGUMENT "rows-mismatch" if the rows of data that were read are not
// as many as declared.
absl::Status CheckRowsRead(const ImportOptions& options, std::uint64_t rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_STANDARD_INPUT_H_
