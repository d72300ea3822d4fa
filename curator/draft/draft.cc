#include "curator/draft/draft.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/whole_number.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kDraftFormat = 1;

struct KindName {
  DraftKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 3> kKindNames = {{
    {DraftKind::kDistorted, "distorted"},
    {DraftKind::kCompleted, "completed"},
    {DraftKind::kSynthetic, "synthetic"},
}};

std::string JsonFile(const std::string& directory) {
  return directory + "/draft.json";
}
std::string TableFile(const std::string& directory) {
  return directory + "/table.csv";
}
std::string PeopleFile(const std::string& directory) {
  return directory + "/people.bin";
}

Digest HashOfBytes(std::string_view bytes) {
  return Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
}

absl::Status Damaged(const std::string& directory, std::string_view problem) {
  return Refusal(absl::StatusCode::kDataLoss, "draft-damaged",
                 absl::StrCat("The draft in `", directory, "` is damaged: ",
                              std::string(problem), "; make it again."));
}

bool IsShare(double value) { return value >= 0 && value <= 1; }

// Throws if a field is missing or of a wrong type.
Draft Decode(const Json& json) {
  constexpr std::size_t kFields = 9;
  if (!json.is_object() || json.size() != kFields)
    throw std::invalid_argument("it has missing or unknown fields");
  if (WholeNumberOf(json.at("format")) != kDraftFormat)
    throw std::invalid_argument("another program version wrote it");
  Draft draft;
  const std::string kind = json.at("kind").get<std::string>();
  bool known = false;
  for (const KindName& entry : kKindNames) {
    if (entry.name != kind) continue;
    draft.kind = entry.kind;
    known = true;
  }
  if (!known) throw std::invalid_argument("its kind is not known");
  draft.method = json.at("method").get<std::string>();
  draft.parameters = json.at("parameters");
  draft.attacks = json.at("attacks");
  draft.charge = json.at("charge");
  if (!json.at("largest_linkage").is_null()) {
    draft.largest_linkage = json.at("largest_linkage").get<double>();
    if (!IsShare(*draft.largest_linkage) || draft.attacks.is_null())
      throw std::invalid_argument("its largest linkage is not a share");
  }
  return draft;
}

// A file of the draft, which must be the one that draft.json names.
absl::StatusOr<std::string> ReadPart(const std::string& directory,
                                     const std::string& path,
                                     const Json& digest) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kOwnFileLimit);
  if (absl::IsNotFound(bytes.status()))
    return Damaged(directory, absl::StrCat("`", path, "` is missing"));
  if (!bytes.ok()) return bytes.status();
  if (!digest.is_string() ||
      digest.get<std::string>() != HexOf(HashOfBytes(*bytes))) {
    return Damaged(directory, absl::StrCat("`", path, "` was changed"));
  }
  return bytes;
}

}  // namespace

std::string_view NameOf(DraftKind kind) {
  for (const KindName& entry : kKindNames)
    if (entry.kind == kind) return entry.name;
  return "";
}

absl::Status WriteDraft(const std::string& directory, const Draft& draft,
                        std::string_view table_csv) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  std::error_code error;
  if (std::filesystem::exists(JsonFile(directory), error)) {
    return Refusal(absl::StatusCode::kAlreadyExists, "draft-exists",
                   absl::StrCat("There is a draft in `", directory,
                                "` already; choose another --output."));
  }
  Json people = nullptr;
  if (draft.people.has_value()) {
    const std::string bytes = PeopleBytes(*draft.people, Digest{});
    DPNMF_RETURN_IF_ERROR(ReplaceDurably(PeopleFile(directory), bytes));
    people = HexOf(HashOfBytes(bytes));
  }
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(TableFile(directory), table_csv));
  Json linkage = nullptr;
  if (draft.largest_linkage.has_value()) linkage = *draft.largest_linkage;
  const Json json = {
      {"format", kDraftFormat},
      {"kind", std::string(NameOf(draft.kind))},
      {"method", draft.method},
      {"parameters", draft.parameters},
      {"attacks", draft.attacks},
      {"largest_linkage", linkage},
      {"charge", draft.charge},
      {"table_sha256", HexOf(HashOfBytes(table_csv))},
      {"people_sha256", people},
  };
  return ReplaceDurably(
      JsonFile(directory),
      json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::StatusOr<StoredDraft> ReadDraft(const std::string& directory) {
  const auto text = ReadFile(JsonFile(directory), kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) {
    return Refusal(
        absl::StatusCode::kNotFound, "draft-missing",
        absl::StrCat("There is no draft in `", directory,
                     "`; give the directory into which dpnmf-lab wrote it."));
  }
  if (!text.ok()) return text.status();
  StoredDraft stored;
  Json table, people;
  try {
    const Json json = Json::parse(*text);
    stored.draft = Decode(json);
    table = json.at("table_sha256");
    people = json.at("people_sha256");
  } catch (const std::exception& problem) {
    return Damaged(directory, problem.what());
  }
  DPNMF_ASSIGN_OR_RETURN(stored.table_csv,
                         ReadPart(directory, TableFile(directory), table));
  if (people.is_null()) return stored;
  DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadPart(directory, PeopleFile(directory), people));
  auto decoded = PeopleOfBytes(bytes, Digest{});
  if (!decoded.ok()) return Damaged(directory, "its people are unreadable");
  stored.draft.people = *std::move(decoded);
  return stored;
}

}  // namespace dpnmf::curator
