#include "common/files/input_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"

namespace dpnmf {
namespace {

constexpr std::size_t kChunk = 1 << 17;
// A line longer than this is no row of numbers.
constexpr std::size_t kLongestLine = std::size_t{1} << 30;
// Deflate makes nothing smaller than by a factor of 1,032.
constexpr std::uint64_t kLargestExpansion = 1100;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::Status Unreadable(const std::string& path, const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "input-unreadable",
                 absl::StrCat("`", path, "`: ", problem, "."));
}

}  // namespace

struct InputFile::GzFile {
  gzFile handle = nullptr;
  ~GzFile() {
    if (handle != nullptr) gzclose(handle);
  }
};

// A member that is being read: `stored` and `content` count what is left.
struct InputFile::MemberFile {
  explicit MemberFile(const ZipMember& of) : member(of), stored(of.stored) {}
  ~MemberFile() {
    if (file != nullptr) std::fclose(file);
    if (inflating) inflateEnd(&stream);
  }

  const ZipMember member;
  std::FILE* file = nullptr;
  z_stream stream = {};
  bool inflating = false;
  std::uint64_t stored = 0;   // bytes of the archive that were not read yet
  std::uint64_t content = 0;  // bytes that were given
  uLong crc = 0;
  std::vector<char> in = std::vector<char>(kChunk);
};

InputFile::InputFile(std::string path, LoadProgress progress,
                     std::function<bool()> interrupted)
    : path_(std::move(path)),
      place_(path_),
      progress_(std::move(progress)),
      interrupted_(std::move(interrupted)),
      file_(std::make_unique<GzFile>()),
      buffer_(2 * kChunk) {}

InputFile::~InputFile() = default;

absl::Status InputFile::Hold(std::string_view content) {
  held_ = Descriptor(memfd_create("input", MFD_CLOEXEC));
  if (!held_.ok() || !WriteWhole(held_.get(), content))
    return Unreadable(path_, "there is no memory for the file");
  place_ = absl::StrCat("/proc/self/fd/", held_.get());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(
    const std::string& path, LoadProgress progress,
    std::function<bool()> interrupted,
    std::optional<std::string_view> content) {
  std::unique_ptr<InputFile> input(
      new InputFile(path, std::move(progress), std::move(interrupted)));
  if (content.has_value()) DPNMF_RETURN_IF_ERROR(input->Hold(*content));
  struct stat facts;
  if (stat(input->place_.c_str(), &facts) != 0) {
    return Refusal(
        absl::StatusCode::kNotFound, "input-not-found",
        absl::StrCat("`", path, "`: there is no such file; check the path."));
  }
  if (!S_ISREG(facts.st_mode)) {
    return Unreadable(path, "this is not a regular file; name a file");
  }
  input->size_ = static_cast<std::uint64_t>(facts.st_size);
  input->file_->handle = gzopen(input->place_.c_str(), "rbe");
  if (input->file_->handle == nullptr) {
    return Unreadable(path, "the file cannot be opened; check its permissions");
  }
  gzbuffer(input->file_->handle, 1 << 17);
  return input;
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::OpenMember(
    const ZipMember& member) const {
  std::unique_ptr<InputFile> input(
      new InputFile(path_, progress_, interrupted_));
  input->size_ = size_;
  input->member_ = std::make_unique<MemberFile>(member);
  MemberFile& file = *input->member_;
  file.file = std::fopen(place_.c_str(), "rbe");
  if (file.file == nullptr ||
      fseeko(file.file, static_cast<off_t>(member.offset), SEEK_SET) != 0) {
    return Unreadable(path_,
                      "the file cannot be opened; check its permissions");
  }
  file.inflating =
      member.deflated && inflateInit2(&file.stream, -MAX_WBITS) == Z_OK;
  if (file.inflating == member.deflated) return input;
  return Unreadable(path_, "there is not enough memory to decompress the file");
}

bool InputFile::IsCompressed() const { return gzdirect(file_->handle) == 0; }

std::uint64_t InputFile::LargestContent() const {
  if (member_ != nullptr) {
    return std::min(member_->member.content,
                    kLargestExpansion * member_->member.stored);
  }
  return gzdirect(file_->handle) != 0 ? size_ : kLargestExpansion * size_;
}

std::string_view InputFile::Buffered() const {
  return std::string_view(buffer_.data() + begin_, end_ - begin_);
}

absl::StatusOr<std::size_t> InputFile::ReadGz(char* to) {
  const int count = gzread(file_->handle, to, kChunk);
  // gzread reports a truncated stream only here.
  int error = Z_OK;
  gzerror(file_->handle, &error);
  if (count < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    return Unreadable(path_,
                      "the compressed data are damaged or truncated; check the "
                      "file with gzip -t and copy it again");
  }
  if (progress_)
    progress_(static_cast<std::uint64_t>(gzoffset(file_->handle)), size_);
  return static_cast<std::size_t>(count);
}

// Stored bytes as they are; deflated ones as the stream makes them, which must
// end where the member does.
absl::StatusOr<std::size_t> InputFile::ReadMember(char* to) {
  MemberFile& file = *member_;
  const auto damaged = [this] {
    return Unreadable(path_,
                      "the archive is damaged or truncated; check it with "
                      "unzip -t and copy it again");
  };
  z_stream& stream = file.stream;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = kChunk;
  bool ended = false;
  while (stream.avail_out > 0 && !ended) {
    if (stream.avail_in == 0 && file.stored > 0) {
      const std::size_t wanted =
          std::min<std::uint64_t>(file.stored, file.in.size());
      if (std::fread(file.in.data(), 1, wanted, file.file) != wanted)
        return damaged();
      file.stored -= wanted;
      stream.next_in = reinterpret_cast<Bytef*>(file.in.data());
      stream.avail_in = static_cast<uInt>(wanted);
    }
    if (file.member.deflated) {
      const int result = inflate(&stream, Z_NO_FLUSH);
      ended = result == Z_STREAM_END;
      if (result != Z_OK && !ended) return damaged();
    } else {
      const uInt part = std::min(stream.avail_in, stream.avail_out);
      if (part > 0) std::memcpy(stream.next_out, stream.next_in, part);
      stream.next_in += part;
      stream.avail_in -= part;
      stream.next_out += part;
      stream.avail_out -= part;
      ended = stream.avail_in == 0 && file.stored == 0;
    }
  }
  const std::size_t count = kChunk - stream.avail_out;
  file.content += count;
  file.crc = crc32(file.crc, reinterpret_cast<const Bytef*>(to),
                   static_cast<uInt>(count));
  if (file.content > file.member.content ||
      (ended && (file.content != file.member.content || stream.avail_in > 0 ||
                 file.stored > 0 || file.crc != file.member.crc)))
    return damaged();
  if (progress_) progress_(size_ - file.stored, size_);
  return count;
}

absl::StatusOr<bool> InputFile::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (buffer_.size() - end_ < kChunk) buffer_.resize(2 * buffer_.size());
  char* const to = buffer_.data() + end_;
  DPNMF_ASSIGN_OR_RETURN(const std::size_t count,
                         member_ != nullptr ? ReadMember(to) : ReadGz(to));
  end_ += count;
  if (interrupted_ && interrupted_()) {
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   absl::StrCat("Interrupted while reading ", path_, "."));
  }
  return count > 0;
}

absl::StatusOr<std::string_view> InputFile::Peek(std::size_t count) {
  while (Buffered().size() < count) {
    DPNMF_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
  }
  return Buffered();
}

absl::StatusOr<std::size_t> InputFile::Read(std::span<std::byte> bytes) {
  std::size_t count = 0;
  while (count < bytes.size()) {
    if (begin_ == end_) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
    }
    const std::size_t part = std::min(bytes.size() - count, end_ - begin_);
    std::memcpy(bytes.data() + count, buffer_.data() + begin_, part);
    begin_ += part;
    count += part;
  }
  return count;
}

absl::StatusOr<bool> InputFile::ReadLine(std::string_view* line) {
  std::size_t searched = 0, length = 0;
  while (true) {
    const std::string_view buffered = Buffered();
    const std::size_t end = buffered.find('\n', searched);
    if (end != std::string_view::npos) {
      length = end;
      break;
    }
    searched = buffered.size();
    if (searched > kLongestLine)
      return Unreadable(path_, "a line is longer than 1 GiB");
    DPNMF_ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (searched == 0) return false;
    length = searched;
    break;
  }
  *line = Buffered().substr(0, length);
  begin_ = std::min(end_, begin_ + length + 1);
  if (++line_number_ == 1 && line->substr(0, 3) == kByteOrderMark)
    line->remove_prefix(3);
  if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
  return true;
}

absl::Status InputFile::Refuse(std::string_view code, std::uint64_t column,
                               std::string_view problem) const {
  return RefuseAt(code, line_number_, column, problem);
}

absl::Status InputFile::RefuseAt(std::string_view code, std::uint64_t line,
                                 std::uint64_t column,
                                 std::string_view problem) const {
  std::string place = absl::StrCat("`", path_, "`");
  if (line > 0) absl::StrAppend(&place, ", line ", line);
  if (line > 0 && column > 0) absl::StrAppend(&place, ", column ", column);
  return Refusal(absl::StatusCode::kInvalidArgument, code,
                 absl::StrCat(place, ": ", std::string(problem), "."));
}

}  // namespace dpnmf
