// `dpnmf-curator publish`: the only command that publishes a table.
//
// A table that was distorted or completed is not private. It is published only
// with the figures of an attack, with the approval of a named person, and if no
// population of its people has a cap. The operator may give up such a
// guarantee; the ledger then records this for ever. A table drawn from a
// charged release needs only its charge: figures about it that were computed on
// the original are uncharged statistics and decide nothing here.
#ifndef DPNMF_CURATOR_PUBLISH_PUBLISH_H_
#define DPNMF_CURATOR_PUBLISH_PUBLISH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

struct PublishOptions {
  std::string data_dir;
  Ledger::Options ledger;
  std::string draft;     // directory of WriteDraft
  std::string output;    // directory; made if missing
  std::string name;      // [a-z0-9][a-z0-9._-]{0,63}
  std::string approver;  // who answers for it
  // The largest share of linked people that is accepted: (0, 1]. Not read of a
  // table drawn from a charged release.
  std::optional<double> accepted_linkage;
  // Populations whose guarantee is given up, with that of NAME.others where
  // there is one.
  std::vector<std::string> void_guarantees;
  // Populations of other people whose rows coincide with those of the table.
  // Refused if ids are shared: shared ids are never chance.
  std::vector<std::string> accept_overlaps;
};

struct PublishedTable {
  std::string table, label;         // their paths
  bool is_private = false;          // drawn from a charged release
  std::vector<std::string> voided;  // populations, ascending
  std::vector<std::string> accepted;
  // Time at which the guarantee of the people of a private table became void,
  // if it did.
  std::optional<std::int64_t> void_since;
};

// Writes OUTPUT/LABEL.json and then OUTPUT/NAME.not-dp.csv, respectively
// NAME.csv of a table drawn from a charged release. Before either exists, the
// ledger and its anchor have a row for each population that is voided or whose
// overlap is accepted, durably. A process that ends at any point leaves
// nothing, or rows, or rows and files; the same call again completes it.
//
// Takes the ledger and the data sets for itself: no server and no import may
// run. INVALID_ARGUMENT "name-malformed", "approver-malformed",
// "linkage-out-of-range", "flag-unused" (also if a population of
// accept_overlaps shares nothing); FAILED_PRECONDITION "approval-missing"
// (nobody approves, no linkage is accepted, or the draft was not attacked),
// "linkage-too-high", "population-capped", "draft-people-missing",
// "draft-key-differs", "charge-not-in-ledger"; NOT_FOUND "people-missing" (the
// people of some data set are not known: nobody can say whether they are in the
// table), "population-unknown", "ledger-missing"; ALREADY_EXISTS
// "publication-exists"; errors of ReadDraft, Ledger::Open, TakeImportLock,
// ReadPeople and LoadOrCreateFingerprintKey.
absl::StatusOr<PublishedTable> Publish(const PublishOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_PUBLISH_PUBLISH_H_
