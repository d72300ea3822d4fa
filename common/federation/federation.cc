#include "common/federation/federation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/read_file.h"
#include "common/privacy/mechanism.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

using Json = nlohmann::json;

absl::Status Malformed(std::string_view what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "federation-malformed",
      absl::StrCat("The federation's file is malformed: ", View(what), "."));
}

absl::Status CheckFields(const Json& object,
                         const std::set<std::string>& known) {
  if (!object.is_object()) return Malformed("an entry is not an object");
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key))
      return Malformed(absl::StrCat("unknown field `", key, "`"));
  }
  return absl::OkStatus();
}

// A whole number, which the library would round and wrap in silence.
absl::StatusOr<std::uint64_t> Whole(const Json& object, const char* field,
                                    std::uint64_t least, std::uint64_t most) {
  const Json& json = object.at(field);
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (least <= value && value <= most) return value;
  }
  return Malformed(absl::StrCat("`", field, "` must be a whole number from ",
                                least, " to ", most));
}

absl::StatusOr<std::uint32_t> Small(const Json& object, const char* field,
                                    std::uint32_t least, std::uint32_t most) {
  DPNMF_ASSIGN_OR_RETURN(const std::uint64_t value,
                         Whole(object, field, least, most));
  return static_cast<std::uint32_t>(value);
}

absl::StatusOr<std::string> Name(const Json& object, const char* field) {
  std::string name = object.at(field).get<std::string>();
  if (IsMemberName(name)) return name;
  return Malformed(absl::StrCat("`", field,
                                "` must be 1 to 64 of a-z, 0-9, ., _ and -, "
                                "and begin with a letter or a digit"));
}

absl::StatusOr<FederationMember> MemberOf(const Json& json) {
  DPNMF_RETURN_IF_ERROR(CheckFields(
      json, {"name", "dataset", "users", "receipt_key", "address"}));
  FederationMember member;
  DPNMF_ASSIGN_OR_RETURN(member.name, Name(json, "name"));
  DPNMF_ASSIGN_OR_RETURN(member.dataset, Name(json, "dataset"));
  DPNMF_ASSIGN_OR_RETURN(member.users,
                         Whole(json, "users", 1, std::uint64_t{1} << 40));
  const auto key = DigestOfHex(json.at("receipt_key").get<std::string>());
  if (!key.has_value())
    return Malformed("`receipt_key` must be 64 lower-case hexadecimal digits");
  std::copy(key->begin(), key->end(), member.receipt_key.begin());
  member.address = json.at("address").get<std::string>();
  return member;
}

absl::StatusOr<std::vector<FederationMember>> MembersOf(const Json& json) {
  if (!json.is_array() || json.size() < 2 || json.size() > kMostMembers)
    return Malformed("`members` must be a list of 2 to 64 curators");
  std::vector<FederationMember> members;
  std::set<std::string> names;
  std::set<PublicKey> keys;
  for (const Json& item : json) {
    DPNMF_ASSIGN_OR_RETURN(FederationMember member, MemberOf(item));
    if (!names.insert(member.name).second)
      return Malformed(
          absl::StrCat("the member `", member.name, "` is listed twice"));
    if (!keys.insert(member.receipt_key).second)
      return Malformed(absl::StrCat("the receipt key of `", member.name,
                                    "` is another member's too"));
    members.push_back(std::move(member));
  }
  return members;
}

absl::StatusOr<Federation> FederationOf(const Json& json) {
  DPNMF_RETURN_IF_ERROR(CheckFields(
      json, {"federation", "colluders", "copies", "adjacency", "conversion",
             "features", "normalisation", "column_bound", "max_rank",
             "max_rounds", "epsilon_if_others_collude", "members"}));
  Federation federation;
  DPNMF_ASSIGN_OR_RETURN(federation.name, Name(json, "federation"));
  DPNMF_ASSIGN_OR_RETURN(federation.members, MembersOf(json.at("members")));
  const std::uint32_t m = federation.size();
  // With t = 0 a curator that sees the result would know the sum of the others
  // with too little noise.
  DPNMF_ASSIGN_OR_RETURN(federation.colluders,
                         Small(json, "colluders", 1, m - 1));
  DPNMF_ASSIGN_OR_RETURN(federation.copies, Small(json, "copies", 1, m));
  const auto adjacency =
      AdjacencyOfName(json.at("adjacency").get<std::string>());
  if (!adjacency.has_value() || *adjacency == Adjacency::kOneRating)
    return Malformed("`adjacency` must be replace_one or add_remove_one");
  federation.adjacency = *adjacency;
  const auto conversion =
      ConversionOfName(json.at("conversion").get<std::string>());
  if (!conversion.has_value())
    return Malformed("`conversion` must be rdp, rdp_optimal or gaussian");
  federation.conversion = *conversion;
  DPNMF_ASSIGN_OR_RETURN(federation.features,
                         Whole(json, "features", 1, std::uint64_t{1} << 40));
  federation.normalisation = json.at("normalisation").get<std::string>();
  if (federation.normalisation != "l2" && federation.normalisation != "none")
    return Malformed("`normalisation` must be l2 or none");
  federation.column_bound = json.at("column_bound").get<double>();
  if (!(federation.column_bound > 0 && std::isfinite(federation.column_bound)))
    return Malformed("`column_bound` must be above 0");
  DPNMF_ASSIGN_OR_RETURN(federation.max_rank,
                         Small(json, "max_rank", 1, kMaxRank));
  DPNMF_ASSIGN_OR_RETURN(federation.max_rounds,
                         Small(json, "max_rounds", 1, kMaxRounds));
  federation.epsilon_if_others_collude =
      json.at("epsilon_if_others_collude").get<double>();
  if (!(federation.epsilon_if_others_collude > 0 &&
        federation.epsilon_if_others_collude <= 1000))
    return Malformed("`epsilon_if_others_collude` must lie in (0, 1000]");
  return federation;
}

}  // namespace

bool IsMemberName(std::string_view text) {
  const auto plain = [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9');
  };
  return !text.empty() && text.size() <= 64 && plain(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return plain(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::StatusOr<Federation> ParseFederation(std::string_view text) {
  try {
    // The library keeps the last of several fields of one name.
    std::vector<std::set<std::string>> open;
    bool twice = false;
    const auto note = [&](int, Json::parse_event_t event, Json& parsed) {
      using Event = Json::parse_event_t;
      if (event == Event::object_start) open.emplace_back();
      if (event == Event::object_end) open.pop_back();
      if (event == Event::key && !open.back().insert(parsed).second)
        twice = true;
      return true;
    };
    const Json json = Json::parse(text, note);
    if (twice) return Malformed("an entry has a field twice");
    DPNMF_ASSIGN_OR_RETURN(Federation federation, FederationOf(json));
    federation.sha256 =
        Sha256()
            .AddBytes(std::as_bytes(std::span(text.data(), text.size())))
            .Finish();
    return federation;
  } catch (const Json::exception& error) {
    return Malformed(error.what());
  }
}

absl::StatusOr<Federation> ReadFederation(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kSettingsFileLimit);
  if (!text.ok()) {
    return Refusal(absl::StatusCode::kNotFound, "federation-unreadable",
                   absl::StrCat("The federation's file ", path,
                                " cannot be read: check the path and its "
                                "permissions."));
  }
  return ParseFederation(*text);
}

DatasetFacts FactsOf(const Federation& federation) {
  DatasetFacts facts;
  facts.name = facts.population = federation.name;
  facts.features = federation.features;
  for (const FederationMember& member : federation.members)
    facts.users += member.users;
  if (federation.adjacency == Adjacency::kAddRemoveOne)
    facts.users += 512 * (std::uint64_t{federation.size()} - 1);
  facts.adjacency = federation.adjacency;
  facts.conversion = federation.conversion;
  facts.column_bound = federation.column_bound;
  facts.max_rank = federation.max_rank;
  facts.max_rounds = federation.max_rounds;
  return facts;
}

absl::Status CheckFederatedMechanism(std::string_view mechanism) {
  if (MechanismHas(mechanism, &Mechanism::may_be_federated))
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "federation-mechanism",
      absl::StrCat("A federation releases only plain sums: choose `mechanism` ",
                   NamesText(Mechanisms(), &Mechanism::may_be_federated), "."));
}

std::string SharesSentence(std::uint32_t members, std::uint32_t colluders) {
  const double m = members, h = members - colluders;
  std::string sentence = absl::StrFormat(
      "The noise of the sum is %.3g times that of one curator with "
      "everybody's data; %d separate releases would have %.3g times.",
      std::sqrt(m / h), members, std::sqrt(m));
  if (members - colluders == 1) {
    absl::StrAppend(&sentence, members == 2
                                   ? " With two curators a federation gains "
                                     "nothing: average two releases instead."
                                   : " With so many colluders a federation "
                                     "gains nothing over separate releases.");
  }
  return sentence;
}

}  // namespace dpnmf
