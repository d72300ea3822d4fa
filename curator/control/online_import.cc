#include "curator/control/online_import.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "common/base/error.h"
#include "common/log/log.h"
#include "curator/data/description.h"
#include "curator/ledger/others_account.h"
#include "curator/serve/budget_metrics.h"
#include "curator/session/promise.h"
#include "curator/session/verification.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using nlohmann::json;

absl::Status PolicyMalformed() {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 "control-request-malformed",
                 "The policy of the population is not readable: use "
                 "dpnmf-curator import --online of the server's version.");
}

absl::StatusOr<PopulationPolicy> PolicyIn(const json& request) {
  PopulationPolicy policy;
  policy.population = request.at("population").get<std::string>();
  const auto adjacency =
      AdjacencyOfName(request.at("adjacency").get<std::string>());
  const auto conversion =
      ConversionOfName(request.at("conversion").get<std::string>());
  policy.epsilon = request.at("epsilon").get<double>();
  policy.delta = request.at("delta").get<double>();
  if (!IsName(policy.population) || !adjacency.has_value() ||
      !conversion.has_value())
    return PolicyMalformed();
  policy.adjacency = *adjacency;
  policy.conversion = *conversion;
  if (request.contains("partitions")) {
    const auto partitions =
        ParsePartitions(request.at("partitions").get<std::string>());
    if (!partitions.has_value()) return PolicyMalformed();
    policy.partitions = *partitions;
  }
  return policy;
}

// Only the operator can send this. The draft is still checked to be the plain
// name of a directory beside the data sets.
absl::StatusOr<json> Check(const OnlineImports& context, const json& request) {
  const std::string draft = request.at("draft").get<std::string>();
  if (draft.empty() || draft.find('/') != std::string::npos) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "control-request-malformed",
                   "The name of the draft is not readable: use dpnmf-curator "
                   "import --online of the server's version.");
  }
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<Dataset> dataset,
      Dataset::Open(DatasetDirectory(context.data_dir, draft)));
  DPNMF_RETURN_IF_ERROR(
      context.catalog->CheckIsNew(dataset->description().name));
  if (context.check) DPNMF_RETURN_IF_ERROR(context.check(*dataset));
  return json::object();
}

absl::Status DeclareDataset(const OnlineImports& context,
                            const std::string& population,
                            const json& request) {
  const std::string dataset = request.at("dataset").get<std::string>();
  const auto digest = [&](const char* field) {
    return DigestOfHex(request.at(field).get<std::string>());
  };
  const auto files = digest("files"), people_file = digest("people_file");
  if (!files.has_value() || !people_file.has_value()) return PolicyMalformed();
  // Refused if a data set of this name is served: the ledger must go on naming
  // the people and the files that it has for it.
  DPNMF_RETURN_IF_ERROR(context.catalog->CheckIsNew(dataset));
  if (request.contains("partition")) {
    const auto people = digest("people");
    if (!people.has_value()) return PolicyMalformed();
    DPNMF_RETURN_IF_ERROR(context.ledger->AssignPartition(
        population, dataset,
        {request.at("partition").get<std::string>(), *people}));
  }
  return context.ledger->BindDataset(population, dataset,
                                     {*files, *people_file});
}

absl::StatusOr<json> Declare(const OnlineImports& context,
                             const json& request) {
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy, PolicyIn(request));
  const auto known = context.ledger->Policy(policy.population);
  if (!known.ok()) {
    DPNMF_RETURN_IF_ERROR(CheckNotReserved(policy.population));
    DPNMF_RETURN_IF_ERROR(
        WriteAudit(context.audit, "population-declared",
                   {{"population", policy.population},
                    {"by", request.at("by").get<std::string>()}},
                   AuditSync::kDurable));
  }
  DPNMF_RETURN_IF_ERROR(context.ledger->DeclarePopulation(policy));
  if (request.contains("dataset"))
    DPNMF_RETURN_IF_ERROR(DeclareDataset(context, policy.population, request));
  ShowBudget(*context.ledger, policy.population, context.metrics);
  return json::object();
}

absl::StatusOr<json> Reload(const OnlineImports& context, const json& request) {
  const std::string by = request.at("by").get<std::string>();
  DPNMF_ASSIGN_OR_RETURN(std::vector<CatalogEntry> entries,
                         context.catalog->OpenNew(context.data_dir));
  for (CatalogEntry& entry : entries) {
    DPNMF_RETURN_IF_ERROR(CheckPromiseIn(*context.ledger, *entry.dataset));
    if (context.check) DPNMF_RETURN_IF_ERROR(context.check(*entry.dataset));
    DPNMF_RETURN_IF_ERROR(
        VerifyDataset(*entry.dataset, *context.ledger, context.file_key));
    entry.verified = true;
  }
  if (!entries.empty()) AwaitTick(context.pacer);
  json added = json::array();
  for (CatalogEntry& entry : entries) {
    const std::string name = entry.dataset->description().name;
    const std::string population = entry.dataset->description().population;
    DPNMF_RETURN_IF_ERROR(
        WriteAudit(context.audit, "dataset-added",
                   {{"dataset", name}, {"population", population}, {"by", by}},
                   AuditSync::kDurable));
    context.catalog->Add(std::move(entry));
    ShowBudget(*context.ledger, population, context.metrics);
    LogInfo("the data set {} is served from now on", name);
    added.push_back(name);
  }
  json served = json::array();
  for (const Dataset* dataset : context.catalog->All())
    served.push_back(dataset->description().name);
  return json{{"added", std::move(added)}, {"served", std::move(served)}};
}

std::vector<std::string> NamesIn(const json& reply, const char* field) {
  std::vector<std::string> names;
  if (!reply.is_object()) return names;  // of another version
  for (const json& name : reply.value(field, json::array()))
    names.push_back(name.is_string() ? name.get<std::string>() : "");
  return names;
}

}  // namespace

ControlHandlers OnlineImportHandlers(const OnlineImports& context) {
  return {
      {"check",
       [context](const json& request) { return Check(context, request); }},
      {"declare",
       [context](const json& request) { return Declare(context, request); }},
      {"reload",
       [context](const json& request) { return Reload(context, request); }}};
}

absl::Status CheckOnlineDraft(const std::string& data_dir,
                              const std::string& draft) {
  return AskControl(
             data_dir,
             {{"request", "check"},
              {"draft", std::filesystem::path(draft).filename().string()}})
      .status();
}

absl::Status DeclareOnline(const std::string& data_dir,
                           const PopulationPolicy& policy,
                           const std::string& by,
                           const std::optional<DeclaredDataset>& dataset) {
  json request = {{"request", "declare"},
                  {"population", policy.population},
                  {"adjacency", std::string(NameOf(policy.adjacency))},
                  {"conversion", std::string(NameOf(policy.conversion))},
                  {"epsilon", policy.epsilon},
                  {"delta", policy.delta},
                  {"by", by}};
  if (policy.partitions.any())
    request["partitions"] = PartitionsText(policy.partitions);
  if (dataset.has_value()) {
    request["dataset"] = dataset->name;
    request["files"] = HexOf(dataset->digests.files);
    request["people_file"] = HexOf(dataset->digests.people);
    const AssignedPartition& assigned = dataset->assigned;
    if (!assigned.partition.empty()) {
      request["partition"] = assigned.partition;
      request["people"] = HexOf(assigned.people);
    }
  }
  return AskControl(data_dir, request).status();
}

absl::StatusOr<ReloadedOnline> ReloadOnline(const std::string& data_dir,
                                            const std::string& by) {
  DPNMF_ASSIGN_OR_RETURN(
      const json reply,
      AskControl(data_dir, {{"request", "reload"}, {"by", by}}));
  return ReloadedOnline{NamesIn(reply, "added"), NamesIn(reply, "served")};
}

}  // namespace dpnmf::curator
