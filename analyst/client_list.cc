#include "analyst/client_list.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
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

// Whether the roles allow starting runs; nothing if they are not a list of
// known ones.
std::optional<bool> MayStart(const json& roles) {
  if (!roles.is_array() || roles.empty()) return std::nullopt;
  bool may_start = false;
  for (const json& role : roles) {
    if (role == "analyst") {
      may_start = true;
    } else if (role != "auditor") {
      return std::nullopt;
    }
  }
  return may_start;
}

}  // namespace

absl::StatusOr<ClientList> ClientList::Parse(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !HasOnly(root, {"clients"}) ||
      !root.contains("clients") || !root["clients"].is_array()) {
    return Malformed("must be a JSON object with one list, `clients`");
  }
  ClientList list;
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
    const std::optional<bool> may_start = MayStart(client["roles"]);
    if (!may_start.has_value()) {
      return Malformed(
          absl::StrCat("gives `", identity,
                       "` roles that are not a list of analyst and auditor"));
    }
    if (!list.may_start_.emplace(identity, *may_start).second) {
      return Malformed(absl::StrCat("names `", identity, "` twice"));
    }
  }
  return list;
}

absl::StatusOr<ClientList> ClientList::Read(const std::string& file) {
  std::ifstream stream(file);
  std::string text((std::istreambuf_iterator<char>(stream)),
                   std::istreambuf_iterator<char>());
  if (!stream.good() && !stream.eof()) {
    return Refusal(
        absl::StatusCode::kNotFound, "clients-unreadable",
        absl::StrCat("The list of clients ", file, " cannot be read."));
  }
  return Parse(text);
}

absl::StatusOr<std::string> ClientList::Authorise(
    const std::vector<std::string>& identities, Permission permission) const {
  bool listed = false;
  for (const std::string& identity : identities) {
    const auto found = may_start_.find(identity);
    if (found == may_start_.end()) continue;
    listed = true;
    if (permission == Permission::kRead || found->second) return identity;
  }
  if (!listed) {
    return Refusal(absl::StatusCode::kPermissionDenied, "identity-unknown",
                   "The certificate's identity is not on the analyst's list of "
                   "clients; ask "
                   "its operator.");
  }
  return Refusal(
      absl::StatusCode::kPermissionDenied, "role-missing",
      "Starting and cancelling runs needs the role analyst; ask the operator.");
}

}  // namespace dpnmf::analyst
