#include "common/files/npz.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/npy.h"

namespace dpnmf {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the arrays of a file are little-endian, as memory is");

using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// PKWARE's APPNOTE 6.3: 4.3.7, 4.3.12 and 4.3.16.
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::size_t kLongestComment = 0xffff;
constexpr std::uint32_t kInZip64 = 0xffffffff;
constexpr std::uint16_t kMostMembers = 64;
constexpr std::uint16_t kDate = 0x0021;  // 1 January 1980
constexpr std::string_view kTexts = "|S";
constexpr std::uint64_t kMostTexts = 10'000'000;

absl::Status Malformed(std::string_view what) {
  return Refusal(absl::StatusCode::kInvalidArgument, "model-file-malformed",
                 absl::StrCat("The model file cannot be used: ", View(what),
                              "; ask for it again with `dpnmf model`."));
}

absl::Status MemberMalformed(std::string_view name, std::string_view what) {
  return Malformed(absl::StrCat("its array `", View(name), "` ", View(what)));
}

std::uint32_t Crc(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void Append16(std::string* bytes, std::uint32_t value) {
  bytes->push_back(static_cast<char>(value & 0xff));
  bytes->push_back(static_cast<char>(value >> 8 & 0xff));
}
void Append32(std::string* bytes, std::uint32_t value) {
  Append16(bytes, value & 0xffff);
  Append16(bytes, value >> 16);
}

// Appends the fields that follow the signature in a local header and the
// version in a central header.
void AppendCommon(std::string* bytes, std::uint32_t crc, std::uint32_t size,
                  const std::string& file) {
  Append16(bytes, 20);  // version needed
  Append16(bytes, 0);   // flags
  Append16(bytes, 0);   // stored
  Append16(bytes, 0);   // time
  Append16(bytes, kDate);
  Append32(bytes, crc);
  Append32(bytes, size);
  Append32(bytes, size);
  Append16(bytes, static_cast<std::uint32_t>(file.size()));
  Append16(bytes, 0);  // no extra field
}

// Numbers at places that the caller has checked.
std::uint32_t At16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])) |
         static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + 1]))
             << 8;
}
std::uint32_t At32(std::string_view bytes, std::size_t at) {
  return At16(bytes, at) | At16(bytes, at + 2) << 16;
}

// Finds the last record: the only one whose comment ends the file.
absl::StatusOr<std::size_t> FindEnd(std::string_view bytes) {
  const std::size_t most = std::min(bytes.size(), kEndSize + kLongestComment);
  for (std::size_t back = kEndSize; back <= most; ++back) {
    const std::size_t at = bytes.size() - back;
    if (At32(bytes, at) == kEndSignature &&
        At16(bytes, at + 20) == back - kEndSize)
      return at;
  }
  return Malformed("it is not a complete zip archive");
}

// One row of the directory.
struct Entry {
  std::string name;  // "base.npy"
  std::uint32_t flags = 0, method = 0, crc = 0, size = 0, local = 0;
};

// Reads the row at the front of `directory` and takes it away.
absl::StatusOr<Entry> TakeEntry(std::string_view* directory) {
  if (directory->size() < kCentralSize ||
      At32(*directory, 0) != kCentralSignature)
    return Malformed("its directory is damaged");
  const std::size_t name = At16(*directory, 28), extra = At16(*directory, 30),
                    comment = At16(*directory, 32);
  if (directory->size() - kCentralSize < name + extra + comment)
    return Malformed("its directory is cut off");
  Entry entry;
  entry.name = std::string(directory->substr(kCentralSize, name));
  entry.flags = At16(*directory, 8);
  entry.method = At16(*directory, 10);
  entry.crc = At32(*directory, 16);
  entry.size = At32(*directory, 24);
  entry.local = At32(*directory, 42);
  const bool in_zip64 = entry.size == kInZip64 || entry.local == kInZip64;
  if ((entry.flags & 1) != 0 || in_zip64)
    return Malformed("it is encrypted or above 4 GiB");
  if (entry.method != 0 || At32(*directory, 20) != entry.size) {
    return Malformed(
        "its arrays are compressed; save them with numpy.savez, or ask again");
  }
  directory->remove_prefix(kCentralSize + name + extra + comment);
  return entry;
}

// The bytes of the member that the row is for.
absl::StatusOr<std::string_view> DataOf(const Entry& entry,
                                        std::string_view bytes) {
  if (entry.local > bytes.size() || bytes.size() - entry.local < kLocalSize ||
      At32(bytes, entry.local) != kLocalSignature)
    return Malformed("its directory points nowhere");
  const std::size_t begin = entry.local + kLocalSize +
                            At16(bytes, entry.local + 26) +
                            At16(bytes, entry.local + 28);
  if (begin > bytes.size() || bytes.size() - begin < entry.size)
    return Malformed("it is cut off");
  const std::string_view data = bytes.substr(begin, entry.size);
  if (Crc(data) != entry.crc) return Malformed("its CRC-32 is wrong");
  return data;
}

// The header of an array whose entries fill the member, and the entries.
struct Array {
  NpyHeader header;
  std::uint64_t rows = 0, columns = 1;
  std::string_view data;
};

absl::StatusOr<Array> ArrayOf(std::string_view npy, std::string_view name,
                              std::string_view dtype, std::size_t dimensions) {
  Array array;
  DPNMF_ASSIGN_OR_RETURN(array.header, ParseNpyHeader(npy));
  const bool is_text = dtype == kTexts;
  if (array.header.shape.size() != dimensions ||
      (is_text ? !array.header.dtype.starts_with(dtype)
               : array.header.dtype != dtype)) {
    return MemberMalformed(
        name, absl::StrCat("must have ", dimensions,
                           dimensions == 1 ? " dimension" : " dimensions",
                           " and the type ", View(dtype)));
  }
  std::size_t entry = 0;
  const std::string_view width = std::string_view(array.header.dtype).substr(2);
  const bool is_number = !width.empty() && width.size() <= 4 &&
                         std::all_of(width.begin(), width.end(), [](char c) {
                           return c >= '0' && c <= '9';
                         });
  if (is_number)
    for (const char digit : width)
      entry = 10 * entry + static_cast<std::size_t>(digit - '0');
  if (entry == 0) return MemberMalformed(name, "has entries without a size");
  array.rows = array.header.shape[0];
  if (dimensions == 2) array.columns = array.header.shape[1];
  array.data = npy.substr(array.header.data_offset);
  const std::uint64_t entries = array.data.size() / entry;
  if (array.columns == 0 || array.rows == 0 || array.data.size() % entry != 0 ||
      entries % array.columns != 0 || entries / array.columns != array.rows)
    return MemberMalformed(name, "is not as long as its shape says");
  return array;
}

template <typename Number>
std::string BytesOf(const Number* numbers, std::size_t count) {
  return std::string(reinterpret_cast<const char*>(numbers),
                     count * sizeof(Number));
}

std::string Header(std::string dtype, std::vector<std::uint64_t> shape) {
  NpyHeader header;
  header.dtype = std::move(dtype);
  header.shape = std::move(shape);
  return NpyHeaderBytes(header);
}

}  // namespace

void NpzWriter::Add(const std::string& name, const std::string& npy) {
  const std::string file = name + ".npy";
  const std::uint32_t crc = Crc(npy);
  const auto size = static_cast<std::uint32_t>(npy.size());
  const auto local = static_cast<std::uint32_t>(bytes_.size());
  Append32(&bytes_, kLocalSignature);
  AppendCommon(&bytes_, crc, size, file);
  bytes_ += file;
  bytes_ += npy;
  Append32(&directory_, kCentralSignature);
  Append16(&directory_, 20);  // made by version
  AppendCommon(&directory_, crc, size, file);
  Append16(&directory_, 0);  // no comment
  Append16(&directory_, 0);  // first disk
  Append16(&directory_, 0);  // binary
  Append32(&directory_, 0);  // no attributes
  Append32(&directory_, local);
  directory_ += file;
  ++members_;
}

void NpzWriter::AddMatrix(const std::string& name,
                          const Eigen::MatrixXd& matrix) {
  const RowMajor rows = matrix;
  Add(name, Header("<f8", {static_cast<std::uint64_t>(matrix.rows()),
                           static_cast<std::uint64_t>(matrix.cols())}) +
                BytesOf(rows.data(), static_cast<std::size_t>(rows.size())));
}

void NpzWriter::AddVector(const std::string& name,
                          const Eigen::VectorXd& vector) {
  Add(name,
      Header("<f8", {static_cast<std::uint64_t>(vector.size())}) +
          BytesOf(vector.data(), static_cast<std::size_t>(vector.size())));
}

void NpzWriter::AddInteger(const std::string& name, std::int64_t value) {
  Add(name, Header("<i8", {1}) + BytesOf(&value, 1));
}

void NpzWriter::AddTexts(const std::string& name,
                         const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const std::string& text : texts)
    longest = std::max(longest, text.size());
  std::string npy = Header(absl::StrCat("|S", longest), {texts.size()});
  npy.reserve(npy.size() + longest * texts.size());
  for (const std::string& text : texts) {
    npy += text;
    npy.append(longest - text.size(), '\0');
  }
  Add(name, npy);
}

std::string NpzWriter::Take() {
  const auto at = static_cast<std::uint32_t>(bytes_.size());
  bytes_ += directory_;
  Append32(&bytes_, kEndSignature);
  Append16(&bytes_, 0);  // this disk
  Append16(&bytes_, 0);  // the directory's
  Append16(&bytes_, members_);
  Append16(&bytes_, members_);
  Append32(&bytes_, static_cast<std::uint32_t>(directory_.size()));
  Append32(&bytes_, at);
  Append16(&bytes_, 0);  // no comment
  return std::move(bytes_);
}

absl::StatusOr<std::map<std::string, std::string_view>> ReadNpz(
    std::string_view bytes) {
  DPNMF_ASSIGN_OR_RETURN(const std::size_t end, FindEnd(bytes));
  const std::uint32_t members = At16(bytes, end + 10);
  const std::uint32_t size = At32(bytes, end + 12);
  const std::uint32_t begin = At32(bytes, end + 16);
  if (At32(bytes, end + 4) != 0 || At16(bytes, end + 8) != members ||
      members > kMostMembers || begin > end || end - begin < size)
    return Malformed("its directory does not fit");
  std::string_view directory = bytes.substr(begin, size);
  std::map<std::string, std::string_view> found;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < members; ++i) {
    DPNMF_ASSIGN_OR_RETURN(Entry entry, TakeEntry(&directory));
    total += entry.size;
    if (total > bytes.size()) return Malformed("its arrays overlap");
    DPNMF_ASSIGN_OR_RETURN(const std::string_view data, DataOf(entry, bytes));
    constexpr std::string_view kNpy = ".npy";
    if (!entry.name.ends_with(kNpy)) continue;
    entry.name.resize(entry.name.size() - kNpy.size());
    if (!found.emplace(entry.name, data).second)
      return MemberMalformed(entry.name, "occurs twice");
  }
  return found;
}

absl::StatusOr<Eigen::MatrixXd> MatrixOfMember(std::string_view npy,
                                               std::string_view name) {
  DPNMF_ASSIGN_OR_RETURN(const Array array, ArrayOf(npy, name, "<f8", 2));
  const auto rows = static_cast<Eigen::Index>(array.rows);
  const auto columns = static_cast<Eigen::Index>(array.columns);
  // Copied, since a member need not begin at a multiple of eight.
  if (array.header.fortran_order) {
    Eigen::MatrixXd matrix(rows, columns);
    std::memcpy(matrix.data(), array.data.data(), array.data.size());
    return matrix;
  }
  RowMajor matrix(rows, columns);
  std::memcpy(matrix.data(), array.data.data(), array.data.size());
  return Eigen::MatrixXd(matrix);
}

absl::StatusOr<Eigen::VectorXd> VectorOfMember(std::string_view npy,
                                               std::string_view name) {
  DPNMF_ASSIGN_OR_RETURN(const Array array, ArrayOf(npy, name, "<f8", 1));
  Eigen::VectorXd vector(static_cast<Eigen::Index>(array.rows));
  std::memcpy(vector.data(), array.data.data(), array.data.size());
  return vector;
}

absl::StatusOr<std::int64_t> IntegerOfMember(std::string_view npy,
                                             std::string_view name) {
  DPNMF_ASSIGN_OR_RETURN(const Array array, ArrayOf(npy, name, "<i8", 1));
  if (array.rows != 1) return MemberMalformed(name, "must have one entry");
  std::int64_t value = 0;
  std::memcpy(&value, array.data.data(), sizeof value);
  return value;
}

absl::StatusOr<std::vector<std::string>> TextsOfMember(std::string_view npy,
                                                       std::string_view name) {
  DPNMF_ASSIGN_OR_RETURN(const Array array, ArrayOf(npy, name, kTexts, 1));
  if (array.rows > kMostTexts) return MemberMalformed(name, "is too long");
  const std::size_t width = array.data.size() / array.rows;
  std::vector<std::string> texts;
  texts.reserve(array.rows);
  for (std::size_t i = 0; i < array.rows; ++i) {
    std::string_view text = array.data.substr(i * width, width);
    const std::size_t last = text.find_last_not_of('\0');
    text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace dpnmf
