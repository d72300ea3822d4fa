// One part of a data set, imported on the machine that holds these people, and
// the data set that all parts make. So no machine ever needs all the people;
// ranks compute with the parts (Dataset::OpenShare).
//
//   DATA_DIR/parts/NAME/FIRST-LAST/      the columns FIRST to LAST: arrays as a
//                                        data set has them, and a dataset.json
//                                        with the fingerprint of this part
//   DATA_DIR/parts/NAME/FIRST-LAST.part  the record of the part: what was
//                                        declared, the keyed fingerprints of
//                                        its people and the keyed digest of its
//                                        digests.json. No column
//
// The curator's machine needs the records of all parts; join-parts makes
// DATA_DIR/datasets/NAME of them, with the fingerprint that one import of all
// people has. Every machine then needs its dataset.json, shards.json and
// digests.json, and the columns of its own parts. All are private.
#ifndef DPNMF_CURATOR_IMPORT_PART_H_
#define DPNMF_CURATOR_IMPORT_PART_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/import/import.h"
#include "curator/import/import_source.h"

namespace dpnmf::curator {

// "FIRST-LAST/N", counted from 1. INVALID_ARGUMENT "shard-of-malformed".
absl::StatusOr<PartRange> ParsePartRange(std::string_view text);

struct ImportedPart {
  DatasetDescription description;  // of the whole data set
  std::string directory, record;
};

// Imports options.input as the columns options.shard_of of data set
// options.name. The file must have that many people. No ledger is read or
// written, and nothing is released about a part by itself. All or nothing.
// Errors of DatasetImport that concern the file and the flags;
// "shard-of-malformed"; "users-mismatch" (users_count is not N);
// FAILED_PRECONDITION "fingerprint-key-missing": parts are fingerprinted under
// one key, so none is drawn; ALREADY_EXISTS "part-exists".
absl::StatusOr<ImportedPart> ImportPart(ImportOptions options,
                                        const ImportProgress& progress = {});

// Adds what the parts of the data set declare to options for Import with
// join_parts: data_dir and name must be set, the rest of the declaration is
// added. FAILED_PRECONDITION "parts-missing" if there is no record; DATA_LOSS
// "part-damaged".
absl::Status TakeDeclarationOfParts(ImportOptions* options);

// All records of the data set options.name, for Import with join_parts.
// FAILED_PRECONDITION "parts-missing" (a column from 1 to N is in none);
// INVALID_ARGUMENT "parts-overlap" (a column is in two), "parts-differ" (flags,
// features or formats of the parts; or the options declare something else than
// the parts do), "parts-duplicate" (a person is in two parts, as far as
// ids or, without them, rows tell; rows that coincide are let through with
// accept_equal_rows); DATA_LOSS "part-damaged", "people-damaged" (another key).
absl::StatusOr<std::unique_ptr<ImportSource>> LoadParts(
    const ImportOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PART_H_
