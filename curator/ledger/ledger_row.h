// The canonical encodings of a ledger row: its hash and its texts.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_ROW_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_ROW_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/crypto/sha256.h"
#include "curator/ledger/ledger_records.h"

namespace dpnmf::curator {

// SHA-256 over every field but `hash` itself, `previous_hash` included.
// Integers have eight bytes and strings their length in front, so different
// rows hash different byte strings.
Digest HashOf(const LedgerRow& row);

// "genesis", "population", "open", "charge", "close", "void", "overlap",
// "partition", "dataset".
std::string_view NameOf(RowKind kind);
std::optional<RowKind> RowKindOfName(std::string_view name);

// "adjacency=replace_one conversion=rdp epsilon=1 delta=1e-05", each double in
// the shortest form that reads back to the same bits; with partitions followed
// by " partitioned " and PartitionsText(partitions). The population's name is
// another field of the row.
std::string PolicyText(const PopulationPolicy& policy);
// Returns nullopt unless PolicyText of the result is `text`.
std::optional<PopulationPolicy> ParsePolicy(const std::string& population,
                                            std::string_view text);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_ROW_H_
