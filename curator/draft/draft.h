// A draft: a table that may be published once somebody has approved it, with
// the known facts about it. dpnmf-lab writes drafts; `dpnmf-curator publish`
// reads them. A draft is as private as the table from which it was made.
//
//   DRAFT/table.csv    the table as it would be published
//   DRAFT/draft.json   the rest; SHA-256 of the other two are in it
//   DRAFT/people.bin   keyed fingerprints of the people of the original, if
//                      they are known: 16 bytes each, sorted
//
// All files have mode 0600.
#ifndef DPNMF_CURATOR_DRAFT_DRAFT_H_
#define DPNMF_CURATOR_DRAFT_DRAFT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/import/people/people.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {

enum class DraftKind {
  kDistorted,  // `dpnmf-lab distort`: not private
  kCompleted,  // `dpnmf-lab complete`: not private
  kSynthetic,  // `dpnmf-lab synthesise`: drawn from a charged release
};

// "distorted", "completed", "synthetic".
std::string_view NameOf(DraftKind kind);

struct Draft {
  DraftKind kind = DraftKind::kDistorted;
  std::string method;                 // "svd", "aux-nmf", ...
  nlohmann::ordered_json parameters;  // an object: the method's own
  // AttackReport of this table (lab/attack/attack.h); null if the table
  // was not attacked. For a synthetic table: an uncharged statistic.
  nlohmann::ordered_json attacks;
  // Upper end of the 95 % interval of the largest share of linked people, over
  // all linkage attacks, in [0, 1]; not set without `attacks`.
  std::optional<double> largest_linkage;
  // The people of the original; not set: they are not known, and the draft
  // cannot be published.
  std::optional<PeopleFingerprints> people;
  // Charge that paid for a synthetic table, else null: as `dpnmf-curator
  // synthesise` wrote it into its release file. An object of
  //   "ledger"       the ledger's id
  //   "sequence"     number of the charge's row, an integer
  //   "row_hash"     its hash, 64 hexadecimal digits
  //   "population", "dataset", "run_id", "mechanism"   as in the row
  //   "round"        as in the row, an integer
  //   "cost_units"   mu^2 in units of 2^-60, decimal text (UnitsText)
  // and, of the sums that the table was drawn from,
  //   "sums_sha256"  HashOfSums (class_release.h), 64 hexadecimal digits
  // `publish` takes the guarantee from the ledger, not from here.
  nlohmann::ordered_json charge;
};

// Writes the three files into the directory, which is made if it is missing;
// draft.json comes last, so a directory without it holds no draft. Refuses one
// that holds a draft already: ALREADY_EXISTS "draft-exists". UNAVAILABLE
// "storage-failed".
absl::Status WriteDraft(const std::string& directory, const Draft& draft,
                        std::string_view table_csv);

struct StoredDraft {
  Draft draft;
  std::string table_csv;
};

// NOT_FOUND "draft-missing"; DATA_LOSS "draft-damaged" (also if table.csv or
// people.bin is not that of draft.json); UNAVAILABLE "storage-failed".
absl::StatusOr<StoredDraft> ReadDraft(const std::string& directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DRAFT_DRAFT_H_
