#include "common/files/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64;

absl::Status Malformed(std::string_view what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "npy-malformed",
      absl::StrCat("The file is not a usable .npy file: ", View(what),
                   "; save a plain numeric array of one or two dimensions with "
                   "numpy.save."));
}

// Fit for a refusal to quote: "<f4", "<M8[ns]".
bool IsTypeName(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  return text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f'; });
}

// Reads the Python dictionary of a header, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : text_(text) {}

  absl::StatusOr<NpyHeader> Read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Take('{')) return Malformed("its header is not a dictionary");
    while (!Take('}')) {
      DPNMF_ASSIGN_OR_RETURN(const std::string key, ReadString());
      if (!Take(':')) return Malformed("its header lacks a colon");
      bool* seen = key == "descr"           ? &has_descr
                   : key == "fortran_order" ? &has_order
                   : key == "shape"         ? &has_shape
                                            : nullptr;
      if (seen == nullptr || *seen)
        return Malformed("its header has an unexpected key");
      *seen = true;
      DPNMF_RETURN_IF_ERROR(ReadValue(key, &header));
      if (!Take(',') && !At('}')) return Malformed("its header lacks a comma");
    }
    SkipBlanks();
    if (!text_.empty())
      return Malformed("its header does not end after the dictionary");
    if (!has_descr || !has_order || !has_shape) {
      return Malformed("its header lacks descr, fortran_order or shape");
    }
    return header;
  }

 private:
  absl::Status ReadValue(std::string_view key, NpyHeader* header) {
    if (key == "shape") return ReadShape(&header->shape);
    if (key == "fortran_order") return ReadBool(&header->fortran_order);
    if (At('[')) return Malformed("it contains a structured type");
    DPNMF_ASSIGN_OR_RETURN(header->dtype, ReadString());
    if (header->dtype.find('O') != std::string::npos) {
      return Malformed("it contains pickled Python objects");
    }
    if (!IsTypeName(header->dtype)) return Malformed("its type has no name");
    return absl::OkStatus();
  }

  absl::Status ReadShape(std::vector<std::uint64_t>* shape) {
    if (!Take('(')) return Malformed("its shape is not a tuple");
    while (!Take(')')) {
      SkipBlanks();
      std::uint64_t extent = 0;
      const auto [end, error] =
          std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc())
        return Malformed("its shape is not made of integers");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // of Python 2
      shape->push_back(extent);
      if (!Take(',') && !At(')')) return Malformed("its shape lacks a comma");
    }
    if (shape->empty() || shape->size() > 2) {
      return Malformed(absl::StrCat("it has ", shape->size(), " dimensions"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadBool(bool* value) {
    SkipBlanks();
    for (const bool candidate : {true, false}) {
      const std::string_view word = candidate ? "True" : "False";
      if (text_.substr(0, word.size()) != word) continue;
      text_.remove_prefix(word.size());
      *value = candidate;
      return absl::OkStatus();
    }
    return Malformed("its fortran_order is neither True nor False");
  }

  absl::StatusOr<std::string> ReadString() {
    if (At('u') || At('b')) text_.remove_prefix(1);  // u'descr' of Python 2
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) {
      return Malformed("its header lacks a quoted word");
    }
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos)
      return Malformed("its header has an unclosed quote");
    std::string word(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return word;
  }

  bool At(char c) {
    SkipBlanks();
    return !text_.empty() && text_[0] == c;
  }
  bool Take(char c) {
    if (!At(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void SkipBlanks() {
    while (!text_.empty() && std::strchr(" \t\r\n", text_[0]) != nullptr &&
           text_[0] != 0) {
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
};

std::size_t LittleEndian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

std::string NpyHeaderBytes(const NpyHeader& header) {
  std::string text =
      absl::StrCat("{'descr': '", header.dtype, "', 'fortran_order': ",
                   header.fortran_order ? "True" : "False", ", 'shape': (");
  for (std::size_t i = 0; i < header.shape.size(); ++i) {
    // A tuple of one has a comma after it: (5,).
    const bool comma = i + 1 < header.shape.size() || header.shape.size() == 1;
    absl::StrAppend(&text, i == 0 ? "" : " ", header.shape[i],
                    comma ? "," : "");
  }
  absl::StrAppend(&text, "), }");
  const std::size_t prefix = kMagic.size() + 4;
  const std::size_t used = prefix + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  text.push_back('\n');
  std::string bytes(kMagic);
  bytes.append({'\x01', '\x00', static_cast<char>(text.size() & 0xff),
                static_cast<char>(text.size() >> 8)});
  return bytes + text;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view beginning) {
  if (beginning.substr(0, kMagic.size()) != kMagic || beginning.size() < 10) {
    return Malformed("it does not begin with NumPy's magic bytes");
  }
  const int version = static_cast<unsigned char>(beginning[6]);
  if (version < 1 || version > 3)
    return Malformed("its format version is unknown");
  // Version 1 has a length of two bytes, versions 2 and 3 of four.
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t prefix = 8 + length_bytes;
  const std::size_t length = LittleEndian(beginning.substr(8, length_bytes));
  if (beginning.size() < prefix || beginning.size() - prefix < length) {
    return Malformed("its header is cut off or too long");
  }
  DictionaryReader reader(beginning.substr(prefix, length));
  DPNMF_ASSIGN_OR_RETURN(NpyHeader header, reader.Read());
  header.data_offset = prefix + length;
  return header;
}

}  // namespace dpnmf
