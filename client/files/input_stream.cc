#include "client/files/input_stream.h"

#include <zlib.h>

#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

constexpr unsigned kChunkBytes = 1 << 17;

}  // namespace

// zlib gives what is not compressed as it is.
class InputStream::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::string& path)
      : file_(gzopen(path.c_str(), "rbe")), chunk_(kChunkBytes) {
    if (file_ != nullptr) gzbuffer(file_, kChunkBytes);
  }
  ~Buffer() override {
    if (file_ != nullptr) gzclose(file_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool is_open() const { return file_ != nullptr; }
  bool damaged() const { return damaged_; }

 protected:
  int_type underflow() override {
    const int count =
        file_ == nullptr ? 0 : gzread(file_, chunk_.data(), kChunkBytes);
    int error = Z_OK;
    // gzread says of a file that is cut off that it has ended.
    if (file_ != nullptr) gzerror(file_, &error);
    damaged_ |= count < 0 || (error != Z_OK && error != Z_STREAM_END);
    if (count <= 0 || damaged_) return traits_type::eof();
    setg(chunk_.data(), chunk_.data(), chunk_.data() + count);
    return traits_type::to_int_type(chunk_[0]);
  }

 private:
  const gzFile file_;
  std::vector<char> chunk_;
  bool damaged_ = false;
};

InputStream::InputStream(const std::string& path)
    : std::istream(nullptr),
      path_(path),
      buffer_(std::make_unique<Buffer>(path)) {
  rdbuf(buffer_.get());
  if (!buffer_->is_open()) setstate(std::ios::failbit);
}

InputStream::~InputStream() = default;

absl::Status InputStream::End() const {
  if (!buffer_->damaged()) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "input-unreadable",
      absl::StrCat("'", path_,
                   "' is damaged, truncated or not a file; if it is "
                   "compressed, check it with gzip -t and copy it again."));
}

std::string InputTypeOf(const std::string& path) {
  std::filesystem::path name(absl::AsciiStrToLower(path));
  if (name.extension() == ".gz") name.replace_extension();
  return name.extension().string();
}

}  // namespace dpnmf::cli
