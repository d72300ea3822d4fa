#include "curator/publish/label.h"

#include "common/base/error.h"
#include "curator/import/people/people.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLabelFormat = 1;
constexpr char kWarning[] =
    "Not private: nothing bounds what this table tells about a person. The "
    "figures are those of the attacks that were tried.";

Digest PublicationHash(std::string_view bytes, const FingerprintKey& key) {
  return KeyedHashFor("dpnmf publication", bytes, key);
}

std::string LabelText(const Json& label) {
  return label.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string LabelWithoutPrivacy(const Approval& approval,
                                const StoredDraft& stored,
                                const FingerprintKey& key) {
  const Draft& draft = stored.draft;
  return LabelText(
      {{"format", kLabelFormat},
       {"table", approval.table_name},
       {"differentially_private", false},
       {"warning", kWarning},
       {"kind", std::string(NameOf(draft.kind))},
       {"method", draft.method},
       {"parameters", draft.parameters},
       {"attacks", draft.attacks},
       {"largest_linkage", *draft.largest_linkage},
       {"accepted_linkage", approval.accepted_linkage},
       {"approved_by", approval.approver},
       {"void_guarantees", approval.voided},
       {"accepted_overlaps", approval.accepted_overlaps},
       {"table_hmac_sha256", HexOf(PublicationHash(stored.table_csv, key))},
       {"people_hmac_sha256",
        HexOf(PublicationHash(PeopleBytes(*draft.people, Digest{}), key))}});
}

absl::StatusOr<std::string> LabelOfCharge(const std::string& table_name,
                                          const LedgerRow& charge,
                                          const PopulationPolicy& policy,
                                          const Position& position,
                                          bool labels_public) {
  DPNMF_ASSIGN_OR_RETURN(const double epsilon,
                         Epsilon(policy.conversion, charge.cost, policy.delta));
  Json guarantee = {{"epsilon", policy.epsilon},
                    {"delta", policy.delta},
                    {"conversion", std::string(NameOf(policy.conversion))},
                    {"adjacency", std::string(NameOf(policy.adjacency))}};
  if (position.void_since.has_value())
    guarantee["void_since_unix_seconds"] = *position.void_since;
  return LabelText({{"format", kLabelFormat},
                    {"table", table_name},
                    {"charge",
                     {{"population", charge.population},
                      {"dataset", charge.dataset},
                      {"run_id", charge.run_id},
                      {"mechanism", charge.mechanism},
                      {"round", charge.round},
                      {"mu_squared", charge.cost.ToDoubleUp()},
                      {"mu_squared_units", charge.cost.UnitsText()},
                      {"epsilon", epsilon},
                      {"labels_public", labels_public}}},
                    {"guarantee", guarantee}});
}

Digest LabelHash(std::string_view label, const FingerprintKey& key) {
  return PublicationHash(label, key);
}

}  // namespace dpnmf::curator
