#include "common/files/zip_directory.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {
namespace {

constexpr std::uint32_t kEndRecord = 0x06054b50, kEndRecord64 = 0x06064b50,
                        kEndLocator64 = 0x07064b50, kEntry = 0x02014b50,
                        kLocalHeader = 0x04034b50;
constexpr std::size_t kEndRecordSize = 22, kEndRecord64Size = 56,
                      kEndLocator64Size = 20, kEntrySize = 46,
                      kLocalHeaderSize = 30, kLongestComment = 65535;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostMembers = 100'000;
constexpr std::uint16_t kSizes64 = 1;  // id of the extra field
constexpr std::uint32_t kIn64 = std::numeric_limits<std::uint32_t>::max();

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Little-endian, of `bytes` bytes; the caller has checked that they are there.
std::uint64_t NumberAt(std::string_view data, std::size_t at,
                       std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;)
    number = number << 8 | static_cast<std::uint8_t>(data[at + i]);
  return number;
}

class ZipReader {
 public:
  ZipReader(const std::string& path, std::FILE* file)
      : path_(path), file_(file) {}

  absl::StatusOr<std::vector<ZipMember>> Read() {
    if (fseeko(file_, 0, SEEK_END) != 0) return Damaged();
    size_ = static_cast<std::uint64_t>(std::max<off_t>(ftello(file_), 0));
    DPNMF_ASSIGN_OR_RETURN(const Place directory, FindDirectory());
    DPNMF_ASSIGN_OR_RETURN(const std::string entries,
                           BytesAt(directory.offset, directory.size));
    std::vector<ZipMember> members;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < directory.members; ++i) {
      DPNMF_ASSIGN_OR_RETURN(ZipMember member, EntryAt(entries, &at));
      members.push_back(std::move(member));
    }
    return members;
  }

 private:
  struct Place {
    std::uint64_t offset = 0, size = 0, members = 0;
  };

  absl::Status Refused(std::string_view problem) const {
    return Refusal(absl::StatusCode::kInvalidArgument, "input-malformed",
                   absl::StrCat("`", path_, "`: ", std::string(problem), "."));
  }
  absl::Status Damaged() const {
    return Refused(
        "the ZIP archive is damaged or cut off; check it with unzip -t and "
        "copy it again");
  }

  absl::StatusOr<std::string> BytesAt(std::uint64_t offset,
                                      std::uint64_t count) const {
    if (offset > size_ || count > size_ - offset) return Damaged();
    std::string bytes(count, '\0');
    if (fseeko(file_, static_cast<off_t>(offset), SEEK_SET) != 0 ||
        std::fread(bytes.data(), 1, count, file_) != count)
      return Damaged();
    return bytes;
  }

  // The end record is the last one whose comment ends with the file.
  absl::StatusOr<Place> FindDirectory() const {
    const std::uint64_t tail_size =
        std::min<std::uint64_t>(size_, kEndRecordSize + kLongestComment);
    DPNMF_ASSIGN_OR_RETURN(const std::string tail,
                           BytesAt(size_ - tail_size, tail_size));
    for (std::size_t at = tail.size(); at-- > 0;) {
      if (tail.size() - at < kEndRecordSize ||
          NumberAt(tail, at, 4) != kEndRecord ||
          NumberAt(tail, at + 20, 2) != tail.size() - at - kEndRecordSize)
        continue;
      Place place = {NumberAt(tail, at + 16, 4), NumberAt(tail, at + 12, 4),
                     NumberAt(tail, at + 10, 2)};
      DPNMF_RETURN_IF_ERROR(Widen(size_ - tail_size + at, &place));
      if (place.size > kLargestDirectory || place.members > kMostMembers)
        return Refused("the archive has too many members; save fewer arrays");
      return place;
    }
    return Damaged();
  }

  // From the 64-bit record, if there is a locator before the end record.
  absl::Status Widen(std::uint64_t end_record, Place* place) const {
    if (end_record < kEndLocator64Size) return absl::OkStatus();
    DPNMF_ASSIGN_OR_RETURN(
        const std::string locator,
        BytesAt(end_record - kEndLocator64Size, kEndLocator64Size));
    if (NumberAt(locator, 0, 4) != kEndLocator64) return absl::OkStatus();
    DPNMF_ASSIGN_OR_RETURN(const std::string record,
                           BytesAt(NumberAt(locator, 8, 8), kEndRecord64Size));
    if (NumberAt(record, 0, 4) != kEndRecord64) return Damaged();
    *place = {NumberAt(record, 48, 8), NumberAt(record, 40, 8),
              NumberAt(record, 32, 8)};
    return absl::OkStatus();
  }

  // The entry at *at, which then stands behind it.
  absl::StatusOr<ZipMember> EntryAt(std::string_view entries,
                                    std::size_t* at) const {
    if (entries.size() - *at < kEntrySize) return Damaged();
    const std::string_view entry = entries.substr(*at);
    const std::size_t name_size = NumberAt(entry, 28, 2),
                      extra_size = NumberAt(entry, 30, 2),
                      whole = kEntrySize + name_size + extra_size +
                              NumberAt(entry, 32, 2);
    if (NumberAt(entry, 0, 4) != kEntry || entry.size() < whole)
      return Damaged();
    *at += whole;
    ZipMember member;
    member.name = std::string(entry.substr(kEntrySize, name_size));
    member.crc = static_cast<std::uint32_t>(NumberAt(entry, 16, 4));
    member.stored = NumberAt(entry, 20, 4);
    member.content = NumberAt(entry, 24, 4);
    member.offset = NumberAt(entry, 42, 4);
    DPNMF_RETURN_IF_ERROR(
        WidenMember(entry.substr(kEntrySize + name_size, extra_size), &member));
    const std::uint64_t flags = NumberAt(entry, 8, 2),
                        method = NumberAt(entry, 10, 2);
    if ((flags & 1) != 0 || (method != 0 && method != 8)) {
      return Refused(
          "a member of the archive is encrypted or compressed in another way "
          "than deflate; save it with numpy.savez or numpy.savez_compressed");
    }
    member.deflated = method == 8;
    if (!member.deflated && member.stored != member.content) return Damaged();
    DPNMF_RETURN_IF_ERROR(SkipLocalHeader(&member));
    return member;
  }

  // Reads values that do not fit 32 bits from the extra field, in this order.
  absl::Status WidenMember(std::string_view extra, ZipMember* member) const {
    std::optional<std::string_view> wide;
    while (extra.size() >= 4) {
      const std::uint64_t id = NumberAt(extra, 0, 2),
                          size = NumberAt(extra, 2, 2);
      if (extra.size() - 4 < size) return Damaged();
      if (id == kSizes64) wide = extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
    for (std::uint64_t* number :
         {&member->content, &member->stored, &member->offset}) {
      if (*number != kIn64) continue;
      if (!wide.has_value() || wide->size() < 8) return Damaged();
      *number = NumberAt(*wide, 0, 8);
      wide->remove_prefix(8);
    }
    return absl::OkStatus();
  }

  // From the member's local header to its first stored byte.
  absl::Status SkipLocalHeader(ZipMember* member) const {
    DPNMF_ASSIGN_OR_RETURN(const std::string header,
                           BytesAt(member->offset, kLocalHeaderSize));
    if (NumberAt(header, 0, 4) != kLocalHeader) return Damaged();
    member->offset +=
        kLocalHeaderSize + NumberAt(header, 26, 2) + NumberAt(header, 28, 2);
    if (member->offset > size_ || member->stored > size_ - member->offset)
      return Damaged();
    return absl::OkStatus();
  }

  const std::string& path_;
  std::FILE* const file_;
  std::uint64_t size_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    const std::string& place, const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(
      std::fopen(place.c_str(), "rbe"));
  if (file == nullptr) {
    return Refusal(absl::StatusCode::kInvalidArgument, "input-unreadable",
                   absl::StrCat("`", path,
                                "`: the file cannot be opened; check its "
                                "permissions."));
  }
  return ZipReader(path, file.get()).Read();
}

}  // namespace dpnmf
