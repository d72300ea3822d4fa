// A file read from front to back, decompressed where it begins like gzip, and
// in UTF-8 where it begins with the byte order mark of UTF-16; or a member of a
// ZIP archive (zip_directory.h).
#ifndef DPNMF_COMMON_FILES_INPUT_FILE_H_
#define DPNMF_COMMON_FILES_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/durable_file.h"
#include "common/files/zip_directory.h"

namespace dpnmf {

// Bytes of the file read so far, and its size.
using LoadProgress =
    std::function<void(std::uint64_t done, std::uint64_t total)>;

class InputFile {
 public:
  // `content`: the bytes of the file, for callers that have read it; `place`:
  // where the bytes are; `path` is then a name for sentences alone. A byte
  // order mark is no part of the bytes. NOT_FOUND "input-not-found";
  // INVALID_ARGUMENT "input-unreadable", also for files that no reader reads:
  // workbooks, archives, HDF5, JSON and others.
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(
      const std::string& path, LoadProgress progress = {},
      std::function<bool()> interrupted = {},
      std::optional<std::string_view> content = std::nullopt,
      const std::string& place = "");
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  // Under which name the file's bytes can be opened: path(), but for held ones.
  const std::string& place() const { return place_; }
  // The member's bytes as a file of its own, with the path, the progress and
  // the interruption of this one. Its end is refused ("input-unreadable")
  // unless its size and CRC-32 are those of the directory.
  absl::StatusOr<std::unique_ptr<InputFile>> OpenMember(
      const ZipMember& member) const;

  // Returns whether the file begins like gzip. After Peek.
  bool IsCompressed() const;
  // Bytes that the file can have at most when it is not compressed. After Peek.
  std::uint64_t LargestContent() const;
  // Number of the last line that was read; the first is 1.
  std::uint64_t line_number() const { return line_number_; }

  // The next bytes, at least `count` of them unless the file ends before,
  // without reading past them. Valid until the next call.
  absl::StatusOr<std::string_view> Peek(std::size_t count);

  // Fills `bytes` as far as the file goes; returns how many were read.
  absl::StatusOr<std::size_t> Read(std::span<std::byte> bytes);

  // Sets *line to the next line without its end; false at the end of the file.
  // Lines end with "\n" or "\r\n", or, if the first one does, with "\r" alone.
  // *line is valid until the next call.
  absl::StatusOr<bool> ReadLine(std::string_view* line);

  // "PATH, line L, column C: PROBLEM" with the last line read; without the
  // column if it is 0.
  absl::Status Refuse(std::string_view code, std::uint64_t column,
                      std::string_view problem) const;
  // The same of another line; "PATH: PROBLEM" if `line` is 0.
  absl::Status RefuseAt(std::string_view code, std::uint64_t line,
                        std::uint64_t column, std::string_view problem) const;

 private:
  struct GzFile;
  struct MemberFile;
  InputFile(std::string path, LoadProgress progress,
            std::function<bool()> interrupted);
  // Appends the next chunk to the buffer; false at the end of the file.
  absl::StatusOr<bool> Fill();
  // Looks at the first bytes: their kind, their encoding.
  absl::Status Recognise();
  // Appends the bytes of raw_ in UTF-8, as far as they are whole characters.
  absl::Status Decode(bool at_end);
  // Appends bytes to the buffer.
  void Append(std::string_view bytes);
  // Sets line_end_ from the end of the first line.
  absl::Status FindLineEnd();
  absl::StatusOr<std::size_t> ReadGz(char* to);
  absl::StatusOr<std::size_t> ReadMember(char* to);
  std::string_view Buffered() const;

  // The file's bytes are written to memory, where they have this name.
  absl::Status Hold(std::string_view content);

  const std::string path_;
  std::string place_;  // what is opened: path_, or where its bytes are
  std::optional<GrowingFile> held_;
  const LoadProgress progress_;
  const std::function<bool()> interrupted_;
  std::uint64_t size_ = 0;
  std::unique_ptr<GzFile> file_;
  std::unique_ptr<MemberFile> member_;  // in the place of file_
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part of buffer_
  enum class Encoding { kBytes, kUtf16Little, kUtf16Big };
  Encoding encoding_ = Encoding::kBytes;
  std::string raw_;       // of UTF-16: bytes that are not decoded yet
  char line_end_ = '\0';  // 0: no line was read
  std::uint64_t line_number_ = 0;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_INPUT_FILE_H_
