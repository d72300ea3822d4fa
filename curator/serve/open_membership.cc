#include "curator/serve/open_membership.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/ledger/others_account.h"

namespace dpnmf::curator {

absl::StatusOr<std::unique_ptr<Membership>> OpenMembership(
    const std::string& file, Ledger* ledger, const ReceiptSigner& signer,
    Catalog* catalog) {
  DPNMF_ASSIGN_OR_RETURN(Federation federation, ReadFederation(file));
  DPNMF_ASSIGN_OR_RETURN(
      std::unique_ptr<Membership> membership,
      Membership::Create(std::move(federation), signer.public_key(),
                         [&signer](std::span<const std::byte> bytes) {
                           return signer.SignBytes(bytes);
                         }));
  const std::string& name = membership->self().dataset;
  const Dataset* const dataset = catalog->Find(name);
  if (dataset == nullptr) {
    return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                   absl::StrCat("There is no data set ", name,
                                ", which federation.json names for this "
                                "curator: import it first."));
  }
  const DatasetDescription& description = dataset->description();
  DPNMF_RETURN_IF_ERROR(membership->CheckData(description));
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         ledger->Policy(description.population));
  if (policy.partitions.any()) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "federation-partitioned",
        absl::StrCat("The people of population ", description.population,
                     " are partitioned, but the accounts of a federation cover "
                     "all people: use a population without partitions."));
  }
  DPNMF_RETURN_IF_ERROR(DeclareOthers(
      description.population, membership->OthersPolicy(policy), ledger));
  if (!catalog->AddAlias(membership->name(), name)) {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "federation-name-taken",
                   absl::StrCat("A data set has the federation's name ",
                                membership->name(),
                                ": choose another name in federation.json."));
  }
  return membership;
}

}  // namespace dpnmf::curator
