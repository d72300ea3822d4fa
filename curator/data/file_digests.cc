#include "curator/data/file_digests.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/base/whole_number.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/shards.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using DigestsJson = nlohmann::ordered_json;

constexpr std::uint64_t kDigestsVersion = 1;
// A piece is read, hashed and dropped before the next one.
constexpr std::size_t kPiece = std::size_t{4} << 20;

absl::Status FileDamaged(const std::string& path, std::string_view problem) {
  const bool people = std::filesystem::path(path).filename() == kPeopleFile;
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The file `", path, "` ", View(problem),
                   people ? "; restore it from a backup or make it again with "
                            "`dpnmf-curator people`."
                          : "; restore the data set from a backup or import it "
                            "again under a new name."));
}

using FileList = std::map<std::string, FileDigest>;

// Throws if a field is missing or of a wrong type.
FileList DecodeDigests(const std::string& text) {
  const DigestsJson json = DigestsJson::parse(text);
  if (WholeNumberOf(json.at("format_version")) != kDigestsVersion)
    throw std::invalid_argument("is of another program version");
  FileList list;
  for (const auto& [name, file] : json.at("files").items()) {
    const std::optional<Digest> digest =
        DigestOfHex(file.at("hmac_sha256").get<std::string>());
    if (!digest.has_value()) throw std::invalid_argument("is damaged");
    list[name] = {WholeNumberOf(file.at("bytes")), *digest};
  }
  return list;
}

// The content of digests.json, if it is the one with that keyed digest.
absl::StatusOr<FileList> ReadList(const std::string& directory,
                                  const Digest& files, const Digest& key) {
  const std::string path = absl::StrCat(directory, "/", kDigestsFile);
  const auto text = ReadFile(path, kListFileLimit);
  if (absl::IsNotFound(text.status()))
    return FileDamaged(path, "is missing, so the data set cannot be verified");
  if (!text.ok()) return text.status();
  if (KeyedDigest(ContentOf(*text), key) != files)
    return FileDamaged(path, "is not the one of the import");
  try {
    return DecodeDigests(*text);
  } catch (const std::exception& problem) {
    return FileDamaged(path, problem.what());
  }
}

bool IsRead(const std::string& name) {
  return !name.starts_with(".") && !name.ends_with(".new");
}

// Names of all that a reader of the data set could open.
absl::StatusOr<std::set<std::string>> NamesIn(const std::string& directory) {
  std::error_code error;
  std::set<std::string> names;
  for (const std::string& entry : EntriesOf(directory, &error)) {
    std::string name = std::filesystem::path(entry).filename();
    if (IsRead(name)) names.insert(std::move(name));
  }
  if (error) return StorageFailed("list", directory, error.value());
  return names;
}

// `listed`: of the file; null: digests.json does not list it.
absl::StatusOr<FileCheck> CheckOf(const std::string& path,
                                  const FileDigest* listed) {
  if (listed == nullptr) {
    return Refusal(absl::StatusCode::kDataLoss, "dataset-damaged",
                   absl::StrCat("The import did not write the file `", path,
                                "`: move it out of the data set's directory."));
  }
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory)
    return FileDamaged(path, "is missing");
  if (error) return StorageFailed("read", path, error.value());
  if (bytes != listed->bytes)
    return FileDamaged(path, "has another length than the import wrote");
  return FileCheck{path, *listed};
}

// Every file of a directory but `other`.
absl::Status AddDirectory(const std::string& directory, const Digest& files,
                          const std::set<std::string>& other, const Digest& key,
                          std::vector<FileCheck>* checks) {
  DPNMF_ASSIGN_OR_RETURN(const FileList list, ReadList(directory, files, key));
  DPNMF_ASSIGN_OR_RETURN(std::set<std::string> names, NamesIn(directory));
  for (const auto& [name, file] : list) names.insert(name);
  for (const std::string& name : names) {
    if (other.contains(name)) continue;
    const auto listed = list.find(name);
    DPNMF_ASSIGN_OR_RETURN(
        checks->emplace_back(),
        CheckOf(absl::StrCat(directory, "/", name),
                listed == list.end() ? nullptr : &listed->second));
  }
  return absl::OkStatus();
}

// The parts on this machine. Ranks on others verify their own.
absl::Status AddParts(const std::string& directory, const Digest& key,
                      std::vector<FileCheck>* checks) {
  DPNMF_ASSIGN_OR_RETURN(const Shards shards, ReadShards(directory));
  const std::filesystem::path place(directory);
  const std::string parts =
      PartsDirectory(place.parent_path().parent_path(), place.filename());
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < shards.parts.size();
       first += shards.columns[i++]) {
    const std::string part =
        absl::StrCat(parts, "/", PartName(first, shards.columns[i]));
    std::error_code error;
    if (!std::filesystem::exists(part, error) && !error) continue;
    DPNMF_RETURN_IF_ERROR(
        AddDirectory(part, shards.files[i], {kDigestsFile}, key, checks));
  }
  return absl::OkStatus();
}

}  // namespace

FileContent ContentOf(std::string_view head, std::span<const std::byte> body) {
  return {head.size() + body.size(),
          Sha256()
              .AddBytes(std::as_bytes(std::span(head)))
              .AddBytes(body)
              .Finish()};
}

absl::StatusOr<FileContent> ReadContent(const std::string& path,
                                        const std::function<bool()>& stop) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return StorageFailed("open", path);
  // Advice may be ignored; a failure changes nothing but speed.
  (void)posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  FileContent content;
  Sha256 hash;
  std::vector<std::byte> piece(kPiece);
  for (;;) {
    if (stop && stop()) {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "The check of the files was stopped.");
    }
    const ssize_t count = read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return StorageFailed("read", path);
    if (count == 0) break;
    hash.AddBytes(std::span(piece).first(static_cast<std::size_t>(count)));
    (void)posix_fadvise(file.get(), static_cast<off_t>(content.bytes), count,
                        POSIX_FADV_DONTNEED);
    content.bytes += static_cast<std::uint64_t>(count);
  }
  content.sha256 = hash.Finish();
  return content;
}

Digest KeyedDigest(const FileContent& content, const Digest& key) {
  return HmacSha256(std::as_bytes(std::span(key)),
                    std::as_bytes(std::span(content.sha256)));
}

absl::Status DatasetWriter::Write(const std::string& name,
                                  std::string_view head,
                                  std::span<const std::byte> body) {
  const FileContent content = ContentOf(head, body);
  files_[name] = {content.bytes, KeyedDigest(content, key_)};
  return WriteDurably(absl::StrCat(directory_, "/", name), head, body);
}

absl::StatusOr<DatasetDigests> DatasetWriter::Finish() {
  DatasetDigests digests;
  DigestsJson json = {{"format_version", kDigestsVersion},
                      {"files", DigestsJson::object()}};
  for (const auto& [name, file] : files_) {
    if (name == kPeopleFile) {
      digests.people = file.digest;
      continue;
    }
    json["files"][name] = {{"bytes", file.bytes},
                           {"hmac_sha256", HexOf(file.digest)}};
  }
  const std::string text = json.dump(1) + "\n";
  DPNMF_RETURN_IF_ERROR(
      WriteDurably(absl::StrCat(directory_, "/", kDigestsFile), text));
  digests.files = KeyedDigest(ContentOf(text), key_);
  return digests;
}

absl::StatusOr<std::vector<FileCheck>> ChecksOfDataset(
    const std::string& directory,
    const std::optional<DatasetDigests>& in_ledger, const Digest& key) {
  if (!in_ledger.has_value()) {
    return Refusal(
        absl::StatusCode::kDataLoss, "dataset-not-in-ledger",
        absl::StrCat("The ledger has no digests of the data set at ", directory,
                     ", so it cannot be verified: restore the ledger and the "
                     "data set that belong together, or move the data set away "
                     "and import its file again under another name."));
  }
  std::vector<FileCheck> checks;
  DPNMF_RETURN_IF_ERROR(AddDirectory(
      directory, in_ledger->files, {kDigestsFile, kPeopleFile}, key, &checks));
  // Its length is not listed.
  const std::string people = absl::StrCat(directory, "/", kPeopleFile);
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(people, error);
  if (error) return FileDamaged(people, "is missing");
  checks.push_back({people, {bytes, in_ledger->people}});
  DPNMF_RETURN_IF_ERROR(AddParts(directory, key, &checks));
  return checks;
}

absl::StatusOr<std::vector<FileCheck>> ChecksOfFiles(
    const std::string& directory, const Digest& files,
    const std::vector<std::string>& names, const Digest& key) {
  DPNMF_ASSIGN_OR_RETURN(const FileList list, ReadList(directory, files, key));
  std::vector<FileCheck> checks;
  for (const std::string& name : names) {
    const auto listed = list.find(name);
    DPNMF_ASSIGN_OR_RETURN(
        checks.emplace_back(),
        CheckOf(absl::StrCat(directory, "/", name),
                listed == list.end() ? nullptr : &listed->second));
  }
  return checks;
}

absl::Status CheckFile(const FileCheck& check, const Digest& key,
                       const ContentReader& read) {
  const absl::StatusOr<FileContent> content = read(check.path);
  if (!content.ok()) return content.status();
  if (KeyedDigest(*content, key) == check.expected.digest)
    return absl::OkStatus();
  return FileDamaged(check.path, "is not the one that the import wrote");
}

absl::Status CheckFiles(const std::vector<FileCheck>& checks,
                        const Digest& key) {
  const auto read = [](const std::string& path) { return ReadContent(path); };
  for (const FileCheck& check : checks)
    DPNMF_RETURN_IF_ERROR(CheckFile(check, key, read));
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
