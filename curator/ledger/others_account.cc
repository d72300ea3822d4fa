#include "curator/ledger/others_account.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

constexpr char kOthersEnding[] = ".others";

}  // namespace

std::string OthersPopulation(const std::string& population) {
  return population + kOthersEnding;
}

absl::Status CheckNotReserved(const std::string& population) {
  if (!absl::EndsWith(population, kOthersEnding)) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "population-reserved",
      absl::StrCat("The population ", population,
                   " cannot be declared: names that end in ", kOthersEnding,
                   " are reserved for the second account of a federation; "
                   "choose another --population."));
}

absl::StatusOr<std::vector<std::string>> AccountsOf(
    const Ledger& ledger, const std::string& population) {
  std::vector<std::string> accounts = {population};
  const std::string others = OthersPopulation(population);
  const absl::Status known = ledger.Policy(others).status();
  if (known.ok()) {
    accounts.push_back(others);
  } else if (ReasonCode(known) != "population-unknown") {
    return known;
  }
  return accounts;
}

absl::Status DeclareOthers(const std::string& population,
                           const PopulationPolicy& others, Ledger* ledger) {
  DPNMF_RETURN_IF_ERROR(ledger->DeclarePopulation(others));
  DPNMF_ASSIGN_OR_RETURN(const std::optional<LedgerRow> row,
                         ledger->VoidRowOf(population));
  DPNMF_ASSIGN_OR_RETURN(const std::optional<LedgerRow> own,
                         ledger->VoidRowOf(others.population));
  if (!row.has_value() || own.has_value()) return absl::OkStatus();
  return ledger->VoidGuarantee(
      {others.population, row->request_hash, row->detail});
}

}  // namespace dpnmf::curator
