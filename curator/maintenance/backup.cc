#include "curator/maintenance/backup.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "SQLiteCpp/Backup.h"
#include "SQLiteCpp/SQLiteCpp.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/dataset.h"
#include "curator/data/description.h"
#include "curator/data/file_digests.h"
#include "curator/data/removed.h"
#include "curator/import/import_steps.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kManifest[] = "manifest.json";
constexpr std::uint64_t kFormat = 1;
constexpr char kKeyFile[] = "fingerprint.key";
constexpr char kLedgerFile[] = "ledger/ledger.sqlite";
// Copies that are begun while files are removed or renamed.
constexpr int kTries = 4;

struct File {
  std::uint64_t size = 0;
  std::string hash;  // keyed
};
using Files = std::map<std::string, File>;  // by path below the directory

absl::Status BackupDamaged(const std::string& backup, absl::string_view what) {
  return Refusal(absl::StatusCode::kDataLoss, "backup-damaged",
                 absl::StrCat("The backup ", backup, " is damaged: ", what,
                              "; use another one."));
}

// Key of manifests only: no fingerprint is made with it.
Digest ManifestKey(const FingerprintKey& key) {
  constexpr std::string_view kPurpose = "dpnmf backup manifest";
  return HmacSha256(std::as_bytes(std::span(key)),
                    std::as_bytes(std::span(kPurpose)));
}

// key: ManifestKey.
File FileOf(const FileContent& content, const Digest& key) {
  return {content.bytes, HexOf(KeyedDigest(content, key))};
}

// Durable on return, with its directory.
absl::Status CopyFile(const fs::path& from, const fs::path& to) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(to.parent_path()));
  DPNMF_RETURN_IF_ERROR(CopyDurably(from, to));
  return SyncDirectory(to.parent_path());
}

// One snapshot of the ledger, in one file.
absl::Status CopyLedger(const std::string& from, const std::string& to) {
  DPNMF_RETURN_IF_ERROR(MakePrivateFile(to));
  try {
    SQLite::Database source(from, SQLite::OPEN_READONLY, 10'000);
    SQLite::Database target(to, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    SQLite::Backup(target, source).executeStep(-1);
    target.exec("PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception& error) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("The ledger ", from,
                                " cannot be copied: ", error.what(), "."));
  }
  DPNMF_RETURN_IF_ERROR(SyncFile(to));
  return SyncDirectory(fs::path(to).parent_path());
}

// Returns whether a manifest can hold the text.
bool IsUtf8(const std::string& text) {
  try {
    return !json(text).dump().empty();
  } catch (const json::exception&) {
    return false;
  }
}

// Ends a try; the next one may meet no such file.
absl::Status FileGone() {
  return absl::AbortedError("A file was removed or renamed meanwhile.");
}

// Tells locks, and drafts that their writers rename or remove when they are
// done: directories of imports that may yet be refused (kDraftPrefix), and
// files of StagedFile (.new), ReplaceDurably and GrowingFile (.partial). The
// name of a data set, and so of a directory, may end in any of these.
bool IsUnfinished(const fs::path& path, bool is_directory) {
  if (is_directory) return path.filename().string().starts_with(kDraftPrefix);
  return path.filename() == kImportLock || path.extension() == ".new" ||
         path.extension() == ".partial";
}

// Files that are copied besides the ledger, in order: data sets, the parts of
// data sets that are on this machine, releases, the people of published tables,
// the keys of the fingerprints and the receipts (with another one analysts
// would take no release), the audit log and the log of evaluations; no locks
// and no unfinished files. Symbolic links are followed.
absl::StatusOr<std::vector<std::string>> OtherFiles(
    const std::string& data_dir) {
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(
           data_dir, fs::directory_options::follow_directory_symlink, failure),
       end;
       !failure && at != end; at.increment(failure)) {
    const std::string path = at->path().lexically_relative(data_dir).string();
    const bool is_ours =
        path.starts_with("datasets/") || path.starts_with("releases/") ||
        path.starts_with("publications/") || path.starts_with("parts/") ||
        path == "datasets" || path == "parts" || path == "releases" ||
        path == "publications" || path == kKeyFile || path == "receipt.key" ||
        path == "receipt.pub" || path.starts_with("audit.jsonl") ||
        path == "evaluations.log";
    DPNMF_FAILPOINT("entry-found");
    std::error_code unseen;
    const fs::file_type type = at->status(unseen).type();
    if (!is_ours ||
        IsUnfinished(at->path(), type == fs::file_type::directory)) {
      at.disable_recursion_pending();
      continue;
    }
    if (type != fs::file_type::regular) {
      if (type == fs::file_type::directory || !at->is_symlink(unseen)) continue;
      return Refusal(
          absl::StatusCode::kUnavailable, "storage-failed",
          absl::StrCat("The link `", absl::CHexEscape(path), "` in ", data_dir,
                       " leads to no file: correct or remove it, "
                       "then make the backup again."));
    }
    if (!IsUtf8(path)) {
      return Refusal(
          absl::StatusCode::kFailedPrecondition, "backup-name-malformed",
          absl::StrCat("The name `", absl::CHexEscape(path), "` in ", data_dir,
                       " is not UTF-8: rename or remove the file, "
                       "then make the backup again."));
    }
    files.push_back(path);
  }
  if (failure == std::errc::no_such_file_or_directory) return FileGone();
  if (failure) return StorageFailed("list", data_dir, failure.value());
  std::sort(files.begin(), files.end());
  return files;
}

// The data set that the file is of; empty if it is of none, or of a removed
// one.
std::string DatasetOf(const std::string& path) {
  const fs::path whole(path);
  auto part = whole.begin();
  if (part == whole.end() || *part != "datasets") return "";
  return ++part == whole.end() || !IsName(part->string()) ? "" : part->string();
}

absl::StatusOr<LedgerAudit> AuditOf(const std::string& data_dir,
                                    const std::string& anchor_directory) {
  Ledger::Options options;
  options.directory = LedgerDirectory(data_dir);
  options.anchor_directory = anchor_directory;
  return Ledger::Audit(options);
}

// Tells whether the ledger has all rows of the data set's import, of which that
// of its files is the last. A data set that cannot be read has none.
bool HasRowsOf(const LedgerAudit& audit, const std::string& data_dir,
               const std::string& name) {
  const std::string directory = DatasetDirectory(data_dir, name);
  const auto stored = ReadDescription(directory);
  const auto key = LoadOrCreateFingerprintKey(data_dir);
  if (!stored.ok() || !key.ok()) return false;
  const auto digests =
      audit.FilesOf(stored->description.population, stored->description.name);
  return ChecksOfDataset(directory, digests, KeyOfFiles(*key)).ok();
}

// By path.
using Contents = std::map<std::string, FileContent>;

// The data sets of a directory against its ledger. `contents`: of files that
// were read before.
absl::Status CheckDatasets(const std::string& data_dir,
                           const LedgerAudit& audit, CheckDepth depth,
                           const Contents& contents) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(data_dir));
  if (names.empty()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(data_dir));
  const Digest file_key = KeyOfFiles(key);
  const auto read =
      [&](const std::string& path) -> absl::StatusOr<FileContent> {
    const auto known = contents.find(path);
    return known == contents.end() ? ReadContent(path) : known->second;
  };
  std::vector<StoredDescription> all;
  for (const std::string& name : names) {
    DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                           Dataset::OpenNamed(data_dir, name));
    const DatasetDescription& description = dataset->description();
    all.push_back({description, dataset->private_fingerprint()});
    DPNMF_ASSIGN_OR_RETURN(
        const std::vector<FileCheck> checks,
        dataset->Checks(audit.FilesOf(description.population, name), file_key));
    if (depth == CheckDepth::kQuick) continue;
    for (const FileCheck& check : checks)
      DPNMF_RETURN_IF_ERROR(CheckFile(check, file_key, read));
  }
  return CheckOneBudget(all);
}

BackupReport ReportOf(const LedgerAudit& audit, const Files& files) {
  BackupReport report;
  report.row_count = audit.rows.size();
  report.head = audit.head;
  report.files = files.size();
  for (const auto& [path, file] : files) report.bytes += file.size;
  return report;
}

std::string ManifestText(const LedgerAudit& audit, const Files& files) {
  json manifest = {{"format", kFormat},
                   {"rows", audit.rows.size()},
                   {"head", HexOf(audit.head)},
                   {"files", json::object()}};
  for (const auto& [path, file] : files) {
    manifest["files"][path] = {{"size", file.size}, {"hmac_sha256", file.hash}};
  }
  return manifest.dump(1) + "\n";
}

// No path leaves the backup.
bool IsInside(const std::string& path) {
  // The system would read a path up to its first NUL only.
  if (path.empty() || path.find('\0') != std::string::npos ||
      fs::path(path).is_absolute()) {
    return false;
  }
  for (const fs::path& part : fs::path(path)) {
    if (part == "..") return false;
  }
  return true;
}

// A whole number; get<> alone would take 1.5, -1 and true as well.
std::uint64_t Whole(const json& object, const char* key) {
  return object.at(key).get_ref<const json::number_unsigned_t&>();
}

struct Manifest {
  std::uint64_t rows = 0;
  std::string head;
  Files files;
};

absl::StatusOr<Manifest> ReadManifest(const std::string& backup) {
  const std::string path = absl::StrCat(backup, "/", kManifest);
  std::error_code failure;
  if (!fs::exists(path, failure)) {
    return Refusal(absl::StatusCode::kNotFound, "backup-missing",
                   absl::StrCat("There is no complete backup in ", backup,
                                ": it has no ", kManifest, "."));
  }
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(path, kListFileLimit));
  try {
    const json root = json::parse(text);
    const std::uint64_t format = Whole(root, "format");
    if (format > kFormat) {
      return Refusal(absl::StatusCode::kFailedPrecondition, "backup-newer",
                     absl::StrCat("The backup ", backup,
                                  " was made by a newer program: install that "
                                  "version."));
    }
    if (format < kFormat)
      return BackupDamaged(backup, "its manifest has no format");
    Manifest manifest;
    manifest.rows = Whole(root, "rows");
    manifest.head = root.at("head").get<std::string>();
    for (const auto& [name, file] : root.at("files").items()) {
      if (!IsInside(name))
        return BackupDamaged(backup,
                             "its manifest contains an unexpected path");
      manifest.files[name] = {Whole(file, "size"),
                              file.at("hmac_sha256").get<std::string>()};
    }
    if (!manifest.files.contains(kLedgerFile))
      return BackupDamaged(backup, "its manifest does not contain the ledger");
    if (!manifest.files.contains(kKeyFile))
      return BackupDamaged(backup, "its manifest does not contain the key");
    return manifest;
  } catch (const json::exception&) {
    return BackupDamaged(backup, "its manifest cannot be read");
  }
}

// The key of a backup whose files are copied; made if there are no data sets.
absl::StatusOr<FingerprintKey> KeyForBackup(const std::string& data_dir,
                                            const std::string& output) {
  absl::StatusOr<FingerprintKey> key = LoadOrCreateFingerprintKey(output);
  if (ReasonCode(key.status()) != "fingerprint-key-damaged") return key;
  return Refusal(absl::StatusCode::kDataLoss, "fingerprint-key-damaged",
                 absl::StrCat("`", data_dir, "/", kKeyFile,
                              "` is missing or damaged; restore it from an "
                              "earlier backup before you make another."));
}

// The key that a backup was made with.
absl::StatusOr<Digest> ManifestKeyOf(const std::string& backup) {
  std::error_code failure;
  if (fs::exists(absl::StrCat(backup, "/", kKeyFile), failure)) {
    const auto key = LoadOrCreateFingerprintKey(backup);
    if (key.ok()) return ManifestKey(*key);
  }
  return BackupDamaged(backup, absl::StrCat(kKeyFile, " has changed"));
}

// MakeBackup; FileGone if a listed file was not there when its turn came.
absl::StatusOr<BackupReport> TryBackup(const std::string& data_dir,
                                       const std::string& output) {
  std::error_code failure;
  if (fs::exists(output, failure)) {
    return Refusal(
        absl::StatusCode::kAlreadyExists, "backup-exists",
        absl::StrCat("`", output, "` exists: choose a new directory."));
  }
  if (!fs::exists(LedgerDirectory(data_dir), failure)) {
    return Refusal(absl::StatusCode::kNotFound, "ledger-missing",
                   absl::StrCat("There is no ledger in ", data_dir,
                                ": give the curator's data directory."));
  }
  // Before anything is written. The list that counts is made after the ledger's
  // copy: a release of each of its rows is in it. But what is imported since
  // may lack its rows in the copy, and no server would start on such a data
  // set. One whose rows are there is needed: without its people nobody can be
  // imported into other partitions.
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> before,
                         OtherFiles(data_dir));
  std::set<std::string> datasets;
  for (const std::string& path : before) datasets.insert(DatasetOf(path));
  DPNMF_FAILPOINT("files-listed");
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(LedgerDirectory(output)));
  DPNMF_RETURN_IF_ERROR(CopyLedger(absl::StrCat(data_dir, "/", kLedgerFile),
                                   absl::StrCat(output, "/", kLedgerFile)));
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, AuditOf(output, ""));
  DPNMF_FAILPOINT("ledger-copied");
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> paths, OtherFiles(data_dir));
  // A data set that was renamed meanwhile may be in neither list's place.
  if (!std::includes(paths.begin(), paths.end(), before.begin(), before.end()))
    return FileGone();
  std::map<std::string, bool> takes;  // by name of the data set
  for (const std::string& name : datasets) takes[name] = true;
  std::erase_if(paths, [&](const std::string& path) {
    const std::string name = DatasetOf(path);
    if (name.empty()) return false;
    if (!takes.contains(name)) takes[name] = HasRowsOf(audit, data_dir, name);
    return !takes[name];
  });
  DPNMF_FAILPOINT("files-chosen");
  for (const std::string& path : paths) {
    const fs::path from = fs::path(data_dir) / path;
    const absl::Status copied = CopyFile(from, fs::path(output) / path);
    if (!copied.ok() && !fs::exists(from, failure)) return FileGone();
    DPNMF_RETURN_IF_ERROR(copied);
  }
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         KeyForBackup(data_dir, output));
  if (std::find(paths.begin(), paths.end(), kKeyFile) == paths.end())
    paths.push_back(kKeyFile);
  paths.push_back(kLedgerFile);
  Files files;
  Contents contents;
  for (const std::string& path : paths) {
    const std::string copy = absl::StrCat(output, "/", path);
    DPNMF_ASSIGN_OR_RETURN(const FileContent content, ReadContent(copy));
    files[path] = FileOf(content, ManifestKey(key));
    contents[copy] = content;
  }
  // The manifest comes last: without it there is no backup.
  DPNMF_ASSIGN_OR_RETURN(StagedFile manifest,
                         StagedFile::Create(output, kManifest));
  DPNMF_RETURN_IF_ERROR(manifest.Write(ManifestText(audit, files)));
  DPNMF_RETURN_IF_ERROR(manifest.PublishAs(kManifest));
  BackupReport report = ReportOf(audit, files);
  report.datasets = CheckDatasets(output, audit, CheckDepth::kWhole, contents);
  return report;
}

}  // namespace

absl::StatusOr<BackupReport> MakeBackup(const std::string& data_dir,
                                        const std::string& output) {
  auto made = TryBackup(data_dir, output);
  for (int tries = 1; absl::IsAborted(made.status()) && tries < kTries;
       ++tries) {
    DPNMF_RETURN_IF_ERROR(RemoveTreeDurably(output));
    made = TryBackup(data_dir, output);
  }
  if (!absl::IsAborted(made.status())) return made;
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 absl::StrCat("Files of ", data_dir,
                              " were removed or renamed each time that they "
                              "were copied: make the backup again."));
}

absl::StatusOr<BackupReport> CheckBackup(const std::string& backup,
                                         const std::string& anchor_directory,
                                         CheckDepth depth) {
  DPNMF_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(backup));
  DPNMF_ASSIGN_OR_RETURN(const Digest key, ManifestKeyOf(backup));
  // Each file is read once, for the manifest and for the ledger.
  Contents contents;
  for (const auto& [name, expected] : manifest.files) {
    const std::string path = absl::StrCat(backup, "/", name);
    if (depth == CheckDepth::kQuick) {
      std::error_code error;
      if (fs::file_size(path, error) == expected.size && !error) continue;
      return BackupDamaged(backup, absl::StrCat(name, " has changed"));
    }
    const absl::StatusOr<FileContent> content = ReadContent(path);
    if (!content.ok() || content->bytes != expected.size ||
        FileOf(*content, key).hash != expected.hash) {
      return BackupDamaged(backup, absl::StrCat(name, " has changed"));
    }
    contents[path] = *content;
  }
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit,
                         AuditOf(backup, anchor_directory));
  if (audit.rows.size() != manifest.rows ||
      HexOf(audit.head) != manifest.head) {
    return BackupDamaged(backup, "its ledger is not the one of its manifest");
  }
  DPNMF_RETURN_IF_ERROR(CheckDatasets(backup, audit, depth, contents));
  return ReportOf(audit, manifest.files);
}

absl::StatusOr<BackupReport> RestoreBackup(
    const std::string& backup, const std::string& data_dir,
    const std::string& anchor_directory) {
  std::error_code failure;
  if (fs::exists(data_dir, failure) && !fs::is_empty(data_dir, failure)) {
    return Refusal(absl::StatusCode::kAlreadyExists, "data-dir-exists",
                   absl::StrCat("`", data_dir,
                                "` exists: move it away, because it may "
                                "contain charges that the backup lacks."));
  }
  DPNMF_ASSIGN_OR_RETURN(const BackupReport report,
                         CheckBackup(backup, anchor_directory));
  DPNMF_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(backup));
  // A mount point cannot be renamed onto: the ledger, without which nothing is
  // served, comes last instead.
  for (const auto& [path, file] : manifest.files) {
    if (path == kLedgerFile) continue;
    DPNMF_RETURN_IF_ERROR(
        CopyFile(fs::path(backup) / path, fs::path(data_dir) / path));
  }
  const std::string ledger = LedgerDirectory(data_dir);
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(ledger));
  const fs::path staged = fs::path(ledger) / "restored.new";
  DPNMF_RETURN_IF_ERROR(CopyFile(fs::path(backup) / kLedgerFile, staged));
  DPNMF_RETURN_IF_ERROR(RenameOver(staged, fs::path(data_dir) / kLedgerFile));
  DPNMF_RETURN_IF_ERROR(SyncDirectory(ledger));
  return report;
}

}  // namespace dpnmf::curator
