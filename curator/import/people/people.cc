#include "curator/import/people/people.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

// The magic, CheckOfKey, what they belong to, has_ids, two counts; then the
// fingerprints, then SHA-256 of all that.
constexpr std::string_view kPeopleMagic = "dpnmf people 1\n";
constexpr std::size_t kPeopleHead =
    kPeopleMagic.size() + 2 * sizeof(Digest) + 1 + 2 * 8;

void AppendLittleEndian(std::uint64_t value, std::size_t bytes,
                        std::string* text) {
  for (std::size_t i = 0; i < bytes; ++i)
    text->push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i)
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return value;
}

template <std::size_t kSize>
void AppendArray(const std::array<std::uint8_t, kSize>& array,
                 std::string* text) {
  text->append(reinterpret_cast<const char*>(array.data()), kSize);
}

Digest KeyedHash(std::string_view text, const FingerprintKey& key) {
  return HmacSha256(std::as_bytes(std::span(key)),
                    std::as_bytes(std::span(text)));
}

PersonFingerprint Cut(const Digest& digest) {
  PersonFingerprint fingerprint;
  std::copy_n(digest.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

// Appends an entry as FingerprintOf writes a column (fingerprint.h): the column
// from 0 in eight bytes, the bits of the float in four, entries of 0 left out.
void AppendNonzero(std::uint64_t column, float value, std::string* text) {
  if (value == 0) return;
  AppendLittleEndian(column, 8, text);
  AppendLittleEndian(std::bit_cast<std::uint32_t>(value), 4, text);
}

PersonFingerprint FingerprintOfEntries(const std::string& text,
                                       const FingerprintKey& key) {
  return text.empty() ? PersonFingerprint{} : Cut(KeyedHash(text, key));
}

void SortOut(std::vector<PersonFingerprint>* kind) {
  std::sort(kind->begin(), kind->end());
  kind->erase(std::unique(kind->begin(), kind->end()), kind->end());
  kind->shrink_to_fit();
}

std::uint64_t InCommon(const std::vector<PersonFingerprint>& a,
                       const std::vector<PersonFingerprint>& b) {
  std::uint64_t count = 0;
  auto other = b.begin();
  for (const PersonFingerprint& fingerprint : a) {
    while (other != b.end() && *other < fingerprint) ++other;
    if (other != b.end() && *other == fingerprint) ++count;
  }
  return count;
}

absl::Status PeopleDamaged(const char* problem) {
  return Refusal(absl::StatusCode::kDataLoss, "people-damaged",
                 std::string("The file of people's fingerprints ") + problem +
                     "; restore it from a backup or make it again.");
}

Digest Sha256Of(std::string_view bytes) {
  return Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
}

bool HasDigest(std::string_view bytes, std::size_t at, const Digest& digest) {
  return std::memcmp(bytes.data() + at, digest.data(), digest.size()) == 0;
}

std::vector<PersonFingerprint> FingerprintsIn(std::string_view bytes) {
  std::vector<PersonFingerprint> kind(bytes.size() / sizeof(PersonFingerprint));
  if (!kind.empty()) std::memcpy(kind.data(), bytes.data(), bytes.size());
  return kind;
}

// Ascending and different, and none of them "none".
bool IsInOrder(const std::vector<PersonFingerprint>& kind) {
  return (kind.empty() || kind.front() != PersonFingerprint{}) &&
         std::adjacent_find(kind.begin(), kind.end(), std::greater_equal<>()) ==
             kind.end();
}

}  // namespace

Digest CheckOfKey(const FingerprintKey& key) {
  // Longer than an entry and no multiple of one, with a first number that no
  // column has: neither a row nor an id.
  return KeyedHash("\xff\xff\xff\xff\xff\xff\xff\xff check of the key", key);
}

PersonFingerprint FingerprintOfRow(std::span<const float> row,
                                   const FingerprintKey& key) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) AppendNonzero(i, row[i], &text);
  return FingerprintOfEntries(text, key);
}

PersonFingerprint FingerprintOfRow(std::span<const std::int32_t> columns,
                                   std::span<const float> values,
                                   const FingerprintKey& key) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i)
    AppendNonzero(static_cast<std::uint64_t>(columns[i]), values[i], &text);
  return FingerprintOfEntries(text, key);
}

PersonFingerprint FingerprintOfId(std::string_view id,
                                  const FingerprintKey& key) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = id.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  id = id.substr(begin, id.find_last_not_of(kBlank) - begin + 1);
  // No row begins with this: no column has the number 2^64 - 2.
  std::string text = "\xfe\xff\xff\xff\xff\xff\xff\xff";
  text.append(id);
  return Cut(KeyedHash(text, key));
}

void PeopleCollector::AddLine(std::span<const float> line,
                              const LinesOfPeople& fields) {
  std::vector<float> row;
  for (const bool entries_alone : {true, false}) {
    for (const bool with_class : {true, false}) {
      for (const bool with_id : {true, false}) {
        if (entries_alone && with_id) continue;
        row.clear();
        bool any = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
          const bool takes = i == fields.class_field ? with_class
                             : i == fields.id_field
                                 ? with_id
                                 : fields.is_entry[i] || !entries_alone;
          if (!takes || std::isnan(line[i])) continue;
          row.push_back(line[i]);
          any = any || (i != fields.class_field && line[i] != 0);
        }
        // A class alone is nobody: it would be shared by all rows of zeros.
        if (any) AddRow(row);
      }
    }
  }
}

PeopleFingerprints PeopleCollector::Finish() {
  people_.key_check = CheckOfKey(key_);
  SortOut(&people_.ids);
  SortOut(&people_.rows);
  return std::move(people_);
}

SharedPeople SharedBy(const PeopleFingerprints& a,
                      const PeopleFingerprints& b) {
  return {InCommon(a.ids, b.ids), InCommon(a.rows, b.rows)};
}

Digest DigestOfPeople(const PeopleFingerprints& people,
                      const Digest& fingerprint, std::string_view population,
                      std::string_view partition) {
  Sha256 hash;
  hash.AddString("dpnmf people of a partition 2")
      .AddString(population)
      .AddString(partition)
      .AddBytes(std::as_bytes(std::span(people.key_check)))
      .AddBytes(std::as_bytes(std::span(fingerprint)))
      .AddInteger(people.ids.size());
  for (const PersonFingerprint& id : people.ids)
    hash.AddBytes(std::as_bytes(std::span(id)));
  return hash.Finish();
}

std::string PeopleBytes(const PeopleFingerprints& people, const Digest& of) {
  std::string bytes(kPeopleMagic);
  bytes.reserve(kPeopleHead + 16 * (people.ids.size() + people.rows.size()) +
                sizeof(Digest));
  AppendArray(people.key_check, &bytes);
  AppendArray(of, &bytes);
  bytes.push_back(people.has_ids ? 1 : 0);
  AppendLittleEndian(people.ids.size(), 8, &bytes);
  AppendLittleEndian(people.rows.size(), 8, &bytes);
  for (const PersonFingerprint& id : people.ids) AppendArray(id, &bytes);
  for (const PersonFingerprint& row : people.rows) AppendArray(row, &bytes);
  AppendArray(Sha256Of(bytes), &bytes);
  return bytes;
}

absl::StatusOr<PeopleFingerprints> PeopleOfBytes(std::string_view bytes,
                                                 const Digest& of) {
  constexpr std::size_t kEach = sizeof(PersonFingerprint);
  if (bytes.size() < kPeopleHead + sizeof(Digest) ||
      bytes.substr(0, kPeopleMagic.size()) != kPeopleMagic) {
    return PeopleDamaged("is not one");
  }
  const std::size_t end = bytes.size() - sizeof(Digest);
  if (!HasDigest(bytes, end, Sha256Of(bytes.substr(0, end))))
    return PeopleDamaged("is damaged");
  if (!HasDigest(bytes, kPeopleMagic.size() + sizeof(Digest), of))
    return PeopleDamaged("belongs to other data");
  const std::size_t at = kPeopleMagic.size() + 2 * sizeof(Digest);
  const std::uint64_t ids = LittleEndian(bytes.substr(at + 1, 8));
  const std::uint64_t rows = LittleEndian(bytes.substr(at + 9, 8));
  const std::uint64_t all = (end - kPeopleHead) / kEach;
  if ((end - kPeopleHead) % kEach != 0 || ids > all || rows != all - ids ||
      static_cast<std::uint8_t>(bytes[at]) > 1 || (ids > 0 && bytes[at] == 0)) {
    return PeopleDamaged("is damaged");
  }
  PeopleFingerprints people;
  std::memcpy(people.key_check.data(), bytes.data() + kPeopleMagic.size(),
              people.key_check.size());
  people.has_ids = bytes[at] == 1;
  people.ids = FingerprintsIn(bytes.substr(kPeopleHead, ids * kEach));
  people.rows =
      FingerprintsIn(bytes.substr(kPeopleHead + ids * kEach, rows * kEach));
  if (!IsInOrder(people.ids) || !IsInOrder(people.rows))
    return PeopleDamaged("is damaged");
  return people;
}

}  // namespace dpnmf::curator
