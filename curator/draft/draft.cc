#include "curator/draft/draft.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/enum_names.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kDraftFormat = 1;

constexpr auto kDraftKindNames = EnumNamesOf<DraftKind>({
    {DraftKind::kDistorted, "distorted"},
    {DraftKind::kCompleted, "completed"},
    {DraftKind::kSynthetic, "synthetic"},
});

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

// draft.json.
struct DraftFile {
  Draft draft;
  Digest table = {};
  std::optional<Digest> people = {};
};

std::optional<DraftKind> DraftKindOfName(std::string_view name) {
  return EnumOfName(kDraftKindNames, name);
}

void ListDraft(JsonFields& json, DraftFile& file) {
  Draft& draft = file.draft;
  json.Version("format", kDraftFormat);
  json.Named("kind", draft.kind, NameOf(draft.kind), DraftKindOfName);
  json.Required("method", draft.method);
  json.Required("parameters", draft.parameters);
  json.Required("attacks", draft.attacks);
  json.Required("largest_linkage", draft.largest_linkage);
  json.Required("charge", draft.charge);
  json.Required("table_sha256", file.table);
  json.Required("people_sha256", file.people);
}

// A file of the draft, which must be the one that draft.json names.
absl::StatusOr<std::string> ReadPart(const std::string& directory,
                                     const std::string& path,
                                     const Digest& digest) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kOwnFileLimit);
  if (absl::IsNotFound(bytes.status()))
    return Damaged(directory, absl::StrCat("`", path, "` is missing"));
  if (!bytes.ok()) return bytes.status();
  if (digest != HashOfBytes(*bytes))
    return Damaged(directory, absl::StrCat("`", path, "` was changed"));
  return bytes;
}

}  // namespace

std::string_view NameOf(DraftKind kind) {
  return NameIn(kDraftKindNames, kind);
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
  DraftFile file{.draft = draft, .table = HashOfBytes(table_csv)};
  if (draft.people.has_value()) {
    const std::string bytes = PeopleBytes(*draft.people, Digest{});
    DPNMF_RETURN_IF_ERROR(ReplaceDurably(PeopleFile(directory), bytes));
    file.people = HashOfBytes(bytes);
  }
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(TableFile(directory), table_csv));
  const FileJson json = JsonFields::Write(std::move(file), ListDraft);
  return ReplaceDurably(
      JsonFile(directory),
      json.dump(2, ' ', false, FileJson::error_handler_t::replace) + "\n");
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
  DraftFile file;
  try {
    file = JsonFields::Read(FileJson::parse(*text), ListDraft);
  } catch (const std::exception& problem) {
    return Damaged(directory, problem.what());
  }
  const std::optional<double> linkage = file.draft.largest_linkage;
  if (linkage.has_value() &&
      !(*linkage >= 0 && *linkage <= 1 && !file.draft.attacks.is_null()))
    return Damaged(directory, "its largest linkage is not a share");
  stored.draft = std::move(file.draft);
  DPNMF_ASSIGN_OR_RETURN(stored.table_csv,
                         ReadPart(directory, TableFile(directory), file.table));
  if (!file.people.has_value()) return stored;
  DPNMF_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadPart(directory, PeopleFile(directory), *file.people));
  auto decoded = PeopleOfBytes(bytes, Digest{});
  if (!decoded.ok()) return Damaged(directory, "its people are unreadable");
  stored.draft.people = *std::move(decoded);
  return stored;
}

}  // namespace dpnmf::curator
