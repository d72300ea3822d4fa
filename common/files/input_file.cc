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
#include "common/files/foreign_file.h"

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
  DPNMF_RETURN_IF_ERROR(input->Recognise());
  return input;
}

absl::Status InputFile::Recognise() {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning, Peek(kForeignBytes));
  if (const std::string foreign = ForeignFile(beginning, path_);
      !foreign.empty())
    return Unreadable(path_, foreign);
  if (beginning.starts_with(kByteOrderMark)) {
    begin_ += kByteOrderMark.size();
    return absl::OkStatus();
  }
  encoding_ = beginning.starts_with("\xFF\xFE")   ? Encoding::kUtf16Little
              : beginning.starts_with("\xFE\xFF") ? Encoding::kUtf16Big
                                                  : Encoding::kBytes;
  if (encoding_ == Encoding::kBytes) return absl::OkStatus();
  raw_ = beginning.substr(2);
  end_ = 0;
  return Decode(/*at_end=*/false);
}

void InputFile::Append(std::string_view bytes) {
  if (buffer_.size() - end_ < bytes.size()) buffer_.resize(end_ + bytes.size());
  std::copy(bytes.begin(), bytes.end(),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_));
  end_ += bytes.size();
}

absl::Status InputFile::Decode(bool at_end) {
  const auto unit = [this](std::size_t at) {
    const auto first = static_cast<unsigned char>(raw_[at]);
    const auto second = static_cast<unsigned char>(raw_[at + 1]);
    return encoding_ == Encoding::kUtf16Little ? first + 256u * second
                                               : 256u * first + second;
  };
  const auto is_half = [](std::uint32_t code, std::uint32_t begin) {
    return code >= begin && code < begin + 0x400;
  };
  const absl::Status damaged = Unreadable(
      path_, "the file begins as UTF-16 and is damaged; convert it to UTF-8");
  std::string text;
  std::size_t at = 0;
  for (; at + 2 <= raw_.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (is_half(code, 0xDC00)) return damaged;
    if (is_half(code, 0xD800)) {
      if (at + 4 > raw_.size()) break;
      const std::uint32_t low = unit(at + 2);
      if (!is_half(low, 0xDC00)) return damaged;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      at += 2;
    }
    const auto byte = [&](std::uint32_t value) {
      text += static_cast<char>(value);
    };
    const auto rest = [&](int shift) { byte(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
      byte(code);
      continue;
    }
    if (code < 0x800) {
      byte(0xC0 | (code >> 6));
    } else if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
      rest(6);
    } else {
      byte(0xF0 | (code >> 18));
      rest(12);
      rest(6);
    }
    rest(0);
  }
  raw_.erase(0, at);
  if (at_end && !raw_.empty()) return damaged;
  Append(text);
  return absl::OkStatus();
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
  if (encoding_ == Encoding::kBytes) {
    end_ += count;
  } else {
    raw_.append(to, count);
    DPNMF_RETURN_IF_ERROR(Decode(/*at_end=*/count == 0));
  }
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

absl::Status InputFile::FindLineEnd() {
  // A line break in a quoted field is no end; a quote that nothing closes soon
  // is no quote.
  constexpr std::size_t kLongestQuoted = 1 << 16;
  bool quoted = false;
  line_end_ = '\n';
  std::string_view text = Buffered();
  for (std::size_t at = 0; at <= kLongestLine; ++at) {
    if (at + 2 > text.size()) {
      DPNMF_ASSIGN_OR_RETURN(text, Peek(at + 2));
      if (at >= text.size()) break;
    }
    if (text[at] == '"') quoted = !quoted;
    if ((quoted && at < kLongestQuoted) ||
        (text[at] != '\r' && text[at] != '\n'))
      continue;
    if (text[at] == '\r' && !text.substr(at + 1).starts_with('\n'))
      line_end_ = '\r';
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> InputFile::ReadLine(std::string_view* line) {
  if (line_end_ == '\0') DPNMF_RETURN_IF_ERROR(FindLineEnd());
  std::size_t searched = 0, length = 0;
  while (true) {
    const std::string_view buffered = Buffered();
    const std::size_t end = buffered.find(line_end_, searched);
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
  ++line_number_;
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
