#include "analyst/client_list.h"

#include <sys/stat.h>

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "nlohmann/json.hpp"

namespace dpnmf::analyst {
namespace {

using nlohmann::json;

absl::Status Malformed(std::string_view what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "clients-malformed",
      absl::StrCat("The list of clients ",
                   absl::string_view(what.data(), what.size()), "."));
}

bool HasOnly(const json& object,
             std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) == names.end()) return false;
  }
  return true;
}

struct Roles {
  bool analyst = false, operates = false, auditor = false;
  bool Has(Permission permission) const {
    if (permission == Permission::kRead) return true;
    if (permission == Permission::kStart) return analyst;
    return analyst || operates;
  }
};

// Nothing if they are not a list of known ones.
std::optional<Roles> ParseRoles(const json& names) {
  if (!names.is_array() || names.empty()) return std::nullopt;
  Roles roles;
  for (const json& name : names) {
    if (name == "analyst") {
      roles.analyst = true;
    } else if (name == "operator") {
      roles.operates = true;
    } else if (name == "auditor") {
      roles.auditor = true;
    } else {
      return std::nullopt;
    }
  }
  return roles;
}

using RolesByIdentity = std::map<std::string, Roles>;

absl::StatusOr<RolesByIdentity> ParseList(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !HasOnly(root, {"clients"}) ||
      !root.contains("clients") || !root["clients"].is_array()) {
    return Malformed("must be a JSON object with one list, `clients`");
  }
  RolesByIdentity list;
  for (const json& client : root["clients"]) {
    if (!client.is_object() || !HasOnly(client, {"identity", "roles"}) ||
        !client.contains("identity") || !client["identity"].is_string() ||
        !client.contains("roles")) {
      return Malformed(
          "has an entry that is not an object with `identity` and `roles` "
          "alone");
    }
    const std::string identity = client["identity"];
    if (!(absl::StartsWith(identity, "dns:") ||
          absl::StartsWith(identity, "uri:")) ||
        identity.size() < 5) {
      return Malformed(
          absl::StrCat("has the identity `", identity,
                       "`, which is neither dns:NAME nor uri:URI"));
    }
    const std::optional<Roles> roles = ParseRoles(client["roles"]);
    if (!roles.has_value()) {
      return Malformed(absl::StrCat(
          "gives `", identity,
          "` roles that are not a list of analyst, operator and auditor"));
    }
    if (!list.emplace(identity, *roles).second) {
      return Malformed(absl::StrCat("names `", identity, "` twice"));
    }
  }
  return list;
}

absl::StatusOr<RolesByIdentity> ReadList(const std::string& file) {
  std::ifstream stream(file);
  std::string text((std::istreambuf_iterator<char>(stream)),
                   std::istreambuf_iterator<char>());
  if (!stream.good() && !stream.eof()) {
    return Refusal(
        absl::StatusCode::kNotFound, "clients-unreadable",
        absl::StrCat("The list of clients ", file, " cannot be read."));
  }
  return ParseList(text);
}

// What tells a file from the one that was read before.
using Stamp = std::array<std::int64_t, 4>;
Stamp StampOf(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return {};
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size,
          static_cast<std::int64_t>(info.st_ino)};
}

}  // namespace

struct ClientList::State {
  const std::string file;  // empty: never read again
  Mutex mutex;
  Stamp stamp ABSL_GUARDED_BY(mutex) = {};
  RolesByIdentity roles ABSL_GUARDED_BY(mutex);

  explicit State(std::string path) : file(std::move(path)) {}

  void ReadAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (file.empty()) return;
    const Stamp now = StampOf(file);
    if (now == stamp) return;
    stamp = now;
    absl::StatusOr<RolesByIdentity> list = ReadList(file);
    // Fails closed: a list that cannot be read lets nobody in.
    roles = list.ok() ? *std::move(list) : RolesByIdentity();
    if (list.ok()) {
      LogInfo("list of clients read again: {} clients", roles.size());
    } else {
      LogError("{} Everybody is refused until it is mended.",
               std::string(list.status().message()));
    }
  }
};

ClientList::ClientList(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

absl::StatusOr<ClientList> ClientList::Parse(std::string_view text) {
  DPNMF_ASSIGN_OR_RETURN(RolesByIdentity roles, ParseList(text));
  auto state = std::make_shared<State>("");
  MutexLock lock(&state->mutex);
  state->roles = std::move(roles);
  return ClientList(state);
}

absl::StatusOr<ClientList> ClientList::Read(const std::string& file) {
  const Stamp stamp = StampOf(file);
  DPNMF_ASSIGN_OR_RETURN(RolesByIdentity roles, ReadList(file));
  auto state = std::make_shared<State>(file);
  MutexLock lock(&state->mutex);
  state->stamp = stamp;
  state->roles = std::move(roles);
  return ClientList(state);
}

absl::StatusOr<std::string> ClientList::Authorise(
    const std::vector<std::string>& identities, Permission permission) const {
  MutexLock lock(&state_->mutex);
  state_->ReadAgain();
  bool listed = false;
  for (const std::string& identity : identities) {
    const auto found = state_->roles.find(identity);
    if (found == state_->roles.end()) continue;
    listed = true;
    if (found->second.Has(permission)) return identity;
  }
  if (!listed) {
    return Refusal(absl::StatusCode::kPermissionDenied, "identity-unknown",
                   "The certificate's identity is not on the analyst's list of "
                   "clients; ask its operator.");
  }
  return Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                 "Starting runs needs the role analyst, ending them analyst or "
                 "operator; ask the operator.");
}

absl::Status ClientList::CheckMayEnd(const std::vector<std::string>& identities,
                                     const std::string& started_by) const {
  DPNMF_RETURN_IF_ERROR(Authorise(identities, Permission::kEnd).status());
  MutexLock lock(&state_->mutex);
  for (const std::string& identity : identities) {
    const auto found = state_->roles.find(identity);
    if (found == state_->roles.end()) continue;
    if (found->second.operates) return absl::OkStatus();
    if (found->second.analyst && identity == started_by)
      return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kPermissionDenied, "run-of-another",
                 "Another client started this run; it or an operator may end "
                 "it.");
}

}  // namespace dpnmf::analyst
