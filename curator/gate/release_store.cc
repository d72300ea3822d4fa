#include "curator/gate/release_store.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/disk_error.h"
#include "common/files/read_file.h"

namespace dpnmf::curator {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file format is little-endian");

constexpr std::string_view kMagic = "DPNMFREL";
constexpr std::uint32_t kVersion = 1;
constexpr char kSuffix[] = ".release";
constexpr char kUnfinishedSuffix[] = ".new";

absl::Status Damaged() {
  return Refusal(absl::StatusCode::kDataLoss, "release-damaged",
                 "The stored release is damaged; its cost stays spent.");
}

std::string FileNameOf(const Digest& row_hash) {
  return HexOf(row_hash) + kSuffix;
}

Digest DigestOf(std::string_view bytes) {
  return Sha256()
      .AddBytes(std::as_bytes(std::span(bytes.data(), bytes.size())))
      .Finish();
}

class Writer {
 public:
  template <typename T>
  void Value(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Bytes(&value, sizeof value);
  }
  template <typename T>
  void Values(const std::vector<T>& values) {
    Value<std::uint64_t>(values.size());
    Bytes(values.data(), values.size() * sizeof(T));
  }
  void Text(std::string_view text) {
    Value<std::uint64_t>(text.size());
    Bytes(text.data(), text.size());
  }
  void Bytes(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// After the first field that does not fit, every field is empty and ok() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view field = Bytes(sizeof value);
    if (ok_) std::memcpy(&value, field.data(), sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> Values() {
    const auto count = Value<std::uint64_t>();
    if (count > bytes_.size() / sizeof(T)) ok_ = false;
    std::vector<T> values(ok_ ? count : 0);
    const std::string_view field = Bytes(values.size() * sizeof(T));
    if (ok_ && !values.empty())
      std::memcpy(values.data(), field.data(), field.size());
    return values;
  }
  std::string Text() { return std::string(Bytes(Value<std::uint64_t>())); }
  std::string_view Bytes(std::uint64_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view field = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return field;
  }
  bool Flag() {
    const auto value = Value<std::uint8_t>();
    if (value > 1) ok_ = false;
    return value == 1;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

void AddPart(const NoisedMatrix& part, Writer* writer) {
  writer->Text(part.name);
  writer->Value<std::uint64_t>(part.rows);
  writer->Value<std::uint64_t>(part.columns);
  writer->Value<std::uint8_t>(part.symmetric ? 1 : 0);
  writer->Value<std::uint8_t>(part.is_lattice ? 1 : 0);
  writer->Value<std::int32_t>(part.step_exponent);
  if (part.is_lattice) {
    writer->Values(part.lattice);
  } else {
    writer->Values(part.reals);
  }
}

NoisedMatrix ReadPart(Reader* reader) {
  NoisedMatrix part;
  part.name = reader->Text();
  part.rows = reader->Value<std::uint64_t>();
  part.columns = reader->Value<std::uint64_t>();
  part.symmetric = reader->Flag();
  part.is_lattice = reader->Flag();
  part.step_exponent = reader->Value<std::int32_t>();
  if (part.is_lattice) {
    part.lattice = reader->Values<std::int64_t>();
  } else {
    part.reals = reader->Values<double>();
  }
  return part;
}

}  // namespace

std::string EncodeRelease(const StoredRelease& release) {
  Writer writer;
  // Exact enough that no entry is copied again while it grows.
  std::size_t size = 256;
  for (const NoisedMatrix& part : release.parts)
    size +=
        64 + part.name.size() + 8 * (part.lattice.size() + part.reals.size());
  writer.bytes().reserve(size);
  writer.Bytes(kMagic.data(), kMagic.size());
  writer.Value(kVersion);
  writer.Bytes(release.row_hash.data(), release.row_hash.size());
  writer.Value<std::uint32_t>(release.round);
  writer.Value(static_cast<std::uint64_t>(release.cost.units()));
  writer.Value(static_cast<std::uint64_t>(release.cost.units() >> 64));
  writer.Value(static_cast<std::uint32_t>(release.parts.size()));
  for (const NoisedMatrix& part : release.parts) AddPart(part, &writer);
  const Digest digest = DigestOf(writer.bytes());
  writer.Bytes(digest.data(), digest.size());
  return std::move(writer.bytes());
}

absl::StatusOr<StoredRelease> DecodeRelease(std::string_view bytes) {
  constexpr std::size_t kDigestSize = sizeof(Digest);
  if (bytes.size() < kDigestSize) return Damaged();
  const std::string_view body = bytes.substr(0, bytes.size() - kDigestSize);
  const Digest digest = DigestOf(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), kDigestSize) != 0)
    return Damaged();
  Reader reader(body);
  if (reader.Bytes(kMagic.size()) != kMagic) return Damaged();
  if (reader.Value<std::uint32_t>() != kVersion) return Damaged();
  StoredRelease release;
  release.row_hash = reader.Value<Digest>();
  release.round = reader.Value<std::uint32_t>();
  const auto low = reader.Value<std::uint64_t>();
  const auto high = reader.Value<std::uint64_t>();
  release.cost = MuSquared::FromUnits((static_cast<Uint128>(high) << 64) | low);
  const auto count = reader.Value<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i)
    release.parts.push_back(ReadPart(&reader));
  if (!reader.at_end()) return Damaged();
  return release;
}

absl::StatusOr<ReleaseStore> ReleaseStore::Open(const std::string& directory) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  std::error_code failure;
  for (const std::string& entry : EntriesOf(directory, &failure)) {
    if (std::filesystem::path(entry).extension() == kUnfinishedSuffix)
      DPNMF_RETURN_IF_ERROR(RemoveFile(entry));
  }
  if (failure) return StorageFailed("clear", directory, failure.value());
  // A process that was stopped between a rename and its sync has left a name
  // that may yet go; what is answered from now on must stay.
  DPNMF_RETURN_IF_ERROR(SyncDirectory(directory));
  return ReleaseStore(directory);
}

absl::Status ReleaseStore::Healthy() const {
  if (!*poisoned_) return absl::OkStatus();
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 "The disk of the releases failed; nothing is released until "
                 "the curator is restarted.");
}

absl::StatusOr<ReservedRelease> ReleaseStore::Reserve(
    const std::string& name, std::uint64_t bytes) const {
  DPNMF_RETURN_IF_ERROR(Healthy());
  DPNMF_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(directory_, name));
  DPNMF_RETURN_IF_ERROR(file.Reserve(bytes));
  return ReservedRelease(std::move(file));
}

absl::Status ReleaseStore::Write(ReservedRelease reserved,
                                 const StoredRelease& release) const {
  DPNMF_RETURN_IF_ERROR(reserved.file_.Write(EncodeRelease(release)));
  absl::Status published =
      reserved.file_.PublishAs(FileNameOf(release.row_hash));
  if (!published.ok()) *poisoned_ = true;
  return published;
}

absl::StatusOr<StoredRelease> ReleaseStore::Read(const Digest& row_hash) const {
  DPNMF_RETURN_IF_ERROR(Healthy());
  DPNMF_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadFile(absl::StrCat(directory_, "/", FileNameOf(row_hash)),
               kOwnFileLimit));
  DPNMF_ASSIGN_OR_RETURN(StoredRelease release, DecodeRelease(bytes));
  if (release.row_hash != row_hash) return Damaged();
  return release;
}

}  // namespace dpnmf::curator
