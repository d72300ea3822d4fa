// The second account of a population in a federation: NAME.others, a population
// of the ledger with a cap of its own (docs/reference/federation.md).
#ifndef DPNMF_CURATOR_LEDGER_OTHERS_ACCOUNT_H_
#define DPNMF_CURATOR_LEDGER_OTHERS_ACCOUNT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

std::string OthersPopulation(const std::string& population);

// INVALID_ARGUMENT "population-reserved" if the name ends as that of a second
// account does: no import may declare it. Ledgers that have such a population
// keep it.
absl::Status CheckNotReserved(const std::string& population);

// The population, and its second account if the ledger has one: both promise
// something about the same people.
absl::StatusOr<std::vector<std::string>> AccountsOf(
    const Ledger& ledger, const std::string& population);

// Declares the second account `others` of the population. If the population's
// guarantee is void, the account's is void from now on, by the same table.
// Errors of Ledger::DeclarePopulation and Ledger::VoidGuarantee.
absl::Status DeclareOthers(const std::string& population,
                           const PopulationPolicy& others, Ledger* ledger);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_OTHERS_ACCOUNT_H_
