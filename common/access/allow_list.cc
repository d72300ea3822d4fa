#include "common/access/allow_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/read_file.h"
#include "common/log/log.h"
#include "nlohmann/json.hpp"

namespace dpnmf {

const AllowListRules kCuratorAllowList = {
    .name = "allow-list",
    .has_datasets = true,
    .malformed = "allow-list-malformed",
    .unreadable = "allow-list-unreadable",
    .not_on_list =
        "This server's allow-list does not contain the certificate's subject "
        "alternative name: ask the operator to add it."};
const AllowListRules kAnalystAllowList = {
    .name = "list of clients",
    .has_datasets = false,
    .malformed = "clients-malformed",
    .unreadable = "clients-unreadable",
    .not_on_list =
        "The certificate's identity is not on the analyst's list of clients; "
        "ask its operator."};

namespace {

using Json = nlohmann::json;

constexpr char kKey[] = "peers";

// Returns the place at which the text is no longer JSON. `byte` counts from 1.
std::string SyntaxErrorAt(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
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

// Fields are read with the library's exceptions for wrong types and missing
// fields, which Parse turns into a refusal.
class Reader {
 public:
  explicit Reader(const AllowListRules& rules) : rules_(rules) {}

  absl::StatusOr<std::vector<Grant>> Parse(std::string_view text) const {
    try {
      // The library keeps the last of several fields of one name.
      std::vector<std::set<std::string>> open;
      std::string twice;
      const auto note = [&](int, Json::parse_event_t event, Json& parsed) {
        using Event = Json::parse_event_t;
        if (event == Event::object_start) open.emplace_back();
        if (event == Event::object_end) open.pop_back();
        if (event == Event::key && !open.back().insert(parsed).second)
          twice = parsed.get<std::string>();
        return true;
      };
      const Json root = Json::parse(text, note);
      if (twice.empty()) return List(root);
      return Malformed(absl::StrCat("an entry has `", twice, "` twice"));
    } catch (const Json::parse_error& error) {
      return Malformed(SyntaxErrorAt(text, error.byte));
    } catch (const Json::exception& error) {
      return Malformed(WithoutTag(error.what()));
    }
  }

 private:
  absl::Status Malformed(const std::string& what) const {
    return Refusal(
        absl::StatusCode::kInvalidArgument, rules_.malformed,
        absl::StrCat("The ", View(rules_.name), " is malformed: ", what, "."));
  }

  absl::Status CheckKeys(const Json& object,
                         const std::set<std::string>& known) const {
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key))
        return Malformed(absl::StrCat("unknown field `", key, "`"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckIsList(const Json& json, const char* name) const {
    if (json.is_array()) return absl::OkStatus();
    return Malformed(absl::StrCat("`", name, "` must be a list"));
  }

  absl::StatusOr<std::vector<Grant>> List(const Json& root) const {
    DPNMF_RETURN_IF_ERROR(CheckKeys(root, {kKey}));
    DPNMF_RETURN_IF_ERROR(CheckIsList(root.at(kKey), kKey));
    std::vector<Grant> grants;
    std::set<std::string> seen;
    for (const Json& item : root.at(kKey)) {
      DPNMF_ASSIGN_OR_RETURN(Grant grant, GrantOf(item));
      if (!seen.insert(grant.identity).second) {
        return Malformed(
            absl::StrCat("identity `", grant.identity, "` is listed twice"));
      }
      grants.push_back(std::move(grant));
    }
    return grants;
  }

  absl::StatusOr<Grant> GrantOf(const Json& json) const {
    Grant grant;
    grant.identity = json.at("identity").get<std::string>();
    constexpr std::size_t kPrefix = std::string_view("dns:").size();
    if ((!grant.identity.starts_with("dns:") &&
         !grant.identity.starts_with("uri:")) ||
        grant.identity.size() == kPrefix) {
      return Malformed(absl::StrCat("identity `", grant.identity,
                                    "` is neither dns:NAME nor uri:URI"));
    }
    DPNMF_ASSIGN_OR_RETURN(grant.roles, RolesOf(json.at("roles")));
    if (!rules_.has_datasets) {
      for (const char* field : {"datasets", "budgets"}) {
        if (json.contains(field)) {
          return Malformed(absl::StrCat(
              "`", field, "` of `", grant.identity,
              "` must be in the curator's allow-list, not in this list"));
        }
      }
      DPNMF_RETURN_IF_ERROR(CheckKeys(json, {"identity", "roles"}));
      return grant;
    }
    DPNMF_RETURN_IF_ERROR(
        CheckKeys(json, {"identity", "roles", "datasets", "budgets"}));
    DPNMF_RETURN_IF_ERROR(CheckIsList(json.at("datasets"), "datasets"));
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
                             BudgetsOf(json.at("budgets")));
    }
    return grant;
  }

  absl::StatusOr<std::set<Role>> RolesOf(const Json& json) const {
    DPNMF_RETURN_IF_ERROR(CheckIsList(json, "roles"));
    std::map<std::string, Role> known = {{"analyst", Role::kAnalyst},
                                         {"auditor", Role::kAuditor},
                                         {"operator", Role::kOperator}};
    if (rules_.has_datasets) known["front_end"] = Role::kFrontEnd;
    std::set<Role> roles;
    for (const Json& item : json) {
      const std::string name = item.get<std::string>();
      const auto role = known.find(name);
      if (role == known.end()) {
        return Malformed(absl::StrCat(
            "role `", name, "` is not analyst, auditor",
            rules_.has_datasets ? ", operator or front_end" : " or operator"));
      }
      roles.insert(role->second);
    }
    if (roles.empty()) return Malformed("an entry has no `roles`");
    if (roles.contains(Role::kAnalyst) && roles.contains(Role::kFrontEnd)) {
      return Malformed(
          "an entry has the roles analyst and front_end; people's lists never "
          "go to an analyst");
    }
    return roles;
  }

  absl::StatusOr<std::map<std::string, double>> BudgetsOf(
      const Json& json) const {
    DPNMF_RETURN_IF_ERROR(CheckIsList(json, "budgets"));
    std::map<std::string, double> budgets;
    for (const Json& item : json) {
      DPNMF_RETURN_IF_ERROR(CheckKeys(item, {"population", "epsilon"}));
      const double epsilon = item.at("epsilon").get<double>();
      if (!(epsilon > 0 && epsilon <= 1000))
        return Malformed("`epsilon` of a budget must lie in (0, 1000]");
      const auto population = item.at("population").get<std::string>();
      if (!budgets.emplace(population, epsilon).second) {
        return Malformed(
            absl::StrCat("`budgets` of an entry has `", population, "` twice"));
      }
    }
    return budgets;
  }

  const AllowListRules& rules_;
};

}  // namespace

absl::StatusOr<std::vector<Grant>> ParseAllowList(std::string_view json,
                                                  const AllowListRules& rules) {
  return Reader(rules).Parse(json);
}

absl::StatusOr<std::vector<Grant>> ReadAllowList(const std::string& path,
                                                 const AllowListRules& rules) {
  const absl::StatusOr<std::string> text = ReadFile(path, kSettingsFileLimit);
  if (!text.ok()) {
    return Refusal(
        absl::StatusCode::kNotFound, rules.unreadable,
        absl::StrCat("The ", View(rules.name), " ", path,
                     " cannot be read: check the path and its permissions."));
  }
  absl::StatusOr<std::vector<Grant>> list = ParseAllowList(*text, rules);
  if (list.ok()) return list;
  return Refusal(absl::StatusCode::kInvalidArgument, rules.malformed,
                 absl::StrCat("`", path, "`: ", list.status().message()));
}

AllowList::Stamp AllowList::StampOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec, info.st_size,
          static_cast<std::int64_t>(info.st_ino)};
}

absl::StatusOr<std::unique_ptr<AllowList>> AllowList::FromFile(
    std::string path, const AllowListRules& rules) {
  const Stamp stamp = StampOf(path);
  DPNMF_ASSIGN_OR_RETURN(std::vector<Grant> grants, ReadAllowList(path, rules));
  std::unique_ptr<AllowList> control(new AllowList(std::move(path), rules));
  MutexLock lock(&control->mutex_);
  control->stamp_ = stamp;
  control->grants_ = std::move(grants);
  return control;
}

std::unique_ptr<AllowList> AllowList::FromGrants(std::vector<Grant> grants,
                                                 const AllowListRules& rules) {
  std::unique_ptr<AllowList> control(new AllowList("", rules));
  MutexLock lock(&control->mutex_);
  control->grants_ = std::move(grants);
  return control;
}

void AllowList::ReloadIfChanged() {
  if (path_.empty()) return;
  const Stamp stamp = StampOf(path_);
  if (stamp == stamp_) return;
  stamp_ = stamp;
  absl::StatusOr<std::vector<Grant>> list = ReadAllowList(path_, rules_);
  if (list.ok()) {
    grants_ = *std::move(list);
    LogInfo("{} read again: {} entries", View(rules_.name), grants_.size());
    return;
  }
  // Fails closed: a list that cannot be read grants nothing.
  grants_.clear();
  LogError("{} Access is denied to everyone until the file is corrected",
           std::string(list.status().message()));
}

absl::StatusOr<std::vector<Grant>> AllowList::GrantsOf(
    std::span<const std::string> identities) {
  MutexLock lock(&mutex_);
  ReloadIfChanged();
  std::vector<Grant> found;
  for (const Grant& grant : grants_) {
    if (std::find(identities.begin(), identities.end(), grant.identity) !=
        identities.end()) {
      found.push_back(grant);
    }
  }
  if (!found.empty()) return found;
  return Refusal(absl::StatusCode::kPermissionDenied, "identity-unknown",
                 rules_.not_on_list);
}

}  // namespace dpnmf
