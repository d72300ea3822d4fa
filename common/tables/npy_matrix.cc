#include "common/tables/npy_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/npy.h"
#include "common/files/zip_directory.h"
#include "common/tables/assemble.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLongestHeader = 1 << 16;

// Reads one entry of sizeof(T) bytes, swapped if the file's byte order is not
// this machine's.
template <typename T>
double EntryOf(const std::byte* bytes, bool swap) {
  std::array<std::byte, sizeof(T)> copy;
  std::memcpy(copy.data(), bytes, sizeof(T));
  if (swap) std::reverse(copy.begin(), copy.end());
  return static_cast<double>(std::bit_cast<T>(copy));
}

// IEEE 754 binary16: a sign, 5 bits of the exponent, 10 of the fraction.
double HalfOf(const std::byte* bytes, bool swap) {
  const auto bits = static_cast<unsigned>(EntryOf<std::uint16_t>(bytes, swap));
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const unsigned fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) {
    using Limits = std::numeric_limits<double>;
    return sign * (fraction == 0 ? Limits::infinity() : Limits::quiet_NaN());
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 0x400, exponent - 25);
}

struct EntryType {
  std::string_view name;  // without the byte order
  std::size_t size;
  double (*read)(const std::byte* bytes, bool swap);
};

constexpr EntryType kEntryTypes[] = {
    {"b1", 1, EntryOf<std::uint8_t>}, {"u1", 1, EntryOf<std::uint8_t>},
    {"i1", 1, EntryOf<std::int8_t>},  {"u2", 2, EntryOf<std::uint16_t>},
    {"i2", 2, EntryOf<std::int16_t>}, {"u4", 4, EntryOf<std::uint32_t>},
    {"i4", 4, EntryOf<std::int32_t>}, {"u8", 8, EntryOf<std::uint64_t>},
    {"i8", 8, EntryOf<std::int64_t>}, {"f4", 4, EntryOf<float>},
    {"f8", 8, EntryOf<double>},       {"f2", 2, HalfOf},
};

const EntryType* EntryTypeOf(std::string_view dtype) {
  if (dtype.empty() ||
      std::string_view("<>|=").find(dtype[0]) == std::string_view::npos) {
    return nullptr;
  }
  const auto* const type =
      std::find_if(std::begin(kEntryTypes), std::end(kEntryTypes),
                   [&](const EntryType& candidate) {
                     return candidate.name == dtype.substr(1);
                   });
  return type == std::end(kEntryTypes) ? nullptr : type;
}

bool MustSwap(std::string_view dtype) {
  return dtype[0] == (std::endian::native == std::endian::little ? '>' : '<');
}

absl::Status CheckHeader(const InputFile& input, const NpyHeader& header) {
  const EntryType* const type = EntryTypeOf(header.dtype);
  if (type == nullptr) {
    return input.RefuseAt(
        "input-malformed", 0, 0,
        absl::StrCat("the type ", Quoted(header.dtype),
                     " is not supported; convert with astype('float32')"));
  }
  if (header.shape.size() != 2) {
    return input.RefuseAt(
        "input-malformed", 0, 0,
        "the array has one dimension; save a matrix of two dimensions");
  }
  for (const std::uint64_t extent : header.shape) {
    if (extent == 0) {
      return input.RefuseAt("input-empty", 0, 0,
                            "the array is empty; save one with entries");
    }
    if (extent > kLargestExtent) {
      return input.RefuseAt("input-too-large", 0, 0,
                            absl::StrCat("at most ", kLargestExtent,
                                         " rows and columns are supported"));
    }
  }
  const std::uint64_t bytes = header.shape[0] * header.shape[1] * type->size;
  if (bytes > input.LargestContent()) {
    return input.RefuseAt("input-malformed", 0, 0,
                          "the file is too short for its shape; copy it again");
  }
  return absl::OkStatus();
}

// The file's header, checked; the file then stands at the first entry.
absl::StatusOr<NpyHeader> ReadHeader(InputFile* input) {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                         input->Peek(kLongestHeader));
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(beginning);
  if (!header.ok()) {
    return input->RefuseAt(
        "input-malformed", 0, 0,
        std::string(absl::StripSuffix(header.status().message(), ".")));
  }
  DPNMF_RETURN_IF_ERROR(CheckHeader(*input, *header));
  std::vector<std::byte> skipped(header->data_offset);
  DPNMF_RETURN_IF_ERROR(input->Read(skipped).status());
  return header;
}

// All entries in the file's order, row after row in C order, column after
// column in Fortran order. `keep` takes a number of the file and sets the
// entry, or says what is wrong with it.
template <typename Entry, typename Keep>
absl::StatusOr<std::vector<Entry>> ReadEntries(InputFile* input,
                                               const NpyHeader& header,
                                               Keep keep) {
  const EntryType& type = *EntryTypeOf(header.dtype);
  const bool swap = MustSwap(header.dtype);
  const std::uint64_t outer = header.shape[header.fortran_order ? 1 : 0];
  const std::uint64_t inner = header.shape[header.fortran_order ? 0 : 1];
  std::vector<Entry> values;
  values.reserve(outer * inner);
  std::vector<std::byte> bytes(inner * type.size);
  for (std::uint64_t i = 0; i < outer; ++i) {
    DPNMF_ASSIGN_OR_RETURN(const std::size_t count, input->Read(bytes));
    if (count != bytes.size()) {
      return input->RefuseAt(
          "input-malformed", 0, 0,
          "the file is too short for its shape; copy it again");
    }
    for (std::uint64_t j = 0; j < inner; ++j) {
      Entry entry = 0;
      const auto problem =
          keep(type.read(bytes.data() + j * type.size, swap), &entry);
      if (problem.has_value()) {
        const std::uint64_t row = header.fortran_order ? j : i;
        const std::uint64_t column = header.fortran_order ? i : j;
        return input->RefuseAt(
            problem->code, 0, 0,
            absl::StrCat("[", row, ", ", column, "]: ", problem->sentence));
      }
      values.push_back(entry);
    }
  }
  DPNMF_ASSIGN_OR_RETURN(const std::string_view rest, input->Peek(1));
  if (!rest.empty()) {
    return input->RefuseAt(
        "input-malformed", 0, 0,
        "the file is longer than its shape says; save the array again");
  }
  return values;
}

absl::StatusOr<std::vector<double>> ReadNumbers(InputFile* input,
                                                const NpyHeader& header,
                                                bool refuse_negative) {
  return ReadEntries<double>(input, header,
                             [refuse_negative](double value, double* entry) {
                               return ToNumber(value, refuse_negative, entry);
                             });
}

// The member `name`.npy; the only one if `name` is empty.
absl::StatusOr<const ZipMember*> ArrayOf(const InputFile& input,
                                         const std::vector<ZipMember>& members,
                                         const std::string& name) {
  constexpr std::size_t kMostShown = 10;
  constexpr std::string_view kEnding = ".npy";
  const ZipMember* only = nullptr;
  std::size_t arrays = 0;
  std::string list;
  for (const ZipMember& member : members) {
    std::string_view array = member.name;
    if (!array.ends_with(kEnding)) continue;
    array.remove_suffix(kEnding.size());
    if (!name.empty() && array == name) return &member;
    only = &member;
    if (++arrays > kMostShown) continue;
    absl::StrAppend(&list, list.empty() ? "" : ", ", Quoted(array));
  }
  if (arrays > kMostShown) absl::StrAppend(&list, " and others");
  if (arrays == 0) {
    return input.RefuseAt("input-empty", 0, 0,
                          "the archive has no array (NAME.npy); save one with "
                          "numpy.savez");
  }
  if (!name.empty()) {
    return input.RefuseAt(
        "array-unknown", 0, 0,
        absl::StrCat("there is no array ", Quoted(name), "; it has ", list));
  }
  if (arrays == 1) return only;
  return input.RefuseAt(
      "input-ambiguous", 0, 0,
      absl::StrCat("the file has the arrays ", list,
                   "; give the one of people with --array NAME (a sparse "
                   "matrix of scipy: save it with scipy.io.mmwrite)"));
}

}  // namespace

absl::StatusOr<LoadedMatrix> ReadNpyMatrix(InputFile* input,
                                           bool users_are_rows,
                                           const LoadOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const NpyHeader header, ReadHeader(input));
  // Fortran order is the row-major order of the transpose.
  const bool transposed = header.fortran_order;
  const std::uint64_t rows = header.shape[transposed ? 1 : 0];
  const std::uint64_t columns = header.shape[transposed ? 0 : 1];
  if (options.table == nullptr) {
    DPNMF_ASSIGN_OR_RETURN(std::vector<float> values,
                           ReadEntries<float>(input, header, ToEntry));
    return DenseOfRows(std::move(values), rows, columns,
                       users_are_rows != transposed);
  }
  DPNMF_ASSIGN_OR_RETURN(std::vector<double> numbers,
                         ReadNumbers(input, header, !options.table->negative));
  return DenseOfRows(std::move(numbers), rows, columns,
                     users_are_rows != transposed);
}

absl::StatusOr<LoadedMatrix> ReadNpzMatrix(InputFile* input,
                                           bool users_are_rows,
                                           const LoadOptions& options) {
  DPNMF_RETURN_IF_ERROR(input->Peek(1).status());
  if (input->IsCompressed()) {
    return input->RefuseAt("input-malformed", 0, 0,
                           "the archive is compressed once more; unpack it "
                           "with gunzip");
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<ZipMember> members,
                         ReadZipDirectory(input->place(), input->path()));
  DPNMF_ASSIGN_OR_RETURN(const ZipMember* const member,
                         ArrayOf(*input, members, options.array));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> array,
                         input->OpenMember(*member));
  return ReadNpyMatrix(array.get(), users_are_rows, options);
}

}  // namespace dpnmf
