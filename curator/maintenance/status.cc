#include "curator/maintenance/status.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/access/allow_list.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/privacy/budget.h"
#include "curator/data/description.h"
#include "curator/ledger/ledger_row.h"
#include "curator/session/session.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using nlohmann::json;

constexpr std::size_t kLastRows = 200;
constexpr std::size_t kLastEntries = 200;
constexpr std::int64_t kBlockBytes = 256 * 1024;
constexpr std::int64_t kTailBytes = 16 * kBlockBytes;

json CostOf(MuSquared cost) { return {{"value", cost.ToDouble()}}; }

const char* WordOf(Role role) {
  switch (role) {
    case Role::kAnalyst:
      return "analyst";
    case Role::kAuditor:
      return "auditor";
    case Role::kOperator:
      return "operator";
    case Role::kFrontEnd:
      return "front_end";
  }
  return "unknown";
}

// Cap, charged and reserved as mu^2, and the epsilons that tables show.
absl::StatusOr<json> BudgetOf(const Budget& budget,
                              const PopulationPolicy& policy) {
  DPNMF_ASSIGN_OR_RETURN(const double spent,
                         Spent(budget, policy.conversion, policy.delta));
  DPNMF_ASSIGN_OR_RETURN(
      const double both,
      SpentAndReserved(budget, policy.conversion, policy.delta));
  DPNMF_ASSIGN_OR_RETURN(
      const double largest,
      LargestRun(RoomOf(budget), policy.conversion, policy.delta));
  return json{{"cap", CostOf(budget.cap)},
              {"charged", CostOf(budget.charged)},
              {"reserved", CostOf(budget.reserved)},
              {"reading",
               {{"spent", FormatUp(spent)},
                {"spent_and_reserved", FormatUp(both)},
                {"largest_run", FormatDown(largest)}}}};
}

// The last calls and the last other entries, the latest first: events are not
// lost among calls that only ask. The log is read from its end, in blocks, as
// far as both need and kTailBytes allow. Lines that are no entry are passed
// over.
json TailOf(const std::string& path) {
  json entries = json::array();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return entries;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file.tellg();
  std::size_t calls = 0, others = 0;
  const auto add = [&](absl::string_view line) {
    // A quote within a text is escaped: this is the entry's own event.
    if (calls >= kLastEntries && absl::StrContains(line, R"("event":"call")"))
      return;
    json entry = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.is_object() || !entry.contains("event")) return;
    if (++(entry["event"] == "call" ? calls : others) <= kLastEntries)
      entries.push_back(std::move(entry));
  };
  std::string rest;  // of a line that begins in the block before
  for (std::int64_t begin = size;
       begin > 0 && size - begin < kTailBytes &&
       (calls < kLastEntries || others < kLastEntries);) {
    const std::int64_t end =
        std::exchange(begin, std::max<std::int64_t>(0, begin - kBlockBytes));
    std::string block(static_cast<std::size_t>(end - begin), '\0');
    file.seekg(begin);
    if (!file.read(block.data(), end - begin)) break;
    block += rest;
    const std::size_t whole = begin > 0 ? block.find('\n') + 1 : 0;
    if (begin > 0 && whole == 0) {
      rest = std::move(block);
      continue;
    }
    const std::vector<absl::string_view> lines =
        absl::StrSplit(absl::string_view(block).substr(whole), '\n');
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) add(*line);
    rest = block.substr(0, whole);
  }
  return entries;
}

}  // namespace

CuratorStatus::CuratorStatus(StatusSources sources)
    : sources_(std::move(sources)), started_(Now()) {}

std::int64_t CuratorStatus::Now() const {
  return sources_.unix_seconds ? sources_.unix_seconds() : std::time(nullptr);
}

absl::Status CuratorStatus::ReadNewRows() {
  const std::vector<std::string> populations = sources_.ledger->Populations();
  if (populations.empty()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         sources_.ledger->PositionOf(populations.front()));
  while (rows_ < position.row_count) {
    DPNMF_ASSIGN_OR_RETURN(LedgerRow row, sources_.ledger->RowAt(rows_ + 1));
    ++rows_;
    const RunKey key = {row.identity, row.run_id};
    if (row.kind == RowKind::kOpen) {
      seen_[row.identity].insert(row.population);
      open_runs_[key].opened = row;
    } else if (row.kind == RowKind::kCharge && open_runs_.contains(key)) {
      Run& run = open_runs_[key];
      run.charged = MuSquared::Add(run.charged, row.cost).value_or(run.charged);
      ++run.charged_rounds;
    } else if (row.kind == RowKind::kClose) {
      closed_runs_ += open_runs_.erase(key);
    }
    last_rows_.push_back(std::move(row));
    if (last_rows_.size() >= 2 * kLastRows)
      last_rows_.erase(last_rows_.begin(), last_rows_.end() - kLastRows);
  }
  return absl::OkStatus();
}

absl::StatusOr<json> CuratorStatus::Populations() const {
  json populations = json::array();
  for (const std::string& name : sources_.ledger->Populations()) {
    DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                           sources_.ledger->Policy(name));
    DPNMF_ASSIGN_OR_RETURN(const Position position,
                           sources_.ledger->PositionOf(name));
    DPNMF_ASSIGN_OR_RETURN(json one, BudgetOf(position.budget(), policy));
    one["name"] = name;
    one["reading"]["guarantee"] = absl::StrCat(
        "epsilon ", FormatUp(policy.epsilon), " at delta ",
        FormatUp(policy.delta), " (", View(NameOf(policy.conversion)), ", ",
        View(NameOf(policy.adjacency)), ")");
    one["adjacency"] = NameOf(policy.adjacency);
    one["conversion"] = NameOf(policy.conversion);
    one["epsilon"] = policy.epsilon;
    one["delta"] = policy.delta;
    if (position.void_since.has_value())
      one["void_since"] = *position.void_since;
    for (const PartitionPosition& each : position.partitions) {
      DPNMF_ASSIGN_OR_RETURN(
          json partition,
          BudgetOf({position.cap, each.charged, each.reserved}, policy));
      partition["name"] = each.name;
      one["partitions"].push_back(std::move(partition));
    }
    populations.push_back(std::move(one));
  }
  return populations;
}

json CuratorStatus::Datasets() const {
  json datasets = json::array();
  for (const Dataset* dataset : sources_.catalog->All()) {
    const DatasetDescription& description = dataset->description();
    json one = {{"name", description.name},
                {"population", description.population},
                {"features", description.features},
                {"users", description.users},
                {"normalisation", NameOf(description.normalisation)},
                {"column_bound", description.column_bound},
                {"public", description.is_public},
                {"sparse", description.sparse},
                {"ratings", description.ratings.has_value()}};
    if (description.weighted_features) one["weighted"] = true;
    if (description.unverified_end) one["unverified_end"] = true;
    if (description.sums.has_value()) one["sums"] = true;
    if (description.classes.has_value())
      one["classes"] = description.classes->names;
    if (!description.partition.empty())
      one["partition"] = description.partition;
    datasets.push_back(std::move(one));
  }
  return datasets;
}

// Those on the list, in its order, then those that have ever opened a run and
// are on it no more.
absl::StatusOr<json> CuratorStatus::Identities() const {
  json report = {{"list", json::array()}};
  const auto list = ReadAllowList(sources_.allow_list, kCuratorAllowList);
  if (!list.ok())
    report["problem"] = {{"code", ReasonCode(list.status())},
                         {"message", std::string(list.status().message())}};
  std::vector<std::pair<std::string, const Grant*>> all;
  if (list.ok())
    for (const Grant& grant : *list) all.emplace_back(grant.identity, &grant);
  for (const auto& seen : seen_) {
    const bool known =
        std::any_of(all.begin(), all.end(),
                    [&](const auto& one) { return one.first == seen.first; });
    if (!known) all.emplace_back(seen.first, nullptr);
  }
  for (const auto& [identity, grant] : all) {
    json one = {{"identity", identity},
                {"on_list", grant != nullptr},
                {"roles", json::array()},
                {"datasets", json::array()},
                {"all_datasets", grant != nullptr && grant->all_datasets},
                {"budgets", json::array()}};
    std::set<std::string> populations;
    if (const auto used = seen_.find(identity); used != seen_.end())
      populations = used->second;
    if (grant != nullptr) {
      for (const Role role : grant->roles) one["roles"].push_back(WordOf(role));
      for (const std::string& name : grant->datasets)
        one["datasets"].push_back(name);
      for (const auto& [population, epsilon] : grant->epsilon_by_population)
        populations.insert(population);
    }
    for (const std::string& population : populations) {
      const auto policy = sources_.ledger->Policy(population);
      if (!policy.ok()) continue;  // a budget of a population that there is not
      DPNMF_ASSIGN_OR_RETURN(const IdentityPosition own,
                             sources_.ledger->PositionOf(population, identity));
      json budget = {{"population", population},
                     {"charges", own.charge_count},
                     {"charged", CostOf(own.charged)},
                     {"reserved", CostOf(own.reserved)}};
      Budget numbers{{}, own.charged, own.reserved};
      DPNMF_ASSIGN_OR_RETURN(const double spent,
                             Spent(numbers, policy->conversion, policy->delta));
      budget["spent"] = FormatUp(spent);
      if (grant != nullptr) {
        DPNMF_ASSIGN_OR_RETURN(const auto cap, IdentityCap(*grant, *policy));
        if (cap.has_value())
          budget["epsilon"] = grant->epsilon_by_population.at(population);
      }
      one["budgets"].push_back(std::move(budget));
    }
    report["list"].push_back(std::move(one));
  }
  return report;
}

json CuratorStatus::OpenRuns() const {
  json runs = json::array();
  for (const auto& [key, run] : open_runs_) {
    const LedgerRow& opened = run.opened;
    runs.push_back(
        {{"run_id", opened.run_id},
         {"identity", opened.identity},
         {"population", opened.population},
         {"dataset", opened.dataset},
         {"mechanism", opened.mechanism},
         {"rounds", opened.round},
         {"charged_rounds", run.charged_rounds},
         {"opened", opened.unix_seconds},
         {"charged", CostOf(run.charged)},
         {"reserved", CostOf(MuSquared::Subtract(opened.cost, run.charged)
                                 .value_or(MuSquared()))}});
  }
  return runs;
}

json CuratorStatus::LastRows() const {
  json rows = json::array();
  const std::size_t count = std::min(kLastRows, last_rows_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const LedgerRow& row = last_rows_[last_rows_.size() - 1 - i];
    const bool approved =
        row.kind == RowKind::kVoid || row.kind == RowKind::kOverlap;
    rows.push_back({{"sequence", row.sequence},
                    {"kind", NameOf(row.kind)},
                    {"unix_seconds", row.unix_seconds},
                    {"population", row.population},
                    {"dataset", row.dataset},
                    {"identity", approved ? row.detail : row.identity},
                    {"run_id", row.run_id},
                    {"round", row.round},
                    {"mechanism", row.mechanism},
                    {"cost", CostOf(row.cost)}});
  }
  return rows;
}

absl::StatusOr<json> CuratorStatus::Report() {
  DPNMF_RETURN_IF_ERROR(ReadNewRows());
  json report = {{"version", sources_.version},
                 {"started", started_},
                 {"now", Now()},
                 {"anchored", sources_.anchored},
                 {"pace_milliseconds", sources_.pace_milliseconds}};
  DPNMF_ASSIGN_OR_RETURN(report["populations"], Populations());
  report["datasets"] = Datasets();
  DPNMF_ASSIGN_OR_RETURN(report["identities"], Identities());
  report["runs"] = {{"open", OpenRuns()}, {"closed", closed_runs_}};
  report["ledger"] = {{"row_count", rows_}, {"rows", LastRows()}};
  report["audit"] = TailOf(sources_.audit_log);
  return report;
}

}  // namespace dpnmf::curator
