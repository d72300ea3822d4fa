#include "curator/ledger/anchor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/files/read_file.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

constexpr char kAnchorFile[] = "anchor.json";
constexpr int kFormat = 1;

absl::Status Damaged() {
  return Refusal(absl::StatusCode::kDataLoss, "anchor-damaged",
                 "The ledger's anchor file is not readable as an anchor; see "
                 "`dpnmf-curator ledger anchor --help`.");
}

void ListAnchor(JsonFields& json, Anchor& anchor) {
  json.Version("format", kFormat);
  json.Required("ledger", anchor.ledger_id);
  json.Required("rows", anchor.row_count);
  json.Required("head", anchor.head);
}

}  // namespace

std::string AnchorFile(const std::string& directory) {
  return absl::StrCat(directory, "/", kAnchorFile);
}

std::string AnchorText(const Anchor& anchor) {
  return JsonFields::Write(anchor, ListAnchor).dump() + "\n";
}

absl::StatusOr<Anchor> ParseAnchor(std::string_view text) {
  try {
    const Anchor anchor = JsonFields::Read(FileJson::parse(text), ListAnchor);
    if (IsHexId(anchor.ledger_id) && anchor.row_count > 0) return anchor;
  } catch (const std::exception&) {
  }
  return Damaged();
}

absl::StatusOr<std::optional<Anchor>> ReadAnchor(const std::string& directory) {
  const auto text = ReadFile(AnchorFile(directory), kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  // A file that is too large is treated as a damaged one. (A directory is
  // "storage-failed".)
  if (ReasonCode(text.status()) == "file-too-large") return Damaged();
  if (!text.ok()) return text.status();
  DPNMF_ASSIGN_OR_RETURN(Anchor anchor, ParseAnchor(*text));
  return anchor;
}

absl::StatusOr<StagedAnchor> StagedAnchor::Stage(const std::string& directory,
                                                 const Anchor& anchor) {
  DPNMF_ASSIGN_OR_RETURN(StagedFile file,
                         StagedFile::Create(directory, kAnchorFile));
  DPNMF_RETURN_IF_ERROR(file.Write(AnchorText(anchor)));
  return StagedAnchor(std::move(file));
}

absl::Status StagedAnchor::Publish() { return file_.PublishAs(kAnchorFile); }

absl::Status WriteAnchor(const std::string& directory, const Anchor& anchor) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  DPNMF_ASSIGN_OR_RETURN(StagedAnchor staged,
                         StagedAnchor::Stage(directory, anchor));
  return staged.Publish();
}

}  // namespace dpnmf::curator
