#include "curator/access.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::json;

absl::Status Malformed(const std::string& what) {
  return Refusal(absl::StatusCode::kInvalidArgument, "allow-list-malformed",
                 absl::StrCat("the allow-list is malformed: ", what, "."));
}

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Refusal(
        absl::StatusCode::kNotFound, "allow-list-unreadable",
        absl::StrCat("the allow-list ", path,
                     " cannot be read: check the path and its mode."));
  }
  return text.str();
}

// Where the text stops being JSON. `byte` counts from 1.
std::string SlipText(const std::string& text, std::size_t byte) {
  const std::string before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const bool cut_off = byte > text.size();
  return absl::StrCat(
      "line ", line, ", byte ", byte,
      cut_off ? ": the file ends too early; close its brackets and quotes"
              : ": that is not JSON; look for a comma, a quote or a bracket");
}

// The library's sentence without its "[json.exception.out_of_range.403] ".
std::string WithoutTag(std::string_view text) {
  const std::size_t end = text.find("] ");
  if (text.starts_with("[json.") && end != std::string_view::npos)
    text.remove_prefix(end + 2);
  return std::string(text);
}

absl::Status CheckKeys(const Json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key))
      return Malformed(absl::StrCat("unknown field `", key, "`"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<Role>> ParseRoles(const Json& json) {
  std::set<Role> roles;
  for (const Json& item : json) {
    const std::string name = item.get<std::string>();
    if (name == "analyst") {
      roles.insert(Role::kAnalyst);
    } else if (name == "auditor") {
      roles.insert(Role::kAuditor);
    } else if (name == "operator") {
      roles.insert(Role::kOperator);
    } else {
      return Malformed(absl::StrCat("role `", name,
                                    "` is not analyst, auditor or operator"));
    }
  }
  if (roles.empty()) return Malformed("a grant has no `roles`");
  return roles;
}

absl::StatusOr<std::map<std::string, double>> ParseBudgets(const Json& json) {
  std::map<std::string, double> budgets;
  for (const Json& item : json) {
    DPNMF_RETURN_IF_ERROR(CheckKeys(item, {"population", "epsilon"}));
    const double epsilon = item.at("epsilon").get<double>();
    if (!(epsilon > 0 && epsilon <= 1000)) {
      return Malformed("`epsilon` of a budget must lie in (0, 1000]");
    }
    budgets[item.at("population").get<std::string>()] = epsilon;
  }
  return budgets;
}

absl::StatusOr<Grant> ParseGrant(const Json& json) {
  DPNMF_RETURN_IF_ERROR(
      CheckKeys(json, {"identity", "roles", "datasets", "budgets"}));
  Grant grant;
  grant.identity = json.at("identity").get<std::string>();
  if (!grant.identity.starts_with("dns:") &&
      !grant.identity.starts_with("uri:")) {
    return Malformed(absl::StrCat("identity `", grant.identity,
                                  "` must begin with dns: or uri:"));
  }
  DPNMF_ASSIGN_OR_RETURN(grant.roles, ParseRoles(json.at("roles")));
  for (const Json& item : json.at("datasets")) {
    const std::string name = item.get<std::string>();
    if (name == "*") {
      grant.all_datasets = true;
    } else {
      grant.datasets.insert(name);
    }
  }
  if (json.contains("budgets")) {
    DPNMF_ASSIGN_OR_RETURN(grant.epsilon_by_population,
                           ParseBudgets(json.at("budgets")));
  }
  return grant;
}

}  // namespace

absl::Status UnknownDataset() {
  return Refusal(
      absl::StatusCode::kNotFound, "dataset-unknown",
      "there is no such data set for this identity: list the data sets "
      "to see the names.");
}

absl::StatusOr<std::vector<Grant>> ParseGrants(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    DPNMF_RETURN_IF_ERROR(CheckKeys(json, {"grants"}));
    std::vector<Grant> grants;
    std::set<std::string> seen;
    for (const Json& item : json.at("grants")) {
      DPNMF_ASSIGN_OR_RETURN(Grant grant, ParseGrant(item));
      if (!seen.insert(grant.identity).second) {
        return Malformed(
            absl::StrCat("identity `", grant.identity, "` stands twice"));
      }
      grants.push_back(std::move(grant));
    }
    return grants;
  } catch (const Json::parse_error& error) {
    return Malformed(SlipText(text, error.byte));
  } catch (const Json::exception& error) {
    return Malformed(WithoutTag(error.what()));
  }
}

namespace {

absl::StatusOr<std::vector<Grant>> ReadGrants(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text, ReadAll(path));
  absl::StatusOr<std::vector<Grant>> grants = ParseGrants(text);
  if (grants.ok()) return grants;
  return Refusal(absl::StatusCode::kInvalidArgument, "allow-list-malformed",
                 absl::StrCat(path, ": ", grants.status().message()));
}

}  // namespace

std::optional<AccessControl::Stamp> AccessControl::StampOf(
    const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Stamp{info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size,
               info.st_ino};
}

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::FromFile(
    std::string path) {
  const std::optional<Stamp> stamp = StampOf(path);
  DPNMF_ASSIGN_OR_RETURN(std::vector<Grant> grants, ReadGrants(path));
  std::unique_ptr<AccessControl> control = FromGrants(std::move(grants));
  control->path_ = std::move(path);
  MutexLock lock(&control->mutex_);
  control->stamp_ = stamp.value_or(Stamp{});
  return control;
}

std::unique_ptr<AccessControl> AccessControl::FromGrants(
    std::vector<Grant> grants) {
  std::unique_ptr<AccessControl> control(new AccessControl());
  MutexLock lock(&control->mutex_);
  control->grants_ = std::move(grants);
  return control;
}

void AccessControl::ReloadIfChanged() {
  if (path_.empty()) return;
  const std::optional<Stamp> stamp = StampOf(path_);
  if (stamp.has_value() && *stamp == stamp_) return;
  stamp_ = stamp.value_or(Stamp{});
  absl::StatusOr<std::vector<Grant>> grants = ReadGrants(path_);
  if (grants.ok()) {
    grants_ = *std::move(grants);
    LogInfo("allow-list read again: {} grants", grants_.size());
    return;
  }
  // Fails closed: a list that cannot be read grants nothing.
  grants_.clear();
  LogError("{} Everybody is refused until it is mended.",
           std::string(grants.status().message()));
}

absl::StatusOr<Grant> AccessControl::GrantOf(
    std::span<const std::string> identities) {
  MutexLock lock(&mutex_);
  ReloadIfChanged();
  for (const Grant& grant : grants_) {
    if (std::find(identities.begin(), identities.end(), grant.identity) !=
        identities.end()) {
      return grant;
    }
  }
  return Refusal(
      absl::StatusCode::kPermissionDenied, "identity-unknown",
      "the certificate's subject alternative name is not on the allow-list: "
      "ask the operator to add it.");
}

absl::StatusOr<Grant> AccessControl::Require(
    std::span<const std::string> identities, const std::set<Role>& roles,
    const std::string& dataset) {
  DPNMF_ASSIGN_OR_RETURN(Grant grant, GrantOf(identities));
  const bool has_role = std::any_of(roles.begin(), roles.end(), [&](Role role) {
    return grant.roles.contains(role);
  });
  if (!has_role) {
    return Refusal(
        absl::StatusCode::kPermissionDenied, "role-missing",
        "this identity's role does not allow the call: ask the operator for "
        "the role.");
  }
  if (!grant.Covers(dataset)) return UnknownDataset();
  return grant;
}

}  // namespace dpnmf::curator
