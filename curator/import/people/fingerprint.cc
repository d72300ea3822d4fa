#include "curator/import/people/fingerprint.h"

#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/removed.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {
namespace {

void AppendInteger(std::uint64_t value, int bytes,
                   std::vector<std::uint8_t>* text) {
  for (int i = 0; i < bytes; ++i)
    text->push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void AppendEntry(std::uint64_t feature, float value,
                 std::vector<std::uint8_t>* text) {
  AppendInteger(feature, 8, text);
  AppendInteger(std::bit_cast<std::uint32_t>(value), 4, text);
}

// Replaces *text by the nonzero entries of a column: (feature, bits of the
// float), little-endian.
void CanonicalColumn(const LoadedMatrix& matrix, std::uint64_t user,
                     std::vector<std::uint8_t>* text) {
  text->clear();
  if (matrix.sparse) {
    for (auto i = static_cast<std::size_t>(matrix.indptr[user]);
         i < static_cast<std::size_t>(matrix.indptr[user + 1]); ++i) {
      if (matrix.values[i] == 0) continue;
      AppendEntry(static_cast<std::uint64_t>(matrix.indices[i]),
                  matrix.values[i], text);
    }
    return;
  }
  for (std::uint64_t i = 0; i < matrix.features; ++i) {
    const float value = matrix.values[user * matrix.features + i];
    if (value != 0) AppendEntry(i, value, text);
  }
}

// All entries, those of 0 too. The quotient is the double that text such as
// 3.5 is parsed as.
void CanonicalColumn(const LoadedRatings& ratings, std::uint64_t user,
                     std::vector<std::uint8_t>* text) {
  text->clear();
  for (auto i = static_cast<std::size_t>(ratings.indptr[user]);
       i < static_cast<std::size_t>(ratings.indptr[user + 1]); ++i) {
    AppendEntry(static_cast<std::uint64_t>(ratings.indices[i]),
                static_cast<float>(ratings.units[i] / 1e4), text);
  }
}

// Digest of a column without entries.
Digest DigestOfZeros(const FingerprintKey& key) {
  return HmacSha256(std::as_bytes(std::span(key)), {});
}

PersonFingerprint FirstHalf(const Digest& digest) {
  PersonFingerprint half;
  std::copy_n(digest.begin(), half.size(), half.begin());
  return half;
}

// FingerprintOfRow; `column` is the HMAC of the canonical column, which is all
// that a row of a matrix needs.
PersonFingerprint RowOf(const LoadedMatrix&, std::uint64_t,
                        const Digest& column, const FingerprintKey&) {
  return FirstHalf(column);
}

PersonFingerprint RowOf(const LoadedRatings& ratings, std::uint64_t user,
                        const Digest& column, const FingerprintKey& key) {
  const auto begin = static_cast<std::size_t>(ratings.indptr[user]);
  const auto count = static_cast<std::size_t>(ratings.indptr[user + 1]) - begin;
  const auto units = std::span(ratings.units).subspan(begin, count);
  // Ratings with a 0 among them are hashed as a row of numbers, without the 0.
  if (std::find(units.begin(), units.end(), 0) == units.end())
    return FirstHalf(column);
  std::vector<float> values;
  for (const std::int32_t unit : units)
    values.push_back(static_cast<float>(unit / 1e4));
  return FingerprintOfRow(std::span(ratings.indices).subspan(begin, count),
                          values, key);
}

template <typename Columns>
Digest FingerprintOfColumns(const Columns& data, std::uint64_t features,
                            std::uint64_t users, const FingerprintKey& key,
                            std::vector<PersonFingerprint>* rows,
                            std::vector<Digest>* sorted) {
  const auto key_bytes = std::as_bytes(std::span(key));
  std::vector<Digest> columns(users);
  std::vector<std::uint8_t> text;
  for (std::uint64_t n = 0; n < users; ++n) {
    CanonicalColumn(data, n, &text);
    columns[n] = HmacSha256(key_bytes, std::as_bytes(std::span(text)));
    if (rows == nullptr) continue;
    rows->push_back(text.empty() ? PersonFingerprint{}
                                 : RowOf(data, n, columns[n], key));
  }
  std::sort(columns.begin(), columns.end());
  const Digest whole = FingerprintOfDigests(features, columns, key);
  if (sorted != nullptr) *sorted = std::move(columns);
  return whole;
}

absl::Status CreateKey(const std::string& path) {
  FingerprintKey key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    std::fputs("dpnmf: the random source failed; stopping\n", stderr);
    std::abort();
  }
  // Written beside its place first: a crash leaves no half of a key. What an
  // earlier crash left there was never used.
  const std::string draft = absl::StrCat(path, ".new");
  (void)RemoveFile(draft);
  DPNMF_RETURN_IF_ERROR(WriteDurably(draft, {}, std::as_bytes(std::span(key))));
  DPNMF_RETURN_IF_ERROR(RenameNew(draft, path));
  return SyncParent(path);
}

// Records of the people of published tables.
absl::StatusOr<bool> HasPublications(const std::string& data_dir) {
  const std::string directory = data_dir + "/publications";
  std::error_code error;
  for (const std::string& entry : EntriesOf(directory, &error))
    if (std::filesystem::path(entry).extension() == ".people") return true;
  if (error && error != std::errc::no_such_file_or_directory)
    return StorageFailed("list", directory, error.value());
  return false;
}

absl::Status KeyDamaged(const std::string& path, const char* problem) {
  return Refusal(
      absl::StatusCode::kDataLoss, "fingerprint-key-damaged",
      absl::StrCat("`", path, "` ", problem, "; restore it from a backup."));
}

}  // namespace

absl::StatusOr<FingerprintKey> LoadOrCreateFingerprintKey(
    const std::string& data_dir) {
  const std::string path = absl::StrCat(data_dir, "/fingerprint.key");
  absl::StatusOr<std::string> text = ReadFile(path, kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) {
    // A new key would not recognise what the old one saw.
    DPNMF_ASSIGN_OR_RETURN(const auto names, DatasetNames(data_dir));
    DPNMF_ASSIGN_OR_RETURN(const auto removed, RemovedNames(data_dir));
    DPNMF_ASSIGN_OR_RETURN(const bool published, HasPublications(data_dir));
    if (!names.empty() || !removed.empty() || published)
      return KeyDamaged(path, "is missing");
    DPNMF_RETURN_IF_ERROR(CreateKey(path));
    text = ReadFile(path, kSettingsFileLimit);
  }
  if (!text.ok()) return text.status();
  FingerprintKey key;
  if (text->size() != key.size()) {
    return KeyDamaged(path, "is not 32 bytes long");
  }
  std::copy(text->begin(), text->end(), key.begin());
  return key;
}

Digest KeyedHashFor(std::string_view purpose, std::string_view bytes,
                    const FingerprintKey& key) {
  const Digest own = HmacSha256(std::as_bytes(std::span(key)),
                                std::as_bytes(std::span(purpose)));
  return HmacSha256(std::as_bytes(std::span(own)),
                    std::as_bytes(std::span(bytes)));
}

Digest KeyOfFiles(const FingerprintKey& key) {
  return KeyedHashFor("dpnmf data set files", {}, key);
}

Digest FingerprintOfDigests(std::uint64_t features,
                            const std::vector<Digest>& sorted,
                            const FingerprintKey& key) {
  const Digest zeros = DigestOfZeros(key);
  std::vector<std::uint8_t> text;
  AppendInteger(features, 8, &text);
  AppendInteger(sorted.size() - static_cast<std::size_t>(std::count(
                                    sorted.begin(), sorted.end(), zeros)),
                8, &text);
  for (const Digest& column : sorted)
    if (column != zeros) text.insert(text.end(), column.begin(), column.end());
  return HmacSha256(std::as_bytes(std::span(key)),
                    std::as_bytes(std::span(text)));
}

std::vector<Digest> ColumnDigests(const LoadedMatrix& matrix,
                                  const FingerprintKey& key) {
  std::vector<Digest> columns;
  std::vector<std::uint8_t> text;
  for (std::uint64_t n = 0; n < matrix.users; ++n) {
    CanonicalColumn(matrix, n, &text);
    columns.push_back(HmacSha256(std::as_bytes(std::span(key)),
                                 std::as_bytes(std::span(text))));
  }
  return columns;
}

PersonFingerprint CutOfColumn(const Digest& column, const FingerprintKey& key) {
  return column == DigestOfZeros(key) ? PersonFingerprint{} : FirstHalf(column);
}

Digest FingerprintOf(const LoadedMatrix& matrix, const FingerprintKey& key,
                     std::vector<PersonFingerprint>* rows,
                     std::vector<Digest>* columns) {
  return FingerprintOfColumns(matrix, matrix.features, matrix.users, key, rows,
                              columns);
}

Digest FingerprintOf(const LoadedRatings& ratings, const FingerprintKey& key,
                     std::vector<PersonFingerprint>* rows,
                     std::vector<Digest>* columns) {
  return FingerprintOfColumns(ratings, ratings.items, ratings.people(), key,
                              rows, columns);
}

}  // namespace dpnmf::curator
