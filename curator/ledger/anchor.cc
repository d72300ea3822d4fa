#include "curator/ledger/anchor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/files/read_file.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

constexpr char kAnchorFile[] = "anchor.json";
constexpr int kFormat = 1;

absl::Status Damaged() {
  return Refusal(absl::StatusCode::kDataLoss, "anchor-damaged",
                 "The ledger's anchor file is not readable as an anchor; see "
                 "`dpnmf-curator ledger anchor --help`.");
}

std::string TextField(const nlohmann::json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>()
                                                     : std::string();
}

std::uint64_t NumberField(const nlohmann::json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_number_unsigned()
             ? field->get<std::uint64_t>()
             : 0;
}

}  // namespace

std::string AnchorFile(const std::string& directory) {
  return absl::StrCat(directory, "/", kAnchorFile);
}

std::string AnchorText(const Anchor& anchor) {
  nlohmann::ordered_json object;
  object["format"] = kFormat;
  object["ledger"] = anchor.ledger_id;
  object["rows"] = anchor.row_count;
  object["head"] = HexOf(anchor.head);
  return object.dump() + "\n";
}

absl::StatusOr<Anchor> ParseAnchor(std::string_view text) {
  const nlohmann::json object =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Damaged();
  Anchor anchor;
  anchor.ledger_id = TextField(object, "ledger");
  anchor.row_count = NumberField(object, "rows");
  const std::optional<Digest> head = DigestOfHex(TextField(object, "head"));
  if (NumberField(object, "format") != kFormat || !IsHexId(anchor.ledger_id) ||
      anchor.row_count == 0 || !head.has_value()) {
    return Damaged();
  }
  anchor.head = *head;
  return anchor;
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
