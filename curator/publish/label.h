// Label that goes with a published table: LABEL.json.
//
// A label is a function of the draft, the flags and the ledger's facts: the
// same publication has the same label, to the byte.
#ifndef DPNMF_CURATOR_PUBLISH_LABEL_H_
#define DPNMF_CURATOR_PUBLISH_LABEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "curator/draft/draft.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

inline constexpr char kLabelFile[] = "LABEL.json";

struct Approval {
  std::string table_name;
  std::string approver;
  double accepted_linkage = 0;
  std::vector<std::string> voided, accepted_overlaps;  // populations
};

// Method, parameters, figures of the attacks, who approved, and keyed hashes of
// the table and of its people.
std::string LabelWithoutPrivacy(const Approval& approval,
                                const StoredDraft& stored,
                                const FingerprintKey& key);

// The charge, whether the labels were declared public, and the guarantee, and
// nothing else: figures that were computed on
// the original are uncharged statistics.
absl::StatusOr<std::string> LabelOfCharge(const std::string& table_name,
                                          const LedgerRow& charge,
                                          const PopulationPolicy& policy,
                                          const Position& position,
                                          bool labels_public);

// Hash by which the ledger knows a label. Keyed: without the key nobody can
// test guesses about the figures in the label.
Digest LabelHash(std::string_view label, const FingerprintKey& key);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_PUBLISH_LABEL_H_
