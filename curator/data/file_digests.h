// Keyed digests of the files of a data set, by which serve, doctor and restore
// notice a file that was damaged, exchanged, added or removed since the import.
//
//   DIRECTORY/digests.json   length and keyed digest of every file of the
//                            directory but people.bin and itself
//
// The ledger has the keyed digest of digests.json beside the data set's name,
// and that of people.bin, which may be made again (curator/import/
// dataset_people.h). shards.json has the keyed digest of the digests.json of
// each part. Names that begin with a dot or end in ".new" are no files of a
// data set: nothing reads them.
//
// A keyed digest of a file is the HMAC-SHA-256 of its SHA-256. The key
// (KeyOfFiles, curator/import/people/fingerprint.h) is derived from the
// operator's key, so that nobody else can test guesses about the people. The
// digests do not show that somebody changes a file after it was checked.
#ifndef DPNMF_CURATOR_DATA_FILE_DIGESTS_H_
#define DPNMF_CURATOR_DATA_FILE_DIGESTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"

namespace dpnmf::curator {

inline constexpr char kDigestsFile[] = "digests.json";
inline constexpr char kPeopleFile[] = "people.bin";

// The content of a file, in short. It has no key: it is kept in memory alone.
struct FileContent {
  std::uint64_t bytes = 0;
  Digest sha256{};
};

FileContent ContentOf(std::string_view head,
                      std::span<const std::byte> body = {});
// Reads a file from front to back. The system may drop its pages after they are
// read, so that they push nothing else out of memory. UNAVAILABLE
// "storage-failed"; CANCELLED "cancelled" once `stop`, asked now and then, says
// so.
absl::StatusOr<FileContent> ReadContent(const std::string& path,
                                        const std::function<bool()>& stop = {});

Digest KeyedDigest(const FileContent& content, const Digest& key);

// An entry of digests.json.
struct FileDigest {
  std::uint64_t bytes = 0;
  Digest digest{};  // keyed
};

// The keyed digests that the ledger has of a data set.
struct DatasetDigests {
  Digest files{};   // of digests.json
  Digest people{};  // of people.bin

  friend bool operator==(const DatasetDigests&,
                         const DatasetDigests&) = default;
};

// Writes the files of a data set, new and synced, and their digests. Not
// thread-safe.
class DatasetWriter {
 public:
  // The directory exists.
  DatasetWriter(std::string directory, const Digest& key)
      : directory_(std::move(directory)), key_(key) {}

  const std::string& directory() const { return directory_; }
  // Writes DIRECTORY/NAME as WriteDurably does.
  absl::Status Write(const std::string& name, std::string_view head,
                     std::span<const std::byte> body = {});
  // Writes digests.json. Once only, last. Without people.bin `people` is zeros.
  absl::StatusOr<DatasetDigests> Finish();

 private:
  const std::string directory_;
  const Digest key_;
  std::map<std::string, FileDigest> files_;
};

// A file and what it must hold.
struct FileCheck {
  std::string path;
  FileDigest expected;
};

// Checks of every file of a data set: in its directory and in those of its
// parts that are on this machine. `in_ledger`: nothing if the ledger has none
// of it. Names and lengths are checked now: DATA_LOSS "dataset-not-in-ledger";
// "dataset-damaged" if digests.json is not the one that was imported, if a file
// is missing or has another length, or if there is one that is not listed.
absl::StatusOr<std::vector<FileCheck>> ChecksOfDataset(
    const std::string& directory,
    const std::optional<DatasetDigests>& in_ledger, const Digest& key);
// The same of these files of one directory, whose digests.json has that keyed
// digest.
absl::StatusOr<std::vector<FileCheck>> ChecksOfFiles(
    const std::string& directory, const Digest& files,
    const std::vector<std::string>& names, const Digest& key);

// DATA_LOSS "dataset-damaged" if the file does not have the digest; errors of
// `read`, which tells what it holds.
using ContentReader =
    std::function<absl::StatusOr<FileContent>(const std::string& path)>;
absl::Status CheckFile(const FileCheck& check, const Digest& key,
                       const ContentReader& read);
// All of them, one after the other, read from the disk.
absl::Status CheckFiles(const std::vector<FileCheck>& checks,
                        const Digest& key);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_FILE_DIGESTS_H_
