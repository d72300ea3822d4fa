// Where a ledger and its anchor lie, as an operator's flags say it. One place,
// so that every subcommand refuses the same.
#ifndef DPNMF_CURATOR_RELEASE_PLACES_H_
#define DPNMF_CURATOR_RELEASE_PLACES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/release/ledger.h"

namespace dpnmf::curator {

// Whether `path` is `directory` or lies in it, links followed. Neither needs to
// exist.
bool LiesIn(const std::string& path, const std::string& directory);

// INVALID_ARGUMENT "anchor-directory-invalid" if the anchor is part of the data
// directory: whatever sets the one back would set the other back with it. An
// empty `anchor_dir` is no anchor.
absl::Status CheckAnchorPlace(const std::string& data_dir,
                              const std::string& anchor_dir);

// An empty `anchor_dir` is the default one. Errors of CheckAnchorPlace.
absl::StatusOr<Ledger::Options> LedgerPlaces(const std::string& data_dir,
                                             const std::string& anchor_dir,
                                             bool no_anchor);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_PLACES_H_
