#include "common/files/foreign_file.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/view.h"
#include "common/files/entry.h"

namespace dpnmf {
namespace {

using std::string_view_literals::operator""sv;

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
  for (const char* tag : {"<!doctype", "<html", "<head", "<table", "<body"}) {
    if (text.starts_with(tag))
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

}  // namespace

std::string ForeignFile(std::string_view beginning, std::string_view path) {
  constexpr std::string_view kZip = "PK\x03\x04", kEmptyZip = "PK\x05\x06";
  if (beginning.starts_with(kZip) || beginning.starts_with(kEmptyZip))
    return ZipArchive(beginning, path);
  for (const Kind& kind : kKinds)
    if (beginning.starts_with(kind.begin)) return kind.sentence;
  if (beginning.starts_with("BZh") && beginning.substr(4, 6) == "1AY&SY")
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

}  // namespace dpnmf
