#include "common/tables/formats.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/tables/separator.h"

namespace dpnmf {

#define DPNMF_INPUT_FORMAT(Name) extern const InputFormat k##Name##Format;
#include "format_names.inc"
#undef DPNMF_INPUT_FORMAT

namespace {

// User, item, rating and the time in seconds since 1970; or a header that names
// the rating third and beside it a time or a user.
bool AreOfRatings(std::vector<std::string> fields) {
  constexpr std::uint64_t kYear1973 = 100'000'000;
  constexpr double kLargestRating = 100;
  const bool has_time = fields.size() == 4;
  if (!has_time && fields.size() != 3) return false;
  for (std::string& field : fields) absl::AsciiStrToLower(&field);
  if (fields[2] == "rating" &&
      (absl::StrContains(fields[0], "user") ||
       (has_time && absl::StartsWith(fields[3], "time"))))
    return true;
  if (!has_time) return false;
  const auto rating = ParseNumber(fields[2]);
  const auto time = ParseWhole(fields[3]);
  return ParseWhole(fields[0]).has_value() &&
         ParseWhole(fields[1]).has_value() && rating.has_value() &&
         std::abs(*rating) <= kLargestRating && time.has_value() &&
         *time >= kYear1973;
}

// Lines as MovieLens' u.data, ratings.dat and ratings.csv have them.
bool LooksLikeRatings(std::string_view first_line) {
  for (const char* separator : {"\t", "::", ",", ";"})
    if (AreOfRatings(absl::StrSplit(View(first_line), separator))) return true;
  return false;
}

const InputFormat* FormatOfSeparator(char separator) {
  if (separator == ',') return InputFormats().Find("csv");
  return InputFormats().Find(separator == '\t' ? "tsv" : "text");
}

std::string_view FirstLine(std::string_view beginning) {
  const auto lines = FirstLines(beginning);
  return lines.empty() ? std::string_view() : lines[0];
}

// Returns null if the first bytes do not tell the format.
const InputFormat* FormatOfSignature(std::string_view beginning) {
  for (const InputFormat* format : InputFormats().rows()) {
    if (!format->signature.empty() &&
        absl::StartsWithIgnoreCase(View(beginning), View(format->signature)))
      return format;
  }
  return nullptr;
}

// By the end of the file's name; null if it does not tell the format.
const InputFormat* FormatOfName(const InputFile& input) {
  std::string name = absl::AsciiStrToLower(input.path());
  if (absl::EndsWith(name, ".gz")) name.resize(name.size() - 3);
  for (const InputFormat* format : InputFormats().rows()) {
    if (!format->extension.empty() &&
        absl::EndsWith(name, View(format->extension)))
      return format;
  }
  return nullptr;
}

absl::Status RefuseEmpty(const InputFile& input) {
  return input.RefuseAt("input-empty", 0, 0, "the file is empty; give another");
}

// A text whose name says nothing: the first line's separator decides. Three or
// four fields could as well be triples with or without a time.
absl::StatusOr<const InputFormat*> FormatOfText(const InputFile& input,
                                                std::string_view first_line) {
  const char separator = GuessSeparator(first_line);
  std::vector<std::string_view> fields;
  SplitFields(first_line, separator, &fields);
  if (fields.size() == 3 || fields.size() == 4) {
    return input.RefuseAt(
        "input-ambiguous", 1, 1,
        absl::StrCat("the line has ", fields.size(),
                     " fields: it could be a row of a matrix or a triple; give "
                     "--format-in csv, tsv, text or triples"));
  }
  return FormatOfSeparator(separator);
}

}  // namespace

const NameTable<InputFormat>& InputFormats() {
#define DPNMF_INPUT_FORMAT(Name) &k##Name##Format,
  static auto& table = *new NameTable<InputFormat>({
#include "format_names.inc"
  });
#undef DPNMF_INPUT_FORMAT
  return table;
}

absl::StatusOr<const InputFormat*> DetectFormat(InputFile* input) {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                         input->Peek(kBeginning));
  if (const InputFormat* const signed_so = FormatOfSignature(beginning))
    return signed_so;
  const std::string_view first_line = FirstLine(beginning);
  if (LooksLikeRatings(first_line)) {
    return input->RefuseAt(
        "input-ratings", 1, 0,
        "these are ratings (user, item, rating, time), as in MovieLens' "
        "u.data, and a missing rating is not 0: give --ratings instead of "
        "--input, with --items FILE, --rating-range LOW,HIGH and --users-count "
        "N; or say with --format-in what else the lines are");
  }
  if (const InputFormat* const named_so = FormatOfName(*input)) return named_so;
  if (beginning.empty()) return RefuseEmpty(*input);
  return FormatOfText(*input, first_line);
}

absl::StatusOr<const InputFormat*> DetectMatrixFormat(InputFile* input) {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                         input->Peek(kBeginning));
  if (const InputFormat* const signed_so = FormatOfSignature(beginning))
    return signed_so;
  if (const InputFormat* const named_so = FormatOfName(*input)) return named_so;
  if (beginning.empty()) return RefuseEmpty(*input);
  return FormatOfSeparator(GuessSeparator(FirstLine(beginning)));
}

}  // namespace dpnmf
