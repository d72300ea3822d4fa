#include "common/files/input_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"

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

// ---- Files that no reader reads

// Bytes that ForeignFile looks at: a header of tar ends there.
constexpr std::size_t kForeignBytes = 512;

using namespace std::string_view_literals;  // NOLINT(*-using-namespace)

struct Kind {
  std::string_view begin;
  const char* sentence;
};

constexpr char kRData[] =
    "this is an .RData file of R; write the table as CSV (write.csv)";

constexpr Kind kKinds[] = {
    {"BZh91AY&SY"sv,
     "the file is compressed with bzip2; decompress it with "
     "bunzip2, or compress it with gzip"},
    {"\xFD"
     "7zXZ"sv,
     "the file is compressed with xz; decompress it with unxz, or compress it "
     "with gzip"},
    {"\x28\xB5\x2F\xFD"sv,
     "the file is compressed with Zstandard; decompress it with unzstd, or "
     "compress it with gzip"},
    {"\x04\x22\x4D\x18"sv,
     "the file is compressed with LZ4; decompress it with unlz4, or compress "
     "it with gzip"},
    {"\x1F\x8B"sv, "the file is compressed twice; decompress it once"},
    {"7z\xBC\xAF\x27\x1C"sv, "this is a 7z archive; unpack it"},
    {"Rar!\x1A\x07"sv, "this is a RAR archive; unpack it"},
    {"\x89HDF\r\n\x1A\n"sv,
     "this is an HDF5 file; make a matrix of it: dpnmf.prepare.h5ad of the "
     "Python package reads .h5ad (docs/howto/use_h5ad.md)"},
    {"PAR1\x15"sv,
     "this is a Parquet file; write it as CSV (pandas: "
     "read_parquet, then to_csv with index=False)"},
    {"ARROW1\0\0"sv,
     "this is an Arrow file; write it as CSV (pandas: "
     "read_feather, then to_csv with index=False)"},
    {"version https://git-lfs"sv,
     "this is a pointer of Git LFS and not the file itself; fetch it with git "
     "lfs pull"},
    {"SQLite format 3\0"sv,
     "this is an SQLite database; write the table as "
     "CSV (sqlite3 -header -csv FILE 'SELECT ...')"},
    {"%PDF-"sv, "this is a PDF document; give its table as CSV"},
    {"{\\rtf"sv, "this is an RTF document; give its table as CSV"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv,
     "this is a document of Excel or Word before 2007; save the sheet as CSV"},
    {"MATLAB 5.0 MAT-file"sv,
     "this is a MATLAB file; write the matrix as "
     "CSV (writematrix)"},
    {"\x89PNG"sv,
     "this is a picture; make a matrix of pictures with "
     "dpnmf.prepare.images of the Python package"},
    {"\xFF\xD8\xFF"sv,
     "this is a picture; make a matrix of pictures with "
     "dpnmf.prepare.images of the Python package"},
    {"X\n\0\0\0"sv,
     "this is an .rds file of R; write the table as CSV "
     "(write.csv)"},
    {"RDX2\n"sv, kRData},
    {"RDX3\n"sv, kRData},
    {"RDA2\n"sv, kRData},
    {"RDA3\n"sv, kRData},
    {"\xFF\xFE\0\0"sv, "the file is in UTF-32; convert it to UTF-8"},
    {"\0\0\xFE\xFF"sv, "the file is in UTF-32; convert it to UTF-8"},
};

// A local header of a ZIP archive: the name of its first member.
std::string_view FirstMember(std::string_view zip) {
  constexpr std::size_t kName = 30;
  if (zip.size() < kName) return {};
  const auto length = static_cast<unsigned char>(zip[26]) +
                      256u * static_cast<unsigned char>(zip[27]);
  return zip.substr(kName, length);
}

std::string ZipArchive(std::string_view beginning, std::string_view path) {
  const std::string_view member = FirstMember(beginning);
  if (path.ends_with(".npz") || member.ends_with(".npy")) return "";
  if (member == "[Content_Types].xml" || member.starts_with("_rels/") ||
      member.starts_with("docProps/") || member.starts_with("xl/"))
    return "this is an Excel workbook (.xlsx); save the sheet as CSV";
  if (member.starts_with("mimetype"))
    return "this is an OpenDocument file; save the sheet as CSV";
  return absl::StrCat(
      "this is a ZIP archive",
      member.empty() ? std::string() : absl::StrCat(" with ", Quoted(member)),
      "; unpack it, and give the table in it, such as CSV");
}

bool IsOneOf(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

// Markup and JSON, which may begin with blanks.
std::string MarkedText(std::string_view beginning) {
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (beginning.starts_with(byte_order_mark))
    beginning.remove_prefix(byte_order_mark.size());
  beginning.remove_prefix(
      std::min(beginning.find_first_not_of(" \t\r\n"), beginning.size()));
  const std::string text = absl::AsciiStrToLower(View(beginning.substr(0, 64)));
  for (const char* tag : {"!doctype", "html", "head", "table", "body"}) {
    if (text.starts_with('<') && text.substr(1).starts_with(tag))
      return "this is an HTML page and not the file itself; download the file "
             "again, or save the table as CSV";
  }
  if (text.starts_with("<?xml"))
    return "this is an XML document; save the table as CSV";
  if (beginning.size() < 2 || !IsOneOf(beginning[0], "{[")) return "";
  const std::size_t next = beginning.find_first_not_of(" \t\r\n", 1);
  const char first = next < beginning.size() ? beginning[next] : ' ';
  if (beginning[0] == '{' ? first == '"' || first == '}'
                          : IsOneOf(first, "{[\"-0123456789"))
    return "this is JSON; write the table as CSV (pandas: read_json, then "
           "to_csv with index=False)";
  return "";
}

bool IsPickle(std::string_view beginning) {
  return beginning.size() > 2 && beginning[0] == '\x80' && beginning[1] >= 2 &&
         beginning[1] <= 5;
}

// Every second of the first bytes is 0, as in Latin text.
bool IsUtf16WithoutMark(std::string_view beginning) {
  if (beginning.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return beginning[i] == '\0'; };
  return zero(0) == zero(2) && zero(1) == zero(3) && zero(0) != zero(1);
}

// "this is an Excel workbook; save ...": what the file is and what to do, from
// its first bytes. Empty for text, and for arrays: .npy, and a ZIP archive that
// is called .npz or begins with one.
std::string ForeignFile(std::string_view beginning, std::string_view path) {
  constexpr std::string_view kZip = "PK\x03\x04", kEmptyZip = "PK\x05\x06";
  if (beginning.starts_with(kZip) || beginning.starts_with(kEmptyZip))
    return ZipArchive(beginning, path);
  for (const Kind& kind : kKinds)
    if (beginning.starts_with(kind.begin)) return kind.sentence;
  if (beginning.starts_with("BZh") && beginning.size() > 4 &&
      beginning.substr(4, 6) == "1AY&SY")
    return kKinds[0].sentence;
  if (beginning.substr(std::min<std::size_t>(257, beginning.size()), 5) ==
      "ustar")
    return "this is a tar archive; unpack it";
  if (IsPickle(beginning))
    return "this is a pickle of Python; write the table as CSV, or the array "
           "with numpy.save";
  if (IsUtf16WithoutMark(beginning))
    return "the file is in UTF-16 without a byte order mark; convert it to "
           "UTF-8";
  return MarkedText(beginning);
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
  auto held = GrowingFile::InMemory();
  if (!held.ok() || !held->Append(content).ok())
    return Unreadable(path_, "there is no memory for the file");
  place_ = held->place();
  held_.emplace(*std::move(held));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(
    const std::string& path, LoadProgress progress,
    std::function<bool()> interrupted, std::optional<std::string_view> content,
    const std::string& place) {
  std::unique_ptr<InputFile> input(
      new InputFile(path, std::move(progress), std::move(interrupted)));
  if (!place.empty()) input->place_ = place;
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
  const auto damaged_text = [this] {
    return Unreadable(
        path_, "the file begins as UTF-16 and is damaged; convert it to UTF-8");
  };
  std::string text;
  std::size_t at = 0;
  for (; at + 2 <= raw_.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (is_half(code, 0xDC00)) return damaged_text();
    if (is_half(code, 0xD800)) {
      if (at + 4 > raw_.size()) break;
      const std::uint32_t low = unit(at + 2);
      if (!is_half(low, 0xDC00)) return damaged_text();
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
  if (at_end && !raw_.empty()) return damaged_text();
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
