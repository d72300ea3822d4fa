#include "curator/import/input_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator {
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

InputFile::InputFile(std::string path, LoadProgress progress,
                     std::function<bool()> interrupted)
    : path_(std::move(path)),
      progress_(std::move(progress)),
      interrupted_(std::move(interrupted)),
      file_(std::make_unique<GzFile>()),
      buffer_(2 * kChunk) {}

InputFile::~InputFile() = default;

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(
    const std::string& path, LoadProgress progress,
    std::function<bool()> interrupted) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) {
    return Refusal(
        absl::StatusCode::kNotFound, "input-not-found",
        absl::StrCat("`", path, "`: there is no such file; check the path."));
  }
  if (!S_ISREG(facts.st_mode)) {
    return Unreadable(path, "this is not a regular file; name a file");
  }
  std::unique_ptr<InputFile> input(
      new InputFile(path, std::move(progress), std::move(interrupted)));
  input->size_ = static_cast<std::uint64_t>(facts.st_size);
  input->file_->handle = gzopen(path.c_str(), "rbe");
  if (input->file_->handle == nullptr) {
    return Unreadable(path, "the file cannot be opened; check its permissions");
  }
  gzbuffer(input->file_->handle, 1 << 17);
  return input;
}

std::uint64_t InputFile::LargestContent() const {
  return gzdirect(file_->handle) != 0 ? size_ : kLargestExpansion * size_;
}

std::string_view InputFile::Buffered() const {
  return std::string_view(buffer_.data() + begin_, end_ - begin_);
}

absl::StatusOr<bool> InputFile::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (buffer_.size() - end_ < kChunk) buffer_.resize(2 * buffer_.size());
  const int count = gzread(file_->handle, buffer_.data() + end_, kChunk);
  // gzread reports a truncated stream only here.
  int error = Z_OK;
  gzerror(file_->handle, &error);
  if (count < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    return Unreadable(path_,
                      "the compressed data are damaged or cut off; "
                      "check it with gzip -t and copy it again");
  }
  end_ += static_cast<std::size_t>(count);
  if (progress_) {
    progress_(static_cast<std::uint64_t>(gzoffset(file_->handle)), size_);
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

}  // namespace dpnmf::curator
